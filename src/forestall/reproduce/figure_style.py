"""The look of the figures: colours safe for the colour-blind, quiet axes, no global state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from forestall.model.errors import MissingExtraError
from forestall.traces.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours.
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
LINES: Final = (BLUE, VERMILLION, GREEN)
MARKERS: Final = ("o", "s", "^")
DASHES: Final = ("-", "--", "-.")
INK: Final = "#222222"
FAINT: Final = "#d9d9d9"
DPI: Final = 96


def new_figure(width: float = 6.2, height: float = 3.6) -> Figure:
    """Return an empty figure of that size in inches, outside pyplot.

    Raises MissingExtraError without Matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "plot") from None
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Axes, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Give axes their words, a quiet grid and no box."""
    axes.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold")
    axes.set_xlabel(xlabel, fontsize=9, color=INK)
    axes.set_ylabel(ylabel, fontsize=9, color=INK)
    axes.tick_params(labelsize=8.5, colors=INK)
    axes.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save(figure: Figure, path: Path) -> Path:
    """Write the figure as PNG, whole or not at all: the same figure, the same bytes."""
    with atomic_path(path) as beside:
        figure.savefig(beside, format="png", dpi=DPI, metadata={"Software": None})
    return path
