"""Brandt et al., Figure 1: a metric of one node over time with the states of its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.show.style import BLUE, GREEN, ORANGE, VERMILLION, dress, legend
from forestall.prediction.assess.figures_benefit import axes_of, figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOUR: Final = 3600
SHADES: Final = {
    "COMPLETED": (GREEN, "completed"),
    "CANCELLED": (ORANGE, "canceled or timed out"),
    "TIMEOUT": (ORANGE, "canceled or timed out"),
}
FAILED: Final = (VERMILLION, "failed")
SIZE: Final = (7.6, 3.6)


def plot_metric(
    time: Ints,
    value: Floats,
    start: Ints,
    end: Ints,
    state: Sequence[str],
    marks: npt.ArrayLike = (),
    axes: Axes | None = None,
    *,
    name: str = "Active memory",
    told: str = "out of memory",
) -> Figure:
    """Draw a metric of one node, shaded by how its jobs ended; white is idle.

    Parameters
    ----------
    time, value : int64[n], s; float64[n], the samples; lines break where samples are missing
    start, end, state : of the node's jobs, s; base states such as ``FAILED``
    marks : moments to mark by a cross on the line, s, such as those when memory ran out
    name, told : of the metric, and of the marks
    """
    place = axes_of(axes, SIZE)
    seen: set[str] = set()
    for begin, stop, word in zip(start.tolist(), end.tolist(), state, strict=True):
        colour, label = SHADES.get(word, FAILED)
        place.axvspan(begin / HOUR, stop / HOUR, color=colour, alpha=0.25, linewidth=0,
                      label=None if label in seen else label)  # fmt: skip
        seen.add(label)
    gap = np.diff(time, prepend=time[:1])
    usual = 3 * float(np.median(gap[1:])) if len(gap) > 1 else np.inf
    broken = np.where(gap > usual, np.nan, value)
    place.plot(time / HOUR, broken, color=BLUE, linewidth=1.0, label=name.lower())
    at = np.asarray(marks, dtype=np.int64)
    if len(at) and len(time):
        nearest = np.clip(np.searchsorted(time, at, "right") - 1, 0, len(time) - 1)
        place.plot(at / HOUR, value[nearest], linestyle="none", marker="x", markersize=8,
                   markeredgewidth=2, color=VERMILLION, label=told)  # fmt: skip
    dress(place, "", "Time (h)", name)
    legend(place, ncols=3)
    return figure_of(place)
