"""Figures 1 and 2 of the paper redrawn, at its failure rate and at higher ones, and gains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from forestall import style
from studies.kit.figures import Look, band, headed, legend_below
from studies.kit.means import Mean
from studies.virtual.claims import AT_PAPER, LOG
from studies.virtual.found import Found, aware
from studies.virtual.study import (
    AWARE,
    BASELINES,
    BEST,
    BLIND,
    CAPACITY,
    DYNAMIC,
    FIRST,
    JOBS,
    LOAD,
    MEASURES,
    OMNISCIENT,
    PAPER,
    RANDOM,
    REAL,
    RELIABILITY,
    STAYS,
    STRATEGIES,
    TASKS,
    WIDE_LOADS,
    WIDTHS,
    WORK,
    Cell,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI: Final = 110
LOOKS: Final = {
    RANDOM: Look(style.BLACK, "X", ":", "random-select"),
    STAYS: Look(style.GREY, "x", ":", "random-select that stays"),
    FIRST: Look(style.VERMILLION, "s", "--", "first-fit"),
    BEST: Look(style.BLUE, "o", "-", "best-fit (alpha 0.5)"),
    RELIABILITY: Look(style.SKY, "v", "-", "best-fit, alpha 0"),
    CAPACITY: Look(style.PURPLE, "D", "-", "best-fit, alpha 1"),
    DYNAMIC: Look(style.ORANGE, "P", "-", "best-fit, alpha dynamic"),
    OMNISCIENT: Look(style.GREEN, "^", "-.", "omniscient"),
}
ACCURACY: Final = "Prediction accuracy (%)"
COMPLETED: Final = {
    JOBS: "Jobs completed (%)",
    TASKS: "Tasks completed (%)",
    WORK: "Work completed (%)",
}
GAINED: Final = {
    JOBS: "Jobs, points above random",
    TASKS: "Tasks, points above random",
    WORK: "Work, points above random",
}
TIMES: Final = "Failures, in multiples of the paper's 307 a year"


def draw(found: Found) -> dict[str, Figure]:
    """Return all figures, by the names of their files."""
    real = found.runs.has(Cell(STAYS, failures=REAL))
    return {
        "figure-1.png": figure_of_paper(found, JOBS, 1, real),
        "figure-2.png": figure_of_paper(found, TASKS, 2, real),
        "by-rate.png": figure_by_rate(found),
        "late-predictions.png": figure_late(found),
        "gain-over-accuracy.png": figure_gain_over_accuracy(found),
        "gain-over-rate.png": figure_gain_over_rate(found),
        "unreliable-quarter.png": figure_quarter(found),
        "load.png": figure_load(found),
        "width.png": figure_width(found),
    }


def _band(axes: Axes, x: Iterable[float], means: list[Mean], strategy: str) -> None:
    band(axes, x, means, LOOKS[strategy], 100, 0.13)


def _accuracies(found: Found, cell: Cell) -> list[float]:
    return [a for a in found.plan.accuracies if found.runs.has(cell.at(accuracy=a))]


def _curves(axes: Axes, found: Found, base: Cell, measure: str, *, gain: bool) -> None:
    """Draw a line a strategy over accuracy; those that ask for no predictions are flat, but for
    their gain over random-select, which does."""
    x = _accuracies(found, base.at(strategy=BEST))
    for strategy in (*BASELINES, FIRST, BEST, OMNISCIENT):
        if gain and strategy == RANDOM:
            continue
        asks = strategy not in BLIND
        means = [
            found.runs.gain(cell, base.at(strategy=RANDOM, accuracy=a), measure)
            if gain
            else found.runs.mean(cell, measure)
            for a in x
            for cell in [base.at(strategy=strategy, accuracy=a if asks else -1.0)]
        ]
        _band(axes, [100 * a for a in x], means, strategy)


def _together(figure: Figure, axes: Axes, title: str, columns: int = 4) -> None:
    legend_below(figure, axes, ncols=columns)
    headed(figure, title)


def figure_of_paper(found: Found, measure: str, number: int, real: bool) -> Figure:
    """Redraw Figure 1 or 2: left on the scale of the paper, right near the lines."""
    figure = style.new_figure((8.8, 4.0), DPI)
    whole, near = figure.subplots(1, 2)
    base = Cell(BEST, failures=REAL) if real else Cell(BEST, rate=found.plan.rates[0])
    for axes, title in ((whole, "whole scale"), (near, "the same, near the lines")):
        _curves(axes, found, base, measure, gain=False)
        style.dress(axes, title, ACCURACY, COMPLETED[measure])
    whole.set_ylim(0, 104)
    whole.plot(
        [100 * PAPER], [100 * AT_PAPER[measure]], color=style.BLUE, marker="*", markersize=12,
        linestyle="none", label="the paper's best-fit",
    )  # fmt: skip
    if measure == JOBS:
        whole.axhline(
            100 * LOG, color=style.GREY, linewidth=1.2, linestyle="--", label="the paper's log"
        )
    log = "the real failures" if real else f"generated failures, {found.plan.rates[0]:g}x"
    title = f"Figure {number} redrawn: {log} (mean of seeds, band: 95 %)"
    _together(figure, whole, title, 6)
    return figure


def figure_by_rate(found: Found) -> Figure:
    """Draw Figures 1 and 2 at each failure rate."""
    return _by_rate(found, "Both rates at higher failure rates (generated failures)", gain=False)


def figure_gain_over_accuracy(found: Found) -> Figure:
    """Draw what the strategies gain over random-select, over accuracy."""
    return _by_rate(found, "Paired gains over random-select (band: 95 %)", gain=True)


def _by_rate(found: Found, title: str, *, gain: bool) -> Figure:
    figure = style.new_figure((10.4, 7.6), DPI)
    grid = figure.subplots(3, len(found.plan.rates), squeeze=False)
    for row, measure in zip(grid, MEASURES, strict=True):
        for axes, rate in zip(row, found.plan.rates, strict=True):
            if gain:
                axes.axhline(0, color=style.GREY, linewidth=0.9)
            _curves(axes, found, Cell(BEST, rate=rate), measure, gain=gain)
            label = (GAINED if gain else COMPLETED)[measure]
            style.dress(axes, f"{rate:g} x 307 failures", ACCURACY, label)
    _together(figure, grid[0][0], title)
    return figure


def figure_late(found: Found) -> Figure:
    """Draw gains over accuracy where predictions may come late, at the highest rate."""
    figure = style.new_figure((10.4, 3.9), DPI)
    rate = found.late_rates[-1]
    row = figure.subplots(1, 3)
    for axes, measure in zip(row, MEASURES, strict=True):
        axes.axhline(0, color=style.GREY, linewidth=0.9)
        for strategy in AWARE:
            x = [a for a in found.plan.accuracies if found.runs.has(found.late(strategy, rate, a))]
            pairs = ([found.late(one, rate, a) for one in (strategy, RANDOM)] for a in x)
            means = [found.runs.gain(one, base, measure) for one, base in pairs]
            _band(axes, [100 * a for a in x], means, strategy)
        style.dress(axes, "", ACCURACY, GAINED[measure])
    _together(figure, row[0], f"Predictions that may come late, {rate:g} x 307 failures")
    return figure


def figure_gain_over_rate(found: Found) -> Figure:
    """Draw what the strategies gain over random-select, over the failure rate."""
    figure = style.new_figure((11.4, 4.5), DPI)
    row = figure.subplots(1, 3)
    for axes, measure in zip(row, MEASURES, strict=True):
        for strategy in STRATEGIES:
            rates = [r for r in found.every if found.runs.has(found.cell(strategy, r))]
            if strategy in BASELINES or not rates:
                continue
            means = [found.gain(strategy, RANDOM, r, measure) for r in rates]
            _band(axes, rates, means, strategy)
        noise = [
            200 * found.runs.mean(found.cell(RANDOM, r), measure).deviation for r in found.every
        ]
        axes.plot(
            found.every, noise, color=style.GREY, linewidth=1.2, linestyle=":",
            label="twice the deviation from year to year",
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="clip")
        axes.set_xticks(found.every, [f"{rate:g}" for rate in found.every])
        axes.minorticks_off()
        axes.set_ylim(bottom=0.02)
        axes.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
        axes.minorticks_off()
        style.dress(axes, "", TIMES, GAINED[measure])
    _together(figure, row[0], f"Gains over random-select at {100 * PAPER:g} % accuracy", 4)
    return figure


def figure_quarter(found: Found) -> Figure:
    """Draw the share of useful work on the least reliable quarter of the nodes."""
    figure = style.new_figure((6.8, 4.2), DPI)
    axes = figure.subplots()
    for strategy in STRATEGIES:
        rates = [r for r in found.every if found.runs.has(found.cell(strategy, r))]
        means = [found.runs.mean(found.cell(strategy, r), "quarter") for r in rates]
        if means:
            _band(axes, rates, means, strategy)
    axes.axhline(25, color=style.GREY, linewidth=0.9)
    axes.set_xscale("log")
    axes.set_xticks(found.every, [f"{rate:g}" for rate in found.every])
    axes.minorticks_off()
    style.dress(axes, "", TIMES, "Useful work on the quarter (%)")
    title = f"The quarter of the nodes with most failures (accuracy {100 * PAPER:g} %)"
    _together(figure, axes, title, 3)
    return figure


def figure_load(found: Found) -> Figure:
    """Draw what is completed over load, without failures and with many, and what predictions add
    to jobs, tasks and work."""
    figure = style.new_figure((10.4, 7.0), DPI)
    above, below = figure.subplots(2, 3)
    high = found.plan.rates[-1]
    for axes, measure in zip(above, MEASURES, strict=True):
        for rate, study, colour, dash, label in (
            (0.0, "loads", style.BLACK, "-", "no failure"),
            (0.0, "backfill", style.BLACK, "--", "no failure, backfill"),
            (high, "loads", style.VERMILLION, "-", f"{high:g}x, random-select"),
            (high, "backfill", style.VERMILLION, "--", f"{high:g}x, random-select, backfill"),
        ):
            cells = {load: _at_load(RANDOM, rate, load, study) for load in found.plan.loads}
            there = {load: cell for load, cell in cells.items() if found.runs.has(cell)}
            values = [100 * found.runs.mean(cell, measure).mean for cell in there.values()]
            axes.plot(
                list(there), values, color=colour, linestyle=dash, marker="o", label=label,
                markersize=4,
            )  # fmt: skip
        style.dress(axes, "", "Offered load", COMPLETED[measure])
    for axes, measure in zip(below, MEASURES, strict=True):
        for strategy in (FIRST, BEST, OMNISCIENT):
            pairs = [
                [_at_load(one, high, load, "loads") for one in (strategy, RANDOM)]
                for load in found.plan.loads
            ]
            means = [found.runs.gain(one, base, measure) for one, base in pairs]
            _band(axes, found.plan.loads, means, strategy)
        axes.axhline(0, color=style.GREY, linewidth=0.9)
        style.dress(axes, f"{high:g} x 307 failures", "Offered load", GAINED[measure])
    for axes in (above[0], below[0]):
        axes.legend(frameon=False, fontsize=8)
    title = "Load: what is completed, and what prediction adds to it"
    headed(figure, title)
    return figure


def _at_load(strategy: str, rate: float, load: float, study: str) -> Cell:
    inside = study == "loads" and load == LOAD and rate > 0
    return aware(strategy, rate, load=load, study="grid" if inside else study)


def figure_width(found: Found) -> Figure:
    """Draw what is completed without a single failure, over the width of tasks."""
    figure = style.new_figure((10.4, 3.9), DPI)
    load = WIDE_LOADS[0]
    narrow = Cell(STAYS, rate=0.0, load=load, study="loads")
    row = figure.subplots(1, 3)
    for axes, measure in zip(row, MEASURES, strict=True):
        for strategy in (RANDOM, *AWARE):
            cells = [narrow] if found.runs.has(narrow) else []
            cells += [found.wide(strategy, 0.0, width, load) for width in WIDTHS]
            means = [found.runs.mean(cell, measure) for cell in cells]
            _band(axes, [cell.width for cell in cells], means, strategy)
        axes.set_xticks([1.0, *WIDTHS], [f"{width:g}" for width in (1.0, *WIDTHS)])
        style.dress(axes, "", "Processors of a task (of a node's 4)", COMPLETED[measure])
    _together(figure, row[0], f"Not a single failure: capacity alone, load {load:g}")
    return figure
