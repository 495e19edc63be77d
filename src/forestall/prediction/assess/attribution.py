"""Jobs and node metrics turned into prediction tasks: idle periods, and what they answer for.

Brandt et al., "Quantifying Effectiveness of Failure Prediction and Response in HPC Systems",
Sections 4.2 and 4.3. On each node the idle periods are the gaps between jobs; the metric during a
gap is what a predictor would have seen there. A job's fate goes whole to the one of its nodes with
the highest metric during its preceding idle period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError

Rule = Literal["max", "mean", "last"]
RULES: Final = ("max", "mean", "last")
FAILED, FINE, IDLE, OPEN = 1, 2, 3, 0
"""Cases I, II and III; `OPEN`: no job follows the period within the window."""


class Fates(NamedTuple):
    """Jobs: start and end, int64[n], s; failed, bool[n]; nodes of job j are those from first[j] to
    first[j + 1] of `node`, int64[n + 1] and int64[pairs]; judged, bool[n], whether a job's fate is
    known and counts (None: all). A job that is not judged keeps its nodes busy all the same."""

    start: Ints
    end: Ints
    failed: Bools
    first: Ints
    node: Ints
    judged: Bools | None = None


class MetricSamples(NamedTuple):
    """One metric of nodes in order of (node, time): time and node, int64[m]; value, float64[m], nan
    where a sample lacks it."""

    time: Ints
    node: Ints
    value: Floats


@dataclass(frozen=True)
class Attribution:
    """Idle periods with data in order of (node, start), and what each of them answers for.

    Attributes
    ----------
    node, start, end : int64[p], the node and the gap [start, end), s
    value : float64[p], the metric during the gap
    samples : int64[p], samples with a value in the gap
    jobs, failures : int64[p], jobs that the period answers for, and how many of them failed
    work, lost : float64[p], node-seconds of those jobs (nodes x elapsed), and of those that failed
    case : int8[p], 1: answers for a job that failed; 2: for jobs, none of which failed; 3: for none
        although a job follows; 0: no job follows within the window, so it belongs to no case
    period : int64[n], the period that answers for each job, -1 where none does
    without_data : idle periods that were left out of consideration, for they have no sample
    begin, close : the observed window [begin, close), s
    """

    node: Ints
    start: Ints
    end: Ints
    value: Floats
    samples: Ints
    jobs: Ints
    failures: Ints
    work: Floats
    lost: Floats
    case: npt.NDArray[np.int8]
    period: Ints
    without_data: int
    begin: int
    close: int

    def __len__(self) -> int:
        return len(self.node)

    def counts(self) -> tuple[int, int, int]:
        """Return how many periods are Case I, II and III."""
        one, two, three = np.bincount(self.case, minlength=4)[1:4].tolist()
        return one, two, three

    @property
    def answerable(self) -> Bools:
        """Cases I and II, bool[p]: what the ROC curve is drawn over."""
        return np.isin(self.case, (FAILED, FINE))

    @property
    def considered(self) -> Bools:
        """Cases I, II and III, bool[p]: where one could have acted before a job."""
        return np.isin(self.case, (FAILED, FINE, IDLE))

    def open_periods(self) -> Ints:
        """Return the periods that no job follows, and that last until the window closes."""
        return np.flatnonzero((self.case == OPEN) & (self.end == self.close))


def attribute(
    fates: Fates, samples: MetricSamples, *, nodes: int, begin: int, close: int, rule: Rule = "max"
) -> Attribution:
    """Return the idle periods of all nodes and what they answer for.

    The gap from `begin` to a node's first job counts: a job follows it. The gap from the last job
    to `close` is kept, but is of no case. Jobs may overlap on a node: it is idle where no job runs.
    A job's preceding idle period on a node is the last one that ended by the job's start and has
    data. Of nodes with equal metrics, the one of the lowest number answers.

    Parameters
    ----------
    fates, samples : the jobs and the metric
    nodes : number of nodes
    begin, close : observed window [begin, close), s; jobs that start outside it answer to nobody
    rule : what a gap's metric is: the max, mean or last of its samples
    """
    if rule not in RULES:
        raise ParameterError("value", rule, "one of " + ", ".join(RULES))
    if begin >= close:
        raise ParameterError("window", (begin, close), "a beginning before its end")
    assert len(fates.first) == len(fates.start) + 1, "first does not fit the jobs"
    clock = _Clock(begin, close)
    job = np.repeat(np.arange(len(fates.start)), np.diff(fates.first))
    used = np.flatnonzero(fates.start[job] < close)
    keys = clock.key(fates.node[used], fates.start[job[used]])
    order = np.argsort(keys, kind="stable")
    used, keys = used[order], keys[order]
    gaps = _gaps(fates, job[used], fates.node[used], nodes, clock)
    held, low, high, value = _measured(gaps, samples, nodes, clock, rule)
    ends = gaps.end[held]
    # Queries in order of (node, start) walk through the gaps once.
    at = np.searchsorted(ends, keys, side="right") - 1
    there = (at >= 0) & (keys > _begin_key(fates.node[used], clock))
    there[there] &= gaps.node[held][at[there]] == fates.node[used][there]
    if fates.judged is not None:
        there &= fates.judged[job[used]]
    candidate = np.full(len(job), -1, dtype=np.int64)
    candidate[used[there]] = at[there]
    period = _answering(candidate, value, job, fates)
    return _told(fates, period, gaps, held, (low, high), value, clock)


class _Clock(NamedTuple):
    """Keys that put (node, time) into one order: node x width + seconds since `begin`."""

    begin: int
    close: int

    @property
    def width(self) -> int:
        return self.close - self.begin + 2

    def key(self, node: Ints, time: Ints) -> Ints:
        inside = np.clip(time, self.begin, self.close) - self.begin
        return node * self.width + inside


def _begin_key(node: Ints, clock: _Clock) -> Ints:
    """Return the key of the window's beginning on each node."""
    return node * clock.width


