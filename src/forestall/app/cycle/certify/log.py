"""The certifier's rules of `events.csv`, `decisions.csv` and `candidates.csv`: what was told and
decided is what happened."""

from __future__ import annotations

import numpy as np

from forestall.app.cycle.certify.facts import Facts
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import firsts, spread
from forestall.app.kit.certify.sheet import NONE, Bool, Int
from forestall.app.kit.certify.sums import unlike_rows
from forestall.model.cycle import Fate, GuestDecisionKind, GuestEventKind, GuestReason, StayEnd

_OF_END, _OF_MOVE = GuestEventKind.HOST_STATE, GuestEventKind.GUEST_AT_RISK
"""What is answered with the end of a guest, and with its move."""


def events(run: Facts, finding: Finding) -> str:
    """Events are those that jobs, stays and availability tell, in their order."""
    events, spans, stays, jobs = run.log.events, run.spans, run.stays, run.jobs
    key = np.where(events.kind == GuestEventKind.HOST_STATE, events.host, events.job)
    count, line = len(run.hosts), events.line
    rank = np.lexsort((key, events.kind, events.time))
    back = rank[count:] != np.arange(count, len(key)) if len(key) > count else rank < 0
    finding.where(back, "events.csv, line {0}: not in order of time, kind, and job or host",
                  line[count:])  # fmt: skip
    first = firsts(spans.host)
    early = events.given & (events.time != run.start)
    finding.where(early, "events.csv, line {0}: not at the first submission", line)
    begun = [spans.host[first], spans.start[first], spans.state[first]]
    columns = [events.host, events.time, events.state]
    text = "host {0}: time and state {1} are in only one of events.csv and availability.csv"
    if run.end > run.start:
        told = [column[events.given] for column in columns]
        unlike_rows(finding, text, told, begun, run.hosts.number)
    here = ~events.given & (events.kind == GuestEventKind.HOST_STATE) & (events.time < run.end)
    later = [spans.host[~first], spans.start[~first], spans.state[~first]]
    told = [column[here] for column in columns]
    unlike_rows(finding, text, told, later, run.hosts.number)
    said = run.summary.held.get("events")
    if said != len(key) - count:
        text = "summary.json counts {0} events, but events.csv has {1}"
        finding.wrong(text, said, len(key) - count)
    past = events.time > run.end
    finding.where(past, "events.csv, line {0}: after the end of the run", line)
    here, done = events.kind == GuestEventKind.GUEST_ENDED, stays.ended == 0
    text = "job {0}: the end at {1} is in only one of events.csv and stays.csv"
    told = [events.job[here], events.time[here]]
    unlike_rows(finding, text, told, [stays.job[done], stays.end[done]], jobs.name)
    here, moved = events.kind == GuestEventKind.GUEST_SAVED, stays.ended == StayEnd.MOVED
    text = "job {0}: the move at {1} is in only one of events.csv and stays.csv"
    told = [events.job[here], events.time[here]]
    unlike_rows(finding, text, told, [stays.job[moved], stays.end[moved]], jobs.name)
    here = events.kind == GuestEventKind.TRY
    text = "job {0}: a try at {1} is in only one of events.csv and jobs.csv with stays.csv"
    told = [events.job[here], events.time[here]]
    unlike_rows(finding, text, told, list(run.try_times), jobs.name)
    return f"{len(key)} events, consistent with jobs, stays and availability"


def decisions(run: Facts, finding: Finding) -> str:
    """Decisions answer the events, and are what became of jobs."""
    events, told, stays, jobs = run.log.events, run.log.decisions, run.stays, run.jobs
    owner, line = spread(events.decisions)[0], told.line
    if len(owner) != len(line):
        text = "events.csv counts {0} decisions, but decisions.csv has {1}"
        finding.wrong(text, len(owner), len(line))
        return ""
    ends, moves = told.kind == GuestDecisionKind.END, told.kind == GuestDecisionKind.MOVE
    asked = np.select([ends, moves], [_OF_END, _OF_MOVE], GuestEventKind.TRY)
    unlike = (events.time[owner] != told.time) | (events.kind[owner] != asked)
    unlike |= ~ends & (events.job[owner] != told.job)
    unlike |= ends & (events.host[owner] != told.host)
    unlike |= events.candidates[owner] != told.candidates
    finding.where(unlike, "decisions.csv, line {0}: does not answer its event", line)
    silent = (events.kind == GuestEventKind.TRY) & (events.decisions == 0)
    finding.where(silent, "events.csv, line {0}: a try without a decision", events.line)
    here = told.kind == GuestDecisionKind.START
    text = "job {0}: start (host, time) {1} is in only one of decisions.csv and stays.csv"
    rows = [told.job[here], told.host[here], told.time[here]]
    unlike_rows(finding, text, rows, [stays.job, stays.host, stays.start], jobs.name)
    text = "job {0}: the decision at {1} to move is in only one of decisions.csv and stays.csv"
    rows, mine = [told.job[moves], told.time[moves]], stays.asked != NONE
    unlike_rows(finding, text, rows, [stays.job[mine], stays.asked[mine]], jobs.name)
    here, left = ends, stays.left
    text = "job {0}: end (host, time, reason) {1} is in only one of decisions.csv and stays.csv"
    rows = [
        told.job[here],
        told.host[here],
        told.time[here],
        told.reason[here] - GuestReason.TRIED_ENOUGH,
    ]
    mine = [stays.job[left], stays.host[left], stays.end[left], stays.ended[left]]
    unlike_rows(finding, text, rows, mine, jobs.name)
    here = told.kind == GuestDecisionKind.GIVE_UP
    text = "job {0} is given up in only one of decisions.csv and jobs.csv {1}"
    gone = np.flatnonzero(jobs.fate == Fate.UNSCHEDULED)
    unlike_rows(finding, text, [told.job[here]], [gone], jobs.name)
    _fields(run, finding)
    return f"{len(line)} decisions, consistent with stays and jobs"


