"""Actions as Slurm's commands: lists of words, never through a shell.

Nothing that a user wrote can become an option or a keyword: it stands behind ``--option=`` or
``Key=`` within one word, names are checked by the actions themselves, and free text is made one
line of printable signs (`marks.one_line`). Times are given as ``uts`` and Unix seconds, which no
time zone changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from forestall.core.model.hostlist import compress
from forestall.core.model.marks import commented, noted, reason_of, reservation_name, tagged
from forestall.slurm.cluster.actions import (
    RESERVATION_FLAGS,
    TEST_FLAGS,
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Requeue,
    Reserve,
    ReserveNode,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
)
from forestall.slurm.cluster.nouns import ClusterJob

EXPEDITED: Final = (25, 11)
"""The first version that knows ``--requeue=expedite``."""

Words = tuple[str, ...]
_NOTE: Final = "AdminComment="


class Order(NamedTuple):
    """A command, and what it reads."""

    words: Words
    given: bytes = b""


def submit(action: Submit) -> Order:
    """Return the command that submits a job of whoever runs it; its script is read from the
    standard input."""
    options = {
        "job-name": action.name,
        "comment": tagged(action.id, action.words),
        "nodes": str(action.nodes),
        "time": str(minutes(action.time)),
        "partition": action.partition,
        "account": action.account,
        "qos": action.qos,
        "constraint": action.features,
        "reservation": action.reservation,
        "exclude": compress(action.excluded) if action.excluded else "",
        "begin": "" if action.begin is None else f"uts{action.begin}",
        "signal": action.signal,
        "chdir": action.directory,
        "output": action.output,
    }
    requeue = {"no": "--no-requeue", "yes": "--requeue", "expedite": "--requeue=expedite"}
    words = (f"--{name}={value}" for name, value in options.items() if value)
    return Order(("sbatch", "--parsable", *words, requeue[action.requeue]), action.script.encode())


def reserve(action: Reserve) -> Order:
    """Return the command that makes a reservation."""
    return _scontrol(
        ("create", "reservation"),
        ReservationName=reservation_name(action.id),
        StartTime=f"uts{action.start}",
        Duration=str(minutes(action.time)),
        NodeCnt=str(action.nodes),
        Users=",".join(action.users),
        Accounts=",".join(action.accounts),
        PartitionName=action.partition,
        Features=action.features,
        Flags=",".join(RESERVATION_FLAGS),
    )


def reserve_node(action: ReserveNode) -> Order:
    """Return the command that keeps a node for a test."""
    return _scontrol(
        ("create", "reservation"),
        ReservationName=reservation_name(action.id),
        StartTime=f"uts{action.start}",
        Duration=str(minutes(action.time)),
        Nodes=action.node,
        Users=",".join(action.users),
        Flags=",".join(TEST_FLAGS),
    )


def delete_reservation(identity: str) -> Order:
    """Return the command that deletes the reservation which an action made."""
    return _scontrol(("delete",), ReservationName=reservation_name(identity))


def requeue(action: Requeue) -> Order:
    """Return the command that queues a job again."""
    return Order(("scontrol", "requeue", str(action.job)))


def requeue_held(action: Requeue) -> Order:
    """Return the command that queues a job again and holds it."""
    return Order(("scontrol", "requeuehold", str(action.job)))


def start_now(action: StartNow) -> Order:
    """Return the command that takes away the delay of a job that was queued again."""
    return _scontrol(("update",), JobId=str(action.job), StartTime="now")


def hold(action: Hold, job: ClusterJob) -> Order:
    """Return the command that holds a job and says so in its note, in one step."""
    note = noted(job.note, action.id, hold=action.id)
    return _scontrol(("update",), JobId=str(action.job), Priority="0", AdminComment=note)


def release(job: int) -> Order:
    """Return the command that lets a held job go."""
    return Order(("scontrol", "release", str(job)))


def note(job: int, text: str) -> Order:
    """Return the command that sets a job's note."""
    return Order(("scontrol", "update", f"JobId={job}", f"{_NOTE}{text}"))


def in_comment(order: Order, job: ClusterJob) -> Order | None:
    """Return a command that sets a job's note as one that an operator may give: what the note says
    of ours stands in the comment then. None for other commands, and for a job whose note says
    something of ours already."""
    if job.note != commented(job.note, ""):
        return None
    for k, word in enumerate(order.words):
        if word.startswith(_NOTE):
            text = f"Comment={commented(job.comment, word[len(_NOTE) :])}"
            return Order((*order.words[:k], text, *order.words[k + 1 :]), order.given)
    return None


def signal(action: SignalJob) -> Order:
    """Return the command that sends a signal to a job's batch script."""
    return Order(("scancel", "--batch", f"--signal={action.signal}", str(action.job)))


def exclude(
    action: Exclude | Requeue, job: ClusterJob, avoided: Iterable[str], *, pending: bool = False
) -> Order:
    """Return the command that keeps a job away from nodes; `avoided` are those it avoids now."""
    more = action.nodes if isinstance(action, Exclude) else action.excluded
    nodes = compress([*avoided, *more])
    note = noted(job.note, action.id, pending=pending)
    return _scontrol(("update",), JobId=str(action.job), ExcNodeList=nodes, AdminComment=note)


def drain(action: DrainNode) -> Order:
    """Return the command that drains a node."""
    reason = reason_of(action.id, action.words)
    return _scontrol(("update",), NodeName=action.node, State="DRAIN", Reason=reason)


def resume(action: ResumeNode) -> Order:
    """Return the command that brings a node back."""
    return _scontrol(("update",), NodeName=action.node, State="RESUME")


def reboot(action: RebootNode) -> Order:
    """Return the command that reboots a node once it is idle."""
    reason = reason_of(action.id, action.words)
    words = ("reboot", "ASAP", "nextstate=RESUME", f"reason={reason}", action.node)
    return Order(("scontrol", *words))


def minutes(seconds: int) -> int:
    """Return seconds as whole minutes, rounded up."""
    return -(-seconds // 60)


def _scontrol(what: Words, **keys: str) -> Order:
    return Order(("scontrol", *what, *(f"{key}={value}" for key, value in keys.items() if value)))
