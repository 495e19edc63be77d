"""The certifier's look at the stays of each task, one after the other: places, progress, losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import Bool, Int
from forestall.app.virtual.certify.files import (
    ABORTED,
    CANCELLED,
    COMPLETED,
    LATE,
    MIGRATED,
    MOVED,
    PLACED,
    RESTARTED,
    STOPPED,
    StayRows,
    VirtualFolder,
)


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


def chain_of(folder: VirtualFolder) -> Chain:
    """Return the stays in order. Of stays of no length the order in the file counts."""
    stays = folder.stays
    rows = np.flatnonzero(stays.ended != CANCELLED)
    key = (stays.start[rows], stays.end[rows], stays.index[rows])
    stays = stays.take(rows[np.lexsort(key)])
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = stays.index[1:] != stays.index[:-1]
    final = np.append(fresh[1:], True) if len(rows) else fresh
    anew = fresh | (stays.begun == RESTARTED)
    begins = np.maximum.accumulate(np.where(anew, np.arange(len(rows)), 0))
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))
    counted = stays.work - stays.lost
    before = np.cumsum(counted) - counted
    return Chain(stays, fresh, final, begins, before - before[first])


def _since(values: Int, begins: Int) -> Int:
    """Return the sum of what comes before each value, from the position `begins` on."""
    before = np.cumsum(values) - values
    result: Int = before - before[begins]
    return result


def check_places(folder: VirtualFolder, chain: Chain) -> Check:
    """A task is in one place at a time, and each stay follows from the one before."""
    stays, given = chain.stays, folder.given
    finding = Finding("one place at a time")
    names = folder.jobs.name[stays.job]
    labels = (names, stays.number, stays.start, stays.line)
    back = np.maximum(np.arange(len(stays)) - 1, 0)
    follows = ~chain.fresh
    was, left = stays.ended[back], stays.end[back]
    finding.where(
        follows & (stays.runs_from < left),
        "task {1} of job {0} runs in two places at {2} (runs.csv, lines {3} and {4})",
        *(names, stays.number, stays.runs_from, stays.line, stays.line[back]),
    )
    live = (stays.begun == MIGRATED) & (given.copy > 0)
    wrong = follows & (stays.start < left) & ~live
    finding.where(wrong, "task {1} of job {0} holds two nodes at {2} (runs.csv, line {3})", *labels)
    for bad, text in (
        (chain.fresh & (stays.begun != PLACED), "begins otherwise than placed, at {2}"),
        (follows & (stays.begun == PLACED), "is placed again at {2}"),
        (follows & (stays.begun == MIGRATED) & (was != MOVED), "arrives at {2}, but did not leave"),
        (follows & (stays.begun == RESTARTED) & (was != ABORTED), "restarts at {2}, not aborted"),
        (chain.final & (stays.ended == MOVED), "leaves for nowhere, after its stay from {2}"),
    ):
        finding.where(bad, "task {1} of job {0} " + text + " (runs.csv, line {3})", *labels)
    nowhere = follows & (stays.begun == MIGRATED) & (stays.node == stays.node[back])
    finding.where(
        nowhere, "task {1} of job {0} moves at {2} to where it is (runs.csv, line {3})", *labels
    )
    _check_reservations(folder, finding)
    return finding.check(f"{len(stays)} stays of {int(chain.fresh.sum())} tasks follow each other")


def _check_reservations(folder: VirtualFolder, finding: Finding) -> None:
    """Reservations are made for moves only, one at a time, and nothing is done in them."""
    every = folder.stays
    mine = every.take(np.flatnonzero(every.ended == CANCELLED))
    names = folder.jobs.name[mine.job]
    idle = (mine.begun != MIGRATED) | (mine.work != 0) | (mine.lost != 0) | (mine.checkpoints != 0)
    text = "task {1} of job {0}: more than a reservation was cancelled (runs.csv, line {2})"
    finding.where(idle, text, names, mine.number, mine.line)
    order = np.lexsort((mine.start, mine.index))
    mine = mine.take(order)
    twice = np.zeros(len(mine), dtype=np.bool_)
    twice[1:] = (mine.index[1:] == mine.index[:-1]) & (mine.start[1:] < mine.end[:-1])
    text = "task {1} of job {0} has two reservations at {2} (runs.csv, line {3})"
    finding.where(twice, text, names[order], mine.number, mine.start, mine.line)


@dataclass(frozen=True)
class Progress:
    """What each stay of a chain can have done: s of progress; checkpoints; progress at the last of
    them, s; when it would have ended; s of progress that it needed."""

    seconds: Int
    checkpoints: Int
    saved: Int
    planned: Int
    needed: Int


def progress_of(folder: VirtualFolder, chain: Chain) -> Progress:
    """Return the progress of each stay by its length.

    A checkpoint is due after each `interval` s of progress since the last one (in earlier stays,
    too), takes `overhead` s, and none is taken at the end of the work. One that a move breaks is
    due at once at the target.
    """
    stays, given = chain.stays, folder.given
    left = folder.jobs.runtime[stays.job] * given.most - chain.before
    needed = -(-left // np.maximum(stays.rate, 1))
    there = np.maximum(stays.end - stays.runs_from, 0)
    none = np.zeros(len(stays), dtype=np.int64)
    ended = (stays.ended == COMPLETED) | (stays.ended == LATE)
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


def check_work(folder: VirtualFolder, chain: Chain, progress: Progress) -> Check:
    """The work of each stay is its rate times its progress, and that of a task adds up to all."""
    stays, given = chain.stays, folder.given
    finding = Finding("work of each stay")
    names = folder.jobs.name[stays.job]
    whole = folder.jobs.runtime[stays.job] * given.most
    ended = (stays.ended == COMPLETED) | (stays.ended == LATE)
    wait = np.where(stays.begun == MIGRATED, given.copy + given.still, 0)
    text = (
        "task {1} of job {0} makes progress from {2} on, not {3} s after {4} (runs.csv, line {5})"
    )
    odd = stays.runs_from != stays.start + wait
    labels = (names, stays.number)
    finding.where(odd, text, *labels, stays.runs_from, wait, stays.start, stays.line)
    text = "task {1} of job {0} ends at {2}, and its work at {3} (runs.csv, line {4})"
    early = np.where(ended, stays.end != progress.planned, stays.end >= progress.planned)
    finding.where(early, text, *labels, stays.end, progress.planned, stays.line)
    could = np.where(ended, whole - chain.before, stays.rate * progress.seconds)
    text = "task {1} of job {0} did {2:.3f} in a stay that can hold {3:.3f} (runs.csv, line {4})"
    said, mine = stays.work / 1000, could / 1000
    finding.where(stays.work != could, text, *labels, said, mine, stays.line)
    text = "task {1} of job {0}: {2} checkpoints in a stay that can hold {3} (runs.csv, line {4})"
    off = stays.checkpoints != progress.checkpoints
    finding.where(off, text, *labels, stays.checkpoints, progress.checkpoints, stays.line)
    return finding.check(f"rate x progress of {len(stays)} stays, {int(ended.sum())} to the end")


def check_losses(folder: VirtualFolder, chain: Chain, progress: Progress) -> Check:
    """An aborted task loses what it did since its last start, restart or checkpoint."""
    stays = chain.stays
    finding = Finding("work lost")
    # Up to the last checkpoint since the task began or restarted, nothing is lost.
    place = np.arange(len(stays))
    marked = np.where(stays.checkpoints > 0, place, -1)
    latest = np.maximum.accumulate(marked) if len(stays) else marked
    some = latest >= chain.begins
    origin = np.where(some, latest, chain.begins)
    total = np.cumsum(stays.work)
    since = total - total[origin] + stays.work[origin]
    since -= np.where(some, (stays.rate * progress.saved)[origin], 0)
    expected = np.where(stays.ended == ABORTED, since, 0)
    text = "task {1} of job {0} lost {2:.3f} at {3}; it had {4:.3f} to lose (runs.csv, line {5})"
    labels = (folder.jobs.name[stays.job], stays.number, stays.lost / 1000, stays.end)
    finding.where(stays.lost != expected, text, *labels, expected / 1000, stays.line)
    return finding.check(f"{int(stays.lost.sum()) / 1000:,.3f} processor-seconds, stay by stay")


def check_deadlines(folder: VirtualFolder, chain: Chain) -> Check:
    """Who ended in time, too late, or was stopped, as the deadlines have it."""
    stays, given = chain.stays, folder.given
    finding = Finding("deadlines")
    deadline = folder.jobs.deadline[stays.job]
    labels = (folder.jobs.name[stays.job], stays.number, stays.end, deadline, stays.line)
    where = "task {1} of job {0} "
    line = " (deadline {3}; runs.csv, line {4})"
    for bad, text in (
        ((stays.ended == COMPLETED) & (stays.end > deadline), "completes at {2}, too late"),
        ((stays.ended == LATE) & (stays.end <= deadline), "is late at {2}, in time"),
        ((stays.ended == STOPPED) & (stays.end != deadline), "is stopped at {2}"),
    ):
        finding.where(bad, where + text + line, *labels)
    if given.stops:
        finding.where(stays.end > deadline, where + "is there until {2}" + line, *labels)
    else:
        finding.where(stays.ended == STOPPED, where + "is stopped, and may run on" + line, *labels)
    bound = (stays.begun == PLACED) | ((stays.begun == RESTARTED) & given.stops)
    late = bound & (stays.start >= deadline)
    finding.where(late, where + "starts when its deadline has come" + line, *labels)
    if not given.interval:
        again = stays.begun == RESTARTED
        finding.where(again, where + "restarts without checkpoints" + line, *labels)
    return finding.check("kept, missed and enforced as the outcomes say")
