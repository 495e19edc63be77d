"""What a change of the cluster would buy: single changes, each with F_job before and after.

Every change is compared with the cluster as it is, always full. Capacity is the nodes that do the
jobs' work, node-hours per hour: spares and checkpoints take from it, fewer nodes per job too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import format_duration
from forestall.reliability.checkpoints.checkpoints import best_long_run, checkpoint_interval
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.queues.queues import Queue, job_failure, resized
from forestall.reliability.systems.components import node_law, parts_of
from forestall.reliability.systems.equilibrium import Integral, time_of_hazard
from forestall.reliability.systems.systems import ComponentGroup

if TYPE_CHECKING:
    import numpy.typing as npt

    from forestall.reliability.queues.machine import GroupedMachine
    from forestall.reliability.systems.ageing import SystemLifetime


BETTER = 2.0
"""How many times the mean life better nodes have."""
SPARES = (1, 2, 4)


@dataclass(frozen=True)
class Change:
    """One change and what it buys.

    Attributes
    ----------
    title : the change in words
    kind : limit, nodes, split, slots, move, better, component, spares or checkpoint
    before, after : F_job
    capacity : change of the nodes at work, as a share of what they were; -0.1 is a tenth fewer
    held : change of the nodes that full queues hold, as a share
    queue : the queue it is about, None where it is all of them
    """

    title: str
    kind: str
    before: float
    after: float
    capacity: float
    held: float
    queue: str | None = None

    @property
    def gain(self) -> float:
        """By how much F_job falls."""
        return self.before - self.after


def what_if(cluster: GroupedMachine) -> list[Change]:
    """Return what single changes would buy, the lowest F_job first.

    For each queue: half the limit; half the nodes per job; the same with twice the slots; a slot
    more or fewer; half the nodes per job given to another queue. For all queues: better nodes,
    spares in each job, checkpoints at the best interval of each queue. Spares only where the
    machine has nodes for them beside the job, or as so many fewer nodes at work.
    """
    found: list[Change] = []
    for part in (_limits, _nodes, _slots, _moves, _better, _spares, _checkpoints):
        found.extend(part(cluster))
    return sorted(found, key=lambda change: (change.after, change.title))


def _with_queue(cluster: GroupedMachine, changed: Queue) -> GroupedMachine:
    queues = [changed if q.name == changed.name else q for q in cluster.queues]
    return cluster.but(queues=queues)


def _change(
    cluster: GroupedMachine, other: GroupedMachine, title: str, kind: str, queue: str | None = None
) -> Change:
    share = other.capacity() / cluster.capacity() - 1
    before, after = cluster.job_failure(), other.job_failure()
    return Change(title, kind, before, after, share, share, queue)


def _limits(cluster: GroupedMachine) -> Iterator[Change]:
    for queue in cluster.queues:
        other = _with_queue(cluster, replace(queue, limit=queue.limit / 2))
        title = f"{queue.name}: limit {format_duration(queue.limit / 2)}"
        yield _change(cluster, other, f"{title} (half)", "limit", queue.name)


def _nodes(cluster: GroupedMachine) -> Iterator[Change]:
    for queue in cluster.queues:
        if queue.nodes < 2:
            continue
        half = resized(queue, queue.nodes // 2)
        title = f"{queue.name}: {half.nodes} nodes per job"
        yield _change(cluster, _with_queue(cluster, half), title, "nodes", queue.name)
        split = replace(half, slots=queue.busy // half.nodes)
        title += f", {split.slots} slots"
        yield _change(cluster, _with_queue(cluster, split), title, "split", queue.name)


def _slots(cluster: GroupedMachine) -> Iterator[Change]:
    for queue in cluster.queues:
        for slots, word in ((queue.slots + 1, "more"), (queue.slots - 1, "fewer")):
            if slots:
                other = _with_queue(cluster, replace(queue, slots=slots))
                yield _change(cluster, other, f"{queue.name}: one slot {word}", "slots", queue.name)


def _moves(cluster: GroupedMachine) -> Iterator[Change]:
    for queue in cluster.queues:
        for to in cluster.queues:
            given = queue.nodes // 2
            gained = given * queue.slots // to.slots
            if to is queue or given < 1 or gained < 1 or to.nodes + gained > cluster.nodes:
                continue
            try:
                queues = [
                    resized(q, q.nodes - given) if q is queue
                    else resized(q, q.nodes + gained) if q is to
                    else q
                    for q in cluster.queues
                ]  # fmt: skip
                other = cluster.but(queues=queues)
            except ParameterError:  # a mix of groups that have not so many nodes
                continue
            title = f"{given} nodes per job from {queue.name}, {gained} more per job in {to.name}"
            yield _change(cluster, other, title, "move", queue.name)


def stretched(law: Lifetime, factor: float) -> Lifetime:
    """Return the law of lives that are `factor` times as long."""
    values = law.family.rescaled(np.array(law.values), factor)
    return Lifetime(law.family, tuple(values.tolist()))


def _better(cluster: GroupedMachine) -> Iterator[Change]:
    def improved(chosen: Callable[[ComponentGroup], bool]) -> GroupedMachine:
        groups = [
            replace(g, lifetime=stretched(g.lifetime, BETTER)) if chosen(g) else g
            for g in cluster.groups
        ]
        return cluster.but(groups=groups)

    for group in cluster.groups:
        yield from _better_parts(cluster, group)
    if len(cluster.groups) > 1:
        for group in cluster.groups:
            other = improved(lambda g, name=group.name: g.name == name)  # type: ignore[misc]
            title = f"nodes of {group.name} that last {BETTER:g} times as long"
            yield _change(cluster, other, title, "better")
    title = f"nodes that last {BETTER:g} times as long"
    yield _change(cluster, improved(lambda g: True), title, "better")


def _better_parts(cluster: GroupedMachine, group: ComponentGroup) -> Iterator[Change]:
    """Each component of a group's nodes twice as good, or with one more that is not needed."""
    parts = parts_of(group.lifetime)
    for k, part in enumerate(parts):
        longer = replace(part, lifetime=stretched(part.lifetime, BETTER))
        made = f"{part.name} of {group.name}"
        for title, better in (
            (f"{made} that lasts {BETTER:g} times as long", longer),
            (f"one more {made}, redundant", part.redundant()),
        ):
            law = node_law([*parts[:k], better, *parts[k + 1 :]])
            groups = [replace(g, lifetime=law) if g is group else g for g in cluster.groups]
            yield _change(cluster, cluster.but(groups=groups), title, "component")


