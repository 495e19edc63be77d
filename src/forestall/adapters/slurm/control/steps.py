"""Actions that take several steps, whatever carries the steps out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from forestall.model.cluster.actions import Action, Release, Reserve, SignalJob
from forestall.model.cluster.faults import LookError, WriteError, WriteFault
from forestall.model.cluster.marks import noted, reservation_name
from forestall.model.cluster.nouns import ClusterJob, ClusterView

Step = TypeVar("Step")


def between_notes(
    action: Release | SignalJob,
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
    hold = "" if isinstance(action, Release) else None
    tell(note(job.id, noted(job.note, action.id, hold=hold, pending=True)), action.id)
    try:
        tell(step, action.id)
    except WriteError as error:
        if error.fault is not WriteFault.AMBIGUOUS:
            tell(note(job.id, job.note), action.id)
        raise
    tell(note(job.id, noted(job.note, action.id, hold=hold)), action.id)


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
