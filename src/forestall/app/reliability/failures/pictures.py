"""The figures of a failure log with their words: what each is, and what it shows for this log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.app.reliability.failures import figures as draw
from forestall.app.reliability.failures import words
from forestall.app.reliability.fit.plot import quieten, settle
from forestall.app.reliability.fit.words import between
from forestall.app.reliability.fit.words import figure as number
from forestall.reliability.fits import plots
from forestall.reliability.history.life_table import kaplan_meier
from forestall.show.blocks import Figure
from forestall.show.style import new_figure
from forestall.show.words import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.app.reliability.failures.study import FailureStudy
    from forestall.reliability.fits.estimate import Fitted

FEWEST: Final = 8
"""Failures, at least, for a figure of the rate over time."""
FAR: Final = 1000.0
"""A fitted hazard so many times above or below the mean rate is left out of sight."""
NAMES: Final = (
    "failures_per_year",
    "failures_per_node",
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


def year_head(found: FailureStudy) -> str:
    """Return what an axis of years shows."""
    return "Year" if found.summary["years_are"] == "calendar" else "Year of age of the node"


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
    return _figure(NAMES[0], lambda: draw.failures_per_year(rows, year_head(found)), alt, caption)


def per_node(found: FailureStudy) -> Figure | None:
    """Return how failures spread over the nodes."""
    table = found.history.node_years(found.summary["years_are"])
    if not (table.node_days >= draw.SHORT_STAY).any():
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
    return _figure(NAMES[1], lambda: draw.failures_per_node(table, year_head(found)), alt, caption)


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
        f"Gaps of nodes against their laws: the closer to the diagonal, the better. Nearest is "
        f"{near} (largest distance in shares: {distances})."
    )
    alt = f"P-P and Q-Q plots of the gaps of nodes for {', '.join(told)}."
    return _figure(NAMES[2], lambda: _draw_probabilities(laws, found.asked.unit), alt, caption)


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
    alt = "Hazard rate of nodes over the time since their last failure, seen and by the laws."
    caption = words.on_clustering(found.summary)
    return _figure(NAMES[3], lambda: _draw_hazard(found, laws), alt, caption)


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
        caption = "More than half of the gaps last longer than was seen."
    caption += " Gaps still running at the end of observation count up to there (Kaplan-Meier)."
    alt = "Share of gaps that last longer, seen and by the laws."
    return _figure(NAMES[4], lambda: _draw_survival(found, laws), alt, caption)


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
        NAMES[5],
        lambda: draw.bathtub(rate, _process_curve(found), found.aged.head),
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
        NAMES[6], lambda: draw.worst_nodes(rows, found.summary["rate"]["rate"]), alt, caption
    )


def bursts(found: FailureStudy) -> Figure | None:
    """Return how gaps of the machine go with the gaps before them."""
    gaps = found.bursting.gaps
    if gaps is None:
        return None
    alt = "Autocorrelation of the gaps of the whole machine by lag."
    return _figure(
        NAMES[7],
        lambda: draw.autocorrelation(gaps.correlation.tolist(), gaps.band),
        alt,
        words.on_bursts(found.summary)[-1],
    )
