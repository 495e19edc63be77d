"""Accounting records of jobs with their nodes, as plain tables.

CSV or Parquet ``job,start,end,state,nodes[,cores]``: times as dates, Unix seconds, or seconds from
a trace's own 0; nodes as a hostlist (``node[001-128],login1``), or numbers (``0-3,7``); cores of
the whole job. What Slurm itself writes is read by `forestall.slurm.job_records`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.files.delimited import TextColumns, check_columns, header_names, read_sheet
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines, pack
from forestall.core.files.parquet import is_parquet, parquet_columns, put_parquet, read_parquet
from forestall.core.files.times import EXPECTED, times_of, window_from
from forestall.core.model import units
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import compress, expand
from forestall.core.model.job_records import NEVER, UNKNOWN_CORES, JobRecords
from forestall.core.model.nodes import NodeSet

with lazily():
    import polars as pl

Int = npt.NDArray[np.int64]

REQUIRED: Final = ("job", "start", "end", "state", "nodes")

NO_TIME: Final = frozenset({"", "unknown", "none", "n/a", "na", "null", "nan", "never"})
NO_NODES: Final = frozenset({"", "none assigned", "(null)", "none", "unknown", "n/a", "null"})
MAX_NODES: Final = units.MOST_NODES


@dataclass(frozen=True)
class _Nodes:
    """The nodes of some texts: CSR over the texts."""

    offsets: Int
    node: Int
    nodes: int
    names: tuple[str, ...] | None


@reader
def read_job_records(
    path: str | Path,
    *,
    start: str | int | None = None,
    days: float | None = None,
    strict: bool = False,
) -> JobRecords:
    """Read a table of accounting records.

    Parameters
    ----------
    path : the file; text may be compressed (.gz, .xz, .zst)
    start : time 0, as a date or in the file's own seconds; without it the first start of a file
        with dates, the own 0 of one that counts seconds
    days : only jobs that ran in [start, start + days) at any time, in whole, are taken
    strict : whether a row that must be left out or changed is an error

    Without `start` and `days` jobs that never started are kept, after all others. Raises TraceError
    if the file cannot be used, ParameterError for a bad parameter.
    """
    place = Path(path)
    if is_parquet(place):
        sheet = _parquet(place, strict)
    else:
        sheet = read_sheet(place, REQUIRED, ("cores",), strict=strict)
    return in_window(_records(sheet, path), path, start, days)


def write_job_records(records: JobRecords, path: str | Path) -> None:
    """Write ``job,start,end,state,nodes,cores``: Parquet by the name, else CSV (.gz, .xz, .zst are
    packed).

    Times are Unix seconds where the records have an origin, else their own; what is not known is
    blank. The file appears whole or not at all.
    """
    zero = records.origin or 0
    lists: dict[bytes, str] = {}
    nodes = []
    for k in range(len(records)):
        held = records.nodes_of(k)
        key = held.tobytes()
        if key not in lists:
            names = records.node_names
            lists[key] = (
                str(NodeSet.of(held.tolist()))
                if names is None
                else compress(names[n] for n in held.tolist())
            )
        nodes.append(lists[key])
    table = pl.DataFrame(
        {
            "job": list(records.job),
            "start": [None if t == NEVER else t + zero for t in records.start.tolist()],
            "end": [None if t == NEVER else t + zero for t in records.end.tolist()],
            "state": list(records.state),
            "nodes": nodes,
            "cores": [None if c < 0 else c for c in records.cores.tolist()],
        },
        schema={
            "job": pl.String, "start": pl.Int64, "end": pl.Int64, "state": pl.String,
            "nodes": pl.String, "cores": pl.Int64,
        },
    )  # fmt: skip
    with atomic_path(path) as beside:
        if Path(path).suffix == ".parquet":
            put_parquet(table, beside)
        else:
            pack(beside, harmless(table).write_csv().encode(), Path(path).suffix)


def looks_like(path: Path) -> bool:
    """Return whether a file holds such a table."""
    if is_parquet(path):
        return set(REQUIRED) <= set(parquet_columns(path))
    first = head_lines(path)[0]
    return set(REQUIRED) <= set(header_names(first))


def _parquet(path: Path, strict: bool) -> TextColumns:
    table = read_parquet(path)
    check_columns(path, table.columns, REQUIRED)
    wanted = [name for name in (*REQUIRED, "cores") if name in table.columns]
    texts = []
    for name in wanted:
        column = table[name]
        if column.dtype == pl.Datetime:
            column = column.dt.epoch("s")
        texts.append(column.cast(pl.String).str.strip_chars().alias(name))
    lines = np.arange(1, len(table) + 1, dtype=np.int64)
    return TextColumns(pl.DataFrame(texts), lines, tuple(table.columns), Findings(path, strict))


def _records(sheet: TextColumns, source: str | Path) -> JobRecords:
    begin, finish, calendar = _times(sheet)
    cores = _cores(sheet)
    sheet.refuse("end", sheet.keep & (finish < begin), "a time not before the start")
    job = sheet.frame["job"].fill_null("")
    sheet.refuse("job", (job == "").to_numpy(), "a job's id")
    twice = sheet.repeated() & sheet.keep
    if bool(twice.any()):
        found = (
            LineFinding(int(line), "is the same as a row above it") for line in sheet.lines[twice]
        )
        sheet.findings.add("repeated", "rows that repeat another", "left out", found)
        sheet.keep &= ~twice
    texts, bad = _node_texts(sheet)
    sheet.refuse("nodes", bad, "a hostlist such as node[001-128],login1, or none")
    keep = np.flatnonzero(sheet.keep)
    cleaning = sheet.findings.cleaning(len(keep), "jobs")
    order = keep[np.argsort(begin[keep], kind="stable")]
    nodes = _nodes(texts, order)
    return JobRecords(
        tuple(job.gather(order).to_list()),
        begin[order],
        finish[order],
        tuple(sheet.frame["state"].fill_null("").gather(order).to_list()),
        nodes.offsets,
        nodes.node,
        cores[order],
        nodes.nodes,
        nodes.names,
        origin=0 if calendar else None,
        source=str(source),
        cleaning=cleaning,
    )


def _times(sheet: TextColumns) -> tuple[Int, Int, bool]:
    """Return starts and ends, `NEVER` where there is none, and whether they are Unix seconds."""
    blank, texts = [], []
    for name in ("start", "end"):
        text = sheet.frame[name].fill_null("")
        lower = text.str.to_lowercase()
        none = lower.is_in(list(NO_TIME))
        blank.append(none.to_numpy())
        texts.append(text.set(none, None).alias("time"))
    both = times_of(pl.concat(texts))
    count = len(sheet)
    found = []
    for k, name in enumerate(("start", "end")):
        part = slice(k * count, (k + 1) * count)
        sheet.refuse(name, ~both.good[part] & ~blank[k], EXPECTED + ", or Unknown")
        found.append(np.where(blank[k], NEVER, both.second[part]))
    # A job that never started was cancelled at its end: it has none that a start could precede.
    end = np.where(found[0] == NEVER, NEVER, found[1])
    return found[0], end, both.calendar


def _cores(sheet: TextColumns) -> Int:
    if not sheet.has("cores"):
        return np.full(len(sheet), UNKNOWN_CORES)
    return sheet.whole("cores", low=0, below=2**31, blank=UNKNOWN_CORES)


def _node_texts(
    sheet: TextColumns,
) -> tuple[list[tuple[str, ...] | NodeSet], npt.NDArray[np.bool_]]:
    """Return the nodes of each row, each text read once, and which rows have bad ones.

    They are numbers where those of all rows are, else names.
    """
    texts = sheet.text("nodes")
    bad = np.zeros(len(texts), dtype=np.bool_)
    numbered = all(_numbers(text) is not None for text in dict.fromkeys(texts))
    known: dict[str, tuple[str, ...] | NodeSet | None] = {}
    found: list[tuple[str, ...] | NodeSet] = []
    for row, text in enumerate(texts):
        if text not in known:
            known[text] = _numbers(text) if numbered else _names(text)
        nodes = known[text]
        bad[row] = nodes is None
        found.append(() if nodes is None else nodes)
    return found, bad


def _numbers(text: str) -> NodeSet | None:
    if text.lower() in NO_NODES:
        return NodeSet()
    try:
        nodes = NodeSet.parse(text) if text[:1].isdigit() and text.isascii() else None
    except (ParameterError, ValueError):
        return None
    return nodes if nodes is None or nodes.ranges[-1][1] <= MAX_NODES else None


def _names(text: str) -> tuple[str, ...] | None:
    if text.lower() in NO_NODES:
        return ()
    try:
        return expand(text)
    except ParameterError:
        return None


def _nodes(found: Sequence[tuple[str, ...] | NodeSet], order: Int) -> _Nodes:
    """Return the nodes of the rows in this order, names numbered in theirs."""
    rows = [found[k] for k in order.tolist()]
    names: tuple[str, ...] | None = None
    arrays: dict[int, Int] = {}  # rows of one text share one object
    if any(isinstance(row, tuple) and row for row in rows):
        everyone = sorted({name for row in {id(r): r for r in rows}.values() for name in row})
        names = tuple(str(name) for name in everyone)
        place = {name: number for number, name in enumerate(names)}
        for row in rows:
            if id(row) not in arrays:
                arrays[id(row)] = np.unique([place[str(name)] for name in row]).astype(np.int64)
    else:
        for row in rows:
            if id(row) not in arrays:
                arrays[id(row)] = np.fromiter(row, np.int64, len(row))
    parts = [arrays[id(row)] for row in rows]
    size = np.fromiter(map(len, parts), np.int64, len(parts))
    node = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    offsets = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    count = int(node.max(initial=-1)) + 1 if names is None else len(names)
    return _Nodes(offsets, node, count, names)


def in_window(
    records: JobRecords, source: str | Path, start: str | int | None, days: float | None
) -> JobRecords:
    """Return records, on their source's own clock so far, from time 0 on as `read_job_records` says
    of `start` and `days`, with remarks on those whose fate, start or nodes are not known."""
    records = _windowed(records, source, start, days)
    return replace(records, cleaning=_with_states(records))


def _windowed(
    records: JobRecords, source: str | Path, start: str | int | None, days: float | None
) -> JobRecords:
    calendar = records.origin is not None
    started = records.start < NEVER
    if not bool(started.any()):
        if start is not None or days is not None:
            raise TraceError(source, "no job that started in it")
        return records
    ended = np.where(records.end < NEVER, records.end, records.start)[started]
    first, last = int(records.start[started].min()), int(ended.max())
    window = window_from(source, first, last, calendar, start=start, days=days, what="jobs")
    if start is not None or days is not None:
        inside = started & (records.start < window.stop) & (records.end >= window.zero)
        if not bool(inside.any()):
            raise TraceError(source, "no job ran in that window")
        records = records.take(inside)
    return replace(records.moved(-window.zero), origin=window.origin)


def _with_states(records: JobRecords) -> Cleaning:
    good, bad = records.completed(), records.failed()
    cleaning = records.cleaning
    unknown = np.flatnonzero(~good & ~bad)
    named = [f"job {records.job[k]} ({shown(records.state[k])})" for k in unknown.tolist()]
    text = "jobs whose state does not say how they ended"
    cleaning = cleaning.plus("state_unknown", text, "kept", named)
    idle = [f"job {records.job[k]}" for k in np.flatnonzero(records.start == NEVER).tolist()]
    cleaning = cleaning.plus("never_started", "jobs that never started", "kept", idle)
    lost = np.flatnonzero((records.start < NEVER) & (records.size == 0))
    named = [f"job {records.job[k]}" for k in lost.tolist()]
    return cleaning.plus("no_nodes", "jobs that started on no known node", "kept", named)
