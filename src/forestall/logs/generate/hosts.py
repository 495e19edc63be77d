"""Load of hosts that people use, with the times at which a guest could not run on them.

After the iShare traces (Bagchi et al.): in three months a machine was not to be had 405 to 453
times, 69 to 79 % of them for contention of the CPU, 19 to 30 % for memory, up to 3 % because it
was away. A host's owner has habits: a few hours of the day at which heavy work is done on some
days, other ones on workdays than on weekends. Such a session is a row of unavailable times with
pauses; the rest of the day is light use, on and off, and idleness.

A host is kept as a short plan (a few thousand runs of one level each), and sampled where asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.model.metrics import Metrics
from forestall.core.streams import stream
from forestall.logs.generate.laws import positive

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Habits = tuple[tuple[float, float], ...]

DAY: Final = 86_400
ORIGIN: Final = 1_704_067_200
"""Unix seconds of time 0: Monday, 1 January 2024, 0:00 UTC."""

NAMES: Final = ("cpu", "memory_free")
"""Load of the owner's processes and free memory, shares of the machine's."""

THREE_MONTHS: Final = 91
COUNTS: Final = (409, 449)
"""Unavailable times of a machine in three months (the paper's 405 to 453, kept clear of)."""

CPU_SHARES: Final = (0.70, 0.78)
AWAY_SHARES: Final = (0.004, 0.019)
"""Shares of contention and of being away; memory has the rest (20 to 30 %)."""

WORKDAYS: Final = ((10.0, 0.14), (14.0, 0.22), (16.75, 0.14), (20.5, 0.10))
WEEKENDS: Final = ((13.0, 0.10), (18.0, 0.10))
"""Habitual hours of heavy work, and on which share of the days it is done."""

ALIKE, OWN = "alike", "own"
OWNERS: Final = (ALIKE, OWN)
OWN_HOURS: Final = (8.0, 21.5)
OWN_SHARES: Final = ((0.9, 0.3), (0.3, 0.1))
"""Owners with habits of their own: between which hours these are drawn, and on which share of the
workdays and of the weekends' days heavy work is done at them."""

OFFICE: Final = ((8.5, 18.5), (10.0, 22.0))
"""Hours of light use on workdays and weekends."""

CONTENTION, THRASHING, AWAY = 3, 4, 5
"""Kinds of unavailable times, numbered as the states S3, S4 and S5."""

MOST_SAMPLES: Final = 200_000_000
BYTES: Final = 85
"""That a sample takes while it is made up and written."""


@dataclass(frozen=True)
class HostPlan:
    """A host as runs of one level: run k lasts from start[k] to start[k + 1] (the last to the end).

    Attributes
    ----------
    start : int64[n], s, ascending from 0
    cpu, memory_free : float64[n], levels; nan while the host is away
    state : int8[n], 1 and 2 (light load, heavy enough for a guest to step back), 3 to 5 not
        available: see `CONTENTION`, `THRASHING`, `AWAY`
    end : seconds in all
    bounds : (Th1, Th2, least free memory) that the levels keep clear of
    """

    start: Int
    cpu: Real
    memory_free: Real
    state: npt.NDArray[np.int8]
    end: int
    bounds: tuple[float, float, float]


@dataclass(frozen=True)
class HostLoad:
    """Samples of one host; `time` int64[n] s, others float64[n]. None while it is away."""

    time: Int
    cpu: Real
    memory_free: Real


def generate_hosts(
    count: int,
    days: float,
    seed: int,
    period: int = 6,
    *,
    th1: float = 0.2,
    th2: float = 0.6,
    guest_memory: float = 0.1,
    owners: str = ALIKE,
) -> Metrics:
    """Return samples of `cpu` and `memory_free` of hosts; a host that is away has none.

    Parameters
    ----------
    count, days : how many hosts, from Monday 0:00 on (`ORIGIN`)
    seed : each host has streams of its own from it, so that host k is the same in any number
    period : seconds between samples
    th1, th2 : loads at which a guest steps back, and at which (for over 60 s) it has to end
    guest_memory : share of the memory that a guest needs
    owners : "alike" do heavy work at the same hours, on some of the days; "own" ones at hours of
        their own, on nearly every workday: hosts whose coming hours can be told apart

    A sample takes 32 bytes. Raises ParameterError.
    """
    _checked(count, days, period)
    if count * days * DAY / period > MOST_SAMPLES:
        allowed = f"more: {MOST_SAMPLES:,} samples at most (host_load makes one host at a time)"
        raise ParameterError("period", period, allowed)
    samples = round(count * days * DAY / period)
    budget.require(BYTES * samples, f"{samples:,} samples", count=samples, of="samples")
    plans = [
        host_plan(k, days, seed, th1=th1, th2=th2, guest_memory=guest_memory, owners=owners)
        for k in range(count)
    ]
    sizes = [int(np.count_nonzero(_there(plan, period))) for plan in plans]
    time = np.empty(sum(sizes), dtype=np.int64)
    node = np.repeat(np.arange(count), sizes)
    value = np.empty((len(time), len(NAMES)))
    end = 0
    for k, plan in enumerate(plans):
        part = slice(end, end + sizes[k])
        load = sampled(plan, k, seed, period)
        time[part], value[part, 0], value[part, 1] = load.time, load.cpu, load.memory_free
        end += sizes[k]
    return Metrics(
        time,
        node,
        value,
        NAMES,
        count,
        period=period,
        origin=ORIGIN,
        source=f"generated, hosts, seed {seed}",
    )


def host_load(
    k: int,
    days: float,
    seed: int,
    period: int = 6,
    *,
    th1: float = 0.2,
    th2: float = 0.6,
    guest_memory: float = 0.1,
    owners: str = ALIKE,
) -> HostLoad:
    """Return the samples of host `k` of `generate_hosts`; parameters as there."""
    _checked(k + 1, days, period)
    plan = host_plan(k, days, seed, th1=th1, th2=th2, guest_memory=guest_memory, owners=owners)
    return sampled(plan, k, seed, period)


def host_plan(
    k: int,
    days: float,
    seed: int,
    *,
    th1: float = 0.2,
    th2: float = 0.6,
    guest_memory: float = 0.1,
    owners: str = ALIKE,
) -> HostPlan:
    """Return what host `k` of `generate_hosts` does; parameters as there."""
    _checked(k + 1, days, 1)
    if not 0.05 <= th1 <= 0.75:
        raise ParameterError("th1", th1, "from 0.05 to 0.75")
    if not th1 <= th2 - 0.1 <= 0.75:
        raise ParameterError("th2", th2, f"from {th1 + 0.1:g} (th1 + 0.1) to 0.85")
    if not 0.02 <= guest_memory <= 0.3:
        raise ParameterError("guest-memory", guest_memory, "from 0.02 to 0.3")
    if owners not in OWNERS:
        raise ParameterError("owners", owners, " or ".join(OWNERS))
    end = max(1, round(days * DAY))
    events = _events(k, days, end, seed, owners)
    return _runs(k, end, seed, events, (th1, th2, guest_memory))


def sampled(plan: HostPlan, k: int, seed: int, period: int) -> HostLoad:
    """Return the samples of a plan at 0, period, 2 period, ... s while the host is there."""
    time = np.arange(0, plan.end, period, dtype=np.int64)
    counts = np.diff(-(-np.append(plan.start, plan.end) // period))
    noise = stream(seed, "hosts", str(k), "noise").random((2, len(time)), dtype=np.float32)
    noise -= np.float32(0.5)
    # Noise keeps to 40 % of the way to the nearest bound of a run's state.
    low = np.array([0.0, 0.0, plan.bounds[0], plan.bounds[1], 0.0, np.nan])[plan.state]
    high = np.array([1.0, *plan.bounds[:2], 1.0, plan.bounds[1], np.nan])[plan.state]
    wide = 0.8 * np.minimum(plan.cpu - low, high - plan.cpu)
    cpu = np.repeat(plan.cpu, counts) + np.repeat(wide, counts) * noise[0]
    floor = np.where(plan.state == THRASHING, 0.0, plan.bounds[2])
    near = np.minimum(plan.memory_free - floor, np.abs(plan.bounds[2] - plan.memory_free))
    free = np.repeat(plan.memory_free, counts) + np.repeat(0.15 * near, counts) * noise[1]
    there = _there(plan, period)
    return HostLoad(time[there], cpu[there], free[there])


def _there(plan: HostPlan, period: int) -> npt.NDArray[np.bool_]:
    counts = np.diff(-(-np.append(plan.start, plan.end) // period))
    return np.repeat(plan.state != AWAY, counts)


def _checked(count: int, days: float, period: int) -> None:
    if isinstance(count, bool) or not 1 <= count <= 1_000_000:
        raise ParameterError("hosts", count, "from 1 to 1,000,000")
    if not 0 < days * DAY < 2**32:  # also refuses nan
        raise ParameterError("days", days, "a finite number above 0")
    positive("period", period)
    if period != int(period):
        raise ParameterError("period", period, "a whole number of seconds")


def _events(k: int, days: float, end: int, seed: int, owners: str) -> list[tuple[int, int, int]]:
    """Return (begin, end, kind) of the unavailable times, in order, with pauses between them."""
    rng = stream(seed, "hosts", str(k), "events")
    exact = rng.uniform(*COUNTS) * days / THREE_MONTHS
    total = int(exact) + (rng.random() < exact % 1)
    contended = round(total * rng.uniform(*CPU_SHARES))
    away = int(total * rng.uniform(*AWAY_SHARES) + rng.random())
    starts = _sessions(k, math.ceil(days), seed, owners)
    kinds = [CONTENTION] * contended + [THRASHING] * max(0, total - contended - away)
    kinds = [kinds[i] for i in rng.permutation(len(kinds)).tolist()]
    share = np.full(len(starts), 1 / max(1, len(starts)))
    many = rng.multinomial(len(kinds), share) if len(starts) else np.empty(0, dtype=np.int64)
    wanted: list[tuple[int, int]] = []
    for start, number in zip(starts, many.tolist(), strict=True):
        wanted += [(start, kind) for kind in kinds[:number]]
        kinds = kinds[number:]
    gone = rng.random(min(away, total)) * end
    wanted += [(int(moment), AWAY) for moment in gone]
    return _laid_out(sorted(wanted, key=lambda one: one[0]), end, rng)


def _habits(k: int, seed: int, owners: str) -> tuple[Habits, Habits]:
    """Return (hour, share of the days) of the heavy work of a host, on workdays and weekends."""
    if owners == ALIKE:
        return WORKDAYS, WEEKENDS
    rng = stream(seed, "hosts", str(k), "habits")
    workdays, weekends = (
        tuple((float(rng.uniform(*OWN_HOURS)), share) for share in shares) for shares in OWN_SHARES
    )
    return workdays, weekends


def _sessions(k: int, days: int, seed: int, owners: str) -> list[int]:
    """Return when sessions of heavy work begin, s: habits, each on its share of the days.

    Days are taken by turns, a random one of each so many, so that weeks resemble each other.
    """
    rng = stream(seed, "hosts", str(k), "sessions")
    weekday = np.arange(days) % 7
    shift = rng.normal(0, 0.75)  # hours by which this owner is early or late
    starts = []
    for kind, habits in enumerate(_habits(k, seed, owners)):
        of_kind = np.flatnonzero((weekday >= 5) == bool(kind))
        for hour, share in habits:
            turn = rng.random()
            passed = np.floor(turn + share * np.arange(len(of_kind) + 1))
            due = np.flatnonzero(np.diff(passed) > 0)
            slack = max(1, round(0.5 / share))
            moved = due - rng.integers(0, slack, len(due))
            for place in np.unique(np.clip(moved, 0, None)).tolist():
                jitter = rng.normal(0, 0.1)
                starts.append(int((of_kind[place] * 24 + hour + shift + jitter) * 3600))
    return sorted(starts)


def _laid_out(
    wanted: list[tuple[int, int]], end: int, rng: np.random.Generator
) -> list[tuple[int, int, int]]:
    """Return the times one after the other: each as early as wanted, after a pause."""
    count = len(wanted)
    lasts = np.maximum(120, rng.lognormal(math.log(300), 0.5, count))
    gone = np.maximum(300, rng.lognormal(math.log(3600), 1.0, count))
    pauses = np.maximum(120, rng.exponential(240, count))
    laid: list[tuple[int, int, int]] = []
    now = 600.0
    for (start, kind), last, away, pause in zip(wanted, lasts, gone, pauses, strict=True):
        begin = max(float(start), now)
        stop = begin + (away if kind == AWAY else last)
        if stop >= end:
            break
        laid.append((int(begin), int(stop), kind))
        now = stop + pause
    return laid


def _runs(
    k: int,
    end: int,
    seed: int,
    events: list[tuple[int, int, int]],
    bounds: tuple[float, float, float],
) -> HostPlan:
    """Return the runs of a host: light use on and off, with the unavailable times laid over."""
    th1, th2, need = bounds
    rng = stream(seed, "hosts", str(k), "use")
    light = np.array(list(_light(end, rng)), dtype=np.int64).reshape(-1, 2)
    begins = np.array([begin for begin, _, _ in events], dtype=np.int64)
    stops = np.array([stop for _, stop, _ in events], dtype=np.int64)
    start = np.unique(np.concatenate((light[:, 0], begins, stops)))
    start = start[start < end]
    busy = light[np.searchsorted(light[:, 0], start, side="right") - 1, 1] == 1
    state = np.where(busy, 2, 1).astype(np.int8)
    place = np.searchsorted(begins, start, side="right") - 1
    inside = place >= 0
    inside[inside] = start[inside] < stops[place[inside]]
    kinds = np.array([kind for _, _, kind in events], dtype=np.int8)
    state[inside] = kinds[place[inside]]
    keep = np.ones(len(start), dtype=np.bool_)
    keep[1:] = ~(inside[1:] & inside[:-1] & (place[1:] == place[:-1]))  # one run a time
    start, state = start[keep], state[keep]
    u, v = rng.random((2, len(start)))
    cpu = np.select(
        [state == 1, state == 2, state == CONTENTION, state == THRASHING],
        [
            th1 * (0.05 + 0.6 * u**2),
            th1 + (th2 - th1) * (0.15 + 0.6 * u),
            th2 + (1 - th2) * (0.3 + 0.6 * u),
            th1 * (0.3 + 0.6 * u),
        ],
        np.nan,
    )
    free = np.select(
        [state == 1, state == THRASHING, state == AWAY],
        [0.62 + 0.2 * v, need * (0.1 + 0.7 * v), np.nan],
        max(0.4, 1.5 * need) + 0.2 * v,
    )
    return HostPlan(start, cpu, free, state, end, bounds)


def _light(end: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield (start, whether in use) of the light use: on and off in office hours, else off."""
    yield 0, 0
    for day in range(math.ceil(end / DAY)):
        first, last = OFFICE[day % 7 >= 5]
        now = (day * 24 + first + rng.normal(0, 0.25)) * 3600
        stop = (day * 24 + last + rng.normal(0, 0.25)) * 3600
        mean = 1500.0 if day % 7 < 5 else 900.0
        while now < stop:
            yield int(now), 1
            now += max(60.0, rng.exponential(mean))
            yield int(min(now, stop)), 0
            now += max(60.0, rng.exponential(2400.0 - mean / 2))
