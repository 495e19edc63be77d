"""What several rules make of the files of a run of virtual machines: the stays of each task one
after the other, what each can have done, and when nodes were down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forestall.core.certify.intervals import Outages, firsts, lasts
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.certify.sums import per, total
from forestall.core.model.virtual_books import Begun, Ended
from forestall.machines.certify.files import JOB_FATES, StayRows, VirtualRun


@dataclass(frozen=True)
class Chain:
    """The stays that were no mere reservations, in order of (task, end).

    Attributes
    ----------
    stays : rows of `runs.csv` in this order
    fresh, final : whether each is the first, the last of its task
    begins : position of the first stay since the task began or restarted
    before : work that counted when each began, thousandths of a processor-second
    """

    stays: StayRows
    fresh: Bool
    final: Bool
    begins: Int
    before: Int


def chain_of(run: VirtualRun) -> Chain:
    """Return the stays in order. Of stays of no length the order in the file counts."""
    stays = run.stays
    rows = np.flatnonzero(stays.ended != Ended.CANCELLED)
    key = (stays.start[rows], stays.end[rows], stays.index[rows])
    stays = stays.take(rows[np.lexsort(key)])
    fresh = firsts(stays.index)
    anew = fresh | (stays.begun == Begun.RESTARTED)
    begins = np.maximum.accumulate(np.where(anew, np.arange(len(rows)), 0))
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))
    counted = stays.work - stays.lost
    before = np.cumsum(counted) - counted
    return Chain(stays, fresh, lasts(fresh), begins, before - before[first])


def _since(values: Int, begins: Int) -> Int:
    """Return the sum of what comes before each value, from the position `begins` on."""
    before = np.cumsum(values) - values
    return before - before[begins]


@dataclass(frozen=True)
class Progress:
    """What each stay of a chain can have done: s of progress; checkpoints; progress at the last of
    them, s; when it would have ended; s of progress that it needed."""

    seconds: Int
    checkpoints: Int
    saved: Int
    planned: Int
    needed: Int


def progress_of(run: VirtualRun, chain: Chain) -> Progress:
    """Return the progress of each stay by its length.

    A checkpoint is due after each `interval` s of progress since the last one (in earlier stays,
    too), takes `overhead` s, and none is taken at the end of the work. One that a move breaks is
    due at once at the target.
    """
    stays, given = chain.stays, run.given
    left = run.jobs.runtime[stays.job] * given.most - chain.before
    needed = -(-left // np.maximum(stays.rate, 1))
    there = np.maximum(stays.end - stays.runs_from, 0)
    none = np.zeros(len(stays), dtype=np.int64)
    ended = stays.over
    if not given.interval:
        seconds = np.where(ended, needed, there)
        return Progress(seconds, none, none, stays.runs_from + needed, needed)
    done = stays.work // np.maximum(stays.rate, 1)
    phase = _since(done - stays.checkpoints * given.interval, chain.begins)
    first = given.interval - np.clip(phase, 0, given.interval)
    ahead = np.where(needed > first, 1 + (needed - first - 1) // given.interval, 0)
    cycle = given.interval + given.overhead
    after = there - first - given.overhead  # since the first checkpoint was completed
    count = np.where(after >= 0, 1 + after // cycle, 0)
    # Within a round: progress for `interval` s, then a pause.
    within = np.where(after >= 0, after % cycle, there)
    until = np.where(after >= 0, given.interval, first)
    passed = np.where(count > 0, first + (count - 1) * given.interval, 0)
    seconds = passed + np.minimum(within, until)
    count = np.where(ended, ahead, np.minimum(count, ahead))
    planned = stays.runs_from + needed + ahead * given.overhead
    return Progress(np.where(ended, needed, seconds), count, passed, planned, needed)


class Facts(VirtualRun):
    """The files of a run, and what several rules make of them."""

    @cached_property
    def chain(self) -> Chain:
        """The stays of each task, one after the other."""
        return chain_of(self)

    @cached_property
    def progress(self) -> Progress:
        """What each of these stays can have done."""
        return progress_of(self, self.chain)

    @cached_property
    def down(self) -> Outages:
        """When nodes were down."""
        failures = self.failures
        return Outages.of(failures.node, failures.time, failures.downtime)

    @cached_property
    def fates(self) -> dict[str, Int]:
        """The columns of `jobs.csv` that follow from the stays."""
        jobs, stays = self.jobs, self.chain.stays
        count, far = len(jobs), np.iinfo(np.int64).max
        start, finish = np.full(count, far), np.full(count, NONE)
        np.minimum.at(start, stays.job, stays.start)
        np.maximum.at(finish, stays.job, stays.end)
        done = per(stays.job[stays.ended == Ended.COMPLETED], count)
        late = per(stays.job[stays.ended == Ended.LATE], count)
        dropped = start == far
        kinds = [dropped, done == jobs.size, done + late == jobs.size]
        return {
            "start": np.where(dropped, NONE, start),
            "finish": finish,
            "done": done,
            "completed": (~dropped & (done == jobs.size)).astype(np.int64),
            "fate": np.select(kinds, [JOB_FATES.index("dropped"), 0, 1], default=2),
            "lost": per(stays.job, count, stays.lost),
            "restarts": per(stays.job[stays.begun == Begun.RESTARTED], count),
            "migrations": per(self.moves.job, count),
        }

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first submission, and the last second in which something happened to a job."""
        jobs, stays = self.jobs, self.chain.stays
        latest = [np.where(jobs.finish == NONE, jobs.deadline, jobs.finish)]
        if self.given.interval and self.given.stops:
            # Tasks that wait for their restart do so until their deadline.
            waiting = (stays.ended == Ended.ABORTED) & self.chain.final
            latest.append(jobs.deadline[stays.job[waiting]])
        return int(jobs.submit.min()), int(np.concatenate(latest).max())

    @cached_property
    def account(self) -> dict[str, int]:
        """Where the capacity went, thousandths of a processor-second."""
        every, stays, (begin, end) = self.stays, self.chain.stays, self.span
        counted = stays.work - stays.lost
        full = np.isin(stays.index, stays.index[self.chain.final & stays.over])
        hold = total(every.rate * np.maximum(every.end - every.start, 0))
        whole = int(self.given.capacity.sum()) * (end - begin)
        out = self.down.held(begin, end, self.given.capacity)
        return {
            "useful": total(counted[full]),
            "lost": total(stays.lost),
            "stopped": total(counted[~full]),
            "paused": hold - total(stays.work),
            "idle": whole - hold - out,
            "down": out,
            "total": whole,
        }
