"""The certifier's look at the nodes that virtual machines share: capacity, outages, aborts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import Int
from forestall.app.virtual.certify.files import ABORTED, MOVED, VirtualFolder


@dataclass(frozen=True)
class Axis:
    """Owner and time as one number, owner first: a walk over all owners is one over the axis."""

    base: int
    width: int

    @classmethod
    def over(cls, *times: Int) -> Axis:
        """Return an axis that holds all these times."""
        some = [each for each in times if len(each)]
        low = min((int(each.min()) for each in some), default=0)
        high = max((int(each.max()) for each in some), default=0)
        return cls(low, high - low + 2)

    def key(self, owner: Int, time: Int) -> Int:
        """Return the place of each owner's second on the axis."""
        key: Int = owner * self.width + (time - self.base)
        return key


def check_capacity(folder: VirtualFolder) -> Check:
    """At no second do the rates held on a node exceed its capacity."""
    stays, given = folder.stays, folder.given
    finding = Finding("capacity of nodes")
    text = "task {1} of job {0} leaves at {2}, before it came (runs.csv, line {3})"
    names = folder.jobs.name[stays.job]
    backwards = stays.end < stays.start
    finding.where(backwards, text, names, stays.number, stays.end, stays.line)
    axis = Axis.over(stays.start, stays.end)
    keys = np.concatenate((axis.key(stays.node, stays.start), axis.key(stays.node, stays.end)))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    change = np.concatenate((stays.rate, -stays.rate))[order]
    last = np.append(keys[1:] != keys[:-1], True) if len(keys) else np.zeros(0, dtype=np.bool_)
    load = np.cumsum(change)[last]  # from each second on in which anything changed
    over = load > given.capacity
    if over.any():
        second = np.searchsorted(keys[last], axis.key(stays.node, stays.start))
        bad = over[second] & (stays.end > stays.start)
        text = (
            "node {0} gives {1:.3f} of its {2:g} processors from {3} on, when task {5} of job {4} "
            "starts there (runs.csv, line {6})"
        )
        whole = np.full(len(stays), given.capacity / 1000)
        labels = (stays.node, load[second] / 1000, whole, stays.start)
        finding.where(bad, text, *labels, names, stays.number, stays.line)
    return finding.check(f"{given.nodes} nodes never give more than {given.capacity / 1000:g}")


def check_rates(folder: VirtualFolder) -> Check:
    """No stay has more than a task can use, or less than is given."""
    stays, given = folder.stays, folder.given
    finding = Finding("rates")
    names = folder.jobs.name[stays.job]
    for bad, what, limit in (
        (stays.rate > given.most, "task_processors", given.most),
        (stays.rate < given.least, "least_rate", given.least),
    ):
        text = f"task {{1}} of job {{0}} runs at {{2:g}}, {what} is {limit / 1000:g}"
        text += " (runs.csv, line {3})"
        finding.where(bad, text, names, stays.number, stays.rate / 1000, stays.line)
    low, high = given.least / 1000, given.most / 1000
    return finding.check(f"{len(stays)} stays at {low:g} to {high:g} processors")


@dataclass(frozen=True)
class Outages:
    """When nodes are down: disjoint intervals [start, end) of each, ascending by (node, start)."""

    node: Int
    start: Int
    end: Int

    def seconds(self, begin: int, end: int) -> int:
        """Return the node-seconds within [begin, end)."""
        return int((np.clip(self.end, begin, end) - np.clip(self.start, begin, end)).sum())


def outages(folder: VirtualFolder) -> Outages:
    """Return the outages; failures while a node is down prolong its outage."""
    failures = folder.failures
    until = failures.time + failures.downtime
    axis = Axis.over(failures.time, until)
    start, end = axis.key(failures.node, failures.time), axis.key(failures.node, until)
    order = np.argsort(start, kind="stable")
    start, end, node = start[order], np.maximum.accumulate(end[order]), failures.node[order]
    apart = np.ones(len(start), dtype=np.bool_)
    apart[1:] = start[1:] > end[:-1]
    closes = np.append(apart[1:], True) if len(start) else apart
    node = node[apart]
    back = axis.base - node * axis.width
    return Outages(node, start[apart] + back, end[closes] + back)


