"""Slurm's JSON answers as the nouns of a cluster: the same whether a command or slurmrestd gave it.

Understood are the forms of Slurm 22.05 (v0.0.38: plain numbers, states as a word) to 26.05
(v0.0.45: ``{"set", "infinite", "number"}``, states as lists of words). What makes up an entry (its
id or name, and its state) must be there: an answer without it is refused as a whole, never read as
if the entry did not exist.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from forestall.core.model.errors import ParameterError
from forestall.core.model.faults import LookError, LookFault
from forestall.core.model.hostlist import expand
from forestall.slurm import sacct_json
from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterPartition,
    ClusterReservation,
    ClusterRun,
)
from forestall.slurm.nodes import number
from forestall.slurm.records.task_lists import tasks_told

_UNSET: Final = 4_294_967_294
"""From here on a number of 32 bits says unknown or infinite."""
_NOTHING: Final = frozenset({"", "(null)", "n/a", "none", "unknown"})
_REPLACED: Final = "\ufffd"


class Document(NamedTuple):
    """An answer: its JSON object, and how many signs of it were not UTF-8 and were replaced."""

    value: Mapping[str, Any]
    replaced: int

    @property
    def told_at(self) -> int | None:
        """When what it tells last changed, by Slurm's clock; None where that is not told."""
        return time_of(self.value.get("last_update"))

    @property
    def version(self) -> str:
        """Slurm's version, "" where it is not told."""
        meta = self.value.get("meta")
        slurm = (meta.get("slurm") or meta.get("Slurm")) if isinstance(meta, dict) else None
        return text_of(slurm.get("release")) if isinstance(slurm, dict) else ""


def document(raw: bytes, what: str) -> Document:
    """Return an answer as JSON.

    Parameters
    ----------
    what : what was asked for, as errors name it

    Raises LookError where it is cut short, no JSON object, or tells of errors.
    """
    text, replaced = decoded(raw)
    try:
        value = json.loads(text)
    except ValueError as error:
        cut = not text.rstrip().endswith("}")
        fault = LookFault.CUT if cut else LookFault.UNREADABLE
        raise LookError(fault, what, f"the answer is not JSON, or cut short ({error})") from None
    except RecursionError:
        raise LookError(LookFault.UNREADABLE, what, "the answer is nested too deeply") from None
    if not isinstance(value, dict):
        raise LookError(LookFault.UNREADABLE, what, "the answer is JSON, but not an object")
    return Document(value, replaced)


def decoded(raw: bytes) -> tuple[str, int]:
    """Return bytes as text, and how many replacement characters that took."""
    text = raw.decode("utf-8", errors="replace")
    if _REPLACED not in text:
        return text, 0
    return text, text.count(_REPLACED) - raw.count(_REPLACED.encode())


def complaints(value: Mapping[str, Any]) -> str:
    """Return what an answer complains of, "" where it does not."""
    errors = value.get("errors")
    if not errors:
        return ""
    said = []
    for one in errors if isinstance(errors, list) else [errors]:
        told = one if isinstance(one, dict) else {"error": str(one)}
        said.append(text_of(told.get("description")) + " " + text_of(told.get("error")))
    return "; ".join(" ".join(part.split()) for part in said)[:300] or "an error without a message"


def entries(value: Mapping[str, Any], name: str, what: str) -> list[Any]:
    """Return a list of an answer; LookError where it is not there: an answer without a queue is no
    empty queue."""
    found = value.get(name)
    if not isinstance(found, list):
        raise LookError(LookFault.UNREADABLE, what, f"the answer has no list {name!r}")
    return found


def jobs_of(value: Mapping[str, Any]) -> list[ClusterJob]:
    """Return the jobs of an answer of squeue or ``/jobs``; LookError where one is no job."""
    return [job_of(one) for one in entries(value, "jobs", "queue")]


def nodes_of(value: Mapping[str, Any]) -> list[ClusterNode]:
    """Return the nodes of an answer of scontrol, sinfo or ``/nodes``; LookError as above."""
    return [node_of(one) for one in entries(value, "nodes", "nodes")]


