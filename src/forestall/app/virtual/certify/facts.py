"""What several rules make of the files of a run of virtual machines: the stays of each task one
after the other, what each can have done, and when nodes were down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forestall.app.kit.certify.intervals import Axis, firsts, lasts, merged
from forestall.app.kit.certify.sheet import NONE, Bool, Int
from forestall.app.kit.certify.sums import per, total
from forestall.app.virtual.certify.files import JOB_FATES, StayRows, VirtualRun
from forestall.model.virtual_books import Begun, Ended


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
    ended = (stays.ended == Ended.COMPLETED) | (stays.ended == Ended.LATE)
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


@dataclass(frozen=True)
class Outages:
    """When nodes are down: disjoint intervals [start, end) of each, ascending by (node, start)."""

    node: Int
    start: Int
    end: Int

    def held(self, begin: int, end: int, capacity: Int) -> int:
        """Return the capacity, int64[nodes], times the seconds within [begin, end)."""
        seconds = np.clip(self.end, begin, end) - np.clip(self.start, begin, end)
        return int((capacity[self.node] * seconds).sum())


def outages(run: VirtualRun) -> Outages:
    """Return the outages; failures while a node is down prolong its outage."""
    failures = run.failures
    until = failures.time + failures.downtime
    axis = Axis.over(failures.time, until)
    start, end = merged(axis.key(failures.node, failures.time), axis.key(failures.node, until))
    # The end of an outage lies on the axis before its node's part of it ends.
    return Outages(axis.owner(start), axis.time(start), axis.time(end))


@dataclass(frozen=True)
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
        return outages(self)

    @cached_property
    def told(self) -> dict[str, Int]:
        """The columns of `jobs.csv` that follow from the stays."""
        return job_fates(self, self.chain)

    @cached_property
    def account(self) -> dict[str, int]:
        """Where the capacity went, thousandths of a processor-second."""
        return account_of(self)


def job_fates(run: VirtualRun, chain: Chain) -> dict[str, Int]:
    """Return the columns of `jobs.csv` that follow from the stays."""
    jobs, stays = run.jobs, chain.stays
    count = len(jobs.name)
    far = np.iinfo(np.int64).max
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
        "migrations": per(run.moves.job, count),
    }


def end_of(run: VirtualRun, chain: Chain) -> int:
    """Return the last second in which something happened to a job."""
    jobs, stays = run.jobs, chain.stays
    latest = [np.where(jobs.finish == NONE, jobs.deadline, jobs.finish)]
    if run.given.interval and run.given.stops:
        # Tasks that wait for their restart do so until their deadline.
        waiting = (stays.ended == Ended.ABORTED) & chain.final
        latest.append(jobs.deadline[stays.job[waiting]])
    return int(np.concatenate(latest).max())


def account_of(run: Facts) -> dict[str, int]:
    """Return where the capacity went, thousandths of a processor-second."""
    jobs, chain, given = run.jobs, run.chain, run.given
    stays, every = chain.stays, run.stays
    begin, end = int(jobs.submit.min()), end_of(run, chain)
    ended = stays.index[
        chain.final & ((stays.ended == Ended.COMPLETED) | (stays.ended == Ended.LATE))
    ]
    whole = np.zeros(int(jobs.first[-1]), dtype=np.bool_)
    whole[ended] = True
    counted = stays.work - stays.lost
    full = whole[stays.index]
    done = total(stays.work)
    hold = total(every.rate * np.maximum(every.end - every.start, 0))
    whole_machine = int(given.capacity.sum()) * (end - begin)
    out = run.down.held(begin, end, given.capacity)
    return {
        "useful": total(counted[full]),
        "lost": total(stays.lost),
        "stopped": total(counted[~full]),
        "paused": hold - done,
        "idle": whole_machine - hold - out,
        "down": out,
        "total": whole_machine,
    }
