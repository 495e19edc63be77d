"""The certifier's look at what hosts were: `availability.csv`, and how much work a stay in it can
have done.

Within a run of one state only its work as a whole is known. Of a part of it the work is at most
what the host does at full speed in that part, and at least the whole less what it does at full
speed in the rest; a run that is covered wholly gives exactly its work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.app.cycle.certify.files import STATES, CycleFolder
from forestall.app.cycle.certify.sheet import PARTS
from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import Bool, Int


def caps(folder: CycleFolder) -> Int:
    """Return int64[rows]: the most that the host of each row of `availability.csv` can do in a
    second, in millionths."""
    spans, most = folder.spans, folder.most
    low = np.rint(folder.hosts.speed * PARTS * (1 - folder.given.th1)).astype(np.int64) + 1
    rates: Int = np.select(
        [spans.state == 0, spans.state == 1], [most[spans.host], low[spans.host]]
    )
    return np.minimum(rates, most[spans.host])


def check_spans(folder: CycleFolder) -> Check:
    """Each host is in one state at any time of the run, and does no more than its speed allows."""
    spans, given = folder.spans, folder.given
    finding = Finding("availability of hosts")
    count = len(folder.hosts)
    text = "host {0} is {1} from {2} to {3} (availability.csv, line {4})"
    words = np.array(STATES)
    labels = (spans.host, words[spans.state], spans.start, spans.end, spans.line)
    finding.where(spans.end <= spans.start, text, *labels)
    fresh = np.ones(len(spans), dtype=np.bool_)
    fresh[1:] = spans.host[1:] != spans.host[:-1]
    final = np.append(fresh[1:], True)[: len(spans)]
    before = np.concatenate(([0], spans.end[:-1]))[: len(spans)]
    finding.where(
        fresh & (spans.start != folder.start), text + ", not from the run's start", *labels
    )
    finding.where(final & (spans.end != folder.end), text + ", not to the run's end", *labels)
    finding.where(~fresh & (spans.start != before), text + ", not since its last state", *labels)
    same = np.zeros(len(spans), dtype=np.bool_)
    same[1:] = ~fresh[1:] & (spans.state[1:] == spans.state[:-1])
    finding.where(same, text + ", as it was before", *labels)
    off = ~fresh & ((spans.start - given.begin) % given.period != 0)
    finding.where(off, text + ", and no sample begins then", *labels)
    work = "host {0} can do {5} in millionths from {2} to {3} (availability.csv, line {4})"
    odd = spans.work > (spans.end - spans.start) * caps(folder)
    finding.where(odd, work, *labels, spans.work)
    rows = np.bincount(spans.host, minlength=count)
    missing = (rows == 0) & (folder.end > folder.start)
    finding.where(missing, "host {0} is not in availability.csv", folder.hosts.number)
    unsorted = spans.line != np.arange(len(spans)) + 2
    finding.where(unsorted, text + ", out of order of hosts and starts", *labels)
    if given.begin != -given.warm_up or (given.end - given.begin) % given.period:
        bad = np.ones(1, dtype=np.bool_)
        told = "host traces from {0} to {1}, a sample in {2} s, do not fit a warm-up of {3}"
        about = ([given.begin], [given.end], [given.period], [given.warm_up])
        finding.where(bad, told, *about)
    if (folder.end - given.begin) < 0 or folder.end > given.end:
        bad = np.ones(1, dtype=np.bool_)
        finding.where(bad, "the run ends at {0}, outside the host traces", [folder.end])
    return finding.check(f"{len(spans)} runs of {count} hosts cover the run")


@dataclass(frozen=True)
class Axis:
    """All hosts' runs on one axis, one host after the other: keys of where rows begin, work done
    before each row, and what is needed of the rows."""

    folder: CycleFolder
    key: Int
    done: Int
    cap: Int
    low: int
    width: int

    def row(self, host: Int, time: Int) -> Int:
        """Return the row that each host is in at a time; the first or last one where there is
        none."""
        inside = np.clip(time - self.low, 0, self.width - 1)
        at = np.searchsorted(self.key, host * self.width + inside, side="right") - 1
        rows: Int = np.clip(at, 0, max(len(self.key) - 1, 0))
        return rows

    def bounds(self, host: Int, since: Int, until: Int) -> tuple[Int, Int]:
        """Return the least and the most work that hosts can have done from `since` to `until`."""
        if not len(self.key):
            none = np.zeros(len(host), dtype=np.int64)
            return none, none
        until = np.maximum(since, until)
        first, last = self.row(host, since), self.row(host, np.maximum(until - 1, since))
        spans = self.folder.spans
        within = first == last
        head = np.where(within, until, spans.end[first]) - since
        least, most = self._part(first, head)
        tail_least, tail_most = self._part(last, until - spans.start[last])
        between = np.where(within, 0, self.done[last] - self.done[first] - spans.work[first])
        least = least + np.where(within, 0, tail_least) + between
        most = most + np.where(within, 0, tail_most) + between
        return least, most

    def _part(self, row: Int, seconds: Int) -> tuple[Int, Int]:
        spans, cap = self.folder.spans, self.cap[row]
        work, length = spans.work[row], spans.end[row] - spans.start[row]
        covered = np.clip(seconds, 0, length)
        most = np.minimum(work, covered * cap)
        least = np.maximum(work - (length - covered) * cap, 0)
        return np.minimum(least, most), most


def axis_of(folder: CycleFolder) -> Axis:
    """Return the axis of all hosts' runs."""
    spans, stays = folder.spans, folder.stays
    ends = [folder.start, folder.end]
    for times in (spans.start, spans.end, stays.start, stays.end):
        if len(times):
            ends += [int(times.min()), int(times.max())]
    low, width = min(ends), max(ends) - min(ends) + 2
    done = np.concatenate(([0], np.cumsum(spans.work)[:-1]))[: len(spans)]
    return Axis(folder, spans.host * width + (spans.start - low), done, caps(folder), low, width)


