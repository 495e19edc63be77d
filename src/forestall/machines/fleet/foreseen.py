"""The predictions file of a fleet: when nodes are expected to fail, written by anyone.

A line each, ``time,node`` under that header, time in seconds since 1970 or as a date; two more
cells, ``early,late``, tell its spread: with 80 % the failure comes between these. Of several
lines about a node the last one counts; one without a time takes back what was said before. The
words ``drain`` and ``undrain`` instead of a time say that a node is to be kept empty, and that
it is not any more. Whoever predicts only ever adds lines, so that they may be read at any moment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MAX_SECONDS, parse_time
from forestall.machines.acting.ledger import append_line, skipped_text

HEADER: Final = "time,node"
DRAIN: Final = "drain"
UNDRAIN: Final = "undrain"


@dataclass(frozen=True)
class ForeseenFile:
    """What the file says.

    Attributes
    ----------
    failures : predicted times by node, s since 1970
    drained : nodes that are to be kept empty
    spreads : early and late, by node, s since 1970, of those that have them
    trouble : what of the file could not be used, in one line; empty where all could
    """

    failures: Mapping[str, int] = field(default_factory=dict)
    drained: frozenset[str] = frozenset()
    trouble: str = ""
    spreads: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def parse_moment(text: str, name: str = "time") -> int:
    """Return the seconds since 1970 of a date, or as they stand. Raises ParameterError."""
    try:
        time = parse_time(text, name)
    except ParameterError:
        allowed = "a time such as 2026-11-30T12:00 (UTC), or seconds since 1970"
        raise ParameterError(name, text, allowed) from None
    return checked_moment(time, text, name)


def checked_moment(time: int, text: str, name: str) -> int:
    """Return a time that can be written and read again. Raises ParameterError."""
    if not 0 <= time < MAX_SECONDS:
        raise ParameterError(name, text, "a time from 1970 to 4147")
    return time


def read_foreseen(path: Path, nodes: Collection[str]) -> ForeseenFile:
    """Return what the file says; a line that cannot be used is left out.

    A last line that is not ended yet is not read yet.
    """
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ForeseenFile()
    except OSError as error:
        return ForeseenFile(trouble=f"{path}: cannot be read: {error.strerror or error}")
    failures: dict[str, int] = {}
    spreads: dict[str, tuple[int, int]] = {}
    drained: set[str] = set()
    bad: list[int] = []
    first = ""
    for number, line in enumerate(text.split("\n")[:-1], 1):
        row = [cell.strip() for cell in line.strip().split(",")]
        if row == [""] or line.startswith("#") or ",".join(row) == HEADER:
            continue
        if wrong := _take(row, nodes, failures, spreads, drained):
            bad.append(number)
            first = first or wrong
    return ForeseenFile(failures, frozenset(drained), skipped_text(path, bad, first), spreads)


def _take(
    row: list[str],
    nodes: Collection[str],
    failures: dict[str, int],
    spreads: dict[str, tuple[int, int]],
    drained: set[str],
) -> str:
    """Take in a line; returns what is wrong with it, if anything."""
    if len(row) not in {2, 4}:
        return f"{','.join(row)!r} is not of the form {HEADER}"
    when, node, *around = row
    if node not in nodes:
        return f"{node!r} is not a node of the fleet: {', '.join(nodes)}"
    if when == DRAIN:
        drained.add(node)
    elif when == UNDRAIN:
        drained.discard(node)
    elif not when:
        failures.pop(node, None)
        spreads.pop(node, None)
    else:
        try:
            at, *times = (parse_moment(one) for one in (when, *around))
        except ParameterError as error:
            return f"time: {error.value!r} is not allowed; expected {error.allowed}"
        if times and not times[0] <= at <= times[1]:
            return f"{','.join(row)!r}: expected early <= time <= late"
        failures[node] = at
        spreads.pop(node, None)
        if times:
            spreads[node] = times[0], times[1]
    return ""


def add_foreseen(path: Path, node: str, time: int | str | None) -> None:
    """Add what is foreseen of a node; None takes it back, `DRAIN` and `UNDRAIN` stand as they are.
    Raises TraceError."""
    append_line(path, f"{'' if time is None else time},{node}", head=HEADER, end_torn=True)
