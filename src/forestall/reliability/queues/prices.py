"""What a job costs with so many spares, with or without checkpoints, on nodes of one kind or of
several; and the cheapest that reaches a wanted reliability.

A job of a queue has the work of its wall limit. A failure takes it back to its last checkpoint, or
to its start where it takes none; it goes on at once on a spare, or waits for a repair where it has
none left. All its nodes are paid for meanwhile, spares too.

- Failures: a failed node is replaced by a new one, and the others go on to age. So each node fails
  m(t) times in t on average, m being the renewal function of its law from its age at the start, and
  the job as many times as all its nodes together.
- Time that it takes: each stretch of work is repeated until it is done, at the failure rate of its
  time, as of jobs on nodes of given ages (`forestall.reliability.checkpoints.completion`).
- Success: no more nodes are lost than there are spares (Equation 24) in the time that the work,
  its checkpoints, and the rework after as many failures as there are spares take.
- Waiting: failures are taken as Poisson; each beyond the spares waits for one repair.

Source: Hacker and Meglicki, HPDC 2007, Section 4.4 (cost beside reliability), Section 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import pdtrc

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import mean_completion_along
from forestall.reliability.checkpoints.segments import CheckpointPlan
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.queues.changes import best_interval
from forestall.reliability.queues.machine import GroupedMachine
from forestall.reliability.queues.queues import Queue
from forestall.reliability.systems.ageing import FailureClock, expected_failures
from forestall.reliability.systems.systems import Age, at_most_lost

HOUR = 3600.0
_MOST = 10_000
"""Spares that are tried, at most."""
_FOR_EVER = 1e9
"""A job that would take so many times its work never ends."""
_ATTEMPTS, _CELLS = 12, 64
"""How many times its work an aging job is followed for, and into how many cells that is cut."""
_PAST = 8
"""How many more spares are tried after the wanted reliability is reached."""


@dataclass(frozen=True)
class Prices:
    """What things cost, in one currency.

    Attributes
    ----------
    node_hour : of a node that a job holds, working or not
    groups : the same for nodes of certain groups, by name
    power, idle : of a node that works, and of one that waits, kW
    energy : of a kWh
    waiting : of an hour that a job waits for a node, beside what its nodes cost
    """

    node_hour: float = 1.0
    groups: tuple[tuple[str, float], ...] = ()
    power: float = 0.0
    idle: float | None = None
    energy: float = 0.0
    waiting: float = 0.0

    def __post_init__(self) -> None:
        told = [(n, getattr(self, n)) for n in ("node_hour", "power", "energy", "waiting")]
        idle = [] if self.idle is None else [("idle", self.idle)]
        for name, value in [*told, *idle, *self.groups]:
            if not (value >= 0 and math.isfinite(value)):
                raise ParameterError(name, value, "a finite number of at least 0")

    def of_node(self, cluster: GroupedMachine, queue: Queue) -> float:
        """Return what an hour of a node of the queue's jobs costs, the mean over its groups."""
        known = dict(self.groups)
        shares = cluster.shares(queue)
        paid = sum(known.get(group.name, self.node_hour) * number for group, number in shares)
        return paid / sum(number for _, number in shares)


@dataclass(frozen=True)
class PricedJob:
    """A way to run a queue's jobs, and what one of them costs. Node-hours unless said otherwise.

    Attributes
    ----------
    queue : its name
    source : the group whose nodes it takes, "" where they are as the queue has them
    spares : beside the job's nodes
    interval : work between checkpoints, s; None without checkpoints
    success : probability that no more nodes are lost than there are spares
    hours : from its start to its end, without what it waits, h
    work, checkpoints, rework, spare, waiting : what the job's nodes do; `rework` includes restarts
    failures : of its nodes on average, from its start to its end
    waits : hours that the job waits for a repair
    energy : kWh
    cost : in the currency of the prices
    """

    queue: str
    source: str
    spares: int
    interval: float | None
    success: float
    hours: float
    work: float
    checkpoints: float
    rework: float
    spare: float
    waiting: float
    failures: float
    waits: float
    energy: float
    cost: float

    @property
    def node_hours(self) -> float:
        """All node-hours that the job holds."""
        return self.work + self.checkpoints + self.rework + self.spare + self.waiting


@dataclass(frozen=True)
class _TimeHeld:
    """How long a job takes without waiting: s, and the failures that it meets on average."""

    interval: float | None
    base: float
    held: float
    failures: float

    @property
    def each(self) -> float:
        """What one failure takes, s."""
        return (self.held - self.base) / self.failures if self.failures > 0 else 0.0


def priced_jobs(
    cluster: GroupedMachine, queue: str | Queue, prices: Prices, repair: float, target: float
) -> list[PricedJob]:
    """Return every way to run the jobs of a queue, from no spares up to a few more than `target`
    asks for: on the queue's own nodes or those of one group, with checkpoints or without.

    Ways that take for ever are left out. `repair` is in s. Raises ParameterError.
    """
    if not (repair > 0 and math.isfinite(repair)):
        raise ParameterError("repair", repair, "a finite time above 0")
    if not 0 < target < 1:
        raise ParameterError("target", target, "a probability between 0 and 1, such as 0.99")
    chosen = cluster.queue(queue)
    found: list[PricedJob] = []
    for source, job in _sources(cluster, chosen):
        for run in _runs(cluster, job):
            found += _with_spares(cluster, job, source, run, prices, repair, target)
    return found