def check_available(folder: CycleFolder, axis: Axis) -> Check:
    """No guest is on a host in S3, S4 or S5; one that loses its host does so as that state
    begins."""
    stays, spans, jobs = folder.stays, folder.spans, folder.jobs
    finding = Finding("guests only on available hosts")
    names, words = jobs.name[stays.job], np.array(STATES)
    outside = (stays.start < folder.start) | (stays.end > folder.end) | (stays.end <= stays.start)
    text = "job {0} is on host {1} from {2} to {3}, outside the run (stays.csv, line {4})"
    finding.where(outside, text, names, stays.host, stays.start, stays.end, stays.line)
    if not len(spans):
        return finding.check("no time passes")
    bad = np.concatenate(([0], np.cumsum(~spans.available)))
    first, last = axis.row(stays.host, stays.start), axis.row(stays.host, stays.end - 1)
    overlap = bad[np.maximum(last, first) + 1] > bad[first]
    text = "job {0} is on host {1} from {2} to {3}, which is not available all that time "
    text += "(stays.csv, line {4})"
    finding.where(overlap, text, names, stays.host, stays.start, stays.end, stays.line)
    here = axis.row(stays.host, stays.end)
    begins = (spans.start[here] == stays.end) & (spans.host[here] == stays.host)
    state = np.where(begins, spans.state[here], 0)
    wrong = stays.left & (state != stays.ended + 1)
    text = "job {0} loses host {1} at {2}, which is not when it goes into {3} (stays.csv, line {4})"
    into = words[np.clip(stays.ended + 1, 0, 4)]
    finding.where(wrong, text, names, stays.host, stays.end, into, stays.line)
    early = (stays.ended == 4) & (stays.end != folder.given.end)
    text = "job {0} is left unfinished at {1}, before the host traces end (stays.csv, line {2})"
    finding.where(early, text, names, stays.end, stays.line)
    return finding.check(f"{len(stays)} stays, all in S1 and S2")


def check_alone(folder: CycleFolder) -> Check:
    """No host has two guests at once, and no job is on two hosts at once."""
    stays, jobs = folder.stays, folder.jobs
    finding = Finding("one guest on a host, one host for a job")
    order = np.lexsort((stays.end, stays.start, stays.host))
    host, start, end = stays.host[order], stays.start[order], stays.end[order]
    both = np.zeros(len(order), dtype=np.bool_)
    reached = _reached(host, end)
    both[1:] = (host[1:] == host[:-1]) & (start[1:] < reached[:-1])
    names = jobs.name[stays.job[order]]
    text = "job {0} comes to host {1} at {2}, which has a guest (stays.csv, line {3})"
    finding.where(both, text, names, host, start, stays.line[order])
    twice = np.zeros(len(stays), dtype=np.bool_)
    twice[1:] = ~stays.first[1:] & (stays.start[1:] < stays.end[:-1])
    text = "job {0} comes to host {1} at {2}, and is on another (stays.csv, line {3})"
    names = jobs.name[stays.job]
    finding.where(twice, text, names, stays.host, stays.start, stays.line)
    more = ~stays.last & ~stays.left
    text = "job {0} has another stay after one that was {1} (stays.csv, line {2})"
    ends = np.where(stays.ended == 0, "completed", "unfinished")
    finding.where(more, text, names, ends, stays.line)
    by_line = np.argsort(stays.line)
    back = np.zeros(len(stays), dtype=np.bool_)
    back[1:] = stays.end[by_line][1:] < stays.end[by_line][:-1]
    text = "job {0} ends at {1}, and stands after a stay that ends later (stays.csv, line {2})"
    finding.where(back, text, names[by_line], stays.end[by_line], stays.line[by_line])
    return finding.check(f"{len(stays)} stays on {len(folder.hosts)} hosts")


def _reached(host: Int, end: Int) -> Int:
    """Return the latest end so far of each host's stays, which stand one host after the other."""
    if not len(end):
        return end
    width = int(end.max()) - int(end.min()) + 1
    shifted = host * width + (end - int(end.min()))
    latest: Int = np.maximum.accumulate(shifted) - host * width + int(end.min())
    return latest


def check_offers(folder: CycleFolder, axis: Axis) -> Check:
    """All guests of a host in one time of availability do no more than it could do."""
    stays, spans = folder.stays, folder.spans
    finding = Finding("work that hosts could do")
    if not len(spans):
        return finding.check("no time passes")
    part = _stretches(spans.host, spans.available)
    offered = np.zeros(int(part[-1]) + 1, dtype=np.int64)
    np.add.at(offered, part, spans.work)
    used = np.zeros(len(offered), dtype=np.int64)
    mine = part[axis.row(stays.host, stays.start)]
    np.add.at(used, mine, stays.work)
    first = np.searchsorted(part, np.arange(len(offered)))
    text = "guests of host {0} do {2} in all from {1} on, and it could do {3} (millionths)"
    finding.where(used > offered, text, spans.host[first], spans.start[first], used, offered)
    return finding.check(f"in {len(offered)} times of availability and unavailability")


def _stretches(host: Int, available: Bool) -> Int:
    """Return the number of the time of availability, or unavailability, that each row is in."""
    new = np.zeros(len(host), dtype=np.bool_)
    new[1:] = (host[1:] != host[:-1]) | (available[1:] != available[:-1])
    return np.cumsum(new)