def _spares(cluster: GroupedMachine) -> Iterator[Change]:
    """Spares beside the nodes of a job where the machine has room for them, else among them."""
    queues = cluster.queues
    plain = [cluster.queue_failure(queue) for queue in queues]
    before = job_failure(queues, plain)
    for spares in SPARES:
        counted = f"{spares} {'spare' if spares == 1 else 'spares'}"
        everywhere = all(spares <= cluster.room(queue) for queue in queues)
        if everywhere:
            with_them = [cluster.failure_with_spares(queue, spares) for queue in queues]
            held = spares * sum(queue.slots for queue in queues) / cluster.capacity()
            after = job_failure(queues, with_them)
            yield Change(f"{counted} in every job", "spares", before, after, 0.0, held)
        for k, queue in enumerate(queues):
            if spares > 2 or (everywhere and len(queues) == 1):
                continue
            taken = spares * queue.slots / cluster.capacity()
            if spares <= cluster.room(queue):
                title, job, capacity, held = f"{counted} in each job", queue, 0.0, taken
            elif spares < queue.nodes:
                job = resized(queue, queue.nodes - spares)
                title, capacity, held = f"{job.nodes} nodes per job and {counted}", -taken, 0.0
            else:
                continue
            failures = [*plain[:k], cluster.failure_with_spares(job, spares), *plain[k + 1 :]]
            yield Change(
                f"{queue.name}: {title}", "spares", before, job_failure(queues, failures), capacity,
                held, queue.name,
            )  # fmt: skip


# Checkpoints -------------------------------------------------------------------------------------


