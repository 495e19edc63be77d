"""The up/down process of nodes, learned from failures without assuming a law.

A node is up for a time, then down for a time. Hazards of the end of either are steps over
logarithmic ages (Nelson and Aalen's estimator within steps). Nodes differ by a factor on the hazard
of being up, drawn from a gamma law of mean 1 (shared frailty: D. G. Clayton, "A model for
association in bivariate life tables", Biometrika 65, 1978), and what was seen of a node counts less
the older it is. The hour of the day and the weekend stretch or shorten all time on the up side: a
factor on the hazard, learned like the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import (
    FOREVER,
    node_seconds,
    previous,
    ranks,
    service,
)

HOUR: Final = 3600
DAY: Final = 86_400
MONDAY: Final = 4 * DAY
EDGES: Final = np.concatenate(([0.0], np.geomspace(60.0, 3e8, 61)))
"""Ages at which the hazard changes, s: nine steps a factor of ten."""

SHAPES: Final = np.geomspace(0.05, 200.0, 49)
"""Shapes of the frailties' law that are tried."""

ALPHAS: Final = tuple(2.0**k for k in range(-2, 8))
LIVES: Final = (*(days * 86_400.0 for days in (5, 15, 45, 135, 405)), 1e12)
LEVELS: Final = (math.inf, 30 * 86_400.0, 120 * 86_400.0)
"""Weights of a node's past that are tried, see `UpDownLaw`."""

SOME: Final = 20_000
"""Gaps on which they are tried, at most."""

ROUNDS: Final = 4
"""Times that hazards and frailties are found from each other."""

SLOTS: Final = 48
"""Factors of the clock: 24 hours of a weekday, 24 of a weekend's day."""

WORTH: Final = 20.0
"""Failures that the prior belief in no daily rhythm is worth, for each hour."""


@dataclass(frozen=True)
class CumulativeHazard:
    """A cumulative hazard, linear between `EDGES`; beyond the last as before it.

    Attributes
    ----------
    value : float64[edges], at each edge
    """

    value: Floats

    def __call__(self, age: Floats) -> Floats:
        """Return the cumulative hazard of ages in s."""
        return np.interp(age, EDGES, self.value)


def hazard(length: Floats, ended: Bools, weight: Floats) -> CumulativeHazard:
    """Return the hazard of lengths, some of them cut off; weights stretch their exposure.

    Where a step saw few ends, one end at the mean hazard is added to it.
    """
    bins = len(EDGES) - 1
    place = np.clip(np.searchsorted(EDGES, length, side="right") - 1, 0, bins - 1)
    ends = np.bincount(place[ended], minlength=bins).astype(np.float64)
    within = np.bincount(place, weight * (length - EDGES[place]), minlength=bins)
    weights = np.bincount(place, weight, minlength=bins)
    beyond = np.cumsum(weights[::-1])[::-1] - weights
    exposure = within + beyond * np.diff(EDGES)
    mean = (ends.sum() + 0.5) / max(float(exposure.sum()), 1.0)
    rate = (ends + 1.0) / (exposure + 1.0 / mean)
    return CumulativeHazard(np.concatenate(([0.0], np.cumsum(rate * np.diff(EDGES)))))


# The clock ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rhythm:
    """How fast time counts at each hour of weekdays and weekends; 1 in the mean over a week.

    Attributes
    ----------
    factor : float64[48]
    """

    factor: Floats

    def warped(self, time: Ints | Floats, origin: int | None) -> Floats:
        """Return seconds since the week of time 0 began, hours counted by their factors."""
        week = 7 * DAY
        since = np.asarray(time, dtype=np.float64) + (
            (origin or 0) - (0 if origin is None else MONDAY)
        )
        hours = np.tile(self.factor[:24], 7)
        hours[120:] = np.tile(self.factor[24:], 2)
        knots = np.concatenate(([0.0], np.cumsum(hours) * HOUR))
        weeks = np.floor(since / week)
        inside = since - weeks * week
        full: Floats = weeks * knots[-1] + np.interp(inside, np.arange(169) * HOUR, knots)
        return full