def reservations_of(value: Mapping[str, Any]) -> list[ClusterReservation]:
    """Return the reservations of an answer of ``/reservations``; LookError as above."""
    return [_reservation(one) for one in entries(value, "reservations", "reservations")]


def runs_of(value: Mapping[str, Any]) -> list[ClusterRun]:
    """Return the runs of an answer of ``/slurmdb/.../jobs``; LookError as above."""
    return [_run(one) for one in entries(value, "jobs", "accounting")]


def partitions_of(value: Mapping[str, Any]) -> list[ClusterPartition]:
    """Return the partitions of an answer of ``/partitions``; LookError as above. From 23.02 to
    24.11 it says of none that it is the default; before 23.02 it tells no limits of time."""
    found = entries(value, "partitions", "partitions")
    return [_partition(one) for one in found if isinstance(one, dict)]


def _partition(one: Mapping[str, Any]) -> ClusterPartition:
    most, least = one.get("maximums") or {}, one.get("minimums") or {}
    state = states_of((one.get("partition") or {}).get("state") or one.get("state"))
    longest = number(most.get("time"))
    nodes, fewest = number(most.get("nodes")), number(least.get("nodes"))
    return ClusterPartition(
        text_of(one.get("name")),
        "DEFAULT" in states_of(one.get("flags")),
        not state or "UP" in state,
        longest * 60 if longest is not None and 0 < longest < _UNSET else None,
        nodes if nodes is not None and 0 < nodes < _UNSET else None,
        fewest if fewest is not None and fewest > 1 else None,
    )


def job_of(one: Any) -> ClusterJob:
    """Return an entry of a queue as a job; LookError where it is none."""
    identity = number(one.get("job_id")) if isinstance(one, dict) else None
    state = states_of(one.get("job_state")) if isinstance(one, dict) else ()
    if identity is None or identity <= 0 or not state:
        raise LookError(LookFault.UNREADABLE, "queue", "an entry is not a job: no id or no state")
    base, flags = state[0], state[1:]
    limit = number(one.get("time_limit"))
    at_once = max(number(one.get("array_max_tasks")) or 0, 0)
    tasks = tasks_told(text_of(one.get("array_task_string")), at_once)
    return ClusterJob(
        id=identity,
        user=text_of(one.get("user_name")) or str(number(one.get("user_id")) or ""),
        name=text_of(one.get("name"), bare=False),
        account=text_of(one.get("account")),
        partition=text_of(one.get("partition")),
        qos=text_of(one.get("qos")),
        state=base,
        flags=flags,
        reason=text_of(one.get("state_reason")),
        submit=time_of(one.get("submit_time")),
        eligible=time_of(one.get("eligible_time")),
        start=time_of(one.get("start_time")),
        end=time_of(one.get("end_time")),
        limit=None if limit is None or limit >= _UNSET else limit * 60,
        node_count=max(number(one.get("node_count")) or 0, 0),
        nodes=hosts(text_of(one.get("nodes")), "queue"),
        excluded=hosts(text_of(one.get("excluded_nodes")), "queue"),
        features=text_of(one.get("features")),
        reservation=text_of(one.get("resv_name")),
        priority=_priority(one),
        restarts=max(number(one.get("restart_cnt")) or 0, 0),
        array=max(number(one.get("array_job_id")) or 0, 0),
        comment=_comment(one.get("comment"), "job"),
        note=text_of(one.get("admin_comment"), bare=False),
        tasks=1 if tasks is None else max(len(tasks), 1),
        at_once=at_once if tasks is None else tasks.at_once,
        cut=tasks is not None and tasks.cut,
        het=max(number(one.get("het_job_id")) or 0, 0),
    )


def _priority(one: Mapping[str, Any]) -> int:
    """Return the priority; 0 only for a job that is held."""
    told = number(one.get("priority"))
    return 0 if one.get("hold") is True else 1 if told is None else told