def _fields(run: Facts, finding: Finding) -> None:
    """What a decision of each kind holds, and how often its job was tried."""
    told = run.log.decisions
    line, waits = told.line, told.kind == GuestDecisionKind.WAIT
    at = np.where(waits, told.time + run.given.retry, NONE)
    finding.where(told.at != at, "decisions.csv, line {0}: the time of the next try is wrong", line)
    nowhere = (told.host == NONE) != (waits | (told.kind == GuestDecisionKind.GIVE_UP))
    finding.where(
        nowhere, "decisions.csv, line {0}: has a host without a placement, or the reverse", line
    )
    order = np.lexsort((np.arange(len(line)), told.job))
    over = (GuestDecisionKind.END, GuestDecisionKind.MOVE)
    job, ends = told.job[order], np.isin(told.kind[order], over)
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (job[1:] != job[:-1]) | ends[:-1]
    begin = np.flatnonzero(fresh)
    number = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
    tries = np.where(ends, 0, number + 1)
    odd = told.tries[order] != tries
    text = "decisions.csv, line {0}: tries is {1}, but this is try {2}"
    finding.where(odd, text, line[order], told.tries[order], tries)


def candidates(run: Facts, finding: Finding) -> str:
    """The candidates of each try are all hosts in S1 or S2 without a guest, in their order; those
    of a guest that may move are some of them, and its own."""
    events, found, jobs = run.log.events, run.log.candidates, run.jobs
    owner, line = spread(events.candidates)[0], found.line
    if len(owner) != len(line):
        text = "events.csv counts {0} candidates, but candidates.csv has {1}"
        finding.wrong(text, len(owner), len(line))
        return ""
    unlike = (events.time[owner] != found.time) | (events.job[owner] != found.job)
    looks = events.kind[owner] == _OF_MOVE
    unlike |= ~looks & (events.kind[owner] != GuestEventKind.TRY)
    finding.where(unlike, "candidates.csv, line {0}: does not match its event", line)
    back = np.zeros(len(line), dtype=np.bool_)
    back[1:] = (owner[1:] == owner[:-1]) & (found.host[1:] <= found.host[:-1])
    finding.where(back, "candidates.csv, line {0}: not in order of hosts", line)
    # Guests are looked at before any job is tried in the same second.
    busy = _busy(run, found.host, found.time, np.where(looks, NONE, found.job))
    busy &= ~looks | (found.host != host_of(run, found.job, found.time))
    text = "job {0}: host {1} cannot be a candidate at {2}: it has a guest or is not available "
    text += "(candidates.csv, line {3})"
    finding.where(busy, text, jobs.name[found.job], found.host, found.time, line)
    here = (events.kind == GuestEventKind.TRY) & (events.time < run.end)
    free = run.free_hosts(events.time[here], events.job[here])
    said = events.candidates[here]
    text = "job {0} is tried at {1} with {2} candidates, but {3} hosts are free and available"
    labels = (jobs.name[events.job[here]], events.time[here], said, free)
    finding.where(said != free, text, *labels)
    return f"{len(line)} candidates of {int(here.sum())} tries"


def host_of(run: Facts, job: Int, time: Int) -> Int:
    """Return the host that each job was on in the second before a time, NONE where on none."""
    stays = run.stays
    if not len(stays):
        return np.full(len(job), NONE)
    low = min(run.start, int(time.min(initial=run.start)))
    width = max(run.end, int(time.max(initial=run.end)), int(stays.end.max())) - low + 2
    keys = stays.job * width + (stays.start - low)
    at = np.searchsorted(keys, job * width + (time - low), "left") - 1
    row = np.maximum(at, 0)
    here = (at >= 0) & (stays.job[row] == job) & (stays.end[row] >= time)
    return np.where(here, stays.host[row], NONE)


def _busy(run: Facts, host: Int, time: Int, job: Int) -> Bool:
    """Return whether hosts are not available, or have a guest, when jobs are tried at times."""
    spans, stays = run.spans, run.stays
    low = min(int(time.min(initial=run.start)), run.start)
    width = max(run.end, int(time.max(initial=run.end)), int(stays.end.max(initial=0))) - low + 2
    keys = spans.host * width + (spans.start - low)
    at = np.maximum(np.searchsorted(keys, host * width + (time - low), "right") - 1, 0)
    away = ~spans.available[at] if len(spans) else np.ones(len(host), dtype=np.bool_)
    order = np.lexsort((stays.start, stays.host))
    keys = stays.host[order] * width + np.clip(stays.start[order] - low, 0, width - 1)
    if not len(order):
        return away & (time < run.end)
    at = np.searchsorted(keys, host * width + (time - low), "right") - 1
    row = order[np.maximum(at, 0)]
    mine = (at >= 0) & (stays.host[row] == host)
    # One that starts in this very second does so before this try only for an earlier job.
    now = stays.start[row] == time
    held = mine & ~now & (stays.end[row] > time) | (mine & now & (stays.job[row] < job))
    taken: Bool = (away & (time < run.end)) | held
    return taken
