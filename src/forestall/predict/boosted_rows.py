"""Which moments of which nodes to learn from, and what became of them.

The population is every second of every node in service. Failures are rare in it, so it is sampled
by strata: how long it is until the node's next failure. Weights make up for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.model.observations import Observations
from forestall.predict.base import Floats, Nodes
from forestall.predict.features_failures import service_of

NEVER = np.int64(1) << 60


@dataclass(frozen=True)
class Decisions:
    """Sampled moments of nodes, in order of time.

    Attributes
    ----------
    time, node : int64[n]
    ahead : int64[n], s until the node's next failure, `NEVER` where none was seen
    stop : int64[n], until when it is known what became of the node: no answer about what lies
        beyond may be learnt
    weight : float64[n], node-seconds that each stands for
    """

    time: Nodes
    node: Nodes
    ahead: Nodes
    stop: Nodes
    weight: Floats

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Decisions:
        """Return those at these positions, or where the mask holds."""
        return Decisions(
            self.time[index],
            self.node[index],
            self.ahead[index],
            self.stop[index],
            self.weight[index],
        )

    def within(self, begin: int, end: int, shortest: int, longest: int) -> npt.NDArray[np.bool_]:
        """Return bool[n]: the moments from `begin` on of nodes that last for `shortest` seconds,
        about which it was known before `end` whether they last for `longest`."""
        known = self.time + longest <= np.minimum(self.stop, end)
        answer: npt.NDArray[np.bool_] = (self.time >= begin) & known & (self.ahead >= shortest)
        return answer

    def order(self) -> tuple[Nodes, Nodes]:
        """Return the moments without repetition, and where the rows of each begin."""
        times, first = np.unique(self.time, return_index=True)
        return times, np.append(first, len(self)).astype(np.int64)


@dataclass(frozen=True)
class _Gaps:
    """Stretches of a node between failures: moments from `begin` to `last`, both counted, and the
    failure at their end (`NEVER`: none was seen)."""

    node: Nodes
    begin: Nodes
    last: Nodes
    failure: Nodes
    stop: Nodes


def decisions(
    past: Observations,
    horizons: tuple[int, ...],
    rng: np.random.Generator,
    *,
    begin: int,
    rows: int,
    each: int,
) -> Decisions:
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
    parts = []
    for low, high in zip(bounds, (*horizons, None), strict=True):
        first, last = gaps.begin, np.minimum(gaps.last, gaps.failure - low)
        if high is not None:
            first = np.maximum(first, gaps.failure - high + 1)
        length = np.maximum(last - first + 1, 0)
        near = min(rows // 2, each * int(np.count_nonzero(length)))
        number = rows if high is None else near
        parts.append(_drawn(gaps, first, length, number, rng))
    all_of = Decisions(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("time", "node", "ahead", "stop", "weight")
        )
    )
    return all_of.take(np.lexsort((all_of.node, all_of.time)))


def _gaps(past: Observations, begin: int, shortest: int) -> _Gaps:
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
    return _Gaps(
        node=node,
        begin=np.maximum(before + 1, since[node]),
        last=np.minimum(failure, until[node] - shortest),
        failure=failure,
        stop=until[node],
    )


def _drawn(
    gaps: _Gaps, first: Nodes, length: Nodes, number: int, rng: np.random.Generator
) -> Decisions:
    gap, time = spread(first, length, number, rng)
    ahead = np.where(gaps.failure[gap] >= NEVER, NEVER, gaps.failure[gap] - time)
    weight = np.full(len(time), int(length.sum()) / max(len(time), 1))
    return Decisions(time, gaps.node[gap], ahead, gaps.stop[gap], weight)


def spread(
    first: Nodes, length: Nodes, number: int, rng: np.random.Generator
) -> tuple[Nodes, Nodes]:
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
