"""Whether an action has taken effect, and whether it may be carried out: from what was seen.

All implementations of a cluster ask here before they act, and the controller asks here with its
snapshot after a crash. So an action is never repeated, and what a person did is never undone.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.core.model.marks import Mark, reservation_name
from forestall.slurm.cluster.actions import (
    Action,
    ActionResult,
    DrainNode,
    Exclude,
    Hold,
    OnJob,
    OnNode,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ReserveNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode, ClusterView

_TIMED_OUT: Final = "reboot timed out"
"""How Slurm ends the reason of a node that was to reboot and did not answer in `ResumeTimeout`."""


class Standing(StrEnum):
    """How an action stands."""

    DONE = "done"
    OPEN = "open"
    UNDER_WAY = "under way"
    UNKNOWN = "unknown"


def standing(action: Action, seen: ClusterView) -> Standing:
    """Return whether an action has taken effect in what was seen.

    OPEN: it has not, and may be carried out. UNDER_WAY: Slurm has taken it up, and its effect is
    still to come (a node that reboots once it is idle). UNKNOWN: it was begun, and nothing tells
    whether it went through (a signal leaves no trace). Raises WriteError where it has not taken
    effect and may not be carried out: NOT_OURS, UNKNOWN_ID or REFUSED.
    """
    if isinstance(action, Submit):
        return Standing.DONE if submitted(action.id, seen) else Standing.OPEN
    if isinstance(action, Reserve | ReserveNode):
        there = reservation_name(action.id) in seen.reservations
        return Standing.DONE if there else Standing.OPEN
    if isinstance(action, Unreserve):
        there = reservation_name(action.of) in seen.reservations
        return Standing.OPEN if there else Standing.DONE
    if isinstance(action, OnNode):
        return _of_node(action, seen)
    return _of_job(action, seen)


def submitted(identity: str, seen: ClusterView) -> int:
    """Return the number of the job that an action submitted, 0 where none is seen."""
    numbers = [job.id for job in seen.jobs.values() if job.mark.promise == identity]
    numbers += [run.job for run in seen.runs if Mark.parse(run.comment, "").promise == identity]
    return min(numbers, default=0)


def state_of(identity: str, seen: ClusterView) -> str:
    """Return the state of the job that an action submitted, "" where none is seen."""
    number = submitted(identity, seen)
    if number in seen.jobs:
        return seen.jobs[number].state
    return next((run.state for run in reversed(seen.runs) if run.job == number), "")


def perform(
    action: Action,
    read: Callable[[Action], ClusterView],
    write: Callable[[Action, ClusterView], int],
) -> ActionResult:
    """Carry out an action unless it has taken effect already.

    Parameters
    ----------
    read : what the action is about, freshly seen
    write : carries it out; returns the number of a job that was submitted, else 0

    A job that was never sent before is submitted without a look.

    Raises WriteError. Where the fresh look fails, nothing was done.
    """
    if isinstance(action, Submit) and not action.tried:
        return ActionResult(action.id, False, write(action, ClusterView({}, {}, {})))
    try:
        seen = read(action)
    except LookError as error:
        fault = _AFTER.get(error.fault, WriteFault.UNREACHABLE)
        message = f"not carried out, since the look before it failed: {error}"
        raise WriteError(fault, action.id, message) from None
    stands = standing(action, seen)
    if stands is Standing.UNKNOWN:
        message = "was begun before, and nothing tells whether it went through"
        raise WriteError(WriteFault.AMBIGUOUS, action.id, message)
    done = stands in (Standing.DONE, Standing.UNDER_WAY)
    made = 0 if done else write(action, seen)
    job = getattr(action, "job", 0)
    if isinstance(action, Submit):
        job = submitted(action.id, seen) if done else made
    return ActionResult(action.id, done, job)


_AFTER: Final = {
    LookFault.NOT_PERMITTED: WriteFault.NOT_PERMITTED,
    LookFault.UNAVAILABLE: WriteFault.UNSUPPORTED,
}


def _refused(action: Action, message: str) -> WriteError:
    return WriteError(WriteFault.REFUSED, action.id, message)


def _of_job(action: OnJob, seen: ClusterView) -> Standing:
    job = seen.jobs.get(action.job)
    if job is None:
        raise WriteError(WriteFault.UNKNOWN_ID, action.id, f"there is no job {action.job}")
    mark = job.mark
    if not mark.promise:
        message = f"job {job.id} carries no promise: its comment has no tag of ours"
        raise WriteError(WriteFault.NOT_OURS, action.id, message)
    if job.array:
        raise _refused(action, f"job {job.id} is part of an array; arrays are not acted on")
    match action:
        case Requeue():
            return _requeue(action, job)
        case StartNow():
            delayed = job.waits and job.restarts > 0 and job.reason == "BeginTime"
            ours = job.held and bool(mark.hold)
            return Standing.OPEN if delayed or ours else Standing.DONE
        case Hold():
            return _hold(action, job)
        case Release():
            return _release(action, job)
        case SignalJob():
            return _signal(action, job)
        case Exclude():
            if set(action.nodes) <= set(job.excluded):
                return Standing.DONE
            if not job.waits:
                raise _refused(action, f"job {job.id} is {job.state}, no longer waiting")
            return Standing.OPEN


def _requeue(action: Requeue, job: ClusterJob) -> Standing:
    if job.restarts > action.restarts:
        if not job.waits and set(job.nodes) & set(action.excluded):
            raise _refused(action, f"job {job.id} started again on nodes that it was to leave")
        if job.held and job.mark.hold:
            return Standing.OPEN
        half_way = action.excluded and job.mark.act == action.id and job.mark.pending
        if job.waits and half_way:  # not by its excluded nodes, which not every look has
            raise _refused(action, f"job {job.id} was let go before it was kept off its nodes")
        return Standing.DONE
    if job.state not in ("RUNNING", "SUSPENDED", "STOPPED"):
        raise _refused(action, f"job {job.id} is {job.state}, not running")
    return Standing.OPEN


def _hold(action: Hold, job: ClusterJob) -> Standing:
    if job.held:
        if job.mark.hold == action.id:
            return Standing.DONE
        message = f"job {job.id} is held already, by {job.mark.hold or 'somebody else'}"
        raise WriteError(WriteFault.NOT_OURS, action.id, message)
    if not job.waits:
        raise _refused(action, f"job {job.id} is {job.state}, no longer waiting")
    return Standing.OPEN


def _release(action: Release, job: ClusterJob) -> Standing:
    if not job.held:
        return Standing.DONE
    mark = job.mark
    if mark.hold != action.of and not (mark.act == action.id and mark.pending):
        message = f"job {job.id} is held by {mark.hold or 'somebody else'}, not by {action.of}"
        raise WriteError(WriteFault.NOT_OURS, action.id, message)
    return Standing.OPEN


def _signal(action: SignalJob, job: ClusterJob) -> Standing:
    if job.mark.act == action.id:
        return Standing.UNKNOWN if job.mark.pending else Standing.DONE
    if job.state != "RUNNING":
        raise _refused(action, f"job {job.id} is {job.state}, not running")
    return Standing.OPEN


def _of_node(action: OnNode, seen: ClusterView) -> Standing:
    node = seen.nodes.get(action.node)
    if node is None:
        raise WriteError(WriteFault.UNKNOWN_ID, action.id, f"there is no node {action.node}")
    if isinstance(action, DrainNode):
        return _drain(action, node)
    if isinstance(action, RebootNode):
        return _reboot(action, node)
    if not node.reason and node.in_service:
        return Standing.DONE  # it is back, by us or by somebody else: nothing is left to do
    if node.ours != action.of:
        raise WriteError(WriteFault.NOT_OURS, action.id, _whose(node))
    return Standing.OPEN


def _reboot(action: RebootNode, node: ClusterNode) -> Standing:
    """Done is a reboot once the node is in service again and has booted since it was asked for."""
    if node.in_service and (not node.reason or node.ours == action.id):
        if action.boot and (node.booted or 0) <= action.boot:
            raise _refused(action, f"node {node.name} is in service again without a reboot")
        return Standing.DONE
    if node.ours == action.id:
        if node.reason.endswith(_TIMED_OUT):
            raise _refused(action, f"node {node.name} did not come back: reboot timed out")
        return Standing.UNDER_WAY
    if node.ours != action.of:
        raise WriteError(WriteFault.NOT_OURS, action.id, _whose(node))
    return Standing.OPEN


def _drain(action: DrainNode, node: ClusterNode) -> Standing:
    if node.ours == action.id:
        return Standing.DONE
    if node.reason or not node.in_service:
        raise WriteError(WriteFault.NOT_OURS, action.id, _whose(node))
    return Standing.OPEN


def _whose(node: ClusterNode) -> str:
    state = "+".join((node.state, *node.flags))
    why = f"with the reason {node.reason!r}" if node.reason else "without a reason"
    return f"node {node.name} is {state} {why}"
