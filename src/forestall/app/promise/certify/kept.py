"""The certifier's rules of checkpoints in a vault: how long saves take, what each run goes on from,
what cannot be had, and the measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import Int
from forestall.app.kit.certify.sums import differences
from forestall.app.promise.certify.files import LOST, SAVE, PromiseRun, SaveRows

TOLERANCE = 1e-9


@dataclass
class _Job:
    """A job as it is followed through its runs.

    Attributes
    ----------
    rows : its rows of `checkpoints.csv` that are still to come
    held : what is kept of it, the oldest first: work, when the save began, and nodes
    owed : work that was saved, could not be had, and stands in no run yet
    """

    job: int
    rows: list[int]
    held: list[tuple[int, int, list[int]]] = field(default_factory=list)
    owed: int = 0

    @property
    def saved(self) -> int:
        """Work in the newest that is kept."""
        return self.held[-1][0] if self.held else 0


def stored(run: PromiseRun, finding: Finding) -> str:
    """Follow every job through its runs and its checkpoints."""
    rows, runs = run.saves, run.runs
    assert rows is not None, "only runs with a vault are asked"
    order = np.argsort(rows.job, kind="stable")
    cuts = np.searchsorted(rows.job[order], np.arange(len(run.jobs) + 1))
    jobs = [_Job(j, order[cuts[j] : cuts[j + 1]].tolist()) for j in range(len(run.jobs))]
    nodes: list[list[int]] = [[] for _ in range(len(runs))]
    ranges = run.nodes
    for owner, first, stop in zip(ranges.owner, ranges.first, ranges.stop, strict=True):
        nodes[owner] += range(first, stop)
    for k in range(len(runs)):
        _run(run, rows, jobs[runs.job[k]], k, nodes[k], finding)
    left = [row for one in jobs for row in one.rows]
    text = "checkpoints.csv, line {0}: belongs to no run of its job"
    finding.where(np.ones(len(left), np.bool_), text, rows.line[np.array(left, np.int64)])
    begun = np.bincount(rows.job[rows.kind == SAVE], minlength=len(run.jobs))
    text = "job {0}: {1} checkpoints in jobs.csv, {2} in checkpoints.csv"
    finding.where(begun != run.jobs.checkpoints, text, run.jobs.name, run.jobs.checkpoints, begun)
    return f"{len(rows)} rows of {len(jobs)} jobs, each consistent with its size, paths and stores"


def _wrong(finding: Finding, text: str, *told: Any) -> None:
    finding.all([text.format(*told)])


def _run(
    run: PromiseRun, rows: SaveRows, mine: _Job, k: int, nodes: list[int], finding: Finding
) -> None:
    """Follow a job through one run, from what it found lost before it."""
    runs, name = run.runs, run.jobs.name[mine.job]
    start, end = int(runs.start[k]), int(runs.end[k])
    while mine.rows and rows.kind[mine.rows[0]] == LOST and rows.start[mine.rows[0]] <= start:
        _lost(run, rows, mine, mine.rows.pop(0), finding)
    if mine.held and not run.pieces.is_there(mine.held[-1][2], mine.held[-1][1], start):
        text = "job {0} resumes at {1} from a checkpoint that cannot be recovered"
        _wrong(finding, text, name, start)
    size = int(run.jobs.size[mine.job])
    told = (int(run.resumed[k]), int(run.unrecovered[k]))
    if told != (mine.saved, mine.owed * size):
        text = "job {0}, from {1} on: resumed and unrecovered are {2} instead of {3}"
        _wrong(finding, text, name, start, told, (mine.saved, mine.owed * size))
    mine.owed = 0
    pause, recovery = int(run.pause[mine.job]), int(run.recovery[mine.job])
    work, since, done = mine.saved, start + (recovery if mine.saved else 0), 0
    while mine.rows and rows.kind[mine.rows[0]] == SAVE and rows.start[mine.rows[0]] < end:
        row = mine.rows.pop(0)
        begin, until, over = int(rows.start[row]), int(rows.until[row]), bool(rows.complete[row])
        work, since_before = work + begin - since, since
        if begin < since_before or work != rows.work[row]:
            text = "checkpoints.csv, line {0}: holds {1} s of work, but {2} s were done"
            _wrong(finding, text, rows.line[row], rows.work[row], work)
        cut = not over and not runs.finished[k] and end < begin + pause
        if until != (end if cut else begin + pause) or over == cut:
            text = "checkpoints.csv, line {0}: lasts {1} s, but a checkpoint takes {2} s"
            _wrong(finding, text, rows.line[row], until - begin, pause)
        since = until
        if over:
            done += 1
            mine.held = [*mine.held, (work, begin, nodes)][-run.pieces.stores.keep :]
    if done != runs.completed[k]:
        text = "job {0}: {1} checkpoints completed in its run from {2} on, {3} in checkpoints.csv"
        _wrong(finding, text, name, runs.completed[k], start, done)
    if runs.finished[k] and work + end - since != run.jobs.runtime[mine.job]:
        text = "job {0} finishes with {1} s of work done, of {2} s"
        _wrong(finding, text, name, work + end - since, run.jobs.runtime[mine.job])


def _lost(run: PromiseRun, rows: SaveRows, mine: _Job, row: int, finding: Finding) -> None:
    """Follow a job that falls back to the newest checkpoint that can be had."""
    now, before = int(rows.start[row]), mine.saved
    kept = list(mine.held)
    while kept and not run.pieces.is_there(kept[-1][2], kept[-1][1], now):
        kept.pop()
    if len(kept) == len(mine.held):
        text = "checkpoints.csv, line {0}: falls back although the newest checkpoint is recoverable"
        _wrong(finding, text, rows.line[row])
    mine.held = kept
    mine.owed += before - mine.saved
    if rows.work[row] != mine.saved or rows.until[row] != now or rows.complete[row]:
        text = "checkpoints.csv, line {0}: falls back to {1} s of work, but {2} s are recoverable"
        _wrong(finding, text, rows.line[row], rows.work[row], mine.saved)


def measures(run: PromiseRun, finding: Finding) -> str:
    """The measures of the vault in `summary.json`, anew."""
    said = run.given.vault
    if not isinstance(said, dict):
        _wrong(finding, "summary.json has no measures of the vault")
        return ""
    mine = _measures(run)
    for name, value in mine.items():
        finding.all(differences(f"vault.{name}", said.get(name, "nothing"), value, TOLERANCE))
    return f"{len(mine)} measures"


def _measures(run: PromiseRun) -> dict[str, Any]:
    rows, resumed = run.saves, run.resumed > 0
    assert rows is not None, "only runs with a vault are asked"
    stores, size = run.pieces.stores, run.jobs.size
    over = rows.complete
    made = [run.pieces.copies(one) * one for one in size[rows.job[over]].tolist()]
    piece = -(-int(np.ceil(stores.size / stores.ratio)) // run.pieces.needed)

    def mean(values: Int) -> float | None:
        return int(values.sum()) / len(values) if len(values) else None

    return {
        "saves": int(over.sum()),
        "broken_saves": int(((rows.kind == SAVE) & ~over).sum()),
        "recoveries": int(resumed.sum()),
        "fallbacks": int((rows.kind == LOST).sum()),
        "unrecovered": int(run.unrecovered.sum()),
        "save_seconds": mean((rows.until - rows.start)[over]),
        "recovery_seconds": mean(run.recovery[run.runs.job[resumed]]),
        "bytes_saved": sum(made) * piece,
    }
