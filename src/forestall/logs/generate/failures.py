"""Failure logs of a machine: when, which node, how long, each drawn by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.streams import draw_detectability, stream
from forestall.logs.generate.laws import ConstantTimes, LognormalTimes, Repair, WeibullTimes
from forestall.logs.generate.times import Bursts, Lifetimes

HOUR, DAY, YEAR = 3600, 86_400, 365 * 86_400

DEFAULT_MTTF_HOURS = 256 * 365 * 24 / 307
"""LANL's system 20: 307 failures in a year on 256 nodes."""

REPAIR_MEAN_HOURS, REPAIR_MEDIAN_HOURS = 5.9, 1.0
"""Mean of LANL's repairs (Failure Trace Archive); the median is far below it."""

LANL_BURSTS = Bursts(share=0.05)
"""On LANL's systems 18 to 20 some 3 to 4 % of failures come within five minutes of another."""

NEVER_FORESEEN = 1 - 2.0**-53
"""Detectability of failures that only a perfect predictor foresees."""


@dataclass(frozen=True)
class Seeds:
    """A seed for each axis, so that the same times can meet other nodes or repairs."""

    when: int
    which: int
    how_long: int


def generate_failures(
    nodes: int,
    days: float,
    seed: int | Seeds,
    *,
    mttf_hours: float | None = None,
    rate_per_year: float | None = None,
    shape: float = 0.7,
    heterogeneity: float = 0.2,
    bursts: Bursts = LANL_BURSTS,
    repair: str | Repair = "lognormal",
    unpredictable: float = 0.0,
) -> Failures:
    """Return failures of a machine over `days`.

    Parameters
    ----------
    nodes, days : size of the machine and length of the log; no failure is a possible outcome
    seed : of everything (the parts have streams of their own), or one for each axis
    mttf_hours, rate_per_year : mean time between failures of a node, or failures a year of the
        whole machine; at most one of them. They count followers of bursts too
    shape : of the Weibull law of a node's times between failures; 1 is a Poisson process
    heterogeneity : variance of the nodes' relative rates (gamma); 0: all nodes alike
    bursts : failures that follow another; `Bursts()` has none
    repair : a law of `laws`; lognormal, weibull or constant take LANL's mean of 5.9 h
    unpredictable : share of failures that no predictor but a perfect one foresees

    The defaults are near LANL's system 20 in the year from September 2004: 307 failures on 159 of
    256 nodes, 4 % of them within five minutes of another.

    The kind of a failure is "single", or "burst" where it has or is a follower. Raises
    ParameterError.
    """
    _check(nodes, days, unpredictable)
    if rate_per_year == 0:
        return _none(nodes, days)
    seeds = seed if isinstance(seed, Seeds) else Seeds(seed, seed, seed)
    law = _repair(repair)
    bursts = bursts if nodes > 1 else Bursts()
    mtbf = _mtbf(nodes, mttf_hours, rate_per_year) / (1 - bursts.share)
    length = days * DAY
    time, slot = Lifetimes(mtbf, shape, heterogeneity).draw(nodes, length, seeds.when)
    later, others, leader = bursts.followers(time, slot, nodes, seeds.when)
    led = np.zeros(len(time), dtype=np.bool_)
    led[leader] = True
    times = np.concatenate([time, later])
    slots = np.concatenate([slot, others])
    together = np.concatenate([led, np.ones(len(later), dtype=np.bool_)])
    order = np.lexsort((slots, times))
    order = order[times[order] < length]
    downtime = law.draw(len(order), stream(seeds.how_long, "failures", "repair"))
    number = _numbers(nodes, bursts.rack, seeds.which)
    whole, node = np.floor(times[order]).astype(np.int64), number[slots[order]]
    final = np.lexsort((node, whole))
    kinds = np.where(together[order][final], "burst", "single")
    failures = Failures(
        whole[final],
        node[final],
        downtime[final],
        np.full(len(final), np.nan),
        kind=tuple(kinds.tolist()),
        span=max(1, math.ceil(length)),
        nodes=nodes,
        source=f"generated, {seed if isinstance(seed, Seeds) else f'seed {seed}'}",
    )
    return _hide(failures, unpredictable, seeds.when) if unpredictable else failures


def _numbers(nodes: int, rack: int, seed: int) -> npt.NDArray[np.int64]:
    """Return int64[nodes]: which node each slot is; those of one rack stay together."""
    rng = stream(seed, "failures", "which")
    if not 0 < rack < nodes:
        return rng.permutation(nodes)
    whole = nodes // rack
    # What is left over makes a smaller rack, the last one.
    order = [*rng.permutation(whole).tolist(), *([whole] if nodes % rack else [])]
    slots = [np.arange(k * rack, min((k + 1) * rack, nodes)) for k in order]
    return np.concatenate([rng.permutation(mine) for mine in slots])


def _check(nodes: int, days: float, unpredictable: float) -> None:
    if nodes < 1:
        raise ParameterError("nodes", nodes, "at least 1")
    if not 0 < days * DAY < 2**36:
        raise ParameterError("days", days, "a finite number above 0")
    if not 0 <= unpredictable <= 1:
        raise ParameterError("unpredictable", unpredictable, "from 0 to 1")


def _mtbf(nodes: int, mttf_hours: float | None, rate_per_year: float | None) -> float:
    """Return the mean time between failures of a node, s."""
    if mttf_hours is not None and rate_per_year is not None:
        raise ParameterError("rate-per-year", rate_per_year, "not both this and mttf-hours")
    if rate_per_year is not None:
        if not 0 < rate_per_year < math.inf:
            raise ParameterError("rate-per-year", rate_per_year, "a finite number of at least 0")
        return nodes * YEAR / rate_per_year
    hours = DEFAULT_MTTF_HOURS if mttf_hours is None else mttf_hours
    if not 0 < hours < math.inf:
        raise ParameterError("mttf-hours", hours, "a finite number above 0")
    return hours * HOUR


def _repair(repair: str | Repair) -> Repair:
    if not isinstance(repair, str):
        return repair
    mean = REPAIR_MEAN_HOURS * HOUR
    if repair == "constant":
        return ConstantTimes(mean)
    if repair == "lognormal":
        return LognormalTimes(mean, mean * REPAIR_MEDIAN_HOURS / REPAIR_MEAN_HOURS)
    if repair == "weibull":
        return WeibullTimes(mean, 0.58)  # the shape of LANL's repairs in the Failure Trace Archive
    raise ParameterError("repair", repair, "lognormal, weibull or constant")


def _none(nodes: int, days: float) -> Failures:
    empty = np.empty(0, dtype=np.int64)
    span = max(1, math.ceil(days * DAY))
    return Failures(empty, empty, empty, np.empty(0), span=span, nodes=nodes, source="none")


def _hide(failures: Failures, share: float, seed: int) -> Failures:
    """Return the failures with a share of them foreseen by perfect predictors only."""

    hidden = stream(seed, "failures", "unpredictable").random(len(failures)) < share
    chance = np.where(hidden, NEVER_FORESEEN, draw_detectability(failures, seed).detectability)
    return replace(failures, detectability=chance)
