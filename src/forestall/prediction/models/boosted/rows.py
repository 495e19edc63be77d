"""Which moments of which nodes to learn from, and what became of them.

The population is every second of every node in service. Failures are rare in it, so it is sampled
by strata: how long it is until the node's next failure. Weights make up for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints, taken
from forestall.core.model.observations import Observations
from forestall.prediction.models.features.failures import service_of

NEVER = np.int64(1) << 60
COLUMNS = ("time", "node", "ahead", "stop", "weight")


@dataclass(frozen=True)
class SampledMoments:
    """Sampled moments of nodes, in order of time.

    Attributes
    ----------
    time, node : int64[n]
    ahead : int64[n], s until the node's next failure, `NEVER` where none was seen
    stop : int64[n], until when it is known what became of the node: no answer about what lies
        beyond may be learnt
    weight : float64[n], node-seconds that each stands for
    """

    time: Ints
    node: Ints
    ahead: Ints
    stop: Ints
    weight: Floats

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: Ints | Bools) -> SampledMoments:
        """Return those at these positions, or where the mask holds."""
        return taken(self, index, *COLUMNS)

    def within(self, begin: int, end: int, shortest: int, longest: int) -> Bools:
        """Return bool[n]: the moments from `begin` on of nodes that last for `shortest` seconds,
        about which it was known before `end` whether they last for `longest`: those that leave
        service before that count where they fail first."""
        failed = (self.ahead < longest) & (self.time + self.ahead < self.stop)
        known = (self.time + longest <= end) & ((self.time + longest <= self.stop) | failed)
        return (self.time >= begin) & known & (self.ahead >= shortest)

    def order(self) -> tuple[Ints, Ints]:
        """Return the moments without repetition, and where the rows of each begin."""
        times, first = np.unique(self.time, return_index=True)
        return times, np.append(first, len(self)).astype(np.int64)


@dataclass(frozen=True)
class _UpStretches:
    """Stretches of a node between failures: moments from `begin` to `last`, both counted, and the
    failure at their end (`NEVER`: none was seen)."""

    node: Ints
    begin: Ints
    last: Ints
    failure: Ints
    stop: Ints


def decisions(
    past: Observations,
    horizons: tuple[int, ...],
    rng: np.random.Generator,
    *,
    begin: int,
    rows: int,
    each: int,
) -> SampledMoments:
    """Return a sample of the moments from `begin` on.

    Parameters
    ----------
    past : a window that has ended
    horizons : s, ascending: between any two neighbours lies a stratum, and beyond the last one
    begin : the first moment
    rows : at most so many of the stratum beyond the last horizon, half as many of each other
    each : at most so many for each failure, but for the stratum beyond the last horizon
    """
    gaps = _gaps(past, begin, horizons[0])
    bounds = (0, *horizons)
    machine = _machine_strata(past, begin, bounds[:2])
    parts: list[SampledMoments] = []
    for low, high in zip(bounds, (*horizons, None), strict=True):
        first, last = gaps.begin, np.minimum(gaps.last, gaps.failure - low)
        if high is not None:
            first = np.maximum(first, gaps.failure - high + 1)
        length = np.maximum(last - first + 1, 0)
        if high is None:
            parts += _far(gaps, first, length, rows, machine, rng)
        else:
            near = min(rows // 2, each * int(np.count_nonzero(length)))
            parts.append(_drawn(gaps, first, length, near, rng))
    all_of = SampledMoments(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS)
    )
    return all_of.take(np.lexsort((all_of.node, all_of.time)))


def _gaps(past: Observations, begin: int, shortest: int) -> _UpStretches:
    log = past.failures
    since, until = service_of(past)
    since, until = np.maximum(since, begin), np.minimum(until, past.end)
    order = np.lexsort((log.time, log.node))
    node = np.concatenate((log.node[order], np.arange(past.nodes)))
    failure = np.concatenate((log.time[order], np.full(past.nodes, NEVER)))
    order = np.lexsort((failure, node))
    node, failure = node[order], failure[order]
    before = np.append(-NEVER, failure[:-1])
    before[np.append(True, node[1:] != node[:-1])] = -NEVER
    return _UpStretches(
        node=node,
        begin=np.maximum(before + 1, since[node]),
        last=np.minimum(failure, until[node] - np.where(failure < until[node], 1, shortest)),
        failure=failure,
        stop=until[node],
    )


def _drawn(
    gaps: _UpStretches, first: Ints, length: Ints, number: int, rng: np.random.Generator
) -> SampledMoments:
    return _decisions(gaps, *spread(first, length, number, rng), int(length.sum()))


def _decisions(gaps: _UpStretches, gap: Ints, time: Ints, seconds: int) -> SampledMoments:
    """Return moments of gaps that stand for so many node-seconds in all."""
    ahead = np.where(gaps.failure[gap] >= NEVER, NEVER, gaps.failure[gap] - time)
    weight = np.full(len(time), seconds / max(len(time), 1))
    return SampledMoments(time, gaps.node[gap], ahead, gaps.stop[gap], weight)


@dataclass(frozen=True)
class _Stretches:
    """Parts of the time, in order and apart, counted through: second 0 is the first of them.

    Attributes
    ----------
    begin, length : int64[k], s; there is at least one, of any length
    """

    begin: Ints
    length: Ints

    def before(self, time: Ints) -> Ints:
        """Return how many seconds of them lie before each time."""
        ends = np.cumsum(self.length)
        which = np.maximum(np.searchsorted(self.begin, time, side="right") - 1, 0)
        inside = np.clip(time - self.begin[which], 0, self.length[which])
        return np.asarray(ends[which] - self.length[which] + inside)

    def moment(self, count: Ints) -> Ints:
        """Return the time of each of their seconds."""
        ends = np.cumsum(self.length)
        which = np.searchsorted(ends, count, side="right")
        return np.asarray(self.begin[which] + count - (ends[which] - self.length[which]))


def _machine_strata(past: Observations, begin: int, bounds: tuple[int, ...]) -> list[_Stretches]:
    """Return the time from `begin` on by how long it is until the machine's next failure: one part
    between any two neighbouring bounds, and one beyond the last; those without a second left out.
    """
    log = np.unique(past.failures.time[past.failures.time >= begin])
    before = np.append(begin - 1, log)  # a stretch begins after a failure, and ends with the next
    found = []
    for low, high in zip(bounds, (*bounds[1:], None), strict=True):
        if high is None:  # with what comes after the last failure
            first, last = before + 1, np.append(log - low, past.end - 1)
        else:
            first, last = np.maximum(before[:-1] + 1, log - high + 1), log - low
        length = np.maximum(last - first + 1, 0)
        if length.sum() > 0:
            found.append(_Stretches(first[length > 0], length[length > 0]))
    return found


def _far(
    gaps: _UpStretches,
    first: Ints,
    length: Ints,
    rows: int,
    machine: list[_Stretches],
    rng: np.random.Generator,
) -> list[SampledMoments]:
    """Return moments long before a node's next failure, as many of each stratum of the machine.

    What is told about the machine is the same for all nodes, and shortly before a failure it stands
    in many rows that fail: without enough rows of other nodes at the same time, chance would say
    how many of those there were.
    """
    strata = []
    for part in machine:
        begin = part.before(first)
        strata.append((part, begin, np.maximum(part.before(first + length) - begin, 0)))
    strata = [one for one in strata if one[2].sum() > 0]
    drawn = []
    for part, begin, seconds in strata:
        gap, count = spread(begin, seconds, rows // len(strata), rng)
        drawn.append(_decisions(gaps, gap, part.moment(count), int(seconds.sum())))
    return drawn


def spread(first: Ints, length: Ints, number: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return moments spread evenly over stretches laid end to end, each at random in its part.

    Parameters
    ----------
    first, length : int64[k], where each stretch begins and how many seconds it has, >= 0
    number : how many moments, at most one for each second

    Returns which stretch each lies in, and when it is.
    """
    total = int(length.sum())
    number = min(number, total)
    ends = np.cumsum(length)
    at = (np.arange(number) + rng.random(number)) * (total / max(number, 1))
    at = np.minimum(at.astype(np.int64), total - 1)
    which = np.searchsorted(ends, at, side="right")
    return which, first[which] + at - (ends[which] - length[which])
