"""Names in figures are text: no formulas of Matplotlib's, which a ``$`` begins, and nothing that no
screen shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forestall.core.show.clean import in_lines

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def plain_letters(figure: Figure) -> None:
    """Have all words of a figure shown as they are; ticks of logarithmic axes stay powers."""
    from matplotlib.text import Text

    texts, ours = figure.findobj(Text), set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            _plain_ticks(axis)
            ticks = (*axis.majorTicks, *axis.minorTicks)
            ours |= {id(label) for one in ticks for label in (one.label1, one.label2)}
            ours.add(id(axis.offsetText))
    for one in texts:
        assert isinstance(one, Text)
        if id(one) not in ours:
            one.set_parse_math(False)
            one.set_text(in_lines(one.get_text()))


def _plain_ticks(axis: Axis) -> None:
    """Have names at ticks shown as they are: they come from a formatter, each time it is drawn."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    class Plain(FuncFormatter):
        """What another formatter says, without formulas."""

        def __init__(self, inner: Any) -> None:
            super().__init__(
                lambda value, place: in_lines(str(inner(value, place))).replace("$", r"\$")
            )

    inner = axis.get_major_formatter()
    named = isinstance(inner, (FixedFormatter, FuncFormatter, StrCategoryFormatter))
    if named and type(inner).__name__ != Plain.__name__:
        axis.set_major_formatter(Plain(inner))
