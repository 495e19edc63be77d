"""Accounting from what sacct said: text or JSON, one file or many, told apart by content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.findings import shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_text
from forestall.core.model.arrays import Bools
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import NEVER, JobRecords
from forestall.slurm import sacct_json, sacct_text
from forestall.slurm.clock_hours import moved_back, settle_by_ids
from forestall.slurm.clusters import check_cluster
from forestall.slurm.identity import Runs, identify
from forestall.slurm.notes import OddNotes
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.contradictions import contradictions, first_of, last_of, last_times
from forestall.slurm.records.task_lists import id_text
from forestall.slurm.rows import LOCAL, LONGS, SHORTS, TEXTS, TOO_LONG, RowCollector
from forestall.slurm.words import MOST_NAMES

Long = npt.NDArray[np.int64]

_UNDER_WAY: Final = 10
_SHARE: Final = 0.01


@reader
def read_sacct(
    paths: str | Path | Sequence[str | Path],
    *,
    zone: str | None = None,
    strict: bool = False,
    window: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
    cluster: str | None = None,
) -> Accounting:
    """Read what sacct wrote, as text (``--parsable2``, any columns in any order, but at least JobID
    or JobIDRaw, State, Start and End) or as ``--json``; plain or packed (.gz, .xz, .zst).

    Parameters
    ----------
    paths : files, which may overlap in time
    zone : time zone of dates without one, such as ``Europe/Berlin``; None: UTC, and a remark
    strict : whether a row that must be left out or changed is an error
    window : Unix seconds [begin, until) that sacct was asked for; None: found from the records
    names : what the files are called in messages (default: their paths)
    cluster : whose runs are read, where the column Cluster names several

    Raises TraceError if a file cannot be used or no run is left, ParameterError for a zone or
    cluster that is not known, and for records of several clusters of which none is chosen.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise ParameterError("paths", paths, "at least one file of sacct")
    called = [str(file) for file in files] if names is None else list(names)
    source = ", ".join(called)
    notes = OddNotes(strict)
    rows = RowCollector(notes, zone, cluster)
    for file, name in zip(files, called, strict=True):
        for piece in _pieces(Path(file), notes, name):
            rows.take(piece)
    check_cluster(cluster, rows.clusters, "run")
    if not len(rows):
        raise TraceError(source, "has no usable row of a job; sacct may have found none in its "
                         "time, or may not be allowed to show those of others")  # fmt: skip
    if zone is None:
        for name in rows.local:
            text = "files whose dates have no zone, which were taken as UTC"
            notes.file("zone_assumed", text, name)
    return _accounting(rows, notes, source, window)


def looks_like_sacct(path: str | Path) -> bool:
    """Return whether a file holds what sacct wrote, text or JSON."""
    try:
        head = head_text(path).encode()
    except TraceError:
        return False
    return sacct_text.looks_like(head) or sacct_json.looks_like(head)


def _pieces(path: Path, notes: OddNotes, name: str) -> Iterator[sacct_text.Piece]:
    if sacct_json.is_json(head_text(path).encode()):
        return sacct_json.pieces(path, notes, name)
    return sacct_text.pieces(path, notes, name)


def _accounting(
    rows: RowCollector, notes: OddNotes, source: str, window: tuple[int, int] | None
) -> Accounting:
    """Return the rows in order, by job. Columns are taken one by one, so that there are never two
    copies of all."""
    numbers: dict[str, Any] = {n: rows.long(n) for n in
                               ("job", "submit", "eligible", "start", "end", "task", "restarts",
                                "flags")}  # fmt: skip
    seen = rows.sparse("seen").values
    asked_at = last_of(seen) if len(seen) else 0
    _date(numbers, asked_at, notes, source)
    _set_hours(rows, numbers, notes, source)
    texts: dict[str, Coded] = {n: rows.words(n) for n in ("user", "account", "name", "state")}
    if rows.in_families:
        text = f"files with more than {MOST_NAMES:,} job names: numbers in them became #"
        notes.file("name_families", text, source)
    job = np.where(numbers["task"] >= 0, numbers["task"], numbers["job"])
    one = identify(Runs(
        job, numbers["submit"], numbers["start"], numbers["end"],
        texts["user"].code, texts["account"].code, texts["name"].code, texts["state"],
        np.maximum(numbers.pop("restarts"), 0),
    ))  # fmt: skip
    notes.jobs("repeated", "rows that repeat another row", "left out", source, job[one.repeated])
    notes.jobs("older_reading", "rows superseded by a later reading of the same run",
               "left out", source, job[one.older])  # fmt: skip
    notes.jobs("id_again", "job ids used again for another job (the database was reset)", "kept",
               source, one.reset)  # fmt: skip
    columns: dict[str, Any] = {"which": one.which, "attempt": one.attempt}
    for name in (*LONGS, *SHORTS):
        column = numbers.pop(name) if name in numbers else rows.long(name)
        columns[name] = column[one.order]
    for name in TEXTS:
        column = texts.pop(name) if name in texts else rows.words(name)
        columns[name] = column.take(one.order)
    begin, until = window or covered(columns, asked_at)
    runs = Accounting(**columns, begin=begin, until=until, source=source)
    planned = np.full(len(job), NEVER)
    waits = rows.sparse("planned")
    planned[waits.places] = waits.values
    too_long = (numbers["flags"] & TOO_LONG) > 0
    runs = _consistent(runs, too_long[one.order], planned[one.order], notes)
    if window is None:
        told = {name: getattr(runs, name) for name in ("submit", "start", "end")}
        begin, until = covered(told, asked_at)
    return replace(runs, begin=begin, until=until, cleaning=notes.cleaning() + runs.cleaning)


