"""One look for all figures: colours safe for the colour-blind, sensible units, no global state."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours.
BLACK: Final = "#000000"
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
YELLOW: Final = "#F0E442"
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
LINES: Final = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
DASHES: Final = ("-", "--", "-.", ":")
INK: Final = "#222222"
DARK: Final = "#212121"
"""Ink on light patches, which stays dark on a dark page, where `INK` becomes light."""
FAINT: Final = "#d9d9d9"
TINTS: Final = ("#9ecae9", "#f5d491", "#93d5bd", "#e5bcd2", "#c9c9ee", "#efe9a0")
"""Light relatives of the colours above for areas with marks or text on them; a dark page makes them
dark."""
TRACK: Final = "#e6eaee"
"""An area in which nothing happens."""
TRACK_LAYER: Final = (0.51, 0.56, 0.61, 0.2)
"""The same in an image, which a page cannot give another colour: what is behind it shows."""
PALE: Final = "#b5dcf5"
"""The area below a line of their colour."""
GREY: Final = "#a0a8b0"

DPI: Final = 144
WIDE: Final = (8.4, 4.2)


def has_matplotlib() -> bool:
    """Return whether figures can be drawn here."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # what find_spec makes of a module that was blocked on purpose
        return False


def new_figure(size: tuple[float, float] = WIDE, dpi: int = DPI) -> Figure:
    """Return an empty figure of that size in inches, on its own canvas, outside pyplot.

    Raises MissingExtraError without Matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "plot") from None
    figure = Figure(figsize=size, dpi=dpi, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Axes, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Give axes their words, a quiet grid and no box."""
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    if title:
        axes.set_title(title, loc="left", fontsize=10.5, color=INK, fontweight="bold")
    if xlabel:
        axes.set_xlabel(xlabel, fontsize=9, color=INK)
    if ylabel:
        axes.set_ylabel(ylabel, fontsize=9, color=INK)
    axes.tick_params(labelsize=8.5, colors=INK)
    axes.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(FuncFormatter(tick_text))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def tick_text(value: float, _position: int | None = None) -> str:
    """Return a tick as text: thousands apart, no more digits than it has."""
    return f"{value:,.10g}"


def legend(place: Axes | Figure, **options: object) -> None:
    """Place a legend above the axes, where it hides nothing, unless `options` say otherwise."""
    given: dict[str, object] = {
        "loc": "lower right",
        "bbox_to_anchor": (1.0, 1.0),
        "ncols": 4,
        "frameon": False,
        "fontsize": 8.5,
        "borderaxespad": 0.2,
        "columnspacing": 1.2,
        "handlelength": 1.6,
    }
    place.legend(**(given | options))


@dataclass(frozen=True)
class AxisClock:
    """Turns seconds into what an axis shows: time since `origin` in `unit`s of `seconds`."""

    origin: float
    unit: str
    seconds: int

    @classmethod
    def spanning(cls, start: float, end: float, origin: float | None = None) -> AxisClock:
        """Return the clock that suits the largest value to show: minutes, hours or days."""
        span = end - start if origin is None else end - origin
        unit, seconds = ("days", 86_400)
        if span <= 3 * 3600:
            unit, seconds = ("minutes", 60)
        elif span <= 4 * 86_400:
            unit, seconds = ("hours", 3600)
        return cls(start if origin is None else origin, unit, seconds)

    def __call__(self, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return (np.asarray(times, dtype=np.float64) - self.origin) / self.seconds

    def label(self, event: str = "the first submission") -> str:
        """Return the label of a time axis."""
        return f"Time since {event} ({self.unit})"
