"""Jobs as a book of promises takes them: what is known at submission, and what happened when."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.model.coded import Coded
from forestall.core.model.job_records import FINAL_STATES, NEVER
from forestall.site.learning.turnaround.book_state import (
    CANCEL,
    END,
    FAIL,
    LOSE,
    REQUEUE,
    START,
    STOP,
    SUBMIT,
)
from forestall.slurm.records.accounting import UNLIMITED, Accounting

FAILURES: Final = ("NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL")
"""States in which the system's failure ended a run."""
TAKEN: Final = ("PREEMPTED", "REVOKED", "REQUEUED", "SUSPENDED")
"""States in which the operator's rules ended a run."""
_DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class Tasks:
    """Jobs in order of submission (ties by number), each with all its runs.

    Attributes
    ----------
    which : int64[n], number of the job in the accounting
    submit : int64[n], when it was submitted or, where later, could first start
    limit : int64[n], requested time, s; 0 for none
    size : int64[n], nodes, at least 1
    user, name, part : Coded[n]; names with their digits taken out
    started, finish : int64[n], first start, and end of the last run; `NEVER`
    ending : int64[n], how it ended: END, CANCEL, LOSE, STOP; SUBMIT where that is not known
    lost, ran : int64[n], runs that failures stopped, s that the last run took (-1: none)
    events : int64[3, m], time, kind and job, in the order in which they are taken in
    left_out : jobs without a usable order of times
    """

    which: Ints
    submit: Ints
    limit: Ints
    size: Ints
    user: Coded
    name: Coded
    part: Coded
    started: Ints
    finish: Ints
    ending: Ints
    lost: Ints
    ran: Ints
    events: Ints
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def most_open(self) -> int:
        """The most jobs that were submitted and not ended at any time."""
        step = np.where(self.events[1] == SUBMIT, 1, 0)
        step -= np.isin(self.events[1], (END, CANCEL, LOSE, STOP))
        return int(np.cumsum(step).max(initial=0))


def family(name: str) -> str:
    """Return a job's name without its numbers: ``run_017`` and ``run_3`` are one family.

    >>> family("run_017.x2")
    'run_#.x#'
    """
    return _DIGITS.sub("#", name)


def tasks_of(accounting: Accounting, latest: int | None = None) -> Tasks:
    """Return the jobs of an accounting; with `latest`, only so many, the last submitted ones.

    Runs of a job that overlap are taken one after the other. A job that ended by itself without
    ever having started is left out.
    """
    runs = _by_job(accounting, latest)
    count = len(runs.first)
    start, end, kind = runs.start, runs.end, _kinds(runs)
    last = runs.last
    ended = end[last] < NEVER
    ending = np.where(ended, kind[last], SUBMIT)
    never = start[last] == NEVER
    # A run that never began cannot have ended by itself.
    strange = never & (ending == END)
    ending = np.where(never & ((ending == LOSE) | (ending == STOP)), CANCEL, ending)
    kind[last] = np.where(ended, ending, kind[last])
    keep = ~strange
    owner = np.repeat(np.arange(count), runs.runs)
    began = np.flatnonzero((start < NEVER) & keep[owner])
    closed = np.flatnonzero((end < NEVER) & keep[owner] & (kind != SUBMIT))
    closed = closed[(start[closed] < NEVER) | (kind[closed] == CANCEL)]
    submitted = np.flatnonzero(keep)
    number = np.cumsum(keep) - 1
    place = np.arange(len(start)) - runs.first[owner]
    time = np.concatenate([runs.ready[submitted], start[began], end[closed]])
    kinds = np.concatenate(
        [np.full(len(submitted), SUBMIT), np.full(len(began), START), kind[closed]]
    )
    job = number[np.concatenate([submitted, owner[began], owner[closed]])]
    phase = np.concatenate(
        [np.zeros(len(submitted), np.int64), 1 + 2 * place[began], 2 + 2 * place[closed]]
    )
    order = np.lexsort((job, phase, time))
    stopped = np.bincount(owner, kind == FAIL, minlength=count) + (ending == LOSE)
    ran = np.where(ended & ~never, end[last] - np.where(never, 0, start[last]), -1)
    made = runs.tasks
    return replace(
        made,
        which=made.which[keep],
        submit=runs.ready[keep],
        limit=made.limit[keep],
        size=made.size[keep],
        user=made.user.take(keep),
        name=made.name.take(keep),
        part=made.part.take(keep),
        started=start[runs.first][keep],
        finish=np.where(ended, end[last], NEVER)[keep],
        ending=ending[keep],
        lost=stopped.astype(np.int64)[keep],
        ran=ran[keep],
        events=np.stack([time[order], kinds[order], job[order]]).astype(np.int64),
        left_out=int(strange.sum()),
    )


