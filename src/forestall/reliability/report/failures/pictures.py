"""The figures of a failure log with their words: what each is, what it shows, how it is drawn.

They take the rows of `summary.json` where those are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.show.blocks import Figure
from forestall.core.show.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    SKY,
    VERMILLION,
    dress,
    legend,
    new_figure,
)
from forestall.core.show.words import between, percent
from forestall.core.show.words import figure as number
from forestall.reliability.fits import plots
from forestall.reliability.history.life_table import kaplan_meier
from forestall.reliability.report.failures import words
from forestall.reliability.report.fit.report import quieten, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

    from forestall.reliability.fits.estimate import Fitted
    from forestall.reliability.history.gaps import NodeYears
    from forestall.reliability.history.trend import AgeRate
    from forestall.reliability.report.failures.study import FailureStudy


Floats = npt.NDArray[np.float64]
Row = Mapping[str, Any]

SHORT_STAY: Final = 90.0
"""Days in service in a year below which a node's failures of that year are in no box."""
DAYS_A_YEAR: Final = 365.25
MOST_NODES: Final = 20
YEAR: Final = 365.25 * 86_400
PER: Final = 1000.0 * 86_400
"""Rates per second become failures per 1000 days."""
SLIGHT: Final = 0.02
"""Steps with less than this share of the longest exposure do not set the scale of the axis."""
RATE: Final = "Failures per 1000\nnode-days"


def draw_failures_per_year(rows: Sequence[Row], head: str) -> Drawn:
    """Draw the failures of each year as bars and, below, the rate with its interval."""
    figure = new_figure((8.4, 4.8))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.4, 1])
    place = np.arange(len(rows))
    counts = [row["failures"] for row in rows]
    above.bar(place, counts, 0.7, color=SKY, edgecolor=BLUE, linewidth=0.8)
    for at, count in zip(place, counts, strict=True):
        above.annotate(
            f"{count:,}", (float(at), count), (0, 2), textcoords="offset points", ha="center",
            fontsize=8, color=INK,
        )  # fmt: skip
    above.set_ylim(0, max([1, *counts]) * 1.15)
    rates_with_bars(below, place.astype(np.float64), rows)
    below.set_ylim(bottom=0)
    below.set_xticks(place, [str(row["year"]) for row in rows])
    dress(above, "Failures per year", "", "Failures (count)")
    dress(below, "", head, RATE)
    above.grid(visible=False, axis="x")
    figure.align_ylabels()
    return figure


def rates_with_bars(axes: Axes, place: Floats, rows: Sequence[Row]) -> None:
    """Draw the rates of rows with their intervals; rows without exposure have none."""
    there = [k for k, row in enumerate(rows) if row["rate"] is not None]
    rate, low, high = (
        np.array([rows[k][name] for k in there], dtype=np.float64)
        for name in ("rate", "low", "high")
    )
    axes.errorbar(
        place[there], rate, [rate - low, high - rate], fmt="o", color=VERMILLION, capsize=4,
        markersize=5, elinewidth=1.4,
    )  # fmt: skip


def draw_failures_per_node(table: NodeYears, head: str) -> Drawn:
    """Draw, for each year, how the failures of nodes are spread, as boxes.

    Each node's failures in a year are divided by the years that it was in service in it; nodes that
    were there for less than 90 days of it are left out. Boxes hold the middle half, whiskers 95 %.
    """
    figure = new_figure((8.4, 4.2))
    axes = figure.subplots()
    boxes, labels, counts = [], [], []
    for k, year in enumerate(table.years):
        there = table.node_days[:, k] >= SHORT_STAY
        if there.any():
            boxes.append(table.failures[there, k] / table.node_days[there, k] * DAYS_A_YEAR)
            labels.append(str(year))
            counts.append(int(there.sum()))
    if not boxes:
        say_none(axes, "No node was in service for 90 days of a year")
    else:
        drawn = axes.boxplot(
            boxes, whis=(2.5, 97.5), widths=0.6, patch_artist=True,
            flierprops={"marker": ".", "markersize": 3.5, "markeredgecolor": GREY},
            medianprops={"color": VERMILLION, "linewidth": 1.6},
        )  # fmt: skip
        for box in drawn["boxes"]:
            box.set(facecolor="#dceefa", edgecolor=BLUE, linewidth=1.0)
        means = [float(np.mean(box)) for box in boxes]
        axes.plot(
            range(1, len(boxes) + 1), means, "D", color=GREEN, markersize=4.5, linestyle="none",
            label="mean",
        )  # fmt: skip
        axes.plot([], [], color=VERMILLION, linewidth=1.6, label="median")
        axes.set_xticks(
            range(1, len(boxes) + 1),
            [f"{label}\n{count:,} nodes" for label, count in zip(labels, counts, strict=True)],
        )
        axes.set_ylim(bottom=0)
        legend(axes)
    dress(axes, "Failures per node", head, "Failures of a node per year in service")
    axes.grid(visible=False, axis="x")
    return figure


