"""How long nodes last and how long they are away: MTTF, MTTR, availability, rates of groups.

Each figure comes with its interval. Those of means and rates are exact where times are exponential
(failures a Poisson process); fitted laws, with censoring, stand beside them. Failures that took
several nodes at once are counted both ways: a node each, and as one event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.ranking import fit_all
from forestall.reliability.history.life_table import kaplan_meier
from forestall.reliability.history.mean_times import (
    Interval,
    availability,
    mean_time,
    rate_per_1000,
)
from forestall.reliability.history.rates import PER, Rates
from forestall.reliability.nodes.fleet import WatchedNodes
from forestall.reliability.nodes.nodes import (
    Overdispersion,
    adjusted,
    node_p_values,
    overdispersion,
)

if TYPE_CHECKING:
    from forestall.reliability.fits.estimate import Fitted
    from forestall.reliability.history.history import First


HOUR, DAY = 3600, 86_400
STEP: Final = 900
"""Hours of the day are told apart in steps of this, s: all time zones differ by whole steps."""
FAMILIES: Final = ("exponential", "weibull", "lognormal", "gamma")
"""Laws that are fitted."""
FEWEST: Final = 10
"""Intervals that ended, at least, for a law."""
DRAWS: Final = 999
MANY: Final = 5000
"""Intervals of laws are profile-likelihood ones up to so many times that ended, Wald's beyond."""


# Laws ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """The law of a time, fitted by maximum likelihood with censoring.

    Attributes
    ----------
    best : the family with the lowest AIC, in hours
    weights : Akaike weight of each family, the best first
    shape, scale : of the Weibull law with intervals, scale in hours; None where it has none
    mean : mean by the best family, hours, with interval; None where it is not to be relied on: it
        lies beyond the longest time that was seen
    ended, censored : how many times ended, and how many were cut off
    median : by the best family, hours; None where it lies beyond the longest time that was seen
    """

    best: Fitted
    weights: dict[str, float]
    shape: Interval | None
    scale: Interval | None
    mean: Interval | None
    ended: int
    censored: int
    median: float | None = None

    @property
    def name(self) -> str:
        """The best family's name."""
        return self.best.family.name


def law_of(
    hours: Floats,
    censored: Bools,
    *,
    level: float = 0.95,
    resolution: float | None = None,
    fewest: int = FEWEST,
) -> Law | None:
    """Return the law of times, None where fewer than `fewest` ended or none can be fitted.

    `resolution` is what times of 0 are shorter than, hours.
    """
    ended = int(np.count_nonzero(~censored))
    if ended < fewest:
        return None
    lasting = hours[~censored]
    if float(lasting.max()) == float(lasting.min()):
        return None
    try:
        ranking = fit_all(hours, censored=censored, families=FAMILIES, resolution=resolution)
        best = ranking.best
        weibull = ranking["weibull"] if "weibull" in [f.family.name for f in ranking] else None
        # Of very many times the two kinds of intervals are the same, and one takes seconds.
        how: Literal["wald", "likelihood"] = "wald" if ended > MANY else "likelihood"
        ends = {} if weibull is None else weibull.ci(level, how)
        mean = best.ci(level, how)["mean"]
    except (ParameterError, KeyError):
        return None
    longest = float(hours.max())
    held = np.isfinite(best.mean()) and best.mean() <= longest
    median = float(best.quantile(0.5))
    return Law(
        best,
        {row.name: float(row.weight) for row in ranking.rows if row.counts},
        None if weibull is None else Interval(weibull.params["shape"], *ends["shape"]),
        None if weibull is None else Interval(weibull.params["scale"], *ends["scale"]),
        Interval(best.mean(), *mean) if held else None,
        ended,
        len(hours) - ended,
        median if median <= longest else None,
    )


# The whole fleet ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Repairs:
    """How long nodes were away after failures, hours.

    Attributes
    ----------
    ended, open, untold : failures after which the node came back, was still away at the end of
        the records, and of which the records do not tell it
    mean : time away over those that ended; exact for exponential times
    median, ninth : by Kaplan and Meier (those still open count up to the end); inf where more than
        that share was still open
    law : of the times
    """

    ended: int
    open: int
    untold: int
    mean: Interval
    median: Interval
    ninth: Interval
    law: Law | None


@dataclass(frozen=True)
class NodeTimes:
    """What a fleet's failures say of its nodes.

    Attributes
    ----------
    failures, events, in_bursts, bursts : failures by node; with bursts as one; failures in bursts,
        and how many bursts
    node_days : time in service of all nodes
    rate, rate_events : per 1000 node-days, of failures and of events
    mttf, mttf_events : hours that a node is in service per failure, and per event
    gaps : law of the time from when a node was back to its next failure; a node's time up to its
        first failure, and that after its last, count as cut off or begun by the records
    gaps_after : the same from repairs alone: the time up to a first failure left out, as nobody
        knows when that began
    repairs : None where the log tells no end of any failure
    availability : share of time not lost to failures
    in_service : share of time not out of service for any cause
    level : of all intervals
    """

    failures: int
    events: int
    in_bursts: int
    bursts: int
    node_days: float
    rate: Interval
    rate_events: Interval
    mttf: Interval
    mttf_events: Interval
    gaps: Law | None
    gaps_after: Law | None
    repairs: Repairs | None
    availability: Interval
    in_service: float
    level: float