def best_interval(cluster: GroupedMachine, queue: Queue) -> float:
    """Return the interval of checkpoints, s of work, of the highest long-run efficiency for a
    queue's jobs; see `forestall.reliability.checkpoints.checkpoints`. ParameterError without
    their cost.
    """
    if cluster.checkpoints is None:
        raise ParameterError("checkpoints", None, "the cost of a checkpoint")
    cost, restart = cluster.checkpoints.cost, cluster.checkpoints.restart
    shares = cluster.shares(queue)
    if len(shares) == 1 and not isinstance(shares[0][0].age, tuple):
        group = shares[0][0]
        found = checkpoint_interval(
            lifetime=group.lifetime, nodes=queue.nodes, ages=group.age, cost=cost, restart=restart
        )
        return found.optimal
    return best_long_run(cast("SystemLifetime", JobLife(cluster, queue)), cost, restart)


class JobLife:
    """The time from a start to the next failure of a job on nodes of several groups, as
    `forestall.reliability.checkpoints.checkpoints` asks for it: after each failure the nodes have
    their ages
    again."""

    def __init__(self, cluster: GroupedMachine, queue: Queue) -> None:
        self._cluster, self._queue = cluster, queue
        self.lifetime = cluster.shares(queue)[0][0].lifetime
        self.integral = Integral(self.log_sf)

    def log_sf(self, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability that no node fails within `t`."""
        return self._cluster.log_survival(self._queue, t)

    def sf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability that no node fails within `t`."""
        return np.exp(self.log_sf(t))

    def hazard(self, t: npt.ArrayLike) -> Floats:
        """Return the failure rate after `t` without a failure, by a difference."""
        times = np.asarray(t, dtype=np.float64)
        step = 1e-5 * times
        return (self.log_sf(times - step) - self.log_sf(times + step)) / (2 * step)

    def mean(self) -> float:
        """Return the mean time to the next failure."""
        return self.integral.mean

    def quantile(self, p: float) -> float:
        """Return the time by which a node has failed with probability `p`."""
        return float(time_of_hazard(self.log_sf, np.array([-math.log1p(-p)]))[0])


def _checkpoints(cluster: GroupedMachine) -> Iterator[Change]:
    """Checkpoints at the best interval, and restart in place on a spare from the last one.

    The limit leaves room for the checkpoints and for one failure: a lost interval, its checkpoint
    and the restart. So the job fails where a second failure comes within the limit. Jobs that take
    all nodes have no spare to restart on.
    """
    if cluster.checkpoints is None:
        return
    queues = cluster.queues
    plain = [cluster.queue_failure(queue) for queue in queues]
    before = job_failure(queues, plain)
    kept: list[float] = []
    useful: list[float] = []
    for queue in queues:
        left = useful_share(cluster, queue) if cluster.room(queue) else 0.0
        kept.append(sum(cluster.failures_of_job(queue)) if left > 0 else 1 - plain[len(kept)])
        useful.append(left if left > 0 else 1.0)
    for k, queue in enumerate(queues):
        if useful[k] == 1.0 or len(queues) == 1:
            continue
        failures = [*plain[:k], 1 - kept[k], *plain[k + 1 :]]
        lost = queue.busy * (1 - useful[k]) / cluster.capacity()
        interval = format_duration(best_interval(cluster, queue))
        yield Change(
            f"{queue.name}: a checkpoint every {interval}", "checkpoint", before,
            job_failure(queues, failures), -lost, 0.0, queue.name,
        )  # fmt: skip
    if any(share < 1 for share in useful):
        lost = sum(q.busy * (1 - u) for q, u in zip(queues, useful, strict=True))
        after = job_failure(queues, _complement(kept))
        title = "checkpoints at the best interval of each queue"
        yield Change(title, "checkpoint", before, after, -lost / cluster.capacity(), 0.0)


def useful_share(cluster: GroupedMachine, queue: Queue) -> float:
    """Return the share of the limit that is left for work beside checkpoints and the room for one
    failure; 0 where nothing is left."""
    assert cluster.checkpoints is not None
    cost, restart = cluster.checkpoints.cost, cluster.checkpoints.restart
    try:
        interval = best_interval(cluster, queue)
    except ParameterError:  # failures come before any checkpoint is done
        return 0.0
    room = queue.limit - (interval + cost + restart)
    return max(0.0, room / queue.limit * interval / (interval + cost))


def _complement(shares: Sequence[float]) -> list[float]:
    return [1 - share for share in shares]