@dataclass(frozen=True)
class _Runs:
    """Runs, those of a job beside each other; jobs in order of readiness."""

    accounting: Accounting
    rows: Ints
    first: Ints
    last: Ints
    runs: Ints
    ready: Ints
    start: Ints
    end: Ints
    tasks: Tasks


def _by_job(accounting: Accounting, latest: int | None) -> _Runs:
    which = accounting.which
    rows = np.argsort(which, kind="stable")
    first = np.flatnonzero(np.diff(which[rows], prepend=-1) != 0)
    submit = accounting.submit[rows[first]]
    told = accounting.eligible[rows[first]]
    start = accounting.start[rows[first]]
    ready = np.minimum(np.maximum(submit, told), np.maximum(start, submit))
    order = np.argsort(ready, kind="stable")
    if latest is not None and len(order) > latest:
        order = order[len(order) - latest :]
    size = np.diff(np.append(first, len(rows)))[order]
    begins = np.concatenate([[0], np.cumsum(size)[:-1]]) if len(size) else np.zeros(0, np.int64)
    begins = begins.astype(np.int64)
    rows = rows[np.repeat(first[order] - begins, size) + np.arange(int(size.sum()))]
    start, end = accounting.start[rows].copy(), accounting.end[rows].copy()
    ready = ready[order]
    start = np.maximum(start, np.repeat(ready, size))
    end = np.maximum(end, np.where(start < NEVER, start, np.repeat(ready, size)))
    _one_after_the_other(start, end, begins, size)
    chosen = rows[begins]
    limit = accounting.limit[chosen]
    nodes = np.maximum(accounting.nodes[chosen], accounting.asked[chosen])
    empty = np.zeros(0, np.int64)
    tasks = Tasks(
        which[chosen],
        ready,
        np.where((limit > 0) & (limit < UNLIMITED), limit, 0),
        np.maximum(nodes, 1).astype(np.int64),
        accounting.user.take(chosen),
        _families(accounting.name.take(chosen)),
        accounting.partition.take(chosen),
        started=empty,
        finish=empty,
        ending=empty,
        lost=empty,
        ran=empty,
        events=np.zeros((3, 0), np.int64),
    )
    return _Runs(accounting, rows, begins, begins + size - 1, size, ready, start, end, tasks)


def _one_after_the_other(start: Ints, end: Ints, first: Ints, size: Ints) -> None:
    """Let no run of a job begin before the one before it ended; a run that is followed by another
    and has no end ends where that begins."""
    for begin, count in zip(first[size > 1].tolist(), size[size > 1].tolist(), strict=True):
        for at in range(begin, begin + count - 1):
            if end[at] == NEVER:
                end[at] = max(start[at + 1], start[at]) if start[at] < NEVER else NEVER
            if end[at] < NEVER:
                start[at + 1] = max(start[at + 1], end[at])
                end[at + 1] = max(end[at + 1], start[at + 1]) if start[at + 1] < NEVER else NEVER


def _kinds(runs: _Runs) -> Ints:
    """Return what the end of each run is as an event; SUBMIT where it is none."""
    state = runs.accounting.base().take(runs.rows)
    last = np.zeros(len(runs.rows), np.bool_)
    last[runs.last] = True
    failed, taken = state.among(FAILURES), state.among(TAKEN)
    final = np.where(failed, LOSE, np.where(taken, STOP, END))
    final = np.where(state.among(("CANCELLED",)), CANCEL, final)
    final = np.where(state.among((*FINAL_STATES, *TAKEN)) | ~state.told, final, SUBMIT)
    # A run that was queued again is over for the machine only.
    again = np.where(failed, FAIL, REQUEUE)
    waits = state.among(("REQUEUED",))
    kind = np.where(last & ~waits, final, again)
    begun = runs.start < NEVER
    return np.where(begun | (last & ~waits), kind, SUBMIT).astype(np.int64)


def _families(names: Coded) -> Coded:
    """Return names without their numbers, of those words that occur."""
    there, code = np.unique(names.code, return_inverse=True)
    words = tuple(names.words[k] for k in there.tolist() if k >= 0)
    shift = int(len(there) > 0 and there[0] < 0)
    return Coded((code - shift).astype(np.int32), words).mapped([family(word) for word in words])