def draw_bathtub(found: AgeRate, curve: tuple[Floats, Floats] | None, head: str) -> Drawn:
    """Draw the failure rate over age: in steps with exact intervals, and smooth with its band.

    Parameters
    ----------
    found : the rate, in s
    curve : ages (s) and intensities (per s) of the power-law process that was fitted
    """
    figure = new_figure((8.4, 4.4))
    axes = figure.subplots()
    there = found.exposure > 0
    edges = found.edges / YEAR
    middle = (edges[:-1] + edges[1:])[there] / 2
    rate, low, high = (each[there] * PER for each in (found.rate, found.low, found.high))
    axes.errorbar(
        middle, rate, [rate - low, high - rate], fmt="o", color=GREY, markersize=3.5,
        elinewidth=1.0, label="in steps, with 95 % interval", zorder=1,
    )  # fmt: skip
    smooth, below, above = (
        each * PER for each in (found.smooth, found.smooth_low, found.smooth_high)
    )
    ages = found.age / YEAR
    axes.fill_between(ages, below, above, color=SKY, alpha=0.45, linewidth=0, label="95 % band")
    axes.plot(ages, smooth, color=BLUE, linewidth=1.8, label="smoothed")
    if curve is not None:
        axes.plot(
            curve[0] / YEAR, curve[1] * PER, "--", color=VERMILLION, linewidth=1.4,
            label="power-law process",
        )  # fmt: skip
    known = there & (found.exposure > SLIGHT * found.exposure.max())
    axes.set_ylim(0, float(np.max(found.high[known], initial=0.0)) * PER * 1.05 or 1.0)
    axes.set_xlim(0, float(edges[-1]))
    dress(axes, "Bathtub view", head, RATE)
    legend(axes)
    return figure


def draw_worst_nodes(rows: Sequence[Row], mean: float | None) -> Drawn:
    """Draw the nodes that failed most, for their time in service, as dots with intervals.

    Filled dots are nodes that failed more than chance allows; `mean` is the rate of all nodes.
    """
    shown = list(rows[:MOST_NODES])
    figure = new_figure((7.6, 1.3 + 0.24 * max(len(shown), 4)))
    axes = figure.subplots()
    place = np.arange(len(shown), 0, -1, dtype=np.float64)
    for kind, colour, fill, label in (
        (True, VERMILLION, VERMILLION, "more than chance allows"),
        (False, GREY, "white", "chance can explain it"),
    ):
        where = [k for k, row in enumerate(shown) if bool(row["worse"]) is kind]
        if where:
            rate, low, high = (
                np.array([shown[k][name] for k in where]) for name in ("rate", "low", "high")
            )
            axes.errorbar(
                rate, place[where], xerr=[rate - low, high - rate], fmt="o", color=colour,
                markerfacecolor=fill, capsize=3, markersize=5.5, elinewidth=1.3, label=label,
            )  # fmt: skip
    if mean is not None:
        axes.axvline(mean, color=INK, linewidth=1.1, linestyle="--", label="all nodes")
    axes.set_yticks(place, [f"node {row['node']}" for row in shown])
    axes.set_ylim(0.3, len(shown) + 0.7)
    axes.set_xlim(left=0)
    dress(axes, "Nodes with the highest failure rates", RATE.replace("\n", " "), "")
    legend(axes)
    return figure


def draw_autocorrelation(values: Sequence[float], bound: float | None) -> Drawn:
    """Draw the autocorrelation of the system's gaps by lag, with the band that chance allows."""
    figure = new_figure((8.4, 3.4))
    axes = figure.subplots()
    lags = np.arange(1, len(values) + 1)
    heights = np.asarray(values, dtype=np.float64)
    if bound is not None:
        axes.axhspan(
            -bound, bound, color=GREY, alpha=0.25, linewidth=0, label="range expected by chance"
        )
        beyond = np.abs(heights) > bound
    else:
        beyond = np.zeros(len(heights), dtype=np.bool_)
    axes.vlines(lags, 0, heights, color=np.where(beyond, VERMILLION, BLUE).tolist(), linewidth=2.2)
    axes.plot(lags, heights, "o", color=INK, markersize=2.5, linestyle="none")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xlim(0.3, len(values) + 0.7)
    dress(
        axes, "Do short gaps follow short gaps?", "Lag (gaps later)",
        "Autocorrelation of\nranks of gaps",
    )  # fmt: skip
    if bound is not None:
        legend(axes)
    return figure