class _GapEnds(NamedTuple):
    """Keys of gaps' ends, int64[g], in order; node, int64[g]; whether a job follows, bool[g]."""

    start: Ints
    end: Ints
    node: Ints
    followed: Bools


def _gaps(fates: Fates, job: Ints, node: Ints, nodes: int, clock: _Clock) -> _GapEnds:
    """Return the gaps of all nodes; jobs and nodes are pairs in order of (node, start)."""
    starts = clock.key(node, fates.start[job])
    ends = clock.key(node, np.maximum(fates.end[job], fates.start[job]))
    busy = np.maximum.accumulate(ends) if len(ends) else ends
    # Keys of earlier nodes lie below this node's beginning, so one running maximum serves all.
    before = np.maximum(np.concatenate(([0], busy[:-1])), _begin_key(node, clock))[: len(node)]
    gap = starts > before
    every = np.arange(nodes)
    last = np.searchsorted(node, every, side="right") - 1
    free = _begin_key(every, clock)
    if len(node):
        seen = (last >= 0) & (node[last] == every)
        free[seen] = np.maximum(free[seen], busy[last[seen]])
    until = _begin_key(every, clock) + (clock.close - clock.begin)
    rest = free < until
    start = np.concatenate((before[gap], free[rest]))
    order = np.argsort(start, kind="stable")
    followed = np.zeros(len(start), dtype=np.bool_)
    followed[: int(gap.sum())] = True
    return _GapEnds(
        start[order],
        np.concatenate((starts[gap], until[rest]))[order],
        np.concatenate((node[gap], every[rest]))[order],
        followed[order],
    )


def _measured(
    gaps: _GapEnds, samples: MetricSamples, nodes: int, clock: _Clock, rule: Rule
) -> tuple[Ints, Ints, Ints, Floats]:
    """Return which gaps have samples, where these begin and end, and the metric of each."""
    inside = (samples.time >= clock.begin) & (samples.time < clock.close)
    inside &= np.isfinite(samples.value) & (samples.node >= 0) & (samples.node < nodes)
    keys = clock.key(samples.node[inside], samples.time[inside])
    values = samples.value[inside]
    low, high = np.searchsorted(keys, gaps.start), np.searchsorted(keys, gaps.end)
    held = np.flatnonzero(high > low)
    low, high = low[held], high[held]
    if rule == "last":
        return held, low, high, values[high - 1]
    if not len(held):
        return held, low, high, np.empty(0)
    bounds = np.column_stack((low, high)).ravel()
    padded = np.append(values, 0.0)
    if rule == "max":
        return held, low, high, np.maximum.reduceat(padded, bounds)[::2]
    return held, low, high, np.add.reduceat(padded, bounds)[::2] / (high - low)


def _answering(candidate: Ints, value: Floats, job: Ints, fates: Fates) -> Ints:
    """Return the period that answers for each job, -1 where none does, int64[n]."""
    period = np.full(len(fates.start), -1, dtype=np.int64)
    known = np.flatnonzero(candidate >= 0)
    if not len(known):
        return period
    at, owner, node = candidate[known], job[known], fates.node[known]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    sizes = np.diff(begins, append=len(owner))
    best = np.repeat(np.maximum.reduceat(value[at], begins), sizes)
    far = np.iinfo(np.int64).max
    lowest = np.minimum.reduceat(np.where(value[at] == best, node, far), begins)
    chosen = (value[at] == best) & (node == np.repeat(lowest, sizes))
    period[owner[chosen]] = at[chosen]
    return period


def _told(
    fates: Fates, period: Ints, gaps: _GapEnds, held: Ints, place: tuple[Ints, Ints], value: Floats,
    clock: _Clock,
) -> Attribution:  # fmt: skip
    """Return what each period answers for."""
    count = len(held)
    answered = period >= 0
    failed = answered & fates.failed
    jobs = np.bincount(period[answered], minlength=count)
    failures = np.bincount(period[failed], minlength=count)
    work = np.diff(fates.first) * np.maximum(fates.end - fates.start, 0).astype(np.float64)
    answered_work = np.bincount(period[answered], weights=work[answered], minlength=count)
    lost = np.bincount(period[failed], weights=work[failed], minlength=count)
    case = np.where(gaps.followed[held], IDLE, OPEN)
    case[jobs > 0] = FINE
    case[failures > 0] = FAILED
    node = gaps.node[held]
    shift = clock.begin - _begin_key(node, clock)
    return Attribution(
        node=node,
        start=gaps.start[held] + shift,
        end=gaps.end[held] + shift,
        value=value,
        samples=place[1] - place[0],
        jobs=jobs.astype(np.int64),
        failures=failures.astype(np.int64),
        work=answered_work.astype(np.float64),
        lost=lost.astype(np.float64),
        case=case.astype(np.int8),
        period=period,
        without_data=len(gaps.start) - count,
        begin=clock.begin,
        close=clock.close,
    )
