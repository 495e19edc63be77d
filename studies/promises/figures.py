"""Figures 1 to 12 of the paper redrawn, and those of which part does what and of the promises'
honesty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from forestall import style
from studies.kit.figures import headed, line, look
from studies.kit.means import Floats
from studies.promises.calibration import CALIBRATED, calibration
from studies.promises.claims import DRAWN
from studies.promises.inputs import NASA, REBUILT, SDSC
from studies.promises.study import ABLATION_ACCURACIES, PAPER_LOGS, VARIANTS
from studies.promises.surface import Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE: Final = (6.2, 3.6)
DPI: Final = 96

MEASURES: Final = {
    "qos": "QoS",
    "utilization": "Average utilization",
    "lost": "Lost work (thousand node-hours)",
}
SCALES: Final = {"qos": 1.0, "utilization": 1.0, "lost": 1e-3}
BY_ACCURACY: Final = ((1, SDSC, "qos"), (2, NASA, "qos"), (3, SDSC, "utilization"),
    (4, NASA, "utilization"), (5, SDSC, "lost"), (6, NASA, "lost"))  # fmt: skip
"""Figures 1 to 6: number, log, measure over a at U = .1, .5, .9."""

BY_RISK: Final = ((7, (SDSC,), "qos", 5), (8, (SDSC, NASA), "qos", 10),
    (9, (SDSC,), "utilization", 10), (10, (NASA,), "utilization", 10), (11, (SDSC,), "lost", 10),
    (12, (NASA,), "lost", 10))  # fmt: skip
"""Figures 7 to 12: number, logs, measure over U at an accuracy in tenths."""


def _line(axes: Axes, x: Sequence[float], values: Floats, place: int, label: str) -> None:
    """Draw the mean over seeds of values float64[seed, points], and a band from least to most."""
    line(axes, x, values.mean(axis=0), look(place, label))
    axes.fill_between(
        x, values.min(axis=0), values.max(axis=0), color=style.LINES[place], alpha=0.16, linewidth=0
    )


def _settle(axes: Axes, measure: str) -> None:
    """Give a flat curve an axis that shows it as flat, and lost work one that starts at 0."""
    low, high = axes.get_ylim()
    if measure == "lost":
        axes.set_ylim(0, high)
    elif high - low < 0.01:
        middle = (low + high) / 2
        axes.set_ylim(middle - 0.05, middle + 0.05)


def _over_accuracy(axes: Axes, s: Surface, measure: str) -> None:
    x = [t / 10 for t in s.tenths_a]
    values = s.measure(measure) * SCALES[measure]
    for place, u in enumerate(DRAWN):
        _line(axes, x, values[:, :, s.u(u)], place, f"U = 0.{u}")
    _settle(axes, measure)


def figure_by_accuracy(s: Surface, number: int, measure: str) -> Figure:
    """Redraw one of Figures 1 to 6."""
    figure = style.new_figure(SIZE, DPI)
    axes = figure.subplots()
    _over_accuracy(axes, s, measure)
    title = f"Figure {number} redrawn: {MEASURES[measure].split(' (')[0]} vs. a, {s.log} log"
    style.dress(axes, title, "Prediction accuracy a", MEASURES[measure])
    axes.legend(frameon=False, fontsize=8.5)
    return figure


def figure_by_risk(surfaces: Sequence[Surface], number: int, measure: str, tenths: int) -> Figure:
    """Redraw one of Figures 7 to 12."""
    figure = style.new_figure(SIZE, DPI)
    axes = figure.subplots()
    for place, s in enumerate(surfaces):
        x = [t / 10 for t in s.tenths_u]
        _line(axes, x, s.measure(measure)[:, s.a(tenths), :] * SCALES[measure], place, s.log)
    _settle(axes, measure)
    if tenths < 10:
        axes.axvline(1 - tenths / 10, color=style.INK, linewidth=0.8, linestyle=":")
        axes.annotate(
            " U = 1 - a", (1 - tenths / 10, 1), xycoords=("data", "axes fraction"), va="top",
            fontsize=8.5, color=style.INK,
        )  # fmt: skip
    name = " and ".join(s.log for s in surfaces)
    title = f"Figure {number} redrawn: {MEASURES[measure].split(' (')[0]} vs. U, {name} log"
    title += f"{'s' if len(surfaces) > 1 else ''}, a = {tenths / 10:g}"
    style.dress(axes, title, "User risk strategy U", MEASURES[measure])
    if len(surfaces) > 1:
        axes.legend(frameon=False, fontsize=8.5)
    return figure


def figure_overview(surfaces: Sequence[Surface], title: str) -> Figure:
    """Draw QoS, utilization and lost work over a, a row for each log."""
    figure = style.new_figure((7.4, 1.95 * len(surfaces) + 0.3), DPI)
    grid = figure.subplots(len(surfaces), 3, squeeze=False)
    for row, s in zip(grid, surfaces, strict=True):
        for axes, measure in zip(row, MEASURES, strict=True):
            _over_accuracy(axes, s, measure)
            label = "Lost (1,000 node-hours)" if measure == "lost" else MEASURES[measure]
            style.dress(axes, s.log, "Prediction accuracy a", label)
    grid[0][2].legend(frameon=False, fontsize=7.5)
    headed(figure, title)
    return figure


def figure_ablation(runs: pl.DataFrame) -> Figure:
    """Draw what each mechanism does apart and together: mean, and least to most over the draws."""
    figure = style.new_figure((9.4, 7.0), DPI)
    grid = figure.subplots(len(PAPER_LOGS), 3, sharey=True, squeeze=False)
    columns = (("qos", 1.0), ("utilization", 1.0), ("lost_work", 1 / 3.6e6))
    for row, log in zip(grid, PAPER_LOGS, strict=True):
        mine = runs.filter((pl.col("study") == "ablation") & (pl.col("log") == log))
        for axes, (column, scale), label in zip(row, columns, MEASURES.values(), strict=True):
            for place, accuracy in enumerate((0.0, *ABLATION_ACCURACIES)):
                _dots(axes, mine.filter(pl.col("accuracy") == accuracy), column, scale, place)
            style.dress(axes, log, label)
            axes.set_yticks(range(len(VARIANTS)), VARIANTS)
            _settle_ablation(axes, column)
        row[0].set_ylim(len(VARIANTS) - 0.5, -0.5)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
    title = "Which part does what (negotiation: U = 0.9, else 0)"
    headed(figure, title)
    return figure


def _settle_ablation(axes: Axes, column: str) -> None:
    low, high = axes.get_xlim()
    if column == "lost_work":
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(0, 1.15 * high)
        ticks = [t for t in (0, 0.5, 1, 2, 5, 10, 20, 50) if t <= high]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
    elif high - low < 0.01:
        axes.set_xlim((low + high) / 2 - 0.05, (low + high) / 2 + 0.05)


def _dots(axes: Axes, rows: pl.DataFrame, column: str, scale: float, place: int) -> None:
    label = ("no prediction", "a = 0.7", "a = 1")[place]
    at, mean, low, high = [], [], [], []
    for k, variant in enumerate(VARIANTS):
        values = rows.filter(pl.col("variant") == variant)[column].to_numpy() * scale
        if len(values):
            at.append(k + (0.0, -0.15, 0.15)[place])
            mean.append(float(values.mean()))
            low.append(float(values.mean() - values.min()))
            high.append(float(values.max() - values.mean()))
    colour = (style.INK, style.VERMILLION, style.BLUE)[place]
    axes.errorbar(
        mean, at, xerr=np.maximum([low, high], 0), fmt=style.MARKERS[place], color=colour,
        markersize=4.5, elinewidth=1.2, label=label,
    )  # fmt: skip


def figure_calibration(promises: pl.DataFrame) -> Figure:
    """Draw the share of promises kept over what was promised, for users who wait and who do not."""
    figure = style.new_figure((8.6, 3.9), DPI)
    for axes, (accuracy, risk) in zip(figure.subplots(1, 2), CALIBRATED, strict=True):
        low = 0.9 if risk > 0 else 0.0
        axes.plot([low, 1], [low, 1], color=style.INK, linewidth=0.9, linestyle=":", label="honest")
        for place, log in enumerate(PAPER_LOGS):
            bins = calibration(promises, log, accuracy, risk)
            x, y = [b.promised for b in bins], [b.kept for b in bins]
            axes.plot(
                x, y, color=style.LINES[place], marker=style.MARKERS[place], markersize=5.5,
                linestyle="none", label=log, clip_on=False,
            )  # fmt: skip
        axes.set_ylim(0, 1.02)
        style.dress(
            axes, f"a = {accuracy:g}, U = {risk:g}", "Promised probability (bin mean)", "Share kept"
        )
    figure.axes[1].legend(frameon=False, fontsize=8.5, loc="upper left")
    title = "Are the promises honest? Kept beside promised, over all draws"
    headed(figure, title)
    return figure


def draw(
    surfaces: Mapping[str, Surface],
    bursts: Mapping[str, Surface],
    runs: pl.DataFrame,
    promises: pl.DataFrame,
) -> dict[str, Figure]:
    """Return all figures in the order of the paper, by the names of their files."""
    drawn = {}
    for number, log, measure in BY_ACCURACY:
        drawn[f"figure-{number:02}.png"] = figure_by_accuracy(surfaces[log], number, measure)
    for number, logs, measure, tenths in BY_RISK:
        figure = figure_by_risk([surfaces[log] for log in logs], number, measure, tenths)
        drawn[f"figure-{number:02}.png"] = figure
    title = "The NASA log as before its cleaning (rebuilt)"
    drawn["nasa-rebuilt.png"] = figure_overview([surfaces[REBUILT]], title)
    title = "As many failures, gathered into bursts of five"
    drawn["bursts.png"] = figure_overview(list(bursts.values()), title)
    drawn["ablation.png"] = figure_ablation(runs)
    drawn["calibration.png"] = figure_calibration(promises)
    return drawn
