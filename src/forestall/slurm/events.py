"""Outages of nodes as Slurm's accounting has them: ``sacctmgr -P show event``.

The columns may stand in any order; NodeName and TimeStart must be there, and TimeEnd or Duration.
An end of ``Unknown`` is one that has not come yet. Rows without a node are about the whole cluster
and are no outages. Reasons are free text: a ``|`` or a line break within one is put right as far
as the header tells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import read_lines
from forestall.core.files.places import called, placed
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.hostlist import in_order
from forestall.core.model.job_records import NEVER
from forestall.slurm.clusters import check_cluster
from forestall.slurm.notes import OPEN, ends_open
from forestall.slurm.reasons import POWER_SAVING, plain, told
from forestall.slurm.records.accounting import UNKNOWN
from forestall.slurm.records.event_failures import failures_of, overlaps
from forestall.slurm.records.node_events import NATURES, NodeEvents
from forestall.slurm.times import elapsed_of, moments_of, settle

with lazily():
    import polars as pl

Long = npt.NDArray[np.int64]

_NAMES: Final = {
    "cluster": "cluster",
    "nodename": "node",
    "node": "node",
    "timestart": "begin",
    "start": "begin",
    "timeend": "end",
    "end": "end",
    "duration": "duration",
    "state": "state",
    "reason": "reason",
    "user": "user",
}
_COLUMNS: Final = ("row", "begin", "end")
_EXPECTED: Final = (
    "expected the output of sacctmgr -P show event with NodeName, TimeStart and TimeEnd"
)
_HEADLESS: Final = (
    "is output of sacctmgr show event without its header, which names the columns; "
    "leave out --noheader (-n)"
)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{9,11}")
LOOKED_AT: Final = 20
MOST_JOINED: Final = 8
"""A row is never put together from more lines than this."""


class _EventRow(NamedTuple):
    """A row as text; `source` names its line."""

    line: int
    source: str
    cluster: str = ""
    node: str = ""
    begin: str = ""
    end: str = ""
    duration: str = ""
    state: str = ""
    reason: str = ""
    user: str = ""


_Rows = Sequence[_EventRow]


@dataclass(frozen=True)
class _Timed:
    """Rows of which begin and end are known: `row` is the place among all rows."""

    row: Long
    begin: Long
    end: Long


def is_header(line: str) -> bool:
    """Return whether a line is the header of events."""
    if "tart" not in line:  # most rows need no longer look
        return False
    names = {_NAMES.get(_bare(name)) for name in line.split("|")}
    return {"node", "begin"} <= names and bool(names & {"end", "duration"})


def looks_headless_events(text: str) -> bool:
    """Return whether text is rows of events, but for a header: set apart by bars, with a time, and
    beginning with no number, as rows of jobs do."""
    lines = [line for line in text.split("\n")[:LOOKED_AT] if line.strip()]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return bool(rows) and all(
        len(row) > 2 and not row[0][:1].isdigit() and any(map(_DATE.fullmatch, row)) for row in rows
    )


def read_events(
    paths: Sequence[str | Path],
    *,
    zone: str | None = None,
    strict: bool = False,
    cluster: str | None = None,
) -> NodeEvents:
    """Read events of one cluster from one or several files.

    Parameters
    ----------
    paths : the files, exported at any times; the same event in several of them is taken once,
        with its end where one of them has it
    zone : time zone of the dates, such as ``Europe/Berlin`` (None: UTC); Unix seconds need none
    strict : whether a row that must be left out or changed is an error
    cluster : whose events are read; None: those of the only one

    Raises TraceError if a file cannot be used, ParameterError where the events are of several
    clusters, or not of the one that is asked for. Files in which nothing ever happened give a table
    without rows.
    """
    rows: list[_EventRow] = []
    cleaning = Cleaning()
    timed: list[_Timed] = []
    short = called(paths)
    for path in paths:
        name = short[Path(path)]
        found, remarks = _read(Path(path), rows, zone, Findings(path, strict), name)
        timed.append(found)
        cleaning += placed(remarks, name)
    whole = _Timed(*(np.concatenate([getattr(one, name) for one in timed]) for name in _COLUMNS))
    whole = _of_cluster(rows, whole, cluster)
    return _events(rows, whole, cleaning, ", ".join(str(path) for path in paths))


def slurm_failures(
    events: NodeEvents, *, natures: Sequence[str] = ("fault",), names: Sequence[str] = ()
) -> Failures:
    """Return the failures of events with the labels of their reasons as kinds; see
    `reliability.nodes.event_failures.failures_of`. `names` are nodes that count too, if they never
    failed."""
    kinds = labels(events)
    return failures_of(events, natures=natures, kinds=kinds, names=names)


def labels(events: NodeEvents) -> tuple[str, ...]:
    """Return what each outage was about, by the rules of `reasons`: ``gpu``, ``network``, ..."""
    triples = zip(events.state.texts(), events.reason.texts(), events.user.texts(), strict=True)
    return tuple(told(*one).label for one in triples)


def _read(
    path: Path, rows: list[_EventRow], zone: str | None, findings: Findings, name: str
) -> tuple[_Timed, Cleaning]:
    """Append the rows of a file that are whole, and return those whose times can be read."""
    names: list[str] = []
    clusterwide: list[str] = []
    before = len(rows)
    lines = read_lines(path, findings.spoilt)
    for number, line, joined in _joined(lines):
        if is_header(line):
            names = [_NAMES.get(_bare(name), "") for name in line.split("|")]
            continue
        if not names and looks_headless_events("\n".join(lines[:LOOKED_AT])):
            raise TraceError(path, _HEADLESS, line=number)
        if not names:
            raise TraceError(path, f"the file starts with {shown(line)}; {_EXPECTED}", line=number)
        fields = _fields(line, names)
        if fields is None:
            count = line.count("|") + 1
            message = f"has {count} fields; expected the header's {len(names)}"
            _refuse(findings, "malformed", "rows with a wrong number of fields", number, message)
            continue
        if joined:
            findings.note("joined", "rows whose reason went over several lines", [number])
        if fields.get("node"):
            rows.append(_EventRow(number, f"{name} line {number}", **fields))
        else:
            clusterwide.append(f"line {number}")
    if not names:
        raise TraceError(path, f"is empty; {_EXPECTED}")
    if ends_open(path):
        findings.note("cut_off", OPEN, [len(lines)])
    timed = _times(rows, before, zone, findings)
    first = findings.first()
    if first is not None and (findings.strict or (len(timed.row) == 0 and not clusterwide)):
        raise findings.error(first)
    text = "events of the whole cluster (no node's)"
    cleaning = findings.cleaning(1, "events")
    return timed, cleaning.plus("cluster_events", text, "left out", clusterwide)


def _refuse(
    findings: Findings, kind: str, text: str, line: int, message: str, name: str = ""
) -> None:
    findings.add(kind, text, "left out", [LineFinding(line, message, name or None)])


def _times(rows: _Rows, before: int, zone: str | None, findings: Findings) -> _Timed:
    """Return when the rows from `before` on began and ended; those that cannot be are noted."""
    mine = rows[before:]
    begin = moments_of(pl.Series([row.begin for row in mine], dtype=pl.String), zone)
    end = moments_of(pl.Series([row.end for row in mine], dtype=pl.String), zone)
    told = [elapsed_of(row.duration) for row in mine]
    length = np.array([UNKNOWN if one is None else one for one in told], dtype=np.int64)
    lines = np.array([row.line for row in mine], dtype=np.int64)
    start, finish = begin.first, end.first
    if bool((begin.doubtful | end.doubtful).any()):
        settled = settle(begin, end, length)
        start, finish = settled.start, settled.end
        text = "rows with an ambiguous or skipped time (clock change), taken as the earlier"
        findings.note("doubtful_time", text, lines[settled.guessed])
    if not any(row.end for row in mine):  # no such column
        finish = np.where((length >= 0) & (start < NEVER), start + length, NEVER)
    good = np.ones(len(lines), dtype=np.bool_)
    for k in np.flatnonzero(begin.bad | (start == NEVER)).tolist():
        message = f"{shown(mine[k].begin)}; expected a date such as 2026-01-31T12:00:00"
        text = "rows with an unusable start"
        _refuse(findings, "bad_begin", text, int(lines[k]), message, "TimeStart")
        good[k] = False
    for k in np.flatnonzero(good & end.bad).tolist():
        message = f"{shown(mine[k].end)}; expected a date, or Unknown"
        text = "rows with an unusable end"
        _refuse(findings, "bad_end", text, int(lines[k]), message, "TimeEnd")
        good[k] = False
    for k in np.flatnonzero(good & (finish < start)).tolist():
        message = f"ends {start[k] - finish[k]} s before it starts"
        text = "events that end before they start"
        _refuse(findings, "ends_before_start", text, int(lines[k]), message, "TimeEnd")
        good[k] = False
    row = np.flatnonzero(good)
    return _Timed(row + before, start[row], finish[row])


def _joined(lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield filled lines with their numbers, those that a line break cut put together."""
    width = 0
    at = 0
    while at < len(lines):
        line, number, at = lines[at], at + 1, at + 1
        if not line.strip():
            continue
        if is_header(line):
            width = line.count("|")
        short = line
        last = at
        while width and short.count("|") < width and last < min(len(lines), at + MOST_JOINED):
            if is_header(lines[last]):
                break
            short = f"{short} {lines[last]}"
            last += 1
        if last > at and short.count("|") == width and lines[last - 1].count("|") < width:
            yield number, short, True
            at = last
        else:
            yield number, line, False


