"""Actions as requests to slurmrestd, and from which of its versions on each can be made.

Forms are those of SchedMD's OpenAPI descriptions: numbers are plain in v0.0.38 and
``{"set": true, "number": 7}`` from v0.0.39 on, lists of variables and of nodes likewise.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from forestall.core.model.marks import noted, reason_of, reservation_name, tagged
from forestall.slurm.cluster.actions import (
    RESERVATION_FLAGS,
    Action,
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ReserveNode,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.nouns import ClusterJob
from forestall.slurm.control.orders import minutes

VERSIONS: Final = tuple(range(45, 37, -1))
"""Versions of the interface that are understood, the newest first: v0.0.45 is Slurm 26.05, v0.0.38
is 22.05."""

SINCE: Final[dict[type[Any], int]] = {
    Submit: 38, SignalJob: 40, Hold: 40, Release: 40, StartNow: 40, Exclude: 40, DrainNode: 40,
    ResumeNode: 40, Unreserve: 42, Reserve: 43, Requeue: 45,
}  # fmt: skip
"""From which version on an action can be asked for; `RebootNode` cannot: use the command."""

_SLURM: Final = {40: "23.11", 42: "24.11", 43: "25.05", 45: "26.05"}
_NUMBERED: Final = 39
_PURGED: Final = 300
"""Seconds after which a reservation that no job uses is gone, as the command has it."""


class Request(NamedTuple):
    """A request; the path stands behind ``/slurm/v0.0.NN/``."""

    method: str
    path: str
    body: dict[str, Any] | None = None


def lacking(action: Action, version: int) -> str:
    """Return why an action cannot be asked for in this version, "" where it can."""
    if isinstance(action, RebootNode):
        return "slurmrestd cannot reboot nodes; scontrol can"
    if isinstance(action, ReserveNode):
        return "slurmrestd cannot reserve a node for a test; use Slurm's commands"
    if isinstance(action, Submit) and action.requeue == "expedite":
        return "slurmrestd has no expedited requeue; sbatch has it since Slurm 25.11"
    needed = SINCE[type(action)]
    if isinstance(action, Submit) and (action.excluded or action.begin is not None):
        needed = 40
    if version >= needed:
        return ""
    return f"needs slurmrestd v0.0.{needed} (Slurm {_SLURM[needed]}); this is v0.0.{version}"


def submit(action: Submit, version: int) -> Request:
    """Return the request that submits a job."""
    job: dict[str, Any] = {
        "name": action.name,
        "comment": tagged(action.id, action.words),
        "time_limit": _number(minutes(action.time), version),
        "current_working_directory": action.directory or "/tmp",
        "requeue": action.requeue != "no",
        "partition": action.partition,
        "account": action.account,
        "qos": action.qos,
        "constraints": action.features,
        "reservation": action.reservation,
        "standard_output": action.output,
    }
    path = "/usr/local/bin:/usr/bin:/bin"
    if version < _NUMBERED:
        job |= {"nodes": action.nodes, "environment": {"PATH": path}, "signal": action.signal}
    else:
        job |= {"nodes": str(action.nodes), "environment": [f"PATH={path}"]}
        job |= _signalled(action.signal)
    if action.excluded:
        job["excluded_nodes"] = list(action.excluded)
    if action.begin is not None:
        job["begin_time"] = _number(action.begin, version)
    kept = {key: value for key, value in job.items() if value != ""}
    return Request("POST", "job/submit", {"script": action.script, "job": kept})


def _signalled(text: str) -> dict[str, Any]:
    """Return ``B:USR1@300`` as the fields of newer versions."""
    if not text:
        return {}
    flags, _, rest = text.rpartition(":")
    name, _, early = rest.partition("@")
    fields: dict[str, Any] = {"kill_warning_signal": name}
    if early:
        fields["kill_warning_delay"] = {"set": True, "number": int(early)}
    known = (("B", "BATCH_JOB"), ("R", "RESERVATION_OVERLAP"))
    found = [word for letter, word in known if letter in flags]
    return fields | ({"kill_warning_flags": found} if found else {})


def reserve(action: Reserve, version: int) -> Request:
    """Return the request that makes a reservation."""
    end = action.start + 60 * minutes(action.time)
    body: dict[str, Any] = {
        "name": reservation_name(action.id),
        "start_time": _number(action.start, version),
        "end_time": _number(end, version),
        "node_count": _number(action.nodes, version),
        "users": list(action.users),
        "accounts": list(action.accounts),
        "partition": action.partition,
        "features": action.features,
        "flags": [_FLAG.get(flag, flag) for flag in RESERVATION_FLAGS],
        "purge_completed": {"time": _number(_PURGED, version)},
    }
    return Request("POST", "reservation", {key: one for key, one in body.items() if one})


_FLAG: Final = {"NO_HOLD_JOBS_AFTER": "NO_HOLD_JOBS_AFTER_END"}


def delete_reservation(identity: str) -> Request:
    """Return the request that deletes the reservation which an action made."""
    return Request("DELETE", f"reservation/{reservation_name(identity)}")


def requeue(action: Requeue) -> Request:
    """Return the request that queues a job again; it is a GET, though it acts."""
    return Request("GET", f"job/{action.job}/requeue")


def hold(action: Hold, note: str) -> Request:
    """Return the request that holds a job and says so in its note, in one step."""
    body = {"hold": True, "admin_comment": noted(note, action.id, hold=action.id)}
    return Request("POST", f"job/{action.job}", body)


def hold_again(job: int) -> Request:
    """Return the request that holds a job whose note says so already."""
    return Request("POST", f"job/{job}", {"hold": True})


def release(job: int) -> Request:
    """Return the request that lets a held job go."""
    return Request("POST", f"job/{job}", {"hold": False})


def note(job: int, text: str) -> Request:
    """Return the request that sets a job's note."""
    return Request("POST", f"job/{job}", {"admin_comment": text})


def start_now(action: StartNow, now: int, version: int) -> Request:
    """Return the request that takes away the delay of a job that was queued again."""
    return Request("POST", f"job/{action.job}", {"begin_time": _number(now, version)})


def signal(action: SignalJob) -> Request:
    """Return the request that sends a signal to a job's batch script."""
    query = urlencode({"signal": action.signal, "flags": "BATCH_JOB"})
    return Request("DELETE", f"job/{action.job}?{query}")


def exclude(action: Exclude | Requeue, job: ClusterJob, *, pending: bool = False) -> Request:
    """Return the request that keeps a job away from nodes besides those it avoids now."""
    more = action.nodes if isinstance(action, Exclude) else action.excluded
    nodes = list(dict.fromkeys((*job.excluded, *more)))
    body = {"excluded_nodes": nodes, "admin_comment": noted(job.note, action.id, pending=pending)}
    return Request("POST", f"job/{action.job}", body)


def drain(action: DrainNode) -> Request:
    """Return the request that drains a node."""
    body = {"state": ["DRAIN"], "reason": reason_of(action.id, action.words)}
    return Request("POST", f"node/{quote(action.node, safe='')}", body)


def resume(action: ResumeNode) -> Request:
    """Return the request that brings a node back."""
    return Request("POST", f"node/{quote(action.node, safe='')}", {"state": ["RESUME"]})


def _number(value: int, version: int) -> Any:
    return value if version < _NUMBERED else {"set": True, "infinite": False, "number": value}
