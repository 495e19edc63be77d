"""Slurm's answers in lines as the nouns of a cluster, where it has no JSON or JSON tells less.

Times are Unix seconds (`run.ENVIRONMENT`). Where users may have written a field, fields are kept
apart by a word that is drawn anew for each question (`fence`): no comment and no name can hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from forestall.core.model.faults import LookError, LookFault
from forestall.core.model.units import parse_duration
from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterPartition,
    ClusterReservation,
    ClusterRun,
)
from forestall.slurm.control.documents import hosts, text_of
from forestall.slurm.records.task_lists import tasks_told

JOB_FIELDS: Final = (
    "JobID", "UserName", "Name", "State", "Reason", "SubmitTime", "PriorityLong", "RestartCnt",
    "ArrayJobID", "ArrayTaskID", "HetJobID", "NumNodes", "Comment", "admin_comment",
)  # fmt: skip
"""What `squeue --Format` is asked of single jobs; all versions know these names."""

RUN_FIELDS: Final = (
    "JobIDRaw", "User", "State", "Submit", "Start", "End", "NodeList", "Comment", "ElapsedRaw",
)  # fmt: skip
"""What `sacct` is asked for; the last one is a number, so that a row ends where a line does."""

NO_RESERVATIONS: Final = "No reservations in the system"

_KEY: Final = re.compile(r"(?:^|(?<=\s))([A-Za-z]+)=(\S*)")
_FIRST: Final = re.compile(r"NodeName=(\S+)\s")
_REASON: Final = re.compile(
    r"\sReason=(.*?)(?:\s\[([^\s\[\]@]*)@(\S+)\])?"
    r"(?=\s+(?:Comment|Extra|InstanceId|InstanceType|ReservationName|ResumeAfterTime|Topology)=|\s*$)",
    re.DOTALL,
)
_SECONDS: Final = re.compile(r"\d{1,11}")
_LIMIT: Final = re.compile(r"(?:\d{1,6}-)?\d{1,4}:\d\d:\d\d")


def jobs_of_rows(text: str, fence: str) -> list[ClusterJob]:
    """Return the jobs of `squeue --Format` with `JOB_FIELDS`, each field followed by the fence."""
    rows = _rows(text, fence, len(JOB_FIELDS), "queue", ending=True)
    return [_job(dict(zip(JOB_FIELDS, row, strict=True))) for row in rows]


def runs_of_rows(text: str, fence: str) -> list[ClusterRun]:
    """Return the runs of `sacct` with `RUN_FIELDS`, the fence between fields."""
    rows = _rows(text, fence, len(RUN_FIELDS), "accounting", ending=False)
    return [_run(dict(zip(RUN_FIELDS, row, strict=True))) for row in rows]


def _rows(
    text: str, fence: str, fields: int, what: str, *, ending: bool
) -> Iterator[tuple[str, ...]]:
    """Yield rows. Where the fence only separates, the last field of a row and the first of the
    next stand on both sides of one line's end, and neither holds another."""
    if not text.strip():
        return
    cells = text.split(fence)
    if ending:
        if cells.pop().strip() or len(cells) % fields:
            raise LookError(LookFault.CUT, what, "the last line is cut short")
        for k in range(0, len(cells), fields):
            yield tuple(cell.strip() for cell in cells[k : k + fields])
        return
    if (len(cells) - 1) % (fields - 1) or not text.endswith("\n"):
        raise LookError(LookFault.CUT, what, "the last line is cut short")
    flat = [cells[0]]
    for k, cell in enumerate(cells[1:], 1):
        flat += cell.split("\n", 1) if k % (fields - 1) == 0 else [cell]
    for k in range(0, len(flat) - 1, fields):
        yield tuple(cell.strip() for cell in flat[k : k + fields])


def _job(told: dict[str, str]) -> ClusterJob:
    if not told["JobID"].isdigit() or not told["State"]:
        raise LookError(LookFault.UNREADABLE, "queue", "a line is not a job: no id or no state")
    alone = told["ArrayTaskID"] in ("", "N/A")
    tasks = None if alone or told["ArrayTaskID"].isdigit() else tasks_told(told["ArrayTaskID"], 0)
    return ClusterJob(
        id=int(told["JobID"]), user=told["UserName"], name=told["Name"], account="", partition="",
        qos="", state=told["State"], flags=(), reason=told["Reason"],
        submit=_time(told["SubmitTime"]), eligible=None, start=None, end=None, limit=None,
        node_count=_whole(told["NumNodes"]), nodes=(), excluded=(), features="", reservation="",
        priority=_whole(told["PriorityLong"]), restarts=_whole(told["RestartCnt"]),
        array=0 if alone else _whole(told["ArrayJobID"]), comment=text_of(told["Comment"]),
        note=text_of(told["admin_comment"]), tasks=1 if tasks is None else max(len(tasks), 1),
        at_once=0 if tasks is None else tasks.at_once, cut=tasks is not None and tasks.cut,
        het=_whole(told["HetJobID"]),
    )  # fmt: skip


