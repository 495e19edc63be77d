"""Queues and the jobs that fail in them.

A job of queue q holds N_q nodes for up to T_q, and J_q of them run at once. Its failure probability
is F_q = 1 - R(T_q)^N_q; a machine that is always full ends J_q / T_q jobs of queue q per unit of
time, so over all queues F_job = sum(F_q J_q / T_q) / sum(J_q / T_q).

Source: Hacker and Meglicki, HPDC 2007, Section 5, Equation 20. Section 5.2 remarks that jobs seldom
run to the limit: `RunTimes` puts a law of run times in its place, and then the queue ends
J_q / E[run time] jobs per unit of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration
from forestall.reliability.lifetimes.base import Lifetime, law_in
from forestall.reliability.systems.systems import Age, LogSurvival, log_survival

LADDER = tuple(
    60.0 * minutes
    for minutes in (
        *(5, 10, 15, 30, 60, 120, 240, 360, 480, 720, 1080, 1440, 2160, 2880, 4320, 5760, 7200),
        *(10_080, 14_400, 20_160, 30_240, 43_200, 64_800, 86_400),
    )
)
"""Limits that people set, s: 5 minutes to 60 days."""


@dataclass(frozen=True)
class RunTimes:
    """How long jobs run: times and how much each of them weighs. Weights add up to 1.

    A continuous law comes as the points and weights of a quadrature.
    """

    times: Floats
    weights: Floats

    def __post_init__(self) -> None:
        times = np.atleast_1d(np.asarray(self.times, dtype=np.float64))
        weights = np.atleast_1d(np.asarray(self.weights, dtype=np.float64))
        if times.shape != weights.shape or times.ndim != 1 or not times.size:
            raise ParameterError("weights", weights.shape, f"one for each run time, {times.shape}")
        if not (bool(np.all(np.isfinite(times))) and bool(np.all(times > 0))):
            raise ParameterError("times", times[~(times > 0)][:1].tolist(), "finite times above 0")
        total = float(weights.sum())
        if not (bool(np.all(weights >= 0)) and 0 < total < math.inf):
            raise ParameterError("weights", total, "weights of at least 0, not all of them 0")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "weights", weights / total)

    def mean(self) -> float:
        """Return the mean run time."""
        return float(self.weights @ self.times)

    def within(self, limit: float, *, beyond: str = "refused") -> RunTimes:
        """Return the run times in a queue of this limit.

        `beyond` says what becomes of longer jobs: ``refused`` (they go elsewhere: the law is
        truncated) or ``cut`` (they run to the limit and are killed there).
        """
        if beyond == "cut":
            return RunTimes(np.minimum(self.times, limit), self.weights)
        if beyond != "refused":
            raise ParameterError("beyond", beyond, "refused or cut")
        fits = self.times <= limit
        if not bool(np.any(self.weights[fits] > 0)):
            raise ParameterError("limit", limit, f"at least the shortest job, {self.times.min()}")
        return RunTimes(self.times[fits], self.weights[fits])


@dataclass(frozen=True)
class Queue:
    """A queue: nodes of one job, wall limit, and jobs that run at once.

    Parameters
    ----------
    name : as users know it
    nodes : nodes that one job holds
    limit : wall limit, in the unit of the lifetimes; text such as ``2-00:00:00`` is seconds
    slots : jobs that run at once
    mix : nodes by group, where they come from certain groups; they add up to `nodes`. Without it
        the job gets nodes of every group in proportion
    """

    name: str
    nodes: int
    limit: float
    slots: int = 1
    mix: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        limit: object = self.limit
        if isinstance(limit, str):
            object.__setattr__(self, "limit", float(parse_duration(limit, "limit")))
        mix: object = self.mix
        if isinstance(mix, Mapping):
            object.__setattr__(self, "mix", tuple(mix.items()))
        for name in ("nodes", "slots"):
            value = getattr(self, name)
            if isinstance(value, bool) or not (value >= 1 and value == int(value)):
                raise ParameterError(name, value, "a whole number of at least 1")
        if not (self.limit > 0 and math.isfinite(self.limit)):
            raise ParameterError("limit", self.limit, "a finite time above 0")
        if self.mix and sum(number for _, number in self.mix) != self.nodes:
            raise ParameterError("mix", dict(self.mix), f"nodes that add up to {self.nodes}")

    @property
    def busy(self) -> int:
        """Nodes that are held when every slot is taken."""
        return self.nodes * self.slots

    @property
    def rate(self) -> float:
        """Jobs that end per unit of time where each runs to the limit: J / T."""
        return self.slots / self.limit


def queue_failure(
    queue: Queue,
    node: Lifetime | LogSurvival,
    *,
    age: Age = "new",
    runs: RunTimes | None = None,
) -> float:
    """Return F_q, the probability that a job of the queue meets a failure.

    Parameters
    ----------
    node : law of one node's life (or something fitted), or the logarithm of the job's own survival
        function
    age : of the nodes when the job starts, where `node` is a law
    runs : run times of the queue's jobs; without them every job runs to the limit

    >>> from forestall.reliability.systems.systems import from_mttf
    >>> round(100 * queue_failure(Queue("Huge", 258, 48.0), from_mttf(102_840.0)), 2)
    11.35
    """
    times = np.array([queue.limit]) if runs is None else np.minimum(runs.times, queue.limit)
    weights = np.ones(1) if runs is None else runs.weights
    law = law_in(node)
    if law is not None:
        log = queue.nodes * log_survival(law, times, age)
    else:
        assert callable(node)
        log = node(times)
    return min(1.0, max(0.0, float(weights @ -np.expm1(log))))


def job_failure(
    queues: Sequence[Queue],
    failures: Sequence[float],
    runs: Mapping[str, RunTimes] | None = None,
) -> float:
    """Return F_job: failed jobs over all jobs, of a machine that is always full (Equation 20).

    Parameters
    ----------
    failures : F_q of each queue
    runs : run times by the queue's name, where jobs do not run to the limit
    """
    rates = np.array([ended_jobs(queue, runs) for queue in queues])
    return float(rates @ np.asarray(failures, dtype=np.float64) / rates.sum())


def ended_jobs(queue: Queue, runs: Mapping[str, RunTimes] | None = None) -> float:
    """Return the jobs that end per unit of time when the queue is full."""
    known = None if runs is None else runs.get(queue.name)
    if known is None:
        return queue.rate
    return queue.slots / float(known.weights @ np.minimum(known.times, queue.limit))


def move_nodes(queues: Sequence[Queue], source: str, to: Mapping[str, int]) -> tuple[Queue, ...]:
    """Return the queues after nodes per job went from one queue to others (Section 5.3).

    Parameters
    ----------
    source : name of the queue whose jobs get smaller
    to : nodes that each job of other queues gets more, by queue
    """
    names = [queue.name for queue in queues]
    for name in (source, *to):
        if name not in names:
            raise ParameterError("queue", name, "one of " + ", ".join(names))
    given = sum(to.values())
    moved = []
    for queue in queues:
        nodes = queue.nodes - given if queue.name == source else queue.nodes + to.get(queue.name, 0)
        if nodes < 1:
            raise ParameterError("nodes", given, f"fewer than the {queue.nodes} of {queue.name}")
        moved.append(resized(queue, nodes) if nodes != queue.nodes else queue)
    return tuple(moved)


def resized(queue: Queue, nodes: int) -> Queue:
    """Return the queue with jobs of so many nodes, of the same groups in about the same shares."""
    if not queue.mix:
        return replace(queue, nodes=nodes)
    exact = [number * nodes / queue.nodes for _, number in queue.mix]
    whole = [math.floor(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda k: (whole[k] - exact[k], k))
    for k in order[: nodes - sum(whole)]:
        whole[k] += 1
    mix = tuple((name, n) for (name, _), n in zip(queue.mix, whole, strict=True))
    return replace(queue, nodes=nodes, mix=mix)
