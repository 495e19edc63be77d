"""Operators and users who do as they like with a modelled cluster, and with what is ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from forestall.slurm.cluster.nouns import ClusterReservation
from forestall.slurm.simulation.chance import Chance
from forestall.slurm.simulation.moves import (
    candidates,
    drained,
    end_reservation,
    finish,
    hold,
    queue_again,
    rehome,
    resumed,
)
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.state import PersonsAct, SlurmState

_REASONS: Final = ("bad fan, RT 4711", "firmware", "NHC: check_fs_mount /scratch", "Forestall: no")


def interfere(state: SlurmState, chance: Chance, settings: WorldSettings) -> None:
    """Let somebody do one thing by hand; nothing where nobody can reach the controller."""
    act, target = chance.one_of(_ACTS), chance.draw()
    if state.answers:
        told = act(state, target, settings)
        if told:
            state.acts.append(PersonsAct(state.now, act.__name__.strip("_"), told))


def _drain(state: SlurmState, draw: float, _: WorldSettings) -> str:
    """Take out a node, also one that we took out: the reason is theirs then."""
    names = sorted(state.nodes)
    name = names[int(draw * len(names))]
    reason = _REASONS[int(draw * 1000) % len(_REASONS)]
    state.node(drained(state.nodes[name], reason, "root", state.now))
    state.theirs.add(name)
    rehome(state, name)
    return name


def _resume(state: SlurmState, draw: float, _: WorldSettings) -> str:
    """Bring a node back, also one that we took out."""
    names = sorted(name for name, one in state.nodes.items() if "DRAIN" in one.flags
                   and name not in state.dead and "REBOOT_ISSUED" not in one.flags)  # fmt: skip
    if not names:
        return ""
    name = names[int(draw * len(names))]
    state.node(resumed(state.nodes[name], name in state.holder))
    state.theirs.discard(name)
    return name


def _maintenance(state: SlurmState, draw: float, _: WorldSettings) -> str:
    """Reserve a node for an hour."""
    start, end = state.now + 600, state.now + 4200
    free = candidates(state, start, end)
    name = f"maint_{state.now}"
    if not free or name in state.reservations:
        return ""
    node = free[int(draw * len(free))]
    one = ClusterReservation(
        name, start, end, (node,), 1, "", "", ("MAINT", "SPEC_NODES"), ("root",), ()
    )
    state.put(state.reservations, name, one)
    state.plan(end - state.now, "over", name)
    return name


def _delete_reservation(state: SlurmState, draw: float, _: WorldSettings) -> str:
    """Delete a reservation that no job runs in, also one of ours."""
    busy = {job.reservation for job in state.jobs.values() if job.state == "RUNNING"}
    names = sorted(set(state.reservations) - busy)
    if not names:
        return ""
    name = names[int(draw * len(names))]
    end_reservation(state, state.reservations[name])
    return name


def _hold(state: SlurmState, draw: float, _: WorldSettings) -> str:
    numbers = sorted(job.id for job in state.jobs.values() if job.waits and job.priority)
    if not numbers:
        return ""
    job = state.jobs[numbers[int(draw * len(numbers))]]
    hold(state, job, "JobHeldAdmin", job.note)
    return str(job.id)


def _release(state: SlurmState, draw: float, _: WorldSettings) -> str:
    numbers = sorted(job.id for job in state.jobs.values() if job.held)
    if not numbers:
        return ""
    job = state.jobs[numbers[int(draw * len(numbers))]]
    state.job(job._replace(priority=1, reason="Priority"))
    return str(job.id)


def _cancel(state: SlurmState, draw: float, settings: WorldSettings) -> str:
    numbers = sorted(job.id for job in state.jobs.values() if job.state in ("PENDING", "RUNNING"))
    if not numbers:
        return ""
    job = state.jobs[numbers[int(draw * len(numbers))]]
    finish(state, job, "CANCELLED", settings.kept)
    return str(job.id)


def _requeue(state: SlurmState, draw: float, settings: WorldSettings) -> str:
    numbers = sorted(job.id for job in state.jobs.values() if job.state == "RUNNING")
    if not numbers:
        return ""
    job = state.jobs[numbers[int(draw * len(numbers))]]
    queue_again(state, job, "REQUEUED", settings.delay)
    return str(job.id)


def _comment(state: SlurmState, draw: float, _: WorldSettings) -> str:
    """Take our tag out of a job's comment."""
    numbers = sorted(job.id for job in state.jobs.values() if job.waits and job.comment)
    if not numbers:
        return ""
    job = state.jobs[numbers[int(draw * len(numbers))]]
    state.job(job._replace(comment="mine"))
    return str(job.id)


_ACTS: Final[tuple[Callable[[SlurmState, float, WorldSettings], str], ...]] = (
    _drain, _resume, _drain, _resume, _maintenance, _delete_reservation, _hold, _release, _cancel,
    _requeue, _comment,
)  # fmt: skip
