"""Which runs are of one job: Slurm keeps a job's id when it queues the job again, and gives ids
anew when its database or its controller's state was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER, base_state

Long = npt.NDArray[np.int64]
Short = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]

QUEUED_AGAIN: Final = frozenset(
    {"BOOT_FAIL", "LAUNCH_FAILED", "NODE_FAIL", "PREEMPTED", "RECONFIG_FAIL", "REQUEUED",
     "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"}
)  # fmt: skip
"""States of a run after which Slurm itself queues the job again."""

SLACK: Final = 5
"""Seconds by which the next run's submit may lie before the end of a run that was queued again."""


@dataclass(frozen=True)
class Runs:
    """What tells the runs of a job, in any order.

    Attributes
    ----------
    job, submit, start, end : int64[n]; `job` of a task of an array is its `task_lists.task_id`
    user, account, name : codes, int32[n]
    state : raw
    restarts : int32[n], how often the job was queued again before; None: not told
    """

    job: Long
    submit: Long
    start: Long
    end: Long
    user: Short
    account: Short
    name: Short
    state: Coded
    restarts: Short | None = None


@dataclass(frozen=True)
class Identity:
    """Rows in order of (submit, job, start), and which job each is a run of.

    Attributes
    ----------
    order : int64[m], places of the rows that are kept
    which : int64[m], numbers of jobs by their first run
    attempt : int32[m]
    repeated, older : int64, places of rows that are left out: the same as another one, and read of
        a run before it had gone as far as in another one
    reset : int64, ids of jobs that came again for other jobs
    """

    order: Long
    which: Long
    attempt: Short
    repeated: Long
    older: Long
    reset: Long


def identify(runs: Runs) -> Identity:
    """Return the runs in order, each once, by job.

    Rows of one id, submit time and number of restarts are readings of one run: the one that went
    furthest is kept. Rows of one id belong to one job as long as each run was over when the next
    was submitted, and either ended so that Slurm queues it again or ended at that very time, with
    user, account and name alike; where both hold the user is enough (the others can be changed).
    All else means that the ids were given anew.
    """
    order = _ordered(runs)
    keep, repeated, older = _readings(runs, order)
    if len(repeated) or len(older):
        order = order[keep]
    job = runs.job[order]
    by_job = np.argsort(job, kind="stable")
    job = job[by_job]
    again = np.flatnonzero(job[1:] == job[:-1]) + 1
    del job
    before, after = order[by_job[again - 1]], order[by_job[again]]
    joined = _is_next(runs, before, after)
    reset = np.unique(runs.job[after[~joined]])
    # Later runs follow the first of their job without a gap.
    later = again[joined]
    alone = np.diff(later, prepend=-1) != 1
    first = np.repeat(later[alone] - 1, np.diff(np.append(np.flatnonzero(alone), len(later))))
    rows = by_job[later]
    attempt = np.zeros(len(order), dtype=np.int32)
    attempt[rows] = later - first
    which = np.cumsum(attempt == 0) - 1
    which[rows] = which[by_job[first]]
    return Identity(order, which, attempt, repeated, older, reset)


def _ordered(runs: Runs) -> Long:
    """Return the places of all rows in order of (submit, job, start), alike ones as they came."""
    if not len(runs.job):
        return np.empty(0, dtype=np.int64)
    if runs.restarts is not None and bool(runs.restarts.any()):
        return np.lexsort((runs.restarts, runs.job, runs.submit)).astype(np.int64, copy=False)
    low, span = int(runs.submit.min()), int(runs.submit.max()) - int(runs.submit.min())
    if span < 2**31 and int(runs.job.min()) >= 0 and int(runs.job.max()) < 2**32:
        key = (runs.submit - low) << 32
        key |= runs.job
        order = np.argsort(key, kind="stable")
    else:
        order = np.lexsort((runs.job, runs.submit))
    return order.astype(np.int64, copy=False)


def _readings(runs: Runs, order: Long) -> tuple[Bool, Long, Long]:
    """Return which places of the order to keep, and the rows that repeat others or are older."""
    submit, job = runs.submit[order], runs.job[order]
    twin = np.zeros(len(order), dtype=np.bool_)
    twin[1:] = (submit[1:] == submit[:-1]) & (job[1:] == job[:-1])
    if runs.restarts is not None:
        twin[1:] &= np.diff(runs.restarts[order]) == 0
    keep = np.ones(len(order), dtype=np.bool_)
    if not bool(twin.any()):
        none = np.empty(0, dtype=np.int64)
        return keep, none, none
    member = twin.copy()
    member[:-1] |= twin[1:]
    places = np.flatnonzero(member)
    cluster = np.cumsum(~twin[places])
    rows = order[places]
    # The one kept has the latest end that is known, else the latest start; of alike ones the first.
    ended = np.where(runs.end[rows] < NEVER, runs.end[rows], -1)
    began = np.where(runs.start[rows] < NEVER, runs.start[rows], -1)
    rank = np.lexsort((-np.arange(len(rows)), began, ended, cluster))
    groups = cluster[rank]
    last = np.append(groups[1:] != groups[:-1], True)
    best = np.repeat(rank[last], np.diff(np.concatenate(([-1], np.flatnonzero(last)))))
    lost = np.ones(len(rows), dtype=np.bool_)
    lost[rank[last]] = False
    chosen = np.empty(len(rows), dtype=np.int64)
    chosen[rank] = best
    keep[places[lost]] = False
    alike = _alike(runs, rows, rows[chosen])
    return keep, rows[lost & alike], rows[lost & ~alike]


def _alike(runs: Runs, one: Long, other: Long) -> Bool:
    same = np.ones(len(one), dtype=np.bool_)
    for column in (runs.start, runs.end, runs.user, runs.account, runs.name, runs.state.code):
        same &= column[one] == column[other]
    return same


def _is_next(runs: Runs, before: Long, after: Long) -> Bool:
    """Return which rows are the next run of the job that the row before them is a run of."""
    base = [base_state(word) in QUEUED_AGAIN for word in (*runs.state.words, "")]
    queued = np.asarray(base, dtype=np.bool_)[runs.state.code[before]]
    user = runs.user[before] == runs.user[after]
    alike = user.copy()
    for column in (runs.account, runs.name):
        alike &= column[before] == column[after]
    ended, submitted = runs.end[before], runs.submit[after]
    over = (ended < NEVER) & (ended <= submitted + SLACK)
    at_once = over & (np.abs(submitted - np.where(over, ended, 0)) <= SLACK)
    return np.asarray(over & ((alike & (queued | at_once)) | (user & queued & at_once)))