def _fields(line: str, names: list[str]) -> dict[str, str] | None:
    """Return the fields by name, None where they are too few, or too many to be told apart."""
    parts = line.split("|")
    extra = len(parts) - len(names)
    if (
        extra > 0
        and names[-1] != ""
        and not parts[-1].strip()
        and extra == 1
        and "reason" not in names
    ):
        parts, extra = parts[:-1], 0  # -p ends every line with the separator
    if extra > 0 and "reason" in names:
        at = names.index("reason")
        parts[at : at + extra + 1] = ["|".join(parts[at : at + extra + 1])]
        extra = 0
    if extra:
        return None
    return {name: part.strip() for name, part in zip(names, parts, strict=True) if name}


def _bare(name: str) -> str:
    return name.strip().lower().replace(" ", "").replace("_", "")


def _events(rows: _Rows, timed: _Timed, cleaning: Cleaning, source: str) -> NodeEvents:
    natures = {
        k: told(rows[k].state, rows[k].reason, rows[k].user).nature for k in timed.row.tolist()
    }
    asleep = np.array([natures[k] == POWER_SAVING for k in timed.row.tolist()], dtype=np.bool_)
    text = "events of power saving (no outages)"
    cleaning = cleaning.plus("power_saving", text, "left out", _named(rows, timed.row[asleep]))
    timed = _where(timed, ~asleep)
    keep, begin, end = timed.row, timed.begin, timed.end
    names = in_order({rows[k].node for k in keep.tolist()})
    place = {name: number for number, name in enumerate(names)}
    node = np.array([place[rows[k].node] for k in keep.tolist()], dtype=np.int64)
    keep, node, begin, end, cleaning = _once(rows, keep, node, begin, end, cleaning)
    end, cleaning = _closed(rows, keep, node, begin, end, cleaning)
    order = np.lexsort((node, begin))
    keep, node, begin, end = keep[order], node[order], begin[order], end[order]
    found = keep.tolist()
    events = NodeEvents(
        node,
        begin,
        end,
        Coded.of([rows[k].state for k in found]),
        Coded.of([_reason(rows[k].reason) for k in found]),
        Coded.of([rows[k].user for k in found]),
        np.array([NATURES.index(natures[k]) for k in found], dtype=np.int8),
        names,
        _span(begin, end),
        source=source,
        cleaning=cleaning,
    )
    twice = [f"{names[node[k]]} at {begin[k]}" for k in np.flatnonzero(overlaps(events)).tolist()]
    text = "events that overlap an earlier one of their node (time is counted once)"
    return replace(events, cleaning=cleaning.plus("overlapping", text, "kept", twice))


