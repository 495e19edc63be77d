"""A mix of jobs, as kinds with weights: its best limits, and how long it waits in queues with so
many slots."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError

LogNode = Callable[[Floats], Floats]
"""The logarithm of one node's survival, for an array of times (s)."""


_RUN_TIMES = 400


@dataclass(frozen=True)
class JobMix:
    """Kinds of jobs: nodes, run times (s) and how often each comes, float64[n] each."""

    nodes: Floats
    runtime: Floats
    weight: Floats

    def __post_init__(self) -> None:
        columns = [np.atleast_1d(np.asarray(c, dtype=np.float64)) for c in
                   (self.nodes, self.runtime, self.weight)]  # fmt: skip
        if len({column.shape for column in columns}) != 1 or not columns[0].size:
            shapes = tuple(column.shape for column in columns)
            raise ParameterError("jobs", shapes, "nodes, run times and weights, one of each a kind")
        for name, column, least in zip(
            ("nodes", "runtime", "weight"), columns, (1.0, 1e-300, 0.0), strict=True
        ):
            bad = ~(np.isfinite(column) & (column >= least))
            if bool(bad.any()):
                what = {"nodes": "at least 1", "runtime": "above 0", "weight": "at least 0"}[name]
                raise ParameterError(name, float(column[bad][0]), f"a finite number, {what}")
            object.__setattr__(self, name, column)
        total = float(self.weight.sum())
        if not total > 0:
            raise ParameterError("weight", total, "some weight above 0")
        object.__setattr__(self, "weight", self.weight / total)

    @property
    def work(self) -> float:
        """Mean work of a job, node-seconds."""
        return float(self.weight @ (self.nodes * self.runtime))

    def own_failure(self, log_node: LogNode) -> float:
        """Return the mean failure probability of the jobs by their own nodes and run times."""
        return float(self.weight @ -np.expm1(self.nodes * log_node(self.runtime)))

    def take(self, where: Bools) -> JobMix:
        """Return the kinds where the mask holds."""
        return JobMix(self.nodes[where], self.runtime[where], self.weight[where])


def turnaround(mix: JobMix, place: Ints, slots: Sequence[float], demand: float) -> float:
    """Return the mean wait and run time of jobs, s; inf where some queue is asked for too much.

    Each queue is taken as M/G/J, by Allen and Cunneen's formula. `place` int64[n] says which queue
    each kind of job goes to; `demand` is the work that comes, node-hours per hour.
    """
    rate = demand / mix.work
    total = float(mix.weight @ mix.runtime)
    for k, count in enumerate(slots):
        mine = place == k
        share = float(mix.weight[mine].sum())
        if share == 0:
            continue
        mean = float(mix.weight[mine] @ mix.runtime[mine]) / share
        square = float(mix.weight[mine] @ mix.runtime[mine] ** 2) / share
        load = rate * share * mean
        if count <= load:
            return math.inf
        waits = erlang_c(int(count), load)
        total += share * waits * mean / (count - load) * (square / mean**2) / 2
    return total


def erlang_c(servers: int, load: float) -> float:
    """Return the probability to wait in M/M/J, of J servers and a load below J.

    >>> round(erlang_c(2, 1.0), 4)
    0.3333
    """
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return servers * blocked / (servers - load * (1 - blocked))


def best_limits(mix: JobMix, log_node: LogNode, nodes: float, most: int) -> Floats:
    """Return the limits, ascending, of the best structures of 1, 2, ... `most` queues of so many
    nodes, all those of each: least F_job, by dynamic programming over the run times.

    With j the last job of the k-th queue: D_k(j) = min over i < j of D_{k-1}(i) + F(t_j) W(i, j],
    W the jobs between. Of more than 400 run times, quantiles by jobs.
    """
    times, place = np.unique(mix.runtime, return_inverse=True)
    jobs = np.cumsum(np.bincount(place, mix.weight))
    if len(times) > _RUN_TIMES:
        steps = np.searchsorted(jobs, np.linspace(0, jobs[-1], _RUN_TIMES + 1)[1:] * (1 - 1e-12))
        kept = np.unique(np.append(np.minimum(steps, len(times) - 1), len(times) - 1))
        times, jobs = times[kept], jobs[kept]
    failure = -np.expm1(nodes * log_node(times))
    count = len(times)
    before = np.concatenate(([0.0], jobs[:-1]))  # jobs not longer than the i-th shortest
    step = failure[None, :] * (jobs[None, :] - before[:, None])
    step[np.tril_indices(count, -1)] = np.inf  # a queue from the i-th to the j-th, i <= j
    best, found, origin = step[0], {count - 1}, [np.zeros(count, dtype=np.int64)]
    for _ in range(1, min(most, count)):
        whole = np.concatenate(([np.inf], best[:-1]))[:, None] + step
        origin.append(whole.argmin(axis=0))
        best = whole.min(axis=0)
        last = count - 1
        for came in origin[:0:-1]:
            found.add(last)
            last = int(came[last]) - 1
        found.add(last)
    return times[sorted(found)]
