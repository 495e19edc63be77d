"""The modelled scheduler: by priority, with backfilling behind the first job that waits, and never
on nodes that a reservation will need."""

from __future__ import annotations

from forestall.model.cluster.nouns import ClusterJob, ClusterReservation
from forestall.simulate.slurm.state import State

_NO_LIMIT = 365 * 86400


def schedule(state: State, tested: int) -> list[ClusterJob]:
    """Start the jobs that can start now; returns them as they are then.

    Parameters
    ----------
    tested : how many waiting jobs are looked at
    """
    free = _free(state)
    if not free:
        return []
    taken = _taken(state)
    started: list[ClusterJob] = []
    ahead: tuple[int, int] | None = None  # until when, and nodes then left over
    for job in _waiting(state)[:tested]:
        if not free:
            break
        length = _NO_LIMIT if job.limit is None else job.limit
        needed = job.node_count
        fits = [name for name in free if _may(job, name, state.now, length, taken)]
        behind = ahead is not None and state.now + length > ahead[0] and needed > ahead[1]
        if len(fits) < needed or behind:
            if ahead is None and len(fits) < needed:
                ahead = _shadow(state, needed, len(free))
            continue
        if ahead is not None and state.now + length > ahead[0]:
            ahead = (ahead[0], ahead[1] - needed)
        chosen = tuple(
            sorted(fits, key=lambda name: (_reserved_for(job, name, taken), name))[:needed]
        )
        free = [name for name in free if name not in chosen]
        started.append(_start(state, job, chosen, length))
    return started


def _waiting(state: State) -> list[ClusterJob]:
    jobs = [
        job
        for job in state.jobs.values()
        if job.state == "PENDING" and job.priority > 0 and (job.eligible or 0) <= state.now
    ]
    return sorted(jobs, key=lambda job: (-job.priority, job.submit or 0, job.id))


def _free(state: State) -> list[str]:
    return [
        name
        for name, node in state.nodes.items()
        if name not in state.holder and name not in state.dead and node.in_service
    ]


def _taken(state: State) -> dict[str, list[ClusterReservation]]:
    taken: dict[str, list[ClusterReservation]] = {}
    for one in state.reservations.values():
        for name in one.nodes:
            taken.setdefault(name, []).append(one)
    return taken


def _may(
    job: ClusterJob,
    name: str,
    now: int,
    length: int,
    taken: dict[str, list[ClusterReservation]],
) -> bool:
    if name in job.excluded:
        return False
    ours = job.reservation
    return all(one.name == ours or one.start >= now + length or one.end <= now
               for one in taken.get(name, ()))  # fmt: skip


def _reserved_for(job: ClusterJob, name: str, taken: dict[str, list[ClusterReservation]]) -> bool:
    return not any(one.name == job.reservation for one in taken.get(name, ()))


def _shadow(state: State, needed: int, room: int) -> tuple[int, int]:
    """Return when the first waiting job can start by the limits of those that run, and how many
    nodes are left over then."""
    running = [job for job in state.jobs.values() if job.state == "RUNNING"]
    ends = sorted((job.end or state.now + _NO_LIMIT, job.node_count) for job in running)
    for end, count in ends:
        room += count
        if room >= needed:
            return end, room - needed
    return state.now + _NO_LIMIT, 0


def _start(state: State, job: ClusterJob, nodes: tuple[str, ...], length: int) -> ClusterJob:
    now = state.now
    begun = job._replace(
        state="RUNNING", flags=(), reason="None", start=now, end=now + length, nodes=nodes
    )
    state.job(begun)
    for name in nodes:
        state.holder[name] = job.id
        node = state.nodes[name]
        state.node(node._replace(state="ALLOCATED"))
    return begun