def say_none(axes: Axes, text: str) -> None:
    """Write into the middle of empty axes why they are empty."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=11, color=INK
    )


FEWEST: Final = 8
"""Failures, at least, for a figure of the rate over time."""
FAR: Final = 1000.0
"""A fitted hazard so many times above or below the mean rate is left out of sight."""
NAMES: Final = (
    "failures_per_year",
    "failures_per_node",
    "probability_plots_by_year",
    "probability_plots",
    "hazard",
    "survival",
    "bathtub",
    "worst_nodes",
    "autocorrelation",
)
"""Of the figures, in the order of the page; their files are these with .png."""


def _figure(name: str, make: Callable[[], Drawn], alt: str, caption: str) -> Figure:
    """Return a figure that is laid out once, however often it is written."""

    def draw() -> Drawn:
        drawn = make()
        quieten(drawn)
        settle(drawn)
        return drawn

    return Figure(name, draw, alt, caption)


YEAR_HEADS: Final = {
    "calendar": "Year",
    "age": "Year of age of the node",
    "own": "Year after the node's first failure",
}


def year_head(found: FailureStudy) -> str:
    """Return what an axis of years shows."""
    return YEAR_HEADS[found.summary["years_are"]]


def per_year(found: FailureStudy) -> Figure:
    """Return failures and their rate year by year."""
    rows = list(found.years)
    most = max(rows, key=lambda row: row["failures"])
    when = words.year_name(found.summary, most)
    caption = f"Most failures, {most['failures']:,}, came in {when}. "
    if len(rows) == 1:
        caption = f"All failures came in {when}. "
    caption += (
        "Rates account for how many nodes were in service for how long; their bars are 95 % "
        "intervals."
    )
    alt = "Failures per year: " + ", ".join(f"{row['year']} {row['failures']:,}" for row in rows)
    return _figure(NAMES[0], lambda: draw_failures_per_year(rows, year_head(found)), alt, caption)


def per_node(found: FailureStudy) -> Figure | None:
    """Return how failures spread over the nodes."""
    table = found.node_years
    if not (table.node_days >= SHORT_STAY).any():
        return None
    share = float(np.mean(table.failures.sum(axis=1)[found.history.there] == 0))
    failed = np.sort(table.failures.sum(axis=1))[::-1]
    tenth = max(1, len(found.history.there) // 10)
    part = float(failed[:tenth].sum() / failed.sum())
    caption = (
        f"A tenth of the nodes had {percent(part)} of all failures; {percent(share)} of the nodes "
        "never failed. Boxes hold the middle half of the nodes, whiskers 95 %, dots are the rest."
    )
    alt = "Box plot of failures per node and year in service."
    return _figure(NAMES[1], lambda: draw_failures_per_node(table, year_head(found)), alt, caption)


def by_year(found: FailureStudy) -> Figure | None:
    """Return a P-P plot of the gaps of each year that has enough of them."""
    years = {
        one.year: [one.weibull.fitted, one.exponential.fitted]
        for one in found.year_laws
        if one.weibull is not None and one.exponential is not None
    }
    if not years:
        return None
    nearer = sum(row["ks"] < row["exponential_ks"] for row in found.years if row["year"] in years)
    caption = (
        "Gaps that begin in each year against the distributions fitted to that year: the closer to "
        f"the diagonal, the better. The Weibull distribution is closer than the exponential one in "
        f"{nearer} of {len(years)} years (columns ks and exponential_ks of years.csv)."
    )
    alt = f"P-P plots of the gaps of nodes, a plot for each of the years {', '.join(years)}."
    title = f"P-P: {year_head(found).lower()}"
    return _figure(NAMES[2], lambda: plots.plot_pp_each(years, title=title), alt, caption)


def _laws(found: FailureStudy) -> list[Fitted]:
    """Return Weibull, exponential and, where it is another, the best law of the nodes' gaps."""
    both = [one.fitted for one in (found.node.weibull, found.node.exponential) if one is not None]
    ranking = found.node.ranking
    if ranking is not None and all(ranking.best.family.name != law.family.name for law in both):
        both.append(ranking.best)
    return both


def _probabilities(found: FailureStudy) -> Figure | None:
    """Return P-P and Q-Q plots of the gaps of nodes."""
    laws = _laws(found)
    if not laws:
        return None
    told = {law.family.title: law.goodness(0).ks for law in laws}
    near = min(told, key=lambda name: told[name])
    distances = ", ".join(f"{name} {ks:.3f}" for name, ks in told.items())
    caption = (
        "Gaps of nodes against fitted distributions: the closer to the diagonal, the better. "
        f"The closest is {near} (largest distance in shares: {distances})."
    )
    alt = f"P-P and Q-Q plots of the gaps of nodes for {', '.join(told)}."
    return _figure(NAMES[3], lambda: _draw_probabilities(laws, found.asked.unit), alt, caption)


