"""The certifier's look at what `tasks.csv` and `jobs.csv` say of the stays, and at the queue."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import NONE, Int
from forestall.app.virtual.certify.chains import Chain
from forestall.app.virtual.certify.files import (
    ABORTED,
    COMPLETED,
    DROPPED,
    JOB_FATES,
    LATE,
    PLACED,
    RESTARTED,
    TASK_FATES,
    VirtualFolder,
)

THOUSANDTHS = frozenset({"rate", "work", "done", "lost"})
"""Columns of `tasks.csv` that are held as whole thousandths."""


def _per(owner: Int, count: int, values: Int | None = None) -> Int:
    """Return the sum of values (or how many there are) of each owner."""
    if values is None:
        return np.bincount(owner, minlength=count)
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, owner, values)
    return total


def _where_unlike(
    finding: Finding, text: str, said: Int, mine: Int, *labels: Any, parts: int = 1
) -> None:
    """Note rows in which two columns differ; empty fields are told as such, and numbers in `parts`
    (thousandths: 1000) of what the files hold as there."""
    bad = said != mine
    if bad.any():
        finding.where(bad, text, *labels, _Told(said, parts), _Told(mine, parts))


class _Told:
    def __init__(self, values: Int, parts: int) -> None:
        self.values, self.parts = values, parts

    def __getitem__(self, row: int) -> str:
        value = int(self.values[row])
        if value == NONE:
            return "nothing"
        return f"{value}" if self.parts == 1 else f"{value / self.parts}"


def check_tasks(folder: VirtualFolder, chain: Chain) -> Check:
    """`tasks.csv` has every task of every job once, as its stays and moves tell it."""
    jobs, tasks, stays = folder.jobs, folder.tasks, chain.stays
    finding = Finding("tasks and their stays")
    count = int(jobs.first[-1])
    rows = _per(tasks.index, count)
    owner = np.searchsorted(jobs.first, np.arange(count), side="right") - 1
    number = np.arange(count) - jobs.first[owner]
    text = "task {1} of job {0} stands in {2} lines of tasks.csv"
    finding.where(rows != 1, text, jobs.name[owner], number, rows)
    line = np.arange(len(tasks.job)) + 2
    names = jobs.name[tasks.job]
    text = "task {1} of job {0}: {2} is {4} in tasks.csv (line {3}), {5} by its stays"
    for column, mine in _by_stays(folder, chain, count).items():
        said = getattr(tasks, column)
        told = text.replace("{2}", column)
        where, parts = (names, tasks.number, names, line), 1000 if column in THOUSANDTHS else 1
        _where_unlike(finding, told, said, mine[tasks.index], *where, parts=parts)
    fate = np.full(count, DROPPED)
    fate[stays.index[chain.final]] = stays.ended[chain.final]
    mine = fate[tasks.index]
    text = "task {1} of job {0} is {2} in tasks.csv (line {4}), {3} by its stays"
    words = np.array(TASK_FATES)
    labels = (names, tasks.number, words[tasks.fate], words[mine], line)
    finding.where(tasks.fate != mine, text, *labels)
    return finding.check(f"{count} tasks, each as its stays tell")


def _by_stays(folder: VirtualFolder, chain: Chain, count: int) -> dict[str, Int]:
    """Return the columns of `tasks.csv`, by number among all tasks; rates and work in
    thousandths."""
    jobs, stays = folder.jobs, chain.stays
    final, fresh = chain.final, chain.fresh

    def column(values: Int, of: Any, empty: int) -> Int:
        result = np.full(count, empty)
        result[stays.index[of]] = values[of]
        return result

    whole = np.repeat(jobs.runtime * folder.given.most, jobs.size)
    lost = _per(stays.index, count, stays.lost)
    return {
        "node": column(stays.node, final, NONE),
        "start": column(stays.start, fresh, NONE),
        "end": column(stays.end, final, NONE),
        "rate": column(stays.rate, final, 0),
        "work": whole,
        "done": _per(stays.index, count, stays.work) - lost,
        "lost": lost,
        "migrations": _per(folder.moves.index, count),
        "restarts": _per(stays.index[stays.begun == RESTARTED], count),
        "checkpoints": _per(stays.index, count, stays.checkpoints),
    }


def job_fates(folder: VirtualFolder, chain: Chain) -> dict[str, Int]:
    """Return the columns of `jobs.csv` that follow from the stays."""
    jobs, stays = folder.jobs, chain.stays
    count = len(jobs.name)
    far = np.iinfo(np.int64).max
    start, finish = np.full(count, far), np.full(count, NONE)
    np.minimum.at(start, stays.job, stays.start)
    np.maximum.at(finish, stays.job, stays.end)
    done = _per(stays.job[stays.ended == COMPLETED], count)
    late = _per(stays.job[stays.ended == LATE], count)
    dropped = start == far
    kinds = [dropped, done == jobs.size, done + late == jobs.size]
    return {
        "start": np.where(dropped, NONE, start),
        "finish": finish,
        "done": done,
        "completed": (~dropped & (done == jobs.size)).astype(np.int64),
        "fate": np.select(kinds, [JOB_FATES.index("dropped"), 0, 1], default=2),
        "lost": _per(stays.job, count, stays.lost),
        "restarts": _per(stays.job[stays.begun == RESTARTED], count),
        "migrations": _per(folder.moves.job, count),
    }


def check_jobs(folder: VirtualFolder, chain: Chain) -> Check:
    """`jobs.csv` agrees with the tasks, and jobs were placed as a whole."""
    jobs, stays = folder.jobs, chain.stays
    finding = Finding("jobs and their tasks")
    line = np.arange(len(jobs.name)) + 2
    mine = job_fates(folder, chain)
    text = "job {0}: {1} is {3} in jobs.csv (line {2}), {4} by its tasks"
    for column, values in mine.items():
        said = getattr(jobs, column).astype(np.int64)
        if column == "fate":
            words = np.array(JOB_FATES)
            told = "job {0} is {1} in jobs.csv (line {3}), {2} by its tasks"
            labels = (jobs.name, words[said], words[values], line)
            finding.where(said != values, told, *labels)
            continue
        named = text.replace("{1}", "tasks_completed" if column == "done" else column)
        parts = 1000 if column == "lost" else 1
        _where_unlike(finding, named, said, values, jobs.name, jobs.name, line, parts=parts)
    finding.where(jobs.deadline <= jobs.submit, "job {0}: deadline at its submission", jobs.name)
    placed = np.flatnonzero(stays.begun == PLACED)
    owner = stays.job[placed]
    together = _per(owner[stays.start[placed] == mine["start"][owner]], len(jobs.name))
    torn = (jobs.fate != JOB_FATES.index("dropped")) & (together != jobs.size)
    torn |= (mine["start"] != NONE) & (together != jobs.size)
    text = "job {0} has {1} tasks, and {2} of them were placed at once (jobs.csv, line {3})"
    finding.where(torn, text, jobs.name, jobs.size, together, line)
    return finding.check(f"{len(jobs.name)} jobs, each as its tasks tell")


def check_order(folder: VirtualFolder, chain: Chain) -> Check:
    """First come, first served: no job passes one that waits, or a task that waits to restart."""
    jobs, given = folder.jobs, folder.given
    finding = Finding("order of the queue")
    line = np.arange(len(jobs.name)) + 2
    start = job_fates(folder, chain)["start"]
    ran = start != NONE
    text = "job {0} starts at {1}, before its submission (jobs.csv, line {2})"
    finding.where(ran & (start < jobs.submit), text, jobs.name, start, line)
    back = np.zeros(len(line), dtype=np.bool_)
    back[1:] = jobs.submit[1:] < jobs.submit[:-1]
    finding.where(back, "job {0} stands after one submitted later (line {1})", jobs.name, line)
    if given.backfill:
        return finding.check("none starts before its submission; jobs may pass others")
    waits = np.where(ran, start, jobs.deadline)  # until when each is in the queue
    floor = np.maximum.accumulate(np.concatenate(([NONE], waits[:-1])))
    passed = ran & (start < floor)
    text = "job {0} starts at {1}, when an earlier one waits until {2} (jobs.csv, line {3})"
    finding.where(passed, text, jobs.name, start, floor, line)
    if given.interval:
        since, until = _waits_to_restart(folder, chain)
        order = np.argsort(since, kind="stable")
        since, until = since[order], np.maximum.accumulate(until[order])
        at = np.searchsorted(since, start, side="right") - 1
        held = until[np.maximum(at, 0)] if len(until) else np.zeros(len(start), dtype=np.int64)
        early = ran & (at >= 0) & (held > start)
        text = "job {0} starts at {1}, when a task waits until {2} to restart (jobs.csv, line {3})"
        finding.where(early, text, jobs.name, start, held, line)
    return finding.check("first come, first served")


def _waits_to_restart(folder: VirtualFolder, chain: Chain) -> tuple[Int, Int]:
    """Return [since, until) in which aborted tasks waited to restart."""
    stays = chain.stays
    rows = np.flatnonzero((stays.ended == ABORTED) & ~chain.final)
    alone = np.flatnonzero((stays.ended == ABORTED) & chain.final)
    since = np.concatenate((stays.end[rows], stays.end[alone]))
    until = np.concatenate((stays.start[rows + 1], folder.jobs.deadline[stays.job[alone]]))
    return since, until


def end_of(folder: VirtualFolder, chain: Chain) -> int:
    """Return the last second in which something happened to a job."""
    jobs, stays = folder.jobs, chain.stays
    latest = [np.where(jobs.finish == NONE, jobs.deadline, jobs.finish)]
    if folder.given.interval and folder.given.stops:
        # Tasks that wait for their restart do so until their deadline.
        waiting = (stays.ended == ABORTED) & chain.final
        latest.append(jobs.deadline[stays.job[waiting]])
    return int(np.concatenate(latest).max())
