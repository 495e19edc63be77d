"""The certifier's walk over the nodes: who had each of them when, and when it was down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forestall.app.kit.finding import Finding
from forestall.app.kit.sheet import Int
from forestall.app.promise.certify.files import Folder, NodeRanges

BLOCK = 4_000_000
"""Node intervals looked at together: bounds the memory, whatever the size of the machine."""


@dataclass(frozen=True)
class _Axis:
    """Node and time as one number, node first: intervals of all nodes in one order."""

    base: int
    width: int

    def key(self, node: Int, time: Int) -> Int:
        clipped = np.clip(time - self.base, 0, self.width - 1)
        key: Int = node * self.width + clipped
        return key


def _merged(start: Int, end: Int) -> tuple[Int, Int]:
    """Return the union of intervals on one axis as disjoint ones, ascending."""
    some = end > start
    start, end = start[some], end[some]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.ones(len(start), dtype=np.bool_)
    begins[1:] = start[1:] > end[:-1]
    ends = np.append(begins[1:], True) if len(start) else begins
    return start[begins], end[ends]


def _blocks(nodes: NodeRanges, machine: int) -> Iterator[tuple[int, int, Int, Int]]:
    """Yield [low, high) of node numbers with owner and node of each interval on them."""
    total = int((np.minimum(nodes.stop, machine) - np.minimum(nodes.first, machine)).sum())
    width = max(1, machine // max(1, -(-total // BLOCK)))
    for low in range(0, machine, width):
        high = min(low + width, machine)
        first, stop = np.maximum(nodes.first, low), np.minimum(nodes.stop, high)
        count = np.maximum(stop - first, 0)
        owner = np.repeat(nodes.owner, count)
        begins = np.cumsum(count) - count
        yield low, high, owner, np.arange(len(owner)) + np.repeat(first - begins, count)


@dataclass(frozen=True)
class _Names:
    """Names of jobs, looked up only for the row that is shown."""

    ids: list[str]
    job: Int

    def __getitem__(self, row: int) -> str:
        return self.ids[int(self.job[row])]

    def after(self, rows: int) -> _Names:
        return _Names(self.ids, self.job[rows:])


@dataclass
class Sweep:
    """What the walk over all nodes finds.

    `down` and `covered` are node-seconds between the first submission and the last finish: those
    of outages, and those of outages and runs together, each second of a node counted once.
    """

    two_jobs: Finding
    while_down: Finding
    survived: Finding
    down: int = 0
    covered: int = 0


@dataclass(frozen=True)
class _World:
    """The given files on one axis. `outage_*`: what is within the account, with its node."""

    given: Folder
    axis: _Axis
    begin: int
    end: int
    failing: Int
    down_from: Int
    down_to: Int
    outage_node: Int
    outage_from: Int
    outage_to: Int


def sweep(given: Folder) -> Sweep:
    """Look at every node from its first run to its last."""
    world = _world(given)
    found = Sweep(
        Finding("one job on a node"),
        Finding("no job on a node that is down"),
        Finding("no job survives a failure of its node"),
        down=int((world.outage_to - world.outage_from).sum()),
    )
    for low, high, run, node in _blocks(given.runs.nodes, given.summary.nodes):
        order = np.argsort(world.axis.key(node, given.runs.start[run]), kind="stable")
        _look(world, found, run[order], node[order])
        found.covered += _covered(world, low, high, run, node)
    return found


def _world(given: Folder) -> _World:
    jobs, runs, failures = given.jobs, given.runs, given.failures
    begin, end = int(jobs["submit"].min()), int(jobs["finish"].max())
    times = np.concatenate([runs.start, runs.end, failures.time, [begin, end]])
    axis = _Axis(int(times.min()), int(np.ptp(times)) + 2)
    failing = axis.key(failures.node, failures.time)
    recovered = axis.key(failures.node, failures.time + failures.downtime)
    down_from, down_to = _merged(failing, recovered)
    outages = _apart(axis, down_from, down_to, begin, end)
    return _World(given, axis, begin, end, np.sort(failing), down_from, down_to, *outages)


def _look(world: _World, found: Sweep, run: Int, node: Int) -> None:
    """Note what cannot be in these runs of these nodes, which are in order of (node, start)."""
    runs = world.given.runs
    start, end = runs.start[run], runs.end[run]
    start_key, end_key = world.axis.key(node, start), world.axis.key(node, end)
    name = _Names(world.given.jobs.ids, runs.job[run])
    twice = start_key[1:] < np.maximum.accumulate(end_key)[:-1]
    text = "node {0} runs job {1} at {2}, when job {3} has not ended"
    found.two_jobs.where(twice, text, node[1:], name.after(1), start[1:], name)
    text = "job {0} runs on node {1} from {2} to {3}, "
    if len(world.down_from):
        at = np.searchsorted(world.down_from, end_key, side="left") - 1
        is_down = (at >= 0) & (world.down_to[np.maximum(at, 0)] > start_key)
        found.while_down.where(is_down, text + "and the node is down", name, node, start, end)
    after = np.searchsorted(world.failing, start_key, side="right")
    past = np.searchsorted(world.failing, end_key, side="left") > after
    found.survived.where(past, text + "past a failure of the node", name, node, start, end)


def _covered(world: _World, low: int, high: int, run: Int, node: Int) -> int:
    """Return the seconds in which these nodes, all of [low, high), run something or are down."""
    runs = world.given.runs
    start = world.axis.key(node, np.clip(runs.start[run], world.begin, world.end))
    end = world.axis.key(node, np.clip(runs.end[run], world.begin, world.end))
    mine = (world.outage_node >= low) & (world.outage_node < high)
    starts, ends = _merged(
        np.concatenate([start, world.outage_from[mine]]),
        np.concatenate([end, world.outage_to[mine]]),
    )
    return int((ends - starts).sum())


def _apart(axis: _Axis, start: Int, end: Int, begin: int, finish: int) -> tuple[Int, Int, Int]:
    """Return the node of each outage and the outage cut to [begin, finish], on the axis."""
    node = start // axis.width
    low, high = node * axis.width + (begin - axis.base), node * axis.width + (finish - axis.base)
    return node, np.clip(start, low, high), np.clip(end, low, high)
