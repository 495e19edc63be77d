"""What Slurm said about starts of waiting jobs: snapshots of ``squeue --start``.

- lines ``ASKED|JOBID|START|SUBMIT``, as `SNAPSHOT` prints them: many snapshots may be appended to
  one file;
- the table of ``squeue --start`` with its header, once or several times. When it was asked must be
  told: by a line ``# asked: 2026-01-31T12:00:00`` (or seconds) above it, or by the caller;
- ``squeue --json``; versions that do not write down when they were asked did so when the scheduler
  last looked at a job.

Times that are no dates (``N/A``) are starts that were not foreseen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.documents import json_of
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import read_bytes, text_of
from forestall.core.files.places import called, placed
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import TraceError
from forestall.core.model.job_records import NEVER
from forestall.slurm.clusters import check_cluster, of_cluster
from forestall.slurm.nodes import number
from forestall.slurm.records.start_estimates import StartEstimates
from forestall.slurm.task_rows import id_of
from forestall.slurm.times import moments_of

with lazily():
    import polars as pl

SNAPSHOT: Final = (
    "TZ=UTC SLURM_TIME_FORMAT=%s squeue --all --start --noheader "
    '--format="$(date +%s)|%A|%S|%V" >> starts.txt'
)
"""A line for the shell, or for cron with each ``%`` written as ``\\%``."""

_OWN: Final = re.compile(r"\s*(\d{9,11})\|\s*([^|]*)\|([^|]*)\|([^|]*?)\s*")
_ASKED: Final = re.compile(r"#\s*asked:\s*(\S+)\s*")
_WHEN: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{9,11}|N/A|Unknown")
_COLLECT: Final = "or collect with the line that `forestall report` prints"
_UNASKED: Final = (
    "does not say when Slurm was asked; write '# asked: 2026-01-31T12:00:00' above the header, "
    f"{_COLLECT}"
)
_HEADLESS: Final = (
    "is output of squeue --start without its header: neither its columns nor the time of the "
    "question are known; write '# asked: 2026-01-31T12:00:00' and the header above it, "
    f"{_COLLECT}"
)
_ROW: Final = re.compile(r"\s*(?:\d{9,11}\|)?\d+(?:[_+]\S*?)?(?=[|\s]).*[|\s](?:PD|PENDING)[|\s].*")
_LEAD: Final = re.compile(r"(\d{1,18})")
_LOOKED_AT: Final = 20
_HEADS: Final = {
    "JOBID": "job",
    "START_TIME": "start",
    "START": "start",
    "SUBMIT_TIME": "submit",
    "SUBMIT": "submit",
}
_EXPECTED: Final = (
    "expected lines ASKED|JOBID|START|SUBMIT, or a table of squeue --start with a header"
)


class _QueueRow(NamedTuple):
    """A row as text; `place` is its file and line."""

    place: tuple[Path, int]
    asked: str
    job: str
    start: str
    submit: str


def looks_like_starts(text: str) -> bool:
    """Return whether text is snapshots of start estimates in lines or tables."""
    for line in text.split("\n"):
        if not line.strip() or _ASKED.fullmatch(line.strip()):
            continue
        return _OWN.fullmatch(line) is not None or _is_header(line)
    return False


def looks_headless(text: str) -> bool:
    """Return whether text is rows of squeue with waiting jobs only, without a header: nobody can
    tell what the columns are."""
    lines = [line for line in text.split("\n")[:_LOOKED_AT] if line.strip()]
    lines = [line for line in lines if not _ASKED.fullmatch(line.strip())]
    return bool(lines) and all(_ROW.fullmatch(line) for line in lines)


def joined_starts(one: StartEstimates, other: StartEstimates) -> StartEstimates:
    """Return the estimates of two sources in order, each once."""
    asked, job, submit, start = (
        np.concatenate((getattr(one, name), getattr(other, name)))
        for name in ("asked", "job", "submit", "start")
    )
    source = ", ".join(part.source for part in (one, other) if part.source)
    cleaning = one.cleaning + other.cleaning
    return _sorted(StartEstimates(asked, job, submit, start, source, cleaning))


def read_starts(
    paths: Sequence[str | Path],
    *,
    zone: str | None = None,
    strict: bool = False,
    asked: int | None = None,
    cluster: str | None = None,
) -> StartEstimates:
    """Read start estimates from one or several files.

    Parameters
    ----------
    paths : the files
    zone : time zone of the dates (None: UTC)
    strict : whether a row that must be left out is an error
    asked : when the batch system was asked, Unix seconds, where a file does not tell
    cluster : whose jobs are read, where a file has those of several; None: of the only one

    Raises TraceError if a file cannot be used, ParameterError where it has no such cluster.
    """
    rows: list[_QueueRow] = []
    noted: list[Findings] = []
    short = called(paths)
    for path in paths:
        findings = Findings(path, strict)
        text = of_cluster(text_of(read_bytes(path, findings.spoilt)), cluster)
        noted.append(findings)
        if text.lstrip().startswith("{"):
            _from_json(Path(path), text, rows, asked, cluster)
        else:
            _from_text(Path(path), text, rows, findings, asked)
    return _estimates(rows, noted, zone, short)


def _from_text(
    path: Path, text: str, rows: list[_QueueRow], findings: Findings, asked: int | None
) -> None:
    when = "" if asked is None else str(asked)
    table: _QueueTable | None = None
    filled = False
    for number_of, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        noted = _ASKED.fullmatch(line.strip())
        own = _OWN.fullmatch(line)
        if noted:
            when = noted[1]
        elif own:
            rows.append(_QueueRow((path, number_of), *own.groups()))
        elif _is_header(line):
            table = _QueueTable.of(line)
            if not when:
                raise TraceError(path, _UNASKED, line=number_of)
        elif table is not None:
            rows.append(_QueueRow((path, number_of), when, *table.cells(line)))
        elif not filled and looks_headless(text):
            raise TraceError(path, _HEADLESS, line=number_of)
        elif not filled:
            message = f"the file starts with {shown(line)}; {_EXPECTED}"
            raise TraceError(path, message, line=number_of)
        else:
            _refuse(findings, number_of, f"{shown(line)}; {_EXPECTED}")
        filled = True
    if not filled:
        raise TraceError(path, f"is empty; {_EXPECTED}")


@dataclass(frozen=True)
class _QueueTable:
    """The columns of a table: by separators, or by the places where the heads end."""

    heads: list[str]
    bars: bool
    ends: dict[str, int]

    @classmethod
    def of(cls, line: str) -> _QueueTable:
        bars = "|" in line
        if bars:
            return cls([_HEADS.get(c.strip().upper(), "") for c in line.split("|")], True, {})
        places = {_HEADS.get(m[0].upper(), ""): m.end() for m in re.finditer(r"\S+", line)}
        return cls([_HEADS.get(c.upper(), "") for c in line.split()], False, places)

    def cells(self, line: str) -> tuple[str, str, str]:
        """Return job, start and submit of a line, "" for what is not there."""
        if self.bars:
            told = dict(zip(self.heads, (c.strip() for c in line.split("|")), strict=False))
            return told.get("job", ""), told.get("start", ""), told.get("submit", "")
        job = line.split(maxsplit=1)[0]
        told = {name: (line[:end].split() or [""])[-1] for name, end in self.ends.items()}
        start = told["start"]
        if not _WHEN.fullmatch(start):  # a long id pushed the columns to the right
            found = _WHEN.findall(line)
            start = found[0] if found else start
        return job, start, told.get("submit", "")


def _refuse(findings: Findings, line: int, message: str) -> None:
    text = "rows that are not start estimates"
    findings.add("malformed", text, "left out", [LineFinding(line, message)])


def _is_header(line: str) -> bool:
    cells = line.split("|") if "|" in line else line.split()
    return {"job", "start"} <= {_HEADS.get(cell.strip().upper(), "") for cell in cells}


def _from_json(
    path: Path, text: str, rows: list[_QueueRow], asked: int | None, cluster: str | None
) -> None:
    try:
        whole: Any = json_of(text)
    except ValueError as error:
        raise TraceError(path, f"not JSON, or cut off ({error})") from None
    jobs = whole.get("jobs") if isinstance(whole, dict) else None
    if not isinstance(jobs, list):
        raise TraceError(path, "is JSON without jobs; expected that of squeue --json")
    moment = number(whole.get("last_update")) or asked or _evaluated(jobs)
    if moment is None:
        raise TraceError(path, "does not say when Slurm was asked (last_update)")
    jobs = [one for one in jobs if isinstance(one, dict)]
    found = Counter(str(one.get("cluster") or "") for one in jobs)
    if any(found):
        check_cluster(cluster, found, "job")
    for one in jobs:
        if cluster is not None and one.get("cluster") not in (None, "", cluster):
            continue
        job = number(one.get("job_id"))
        if job is None or "PENDING" not in str(one.get("job_state", "")):
            continue
        start, submit = number(one.get("start_time")), number(one.get("submit_time"))
        told = (str(moment), str(job), str(start or ""), str(submit or ""))
        rows.append(_QueueRow((path, 1), *told))


def _evaluated(jobs: list[Any]) -> int | None:
    """Return when the scheduler last looked at a job: older versions tell no more."""
    names = ("last_sched_evaluation", "submit_time")
    times = [number(one.get(name)) for one in jobs if isinstance(one, dict) for name in names]
    return max((time for time in times if time), default=None)


def _estimates(
    rows: list[_QueueRow], noted: list[Findings], zone: str | None, short: Mapping[Path, str]
) -> StartEstimates:
    table = {
        name: pl.Series([getattr(row, name) for row in rows], dtype=pl.String)
        for name in ("asked", "job", "start", "submit")
    }
    asked, start, submit = (moments_of(table[name], zone) for name in ("asked", "start", "submit"))
    job = np.array([_id(row.job) for row in rows], np.int64)
    bad = (asked.first == NEVER) | asked.bad | start.bad | (job < 0)
    by_path = {str(one.source): one for one in noted}
    for k in np.flatnonzero(bad).tolist():
        path, line = rows[k].place
        said = shown("|".join((rows[k].asked, rows[k].job, rows[k].start, rows[k].submit)))
        _refuse(by_path[str(path)], line, f"{said}; {_EXPECTED}")
    cleaning = Cleaning()
    for findings in noted:
        first = findings.first()
        if first is not None and (findings.strict or bool(bad.all())):
            raise findings.error(first)
        cleaning += placed(findings.cleaning(1, "estimates"), short[Path(findings.source)])
    submitted = np.where(submit.first < NEVER, submit.first, -1)
    return _sorted(
        StartEstimates(
            asked.first[~bad], job[~bad], submitted[~bad], start.first[~bad],
            ", ".join(short.values()), cleaning,
        )
    )  # fmt: skip


def _id(text: str) -> int:
    """Return the number of a job, of a task its own (`task_lists.task_id`), of tasks that wait that
    of their array; -1 for none."""
    number = id_of(text)
    if number >= 0:
        return number
    lead = _LEAD.match(text.strip())  # of a list that was cut within its brackets, or is unknown
    return int(lead[1]) if lead else -1


def _sorted(found: StartEstimates) -> StartEstimates:
    """Return estimates in order, each once."""
    order = np.lexsort((found.submit, found.job, found.asked))
    asked, job, submit = found.asked[order], found.job[order], found.submit[order]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (np.diff(asked) == 0) & (np.diff(job) == 0) & (np.diff(submit) == 0)
    named = [f"job {job[k]} at {asked[k]}" for k in np.flatnonzero(again).tolist()]
    keep = ~again
    return StartEstimates(
        asked[keep], job[keep], submit[keep], found.start[order][keep], found.source,
        found.cleaning.plus("repeated", "duplicate estimates", "left out", named),
    )  # fmt: skip