def _draw_probabilities(laws: list[Fitted], unit: str) -> Drawn:
    figure = new_figure((9.4, 4.9))
    left, right = figure.subplots(1, 2)
    plots.plot_pp(laws, left, title="P-P: shares failed")
    plots.plot_qq(laws, right, unit=unit, title="Q-Q: gaps")
    return figure


def _hazard(found: FailureStudy) -> Figure | None:
    """Return the hazard of nodes over the time since their last failure."""
    laws = _laws(found)
    if not laws:
        return None
    alt = "Hazard rate of nodes over the time since their last failure, observed and fitted."
    caption = words.on_clustering(found.summary)
    return _figure(NAMES[4], lambda: _draw_hazard(found, laws), alt, caption)


def _draw_hazard(found: FailureStudy, laws: list[Fitted]) -> Drawn:
    title = "Hazard: how soon does a node fail again?"
    figure = plots.plot_hazard(laws, unit=found.asked.unit, title=title)
    sampled = found.node.sampled
    mean = sampled.ended / float(sampled.gap.sum())
    for axes in figure.axes:
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, mean / FAR), min(high, mean * FAR))
        axes.set_xlim(left=_shortest(found))
    return figure


def _shortest(found: FailureStudy) -> float:
    """Return where axes of gaps begin: a little below the shortest gap above 0 that ended."""
    sampled = found.node.sampled
    ended = sampled.gap[~sampled.censored]
    return float(ended[ended > 0].min(initial=sampled.gap.max())) / 1.5


def _survival(found: FailureStudy) -> Figure | None:
    """Return how long nodes go without a failure."""
    laws = _laws(found)
    if not laws:
        return None
    sampled = found.node.sampled
    median, low, high = kaplan_meier(sampled.gap, sampled.censored).median
    if np.isfinite(median):
        ends = between((low, high)) if np.isfinite(high) else f"{number(low)} or more"
        caption = f"Half of the gaps last {number(median)} {found.asked.unit} or less ({ends})."
    else:
        caption = "More than half of the gaps last longer than the observation."
    caption += " Gaps still running at the end of observation count up to there (Kaplan-Meier)."
    alt = "Share of gaps that last longer, observed and fitted."
    return _figure(NAMES[5], lambda: _draw_survival(found, laws), alt, caption)


def _draw_survival(found: FailureStudy, laws: list[Fitted]) -> Drawn:
    title = "How long nodes go without a failure"
    figure = plots.plot_survival(laws, unit=found.asked.unit, title=title)
    for axes in figure.axes:
        if axes.get_xscale() == "log":
            axes.set_xlim(left=_shortest(found))
    return figure


OF_GAPS: Final = (_probabilities, _hazard, _survival)
"""Figures of the gaps of nodes, each None where there are too few."""


def bathtub(found: FailureStudy) -> Figure | None:
    """Return the failure rate of nodes over their age."""
    rate = found.aged.rate
    if rate is None or len(found.history) < FEWEST:
        return None
    alt = "Failure rate of nodes over their age, with its interval."
    return _figure(
        NAMES[6],
        lambda: draw_bathtub(rate, _process_curve(found), found.aged.head),
        alt,
        words.on_age(found.summary),
    )


def _process_curve(found: FailureStudy) -> tuple[Any, Any] | None:
    process, rate = found.change.process, found.aged.rate
    if process is None or rate is None:
        return None
    ages = np.linspace(0, float(rate.edges[-1]), 200)[1:]
    return ages, process.intensity(ages)


def worst(found: FailureStudy) -> Figure | None:
    """Return the nodes with the highest rates."""
    rows = found.worst.rows()
    if not rows:
        return None
    names = ", ".join(f"node {row['node']} ({row['failures']:,})" for row in rows[:3])
    told, rates = words.on_nodes(found.summary), words.on_rates(found.summary)
    caption = f"{told} Highest: {names} failures. {rates}"
    alt = f"Nodes with the highest failure rates: {names}."
    return _figure(
        NAMES[7], lambda: draw_worst_nodes(rows, found.summary["rate"]["rate"]), alt, caption
    )


def bursts(found: FailureStudy) -> Figure | None:
    """Return how gaps of the machine go with the gaps before them."""
    gaps = found.bursting.gaps
    if gaps is None:
        return None
    alt = "Autocorrelation of the gaps of the whole machine by lag."
    return _figure(
        NAMES[8],
        lambda: draw_autocorrelation(gaps.correlation.tolist(), gaps.band),
        alt,
        words.on_bursts(found.summary)[-1],
    )
