"""Which nodes fail more than chance allows, and whether failures come in bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.show.facts import taken
from forestall.reliability.nodes.bursts import (
    Autocorrelation,
    BurstShare,
    FailureBursts,
    autocorrelation,
    bursts,
    counts_per_interval,
)
from forestall.reliability.nodes.nodes import NodeReport, node_report
from forestall.reliability.report.fit.fit import finite

if TYPE_CHECKING:
    from forestall.reliability.history.history import History

DAY: Final = 86_400
FALSE_ALARMS: Final = 0.05
"""Share of false alarms that is allowed among the nodes that are named."""
LAGS: Final = 30
BURST_DRAWS: Final = (99, 999)
"""Least and most logs that are simulated."""
BURST_WORK: Final = 1_000_000
"""Failures that are simulated in all, where that gives a number of logs between these."""
FLEET_DRAWS: Final = 999
MOST_LISTED: Final = 50_000
"""Of more nodes only those that failed have a row."""
PERIOD: Final = 30 * DAY
"""Simulated failures stay in their own period of this length, s: slow change is no burst."""


@dataclass(frozen=True)
class Worst:
    """Nodes by the rate to expect of them, the highest first.

    Attributes
    ----------
    report : of all nodes, against a fleet of one rate; None where it cannot be had
    why : why there is none
    """

    report: NodeReport | None
    why: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Return a row a node: ``node, failures, node_days, expected``, its own rate with the exact
        interval ``rate, low, high``, the rate to expect in future ``rate_shrunk, shrunk_low,
        shrunk_high``, by which rows are in order, ``p, q, worse, beyond_fleet``.

        Of more than `MOST_LISTED` nodes those that never failed have none: all but their time in
        service is alike.
        """
        report = self.report
        if report is None:
            return []
        order = np.lexsort((report.node, report.p_value, -report.rate_shrunk))
        if len(order) > MOST_LISTED:
            order = order[report.failures[order] > 0]
        told = taken(
            report, "failures", "node_days", "expected", "rate", low="rate_low", high="rate_high",
            rate_shrunk="rate_shrunk", shrunk_low="low", shrunk_high="high", p="p_value",
            q="q_value", worse="flagged", beyond_fleet="beyond",
        )  # fmt: skip
        columns = {"node": np.asarray(report.name, dtype=object), **told}
        rows = zip(*(column[order].tolist() for column in columns.values()), strict=True)
        return [finite(dict(zip(columns, row, strict=True))) for row in rows]

    def plain(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        report = self.report
        if report is None:
            return {"why": self.why, "worse": 0, "beyond_fleet": 0, "nodes": []}
        variation = 0.0 if np.isinf(report.fleet.shape) else report.fleet.variation
        found: dict[str, Any] = finite(
            {
                "why": "",
                "worse": int(report.flagged.sum()),
                "beyond_fleet": int(report.beyond.sum()),
                "false_discovery_rate": report.false_discovery_rate,
                "dispersion": report.dispersion.ratio,
                "dispersion_p": report.dispersion.p_value,
                "variation_of_rates": variation,
                "nodes": self.rows(),
            }
        )
        return found


def worst_of(history: History, level: float, seed: int) -> Worst:
    """Return which nodes stand out."""
    if history.nodes < 2:
        return Worst(None, "the log has only one node, so there is nothing to compare it with")
    try:
        rng = np.random.default_rng(seed)
        report = node_report(
            history, false_discovery_rate=FALSE_ALARMS, level=level, rng=rng, draws=FLEET_DRAWS
        )
    except ParameterError as error:
        return Worst(None, str(error))
    return Worst(report)


@dataclass(frozen=True)
class Bursting:
    """How failures come together in time.

    Attributes
    ----------
    bursts : those closer than chance; None where there are too few failures
    gaps : autocorrelation of the ranks of the system's gaps; None likewise
    daily : autocorrelation of the failures of days; None likewise
    zeros : gaps of 0 between failures of the system
    why : why there is none
    """

    bursts: FailureBursts | None
    gaps: Autocorrelation | None
    daily: Autocorrelation | None
    zeros: int
    why: str = ""

    def plain(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        one = self.bursts
        told: dict[str, Any] = {"why": self.why, "simultaneous": self.zeros}
        if one is not None:
            told |= {
                "threshold_s": one.threshold,
                "bursts": len(one),
                "largest": int(one.size.max(initial=0)),
                "most_nodes": int(one.nodes.max(initial=0)),
                "in_bursts": _share(one.in_bursts),
                "on_several_nodes": _share(one.on_several),
                "draws": one.draws,
            }
        told |= {"gaps": _correlation(self.gaps), "daily": _correlation(self.daily)}
        found: dict[str, Any] = finite(told)
        return found


def bursting_of(history: History, seed: int) -> Bursting:
    """Return whether failures come in bursts."""
    gaps = history.gaps("system")
    if len(history) < 2:
        return Bursting(None, None, None, gaps.zeros, "the log has only one failure")
    length = gaps.length[~gaps.censored]
    start, end = history.span
    daily = counts_per_interval(history.time, start, end, DAY) if end - start >= DAY else length[:0]
    least, most = BURST_DRAWS
    draws = min(max(BURST_WORK // len(history), least), most)
    try:
        found = bursts(history, np.random.default_rng(seed), period=PERIOD, draws=draws)
    except ParameterError as error:
        return Bursting(None, None, None, gaps.zeros, str(error))
    return Bursting(found, _correlated(ranks(length)), _correlated(daily), gaps.zeros)


def ranks(values: Any) -> Any:
    """Return the place of each value in their order, ties sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def _correlated(series: Any) -> Autocorrelation | None:
    try:
        return autocorrelation(series, LAGS)
    except ParameterError:
        return None


def _correlation(one: Autocorrelation | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "correlation": one.correlation.tolist(),
        **taken(one, "band", "ljung_box", p="p_value", values="values"),
    }


def _share(one: BurstShare) -> dict[str, float]:
    return taken(one, "share", "expected", "low", "high", p="p_value")
