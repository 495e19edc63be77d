"""One figure of a fit: P-P, Q-Q, survival and hazard. Needs the extra `plot`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.model.errors import MissingExtraError, TraceError
from forestall.reliability.fits import plots
from forestall.show.figure_files import save
from forestall.show.style import has_matplotlib, legend, new_figure, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forestall.app.reliability.fit.fit import FitAnswer

SUFFIXES: Final = (".png", ".svg", ".pdf")
LAWS: Final = 3
"""Laws of a ranking that are drawn."""


def check_plot(path: Path) -> None:
    """Raise, before any work, where a figure cannot be written there."""
    if not has_matplotlib():
        raise MissingExtraError("drawing figures", "plot")
    if path.suffix not in SUFFIXES:
        allowed = ", ".join(SUFFIXES)
        raise TraceError(path, f"does not say a format of figures; expected a name in {allowed}")
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise TraceError(path, f"cannot be written: {folder} is no folder that can be written to")


def narrow_legend(axes: Axes) -> None:
    """Put the legend above the axes in two columns, so that it is no wider than they are."""
    count = len(axes.get_legend_handles_labels()[1])
    legend(axes, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2)
    title = axes.get_title(loc="left")
    lines = -(-count // 2)
    axes.set_title(title, loc="left", pad=8 + 14 * lines, fontsize=10.5, fontweight="bold")


def quieten(figure: Figure) -> None:
    """Leave out the small ticks of log axes, and write the others as plain numbers: both take
    longer to draw than all the rest."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    for axes in figure.axes:
        for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
            if scale == "log":
                axis.set_minor_locator(NullLocator())
                axis.set_major_formatter(FuncFormatter(tick_text))


def settle(figure: Figure) -> None:
    """Lay the figure out once and for all, so that saving does not draw it a first time for that
    alone."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def draw_fit(answer: FitAnswer, path: Path) -> Path:
    """Draw the fit, with a ranking its best three, into a file; whole or not at all."""
    ranked = [row.fitted for row in answer.ranking.rows[:LAWS]] if answer.ranking else []
    laws: list[Any] = ranked or [answer.best.fitted]
    unit = answer.question.unit or None
    figure = new_figure((11.0, 9.0))
    above, below = figure.subplots(2, 2).tolist()
    plots.plot_pp(laws, above[0])
    plots.plot_qq(laws, above[1], unit=unit)
    plots.plot_survival(laws, below[0], unit=unit)
    plots.plot_hazard(laws, below[1], unit=unit)
    for axes in (*above, *below):
        narrow_legend(axes)
    quieten(figure)
    return save(figure, path)
