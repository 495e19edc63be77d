"""The certifier's rules of the nodes that virtual machines share: capacity, outages, aborts."""

from __future__ import annotations

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import Axis, inside, levels, touches
from forestall.app.virtual.certify.facts import Facts
from forestall.model.virtual_books import Ended


def capacity(run: Facts, finding: Finding) -> str:
    """At no second do the rates held on a node exceed its capacity."""
    stays, given = run.stays, run.given
    text = "task {1} of job {0} leaves at {2}, before it arrived (runs.csv, line {3})"
    names = run.jobs.name[stays.job]
    backwards = stays.end < stays.start
    finding.where(backwards, text, names, stays.number, stays.end, stays.line)
    axis = Axis.over(stays.start, stays.end)
    keys, load = levels(axis, stays.node, stays.start, stays.end, stays.rate)
    over = load > given.capacity[axis.owner(keys)]
    if over.any():
        second = np.searchsorted(keys, axis.key(stays.node, stays.start))
        bad = over[second] & (stays.end > stays.start)
        text = (
            "node {0} gives {1:.3f} of its {2:g} processors from {3} on, when task {5} of job {4} "
            "starts there (runs.csv, line {6})"
        )
        whole = given.capacity[stays.node] / 1000
        labels = (stays.node, load[second] / 1000, whole, stays.start)
        finding.where(bad, text, *labels, names, stays.number, stays.line)
    memory = _memory(run, finding, axis)
    sizes = " or ".join(f"{size / 1000:g}" for size in np.unique(given.capacity).tolist())
    return f"{given.nodes} nodes never give more than {sizes}{memory}"


def _memory(run: Facts, finding: Finding, axis: Axis) -> str:
    """At no second are there more machines on a node than its memory holds."""
    stays, given = run.stays, run.given
    if given.memory.min() >= 2**31:
        return ""
    keys, count = levels(axis, stays.node, stays.start, stays.end, np.ones(len(stays), np.int64))
    over = count > given.memory[axis.owner(keys)]
    second = np.searchsorted(keys, axis.key(stays.node, stays.start))
    bad = over[second] & (stays.end > stays.start)
    text = (
        "node {0} has {1} machines from {3} on, but memory for {2}, when task {5} of job {4} "
        "starts there (runs.csv, line {6})"
    )
    labels = (stays.node, count[second], given.memory[stays.node], stays.start)
    finding.where(bad, text, *labels, run.jobs.name[stays.job], stays.number, stays.line)
    return ", nor hold more machines than fit in memory"


def rates(run: Facts, finding: Finding) -> str:
    """No stay has more than a task can use, or less than is given."""
    stays, given = run.stays, run.given
    names = run.jobs.name[stays.job]
    for bad, what, limit in (
        (stays.rate > given.most, "task_processors", given.most),
        (stays.rate < given.least, "least_rate", given.least),
    ):
        text = f"task {{1}} of job {{0}} runs at {{2:g}}, but {what} is {limit / 1000:g}"
        text += " (runs.csv, line {3})"
        finding.where(bad, text, names, stays.number, stays.rate / 1000, stays.line)
    low, high = given.least / 1000, given.most / 1000
    return f"{len(stays)} stays at {low:g} to {high:g} processors"


def while_down(run: Facts, finding: Finding) -> str:
    """Nothing is on a node that is down, and no stay goes on past a failure of its node."""
    stays, failures, down = run.stays, run.failures, run.down
    if len(failures.time):
        names = run.jobs.name[stays.job]
        axis = Axis.over(stays.start, stays.end, failures.time, down.start, down.end)
        start, end = axis.key(stays.node, stays.start), axis.key(stays.node, stays.end)
        # Also a stay of no length must not begin while its node is down.
        end = np.maximum(end, start + 1)
        since, until = axis.key(down.node, down.start), axis.key(down.node, down.end)
        bad = touches(since, until, start, end)
        failing = np.sort(axis.key(failures.node, failures.time))
        past = inside(failing, start, end, at_start=True)
        labels = (names, stays.number, stays.node, stays.start, stays.end, stays.line)
        for rows, what in ((past, "past its failure"), (bad, "while it is down")):
            text = f"task {{1}} of job {{0}} is on node {{2}} from {{3}} to {{4}}, {what}"
            finding.where(rows, text + " (runs.csv, line {5})", *labels)
    return f"{len(stays)} stays avoid {len(down.node)} outages"


def aborts(run: Facts, finding: Finding) -> str:
    """Aborted stays and the failures of their nodes are the same, told twice."""
    stays, failures = run.stays, run.failures
    names = run.jobs.name[stays.job]
    axis = Axis.over(stays.end, failures.time)
    failing, rows = np.unique(axis.key(failures.node, failures.time), return_inverse=True)
    ends = axis.key(stays.node, stays.end)
    aborted = stays.ended == Ended.ABORTED
    at = np.minimum(np.searchsorted(failing, ends), max(len(failing) - 1, 0))
    struck = failing[at] == ends if len(failing) else np.zeros(len(stays), dtype=np.bool_)
    text = (
        "task {1} of job {0} is aborted at {2}, but node {3} did not fail then (runs.csv, line {4})"
    )
    labels = (names, stays.number, stays.end, stays.node, stays.line)
    finding.where(aborted & ~struck, text, *labels)
    # A move of a machine that was stopped and copied comes after a failure of the same second.
    fled = struck & (stays.ended == Ended.MOVED) & (run.given.copy == 0)
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
        text = "failure of node {0} at {1}: " + name + " is {2:g} in failures.csv, {3:g} recomputed"
        values = (told[rows] / unit, counted[rows] / unit)
        finding.where(bad, text, failures.node, failures.time, *values)
    return f"{int(aborted.sum())} aborted stays, each by a failure of its node"