def cheapest(jobs: list[PricedJob], target: float) -> PricedJob | None:
    """Return the cheapest of a success of at least `target`, the one of fewest spares among
    equals; None where none has it."""
    enough = [one for one in jobs if one.success >= target]
    return min(enough, key=lambda one: (one.cost, one.spares), default=None)


def _sources(cluster: GroupedMachine, queue: Queue) -> Iterator[tuple[str, Queue]]:
    """Yield where a job's nodes can come from: as the queue has it, and each group alone."""
    yield "", queue
    own = {group.name for group, _ in cluster.shares(queue)}
    for group in cluster.groups:
        if group.count >= queue.nodes and own != {group.name}:
            yield group.name, replace(queue, mix=((group.name, queue.nodes),))


def _runs(cluster: GroupedMachine, queue: Queue) -> Iterator[_TimeHeld]:
    """Yield the job without checkpoints and with them, where it ends."""
    work = queue.limit
    longest = max([work, *(other.limit for other in cluster.queues)])
    clock = FailureClock(lambda t: mean_failures(cluster, queue, t), _ATTEMPTS * longest)
    held, failures = unsaved(clock, work)
    if held < work * _FOR_EVER:
        yield _TimeHeld(None, work, max(held, work), failures)
    if cluster.checkpoints is None:
        return
    try:
        interval = best_interval(cluster, queue)
    except ParameterError:  # failures come before any checkpoint is done
        return
    if interval < work:
        plan = CheckpointPlan(work, interval, cluster.checkpoints.cost, cluster.checkpoints.restart)
        held, base = mean_completion_along(plan, clock), plan.unhindered
        if held < work * _FOR_EVER:
            yield _TimeHeld(interval, base, max(held, base), float(clock.failures(held)))


def unsaved(clock: FailureClock, work: float) -> tuple[float, float]:
    """Return the mean time until a job without checkpoints is done, and its failures on average.

    Failures come as a Poisson process of the clock's mean. An attempt that begins at s fails in a
    cell of a grid, and the next one begins there: solved from the end of the grid, after which the
    last rate holds, to its beginning.
    """
    cells = _CELLS
    step = work / cells
    mean = clock.failures(step * np.arange((_ATTEMPTS + 1) * cells + 1))
    count = _ATTEMPTS * cells
    rate = float(mean[count] - mean[count - cells]) / work
    with np.errstate(over="ignore"):
        again = float(np.expm1(rate * work))
    left = np.full((2, count + cells + 1), again)
    left[0] = work if rate == 0 else again / rate
    for begin in range(count - 1, -1, -1):
        lasts = np.exp(mean[begin] - mean[begin : begin + cells + 1])
        fails, rises = lasts[:-1] - lasts[1:], np.diff(mean[begin : begin + cells + 1])
        spent = step * np.where(rises > 1e-9, fails / np.maximum(rises, 1e-9), lasts[:-1])
        for row, reward in enumerate((spent.sum(), fails.sum())):
            after = left[row, begin + 1 : begin + cells + 1]
            next_ones = fails[0] * after[0] / 2 + fails[1:] @ (after[:-1] + after[1:]) / 2
            left[row, begin] = (reward + next_ones) / (1 - fails[0] / 2)
    return float(left[0, 0]), float(left[1, 0])


def mean_failures(cluster: GroupedMachine, queue: Queue, times: Floats) -> Floats:
    """Return how many nodes of a job of the queue fail by each of the times (s) on average, each
    replaced by a new one at once."""
    total: Floats = np.zeros(np.shape(times))
    for group, number in cluster.shares(queue):
        if group.age == "steady":
            total = total + number * times / group.lifetime.mean()
        else:
            total = total + number * _of_node(group.lifetime, group.age, tuple(times.tolist()))
    return total


@lru_cache(maxsize=32)
def _of_node(law: Lifetime, age: Age, times: tuple[float, ...]) -> Floats:
    """Return the failures of a place of a node of that age; the same for every queue."""
    ages = 0.0 if age == "new" else np.asarray(age, dtype=np.float64)
    return expected_failures(law, np.array(times), ages)


def _with_spares(
    cluster: GroupedMachine, queue: Queue, source: str, run: _TimeHeld, prices: Prices,
    repair: float, target: float,
) -> Iterator[PricedJob]:  # fmt: skip
    """Yield the job with 0, 1, ... spares, until some more than the wanted success needs."""
    nodes, reached = queue.nodes, 0
    work, base, held = (nodes * t / HOUR for t in (queue.limit, run.base, run.held))
    price = prices.of_node(cluster, queue)
    idle = prices.power if prices.idle is None else prices.idle
    for spares in range(min(cluster.room(queue), _MOST) + 1):
        time = run.base + spares * run.each
        success = at_most_lost(cluster.lost(queue, time, spares), spares)
        waits = _beyond(run.failures, spares) * repair / HOUR
        spare, waiting = spares * run.held / HOUR, nodes * waits
        energy = prices.power * held + idle * (spare + waiting)
        cost = price * (held + spare + waiting) + prices.energy * energy + prices.waiting * waits
        yield PricedJob(
            queue.name, source, spares, run.interval, success, run.held / HOUR, work, base - work,
            held - base, spare, waiting, run.failures, waits, energy, cost,
        )  # fmt: skip
        reached += success >= target
        if reached > _PAST:
            return


def _beyond(mean: float, spares: int) -> float:
    """Return the mean of what a Poisson number is above `spares`."""
    if spares == 0:
        return mean
    return max(0.0, mean * float(pdtrc(spares - 1, mean)) - spares * float(pdtrc(spares, mean)))