def _run(told: dict[str, str]) -> ClusterRun:
    if not told["JobIDRaw"].isdigit() or not told["State"]:
        message = "a line is not a run: no id or no state"
        raise LookError(LookFault.UNREADABLE, "accounting", message)
    return ClusterRun(
        job=int(told["JobIDRaw"]),
        user=told["User"],
        state=told["State"],
        submit=_time(told["Submit"]),
        start=_time(told["Start"]),
        end=_time(told["End"]),
        nodes=hosts(told["NodeList"], "accounting"),
        comment=told["Comment"],
    )


def _lines(text: str, what: str) -> list[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise LookError(LookFault.CUT, what, "the answer is empty")
    if not text.endswith("\n"):
        raise LookError(LookFault.CUT, what, "the last line is cut short")
    return lines


def nodes_of_lines(text: str) -> list[ClusterNode]:
    """Return the nodes of `scontrol -o show node`; LookError where a line is no node."""
    return [_node(line) for line in _lines(text, "nodes")]


def _node(line: str) -> ClusterNode:
    first = _FIRST.match(line)
    told = _told(line)
    words = [word for word in told.get("State", "").split("+") if word]
    if first is None or not words:
        raise LookError(LookFault.UNREADABLE, "nodes", "a line is not a node: no name or no state")
    silent = words[0].endswith("*")  # as 20.11 says it
    state = words[0].rstrip("*$~#!%@^-+")
    reason = _REASON.search(line)
    return ClusterNode(
        name=first[1],
        state=state,
        flags=(*words[1:], "NOT_RESPONDING") if silent else tuple(words[1:]),
        reason=text_of(reason[1].strip()) if reason else "",
        set_by=(reason[2] or "") if reason else "",
        set_at=_time(reason[3] or "") if reason else None,
        booted=_time(told.get("BootTime", "")),
        answered=_time(told.get("SlurmdStartTime", "")),
        cpus=_whole(told.get("CPUTot", "")),
        memory_mb=_whole(told.get("RealMemory", "")),
        partitions=_listed(told.get("Partitions", "")),
        features=_listed(told.get("ActiveFeatures", "")),
        gres=text_of(told.get("Gres", "")),
    )


def reservations_of_lines(text: str) -> list[ClusterReservation]:
    """Return the reservations of `scontrol -o show reservation`.

    LookError where a line is no reservation, and for an answer that is empty: where there are none,
    Slurm says so.
    """
    if text.strip() == NO_RESERVATIONS:
        return []
    return [_reservation(line) for line in _lines(text, "reservations")]


def partitions_of_lines(text: str) -> list[ClusterPartition]:
    """Return the partitions of `scontrol -o show partition`. LookError where a line is none."""
    return [_partition(line) for line in _lines(text, "partitions")]


def _partition(line: str) -> ClusterPartition:
    told = _told(line)
    if "PartitionName" not in told:
        raise LookError(LookFault.UNREADABLE, "partitions", "a line is not a partition: no name")
    longest = told.get("MaxTime", "")
    least = _whole(told.get("MinNodes", ""))
    return ClusterPartition(
        told["PartitionName"],
        told.get("Default") == "YES",
        told.get("State", "UP") == "UP",
        parse_duration(longest, plain=True) if _LIMIT.fullmatch(longest) else None,
        _whole(told.get("MaxNodes", "")) or None,
        least if least > 1 else None,
        text_of(told.get("QoS", "")),
    )


def _reservation(line: str) -> ClusterReservation:
    told = _told(line)
    name, start = told.get("ReservationName", ""), _time(told.get("StartTime", ""))
    end = _time(told.get("EndTime", ""))
    if not name or start is None or end is None:
        message = "a line is not a reservation: no name, start or end"
        raise LookError(LookFault.UNREADABLE, "reservations", message)
    return ClusterReservation(
        name=name,
        start=start,
        end=end,
        nodes=hosts(told.get("Nodes", ""), "reservations"),
        node_count=_whole(told.get("NodeCnt", "")),
        features=text_of(told.get("Features", "")),
        partition=text_of(told.get("PartitionName", "")),
        flags=_listed(told.get("Flags", "")),
        users=_listed(told.get("Users", "")),
        accounts=_listed(told.get("Accounts", "")),
    )


def _told(line: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for match in _KEY.finditer(line):  # the first counts: free text stands at the end
        told.setdefault(match[1], match[2])
    return told


def _time(text: str) -> int | None:
    return int(text) or None if _SECONDS.fullmatch(text) else None


def _whole(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for part in text_of(text).split(",") if part)
