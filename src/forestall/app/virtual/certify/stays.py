"""The certifier's rules of the stays of each task, one after the other: places, work, losses."""

from __future__ import annotations

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.virtual.certify.facts import Facts
from forestall.model.virtual_books import Begun, Ended


def places(run: Facts, finding: Finding) -> str:
    """A task is in one place at a time, and each stay follows from the one before."""
    chain, given = run.chain, run.given
    stays = chain.stays
    names = run.jobs.name[stays.job]
    labels = (names, stays.number, stays.start, stays.line)
    back = np.maximum(np.arange(len(stays)) - 1, 0)
    follows = ~chain.fresh
    was, left = stays.ended[back], stays.end[back]
    finding.where(
        follows & (stays.runs_from < left),
        "task {1} of job {0} runs in two places at {2} (runs.csv, lines {3} and {4})",
        *(names, stays.number, stays.runs_from, stays.line, stays.line[back]),
    )
    live = (stays.begun == Begun.MIGRATED) & (given.copy > 0)
    wrong = follows & (stays.start < left) & ~live
    finding.where(wrong, "task {1} of job {0} holds two nodes at {2} (runs.csv, line {3})", *labels)
    for bad, text in (
        (chain.fresh & (stays.begun != Begun.PLACED), "begins at {2} without being placed"),
        (follows & (stays.begun == Begun.PLACED), "is placed again at {2}"),
        (
            follows & (stays.begun == Begun.MIGRATED) & (was != Ended.MOVED),
            "arrives at {2}, but did not leave",
        ),
        (
            follows & (stays.begun == Begun.RESTARTED) & (was != Ended.ABORTED),
            "restarts at {2}, but was not aborted",
        ),
        (
            chain.final & (stays.ended == Ended.MOVED),
            "ends its stay from {2} with a move, but arrives nowhere",
        ),
    ):
        finding.where(bad, "task {1} of job {0} " + text + " (runs.csv, line {3})", *labels)
    nowhere = follows & (stays.begun == Begun.MIGRATED) & (stays.node == stays.node[back])
    finding.where(
        nowhere,
        "task {1} of job {0} moves at {2} to the node it is on (runs.csv, line {3})",
        *labels,
    )
    _reservations(run, finding)
    tasks = int(chain.fresh.sum())
    return f"{len(stays)} stays of {tasks} tasks, each following from the one before"


def _reservations(run: Facts, finding: Finding) -> None:
    """Reservations are made for moves only, one at a time, and nothing is done in them."""
    every = run.stays
    mine = every.take(np.flatnonzero(every.ended == Ended.CANCELLED))
    names = run.jobs.name[mine.job]
    idle = (
        (mine.begun != Begun.MIGRATED)
        | (mine.work != 0)
        | (mine.lost != 0)
        | (mine.checkpoints != 0)
    )
    text = "task {1} of job {0}: what was canceled is more than a reservation (runs.csv, line {2})"
    finding.where(idle, text, names, mine.number, mine.line)
    order = np.lexsort((mine.start, mine.index))
    mine = mine.take(order)
    twice = np.zeros(len(mine), dtype=np.bool_)
    twice[1:] = (mine.index[1:] == mine.index[:-1]) & (mine.start[1:] < mine.end[:-1])
    text = "task {1} of job {0} has two reservations at {2} (runs.csv, line {3})"
    finding.where(twice, text, names[order], mine.number, mine.start, mine.line)


