"""What the figures of several studies are drawn with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forestall import style
from studies.kit.means import Mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """Of a line: colour, marker, dashes, and its label."""

    colour: str
    marker: str
    dash: str
    label: str


def look(place: int, label: str) -> Look:
    """Return the look of the line in this place of a figure."""
    return Look(
        style.LINES[place % len(style.LINES)],
        style.MARKERS[place % len(style.MARKERS)],
        style.DASHES[place % len(style.DASHES)],
        label,
    )


def line(axes: Axes, x: Iterable[float], y: Iterable[float], drawn: Look) -> None:
    """Draw a line with markers."""
    axes.plot(
        list(x), list(y), color=drawn.colour, marker=drawn.marker, markersize=4.5,
        linestyle=drawn.dash, linewidth=1.5, label=drawn.label,
    )  # fmt: skip


def band(
    axes: Axes, x: Iterable[float], means: Sequence[Mean], drawn: Look, scale: float, alpha: float
) -> None:
    """Draw means over x with the band of their intervals, where all of these have bounds."""
    at = list(x)
    line(axes, at, [scale * m.mean for m in means], drawn)
    low, high = ([scale * getattr(m, side) for m in means] for side in ("low", "high"))
    if all(np.isfinite((*low, *high))):
        axes.fill_between(at, low, high, color=drawn.colour, alpha=alpha, linewidth=0)


def error_bars(
    axes: Axes, at: Sequence[float], means: Sequence[Mean], *, upright: bool = True, **drawn: Any
) -> None:
    """Draw means of shares, in per cent, with their intervals where these have bounds: above the
    places `at`, or right of them (`upright`)."""
    middle = [100 * m.mean for m in means]
    ends = np.array([(100 * (m.mean - m.low), 100 * (m.high - m.mean)) for m in means]).T
    ends = np.where(np.isfinite(ends), ends, 0.0)
    if upright:
        axes.errorbar(at, middle, ends, capsize=3, **drawn)
    else:
        axes.errorbar(middle, at, xerr=ends, capsize=3, **drawn)


def headed(figure: Figure, title: str, weight: str = "bold") -> None:
    """Give a figure of several panels its title."""
    figure.suptitle(title, fontsize=10.5, color=style.INK, x=0.01, ha="left", fontweight=weight)


def legend_below(figure: Figure, axes: Axes, **options: object) -> None:
    """Place the legend of one panel below all of them."""
    handles, labels = axes.get_legend_handles_labels()
    given: dict[str, object] = {"loc": "outside lower center", "bbox_to_anchor": None}
    style.legend(figure, handles=handles, labels=labels, **(given | options))
