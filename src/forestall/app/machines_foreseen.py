"""The predictions file of a fleet: when nodes are expected to fail, written by anyone.

A line each, ``time,node`` under that header, time in seconds since 1970 or as a date. Of several
lines about a node the last one counts; one without a time takes back what was said before. Whoever
predicts only ever adds lines, so that they may be read at any moment.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from forestall.model.errors import ParameterError, TraceError
from forestall.model.units import MAX_SECONDS, parse_time

HEADER = "time,node"


def parse_moment(text: str, name: str = "time") -> int:
    """Return the seconds since 1970 of a date, or as they stand. Raises ParameterError."""
    time = parse_time(text, name)
    if not 0 <= time < MAX_SECONDS:
        raise ParameterError(name, text, "a time from 1970 to 4147")
    return time


def read_foreseen(path: Path, nodes: Collection[str]) -> dict[str, int]:
    """Return the predicted times by node, s since 1970. Raises TraceError with file and line.

    A last line that is not ended yet is not read yet.
    """
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    foreseen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        row = [cell.strip() for cell in line.strip().split(",")]
        if row == [""] or line.startswith("#") or (number == 1 and ",".join(row) == HEADER):
            continue
        if len(row) != 2:
            raise TraceError(path, f"{line.strip()!r} is not of the form {HEADER}", line=number)
        when, node = row
        if node not in nodes:
            known = ", ".join(nodes)
            raise TraceError(path, f"{node!r} is no node of the fleet: {known}", line=number)
        if not when:
            foreseen.pop(node, None)
            continue
        try:
            foreseen[node] = parse_moment(when)
        except ParameterError as error:
            text = f"{when!r} is not allowed; expected {error.allowed}"
            raise TraceError(path, text, line=number, field="time") from None
    return foreseen


def add_foreseen(path: Path, node: str, time: int | None) -> None:
    """Add what is foreseen of a node; None takes it back. Raises TraceError."""
    line = f"{'' if time is None else time},{node}\n"
    try:
        with path.open("a+b") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                line = f"{HEADER}\n{line}"
            elif os.pread(file.fileno(), 1, size - 1) != b"\n":
                line = f"\n{line}"
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise TraceError(path, f"cannot be written: {error.strerror or error}") from None