def node_of(one: Any) -> ClusterNode:
    """Return an entry of a list of nodes as a node; LookError where it is none."""
    name = one.get("name") if isinstance(one, dict) else None
    state = states_of(one.get("state"), one.get("state_flags")) if isinstance(one, dict) else ()
    if not isinstance(name, str) or not name or not state:
        raise LookError(
            LookFault.UNREADABLE, "nodes", "an entry is not a node: no name or no state"
        )
    return ClusterNode(
        name=name,
        state=state[0],
        flags=state[1:],
        reason=text_of(one.get("reason"), bare=False),
        set_by=text_of(one.get("reason_set_by_user")),
        set_at=time_of(one.get("reason_changed_at")),
        booted=time_of(one.get("boot_time")),
        answered=time_of(one.get("slurmd_start_time")),
        cpus=number(one.get("cpus")) or 0,
        memory_mb=number(one.get("real_memory")) or 0,
        partitions=_words(one.get("partitions")),
        features=_words(one.get("active_features")) or _words(one.get("features")),
        gres=text_of(one.get("gres")),
    )


def _reservation(one: Any) -> ClusterReservation:
    name = one.get("name") if isinstance(one, dict) else None
    start = time_of(one.get("start_time")) if isinstance(one, dict) else None
    end = time_of(one.get("end_time")) if isinstance(one, dict) else None
    if not isinstance(name, str) or not name or start is None or end is None:
        message = "an entry is not a reservation: no name, start or end"
        raise LookError(LookFault.UNREADABLE, "reservations", message)
    return ClusterReservation(
        name=name,
        start=start,
        end=end,
        nodes=hosts(text_of(one.get("node_list")), "reservations"),
        node_count=number(one.get("node_count")) or 0,
        features=text_of(one.get("features")),
        partition=text_of(one.get("partition")),
        flags=_words(one.get("flags")),
        users=_words(one.get("users")),
        accounts=_words(one.get("accounts")),
    )


def _run(one: Any) -> ClusterRun:
    row = sacct_json.row_of(one)
    if row is None:
        raise LookError(LookFault.UNREADABLE, "accounting", "an entry is not a job: it has no id")
    told = dict(zip(sacct_json.COLUMNS, row, strict=True))
    return ClusterRun(
        job=int(told["JobIDRaw"]),
        user=told["User"],
        state=told["State"],
        submit=int(told["Submit"] or 0) or None,
        start=int(told["Start"] or 0) or None,
        end=int(told["End"] or 0) or None,
        nodes=hosts(told["NodeList"], "accounting"),
        comment=_comment(one.get("comment"), "job"),
    )


def states_of(state: Any, flags: Any = None) -> tuple[str, ...]:
    """Return a state and its flags, in capitals: of ``"down"`` with flags beside it, or of a list
    of words."""
    base = state if isinstance(state, list) else [state]
    more = flags if isinstance(flags, list) else []
    return tuple(str(word).upper() for word in (*base, *more) if isinstance(word, str) and word)


def text_of(value: Any, *, bare: bool = True) -> str:
    """Return a text; "" for none. `bare` ones also take Slurm's words for nothing as none."""
    text = value if isinstance(value, str) else ""
    return "" if bare and text.strip().lower() in _NOTHING else text


def time_of(value: Any) -> int | None:
    """Return Unix seconds, None for a time that is not known."""
    told = number(value)
    return None if told is None or told <= 0 or told >= _UNSET else told


def _comment(value: Any, which: str) -> str:
    return text_of(value.get(which) if isinstance(value, dict) else value, bare=False)


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(one) for one in value)
    text = text_of(value)
    return tuple(part for part in text.split(",") if part)


def hosts(text: str, what: str) -> tuple[str, ...]:
    """Return the hosts of a list; LookError where it cannot be read."""
    if not text or text.strip().lower() in _NOTHING or text == "None assigned":
        return ()
    try:
        return _expanded(text)
    except ParameterError as error:
        raise LookError(LookFault.UNREADABLE, what, str(error)) from None


@lru_cache(maxsize=4096)
def _expanded(text: str) -> tuple[str, ...]:
    return expand(text)
