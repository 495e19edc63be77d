"""Our own failure log: CSV with ``time,node[,downtime][,kind][,detectability][,predicted]``.

Every row is a failure. Times are whole seconds from the log's time 0, or ISO dates; nodes are
numbers from 0, or names. A blank downtime or detectability is not known. `predicted` is when the
failure of that row was predicted to come, a time as in `time`; blank: it was not foreseen. Bare
times that are all from 100,000,000 on (1973) are Unix seconds: they stay as they are, and have
dates.

Lines above the header that begin with ``#`` are comments, and some of them tell what the rows
cannot:

- ``# origin: 2005-06-03T15:42:50``: the date of time 0;
- ``# span: 18532800``: seconds that the log covers;
- ``# nodes: 512``: how many nodes there are, where nodes are numbers;
- ``# names: R00-M0,R00-M1``: the names of all nodes by number, those that never failed too.

The same columns may stand in a Parquet file; what the comments tell is then in its metadata
(`own_parquet`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.cells import unguarded
from forestall.core.files.delimited import Int, TextColumns, read_sheet
from forestall.core.files.findings import listed, shown
from forestall.core.files.packed import head_text, read_bytes, text_of
from forestall.core.files.parquet import is_parquet
from forestall.core.files.times import UNIX_FROM
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import EARLIEST, LATEST, MAX_SECONDS, parse_time
from forestall.logs.failures import own_parquet
from forestall.logs.failures.own_parquet import OPTIONAL, REQUIRED, ParquetNotes
from forestall.logs.failures.predicted import moved, predicted_times
from forestall.logs.failures.raw import (
    MAX_NODES,
    FailureFormat,
    Head,
    Options,
    RawFailures,
    numbered,
    single_system,
)

with lazily():
    import polars as pl

NOTES: Final = ("origin", "span", "nodes", "names")
T = TypeVar("T")

FEWEST_GAPS: Final = 8
"""So many gaps between rows of a node are needed to tell that they are samples."""


def looks_like(head: Head) -> bool:
    """Return whether the header starts with time and node, or has them among our columns only.

    A table of something else that has columns of these names as well must be named by `--format`.
    Comments above the header that tell what ours do are enough: the header may lie far below.
    """
    if is_parquet(head.path):
        return own_parquet.looks_like(head.path)
    above = [line for line in head.lines if _is_comment(line)]
    if any(_noted(line) is not None for line in above):
        return True
    rest = head.lines
    while above and rest and (_is_comment(rest[0]) or not rest[0].strip()):
        rest = rest[1:]
    names = Head(head.path, rest).columns
    ours = set(names) <= {*REQUIRED, *OPTIONAL}
    return set(names[:2]) == set(REQUIRED) or (ours and set(REQUIRED) <= set(names))


def read(path: Path, options: Options) -> RawFailures:
    """Read the log; rows with a bad field are left out and named."""
    single_system(options, "our own CSV")
    if is_parquet(path):
        sheet, notes = own_parquet.read(path, options.strict)
        return replace(_raw(path, sheet, notes), repairs=notes.repairs, service=notes.service)
    notes = _notes(path)
    sheet = read_sheet(path, REQUIRED, OPTIONAL, strict=options.strict, titles=notes.lines)
    return _raw(path, sheet, notes)


def _raw(path: Path, sheet: TextColumns, notes: ParquetNotes) -> RawFailures:
    dates = _has_dates(sheet)
    time = _dates(sheet, notes) if dates else sheet.whole("time", low=0, below=MAX_SECONDS)
    node, names = _nodes(sheet, notes)
    downtime = (
        sheet.whole("downtime", low=0, below=MAX_SECONDS, blank=-1)
        if sheet.has("downtime")
        else None
    )
    chance: npt.NDArray[np.float64] | None = None
    if sheet.has("detectability"):
        chance = sheet.real("detectability", low=0, high=1)
    predicted = predicted_times(sheet, dates=dates) if sheet.has("predicted") else None
    keep = np.flatnonzero(sheet.keep)
    late = np.flatnonzero(np.diff(time[keep]) < 0) + 1
    text = "rows earlier than the row above them (sorted)"
    sheet.findings.note("unsorted", text, sheet.lines[keep][late])
    cleaning = sheet.findings.cleaning(len(keep), "failures")
    ignored = [name for name in sheet.names if name not in {*REQUIRED, *OPTIONAL}]
    if ignored:
        _check_no_samples(path, time[keep], node[keep], ignored)
        text = f"columns ignored ({listed([shown(name) for name in ignored], 8)})"
        cleaning = cleaning.plus("ignored_columns", text, "kept", ignored)
    kind = None
    if sheet.has("kind"):
        kind = sheet.frame["kind"].fill_null("")[keep].to_list()
    zero = notes.origin
    if not dates:
        if zero is None and notes.silent and int(time[keep].min()) >= UNIX_FROM:
            zero = 0  # Unix seconds, which stay as they are
        time = time + (zero or 0)
        predicted = None if predicted is None else moved(predicted, zero or 0)
    return RawFailures(
        time[keep],
        node[keep],
        len(names) if names else max(notes.nodes or 0, int(node[keep].max()) + 1),
        downtime=None if downtime is None else downtime[keep],
        detectability=None if chance is None else chance[keep],
        kind=kind,
        names=names,
        repairs=False,
        calendar=dates or zero is not None,
        cleaning=cleaning,
        zero=zero,
        span=notes.span,
        predicted=None if predicted is None else predicted[keep],
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _noted(line: str) -> tuple[str, str] | None:
    """Return (name, value) of a comment that tells something, None of any other."""
    name, colon, value = line.lstrip().lstrip("#").partition(":")
    name = name.strip().lower()
    return (name, value.strip()) if colon and name in NOTES else None


def _notes(path: Path) -> ParquetNotes:
    """Return what the comments above the header tell. Raises TraceError for invalid arguments."""
    if not _is_comment(head_text(path)):
        return ParquetNotes()
    count = 0
    told: dict[str, tuple[int, str]] = {}
    for number, raw in enumerate(read_bytes(path).split(b"\n"), 1):
        line = text_of(raw)
        if line.strip() and not _is_comment(line):
            break
        count += bool(line.strip())
        found = _noted(line)
        if found is not None:
            told[found[0]] = (number, found[1])
    return ParquetNotes(
        count,
        origin=_told(path, told, "origin", _moment, "a date such as 2005-06-03T15:42:50"),
        span=_told(path, told, "span", _seconds, "a whole number of seconds"),
        nodes=_told(path, told, "nodes", _count, f"a whole number from 1 to {MAX_NODES:,}"),
        names=_told(path, told, "names", _listed, "different names with commas between them"),
    )


def _told(
    path: Path, told: dict[str, tuple[int, str]], name: str, parse: Callable[[str], T], what: str
) -> T | None:
    if name not in told:
        return None
    line, text = told[name]
    try:
        return parse(text)
    except (ValueError, ParameterError, csv.Error):
        raise TraceError(path, f"{shown(text)}; expected {what}", line=line, field=name) from None


def _moment(text: str) -> int:
    if not EARLIEST <= (moment := parse_time(text)) < LATEST:
        raise ValueError
    return moment


def _seconds(text: str) -> int:
    if not 0 < (seconds := int(text)) < MAX_SECONDS:
        raise ValueError
    return seconds


def _count(text: str) -> int:
    if not 0 < (count := int(text)) <= MAX_NODES:
        raise ValueError
    return count


def _listed(text: str) -> tuple[str, ...]:
    row = next(csv.reader([text], skipinitialspace=True), [])
    names = tuple(unguarded(name.strip()) for name in row)
    if not names or "" in names or len(set(names)) < len(names):
        raise ValueError
    return names


def _nodes(sheet: TextColumns, notes: ParquetNotes) -> tuple[Int, tuple[str, ...] | None]:
    """Return the numbers of the nodes and their names, None where they have none.

    Nodes are names where the comments list names, or where most nodes are no numbers.
    """
    told = sheet.frame["node"].fill_null("")
    filled = told != ""
    words = filled & told.cast(pl.Float64, strict=False).is_null()
    if notes.names is None and 2 * int(words.sum()) <= int(filled.sum()):
        return sheet.whole("node", low=0, below=MAX_NODES), None
    if notes.names is None:
        sheet.refuse("node", ~filled.to_numpy(), "the name of a node")
        names = told.to_list()
        some = [name for name, good in zip(names, sheet.keep.tolist(), strict=True) if good]
        known = numbered([], some)[1]
    else:
        known = notes.names
        bad = ~told.is_in(list(known)).to_numpy()
        sheet.refuse("node", bad, "one of the names above the header")
        names = told.to_list()
    place = {name: number for number, name in enumerate(known)}
    return np.fromiter((place.get(name, 0) for name in names), np.int64, len(names)), known


def _check_no_samples(path: Path, time: Int, node: Int, ignored: list[str]) -> None:
    """Raise TraceError where rows of a node follow each other as evenly as samples do."""
    order = np.lexsort((time, node))
    gaps = np.diff(time[order])[np.diff(node[order]) == 0]
    if len(gaps) < FEWEST_GAPS:
        return
    lengths, counts = np.unique(gaps, return_counts=True)
    usual = int(np.argmax(counts))
    if lengths[usual] > 0 and 2 * int(counts[usual]) > len(gaps):
        columns = listed([shown(name) for name in ignored], 4)
        message = (
            f"holds samples of metrics ({columns}; a row of each node every "
            f"{int(lengths[usual]):,} s), not failures; give it as metrics ({{as}} metrics, "
            "{metrics}), or leave these columns out"
        )
        raise TraceError(path, message)


def _has_dates(sheet: TextColumns) -> bool:
    """Return whether the first time is a date (a dash after its first sign, as no number has)."""
    first = next(iter(sheet.text("time")), "")
    return "-" in first[1:] and first[:4].isdigit()


def _dates(sheet: TextColumns, notes: ParquetNotes) -> Int:
    seconds = np.zeros(len(sheet), dtype=np.int64)
    bad = np.zeros(len(sheet), dtype=np.bool_)
    for row, text in enumerate(sheet.text("time")):
        try:
            seconds[row] = parse_time(text)
        except ParameterError:
            bad[row] = True
        else:
            bad[row] = text.lstrip("+-").isdigit()  # seconds among dates: which time 0?
    sheet.refuse("time", bad, "a date such as 2003-07-18T16:00, as in the first row")
    if notes.origin is not None:
        sheet.refuse("time", sheet.keep & (seconds < notes.origin), "a date from the origin on")
    return seconds


FORMAT = FailureFormat(
    "csv",
    "our own CSV or Parquet: time,node[,downtime][,kind][,detectability][,predicted]",
    looks_like,
    read,
)
