"""Actions that take several steps, whatever carries the steps out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from forestall.core.model.faults import LookError, WriteError, WriteFault
from forestall.core.model.marks import noted, reservation_name
from forestall.slurm.cluster.actions import Action, Release, Requeue, Reserve, SignalJob, StartNow
from forestall.slurm.cluster.nouns import ClusterJob, ClusterView

Step = TypeVar("Step")
_REVOKED: Final = 3
"""s after a requeue in which a new start may be refused."""
_STEP: Final = 0.25
"""s between looks at a job that is queued again."""


def between_notes(
    action: Release | SignalJob | StartNow,
    job: ClusterJob,
    step: Step,
    note: Callable[[int, str], Step],
    tell: Callable[[Step, str], object],
) -> None:
    """Carry out what leaves no trace of itself between two notes: about to, and done.

    Parameters
    ----------
    step : what acts; `note` makes the step that sets a job's note
    tell : carries a step out for an action's id; raises WriteError

    A step that was refused takes its note back.
    """
    hold = None if isinstance(action, SignalJob) else ""
    tell(note(job.id, noted(job.note, action.id, hold=hold, pending=True)), action.id)
    try:
        tell(step, action.id)
    except WriteError as error:
        if error.fault is not WriteFault.AMBIGUOUS:
            tell(note(job.id, job.note), action.id)
        raise
    tell(note(job.id, noted(job.note, action.id, hold=hold)), action.id)


class ElsewhereSteps(NamedTuple, Generic[Step]):
    """What a start elsewhere takes, each a step of its own.

    Attributes
    ----------
    requeue : queues the job again, held
    exclude : keeps the job away from nodes, for the job as it is seen then
    release : lets it go
    note : sets its note
    """

    requeue: Step
    exclude: Callable[[ClusterJob], Step]
    release: Step
    note: Callable[[int, str], Step]


def once_waiting(look: Callable[[], list[ClusterJob]], seconds: float) -> ClusterJob | None:
    """Return a job that was queued again once it waits: until then nothing of it can be changed.
    None where that takes longer than so many seconds, or nobody knows."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            jobs = look()
        except LookError:
            return None
        if jobs and jobs[0].waits:
            return jobs[0]
        time.sleep(_STEP)
    return None


def wait_out(job: ClusterJob, now: float) -> None:
    """Let the seconds pass in which a job was queued again: a node on which it starts in those
    takes it for the run before, whose credential was revoked, and Slurm then kills the job."""
    left = (job.submit or 0) + _REVOKED - now
    if 0 < left <= _REVOKED:
        time.sleep(left)


def start_elsewhere(
    action: Requeue,
    job: ClusterJob,
    steps: ElsewhereSteps[Step],
    look: Callable[[], ClusterJob | None],
    tell: Callable[[Step, str, ClusterJob], object],
) -> None:
    """Queue a job again so that it starts on other nodes: held, kept away from them, let go. Its
    note says from before the first step on that we hold it, so that who dies half-way finds it.

    Parameters
    ----------
    look : returns the job as it is once it waits; None where it does not in time
    tell : carries a step out for an action's id, on a job; raises WriteError
    """
    if job.restarts <= action.restarts:
        held = noted(job.note, action.id, hold=action.id, pending=True)
        tell(steps.note(job.id, held), action.id, job)
        try:
            tell(steps.requeue, action.id, job)
        except WriteError as error:
            if error.fault is not WriteFault.AMBIGUOUS:
                tell(steps.note(job.id, job.note), action.id, job)
            raise
    waiting = look()
    if waiting is None:
        message = f"job {job.id} was queued again and held, and does not wait yet"
        raise WriteError(WriteFault.AMBIGUOUS, action.id, message)
    tell(steps.exclude(waiting), action.id, waiting)
    tell(steps.release, action.id, waiting)
    tell(steps.note(job.id, noted(waiting.note, action.id, hold="")), action.id, waiting)


def reserve_whole(
    action: Reserve,
    step: Step,
    back: Step,
    around: Callable[[Action], ClusterView],
    tell: Callable[[Step, str], object],
) -> None:
    """Make a reservation, and take it back where it holds fewer nodes than were asked for: Slurm
    makes it smaller without a word where the partition has no more nodes.

    Parameters
    ----------
    step, back : make it, delete it
    around : looks at it; `tell` as above
    """
    tell(step, action.id)
    try:
        made = around(action).reservations.get(reservation_name(action.id))
    except LookError as error:
        raise WriteError(WriteFault.AMBIGUOUS, action.id, str(error)) from None
    if made is None or made.node_count < action.nodes:
        count = 0 if made is None else made.node_count
        if made is not None:
            tell(back, action.id)
        message = f"Slurm reserves {count} of {action.nodes} nodes; no reservation is left"
        raise WriteError(WriteFault.REFUSED, action.id, message)
