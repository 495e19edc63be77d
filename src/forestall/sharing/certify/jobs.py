"""Rules of `jobs.csv` and `stays.csv`: work done, saved and lost, tries, waits and moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import spread
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.certify.sums import per, ratio, recomputed
from forestall.core.model.cycle import Fate, StayEnd
from forestall.sharing.certify.facts import NO_START, Facts
from forestall.sharing.certify.files import PARTS, RESTORE, SAVE

MOST_TRIES = 20_000_000
"""So many tries without success are looked at, at most; of more, the first of each wait."""


def jobs_and_stays(run: Facts, finding: Finding) -> str:
    """`jobs.csv` has every job once, as its stays tell it."""
    jobs, given = run.jobs, run.given
    jobs.compare(finding, "job {name}", _by_stays(run), "according to its stays")
    jobs.in_order(finding, jobs.submit)
    early = (jobs.start != NONE) & (jobs.start < jobs.submit)
    jobs.where(finding, early, "job {name} starts before its submission")
    text = "job {name} is submitted after the host traces end"
    jobs.where(finding, jobs.submit >= given.end, text)
    if given.length:
        text = "job {name} runs {runtime} s, but job_length sets another run time"
        jobs.where(finding, jobs.runtime != given.length, text)
    return f"{len(jobs)} jobs, each consistent with its stays"


def _by_stays(run: Facts) -> dict[str, Int]:
    """Return the columns of `jobs.csv` that follow from the stays.

    A job without a stay was given up, or waited for a host to the end of the traces: which of them
    is told by the tries.
    """
    jobs, stays, count = run.jobs, run.stays, len(run.jobs)
    start, finish = np.full(count, NONE), np.full(count, NONE)
    start[stays.job[stays.first]] = stays.start[stays.first]
    done = stays.ended == StayEnd.COMPLETED
    finish[stays.job[done]] = stays.end[done]
    fate = np.where(start == NONE, jobs.fate, Fate.UNFINISHED)
    fate = np.where((start == NONE) & (jobs.fate == Fate.COMPLETED), Fate.UNSCHEDULED, fate)
    fate[stays.job[done]] = Fate.COMPLETED
    return {
        "fate": fate,
        "start": start,
        "finish": finish,
        "makespan": np.where(finish == NONE, NONE, finish - jobs.submit),
        "failures": per(stays.job[stays.left], count),
        "lost": per(stays.job, count, stays.lost),
        "checkpoints": per(stays.job, count, stays.checkpoints),
    }


# ------------------------------------------------------------------------------------------ work


def work(run: Facts, finding: Finding) -> str:
    """Each stay did what its host could do for it meanwhile."""
    stays, most = run.stays, run.progress.most
    least = run.progress.least + (stays.ended == StayEnd.COMPLETED)  # less a second before the end
    text = "job {job} did {work} on host {host} from {start} to {end}, which can do {bound} at "
    stays.where(finding, stays.work > most, text + "most", bound=("work", most))
    stays.where(finding, stays.work < least, text + "least", bound=("work", least))
    text = "job {job} ends at {end}, while a checkpoint is taken"
    stays.where(finding, run.progress.paused, text)
    exact = int((least >= most).sum())
    return f"{len(stays)} stays within what their hosts could do, {exact} exactly"


def finished(run: Facts, finding: Finding, before: Int) -> Int:
    """Note stays that complete a job without doing all of its work, or do all and do not; return
    what was done when each ended, having begun with what was done `before`."""
    stays, done = run.stays, run.stays.ended == StayEnd.COMPLETED
    whole, reached = run.jobs.runtime[stays.job] * PARTS, before + stays.work
    labels = {"reached": ("work", reached), "whole": ("work", whole)}
    text = "job {job} is completed with {reached} of {whole} done"
    stays.where(finding, done & (reached != whole), text, **labels)
    text = "job {job} has {reached} of {whole} done, but is not completed"
    stays.where(finding, ~done & (reached >= whole), text, **labels)
    return reached


LOSS = "job {job} lost {lost} at {end}, but {gone} by its work and saved"


def saved(run: Facts, finding: Finding) -> str:
    """Work, saved and lost, add up from stay to stay; checkpoints are those that the interval and
    their overhead allow."""
    stays, given, found = run.stays, run.given, run.progress
    reached = finished(run, finding, stays.before)
    at_end = stays.left & (stays.ended != StayEnd.AWAY) & given.at_end
    to_move = (stays.asked != NONE) & (stays.asked + given.overhead <= stays.end)
    bounds = []
    for kept in (found.kept_least, np.minimum(found.kept_most, stays.work)):
        some = np.where(at_end | to_move, stays.work, kept)
        bound = (stays.before + some) * given.resumes
        whole = run.jobs.runtime[stays.job] * PARTS
        bounds.append(np.where(stays.ended == StayEnd.COMPLETED, whole, bound))
    least, most = bounds
    text = "job {job} has {saved} saved at {end}, but {least} to {most} are possible"
    odd = (stays.saved < least) | (stays.saved > most)
    stays.where(finding, odd, text, least=("saved", least), most=("saved", most))
    gone = np.where(stays.left, reached - stays.saved, 0)
    stays.where(finding, stays.lost != gone, LOSS, gone=("lost", gone))
    taken = found.checkpoints + at_end + to_move
    text = "job {job} has {checkpoints} checkpoints from {start} to {end}, but time for {taken}"
    stays.where(finding, stays.checkpoints != taken, text, taken=taken)
    good = f"{int(stays.checkpoints.sum())} checkpoints in {len(stays)} stays"
    return good if given.resumes else "a stay loses all its work with its host"


# ----------------------------------------------------------------------------------------- tries


def tries(run: Facts, finding: Finding) -> str:
    """Jobs are tried at once, and then every `retry` seconds; those never started no more than
    `retries` times again."""
    given, waits, tries, jobs = run.given, run.waits, run.tries, run.jobs
    of, started, most = jobs.take(waits.job), waits.until != NO_START, given.retries + 1
    off = started & ((waits.until < waits.since) | ((waits.until - waits.since) % given.retry != 0))
    text = "job {name} starts at {at} after waiting since {since}, but tries are {retry} s apart"
    of.where(finding, off, text, at=waits.until, since=waits.since, retry=given.retry)
    given_up = ~started & waits.fresh & (of.fate == Fate.UNSCHEDULED)
    for bad, text in (
        (
            waits.fresh & (tries > most) & (not given.may_doom),
            "was tried {count} times before its first start, but {most} are allowed",
        ),
        (given_up & (tries < most), "was given up after {count} tries instead of {most}"),
        (
            given_up & (waits.since + (tries - 1) * given.retry >= given.end),
            "was given up after the host traces end",
        ),
    ):
        of.where(finding, bad, "job {name} " + text, count=tries, most=most)
    total = per(waits.job, len(jobs), tries)
    jobs.compare(finding, "job {name}", {"tries": total}, "according to its stays")
    return f"{int(total.sum())} tries of {len(jobs)} jobs"


def waiting(run: Facts, finding: Finding) -> str:
    """Where a job had to wait, no host was free and available."""
    given, waits = run.given, run.waits
    if given.may_doom:
        return "not checked: jobs may wait for a host that will last"
    failed = np.maximum(run.tries - (waits.until != NO_START), 0)
    if int(failed.sum()) > MOST_TRIES:
        failed = np.minimum(failed, MOST_TRIES // len(failed))
    owner, number = spread(failed)
    time = waits.since[owner] + number * given.retry
    known = time < run.end
    time, job = time[known], waits.job[owner[known]]
    free = run.free_hosts(time, job)
    text = "job {0} waits at {1}, but {2} hosts are free and available"
    finding.where(free > 0, text, run.jobs.name[job], time, free)
    return f"{len(time)} tries found no free host"


# ----------------------------------------------------------------------------------------- moves


def moves(run: Facts, finding: Finding) -> str:
    """Guests are looked at when it is time, while they work; they are saved, and then leave; and
    the measures of that in `summary.json`, anew."""
    stays, given, over = run.stays, run.given, _saved_by(run)
    asked, moved = stays.asked != NONE, stays.ended == StayEnd.MOVED

    def check(wrong: Bool, why: str) -> None:
        text = "job {job} is to move from {asked} on, "
        stays.where(finding, asked & wrong, text + why)

    check((stays.asked <= stays.start) | (stays.asked > stays.end), "outside its stay")
    check((stays.asked - given.begin) % given.every != 0, "but is not looked at then")
    check(moved & (over != stays.end), "but does not leave when it has been saved")
    check(~moved & (over < stays.end), "but stays after it has been saved")
    check(stays.ended == StayEnd.COMPLETED, "but completes its job there")
    if given.stores is None:
        ran = stays.asked - stays.start - np.where(stays.before > 0, given.restart, 0)
        turn = max(given.interval + given.overhead, 1)
        still = (given.interval > 0) & ((ran - 1) % turn >= given.interval)
        check((ran <= 0) | still, "but is not working then")
    recomputed(_of_moves, "moves")(run, finding)
    return f"{int(asked.sum())} moves decided, {int(moved.sum())} made"


def _saved_by(run: Facts) -> Int:
    """Return when the checkpoint of each stay that is to move would be over."""
    stays, given = run.stays, run.given
    if given.stores is None:
        return stays.asked + given.overhead
    rows, owner = run.transfers, run.owner_of_transfer
    over = np.full(len(stays), NONE, dtype=np.int64)
    mine = np.flatnonzero((owner >= 0) & (rows.kind == SAVE))
    mine = mine[rows.start[mine] == stays.asked[owner[mine]]]
    over[owner[mine]] = rows.until[mine]
    return over


def _of_moves(run: Facts) -> dict[str, Any]:
    stays, spans, given = run.stays, run.spans, run.given
    asked, moved = stays.asked != NONE, stays.ended == StayEnd.MOVED
    leaving = spans.take(spans.leaves)
    pairs = zip(stays.host[moved].tolist(), stays.asked[moved].tolist(), strict=True)
    gone = [(leaving.start - since)[leaving.host == host] for host, since in pairs]
    useful, count = sum(bool(((s > 0) & (s <= given.ahead)).any()) for s in gone), len(gone)
    seconds = int((stays.end - stays.asked)[asked].sum())
    again = np.flatnonzero(moved & ~stays.last) + 1
    seconds += int((stays.start[again] - stays.end[again - 1]).sum())
    if given.stores is None:
        held = np.minimum(stays.end - stays.start, given.restart)
        seconds += int(held[again][stays.before[again] > 0].sum())
    else:
        rows = run.transfers
        mine = np.isin(run.owner_of_transfer, again) & (rows.kind == RESTORE)
        seconds += int((rows.until - rows.start)[mine].sum())
    return {
        "made": count,
        "useful": useful,
        "needless": count - useful,
        "broken": int(asked.sum()) - count,
        "useful_share": ratio(useful, count),
        "seconds": seconds,
    }
