"""The certifier's look at work: what was done in each stay, saved, lost, and written to
checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.app.cycle.certify.files import AWAY, DONE, CycleFolder
from forestall.app.cycle.certify.sheet import PARTS
from forestall.app.cycle.certify.spans import Axis
from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import Bool, Int


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


def progress_of(folder: CycleFolder, axis: Axis) -> Progress:
    """Return what each stay can have done.

    Progress begins when a restart from a checkpoint is over. A checkpoint begins after each
    interval, and takes its pause; one whose pause ends as the stay does is complete.
    """
    stays, given = folder.stays, folder.given
    count, done = len(stays), stays.ended == DONE
    since = stays.start + np.where(stays.before > 0, given.restart, 0)
    left = np.maximum(stays.end - since, 0)
    if not given.interval:
        parts, full = (left > 0).astype(np.int64), np.zeros(count, dtype=np.int64)
    else:
        turn = given.interval + given.overhead
        parts = -(-left // turn)
        # A completed stay has those that begin before its end; others those that are over by then.
        full = np.where(done, -(-(left - given.interval) // turn), left // turn)
        full = np.maximum(full, 0)
    owner = np.repeat(np.arange(count), parts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(parts) - parts, parts)
    length = given.interval if given.interval else np.iinfo(np.int64).max // 4
    begin = since[owner] + number * (length + given.overhead if given.interval else 0)
    until = np.minimum(stays.end[owner] - begin, length) + begin
    # Work is done in the first second that it can be: what was done a second before was less.
    before = np.where(done[owner], np.minimum(until, stays.end[owner] - 1), until)
    host = stays.host[owner]
    most = axis.bounds(host, begin, until)[1]
    least = axis.bounds(host, begin, np.maximum(before, begin))[0]
    kept = number < full[owner]

    def summed(values: Int, chosen: Bool | None = None) -> Int:
        total = np.zeros(count, dtype=np.int64)
        rows = owner if chosen is None else owner[chosen]
        np.add.at(total, rows, values if chosen is None else values[chosen])
        return total

    paused = done & (full >= parts) & (parts > 0)
    kept_least = axis.bounds(host, begin, until)[0]
    return Progress(
        summed(least), summed(most), summed(kept_least, kept), summed(most, kept), full, paused
    )


def check_work(folder: CycleFolder, axis: Axis) -> Check:
    """Each stay did what its host could do for it meanwhile."""
    stays, jobs = folder.stays, folder.jobs
    found = progress_of(folder, axis)
    finding = Finding("work of each stay")
    done = stays.ended == DONE
    least = found.least + done  # less than all was done a second before the end
    names = jobs.name[stays.job]
    work = stays.work / PARTS
    text = (
        "job {0} did {1} on host {2} from {3} to {4}, which can do {5} at {6} (stays.csv, line {7})"
    )
    places = (stays.host, stays.start, stays.end)
    above = ["most"] * len(stays)
    below = ["least"] * len(stays)
    labels = (names, work, *places)
    finding.where(stays.work > found.most, text, *labels, found.most / PARTS, above, stays.line)
    finding.where(stays.work < least, text, *labels, least / PARTS, below, stays.line)
    text = "job {0} ends at {1}, while a checkpoint is taken (stays.csv, line {2})"
    finding.where(found.paused, text, names, stays.end, stays.line)
    exact = int((least >= found.most).sum())
    return finding.check(f"{len(stays)} stays within what their hosts could do, {exact} exactly")


def check_saved(folder: CycleFolder, axis: Axis) -> Check:
    """Work, saved and lost, add up from stay to stay; checkpoints are those that the interval and
    their overhead allow."""
    stays, jobs, given = folder.stays, folder.jobs, folder.given
    found = progress_of(folder, axis)
    finding = Finding("work saved and lost")
    names, done = jobs.name[stays.job], stays.ended == DONE
    whole = jobs.runtime[stays.job] * PARTS
    reached = stays.before + stays.work
    text = "job {0} has {1} of {2} done as it is completed (millionths; stays.csv, line {3})"
    finding.where(done & (reached != whole), text, names, reached, whole, stays.line)
    text = "job {0} has {1} of {2} done, and is not completed (millionths; stays.csv, line {3})"
    finding.where(~done & (reached >= whole), text, names, reached, whole, stays.line)
    at_end = stays.left & (stays.ended != AWAY) & given.at_end
    least = stays.before + np.where(at_end, stays.work, found.kept_least)
    most = stays.before + np.where(at_end, stays.work, np.minimum(found.kept_most, stays.work))
    if not given.resumes:
        least, most = np.zeros_like(least), np.zeros_like(most)
    least, most = np.where(done, whole, least), np.where(done, whole, most)
    text = "job {0} has {1} saved at {2}, where it can be {3} to {4} (stays.csv, line {5})"
    odd = (stays.saved < least) | (stays.saved > most)
    told = (stays.saved / PARTS, stays.end, least / PARTS, most / PARTS)
    finding.where(odd, text, names, *told, stays.line)
    lost = np.where(stays.left, reached - stays.saved, 0)
    text = "job {0} lost {1} at {2}, where work and saved tell {3} (stays.csv, line {4})"
    said = (stays.lost / PARTS, stays.end, lost / PARTS)
    finding.where(stays.lost != lost, text, names, *said, stays.line)
    taken = found.checkpoints + at_end
    text = "job {0} has {1} checkpoints from {2} to {3}, where there is time for {4} "
    text += "(stays.csv, line {5})"
    places = (stays.checkpoints, stays.start, stays.end, taken)
    finding.where(stays.checkpoints != taken, text, names, *places, stays.line)
    total = int(stays.checkpoints.sum())
    return finding.check(f"{total} checkpoints in {len(stays)} stays" if given.resumes else
                         "all work of a stay is lost with its host")  # fmt: skip


# ------------------------------------------------------------------------------------------ tries


@dataclass(frozen=True)
class Waits:
    """Times from a submission, or the loss of a host, to the next start, or to no start: position
    of the job; from when on; until when (NO_START: never); whether nothing was started before."""

    job: Int
    since: Int
    until: Int
    fresh: Bool


NO_START = np.iinfo(np.int64).max
MOST_TRIES = 20_000_000
"""So many tries without success are looked at, at most; of more, the first of each wait."""


def waits_of(folder: CycleFolder) -> Waits:
    """Return all waits."""
    stays, jobs = folder.stays, folder.jobs
    since = np.where(stays.first, jobs.submit[stays.job], 0)
    since[1:] = np.where(stays.first[1:], since[1:], stays.end[:-1])
    idle = np.ones(len(jobs), dtype=np.bool_)
    idle[stays.job] = False
    never = np.flatnonzero(idle)
    lost = stays.last & stays.left
    job = np.concatenate((stays.job, never, stays.job[lost]))
    start = np.concatenate((since, jobs.submit[never], stays.end[lost]))
    until = np.concatenate(
        (stays.start, np.full(len(never) + int(lost.sum()), NO_START, dtype=np.int64))
    )
    fresh = np.concatenate(
        (stays.first, np.ones(len(never), np.bool_), np.zeros(int(lost.sum()), np.bool_))
    )
    return Waits(job, start, until, fresh)


def tries_of(folder: CycleFolder, waits: Waits) -> Int:
    """Return how often a job was tried in each wait, the last time with success where it was
    started; those of jobs that were given up as `jobs.csv` says."""
    jobs, given = folder.jobs, folder.given
    started = waits.until != NO_START
    ended = np.where(started, waits.until, given.end - 1)
    tries = np.maximum((ended - waits.since) // given.retry + 1, 0)
    given_up = ~started & (jobs.fate[waits.job] == 1)
    return np.where(given_up, jobs.tries[waits.job], tries)


def check_tries(folder: CycleFolder, waits: Waits, tries: Int) -> Check:
    """Jobs are tried at once, and then every `retry` seconds; those never started no more than
    `retries` times again."""
    jobs, given = folder.jobs, folder.given
    finding = Finding("tries")
    names, started = jobs.name[waits.job], waits.until != NO_START
    off = started & ((waits.until < waits.since) | ((waits.until - waits.since) % given.retry != 0))
    text = "job {0} starts at {1}, having waited since {2}, and it is tried every {3} s"
    every = np.full(len(names), given.retry)
    finding.where(off, text, names, waits.until, waits.since, every)
    given_up = ~started & waits.fresh & (jobs.fate[waits.job] == 1)
    most = given.retries + 1
    limit = np.full(len(names), most)
    if not given.may_doom:
        text = "job {0} was tried {1} times before its first start, and {2} are allowed"
        finding.where(waits.fresh & (tries > most), text, names, tries, limit)
    text = "job {0} was given up after {1} tries, and {2} are due"
    finding.where(given_up & (tries < most), text, names, tries, limit)
    late = given_up & (waits.since + (tries - 1) * given.retry >= given.end)
    finding.where(late, "job {0} was given up after the host traces end", names)
    total = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(total, waits.job, tries)
    text = "job {0} was tried {1} times by jobs.csv (line {3}), {2} by its stays"
    line = np.arange(len(jobs)) + 2
    finding.where(jobs.tries != total, text, jobs.name, jobs.tries, total, line)
    return finding.check(f"{int(total.sum())} tries of {len(jobs)} jobs")


def try_times(folder: CycleFolder, waits: Waits, tries: Int) -> tuple[Int, Int]:
    """Return job and time of every try."""
    owner = np.repeat(np.arange(len(tries)), tries)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(tries) - tries, tries)
    return waits.job[owner], waits.since[owner] + number * folder.given.retry


def free_hosts(folder: CycleFolder, time: Int, job: Int) -> Int:
    """Return how many hosts are in S1 or S2 and without a guest when a job is tried at a time: jobs
    that are tried in the same second in order of their submission."""
    spans, stays = folder.spans, folder.stays
    here = spans.available
    begun, over = np.sort(spans.start[here]), np.sort(spans.end[here])
    ready = np.searchsorted(begun, time, "right") - np.searchsorted(over, time, "right")
    came = np.searchsorted(np.sort(stays.start), time, "left")
    went = np.searchsorted(np.sort(stays.end), time, "right")
    count = len(folder.jobs)
    keys = np.sort((stays.start - folder.start) * count + stays.job)
    now = (time - folder.start) * count
    earlier = np.searchsorted(keys, now + job, "left") - np.searchsorted(keys, now, "left")
    free: Int = ready - (came - went) - earlier
    return free


def check_waits(folder: CycleFolder, waits: Waits, tries: Int) -> Check:
    """Where a job had to wait, no host was free and available."""
    jobs, given = folder.jobs, folder.given
    finding = Finding("waiting only where no host is free")
    if given.may_doom:
        return finding.check("not asked: jobs wait for a host that will last")
    failed = np.maximum(tries - (waits.until != NO_START), 0)
    if int(failed.sum()) > MOST_TRIES:
        failed = np.minimum(failed, MOST_TRIES // len(failed))
    owner = np.repeat(np.arange(len(failed)), failed)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(failed) - failed, failed)
    time = waits.since[owner] + number * given.retry
    known = time < folder.end
    time, job = time[known], waits.job[owner[known]]
    free = free_hosts(folder, time, job)
    text = "job {0} waits at {1}, and {2} hosts are free and available"
    finding.where(free > 0, text, jobs.name[job], time, free)
    return finding.check(f"{len(time)} tries found none")
