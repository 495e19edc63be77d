"""CSV stores of LDMS (`store_csv` and `store_function_csv`).

A header ``#Time,Time_usec,ProducerName,component_id,...`` stands in the first line, or (with
`altheader`) in a file of its own beside the data: ``meminfo.HEADER`` or ``meminfo.HEADER.1563...``
for ``meminfo.1563...``. A header within a file (the daemon started again) counts from there on.
Names of metrics lose the suffix that says their part or type (``Active.value``, ``Active:u64``);
columns of a metric's user data, flags and the store's own counts are no metrics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.delimited import check_columns, header_names
from forestall.core.files.findings import Findings, LineFinding, SpoiltLines, shown
from forestall.core.files.packed import head_lines, read_bytes
from forestall.core.model.errors import TraceError
from forestall.logs.metrics.raw import MetricSelection, RawSamples, joined, readable
from forestall.logs.metrics.table import quick_csv, samples_of

with lazily():
    import polars as pl


OWN = frozenset(
    {
        *("time", "time_usec", "dt", "dt_usec", "producername", "component_id", "job_id"),
        *("app_id", "instance", "consistent", "duration", "arrival", "trip", "datagn", "metagen"),
        *("schema", "timestamp"),
    }
)
"""Columns of the store itself, in lower case."""

_VALUE = re.compile(r"(?i)[.:](value|[us](8|16|32|64)|[fd](32|64)?|char)$")
_BESIDE = re.compile(r"(?i)[.:](userdata|flag)$")
_HEADER = re.compile(rb"(?m)^#.*$")


def looks_like(first: str) -> bool:
    """Return whether a first line is a header of such a store."""
    names = [name.lower() for name in header_names(first.lstrip("#"))]
    return first.startswith("#") and names[:1] == ["time"] and "producername" in names


def is_header_file(path: Path) -> bool:
    """Return whether a file holds the header of others."""
    return ".HEADER" in path.name


def header_beside(path: Path) -> Path | None:
    """Return the file that holds the header of this one, None where there is none."""
    stem, _, stamp = path.name.partition(".")
    names = [f"{path.name}.HEADER", f"{stem}.HEADER.{stamp}", f"{stem}.HEADER"]
    return next((path.with_name(n) for n in names if path.with_name(n).is_file()), None)


def read_ldms(path: Path, asked: MetricSelection) -> RawSamples:
    """Read one file of a store; rows that cannot be used are left out and named."""
    spoilt = SpoiltLines()
    text = read_bytes(path, spoilt.note)
    heads = list(_HEADER.finditer(text))
    pieces: list[tuple[str, bytes, int]] = []
    before = text[: heads[0].start()] if heads else text
    if before.strip() or not heads:
        pieces.append((_header_line(path), before, 1))
    stops = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    for head, stop in zip(heads, stops, strict=True):
        first = text.count(b"\n", 0, head.end()) + 2
        pieces.append((readable(head[0]), text[head.end() + 1 : stop], first))
    parts = [
        _piece(path, line, rows, first, asked, spoilt)
        for line, rows, first in pieces
        if rows.strip()
    ]
    return joined_lines(parts, path)


def joined_lines(parts: Sequence[RawSamples], path: Path) -> RawSamples:
    """Return the samples of the pieces of one file, which may be none."""
    parts = [part for part in parts if len(part)]
    if not parts:
        whole = np.empty(0, dtype=np.int64)
        return RawSamples(whole, pl.Series([], dtype=pl.String), pl.DataFrame(), True)
    return parts[0] if len(parts) == 1 else joined(parts, path)


def _header_line(path: Path) -> str:
    beside = header_beside(path)
    if beside is None:
        raise TraceError(path, "has no header (#Time,...) and no HEADER file beside it")
    line = head_lines(beside)[0]
    if not looks_like(line):
        expected = "expected #Time,...,ProducerName,..."
        raise TraceError(beside, f"the file starts with {shown(line)}; {expected}")
    return line


def _piece(
    path: Path,
    head: str,
    rows: bytes,
    first: int,
    asked: MetricSelection,
    spoilt: SpoiltLines,
) -> RawSamples:
    """Return the samples of rows below one header; `first` is the line of the first, `spoilt` those
    of the file that are no plain text."""
    names = _plain(header_names(head.lstrip("#")))
    node = asked.node or ("ProducerName" if "ProducerName" in names else "component_id")
    check_columns(path, names, ("Time", node), max(1, first - 1))
    findings = Findings(path, asked.strict)
    last = first + rows.count(b"\n")
    for damage, places in spoilt.items():  # with those of the header
        findings.spoilt(damage, (line for line in places if first - 1 <= line <= last))
    unique = [name for name in dict.fromkeys(names) if names.count(name) == 1]
    metrics = [name for name in unique if name.lower() not in OWN and name]
    wanted = [*dict.fromkeys(("Time", node, *(asked.names or metrics)))]
    there = [name for name in wanted if name in unique]
    rows = rows.replace(b"\r", b"").replace(b", ", b",")
    frame = quick_csv(rows, names, there, text=node)
    lines = None if frame is None else np.arange(first, first + len(frame))
    if frame is None:
        frame, lines = _careful(rows, names, there, first, findings)
    return samples_of(frame, lines, ("Time", node), asked, findings, numbered=False)


def _careful(
    rows: bytes, names: Sequence[str], wanted: Sequence[str], first: int, findings: Findings
) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Return the wanted columns as text, and the lines, of rows with as many fields as names."""
    good, kept, wrong = [], [], []
    for number, line in enumerate(rows.split(b"\n"), first):
        fields = [field.strip() for field in readable(line).split(",")]
        if fields == [""]:
            continue
        if len(fields) == len(names):
            good.append(fields)
            kept.append(number)
        else:
            message = f"has {len(fields)} fields; expected the header's {len(names)}"
            wrong.append(LineFinding(number, message))
    findings.add("malformed", "rows with a wrong number of fields", "left out", wrong)
    columns = {name: [row[names.index(name)] for row in good] for name in wanted}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(wanted, pl.String))
    return frame, np.asarray(kept, dtype=np.int64)


def _plain(names: Sequence[str]) -> list[str]:
    """Return the names without the suffix of a value; those of no value as "" (not a metric)."""
    stripped = [name.strip() for name in names]
    return ["" if _BESIDE.search(name) else _VALUE.sub("", name) for name in stripped]
