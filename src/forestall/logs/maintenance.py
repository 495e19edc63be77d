"""Windows of maintenance, from a file or as text, on the clock and with the nodes of a run."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Final

import numpy as np

from forestall.core.files.delimited import read_sheet
from forestall.core.files.findings import shown
from forestall.core.files.guard import reader, within
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError, brief
from forestall.core.model.failures import Failures, PlannedOutages
from forestall.core.model.hostlist import expand
from forestall.core.model.units import MAX_SECONDS, SECONDS, parse_duration, parse_time
from forestall.logs.observed import numbers_of

EXPECTED: Final = "START/END [NODES]; ... or a CSV file start,end,nodes"
_COLUMNS: Final = ("start", "end", "nodes")


@reader
def read_maintenance(
    given: str | Path, failures: Failures, nodes: int
) -> tuple[PlannedOutages, Cleaning]:
    """Return planned outages of the first `nodes` nodes, and what was left out.

    Parameters
    ----------
    given : a CSV file with the columns start, end and, where not all nodes are meant, nodes (a
        hostlist of names or numbers); or text such as ``10d/10d8h 0-15; 20d/20d4h``
    failures : of the run, whose clock and names of nodes count. Times are dates (where the log has
        dates), seconds on its clock (with dates, since 1970), or durations since its time 0

    Windows that end before time 0 are left out, and those under way at it begin there. Raises
    TraceError or ParameterError where it cannot be read, or a node is not known.
    """
    with within(given) if isinstance(given, Path) or Path(given).is_file() else nullcontext():
        found, before = _windows(given, failures, nodes)
    text = "windows of maintenance that end before time 0"
    return PlannedOutages.of(found), Cleaning().plus("maintenance", text, "left out", before)


def _windows(
    given: str | Path, failures: Failures, nodes: int
) -> tuple[list[tuple[int, int, list[int]]], list[str]]:
    """Return the windows from time 0 on, and those that end before it as text."""
    found, before = [], []
    for name, start, end, hosts in _rows(given):
        window = _moment(start, name, failures), _moment(end, name, failures)
        if window[0] >= window[1]:
            raise _wrong(given, name, f"{start} to {end}", "an end after the start")
        if window[1] <= 0:
            before.append(f"{start}/{end}")
            continue
        numbers = [k for k in _numbers(hosts, name, failures, nodes, given) if k < nodes]
        found.append((max(window[0], 0), window[1], numbers))
    return found, before


def _rows(given: str | Path) -> list[tuple[str, str, str, str]]:
    """Return (where it stands, start, end, nodes) of each window."""
    if isinstance(given, Path) or Path(given).is_file():
        return _file(Path(given))
    rows = []
    for text in str(given).split(";"):
        window, _, hosts = text.strip().partition(" ")
        start, slash, end = window.partition("/")
        if not slash or not start or not end:
            raise ParameterError("maintenance", text.strip() or str(given), EXPECTED)
        rows.append(("", start, end, hosts.strip()))
    return rows


def _file(path: Path) -> list[tuple[str, str, str, str]]:
    sheet = read_sheet(path, _COLUMNS[:2], _COLUMNS[2:])
    first = sheet.findings.first()
    if first is not None:
        raise sheet.findings.error(first)
    nodes = sheet.text("nodes") if sheet.has("nodes") else [""] * len(sheet)
    lines = (f"line {line}" for line in sheet.lines.tolist())
    return list(zip(lines, sheet.text("start"), sheet.text("end"), nodes, strict=True))


def _moment(text: str, line: str, failures: Failures) -> int:
    """Return a moment on the run's clock, s."""
    name = "maintenance" + (f", {line}" if line else "")
    if text[-1:].lower() in SECONDS:
        return parse_duration(text, name, plain=True)
    origin = failures.origin
    try:
        given = int(text)
    except ValueError:
        if origin is None:
            allowed = "seconds, or a duration such as 10d: the failure log has no dates"
            raise ParameterError(name, text, allowed) from None
        given = parse_time(text, name)
    if not abs(given) < MAX_SECONDS:
        raise ParameterError(name, brief(text, 40), "a time within 2,177 years")
    return given if origin is None else given - origin


def _numbers(hosts: str, line: str, failures: Failures, nodes: int, given: str | Path) -> list[int]:
    """Return the numbers of the nodes of a window; all of them where none is named."""
    if not hosts:
        return list(range(nodes))
    if "[" not in hosts:  # numbers: 0-15,20
        hosts = ",".join(f"[{part}]" if "-" in part and part[0].isdigit() else part
                         for part in hosts.split(","))  # fmt: skip
    names = expand(hosts)
    if all(name.isdigit() for name in names):
        return [int(name) for name in names]
    numbers = numbers_of(names, failures.names)
    if bool(np.any(numbers < 0)):
        strange = names[int(np.flatnonzero(numbers < 0)[0])]
        raise _wrong(given, line, strange, "names of nodes as the failure log has them, or numbers")
    return [int(number) for number in numbers]


def _wrong(given: str | Path, line: str, value: str, allowed: str) -> Exception:
    if line:
        return TraceError(given, f"{line}: {shown(value)} is not allowed; expected {allowed}")
    return ParameterError("maintenance", value, allowed)