def node_times(fleet: WatchedNodes, *, level: float = 0.95, laws: bool = True) -> NodeTimes:
    """Return times and rates of a fleet; `laws` False leaves out what must be fitted."""
    days = float(fleet.node_days.sum())
    count, events = len(fleet), fleet.events
    repairs = _repairs(fleet, level, laws)
    up, down = days * DAY, float(fleet.down[fleet.down >= 0].sum())
    gaps = after = None
    if laws and count:
        gaps = _gap_law(fleet, "all", level)
        after = _gap_law(fleet, "auto", level)
    ended = 0 if repairs is None else repairs.ended
    lost = _faulty(fleet)
    whole = fleet.watched_days * DAY
    return NodeTimes(
        count,
        events,
        int(np.count_nonzero(fleet.shared)),
        fleet.bursts,
        days,
        rate_per_1000(count, days, level, fleet.alone),
        rate_per_1000(events, days, level),
        mean_time(days * DAY / HOUR, count, level, fleet.alone),
        mean_time(days * DAY / HOUR, events, level),
        gaps,
        after,
        repairs,
        availability(up, down, count, ended, level)
        if repairs is not None
        else Interval(*[float("nan")] * 3),
        1 - lost / whole if whole else float("nan"),
        level,
    )


def _faulty(fleet: WatchedNodes) -> float:
    """Return node-seconds out of service for any cause."""
    return float(sum(fleet.seconds.values()))


def _gap_law(fleet: WatchedNodes, first: First, level: float) -> Law | None:
    gaps = replace(fleet.history, first=first).gaps("node")
    step = fleet.history.clock_step
    resolution = None if step is None else step / 2 / HOUR
    return law_of(gaps.length / HOUR, gaps.censored, level=level, resolution=resolution)


def _repairs(fleet: WatchedNodes, level: float, laws: bool) -> Repairs | None:
    told = fleet.down >= 0
    if not bool(told.any()):
        return None

    hours = fleet.down[told] / HOUR
    running = ~fleet.ended[told]
    curve = kaplan_meier(hours, running, level=level)
    ended = int(np.count_nonzero(~running))
    law = law_of(hours, running, level=level) if laws else None
    return Repairs(
        ended,
        int(np.count_nonzero(running)),
        int(np.count_nonzero(~told)),
        mean_time(float(hours.sum()), ended, level),
        Interval(*curve.quantile(0.5)),
        Interval(*curve.quantile(0.9)),
        law,
    )


# Groups -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Groups:
    """Failure rates of groups, and whether they differ.

    Attributes
    ----------
    rates : a group each; `failures` by node
    events : int64[g], with bursts as one, each in the group of its first failure
    rate_all : of all groups together, failures per 1000 node-days
    difference : whether the groups' events vary more than by chance (Pearson's chi-square, by
        simulation); None for fewer than 2 groups with exposure or no failures, and for causes
    p_value, q_value : float64[g], of each group against the others (two-sided, exact), adjusted
        for their number; nan where there is none
    """

    rates: Rates
    events: Ints
    rate_all: float
    difference: Overdispersion | None
    p_value: Floats
    q_value: Floats

    @property
    def of_events(self) -> Rates:
        """The rates of events, with exact intervals: what the groups are tested by."""
        rates = self.rates
        return Rates.of(rates.by, rates.group, self.events, rates.node_days, rates.level)

    @property
    def events_all(self) -> float:
        """Events of all groups together per 1000 node-days; nan without exposure."""
        days = float(self.rates.node_days.sum())
        return float(self.events.sum()) / days * PER if days > 0 else float("nan")


