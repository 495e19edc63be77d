"""A failure log by year, by cause and by node: counts, rates, laws, and which nodes stand out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.reliability.report.failures.change import trend_within
from forestall.reliability.report.failures.laws import Sampled, told, weibull_row
from forestall.reliability.report.fit.fit import ToldFit, finite
from forestall.reliability.report.questions import FitQuestion, YearsOf

if TYPE_CHECKING:
    from collections.abc import Callable

    from forestall.core.model.arrays import Ints
    from forestall.core.model.failures import Failures
    from forestall.reliability.history.gaps import Gaps
    from forestall.reliability.history.history import History
    from forestall.reliability.history.rates import Rates

DAYS_A_YEAR: Final = 365.25
HOUR: Final = 3600
NO_CAUSE: Final = "(none given)"
MOST_CAUSES: Final = 40
"""Causes to which a law is fitted; a log may name thousands."""


def year_rule(history: History, years: YearsOf | None) -> YearsOf:
    """Return how years are counted: as `years` says, else by the calendar where the log has dates,
    else by age."""
    return years or ("calendar" if history.origin is not None else "age")


def in_years(history: History, years: YearsOf) -> History:
    """Return the history that years are counted of: with `own` each node's service begins with its
    first failure, so that time before it is in no year."""
    if years != "own":
        return history
    return replace(history, start=history.first_failures(), first="drop")


@dataclass(frozen=True)
class YearLaws:
    """Weibull and exponential distribution of the nodes' gaps of one year; None: too few gaps."""

    year: str
    weibull: ToldFit | None
    exponential: ToldFit | None


def year_rows(
    history: History,
    years: YearsOf,
    unit: str,
    question: FitQuestion,
    progress: Callable[[], None],
) -> tuple[list[dict[str, Any]], list[YearLaws]]:
    """Return a row a year: failures, exposure, rate, laws of the nodes' gaps, trend within; and the
    laws.

    The laws are of the gaps that begin in the year; those still open at its end are censored there.
    So every year is told from what happened in it, and the years can be compared.
    """
    history = in_years(history, years)
    rule = history.years(years)
    gaps = history.gaps("node")
    node = np.maximum(gaps.node, 0)
    place = rule.of(gaps.begin, node)
    far = np.full((len(rule.edges), 1), np.iinfo(np.int64).max // 2)
    edges = np.hstack([-far, rule.edges, far])
    until = edges[np.zeros_like(node) if len(edges) == 1 else node, place + 1]
    cut = cut_off(gaps, until)
    rows, laws = [], []
    for k, row in enumerate(rate_rows(history.rates("year", years=years), "year")):
        sampled = Sampled.of(cut.take(place == k), unit, history.clock_step)
        weibull, why = told(sampled, "weibull", question)
        exponential, _ = told(sampled, "exponential", question)
        row |= weibull_row(sampled, weibull, why)
        row["ks"] = None if weibull is None else weibull.ks
        row["exponential_ks"] = None if exponential is None else exponential.ks
        row |= trend_within(history, (edges[:, k], edges[:, k + 1]))
        rows.append(row)
        laws.append(YearLaws(row["year"], weibull, exponential))
        progress()
    return rows, laws


def cut_off(gaps: Gaps, until: Ints) -> Gaps:
    """Return the gaps as they were seen by `until`, int64[k]: longer ones are censored there."""
    open_then = gaps.end > until
    return replace(
        gaps,
        length=np.where(open_then, (until - gaps.begin).astype(np.float64), gaps.length),
        censored=gaps.censored | open_then,
        end=np.minimum(gaps.end, until),
    )


def cause_rows(
    history: History,
    failures: Failures,
    unit: str,
    question: FitQuestion,
    progress: Callable[[], None],
) -> list[dict[str, Any]]:
    """Return a row a cause, the most frequent first: failures, share, rate, repair times, Weibull
    law of the nodes' gaps from one failure of that cause to the next. None without causes."""
    if history.kind is None:
        return []
    rows = rate_rows(history.rates("cause"), "cause")
    rows.sort(key=lambda row: (-row["failures"], row["cause"]))
    repair = repair_by_cause(failures)
    for k, row in enumerate(rows):
        name = row["cause"]
        row["share"] = row["failures"] / len(history)
        row["mean_repair_hours"] = repair.get(name)
        if k < MOST_CAUSES:
            own = history.only(name).gaps("node")
            sampled = Sampled.of(own, unit, history.clock_step)
            row |= weibull_row(sampled, *told(sampled, "weibull", question))
        row["cause"] = name or NO_CAUSE
        progress()
    return rows


def repair_by_cause(failures: Failures) -> dict[str, float]:
    """Return the mean of the repair times that are known, hours, by cause."""
    total: dict[str, tuple[int, int]] = {}
    for kind, down in zip(failures.kind or (), failures.downtime.tolist(), strict=False):
        if down >= 0:
            cause = kind.partition(":")[0]
            seconds, count = total.get(cause, (0, 0))
            total[cause] = (seconds + down, count + 1)
    return {cause: seconds / count / HOUR for cause, (seconds, count) in total.items()}


def rate_rows(rates: Rates, name: str) -> list[dict[str, Any]]:
    """Return rates as rows: the group by `name`, failures, node_years, rate, low, high."""
    columns = zip(
        rates.group, rates.failures.tolist(), (rates.node_days / DAYS_A_YEAR).tolist(),
        rates.rate.tolist(), rates.low.tolist(), rates.high.tolist(), strict=True,
    )  # fmt: skip
    names = (name, "failures", "node_years", "rate", "low", "high")
    return [finite(dict(zip(names, values, strict=True))) for values in columns]


def repairs_of(history: History, failures: Failures) -> dict[str, Any] | None:
    """Return what repair times tell: how many are known, their mean and median (hours), and the
    share of node time that was up; None where none is known."""
    known = failures.downtime[failures.downtime >= 0] / HOUR
    if len(known) == 0:
        return None
    down = down_seconds(history)
    watched = float((history.end - history.start).sum())
    return {
        "known": len(known),
        "of": len(failures),
        "mean_hours": float(known.mean()),
        "median_hours": float(np.median(known)),
        "p95_hours": float(np.quantile(known, 0.95)),
        "down_node_days": down / 86_400,
        "availability": None if watched <= 0 else 1 - down / watched,
    }


def down_seconds(history: History) -> float:
    """Return the node-seconds down while in service, overlapping outages counted once."""
    outages = history.outages
    start, end = history.start[outages.node], history.end[outages.node]
    low, high = np.clip(outages.start, start, end), np.clip(outages.end, start, end)
    return float((high - low).sum())