def slots(time: Ints, origin: int | None) -> Ints:
    """Return which of the 48 factors counts at each time."""
    since = time + (MONDAY if origin is None else origin)
    day = (since // DAY + 3) % 7
    return np.where(day >= 5, 24, 0) + since % DAY // HOUR


def rhythm(log: Failures, begin: int, end: int) -> Rhythm:
    """Return the factors of a log's failures: for each hour the failures seen over those expected
    of an even rate, both with `WORTH` added, and neighbouring hours smoothed."""
    if len(log) == 0 or end - begin < 14 * DAY:
        return Rhythm(np.ones(SLOTS))
    seen = np.bincount(slots(log.time, log.origin), minlength=SLOTS).astype(np.float64)
    whole = np.arange(begin // HOUR, -(-end // HOUR), dtype=np.int64) * HOUR
    hours = np.bincount(slots(whole, log.origin), minlength=SLOTS)
    even = hours / hours.sum() * seen.sum()
    parts = []
    for k in (0, 24):
        one, two = seen[k : k + 24], even[k : k + 24]
        near, around = (np.roll(x, 1) / 4 + x / 2 + np.roll(x, -1) / 4 for x in (one, two))
        parts.append((near + WORTH) / (around + WORTH))
    factor = np.concatenate(parts)
    week = (5 * factor[:24].sum() + 2 * factor[24:].sum()) / 168
    return Rhythm(factor / week)


# Gaps -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UpTimes:
    """Times up of nodes between a recovery and the next failure.

    Attributes
    ----------
    node : int64[n]
    length : float64[n], on the warped clock
    ended : bool[n], by a failure
    of : int64[n], which failure of the log ended it, -1 where none did
    fresh : bool[n], whether the node was never seen to fail before: the age at which it was first
        seen is not known
    """

    node: Ints
    length: Floats
    ended: Bools
    of: Ints
    fresh: Bools


def recoveries(log: Failures, *, downtimes: bool) -> Ints:
    """Return int64[n]: when each failed node was back, s; at once where that is not known."""
    return log.time + (np.maximum(log.downtime, 0) if downtimes else 0)


def gaps(seen: Observations, clock: Rhythm, *, downtimes: bool) -> UpTimes:
    """Return the times up in a window, those under way at its end cut off there."""
    log = seen.failures
    begin, stop = service(seen)
    begin, stop = np.minimum(begin, seen.end), np.minimum(stop, seen.end)
    before = previous(log)
    back = recoveries(log, downtimes=downtimes)
    since = np.where(before >= 0, back[before], begin[log.node]) if len(log) else back
    last = np.full(seen.nodes, -1, dtype=np.int64)
    last[log.node] = np.arange(len(log))
    under_way = np.where(last >= 0, back[last], begin) if len(log) else begin
    starts = np.concatenate((since, under_way))
    ends = np.concatenate((log.time, stop))
    length = clock.warped(ends, log.origin) - clock.warped(starts, log.origin)
    number = np.arange(len(log))
    return UpTimes(
        np.concatenate((log.node, np.arange(seen.nodes))),
        np.maximum(length, 0.0),
        np.repeat([True, False], [len(log), seen.nodes]),
        np.concatenate((number, np.full(seen.nodes, -1))),
        np.concatenate((before < 0, last < 0)),
    )


# What was seen of each node, and of all -----------------------------------------------------


def known_of_nodes(found: UpTimes, expected: Floats, log: Failures, half_life: float) -> Floats:
    """Return float64[2, n]: for each failure of a log the failures and the expected failures of its
    node up to it; what is `half_life` seconds old counts half."""
    spent = np.zeros(len(log))
    by_failure = found.of >= 0
    spent[found.of[by_failure]] = expected[by_failure]
    before = previous(log)
    gone = np.where(before >= 0, log.time - log.time[before], 0) if len(log) else log.time
    kept = np.exp2(-gone / half_life)
    rank = ranks(log)
    made = np.stack((np.ones(len(log)), spent))
    by_rank = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[by_rank], np.arange(1, int(rank.max(initial=0)) + 2))
    for low, high in pairwise(bounds):
        mine = by_rank[low:high]
        made[:, mine] += kept[mine] * made[:, before[mine]]
    return made


def level(seen: Observations, times: Ints, rate: float, half_life: float) -> Floats:
    """Return float64[T]: how often all nodes failed of late, beside `rate` failures a second of
    service, strictly before each time; `WORTH` failures at that rate are added to both."""
    if not math.isfinite(half_life):
        return np.ones(len(times))
    log, fade = seen.failures, math.log(2) / half_life
    number = np.searchsorted(log.time, times, side="left")
    since = (log.time - seen.begin) * fade
    whole = np.concatenate(([-np.inf], np.logaddexp.accumulate(since))) if len(log) else [-np.inf]
    count = np.exp(np.asarray(whole)[number] - (times - seen.begin) * fade)
    begin, stop = service(seen)
    day = np.maximum(times - seen.begin, 0) // DAY
    starts = seen.begin + DAY * np.arange(int(day.max(initial=0)) + 1, dtype=np.int64)
    there = np.searchsorted(np.sort(begin), starts, side="right") - np.searchsorted(
        np.sort(stop), starts, side="right"
    )
    spent, kept = np.zeros(len(starts)), math.exp(-fade * DAY)
    for k in range(1, len(starts)):
        spent[k] = kept * spent[k - 1] + there[k - 1] * (1 - kept) / fade
    rest = np.exp(-fade * (times - starts[day]))
    exposure = spent[day] * rest + there[day] * (1 - rest) / fade
    made: Floats = (count + WORTH) / (rate * exposure + WORTH)
    return made


# The law --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UpDownLaw:
    """What is known of the nodes of a machine.

    Attributes
    ----------
    up : hazard of a failure by the time that a node is up since its last recovery
    fresh : hazard of a node that was never seen to fail, 1/s
    down : hazard of the recovery by the time that a node is down
    rate : failures in a second of a node's service
    shape : shape of the law of the frailties over all of a node's past
    alpha : failures that the belief in that past is worth beside what was seen of late
    half_life : seconds in which what was seen of late comes to count half
    level_half_life : the same of the level of all nodes; inf where it is taken as constant
    clock : the daily rhythm
    """

    up: CumulativeHazard
    fresh: float
    down: CumulativeHazard
    rate: float
    shape: float
    alpha: float
    half_life: float
    level_half_life: float
    clock: Rhythm

    def expected(self, found: UpTimes) -> Floats:
        """Return float64[n]: the failures of a mean node over each time up."""
        return np.where(found.fresh, self.fresh * found.length, self.up(found.length))


class Known(NamedTuple):
    """Of a node at a moment: failures and expected failures, all of them and those of late."""

    failures: Floats
    expected: Floats
    late_failures: Floats
    late_expected: Floats

    def usual(self, shape: float) -> Floats:
        """Return the mean of the node's frailty, of all its past."""
        return (shape + self.failures) / (shape + self.expected)

    def frailty(self, usual: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Return shape and rate of the gamma law of the node's frailty now: the usual one is worth
        `alpha` failures beside what was seen of late."""
        return alpha * usual + self.late_failures, alpha + self.late_expected


def learn_law(seen: Observations, *, downtimes: bool, clocked: bool = True) -> UpDownLaw:
    """Return the law of the nodes of a window: hazards and frailties from each other, and of the
    ways to weigh a node's past the one that foretells the window's own gaps best."""
    log = seen.failures
    clock = rhythm(log, seen.begin, seen.end) if clocked else Rhythm(np.ones(SLOTS))
    found = gaps(seen, clock, downtimes=downtimes)
    count = np.bincount(found.node[found.ended], minlength=seen.nodes)
    frailty, shape = np.ones(seen.nodes), 1.0
    aged = ~found.fresh
    for _ in range(ROUNDS):
        weight = frailty[found.node]
        up = hazard(found.length[aged], found.ended[aged], weight[aged])
        spent = float((weight * found.length)[found.fresh].sum())
        fresh = (np.count_nonzero(found.ended & found.fresh) + 0.5) / max(spent, 1.0)
        expected = np.where(found.fresh, fresh * found.length, up(found.length))
        whole = np.bincount(found.node, expected, minlength=seen.nodes).astype(np.float64)
        shape = _shape(count, whole)
        frailty = (shape + count) / (shape + whole)
    down = hazard(*_downs(log, seen.end), np.ones(np.count_nonzero(log.downtime >= 0)))
    rate = (len(log) + 0.5) / max(node_seconds(seen), 1.0)
    plain = UpDownLaw(up, fresh, down, rate, shape, 1.0, LIVES[-1], math.inf, clock)
    return _foretelling(plain, found, seen)


def _shape(count: npt.NDArray[np.integer[Any]], whole: Floats) -> float:
    """Return the likeliest shape of the frailties (negative binomial counts)."""
    a = SHAPES[:, None]
    fits = gammaln(a + count) - gammaln(a) + a * np.log(a) - (a + count) * np.log(a + whole)
    return float(SHAPES[int(np.argmax(fits.sum(axis=1)))])


def _foretelling(law: UpDownLaw, found: UpTimes, seen: Observations) -> UpDownLaw:
    """Return the law with the weights of a node's past by which each gap is foretold best from what
    came before it."""
    log = seen.failures
    if len(log) < 2:
        return law
    before = previous(log)
    last = np.full(seen.nodes, -1, dtype=np.int64)
    last[log.node] = np.arange(len(log))
    some = np.arange(0, len(found.node), 1 + len(found.node) // SOME)
    of, ended = found.of[some], found.ended[some]
    at = np.where(of >= 0, before[of], last[found.node[some]])
    until = np.where(of >= 0, log.time[of], seen.end)
    gone = np.where(at >= 0, until - log.time[at], 0)
    expected = law.expected(found)
    count, whole = np.where(at >= 0, known_of_nodes(found, expected, log, FOREVER)[:, at], 0.0)
    begun = np.where(at >= 0, log.time[at], service(seen)[0][found.node[some]])
    heights = {h: level(seen, np.maximum(begun, seen.begin), law.rate, h) for h in LEVELS}
    best = (-math.inf, law)
    for half_life in LIVES:
        kept = np.where(at >= 0, np.exp2(-gone / half_life), 0.0)
        late = kept * known_of_nodes(found, expected, log, half_life)[:, at]
        known = Known(count, whole, *late)
        for levelled, height in heights.items():
            for alpha in ALPHAS:
                top, low = known.frailty(known.usual(law.shape) * height, alpha)
                after = low + expected[some]
                fits = float((top * np.log(low / after)).sum() + np.log(top / after)[ended].sum())
                if fits > best[0]:
                    chosen = replace(
                        law, alpha=alpha, half_life=half_life, level_half_life=levelled
                    )
                    best = (fits, chosen)
    return best[1]


def _downs(log: Failures, end: int) -> tuple[Floats, Bools]:
    """Return the times down that are known, cut off at the end of the window."""
    told = log.downtime >= 0
    length = np.minimum(log.downtime[told], end - log.time[told])
    return length.astype(np.float64), length == log.downtime[told]


# To a file ------------------------------------------------------------------------------------

_NUMBERS: Final = ("fresh", "rate", "shape", "alpha", "half_life")


def no_law() -> UpDownLaw:
    """Return the law of nodes that never fail."""
    none = CumulativeHazard(np.zeros(len(EDGES)))
    even = Rhythm(np.ones(SLOTS))
    return UpDownLaw(none, 0.0, none, 0.0, 1.0, 1.0, LIVES[-1], math.inf, even)


def law_state(law: UpDownLaw) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return a law as values that JSON can hold and arrays; see `law_of_state`."""
    values: dict[str, Any] = {name: float(getattr(law, name)) for name in _NUMBERS}
    steady = math.isinf(law.level_half_life)
    values["level_half_life"] = None if steady else law.level_half_life
    arrays = {"up": law.up.value, "down": law.down.value, "clock": law.clock.factor}
    return values, dict(arrays)


def law_of_state(held: Held) -> UpDownLaw:
    """Return the law that `law_state` took apart. Raises ParameterError where it is none."""
    steady = held.value("level_half_life") is None
    up, down = (
        held.array(name, np.float64, len(EDGES), least=0, rising=True) for name in ("up", "down")
    )
    return UpDownLaw(
        up=CumulativeHazard(up),
        down=CumulativeHazard(down),
        clock=Rhythm(held.array("clock", np.float64, SLOTS, least=0)),
        level_half_life=math.inf if steady else held.number("level_half_life", 0, above=True),
        **{name: held.number(name, 0) for name in _NUMBERS},
    )
