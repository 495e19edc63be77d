"""Figures of scores: ROC, precision over recall, and whether probabilities come true.

They take what `roc` and `calibration` return, and need the extra `plot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.show.style import (
    BLUE,
    DASHES,
    GREY,
    INK,
    LINES,
    SKY,
    VERMILLION,
    dress,
    legend,
    new_figure,
    tick_text,
)
from forestall.prediction.assess.calibration import ReliabilityTable
from forestall.prediction.assess.roc import Confusion, Roc

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SQUARE: Final = (6.0, 5.6)
TALL: Final = (6.4, 6.6)
MOST_POINTS: Final = 2000
WIDE: Final = 20.0
"""Above this ratio of the last bin's mean probability to the first's, scales are logarithmic."""
THIN: Final = 0.014
"""Width of a bar of counts where bins are of unequal width, as a share of the axis."""
NARROW: Final = 0.3
"""Where nothing above this share is said or seen, the reliability diagram shows the part below."""


def plot_roc(
    curves: Mapping[str, Roc],
    marked: Mapping[str, Confusion] | None = None,
    *,
    title: str = "ROC curve",
) -> Figure:
    """Draw ROC curves by the names of their scores, beside chance; `marked` are points on them,
    such as that of a threshold."""
    figure = new_figure(SQUARE)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, linestyle="--", label="chance")
    for k, (name, curve) in enumerate(curves.items()):
        if curve.why is not None:
            continue
        some = _some(len(curve.fpr))
        axes.plot(
            curve.fpr[some], curve.tpr[some], color=LINES[k % len(LINES)], linewidth=1.8,
            linestyle=DASHES[k % len(DASHES)], label=f"{name}: area {curve.auc:.3f}",
        )  # fmt: skip
    for label, one in (marked or {}).items():
        axes.plot(
            [one.fpr], [one.recall], "o", color=INK, markersize=6, linestyle="none", label=label
        )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    dress(
        axes, title, "Share of the others with an alarm (false positive rate)",
        "Share of failures with an alarm (recall)",
    )  # fmt: skip
    _legend_inside(axes, "lower right")
    return figure


def plot_precision_recall(
    curves: Mapping[str, Roc],
    marked: Mapping[str, Confusion] | None = None,
    *,
    title: str = "Precision over recall",
) -> Figure:
    """Draw precision over recall by the names of scores, beside alarms at random; see
    `plot_roc`."""
    figure = new_figure(SQUARE)
    axes = figure.subplots()
    top = 0.0
    for k, (name, curve) in enumerate(curves.items()):
        if curve.why is not None:
            continue
        found = curve.precision_recall()
        some = _some(len(found.recall))
        colour = LINES[k % len(LINES)]
        axes.plot(
            found.recall[some], found.precision[some], color=colour, linewidth=1.6,
            linestyle=DASHES[k % len(DASHES)], drawstyle="steps-pre",
            label=f"{name}: average precision {found.average_precision:.3f}",
        )  # fmt: skip
        settled = found.recall >= 0.05  # the first few alarms leap between 0 and 1
        top = max(top, float(found.precision[settled].max(initial=found.prevalence)))
        if k == 0:
            axes.axhline(
                found.prevalence, color=GREY, linewidth=1.2, linestyle="--",
                label=f"at random: {found.prevalence:.3g}",
            )  # fmt: skip
    for label, one in (marked or {}).items():
        axes.plot(
            [one.recall], [one.precision], "o", color=INK, markersize=6, linestyle="none",
            label=label,
        )  # fmt: skip
        top = max(top, one.precision if one.precision == one.precision else 0.0)
    axes.set(xlim=(-0.02, 1.02), ylim=(0, min(1.02, 1.15 * top) or 1.02))
    dress(
        axes, title, "Share of failures with an alarm (recall)",
        "Share of alarms followed by a failure (precision)",
    )  # fmt: skip
    _legend_inside(axes, "upper right")
    return figure


def plot_reliability(
    table: ReliabilityTable, *, title: str = "Do the probabilities come true?"
) -> Figure:
    """Draw the share that failed over what was said, with intervals, where right probabilities
    would lie, and, below, how many cases each bin has."""
    figure = new_figure(TALL)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    said, seen = table.said, table.seen
    level = f"{100 * table.level:g} %"
    above.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, linestyle="--", label="perfect")
    above.vlines(
        said, table.low_if_true, table.high_if_true, color=SKY, alpha=0.55, linewidth=9,
        label=f"{level} of right probabilities",
    )  # fmt: skip
    above.errorbar(
        said, seen, [np.maximum(seen - table.low, 0), np.maximum(table.high - seen, 0)], fmt="o-",
        color=VERMILLION, capsize=3, markersize=5, linewidth=1.2, elinewidth=1.3,
        label=f"seen, {level} interval",
    )  # fmt: skip
    if _spread(table):
        _stretch(above, table)
    else:
        _limit(above, table)
    dress(above, title, "", "Share that failed")
    _legend_inside(above, "upper left")
    _counts(below, table)
    dress(below, "", "Stated probability", "Cases (count)")
    below.grid(visible=False, axis="x")
    figure.align_ylabels()
    return figure


def _limit(axes: Axes, table: ReliabilityTable) -> None:
    """Show all from 0 to 1, or the part where anything is said or seen."""
    high = max(float(table.said.max()), float(table.seen.max()))
    far = 1.02 if high > NARROW else float(1.15 * max(high, table.high.max(), 1e-6))
    far = min(far, 1.02)
    axes.set(xlim=(-0.02 * far, far), ylim=(-0.02 * far, far))


def _spread(table: ReliabilityTable) -> bool:
    """Return whether what is said spans so much that only a log scale shows it."""
    return len(table) > 1 and bool(table.begin[0] > 0 and table.said[-1] > WIDE * table.said[0])


def _stretch(axes: Axes, table: ReliabilityTable) -> None:
    """Show log scales from a little below the least that is said or seen."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    least = min(float(table.said.min()), float(table.seen[table.seen > 0].min(initial=1.0)))
    most = max(float(table.said.max()), float(table.high.max()))
    axes.set(xscale="log", yscale="log", xlim=(least / 2, min(2 * most, 1.2)))
    axes.set_ylim(least / 3, min(2 * most, 1.2))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(tick_text))


