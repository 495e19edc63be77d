"""The certifier's rules of where guests were: `availability.csv`, and the stays on its hosts."""

from __future__ import annotations

import numpy as np

from forestall.app.cycle.certify.facts import Facts
from forestall.app.cycle.certify.files import STATES
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import Axis, firsts, lasts, overlapping
from forestall.app.kit.certify.sheet import Bool, Int


def covered(run: Facts, finding: Finding) -> str:
    """Each host is in one state at any time of the run, and does no more than its speed allows."""
    spans, given = run.spans, run.given
    count = len(run.hosts)
    text = "host {0} is {1} from {2} to {3} (availability.csv, line {4})"
    words = np.array(STATES)
    labels = (spans.host, words[spans.state], spans.start, spans.end, spans.line)
    finding.where(spans.end <= spans.start, text, *labels)
    fresh = firsts(spans.host)
    final = lasts(fresh)
    before = np.concatenate(([0], spans.end[:-1]))[: len(spans)]
    finding.where(
        fresh & (spans.start != run.start), text + ", but not from the run's start", *labels
    )
    finding.where(final & (spans.end != run.end), text + ", but not to the run's end", *labels)
    finding.where(
        ~fresh & (spans.start != before),
        text + ", but not from the end of its previous state",
        *labels,
    )
    same = np.zeros(len(spans), dtype=np.bool_)
    same[1:] = ~fresh[1:] & (spans.state[1:] == spans.state[:-1])
    finding.where(same, text + ", the same state as before", *labels)
    off = ~fresh & ((spans.start - given.begin) % given.period != 0)
    finding.where(off, text + ", but no sample begins then", *labels)
    work = (
        "host {0} can do {5} of work (millionths) from {2} to {3}, too much for its speed "
        "(availability.csv, line {4})"
    )
    odd = spans.work > (spans.end - spans.start) * run.axis.cap
    finding.where(odd, work, *labels, spans.work)
    rows = np.bincount(spans.host, minlength=count)
    missing = (rows == 0) & (run.end > run.start)
    finding.where(missing, "host {0} is not in availability.csv", run.hosts.number)
    unsorted = spans.line != np.arange(len(spans)) + 2
    finding.where(unsorted, text + ", out of order of hosts and starts", *labels)
    if given.begin != -given.warm_up or (given.end - given.begin) % given.period:
        told = (
            "host traces from {0} to {1}, with a sample every {2} s, do not fit a warm-up of {3} s"
        )
        finding.wrong(told, given.begin, given.end, given.period, given.warm_up)
    if (run.end - given.begin) < 0 or run.end > given.end:
        finding.wrong("the run ends at {0}, outside the host traces", run.end)
    return f"{len(spans)} periods of {count} hosts cover the run"


def available(run: Facts, finding: Finding) -> str:
    """No guest is on a host in S3, S4 or S5; one that loses its host does so as that state
    begins."""
    stays, spans = run.stays, run.spans
    names, words = run.names, np.array(STATES)
    outside = (stays.start < run.start) | (stays.end > run.end) | (stays.end <= stays.start)
    text = "job {0} is on host {1} from {2} to {3}, outside the run (stays.csv, line {4})"
    finding.where(outside, text, names, stays.host, stays.start, stays.end, stays.line)
    if not len(spans):
        return "no time passes"
    bad = np.concatenate(([0], np.cumsum(~spans.available)))
    first, last = run.axis.row(stays.host, stays.start), run.axis.row(stays.host, stays.end - 1)
    overlap = bad[np.maximum(last, first) + 1] > bad[first]
    text = "job {0} is on host {1} from {2} to {3}, but the host is not available all that time "
    text += "(stays.csv, line {4})"
    finding.where(overlap, text, names, stays.host, stays.start, stays.end, stays.line)
    here = run.axis.row(stays.host, stays.end)
    begins = (spans.start[here] == stays.end) & (spans.host[here] == stays.host)
    state = np.where(begins, spans.state[here], 0)
    wrong = stays.left & (state != stays.ended + 1)
    text = (
        "job {0} loses host {1} at {2}, but the host does not go into {3} then (stays.csv, line "
        "{4})"
    )
    into = words[np.clip(stays.ended + 1, 0, 4)]
    finding.where(wrong, text, names, stays.host, stays.end, into, stays.line)
    early = (stays.ended == 4) & (stays.end != run.given.end)
    text = "job {0} is left unfinished at {1}, before the host traces end (stays.csv, line {2})"
    finding.where(early, text, names, stays.end, stays.line)
    return f"{len(stays)} stays, all in S1 and S2"


def alone(run: Facts, finding: Finding) -> str:
    """No host has two guests at once, and no job is on two hosts at once."""
    stays, jobs = run.stays, run.jobs
    order = np.lexsort((stays.end, stays.start, stays.host))
    host, start, end = stays.host[order], stays.start[order], stays.end[order]
    axis = Axis.over(start, end)
    both = overlapping(axis.key(host, start), axis.key(host, end))
    names = jobs.name[stays.job[order]]
    text = "job {0} starts on host {1} at {2}, which has a guest (stays.csv, line {3})"
    finding.where(both, text, names, host, start, stays.line[order])
    twice = np.zeros(len(stays), dtype=np.bool_)
    twice[1:] = ~stays.first[1:] & (stays.start[1:] < stays.end[:-1])
    text = "job {0} starts on host {1} at {2}, but is still on another (stays.csv, line {3})"
    names = jobs.name[stays.job]
    finding.where(twice, text, names, stays.host, stays.start, stays.line)
    more = ~stays.last & ~stays.again
    text = "job {0} has another stay after one that was {1} (stays.csv, line {2})"
    ends = np.where(stays.ended == 0, "completed", "unfinished")
    finding.where(more, text, names, ends, stays.line)
    by_line = np.argsort(stays.line)
    back = np.zeros(len(stays), dtype=np.bool_)
    back[1:] = stays.end[by_line][1:] < stays.end[by_line][:-1]
    text = "job {0} ends at {1}, but is listed after a stay that ends later (stays.csv, line {2})"
    finding.where(back, text, names[by_line], stays.end[by_line], stays.line[by_line])
    return f"{len(stays)} stays on {len(run.hosts)} hosts"


def offers(run: Facts, finding: Finding) -> str:
    """All guests of a host in one time of availability do no more than it could do."""
    stays, spans = run.stays, run.spans
    if not len(spans):
        return "no time passes"
    part = _stretches(spans.host, spans.available)
    offered = np.zeros(int(part[-1]) + 1, dtype=np.int64)
    np.add.at(offered, part, spans.work)
    used = np.zeros(len(offered), dtype=np.int64)
    mine = part[run.axis.row(stays.host, stays.start)]
    np.add.at(used, mine, stays.work)
    first = np.searchsorted(part, np.arange(len(offered)))
    text = "guests of host {0} do {2} of work in all from {1} on, but it could do {3} (millionths)"
    finding.where(used > offered, text, spans.host[first], spans.start[first], used, offered)
    return f"in {len(offered)} periods of availability and unavailability"


def _stretches(host: Int, available: Bool) -> Int:
    """Return the number of the time of availability, or unavailability, that each row is in."""
    new = np.zeros(len(host), dtype=np.bool_)
    new[1:] = (host[1:] != host[:-1]) | (available[1:] != available[:-1])
    return np.cumsum(new)
