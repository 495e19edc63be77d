"""What several rules make of the files of a run of cycle sharing: what hosts were, how much work a
stay can have done, and when jobs were tried.

Within a run of one state only its work as a whole is known. Of a part of it the work is at most
what the host does at full speed in that part, and at least the whole less what it does at full
speed in the rest; a run that is covered wholly gives exactly its work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from forestall.core.certify.intervals import Axis, last_begun, spread
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.certify.sums import per
from forestall.core.model.cycle import Fate, StayEnd
from forestall.sharing.certify.files import LAST, PARTS, CycleRun, Spans

NO_START = np.iinfo(np.int64).max


@dataclass(frozen=True)
class HostAxis:
    """All hosts' states on one axis, one host after the other: keys of where rows begin, work done
    before each row, and the most that its host can do in a second, in millionths."""

    spans: Spans
    key: Int
    done: Int
    cap: Int
    axis: Axis

    @classmethod
    def of(cls, run: CycleRun) -> Self:
        """Return the axis of a run's hosts."""
        spans, stays, most = run.spans, run.stays, run.most
        low = np.rint(run.hosts.speed * PARTS * (1 - run.given.th1)).astype(np.int64) + 1
        kinds = [spans.state == 0, spans.state == 1]
        cap = np.minimum(np.select(kinds, [most[spans.host], low[spans.host]]), most[spans.host])
        bounds = np.array([run.start, run.end])
        axis = Axis.over(bounds, spans.start, spans.end, stays.start, stays.end)
        done = np.cumsum(spans.work) - spans.work
        return cls(spans, axis.key(spans.host, spans.start), done, cap, axis)

    def row(self, host: Int, time: Int) -> Int:
        """Return the row that each host is in at a time; the first or last one where there is
        none."""
        at = np.searchsorted(self.key, self.axis.key(host, time), side="right") - 1
        return np.clip(at, 0, max(len(self.key) - 1, 0))

    def bounds(self, host: Int, since: Int, until: Int) -> tuple[Int, Int]:
        """Return the least and the most work that hosts can have done from `since` to `until`."""
        if not len(self.key):
            none = np.zeros(len(host), dtype=np.int64)
            return none, none
        until = np.maximum(since, until)
        first, last = self.row(host, since), self.row(host, np.maximum(until - 1, since))
        spans = self.spans
        within = first == last
        head = np.where(within, until, spans.end[first]) - since
        least, most = self._part(first, head)
        tail_least, tail_most = self._part(last, until - spans.start[last])
        between = np.where(within, 0, self.done[last] - self.done[first] - spans.work[first])
        least = least + np.where(within, 0, tail_least) + between
        most = most + np.where(within, 0, tail_most) + between
        return least, most

    def _part(self, row: Int, seconds: Int) -> tuple[Int, Int]:
        spans, cap = self.spans, self.cap[row]
        work, length = spans.work[row], spans.end[row] - spans.start[row]
        covered = np.clip(seconds, 0, length)
        most = np.minimum(work, covered * cap)
        least = np.maximum(work - (length - covered) * cap, 0)
        return np.minimum(least, most), most


@dataclass(frozen=True)
class Progress:
    """What each stay can have done: the least and the most work, in all and up to its last
    completed checkpoint, in millionths; checkpoints completed on the way; whether its end lies in
    a pause, where no work can be done."""

    least: Int
    most: Int
    kept_least: Int
    kept_most: Int
    checkpoints: Int
    paused: Bool


@dataclass(frozen=True)
class Waits:
    """Times from a submission, or the end of a stay, to the next start, or to no start: position
    of the job; from when on; until when (NO_START: never); whether nothing was started before."""

    job: Int
    since: Int
    until: Int
    fresh: Bool