def _where(timed: _Timed, mask: npt.NDArray[np.bool_]) -> _Timed:
    return _Timed(timed.row[mask], timed.begin[mask], timed.end[mask])


def _reason(text: str) -> str:
    return text if plain(text) else ""


def _named(rows: _Rows, row: Long) -> list[str]:
    return [f"{rows[k].node} ({rows[k].source})" for k in row.tolist()]


def _span(begin: Long, end: Long) -> tuple[int, int]:
    if len(begin) == 0:
        return 0, 0
    ended = end[end < NEVER]
    last = max(int(begin.max()) + 1, int(ended.max(initial=0)))
    return int(begin.min()), last


def _of_cluster(rows: _Rows, timed: _Timed, cluster: str | None) -> _Timed:
    """Return the events of a cluster: others may have nodes of the same names."""
    clusters = [rows[k].cluster for k in timed.row.tolist()]
    if clusters:
        check_cluster(cluster, Counter(clusters), "event")
    if cluster is None:
        return timed
    return _where(timed, np.array([name == cluster for name in clusters], dtype=np.bool_))


def _once(
    rows: _Rows, keep: Long, node: Long, begin: Long, end: Long, cleaning: Cleaning
) -> tuple[Long, Long, Long, Long, Cleaning]:
    """Take each event once: accounting has one of a node and a start. Of several exports the one
    that knows the end counts, of several ends the last that was read."""
    order = np.lexsort((np.arange(len(keep)), end < NEVER, begin, node))
    same = (np.diff(node[order]) == 0) & (np.diff(begin[order]) == 0)
    dropped = order[:-1][same] if len(order) else order
    text = "duplicate events (same node, same start)"
    cleaning = cleaning.plus("repeated", text, "left out", _named(rows, np.sort(keep[dropped])))
    left = np.ones(len(keep), dtype=np.bool_)
    left[dropped] = False
    return keep[left], node[left], begin[left], end[left], cleaning


def _closed(
    rows: _Rows, keep: Long, node: Long, begin: Long, end: Long, cleaning: Cleaning
) -> tuple[Long, Cleaning]:
    """End open events where the next event of their node begins: accounting lost their end."""
    order = np.lexsort((begin, node))
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = np.diff(node[order]) != 0
    following = np.full(len(order), NEVER)
    following[:-1] = begin[order][1:]
    following[last] = NEVER
    lost = (end[order] == NEVER) & ~last
    ended = end.copy()
    ended[order] = np.where(lost, following, end[order])
    text = "events without an end though their node had later ones (ended at the next one)"
    return ended, cleaning.plus("end_lost", text, "changed", _named(rows, keep[order][lost]))
