"""The certifier's rules of what `tasks.csv` and `jobs.csv` say of the stays, and of the queue."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import NONE, Int
from forestall.app.kit.certify.sums import Said, per, unlike
from forestall.app.virtual.certify.facts import Facts
from forestall.app.virtual.certify.files import DROPPED, JOB_FATES, PARTS, TASK_FATES
from forestall.model.virtual_books import Begun, Ended

THOUSANDTHS: Final = frozenset({"rate", "work", "done", "lost"})
"""Columns of `tasks.csv` that are held as whole thousandths."""
NAMED: Final = {"done": "tasks_completed"}
"""Columns of `jobs.csv` that are called otherwise here."""


def tasks_and_stays(run: Facts, finding: Finding) -> str:
    """`tasks.csv` has every task of every job once, as its stays and moves tell it."""
    jobs, tasks, chain = run.jobs, run.tasks, run.chain
    stays = chain.stays
    count = int(jobs.first[-1])
    rows = per(tasks.index, count)
    owner = np.searchsorted(jobs.first, np.arange(count), side="right") - 1
    number = np.arange(count) - jobs.first[owner]
    text = "task {1} of job {0} is in {2} lines of tasks.csv"
    finding.where(rows != 1, text, jobs.name[owner], number, rows)
    labels = (run.names(tasks), tasks.number, tasks.line)
    text = (
        "task {3} of job {2}: {column} is {0} in tasks.csv (line {4}), {1} according to its stays"
    )
    columns = (
        Said(name, getattr(tasks, name), mine[tasks.index], PARTS if name in THOUSANDTHS else 1)
        for name, mine in _by_stays(run, count).items()
    )
    unlike(finding, text, columns, *labels)
    fate = np.full(count, DROPPED)
    fate[stays.index[chain.final]] = stays.ended[chain.final]
    text = "task {3} of job {2} is {0} in tasks.csv (line {4}), {1} according to its stays"
    mine = Said("outcome", tasks.fate, fate[tasks.index], words=TASK_FATES)
    unlike(finding, text, [mine], *labels)
    return f"{count} tasks, each consistent with its stays"


def _by_stays(run: Facts, count: int) -> dict[str, Int]:
    """Return the columns of `tasks.csv`, by number among all tasks; rates and work in
    thousandths."""
    jobs, chain = run.jobs, run.chain
    stays = chain.stays
    final, fresh = chain.final, chain.fresh

    def column(values: Int, of: Any, empty: int) -> Int:
        result = np.full(count, empty)
        result[stays.index[of]] = values[of]
        return result

    whole = np.repeat(jobs.runtime * run.given.most, jobs.size)
    lost = per(stays.index, count, stays.lost)
    return {
        "node": column(stays.node, final, NONE),
        "start": column(stays.start, fresh, NONE),
        "end": column(stays.end, final, NONE),
        "rate": column(stays.rate, final, 0),
        "work": whole,
        "done": per(stays.index, count, stays.work) - lost,
        "lost": lost,
        "migrations": per(run.moves.index, count),
        "restarts": per(stays.index[stays.begun == Begun.RESTARTED], count),
        "checkpoints": per(stays.index, count, stays.checkpoints),
    }


def jobs_and_tasks(run: Facts, finding: Finding) -> str:
    """`jobs.csv` agrees with the tasks, and jobs were placed as a whole."""
    jobs, stays = run.jobs, run.chain.stays
    line, mine = np.arange(len(jobs)) + 2, run.told
    text = "job {2}: {column} is {0} in jobs.csv (line {3}), {1} according to its tasks"
    columns = (
        Said(NAMED.get(name, name), getattr(jobs, name), values, PARTS if name == "lost" else 1)
        for name, values in mine.items()
        if name != "fate"
    )
    unlike(finding, text, columns, jobs.name, line)
    text = "job {2} is {0} in jobs.csv (line {3}), {1} according to its tasks"
    fate = Said("outcome", jobs.fate, mine["fate"], words=JOB_FATES)
    unlike(finding, text, [fate], jobs.name, line)
    finding.where(jobs.deadline <= jobs.submit, "job {0}: deadline at its submission", jobs.name)
    placed = np.flatnonzero(stays.begun == Begun.PLACED)
    owner = stays.job[placed]
    together = per(owner[stays.start[placed] == mine["start"][owner]], len(jobs))
    torn = (jobs.fate != JOB_FATES.index("dropped")) & (together != jobs.size)
    torn |= (mine["start"] != NONE) & (together != jobs.size)
    text = "job {0} has {1} tasks, but {2} of them were placed at once (jobs.csv, line {3})"
    finding.where(torn, text, jobs.name, jobs.size, together, line)
    return f"{len(jobs)} jobs, each consistent with its tasks"


def sorted_rows(run: Facts, finding: Finding) -> str:
    """Tasks stand by job and number, stays in the order of their ends, moves and failures in that
    of their times."""
    keys = {
        "tasks.csv": run.tasks.index,
        "runs.csv": run.stays.end,
        "migrations.csv": run.moves.time,
        "failures.csv": run.failures.time,
    }
    for name, key in keys.items():
        back = np.zeros(len(key), dtype=np.bool_)
        back[1:] = key[1:] < key[:-1]
        line = np.arange(len(key)) + 2
        finding.where(back, name + ", line {0}: out of order, after a later row", line)
    return "tasks, stays, moves and failures in order"


def order(run: Facts, finding: Finding) -> str:
    """First come, first served: no job passes one that waits, or a task that waits to restart."""
    jobs, given = run.jobs, run.given
    line = np.arange(len(jobs)) + 2
    start = run.told["start"]
    ran = start != NONE
    text = "job {0} starts at {1}, before its submission (jobs.csv, line {2})"
    finding.where(ran & (start < jobs.submit), text, jobs.name, start, line)
    back = np.zeros(len(line), dtype=np.bool_)
    back[1:] = jobs.submit[1:] < jobs.submit[:-1]
    finding.where(back, "job {0} follows a job submitted later (line {1})", jobs.name, line)
    if given.backfill:
        return "no job starts before its submission; jobs may overtake others"
    waits = np.where(ran, start, jobs.deadline)  # until when each is in the queue
    floor = np.maximum.accumulate(np.concatenate(([NONE], waits[:-1])))
    passed = ran & (start < floor)
    text = "job {0} starts at {1}, while an earlier one waits until {2} (jobs.csv, line {3})"
    finding.where(passed, text, jobs.name, start, floor, line)
    if given.interval:
        since, until = _waits_to_restart(run)
        order = np.argsort(since, kind="stable")
        since, until = since[order], np.maximum.accumulate(until[order])
        at = np.searchsorted(since, start, side="right") - 1
        held = until[np.maximum(at, 0)] if len(until) else np.zeros(len(start), dtype=np.int64)
        early = ran & (at >= 0) & (held > start)
        text = "job {0} starts at {1}, while a task waits until {2} to restart (jobs.csv, line {3})"
        finding.where(early, text, jobs.name, start, held, line)
    return "first come, first served"


def _waits_to_restart(run: Facts) -> tuple[Int, Int]:
    """Return [since, until) in which aborted tasks waited to restart."""
    chain = run.chain
    stays = chain.stays
    rows = np.flatnonzero((stays.ended == Ended.ABORTED) & ~chain.final)
    alone = np.flatnonzero((stays.ended == Ended.ABORTED) & chain.final)
    since = np.concatenate((stays.end[rows], stays.end[alone]))
    until = np.concatenate((stays.start[rows + 1], run.jobs.deadline[stays.job[alone]]))
    return since, until
