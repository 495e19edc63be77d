"""The answer of ``sacct --json`` as the columns that its text would have, job by job.

Understood are the forms of Slurm 21.08 to 25.x: numbers as such or as
``{"set", "infinite", "number"}``, states as a word or a list of words, names in either spelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.documents import json_of
from forestall.core.files.packed import Noted, chunks_of_lines
from forestall.core.model.errors import TraceError
from forestall.slurm.notes import OddNotes
from forestall.slurm.sacct_text import Piece

with lazily():
    import polars as pl

ROWS: Final = 50_000
COLUMNS: Final = (
    "JobIDRaw", "JobID", "Cluster", "User", "Account", "Partition", "QOS", "State", "ExitCode",
    "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "TimelimitRaw", "AllocNodes",
    "AllocTRES", "ReqTRES", "NodeList", "Reason", "FailedNode", "Restarts", "JobName", "SubmitLine",
)  # fmt: skip
_FLAGS: Final = (
    "COMPLETING", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
    "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT",
)  # fmt: skip
"""Flags beside a state that text names instead of it, in Slurm's order."""
_UNKNOWN: Final = 4_294_967_294
"""From here on a number of 32 bits says unknown or infinite."""


def is_json(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is JSON."""
    return head.lstrip()[:1] in (b"{", b"[")


def looks_like(head: bytes) -> bool:
    """Return whether a file that begins with these bytes may be what ``sacct --json`` wrote."""
    return is_json(head) and (b'"jobs"' in head or b"openapi" in head or b"slurmdb" in head)


def pieces(
    path: str | Path, notes: OddNotes, source: str = "", rows: int = ROWS
) -> Iterator[Piece]:
    """Yield the jobs of a file as columns of text, some at a time.

    Raises TraceError where the file cannot be read or has no list of jobs.
    """
    name = source or str(path)
    waiting: list[tuple[str, ...]] = []
    first = 1
    odd: list[int] = []
    for number, job in enumerate(_jobs(path, notes, name), 1):
        row = row_of(job)
        if row is None:
            odd.append(number)
            row = ("",) * len(COLUMNS)
        waiting.append(row)
        if len(waiting) == rows:
            yield _piece(waiting, first, name)
            first, waiting = number + 1, []
    notes.lines("no_job", "entries that are not jobs", "kept", name, odd)
    if waiting:
        yield _piece(waiting, first, name)


def _piece(rows: list[tuple[str, ...]], first: int, source: str) -> Piece:
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    frame = pl.DataFrame(columns, schema=dict.fromkeys(COLUMNS, pl.String))
    frame = frame.select(c for c in COLUMNS if c in ("JobIDRaw", "State", "Start", "End")
                         or bool((frame[c] != "").any()))  # fmt: skip
    return Piece(frame, np.arange(first, first + len(rows), dtype=np.int64), source)


def _jobs(path: str | Path, notes: OddNotes, source: str) -> Iterator[Any]:
    """Yield the entries of the list ``jobs``; only a part of the text is in memory at a time."""
    decoder = json.JSONDecoder()
    text = _Text(path, notes.spoilt(source))
    if not text.seek('"jobs"') or not text.seek("["):
        raise TraceError(source, 'has no list "jobs"; expected the output of sacct --json')
    while True:
        text.skip()
        if text.rest.startswith("]"):
            return
        try:
            job, end = decoder.raw_decode(text.buffer, text.at)
            if "\\u" in text.buffer[text.at : end]:
                job = json_of(text.buffer[text.at : end])
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and text.more():
                continue
            said = "lists of jobs that are cut off or damaged"
            message = "is cut off or not JSON"
            notes.lines("cut_off", said, "left out", source, [text.line()], message)
            return
        if end == len(text.buffer) and text.more():
            continue  # a number may go on
        text.at = end
        yield job


class _Text:
    """A text that is read as far as needed; `at` is the place, what lies before it is dropped."""

    def __init__(self, path: str | Path, noted: Noted) -> None:
        self._chunks = chunks_of_lines(path, noted=noted)
        self._lines = 1
        self.buffer = ""
        self.at = 0

    @property
    def rest(self) -> str:
        return self.buffer[self.at : self.at + 1]

    def more(self) -> bool:
        """Read on; return whether there was anything."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self._lines += self.buffer.count("\n", 0, self.at)
        self.buffer = self.buffer[self.at :] + chunk.decode()
        self.at = 0
        return True

    def seek(self, word: str) -> bool:
        """Go behind the next place where a word stands; return whether there is one."""
        while True:
            place = self.buffer.find(word, self.at)
            if place >= 0:
                self.at = place + len(word)
                return True
            self.at = max(self.at, len(self.buffer) - len(word))
            if not self.more():
                return False

    def skip(self) -> None:
        """Go over blanks and commas."""
        while True:
            while self.at < len(self.buffer) and self.buffer[self.at] in " \t\r\n,":
                self.at += 1
            if self.at < len(self.buffer) or not self.more():
                return

    def line(self) -> int:
        """Return the line of the place."""
        return self._lines + self.buffer.count("\n", 0, self.at)


def row_of(job: Any) -> tuple[str, ...] | None:
    """Return the fields of a job as in `COLUMNS`; None where it is no job."""
    if not isinstance(job, dict) or _number(job.get("job_id")) is None:
        return None
    time, state = _dict(job, "time"), _dict(job, "state")
    tres = _dict(job, "tres")
    suspended = _number(time.get("suspended"))
    fields = {
        "JobIDRaw": str(_number(job["job_id"])),
        "JobID": _id(job),
        "Cluster": _word(job.get("cluster")),
        "User": _word(job.get("user")) or _word(_dict(job, "association").get("user")),
        "Account": _word(job.get("account")),
        "Partition": _word(job.get("partition")),
        "QOS": _word(job.get("qos")),
        "State": _state(state.get("current"), job.get("kill_request_user")),
        "ExitCode": _exit(job.get("exit_code"), state.get("current")),
        "Submit": _time(time.get("submission")),
        "Eligible": _time(time.get("eligible")),
        "Start": _time(time.get("start")),
        "End": _time(time.get("end")),
        "ElapsedRaw": _text(_number(time.get("elapsed"))),
        "Suspended": _text(suspended),
        "TimelimitRaw": _limit(time.get("limit")),
        "AllocNodes": _text(_number(job.get("allocation_nodes"))),
        "AllocTRES": _tres(tres.get("allocated")),
        "ReqTRES": _tres(tres.get("requested")),
        "NodeList": _word(job.get("nodes")),
        "Reason": _word(state.get("reason")),
        "FailedNode": _word(job.get("failed_node")),
        "Restarts": _text(_number(job.get("restart_cnt"))),
        "JobName": _word(job.get("name")),
        "SubmitLine": _word(job.get("submit_line")),
    }
    return tuple(fields[name] for name in COLUMNS)


def _id(job: dict[str, Any]) -> str:
    """Return the id as text has it: ``12_3`` for a task, ``12_[0x1f%2]`` for tasks of an array that
    wait (its list is bits), ``12+1`` for a component of a heterogeneous job."""
    array, het = _dict(job, "array"), _dict(job, "het")
    lead, tasks = _number(array.get("job_id")), _word(array.get("task"))
    if lead:
        task = _number(array.get("task_id"))
        if task is not None and task < _UNKNOWN:
            return f"{lead}_{task}"
        running = _dict(_dict(_dict(array, "limits"), "max"), "running")
        limit = _number(running.get("tasks"))
        return f"{lead}_[{tasks}{f'%{limit}' * bool(limit and '%' not in tasks)}]" if tasks else ""
    lead, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    return f"{lead}+{offset or 0}" if lead else ""


def _dict(job: dict[str, Any], name: str) -> dict[str, Any]:
    value = job.get(name)
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return " ".join(value.split("\n")) if isinstance(value, str) else ""


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _number(value: Any) -> int | None:
    """Return a whole number in either form, None where it is not set or infinite."""
    if isinstance(value, dict):
        if not value.get("set", True) or value.get("infinite", False):
            return None
        value = value.get("number")
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return int(value)


def _time(value: Any) -> str:
    number = _number(value)
    return "" if number is None or number >= _UNKNOWN else str(number)


def _limit(value: Any) -> str:
    if isinstance(value, dict) and value.get("infinite"):
        return "UNLIMITED"
    number = _number(value)
    if number is None:
        return ""
    return {_UNKNOWN: "Partition_Limit", _UNKNOWN + 1: "UNLIMITED"}.get(number, str(number))


def _state(current: Any, by: Any) -> str:
    """Return the state as text would say it: of a list the flag that text names instead of the
    state (``["PENDING", "REQUEUED"]`` is REQUEUED), else its first word."""
    words = [one for one in (current if isinstance(current, list) else [current]) if _word(one)]
    word = next((flag for flag in _FLAGS if flag in words[1:]), words[0] if words else "")
    return f"{word} by {by}" if word == "CANCELLED" and isinstance(by, str) and by else word


def _exit(value: Any, state: Any) -> str:
    """Return ``code:signal``; "" for a failed job that ended with neither, as Slurm 22.05 says of
    all that ended with a code."""
    if not isinstance(value, dict):
        return ""
    signal = _dict(value, "signal")
    number = _number(signal.get("id", signal.get("signal_id"))) or 0
    code = _number(value.get("return_code")) or 0
    return "" if not (code or number) and _state(state, None) == "FAILED" else f"{code}:{number}"


def _tres(entries: Any) -> str:
    """Return a list of trackable resources as text has it; what is not counted is left out."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        count = _number(entry.get("count"))
        if count is None:
            continue
        kind, name = _word(entry.get("type")), _word(entry.get("name"))
        found.append(f"{kind}/{name}={count}" if name else f"{kind}={count}")
    return ",".join(found)
