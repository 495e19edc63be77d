"""The certifier's rules of work: what was done in each stay, saved, lost, and written to
checkpoints; and of the tries of jobs."""

from __future__ import annotations

import numpy as np

from forestall.app.cycle.certify.facts import NO_START, Facts
from forestall.app.cycle.certify.files import PARTS
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import spread
from forestall.app.kit.certify.sheet import NONE
from forestall.app.kit.certify.sums import per
from forestall.model.cycle import Fate, StayEnd

MOST_TRIES = 20_000_000
"""So many tries without success are looked at, at most; of more, the first of each wait."""


def work(run: Facts, finding: Finding) -> str:
    """Each stay did what its host could do for it meanwhile."""
    stays, jobs = run.stays, run.jobs
    found = run.progress
    done = stays.ended == StayEnd.COMPLETED
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
    return f"{len(stays)} stays within what their hosts could do, {exact} exactly"


def saved(run: Facts, finding: Finding) -> str:
    """Work, saved and lost, add up from stay to stay; checkpoints are those that the interval and
    their overhead allow."""
    stays, jobs, given = run.stays, run.jobs, run.given
    found = run.progress
    names, done = jobs.name[stays.job], stays.ended == StayEnd.COMPLETED
    whole = jobs.runtime[stays.job] * PARTS
    reached = stays.before + stays.work
    text = "job {0} is completed with {1} of {2} done (millionths; stays.csv, line {3})"
    finding.where(done & (reached != whole), text, names, reached, whole, stays.line)
    text = "job {0} has {1} of {2} done, but is not completed (millionths; stays.csv, line {3})"
    finding.where(~done & (reached >= whole), text, names, reached, whole, stays.line)
    at_end = stays.left & (stays.ended != StayEnd.AWAY) & given.at_end
    to_move = (stays.asked != NONE) & (stays.asked + given.overhead <= stays.end)
    whole_stay = at_end | to_move
    least = stays.before + np.where(whole_stay, stays.work, found.kept_least)
    kept_most = np.minimum(found.kept_most, stays.work)
    most = stays.before + np.where(whole_stay, stays.work, kept_most)
    if not given.resumes:
        least, most = np.zeros_like(least), np.zeros_like(most)
    least, most = np.where(done, whole, least), np.where(done, whole, most)
    text = "job {0} has {1} saved at {2}, but {3} to {4} are possible (stays.csv, line {5})"
    odd = (stays.saved < least) | (stays.saved > most)
    told = (stays.saved / PARTS, stays.end, least / PARTS, most / PARTS)
    finding.where(odd, text, names, *told, stays.line)
    lost = np.where(stays.left, reached - stays.saved, 0)
    text = "job {0} lost {1} at {2}, but {3} by its work and saved (stays.csv, line {4})"
    said = (stays.lost / PARTS, stays.end, lost / PARTS)
    finding.where(stays.lost != lost, text, names, *said, stays.line)
    taken = found.checkpoints + at_end + to_move
    text = "job {0} has {1} checkpoints from {2} to {3}, but time for {4} "
    text += "(stays.csv, line {5})"
    places = (stays.checkpoints, stays.start, stays.end, taken)
    finding.where(stays.checkpoints != taken, text, names, *places, stays.line)
    total = int(stays.checkpoints.sum())
    return (f"{total} checkpoints in {len(stays)} stays" if given.resumes else
                         "a stay loses all its work with its host")  # fmt: skip


def tries(run: Facts, finding: Finding) -> str:
    """Jobs are tried at once, and then every `retry` seconds; those never started no more than
    `retries` times again."""
    jobs, given, waits, tries = run.jobs, run.given, run.waits, run.tries
    names, started = jobs.name[waits.job], waits.until != NO_START
    off = started & ((waits.until < waits.since) | ((waits.until - waits.since) % given.retry != 0))
    text = "job {0} starts at {1} after waiting since {2}, but tries are {3} s apart"
    every = np.full(len(names), given.retry)
    finding.where(off, text, names, waits.until, waits.since, every)
    given_up = ~started & waits.fresh & (jobs.fate[waits.job] == Fate.UNSCHEDULED)
    most = given.retries + 1
    limit = np.full(len(names), most)
    if not given.may_doom:
        text = "job {0} was tried {1} times before its first start, but {2} are allowed"
        finding.where(waits.fresh & (tries > most), text, names, tries, limit)
    text = "job {0} was given up after {1} tries instead of {2}"
    finding.where(given_up & (tries < most), text, names, tries, limit)
    late = given_up & (waits.since + (tries - 1) * given.retry >= given.end)
    finding.where(late, "job {0} was given up after the host traces end", names)
    total = per(waits.job, len(jobs), tries)
    text = "job {0} was tried {1} times in jobs.csv (line {3}), {2} according to its stays"
    line = np.arange(len(jobs)) + 2
    finding.where(jobs.tries != total, text, jobs.name, jobs.tries, total, line)
    return f"{int(total.sum())} tries of {len(jobs)} jobs"


def waiting(run: Facts, finding: Finding) -> str:
    """Where a job had to wait, no host was free and available."""
    jobs, given, waits = run.jobs, run.given, run.waits
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
    finding.where(free > 0, text, jobs.name[job], time, free)
    return f"{len(time)} tries found no free host"