def _set_hours(rows: RowCollector, numbers: dict[str, Any], notes: OddNotes, source: str) -> None:
    """Set submissions right that are wrong by an hour, in `numbers`."""
    local = (numbers["flags"] & LOCAL) > 0
    job, submit, start = (numbers[name] for name in ("job", "submit", "start"))
    settle_by_ids(job, submit, *rows.sparse("shift"))
    moved = moved_back(submit, numbers["eligible"], start, local)
    text = ("runs submitted less than an hour after their start (clock change), whose submission "
            "was moved back by an hour")  # fmt: skip
    notes.jobs("hour_moved", text, "changed", source, job[moved])


def _consistent(runs: Accounting, too_long: Bools, planned: Long, notes: OddNotes) -> Accounting:
    """Return the runs without those that contradict themselves or others, with remarks on them."""
    cleaning = Cleaning()
    keep = np.ones(len(runs), dtype=np.bool_)
    for one in contradictions(runs, too_long, planned):
        keep[one.rows] = False
        jobs = map(id_text, runs.job[one.rows].tolist())
        named = [f"job {job} ({text})" for job, text in zip(jobs, one.found, strict=True)]
        text = f"runs whose records contradict each other: {one.rule}"
        if notes.strict:
            raise TraceError(runs.source, f"{named[0]} is one of the {text}")
        cleaning = cleaning.plus(one.kind, text, "left out", named)
    if not bool(keep.any()):
        raise TraceError(runs.source, f"has no run that can be as recorded: {cleaning.remarks[0]}")
    return replace(runs if bool(keep.all()) else runs.take(keep), cleaning=cleaning)


def _date(numbers: dict[str, Any], asked_at: int, notes: OddNotes, source: str) -> None:
    """Give a submit time to jobs that wait where no column told one: the last time of all."""
    submit = numbers["submit"]
    timeless = np.flatnonzero(submit == NEVER)
    if len(timeless):
        last = max(_last(submit), _last(numbers["start"]), _last(numbers["end"]), asked_at)
        submit[timeless] = last
        text = "jobs without any time, taken as submitted at the end of the records"
        notes.jobs("no_time", text, "kept", source, numbers["job"][timeless])


def covered(columns: dict[str, Any], asked_at: int) -> tuple[int, int]:
    """Return the time that records cover, as far as they tell: [begin, until), Unix seconds.

    sacct shows every run that was under way or waiting in its time. So where many runs had started
    long before the first end, the records were cut there and are whole only from the first end on;
    else they are whole from the first submit on. They end with the last time of all. Single runs
    far before or after all others count in neither.
    """
    submit, start, end = columns["submit"], columns["start"], columns["end"]
    last = max(last_of(last_times(submit, start, end)), asked_at)
    begin = first_of(submit)
    first_end = int(end.min())
    if first_end < NEVER:
        under_way = int(np.count_nonzero(start < first_end))
        if under_way >= _UNDER_WAY and first_end - begin > _SHARE * (last - begin):
            begin = first_end
    return begin, max(last, begin) + 1


def job_records(accounting: Accounting) -> JobRecords:
    """Return the runs as records of jobs with their nodes, on the same clock, in order of start.

    Nodes are numbered in the order of their names; a list of nodes that cannot be read is a remark,
    and its run has none.
    """
    order = np.argsort(accounting.start, kind="stable")
    runs = accounting.nodelist
    used = np.unique(runs.code[runs.code >= 0])
    hosts, bad = _hosts_of(runs, used)
    names = tuple(sorted({name for some in hosts for name in some}))
    number = {name: place for place, name in enumerate(names)}
    numbers = [np.unique([number[name] for name in some]).astype(np.int64) for some in hosts]
    # The nodes of all lists one after the other; the last list is that of runs without one.
    size = np.zeros(len(runs.words) + 1, dtype=np.int64)
    begin = np.zeros(len(runs.words) + 1, dtype=np.int64)
    size[used] = [len(some) for some in numbers]
    begin[used] = np.cumsum(size[used]) - size[used]
    pool = np.concatenate([np.empty(0, dtype=np.int64), *numbers])
    code = runs.code[order]
    offsets = np.concatenate(([0], np.cumsum(size[code]))).astype(np.int64)
    place = np.repeat(begin[code] - offsets[:-1], size[code]) + np.arange(int(offsets[-1]))
    start = accounting.start[order]
    cleaning = accounting.cleaning.plus(
        "nodes_unreadable", "node lists that cannot be read", "kept", bad
    )
    return JobRecords(
        job=tuple(map(id_text, accounting.job[order].tolist())),
        start=start,
        end=np.where(start == NEVER, NEVER, accounting.end[order]),
        state=tuple(accounting.state.take(order).texts()),
        offsets=offsets,
        node=pool[place],
        cores=accounting.cpus[order].astype(np.int64),
        nodes=len(names),
        node_names=names or None,
        origin=0 if accounting.dated else None,
        source=accounting.source,
        cleaning=cleaning,
    )


def _hosts_of(lists: Coded, used: npt.NDArray[Any]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the hosts of each list that is used, and the lists that cannot be read."""
    hosts: list[tuple[str, ...]] = []
    bad = []
    for code in used.tolist():
        try:
            hosts.append(expand(lists.words[code]))
        except ParameterError:
            hosts.append(())
            bad.append(shown(lists.words[code]))
    return hosts, bad


def _last(times: Long) -> int:
    known = times[times < NEVER]
    return int(known.max()) if len(known) else 0
