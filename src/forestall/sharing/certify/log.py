"""Rules of `events.csv`, `decisions.csv` and `candidates.csv`: what came and was decided is what
happened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import firsts, last_begun, spread
from forestall.core.certify.sheet import NONE, Bool
from forestall.core.certify.sums import answering
from forestall.core.model.cycle import Fate, GuestDecisionKind, GuestEventKind, GuestReason, StayEnd
from forestall.sharing.certify.facts import Facts
from forestall.sharing.certify.files import EventRows

_OF_END, _OF_MOVE = GuestEventKind.HOST_STATE, GuestEventKind.GUEST_AT_RISK
"""What is answered with the end of a guest, and with its move."""


def events(run: Facts, finding: Finding) -> str:
    """Events are those that jobs, stays and availability tell, in their order."""
    events, spans, stays, count = run.events, run.spans, run.stays, len(run.hosts)
    states, first = events.kind == GuestEventKind.HOST_STATE, firsts(spans.host)

    def of(kind: GuestEventKind) -> EventRows:
        return events.take(events.kind == kind)

    rank = np.lexsort((np.where(states, events.host, events.job), events.kind, events.time))
    rest = np.arange(count, len(events))
    back = rank[count:] != rest if len(rest) else rank < 0
    text = "not in order of time, kind, and job or host"
    events.take(rest if len(rest) else back).where(finding, back, text)
    early = events.given & (events.time != run.start)
    events.where(finding, early, "not at the first submission")
    for here, begun in (
        (events.given & (run.end > run.start), first & (run.end > run.start)),
        (~events.given & states & (events.time < run.end), ~first),
    ):
        span = spans.take(begun)
        mine = {"host": span.host, "time": span.start, "state": span.state}
        events.take(here).match(finding, "state", mine, "availability.csv")
    said = run.summary.held.get("events")
    if said != len(events) - count:
        text = "summary.json counts {0} events, but events.csv has {1}"
        finding.wrong(text, said, len(events) - count)
    events.where(finding, events.time > run.end, "after the end of the run")
    for kind, end, what in (
        (GuestEventKind.GUEST_ENDED, StayEnd.COMPLETED, "end"),
        (GuestEventKind.GUEST_SAVED, StayEnd.MOVED, "move"),
    ):
        rows = stays.take(stays.ended == end)
        of(kind).match(finding, what, {"job": rows.job, "time": rows.end}, "stays.csv")
    mine = dict(zip(("job", "time"), run.try_times, strict=True))
    of(GuestEventKind.TRY).match(finding, "try", mine, "jobs.csv with stays.csv")
    return f"{len(events)} events, consistent with jobs, stays and availability"


def decisions(run: Facts, finding: Finding) -> str:
    """Decisions answer the events, and are what became of jobs."""
    events, told, stays = run.events, run.decisions, run.stays
    owner = answering(finding, events, told)
    if owner is None:
        return ""

    def match(kind: GuestDecisionKind, what: str, which: Bool, **columns: str) -> None:
        """Compare decisions with some of the stays, columns of which are given by their names."""
        rows, some = stays.take(which), told.take(told.kind == kind)
        some = replace(some, reason=some.reason - GuestReason.TRIED_ENOUGH)
        mine = {name: getattr(rows, column) for name, column in columns.items()}
        some.match(finding, what, mine, "stays.csv")

    ends, moves = told.kind == GuestDecisionKind.END, told.kind == GuestDecisionKind.MOVE
    kind = np.select([ends, moves], [_OF_END, _OF_MOVE], GuestEventKind.TRY)
    about = events.take(owner)
    unlike = (about.kind != kind) | (about.candidates != told.candidates)
    unlike |= np.where(ends, about.host != told.host, about.job != told.job)
    told.where(finding, unlike, "does not answer its event")
    silent = (events.kind == GuestEventKind.TRY) & (events.decisions == 0)
    events.where(finding, silent, "a try without a decision")
    every = np.ones(len(stays), dtype=np.bool_)
    match(GuestDecisionKind.START, "start", every, job="job", host="host", time="start")
    match(GuestDecisionKind.MOVE, "move decided", stays.asked != NONE, job="job", time="asked")
    columns = {"job": "job", "host": "host", "time": "end", "reason": "ended"}
    match(GuestDecisionKind.END, "end", stays.left, **columns)
    given_up = told.take(told.kind == GuestDecisionKind.GIVE_UP)
    gone = np.flatnonzero(run.jobs.fate == Fate.UNSCHEDULED)
    given_up.match(finding, "that it is given up", {"job": gone}, "jobs.csv")
    _fields(run, finding)
    return f"{len(told)} decisions, consistent with stays and jobs"


def _fields(run: Facts, finding: Finding) -> None:
    """What a decision of each kind holds, and how often its job was tried."""
    told, waits = run.decisions, run.decisions.kind == GuestDecisionKind.WAIT
    at = np.where(waits, told.time + run.given.retry, NONE)
    told.where(finding, told.at != at, "the time of the next try is wrong")
    nowhere = (told.host == NONE) != (waits | (told.kind == GuestDecisionKind.GIVE_UP))
    told.where(finding, nowhere, "has a host without a placement, or the reverse")
    told = told.take(np.lexsort((np.arange(len(told)), told.job)))
    ends = np.isin(told.kind, (GuestDecisionKind.END, GuestDecisionKind.MOVE))
    fresh = firsts(told.job)
    fresh[1:] |= ends[:-1]
    begin = np.maximum.accumulate(np.where(fresh, np.arange(len(told)), 0))
    tries = np.where(ends, 0, np.arange(len(told)) - begin + 1)
    text = "tries is {tries}, but this is try {here}"
    told.where(finding, told.tries != tries, text, here=tries)


def candidates(run: Facts, finding: Finding) -> str:
    """The candidates of each try are all hosts in S1 or S2 without a guest, in their order; those
    of a guest that may move are some of them, and its own."""
    events, found = run.events, run.candidates
    owner = spread(events.candidates)[0]
    if len(owner) != len(found):
        text = "events.csv counts {0} candidates, but candidates.csv has {1}"
        finding.wrong(text, len(owner), len(found))
        return ""
    about = events.take(owner)
    looks = about.kind == _OF_MOVE
    unlike = (about.time != found.time) | (about.job != found.job)
    unlike |= ~looks & (about.kind != GuestEventKind.TRY)
    found.where(finding, unlike, "does not match its event")
    back = ~firsts(owner)
    back[1:] &= found.host[1:] <= found.host[:-1]
    found.where(finding, back, "not in order of hosts")
    busy = _busy(run, looks)
    busy &= ~looks | (found.host != run.host_of(found.job, found.time))
    text = "job {job}: host {host} cannot be a candidate at {time}: it has a guest or is not "
    found.where(finding, busy, text + "available")
    tried = events.take((events.kind == GuestEventKind.TRY) & (events.time < run.end))
    free = run.free_hosts(tried.time, tried.job)
    text = "job {job} is tried at {time} with {candidates} candidates, but {free} hosts are free "
    tried.where(finding, tried.candidates != free, text + "and available", free=free)
    return f"{len(found)} candidates of {len(tried)} tries"


def _busy(run: Facts, looks: Bool) -> Bool:
    """Return whether candidates are not available, or have a guest, when jobs are tried; guests are
    looked at before any job is tried in the same second."""
    found, spans = run.candidates, run.spans
    host, time, job = found.host, found.time, np.where(looks, NONE, found.job)
    span = last_begun(spans.host, spans.start, host, time)
    away = np.ones(len(found), dtype=np.bool_)
    away[span >= 0] = ~spans.available[span[span >= 0]]
    taken = away & (time < run.end)
    stays = run.stays.take(np.lexsort((run.stays.start, run.stays.host)))
    row = last_begun(stays.host, stays.start, host, time)
    some = row >= 0
    mine = stays.take(row[some])
    # One that starts in this very second does so before this try only for an earlier job.
    now = mine.start == time[some]
    taken[some] |= np.where(now, mine.job < job[some], mine.end > time[some])
    return taken
