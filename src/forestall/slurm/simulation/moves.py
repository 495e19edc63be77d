"""What changes a modelled cluster, whoever wanted it: the scheduler, a failure, people, or we."""

from __future__ import annotations

from typing import Final

from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode, ClusterReservation
from forestall.slurm.simulation.state import EXPEDITING, PARTITION, JobWork, SlurmState

FIRST: Final = 1 << 31
"""The priority of a job that is expedited: none has a higher one."""
SILENT: Final = "Not responding"
EPILOG: Final = "Epilog error"
UNUSED: Final = 300
"""Seconds after which a reservation that no job uses any more is gone (PURGE_COMP)."""


def waiting(state: SlurmState, user: str, name: str, nodes: int, limit: int) -> ClusterJob:
    """Return a new job at the end of the queue, with the next number."""
    identity = state.next_id
    state.next_id += 1
    return ClusterJob(
        identity, user, name, "science", PARTITION, "normal", "PENDING", (), "Priority", state.now,
        state.now, None, None, limit, nodes, (), (), "", "", 1, 0, 0, "", "",
    )  # fmt: skip


def fresh(name: str, now: int) -> ClusterNode:
    """Return a healthy node that booted now."""
    return ClusterNode(name, "IDLE", (), "", "", None, now, now, 8, 16_000, (PARTITION,), (), "")


def finish(state: SlurmState, job: ClusterJob, how: str, kept: int) -> None:
    """End a job for good; it is forgotten after `kept` seconds."""
    _leave(state, job, how)
    state.job(job._replace(state=how, flags=(), reason="None", end=state.now))
    state.plan(kept, "forgotten", (job.id, job.submit))
    held = state.reservations.get(job.reservation)
    purged = held is not None and "PURGE_COMP" in held.flags
    if purged and not in_use(state, job.reservation):
        state.plan(UNUSED, "unused", job.reservation)


def queue_again(state: SlurmState, job: ClusterJob, how: str, delay: int) -> None:
    """Put a running job back into the queue; a checkpoint saves what was done up to it."""
    _leave(state, job, how)
    work = state.work.get(job.id)
    if work is not None:
        state.work[job.id] = work._replace(length=max(work.length - work.saved, 1), saved=0)
    state.job(
        job._replace(
            state="PENDING", flags=("REQUEUED",), reason="BeginTime", submit=state.now,
            eligible=state.now + delay, start=None, end=None, nodes=(), restarts=job.restarts + 1,
        )
    )  # fmt: skip
    state.plan(delay, "eligible", job.id)


def expedite(state: SlurmState, job: ClusterJob, how: str) -> None:
    """Put a job that lost a node, or whose node was found to be ill, back into the queue as Slurm
    25.11 does with ``--requeue=expedite``: it may start at once, goes before all others, and the
    nodes that it had and that are well are kept for it. They look idle from outside."""
    had = job.nodes
    queue_again(state, job, how, 0)
    again = state.jobs[job.id]
    first = again._replace(flags=(EXPEDITING,), reason="Priority", priority=FIRST, nodes=had)
    keep(state, first)
    state.happened["expedited requeue"] += 1


def keep(state: SlurmState, job: ClusterJob) -> None:
    """Keep for a job that is expedited those of its nodes on which it could start."""
    state.let_go(job.id)
    left = tuple(name for name in job.nodes if state.usable(name))
    if state.jobs[job.id] != (again := job._replace(nodes=left)):
        state.job(again)
    state.kept.update(dict.fromkeys(left, job.id))
    for name in left:
        state.free.pop(name, None)


def hold(state: SlurmState, job: ClusterJob, reason: str, note: str) -> None:
    """Hold a waiting job back; no nodes are kept for it then."""
    state.let_go(job.id)
    flags = tuple(flag for flag in job.flags if flag != EXPEDITING)
    state.job(job._replace(priority=0, reason=reason, note=note, flags=flags, nodes=()))


