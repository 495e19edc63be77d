"""How the failure rate of a machine changes: tests of trend, power-law process, rate over age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.reliability.history.observed import Observed
from forestall.reliability.history.power_law import PowerLaw, power_law
from forestall.reliability.history.trend import (
    TESTS,
    AgeRate,
    TrendTest,
    lewis_robinson,
    rate_over_age,
)
from forestall.reliability.report.fit.fit import finite

if TYPE_CHECKING:
    from forestall.core.model.arrays import Ints
    from forestall.reliability.history.history import History

DAY: Final = 86_400
PER_STEP: Final = 8
MOST_STEPS: Final = 30
"""Steps of the rate over age: one for so many failures, but no more than this."""
YEAR: Final = 365.25 * DAY
RULED_BY: Final = "lewis-robinson"
"""The test whose answer is taken as the verdict: it supposes the least, a renewal process."""
FEWEST: Final = 8
"""Failures, at least, for a verdict."""
SURE: Final = 0.01
"""Below this p-value a trend is taken to be there."""

Direction = Literal["fewer", "more", "steady", "unknown"]
By = Literal["node", "system"]


@dataclass(frozen=True)
class FailureTrend:
    """How the failures of nodes, or of the whole system, change over time.

    Attributes
    ----------
    by : "node" (each from its own start of service) or "system"
    tests : a row a test: ``test, null, statistic, p_value, direction, why``
    direction : the verdict
    process : the power-law process, None where there is none
    plain_process : its parameters and intervals as JSON has them
    """

    by: By
    tests: tuple[Mapping[str, Any], ...]
    direction: Direction
    process: PowerLaw | None
    plain_process: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return {
            "direction": self.direction,
            "tests": [dict(row) for row in self.tests],
            "power_law": dict(self.plain_process),
        }


def change_of(history: History, by: By, level: float) -> FailureTrend:
    """Return the tests of trend and the power-law process of a history."""
    observed = history.observed(by)
    rows = tuple(_test(observed, test, level) for test in TESTS)
    process, plain = _process(observed, level)
    direction = verdict(rows) if len(observed.time) >= FEWEST else "unknown"
    return FailureTrend(by, rows, direction, process, plain)


def verdict(rows: tuple[Mapping[str, Any], ...]) -> Direction:
    """Return in which direction failures go, by the first of the tests that has an answer: Lewis
    and Robinson's, Mann's, Laplace's."""
    by_name = {row["test"]: row for row in rows}
    for name in (RULED_BY, "mann", "laplace"):
        row = by_name.get(name, {})
        if row.get("p_value") is not None:
            direction: Direction = "fewer" if row["direction"] == "fewer" else "more"
            return direction if row["p_value"] < SURE else "steady"
    return "unknown"


def _test(observed: Observed, test: TrendTest, level: float) -> dict[str, Any]:
    try:
        found = test(observed, level=level)
    except ParameterError as error:
        blank = dict.fromkeys(("null", "statistic", "p_value", "direction"))
        return {"test": test.name, **blank, "why": str(error)}
    # Of Mann's test and of Laplace's, less is fewer and more is fewer: the text knows which.
    way = found.direction.partition(" ")[0]
    plain = {
        "test": found.test,
        "null": found.null,
        "statistic": found.statistic,
        "p_value": found.p_value,
        "direction": way if way in ("fewer", "more") else "steady",
        "why": "",
    }
    known: dict[str, Any] = finite(plain)
    return known


def _process(observed: Observed, level: float) -> tuple[PowerLaw | None, dict[str, Any]]:
    names = ("shape", "shape_low", "shape_high", "scale_days", "failures")
    try:
        process = power_law(observed.aged())
        low, high = process.ci(level)["shape"]
    except ParameterError as error:
        return None, {**dict.fromkeys(names), "why": str(error)}
    values = (process.shape, low, high, process.scale / DAY, process.failures)
    plain: dict[str, Any] = finite(dict(zip(names, values, strict=True)))
    return process, {**plain, "why": ""}


def trend_within(history: History, edges: tuple[Ints, Ints]) -> dict[str, Any]:
    """Return the trend of nodes within [start, end) of each, int64[nodes] or int64[1] each: Lewis
    and Robinson's statistic, its p-value and the direction."""
    start, end = (edge[history.there] if len(edge) > 1 else edge for edge in edges)
    row = _test(clipped(history.observed("node"), start, end), lewis_robinson, 0.95)
    p = row["p_value"]
    way = "unknown" if p is None else row["direction"] if p < SURE else "steady"
    return {"trend": way, "trend_statistic": row["statistic"], "trend_p": p}


def clipped(observed: Observed, start: Ints, end: Ints) -> Observed:
    """Return what was observed in [start, end) of each system, or of all."""
    low = np.maximum(observed.start, start)
    high = np.maximum(np.minimum(observed.end, end), low)
    inside = (observed.time >= low[observed.system]) & (observed.time < high[observed.system])
    return replace(
        observed, time=observed.time[inside], system=observed.system[inside], start=low, end=high
    )


@dataclass(frozen=True)
class Aged:
    """The failure rate over the age of nodes, or over the time of observation where no node is
    known to have been new.

    Attributes
    ----------
    is_age : which of the two
    rate : the rate; None where nothing was watched
    """

    is_age: bool
    rate: AgeRate | None

    @property
    def head(self) -> str:
        """What the axis shows."""
        return "Age of the node (years)" if self.is_age else "Time since observation began (years)"

    def rows(self) -> list[dict[str, Any]]:
        """Return ``begin, end`` (years), ``failures, node_days``, ``rate, low, high`` per 1000
        node-days, of each bin with exposure."""
        if self.rate is None:
            return []
        scale = 1000 * DAY
        columns = zip(
            (self.rate.edges[:-1] / YEAR).tolist(),
            (self.rate.edges[1:] / YEAR).tolist(),
            self.rate.failures.tolist(),
            (self.rate.exposure / DAY).tolist(),
            (self.rate.rate * scale).tolist(),
            (self.rate.low * scale).tolist(),
            (self.rate.high * scale).tolist(),
            strict=True,
        )
        names = ("begin", "end", "failures", "node_days", "rate", "low", "high")
        rows = [dict(zip(names, values, strict=True)) for values in columns]
        return [finite(row) for row in rows if row["node_days"] > 0]


def rate_by_age(history: History) -> Aged:
    """Return the failure rate of nodes over their age."""
    observed = history.observed("node")
    is_age = bool(np.any(history.new[history.there]))
    longest = float(observed.span.max(initial=0.0))
    steps = min(max(len(history) // PER_STEP, 2), MOST_STEPS)
    try:
        return Aged(
            is_age, rate_over_age(observed, width=longest / steps, bandwidth=0.75 * longest / steps)
        )
    except ParameterError:
        return Aged(is_age, None)