def _counts(axes: Axes, table: ReliabilityTable) -> None:
    """Draw the cases of each bin, to a log scale where they differ much: over the bin, or, where
    bins are of unequal width, as a thin bar at the mean of what was said."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    width = table.end - table.begin
    alike = float(np.ptp(width)) < 1e-9 and float(width.min()) > 0
    if alike:
        begin = table.begin
    else:
        low, high = axes.get_xlim()
        width = THIN * (table.said * np.log(high / low) if _spread(table)
                        else np.full(len(table), high - low))  # fmt: skip
        begin = table.said - width / 2
    axes.bar(begin, table.count, width, align="edge", color=SKY, edgecolor=BLUE, linewidth=0.8)
    most, least = int(table.count.max()), int(table.count.min())
    if most > 20 * least:
        axes.set_yscale("log")
        axes.set_ylim(max(least / 3, 0.3), most * 6)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
    else:
        axes.set_ylim(0, most * 1.25)
    if not alike or len(table) > 12:
        return
    for at, count in zip(begin + width / 2, table.count, strict=True):
        axes.annotate(
            f"{count:,}", (float(at), float(count)), (0, 2), textcoords="offset points",
            ha="center", fontsize=7, color=INK,
        )  # fmt: skip


def _some(count: int) -> slice | Ints:
    """Return which of so many points are drawn: all, or evenly some with both ends."""
    if count <= MOST_POINTS:
        return slice(None)
    return np.unique(np.linspace(0, count - 1, MOST_POINTS).astype(np.int64))


def _legend_inside(axes: Axes, place: str) -> None:
    if axes.get_legend_handles_labels()[1]:
        legend(axes, loc=place, bbox_to_anchor=None, ncols=1)
