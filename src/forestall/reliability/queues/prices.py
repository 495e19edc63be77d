"""What a job costs with so many spares, with or without checkpoints, on nodes of one kind or of
several; and the cheapest that reaches a wanted reliability.

A job of a queue has the work of its wall limit. A failure takes it back to its last checkpoint, or
to its start where it takes none; it goes on at once on a spare, or waits for a repair where it has
none left. All its nodes are paid for meanwhile, spares too.

- Time that it takes: with checkpoints work over the long-run efficiency; without them the integral
  of R from 0 to T over R(T). After each failure the nodes have the ages of the start again.
- Success: no more nodes are lost than there are spares (Equation 24) in the time that the work,
  its checkpoints, and the rework after as many failures as there are spares take.
- Waiting: failures are taken as Poisson; each beyond the spares waits for one repair.

Source: Hacker and Meglicki, HPDC 2007, Section 4.4 (cost beside reliability), Section 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.special import pdtrc

from forestall.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import long_run_efficiency
from forestall.reliability.queues.changes import JobLife, best_interval
from forestall.reliability.queues.machine import GroupedMachine
from forestall.reliability.queues.queues import Queue
from forestall.reliability.systems.systems import at_most_lost

HOUR = 3600.0
_MOST = 10_000
"""Spares that are tried, at most."""
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
    law, work = JobLife(cluster, queue), queue.limit
    done = float(law.sf(np.array(work)))
    if done > 1e-9:
        held = float(law.integral.up_to(np.array(work))) / done
        yield _TimeHeld(None, work, max(held, work), (1 - done) / done)
    if cluster.checkpoints is None:
        return
    cost, restart = cluster.checkpoints.cost, cluster.checkpoints.restart
    try:
        interval = best_interval(cluster, queue)
    except ParameterError:  # failures come before any checkpoint is done
        return
    efficiency = float(long_run_efficiency(cast(Any, law), np.array(interval), cost, restart))
    if interval < work and efficiency > 1e-9:
        base = work * (1 + cost / interval)
        held = max(work / efficiency, base)
        yield _TimeHeld(interval, base, held, held / law.mean())


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
            held - base, spare, waiting, waits, energy, cost,
        )  # fmt: skip
        reached += success >= target
        if reached > _PAST:
            return


def _beyond(mean: float, spares: int) -> float:
    """Return the mean of what a Poisson number is above `spares`."""
    if spares == 0:
        return mean
    return max(0.0, mean * float(pdtrc(spares - 1, mean)) - spares * float(pdtrc(spares, mean)))
