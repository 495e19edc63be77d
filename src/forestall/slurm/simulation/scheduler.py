"""The modelled scheduler: by priority, with backfilling behind the first job that waits, and never
on nodes that a reservation will need."""

from __future__ import annotations

from itertools import islice

from forestall.slurm.cluster.nouns import ClusterJob, ClusterReservation
from forestall.slurm.simulation.limits import STOPPED, stop_by_limits
from forestall.slurm.simulation.moves import keep
from forestall.slurm.simulation.state import SlurmState, is_expediting

_NO_LIMIT = 365 * 86400
SOON = 10
"""s after a requeue within which a start is one at once."""


def schedule(state: SlurmState, tested: int) -> list[ClusterJob]:
    """Start the jobs that can start now; returns them as they are then.

    Parameters
    ----------
    tested : how many waiting jobs are looked at
    """
    if not state.free and not state.kept:
        return []
    if state.limited:
        stop_by_limits(state)
    taken = _taken(state)
    started: list[ClusterJob] = []
    ahead: tuple[int, int] | None = None  # until when, and nodes then left over
    for job in _waiting(state)[:tested]:
        if not state.free and not state.kept:
            break
        if is_expediting(job):
            _take_back(state, job)
        end = state.now + (_NO_LIMIT if job.limit is None else job.limit)
        needed = job.node_count
        chosen = _chosen(state, job, end, taken)
        if ahead is not None and end > ahead[0]:
            if needed > ahead[1]:
                chosen = ()
            elif chosen:
                ahead = (ahead[0], ahead[1] - needed)
        if chosen:
            started.append(_start(state, job, chosen, end))
            continue
        if ahead is None:
            ahead = _shadow(state, needed, len(state.free))
        if is_expediting(job):
            keep(state, job)
    return started


def _take_back(state: SlurmState, job: ClusterJob) -> None:
    """Let the nodes that are kept for a job be the first that it may have."""
    state.let_go(job.id)
    own = {name: None for name in job.nodes if name in state.free}
    state.free = own | state.free


def _waiting(state: SlurmState) -> list[ClusterJob]:
    jobs = [
        job
        for job in state.jobs.values()
        if job.state == "PENDING"
        and job.priority > 0
        and (job.eligible or 0) <= state.now
        and job.reason not in STOPPED
    ]
    return sorted(jobs, key=lambda job: (-job.priority, job.submit or 0, job.id))


def _taken(state: SlurmState) -> dict[str, list[ClusterReservation]]:
    taken: dict[str, list[ClusterReservation]] = {}
    for one in state.reservations.values():
        for name in one.nodes:
            taken.setdefault(name, []).append(one)
    return taken


def _chosen(
    state: SlurmState, job: ClusterJob, end: int, taken: dict[str, list[ClusterReservation]]
) -> tuple[str, ...]:
    """Return the nodes on which a job can start now, () where there are too few: first those that
    are reserved for it, then those of no reservation, then those that are reserved later on."""
    if len(state.free) < job.node_count:
        return ()
    avoided = set(job.excluded)
    held = [name for name in taken if name in state.free and name not in avoided]
    own = [name for name in held if any(one.name == job.reservation for one in taken[name])]
    mine = [name for name in own if _may(job, state.now, end, taken[name])]
    inside = state.reservations.get(job.reservation)
    if inside is not None and "FLEX" not in inside.flags:  # on its nodes, or nowhere
        return tuple(sorted(mine[: job.node_count])) if len(mine) >= job.node_count else ()
    plain = (name for name in state.free if name not in taken and name not in avoided)
    mine += islice(plain, max(job.node_count - len(mine), 0))
    if len(mine) < job.node_count:
        rest = (name for name in held if name not in own)
        mine += [name for name in rest if _may(job, state.now, end, taken[name])]
    return tuple(sorted(mine[: job.node_count])) if len(mine) >= job.node_count else ()


def _may(job: ClusterJob, now: int, end: int, taken: list[ClusterReservation]) -> bool:
    return all(one.name == job.reservation or one.start >= end or one.end <= now for one in taken)


def _shadow(state: SlurmState, needed: int, room: int) -> tuple[int, int]:
    """Return when the first waiting job can start by the limits of those that run, and how many
    nodes are left over then."""
    running = [job for job in state.jobs.values() if job.state == "RUNNING"]
    ends = sorted((job.end or state.now + _NO_LIMIT, job.node_count) for job in running)
    for end, count in ends:
        room += count
        if room >= needed:
            return end, room - needed
    return state.now + _NO_LIMIT, 0


def _start(state: SlurmState, job: ClusterJob, nodes: tuple[str, ...], end: int) -> ClusterJob:
    if job.restarts and (job.submit or 0) + SOON >= state.now:
        state.happened["restarted at once"] += 1
    begun = job._replace(
        state="RUNNING", flags=(), reason="None", start=state.now, end=end, nodes=nodes
    )
    state.job(begun)
    for name in nodes:
        state.holder[name] = job.id
        state.node(state.nodes[name]._replace(state="ALLOCATED"))
    return begun
