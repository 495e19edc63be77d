"""What nodes have been through at many moments at once: failures, time in service, age."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations

FOREVER = np.iinfo(np.int64).max // 4
"""A second that never comes."""


@dataclass(frozen=True)
class NodeHistories:
    """The past of every node at every one of T ascending moments.

    Attributes
    ----------
    log : the failures, in order of time
    times : int64[T], s
    begin, stop : int64[N], from when each node is observed, and until when, s (`FOREVER` where
        that is not known)
    last : int64[T, N], which failure of the log was the node's last strictly before the moment; -1
        where there was none
    """

    log: Failures
    times: Ints
    begin: Ints
    stop: Ints
    last: Ints

    def failed(self) -> Bools:
        """Return bool[T, N]: whether the node had failed."""
        return self.last >= 0

    def of_last(self, values: npt.NDArray[np.generic], none: float) -> npt.NDArray[np.generic]:
        """Return [T, N]: a value of each node's last failure, `none` where it had none.

        `values` has one for each failure of the log.
        """
        longer = np.append(values, np.asarray([none], dtype=values.dtype))
        return longer[self.last]  # -1 is the one at the end

    def count(self) -> Ints:
        """Return int64[T, N]: how often the node had failed."""
        return np.asarray(self.of_last(ranks(self.log) + 1, 0), dtype=np.int64)

    def exposure(self) -> Ints:
        """Return int64[T, N]: how long the node had been observed in service, s."""
        until = np.minimum(self.times[:, None], self.stop)
        return np.maximum(until - self.begin, 0)

    def age(self) -> Ints:
        """Return int64[T, N]: seconds since the node's last failure, or since its observation
        began where it had none."""
        known = np.asarray(self.of_last(self.log.time, 0), dtype=np.int64)
        since = np.where(self.last >= 0, known, self.begin)
        return np.maximum(self.times[:, None] - since, 0)


def histories(seen: Observations, times: Ints) -> NodeHistories:
    """Return what nodes have been through at each of the ascending `times`."""
    moments = np.asarray(times, dtype=np.int64)
    begin, stop = service(seen)
    return NodeHistories(
        seen.failures, moments, begin, stop, last_before(seen.failures, moments, seen.nodes)
    )


def service(seen: Observations) -> tuple[Ints, Ints]:
    """Return from when each node is observed and until when, int64[nodes], s.

    That is its time in service where the log tells, but not before the window begins; that the
    window has an end does not count here.
    """
    log = seen.failures
    begin = np.full(seen.nodes, seen.begin, dtype=np.int64)
    stop = np.full(seen.nodes, FOREVER, dtype=np.int64)
    if log.service_start is not None and log.service_end is not None:
        known = len(log.service_start)
        begin[:known] = np.maximum(log.service_start, seen.begin)
        stop[:known] = log.service_end
    return begin, stop


def node_seconds(seen: Observations) -> float:
    """Return how long the nodes were observed in service in the window, all together, s."""
    begin, stop = service(seen)
    return float(np.maximum(np.minimum(stop, seen.end) - begin, 0).sum())


def last_before(log: Failures, times: Ints, nodes: int) -> Ints:
    """Return int64[T, nodes]: the place in the log of each node's last failure strictly before
    each of the ascending `times`, -1 where there is none."""
    return last_rows(log.time, log.node, times, nodes)


def last_rows(time: Ints, node: Ints, times: Ints, nodes: int) -> Ints:
    """Return int64[T, nodes]: which row of a table in order of time is each node's last one
    strictly before each of the ascending `times`, -1 where there is none."""
    last = np.full((len(times), nodes), -1, dtype=np.int64)
    if len(times) == 0:
        return last
    number = int(np.searchsorted(time, times[-1], side="left"))
    first = np.searchsorted(times, time[:number], side="right")
    last[first, node[:number]] = np.arange(number)  # in order: the latest one stays
    return np.maximum.accumulate(last, axis=0)


def fails_within(log: Failures, times: Ints, nodes: int, horizon: int) -> Bools:
    """Return bool[T, nodes]: whether each node fails within [t, t + horizon) for each of the
    ascending `times`. This looks ahead: it is what is to be foretold."""
    change = np.zeros((len(times) + 1, nodes), dtype=np.int32)
    np.add.at(change, (np.searchsorted(times, log.time - horizon, side="right"), log.node), 1)
    np.add.at(change, (np.searchsorted(times, log.time, side="right"), log.node), -1)
    return np.asarray(np.cumsum(change, axis=0)[:-1] > 0)


def outcome_known(seen: Observations, times: Ints, horizon: int, failed: Bools) -> Bools:
    """Return bool[T, nodes]: whether an answer at each time about [t, t + horizon) can be learnt.

    The node must be in service at t and the window's end not before t + horizon; and the node must
    be in service for all of the horizon, or fail before it leaves: it may leave by failing.

    Parameters
    ----------
    failed : bool[T, nodes], whether the node fails within [t, t + horizon), see `fails_within`
    """
    begin, stop = service(seen)
    moment = times[:, None]
    answer = (moment >= begin) & (moment < stop) & (moment + horizon <= seen.end)
    leaves = answer & (moment + horizon > stop)
    if leaves.any():
        log = seen.failures
        inside = log.take(log.time < stop[log.node])
        answer &= ~leaves | (failed & fails_within(inside, times, seen.nodes, horizon))
    return np.asarray(answer)


def ranks(log: Failures) -> Ints:
    """Return int64[n]: how many failures of its node come before each one."""
    order = np.argsort(log.node, kind="stable")
    node = log.node[order]
    place = np.arange(len(node))
    fresh = np.ones(len(node), dtype=np.bool_)
    fresh[1:] = node[1:] != node[:-1]
    rank = np.empty(len(node), dtype=np.int64)
    rank[order] = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return rank


def previous(log: Failures) -> Ints:
    """Return int64[n]: the place in the log of the same node's failure before, -1 if none."""
    order = np.argsort(log.node, kind="stable")
    node = log.node[order]
    before = np.full(len(node), -1, dtype=np.int64)
    same = node[1:] == node[:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def probability(hazard: Floats) -> Floats:
    """Return the probability of a failure over a cumulative hazard."""
    return -np.expm1(-hazard)


def ahead_of(horizons: tuple[int, ...]) -> Floats:
    """Return horizons as numbers, float64[H], s."""
    return np.asarray(horizons, dtype=np.float64)
