"""What a look shows to the guard: whose a node, a job and a reservation are, and what they do.

A job carries a promise where its comment has the promise's tag and it is the owner's; of several
such jobs (a user may copy a comment) the one with the lowest number does. Of a promise whose owner
submits its job the tag must be sealed, and the first job that was seen with it is the only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from forestall.core.model.marks import RESERVATION
from forestall.live.guard.sight import ClusterSight, JobSight, NodeSight, ReservationSight
from forestall.live.slurm.reconcile import holds_nodes
from forestall.live.slurm.submissions import OwnerJob
from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterReservation,
    ClusterSnapshot,
    ClusterView,
)

_DRAINED: Final = frozenset({"DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING"})
_AS_MADE: Final = frozenset({"FLEX", "REPLACE_DOWN"})
"""Flags by which a reservation is known to be as we made it; versions of Slurm name others in
different ways."""


def carriers(
    seen: ClusterView, owners: Mapping[str, str], claims: Mapping[str, OwnerJob] | None = None
) -> dict[str, ClusterJob]:
    """Return the job that carries each promise, where it is seen.

    owners : of promises, by their ids
    claims : which job may carry a promise whose owner submits it: one with its seal, and once one
        was seen, that one alone
    """
    found: dict[str, ClusterJob] = {}
    for job in sorted(seen.jobs.values(), key=lambda one: one.id):
        name, seal = job.mark.promise, job.mark.seal
        if not name or owners.get(name) != job.user:
            continue
        claim = (claims or {}).get(name)
        if claim is None:
            is_it = not seal and not job.array
        else:
            is_it = seal == claim.seal and claim.number in (0, job.id)
        if is_it:
            found.setdefault(name, job)
    return found


def sight_of(
    seen: ClusterSnapshot, owners: Mapping[str, str], claims: Mapping[str, OwnerJob] | None = None
) -> ClusterSight:
    """Return a look as the guard needs it; it is as old as its first question.

    owners, claims : as for `carriers`, of all promises that may have a job or a reservation there
    """
    carried = {job.id: name for name, job in carriers(seen, owners, claims).items()}
    busy, counted, others = set[str](), set[str](), set[str]()
    for job in seen.jobs.values():
        if holds_nodes(job):
            busy.update(job.nodes)
            counted.update(job.nodes if job.id in carried else ())
    for one in seen.reservations.values():
        if one.end > seen.began:
            (counted if _promise(one) in owners else others).update(one.nodes)
    return ClusterSight(
        seen.began,
        nodes={
            name: _node(node, name in busy, name in counted, name in others)
            for name, node in seen.nodes.items()
        },
        jobs={str(key): _job(job, carried.get(key, "")) for key, job in seen.jobs.items()},
        reservations={name: _reservation(one, owners) for name, one in seen.reservations.items()},
    )


def _node(node: ClusterNode, busy: bool, promised: bool, reserved: bool) -> NodeSight:
    state, flags = node.state, node.flags
    return NodeSight(
        partitions=node.partitions,
        drained=state in _DRAINED or not _DRAINED.isdisjoint(flags),
        down=node.down,
        rebooting=state[:6] == "REBOOT" or any(word[:6] == "REBOOT" for word in flags),
        busy=busy,
        reason=node.reason,
        boot=node.booted or 0,
        promised=promised,
        reserved=reserved,
    )


def _job(job: ClusterJob, promise: str) -> JobSight:
    """Return a job; its start is told only where it has one: of those that wait it is a guess."""
    start = (job.start or 0) if holds_nodes(job) else 0
    return JobSight(job.state, start, promise, job.held and not job.mark.hold)


def _reservation(one: ClusterReservation, owners: Mapping[str, str]) -> ReservationSight:
    owner = owners.get(_promise(one), "")
    as_made = set(one.flags) >= _AS_MADE and one.users == (owner,)
    return ReservationSight(one.node_count, one.partition, as_made)


def _promise(one: ClusterReservation) -> str:
    """Return the id of the promise that a reservation holds, "" where its name is not ours."""
    return one.name.removeprefix(RESERVATION) if one.name.startswith(RESERVATION) else ""
