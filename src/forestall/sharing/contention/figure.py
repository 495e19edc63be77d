"""The figures of the contention study: what the owner loses, against its load and free memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.show.style import (
    BLACK,
    BLUE,
    DASHES,
    LINES,
    MARKERS,
    VERMILLION,
    dress,
    legend,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forestall.sharing.contention.curves import ContentionCurve, MemoryCurve, Threshold

MB: Final = 2**20
TITLES: Final = ("Guest at normal priority", "Guest at lowest priority")
LOAD: Final = "Owner's load without a guest (% of the cores)"
FREE: Final = "Memory left free beside owner and guest (MB; below 0: short)"


def contention_figure(
    normal: Sequence[ContentionCurve],
    lowest: Sequence[ContentionCurve],
    thresholds: tuple[Threshold, Threshold],
    limit: float,
) -> Figure:
    """Return the reduction of the owner's CPU time against its load: a line for each group size,
    guests at normal (left) and lowest priority (right), with the limit, and the thresholds with
    their intervals. The scales of both sides differ. Raises MissingExtraError.
    """
    figure = new_figure((9.6, 4.4))
    left, right = figure.subplots(1, 2)
    rows = zip((left, right), (normal, lowest), thresholds, ("Th1", "Th2"), TITLES, strict=True)
    for axes, found, threshold, name, title in rows:
        _curves(axes, found)
        _limit(axes, limit)
        _mark(axes, threshold, name)
        dress(axes, title, LOAD, "Reduction of the owner's CPU time (%)")
        axes.set_xlim(0, 102)
        top = max((100 * float(one.mean_reduction.max()) for one in found), default=0.0)
        least = min((100 * float(one.mean_reduction.min()) for one in found), default=0.0)
        axes.set_ylim(
            min(1.2 * least, -25 * limit), max(1.2 * top, 250 * limit)
        )  # room for the label
    handles, labels = left.get_legend_handles_labels()
    if not handles:
        handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8.5)
    return figure


def _curves(axes: Axes, found: Sequence[ContentionCurve]) -> None:
    for k, curve in enumerate(found):
        middle = 100 * curve.mean_reduction
        order = np.argsort(curve.mean_load, kind="stable")
        ends = 100 * curve.interval()
        bars = np.abs(np.stack((middle - ends[:, 0], ends[:, 1] - middle)))[:, order]
        axes.errorbar(
            100 * curve.mean_load[order],
            middle[order],
            yerr=None if np.isnan(bars).any() else bars,
            color=LINES[k % len(LINES)],
            marker=MARKERS[k % len(MARKERS)],
            linestyle=DASHES[k % len(DASHES)],
            markersize=4.5,
            linewidth=1.4,
            elinewidth=0.8,
            capsize=2,
            label=f"{curve.group} owner process{'es' if curve.group > 1 else ''}",
        )


def _limit(axes: Axes, limit: float) -> None:
    axes.axhline(100 * limit, color=BLACK, linewidth=0.9, linestyle=":")
    axes.annotate(
        f"{100 * limit:g} %", (1.0, 100 * limit), xycoords=("axes fraction", "data"),
        xytext=(-2, 2), textcoords="offset points", ha="right", va="bottom", fontsize=8,
    )  # fmt: skip


def _mark(axes: Axes, threshold: Threshold, name: str) -> None:
    """Draw a threshold with its interval."""
    place = 100 * threshold.value
    if threshold.interval is not None:
        low, high = threshold.interval
        axes.axvspan(100 * low, 100 * high, color=VERMILLION, alpha=0.1, linewidth=0)
    axes.axvline(place, color=VERMILLION, linewidth=1.2)
    right = place < 70
    axes.annotate(
        f"{name} = {place:.0f} %" + (" (never)" if threshold.kind == "never" else ""),
        (place, 0.97), xycoords=("data", "axes fraction"), xytext=(4 if right else -4, 0),
        textcoords="offset points", ha="left" if right else "right", va="top", fontsize=8.5,
        color=VERMILLION, zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85},
    )  # fmt: skip


def memory_figure(found: Sequence[MemoryCurve], limit: float) -> Figure:
    """Return the reduction of the owner's speed against free memory, with the guest at normal and
    lowest priority, and the limit. Raises MissingExtraError."""
    figure = new_figure((8.4, 3.8))
    axes = figure.subplots()
    for k, curve in enumerate(found):
        middle = 100 * curve.reduction.mean(axis=1)
        spread = 100 * np.stack((curve.reduction.min(axis=1), curve.reduction.max(axis=1)), axis=0)
        axes.errorbar(
            curve.free.mean(axis=1) / MB,
            middle,
            yerr=np.abs(spread - middle),
            color=(BLUE, VERMILLION)[k % 2],
            marker=MARKERS[k],
            linestyle=DASHES[k],
            markersize=5,
            linewidth=1.4,
            elinewidth=0.8,
            capsize=2,
            label=f"Guest at {curve.guest} priority",
        )
    _limit(axes, limit)
    axes.axvline(0, color=BLACK, linewidth=0.8)
    axes.invert_xaxis()
    dress(axes, "", FREE, "Reduction of the owner's speed (%)")
    legend(axes)
    return figure