def check_down(folder: VirtualFolder, down: Outages) -> Check:
    """Nothing is on a node that is down, and no stay goes on past a failure of its node."""
    stays, failures = folder.stays, folder.failures
    finding = Finding("nothing on a node that is down")
    if len(failures.time):
        names = folder.jobs.name[stays.job]
        axis = Axis.over(stays.start, stays.end, failures.time, down.start, down.end)
        start, end = axis.key(stays.node, stays.start), axis.key(stays.node, stays.end)
        # Also a stay of no length must not begin while its node is down.
        end = np.maximum(end, start + 1)
        since, until = axis.key(down.node, down.start), axis.key(down.node, down.end)
        at = np.searchsorted(since, end, side="left") - 1
        bad = (at >= 0) & (until[np.maximum(at, 0)] > start)
        failing = np.sort(axis.key(failures.node, failures.time))
        next_one = np.searchsorted(failing, start, side="left")
        past = next_one < np.searchsorted(failing, end, side="left")
        labels = (names, stays.number, stays.node, stays.start, stays.end, stays.line)
        for rows, what in ((past, "past its failure"), (bad, "while it is down")):
            text = f"task {{1}} of job {{0}} is on node {{2}} from {{3}} to {{4}}, {what}"
            finding.where(rows, text + " (runs.csv, line {5})", *labels)
    return finding.check(f"{len(stays)} stays keep clear of {len(down.node)} outages")


def check_aborts(folder: VirtualFolder) -> Check:
    """Aborted stays and the failures of their nodes are the same, told twice."""
    stays, failures = folder.stays, folder.failures
    finding = Finding("failures and aborted tasks")
    names = folder.jobs.name[stays.job]
    axis = Axis.over(stays.end, failures.time)
    failing, rows = np.unique(axis.key(failures.node, failures.time), return_inverse=True)
    ends = axis.key(stays.node, stays.end)
    aborted = stays.ended == ABORTED
    at = np.minimum(np.searchsorted(failing, ends), max(len(failing) - 1, 0))
    struck = failing[at] == ends if len(failing) else np.zeros(len(stays), dtype=np.bool_)
    text = "task {1} of job {0} is aborted at {2}, when node {3} did not fail (runs.csv, line {4})"
    labels = (names, stays.number, stays.end, stays.node, stays.line)
    finding.where(aborted & ~struck, text, *labels)
    # A move of a machine that was stopped and copied comes after a failure of the same second.
    fled = struck & (stays.ended == MOVED) & (folder.given.copy == 0)
    text = "task {1} of job {0} moves at {2} off node {3}, which has failed (runs.csv, line {4})"
    finding.where(fled, text, *labels)
    text = "task {1} of job {0} lost {2:.3f} without being aborted (runs.csv, line {3})"
    odd = ~aborted & (stays.lost != 0)
    finding.where(odd, text, names, stays.number, stays.lost / 1000, stays.line)
    mine = aborted & struck
    for name, said, per_stay, unit in (
        ("tasks", failures.tasks, np.ones(len(stays), dtype=np.int64), 1),
        ("lost", failures.lost, stays.lost, 1000),
    ):
        told, counted = np.zeros(len(failing), np.int64), np.zeros(len(failing), np.int64)
        np.add.at(told, rows, said)
        np.add.at(counted, at[mine], per_stay[mine])
        bad = (told != counted)[rows]
        text = "the failure of node {0} at {1}: " + name + " is {2:g} in failures.csv, {3:g} here"
        values = (told[rows] / unit, counted[rows] / unit)
        finding.where(bad, text, failures.node, failures.time, *values)
    return finding.check(f"{int(aborted.sum())} aborted stays, each by a failure of its node")


def held(folder: VirtualFolder) -> Int:
    """Return the thousandths of processor-seconds that each stay held."""
    stays = folder.stays
    amount: Int = stays.rate * np.maximum(stays.end - stays.start, 0)
    return amount