def fail(state: SlurmState, job: ClusterJob, ill: bool, kept: int) -> None:
    """End a job whose script failed. With ``--requeue=expedite`` it depends on the Epilog: where it
    finds the node to be `ill`, that is drained and the job expedited; else the job is queued again
    and held, for it failed by itself."""
    if not state.work.get(job.id, JobWork(0, False)).expedited:
        finish(state, job, "FAILED", kept)
    elif ill:
        name = job.nodes[0]
        state.node(drained(state.nodes[name], EPILOG, "root", state.now))
        state.theirs.add(name)
        expedite(state, job, "FAILED")
        rehome(state, name)
    else:
        queue_again(state, job, "FAILED", 0)
        again = state.jobs[job.id]
        hold(state, again._replace(flags=("REQUEUE_HOLD",)), "JobHeldUser", again.note)
        state.happened["requeued and held"] += 1


def in_use(state: SlurmState, reservation: str) -> bool:
    """Return whether a job that has not ended names a reservation."""
    return any(
        job.reservation == reservation and job.state in ("PENDING", "RUNNING")
        for job in state.jobs.values()
    )


def _leave(state: SlurmState, job: ClusterJob, how: str) -> None:
    for name in job.nodes if job.state == "RUNNING" else ():
        state.holder.pop(name, None)
        node = state.nodes[name]
        state.node(node._replace(state="IDLE") if node.state == "ALLOCATED" else node)
    state.run_ended(job, how)
    state.starts.pop(job.id, None)
    state.let_go(job.id)


def rehome(state: SlurmState, name: str) -> None:
    """Let reservations that held a node which is out of service take another one (REPLACE_DOWN)."""
    for one in list(state.reservations.values()):
        if name in one.nodes and "REPLACE_DOWN" in one.flags and one.end > state.now:
            spare = candidates(state, one.start, one.end, one.name)
            left = tuple(node for node in one.nodes if node != name)
            new = next((node for node in spare if node not in left), None)
            if new is not None:
                state.put(state.reservations, one.name, one._replace(nodes=(*left, new)))


def candidates(state: SlurmState, start: int, end: int, name: str = "") -> list[str]:
    """Return the nodes that a reservation may take: in service, in no other reservation, and not
    held by a job that may run into it; idle ones first."""
    taken = {
        node
        for one in state.reservations.values()
        if one.name != name and one.start < end and start < one.end
        for node in one.nodes
    }
    free = []
    for node in state.nodes.values():
        if node.name in taken or node.name in state.dead or not node.in_service:
            continue
        if node.name in state.kept:
            continue
        job = state.jobs.get(state.holder.get(node.name, 0))
        if job is None or job.reservation == name or (job.end or end) <= start:
            free.append(node.name)
    return sorted(free, key=lambda one: (one in state.holder, one))


def end_reservation(state: SlurmState, one: ClusterReservation) -> None:
    """Take a reservation away: jobs that still wait for it wait outside from now on
    (NO_HOLD_JOBS_AFTER)."""
    state.put(state.reservations, one.name, None)
    for job in list(state.jobs.values()):
        if job.reservation == one.name and job.state == "PENDING":
            state.job(job._replace(reservation=""))


def drained(node: ClusterNode, reason: str, by: str, now: int) -> ClusterNode:
    """Return a node on which no further job starts."""
    flags = tuple(dict.fromkeys((*node.flags, "DRAIN")))
    return node._replace(flags=flags, reason=reason, set_by=by, set_at=now)


def resumed(node: ClusterNode, held: bool) -> ClusterNode:
    """Return a node that is back in service."""
    flags = tuple(flag for flag in node.flags if flag == "NOT_RESPONDING")
    state = "ALLOCATED" if held else "IDLE"
    return node._replace(state=state, flags=flags, reason="", set_by="", set_at=None)


def returned(node: ClusterNode, now: int) -> ClusterNode:
    """Return a node that answers again: in service, unless somebody took it out."""
    flags = tuple(flag for flag in node.flags if flag == "DRAIN")
    if node.reason == SILENT and not flags:
        return fresh(node.name, now)
    return node._replace(state="IDLE", flags=flags, booted=now, answered=now)