class Facts(CycleRun):
    """The files of a run, and what several rules make of them."""

    @cached_property
    def axis(self) -> HostAxis:
        """All hosts' states on one axis."""
        return HostAxis.of(self)

    @cached_property
    def owner_of_transfer(self) -> Int:
        """int64[transfers]: the stay of each, -1 where there is none. A last checkpoint begins as
        its stay ends."""
        rows, stays = self.transfers, self.stays
        if not len(stays):
            return np.full(len(rows), -1, dtype=np.int64)
        final = rows.kind == LAST
        moment = rows.start - final
        stay = last_begun(stays.job, stays.start, rows.job, moment)
        inside = (stay >= 0) & (stays.host[stay] == rows.host) & (moment < stays.end[stay])
        return np.where(inside & (~final | (rows.start == stays.end[stay])), stay, -1)

    @cached_property
    def _transfers_by_stay(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for row, stay in enumerate(self.owner_of_transfer.tolist()):
            found.setdefault(stay, []).append(row)
        return found

    def transfers_of_stay(self, stay: int) -> list[int]:
        """Return the transfers of a stay, in order of their starts."""
        return self._transfers_by_stay.get(stay, [])

    @cached_property
    def free_again(self) -> Int:
        """int64[stays]: when the job of each can be placed again."""
        again = self.stays.end.copy()
        if self.given.stores is not None:
            last = (self.owner_of_transfer >= 0) & (self.transfers.kind == LAST)
            again[self.owner_of_transfer[last]] = self.transfers.until[last]
        return again

    def work_bounds(self, stay: int, time: int, *, since: bool = False) -> tuple[int, int]:
        """Return the least and the most work of its job that can have been done in a stay up to a
        time: `since` its beginning, else with what it went on from."""
        stays, rows = self.stays, self.transfers
        begin, done = int(stays.start[stay]), stays.ended[stay] == StayEnd.COMPLETED
        pieces = []
        for row in self.transfers_of_stay(stay):
            if rows.start[row] < time or rows.start[row] == stays.start[stay]:
                pieces.append((begin, min(int(rows.start[row]), time)))
                begin = int(rows.until[row])
        pieces.append((begin, max(time, begin)))
        host = np.full(len(pieces), stays.host[stay])
        first, until = (np.array([one[k] for one in pieces]) for k in (0, 1))
        most = self.axis.bounds(host, first, until)[1]
        # Work is done in the first second that it can be.
        short = np.where((until == stays.end[stay]) & done, until - 1, until)
        least = self.axis.bounds(host, first, np.maximum(short, first))[0]
        before = 0 if since else int(stays.resumed[stay])
        return before + int(least.sum()), before + int(most.sum())

    @cached_property
    def progress(self) -> Progress:
        """What each stay can have done.

        Progress begins when a restart from a checkpoint is over. A checkpoint begins after each
        interval, and takes its pause; one whose pause ends as the stay does is complete.
        """
        stays, given = self.stays, self.given
        if given.stores is not None:
            return self._progress_between_transfers()
        count, done = len(stays), stays.ended == StayEnd.COMPLETED
        since = stays.start + np.where(stays.before > 0, given.restart, 0)
        end = stays.working
        left = np.maximum(end - since, 0)
        if not given.interval:
            parts, full = (left > 0).astype(np.int64), np.zeros(count, dtype=np.int64)
        else:
            turn = given.interval + given.overhead
            parts = -(-left // turn)
            # Of a completed stay those that begin before its end; else those that are over by then.
            full = np.where(done, -(-(left - given.interval) // turn), left // turn)
            full = np.maximum(full, 0)
        owner, number = spread(parts)
        length = given.interval if given.interval else np.iinfo(np.int64).max // 4
        begin = since[owner] + number * (length + given.overhead if given.interval else 0)
        until = np.minimum(end[owner] - begin, length) + begin
        # Work is done in the first second that it can be: what was done a second before was less.
        before = np.where(done[owner], np.minimum(until, stays.end[owner] - 1), until)
        host = stays.host[owner]
        most = self.axis.bounds(host, begin, until)[1]
        least = self.axis.bounds(host, begin, np.maximum(before, begin))[0]
        kept = number < full[owner]
        paused = done & (full >= parts) & (parts > 0)
        saved = (self.axis.bounds(host, begin, until)[0] * kept, most * kept)
        whole = (per(owner, count, least), per(owner, count, most))
        to_last = (per(owner, count, saved[0]), per(owner, count, saved[1]))
        return Progress(*whole, *to_last, full, paused)

    def _progress_between_transfers(self) -> Progress:
        """Return what each stay can have done outside its transfers to and from the vault."""
        stays, rows = self.stays, self.transfers
        count, done = len(stays), stays.ended == StayEnd.COMPLETED
        bounds = [self.work_bounds(k, int(stays.end[k]), since=True) for k in range(count)]
        least, most = (np.array([one[k] for one in bounds], dtype=np.int64) for k in (0, 1))
        in_stay = (self.owner_of_transfer >= 0) & (rows.kind != LAST)
        owner = self.owner_of_transfer[in_stay]
        paused = np.zeros(count, dtype=np.bool_)
        paused[owner] = rows.until[in_stay] >= stays.end[owner]
        none = np.zeros(count, dtype=np.int64)
        return Progress(least, most, none, most, none, paused & done)

    @cached_property
    def waits(self) -> Waits:
        """All waits of jobs; after a last checkpoint they begin as that is over."""
        stays, jobs = self.stays, self.jobs
        since = np.where(stays.first, jobs.submit[stays.job], 0)
        since[1:] = np.where(stays.first[1:], since[1:], self.free_again[:-1])
        idle = np.ones(len(jobs), dtype=np.bool_)
        idle[stays.job] = False
        never = np.flatnonzero(idle)
        lost = stays.last & stays.again
        job = np.concatenate((stays.job, never, stays.job[lost]))
        start = np.concatenate((since, jobs.submit[never], self.free_again[lost]))
        until = np.concatenate(
            (stays.start, np.full(len(never) + int(lost.sum()), NO_START, dtype=np.int64))
        )
        fresh = np.concatenate(
            (stays.first, np.ones(len(never), np.bool_), np.zeros(int(lost.sum()), np.bool_))
        )
        return Waits(job, start, until, fresh)

    @cached_property
    def tries(self) -> Int:
        """How often a job was tried in each wait, the last time with success where it was started;
        those of jobs that were given up as `jobs.csv` says."""
        jobs, given, waits = self.jobs, self.given, self.waits
        started = waits.until != NO_START
        ended = np.where(started, waits.until, given.end - 1)
        tries = np.maximum((ended - waits.since) // given.retry + 1, 0)
        given_up = ~started & (jobs.fate[waits.job] == Fate.UNSCHEDULED)
        return np.where(given_up, jobs.tries[waits.job], tries)

    @cached_property
    def try_times(self) -> tuple[Int, Int]:
        """Job and time of every try."""
        owner, number = spread(self.tries)
        return self.waits.job[owner], self.waits.since[owner] + number * self.given.retry

    def free_hosts(self, time: Int, job: Int) -> Int:
        """Return how many hosts are in S1 or S2 and without a guest when a job is tried at a time:
        jobs that are tried in the same second in order of their submission."""
        spans, stays = self.spans, self.stays
        here = spans.available
        begun, over = np.sort(spans.start[here]), np.sort(spans.end[here])
        ready = np.searchsorted(begun, time, "right") - np.searchsorted(over, time, "right")
        came = np.searchsorted(np.sort(stays.start), time, "left")
        went = np.searchsorted(np.sort(stays.end), time, "right")
        count = len(self.jobs)
        keys = np.sort((stays.start - self.start) * count + stays.job)
        now = (time - self.start) * count
        earlier = np.searchsorted(keys, now + job, "left") - np.searchsorted(keys, now, "left")
        free: Int = ready - (came - went) - earlier
        return free

    def host_of(self, job: Int, time: Int) -> Int:
        """Return the host that each job was on in the second before a time, NONE where on none."""
        stays = self.stays
        if not len(stays):
            return np.full(len(job), NONE)
        row = last_begun(stays.job, stays.start, job, time, before=True)
        return np.where((row >= 0) & (stays.end[row] >= time), stays.host[row], NONE)

    @cached_property
    def useful_work(self) -> Int:
        """int64[stays]: work that helped to complete a job, in millionths."""
        stays = self.stays
        done = np.isin(stays.job, stays.job[stays.ended == StayEnd.COMPLETED])
        return np.where(done, stays.work - stays.lost, 0)