def work(run: Facts, finding: Finding) -> str:
    """The work of each stay is its rate times its progress, and that of a task adds up to all."""
    chain, given, progress = run.chain, run.given, run.progress
    stays = chain.stays
    names = run.jobs.name[stays.job]
    whole = run.jobs.runtime[stays.job] * given.most
    ended = (stays.ended == Ended.COMPLETED) | (stays.ended == Ended.LATE)
    wait = np.where(stays.begun == Begun.MIGRATED, given.copy + given.still, 0)
    text = (
        "task {1} of job {0} makes progress from {2} on, not {3} s after {4} (runs.csv, line {5})"
    )
    odd = stays.runs_from != stays.start + wait
    labels = (names, stays.number)
    finding.where(odd, text, *labels, stays.runs_from, wait, stays.start, stays.line)
    text = "task {1} of job {0} ends at {2}, but its work at {3} (runs.csv, line {4})"
    early = np.where(ended, stays.end != progress.planned, stays.end >= progress.planned)
    finding.where(early, text, *labels, stays.end, progress.planned, stays.line)
    could = np.where(ended, whole - chain.before, stays.rate * progress.seconds)
    text = (
        "task {1} of job {0} did {2:.3f} of work in a stay that allows {3:.3f} (runs.csv, line {4})"
    )
    said, mine = stays.work / 1000, could / 1000
    finding.where(stays.work != could, text, *labels, said, mine, stays.line)
    text = "task {1} of job {0}: {2} checkpoints in a stay that allows {3} (runs.csv, line {4})"
    off = stays.checkpoints != progress.checkpoints
    finding.where(off, text, *labels, stays.checkpoints, progress.checkpoints, stays.line)
    return f"rate x progress of {len(stays)} stays, {int(ended.sum())} of them to the end"


def losses(run: Facts, finding: Finding) -> str:
    """An aborted task loses what it did since its last start, restart or checkpoint."""
    chain, progress = run.chain, run.progress
    stays = chain.stays
    # Up to the last checkpoint since the task began or restarted, nothing is lost.
    place = np.arange(len(stays))
    marked = np.where(stays.checkpoints > 0, place, -1)
    latest = np.maximum.accumulate(marked) if len(stays) else marked
    some = latest >= chain.begins
    origin = np.where(some, latest, chain.begins)
    total = np.cumsum(stays.work)
    since = total - total[origin] + stays.work[origin]
    since -= np.where(some, (stays.rate * progress.saved)[origin], 0)
    expected = np.where(stays.ended == Ended.ABORTED, since, 0)
    text = "task {1} of job {0} lost {2:.3f} at {3}; it had {4:.3f} to lose (runs.csv, line {5})"
    labels = (run.jobs.name[stays.job], stays.number, stays.lost / 1000, stays.end)
    finding.where(stays.lost != expected, text, *labels, expected / 1000, stays.line)
    return f"{int(stays.lost.sum()) / 1000:,.3f} processor-seconds, stay by stay"


def deadlines(run: Facts, finding: Finding) -> str:
    """Who ended in time, too late, or was stopped, as the deadlines have it."""
    stays, given = run.chain.stays, run.given
    deadline = run.jobs.deadline[stays.job]
    labels = (run.jobs.name[stays.job], stays.number, stays.end, deadline, stays.line)
    where = "task {1} of job {0} "
    line = " (deadline {3}; runs.csv, line {4})"
    for bad, text in (
        (
            (stays.ended == Ended.COMPLETED) & (stays.end > deadline),
            "completes at {2}, after its deadline",
        ),
        (
            (stays.ended == Ended.LATE) & (stays.end <= deadline),
            "is recorded as late at {2}, before its deadline",
        ),
        (
            (stays.ended == Ended.STOPPED) & (stays.end != deadline),
            "is stopped at {2}, not at its deadline",
        ),
    ):
        finding.where(bad, where + text + line, *labels)
    if given.stops:
        finding.where(
            stays.end > deadline, where + "runs until {2}, past its deadline" + line, *labels
        )
    else:
        finding.where(
            stays.ended == Ended.STOPPED,
            where + "is stopped, but may run past its deadline" + line,
            *labels,
        )
    bound = (stays.begun == Begun.PLACED) | ((stays.begun == Begun.RESTARTED) & given.stops)
    late = bound & (stays.start >= deadline)
    finding.where(late, where + "starts at or after its deadline" + line, *labels)
    if not given.interval:
        again = stays.begun == Begun.RESTARTED
        finding.where(again, where + "restarts without checkpoints" + line, *labels)
    return "consistent with the outcomes"