def groups_of(
    by: str,
    names: Sequence[str],
    failures: Ints,
    events: Ints,
    node_days: Floats,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Groups:
    """Return rates of groups and the test of whether they differ.

    `failures`, `events` int64[g] and `node_days` float64[g] are of disjoint groups. Tests are on
    events, which do not come in bursts by definition.
    """
    rates = Rates.of(by, names, failures, node_days, level)
    there = node_days > 0
    p, q = np.full(len(names), np.nan), np.full(len(names), np.nan)
    difference = None
    inside = np.where(there, events, 0)
    if np.count_nonzero(there) > 1 and int(inside.sum()) > 0:
        difference = overdispersion(inside[there], node_days[there], rng, draws)
        p[there] = node_p_values(inside[there], node_days[there], "either")
        q[there] = adjusted(p[there])
    days = float(node_days.sum())
    overall = float(failures.sum()) / days * PER if days > 0 else float("nan")
    return Groups(rates, events, overall, difference, p, q)


def node_groups(
    fleet: WatchedNodes,
    by: str,
    place: Ints,
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Groups:
    """Return rates of groups of nodes; `place` int64[nodes], each node's group, -1 for none."""
    count = len(names)
    known = place >= 0
    days: Floats = np.zeros(count)
    np.add.at(days, place[known], fleet.node_days[known])
    where = place[fleet.history.node]
    failures = np.bincount(where[where >= 0], minlength=count)
    firsts = where[fleet.first & (where >= 0)]
    events = np.bincount(firsts, minlength=count)
    return groups_of(by, names, failures, events, days, rng, level=level, draws=draws)


def cause_groups(fleet: WatchedNodes, *, level: float = 0.95) -> Groups | None:
    """Return rates of causes, all with the whole fleet's exposure; None where none is told."""
    kind = fleet.history.kind
    if kind is None or len(kind) == 0:
        return None
    often = Counter(kind)
    names = sorted(often, key=lambda name: (-often[name], name))
    place = {name: k for k, name in enumerate(names)}
    code = np.array([place[name] for name in kind], dtype=np.int64)
    failures = np.bincount(code, minlength=len(names))
    events = np.bincount(code[fleet.first], minlength=len(names))
    days = np.full(len(names), float(fleet.node_days.sum()))
    rates = Rates.of("cause", names, failures, days, level)
    nothing = np.full(len(names), np.nan)
    total = float(failures.sum()) / days[0] * PER if days[0] > 0 else float("nan")
    return Groups(rates, events, total, None, nothing, nothing.copy())


@dataclass(frozen=True)
class LocalClock:
    """What the clock shows where the machine stands, in steps of `STEP` seconds.

    Attributes
    ----------
    begin : s, where the first step begins, a multiple of `STEP`
    hour, weekday : int64[steps], 0 to 23; 0 for Monday
    """

    begin: int
    hour: Ints
    weekday: Ints


def local_clock(begin: int, until: int, offset: Callable[[Ints], Ints] | None = None) -> LocalClock:
    """Return the clock over [begin, until), Unix seconds.

    `offset` tells the seconds by which local time is ahead of UTC at each time, int64[n]; None: by
    none. The first of January 1970 was a Thursday.
    """
    first = begin // STEP * STEP
    times = np.arange(first, max(until, first + 1), STEP, dtype=np.int64)
    local = times if offset is None else times + offset(times)
    return LocalClock(first, local // HOUR % 24, (local // DAY + 3) % 7)


def exposure_by_step(clock: LocalClock, start: Ints, end: Ints, weight: Ints) -> Floats:
    """Return the weighted time of spans [start, end) in each step of the clock, float64[steps], s.

    Spans must lie within the clock's time.
    """
    steps = len(clock.hour)
    found = np.zeros(steps + 1)
    level = np.zeros(steps + 2)
    for moment, sign in ((start, 1), (end, -1)):
        step = np.clip((moment - clock.begin) // STEP, 0, steps)
        left = clock.begin + (step + 1) * STEP - moment
        found += sign * np.bincount(step, weights=left * weight, minlength=steps + 1)[: steps + 1]
        level[1:] += sign * np.bincount(step, weights=weight, minlength=steps + 1)[: steps + 1]
    return np.asarray((found + np.cumsum(level)[: steps + 1] * STEP)[:steps])


def fleet_by_step(fleet: WatchedNodes, clock: LocalClock, origin: int = 0) -> Floats:
    """Return node-seconds in service in each step of the clock; `origin`: Unix seconds of the
    fleet's time 0."""
    history = fleet.history
    there, out = history.there, history.outages
    start, end = history.start + origin, history.end + origin
    ones = np.ones(len(there), dtype=np.int64)
    up = exposure_by_step(clock, start[there], end[there], ones)
    low = np.clip(out.start + origin, start[out.node], end[out.node])
    high = np.clip(out.end + origin, start[out.node], end[out.node])
    away = exposure_by_step(clock, low, high, np.ones(len(low), dtype=np.int64))
    return np.maximum(up - away, 0.0)


def clock_groups(
    clock: LocalClock,
    by: str,
    exposure: Floats,
    time: Ints,
    first: Bools,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Groups:
    """Return rates by hour of the day or by weekday (`by`: hour or weekday).

    Parameters
    ----------
    exposure : float64[steps], node-seconds in each step
    time, first : int64[n], bool[n], failures, and which of them begin an event
    """
    if by not in ("hour", "weekday"):
        raise ParameterError("by", by, "hour or weekday")
    which, count = (clock.hour, 24) if by == "hour" else (clock.weekday, 7)
    days = np.bincount(which, weights=exposure, minlength=count) / DAY
    step = np.clip((time - clock.begin) // STEP, 0, len(which) - 1)
    failures = np.bincount(which[step], minlength=count)
    events = np.bincount(which[step[first]], minlength=count)
    names = [f"{k:02d}" for k in range(24)] if by == "hour" else list(WEEKDAYS)
    return groups_of(by, names, failures, events, days, rng, level=level, draws=draws)


WEEKDAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
