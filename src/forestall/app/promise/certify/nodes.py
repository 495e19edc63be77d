"""The certifier's walk over the nodes: who had each of them when, and when it was down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import Axis, inside, merged, overlapping, touches
from forestall.app.kit.certify.sheet import Int
from forestall.app.promise.certify.files import NodeRanges, PromiseRun

BLOCK = 4_000_000
"""Node intervals looked at together: bounds the memory, whatever the size of the machine."""


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
class _World:
    """The given files on one axis. `outage_*`: what is within the account, with its node."""

    run: PromiseRun
    axis: Axis
    begin: int
    end: int
    failing: Int
    down_from: Int
    down_to: Int
    outage_node: Int
    outage_from: Int
    outage_to: Int

    @classmethod
    def of(cls, run: PromiseRun) -> Self:
        """Return the world of a run."""
        jobs, runs, failures = run.jobs, run.runs, run.failures
        begin, end = int(jobs.submit.min()), int(jobs.finish.max())
        axis = Axis.over(runs.start, runs.end, failures.time, np.array([begin, end]))
        failing = axis.key(failures.node, failures.time)
        down_from, down_to = merged(
            failing, axis.key(failures.node, failures.time + failures.downtime)
        )
        node = axis.owner(down_from)
        low, high = (axis.key(node, np.full(len(node), at)) for at in (begin, end))
        within = (np.clip(down_from, low, high), np.clip(down_to, low, high))
        return cls(run, axis, begin, end, np.sort(failing), down_from, down_to, node, *within)


@dataclass
class Sweep:
    """What the walk over all nodes finds.

    `down` and `covered` are node-seconds between the first submission and the last finish: those
    of outages, and those of outages and runs together, each second of a node counted once.
    """

    two_jobs: Finding = field(default_factory=Finding)
    while_down: Finding = field(default_factory=Finding)
    survived: Finding = field(default_factory=Finding)
    down: int = 0
    covered: int = 0


def sweep(run: PromiseRun) -> Sweep:
    """Look at every node from its first run to its last."""
    world = _World.of(run)
    found = Sweep()
    found.down = int((world.outage_to - world.outage_from).sum())
    for low, high, row, node in _blocks(run.nodes, run.given.nodes):
        order = np.argsort(world.axis.key(node, run.runs.start[row]), kind="stable")
        _look(world, found, row[order], node[order])
        found.covered += _covered(world, low, high, row, node)
    return found


def _look(world: _World, found: Sweep, row: Int, node: Int) -> None:
    """Note what cannot be in these runs of these nodes, which are in order of (node, start)."""
    start, end = world.run.runs.start[row], world.run.runs.end[row]
    name = world.run.names[row]
    starts, ends = world.axis.key(node, start), world.axis.key(node, end)
    twice = overlapping(starts, ends)
    text = "node {0} runs job {1} at {2}, before job {3} has ended"
    found.two_jobs.where(twice, text, node, name, start, np.roll(name, 1))
    text = "job {0} runs on node {1} from {2} to {3}, "
    is_down = touches(world.down_from, world.down_to, starts, ends)
    found.while_down.where(is_down, text + "while the node is down", name, node, start, end)
    past = inside(world.failing, starts, ends, at_start=False)
    found.survived.where(past, text + "past a failure of the node", name, node, start, end)


def _covered(world: _World, low: int, high: int, row: Int, node: Int) -> int:
    """Return the seconds in which these nodes, all of [low, high), run something or are down."""
    runs = world.run.runs
    start = world.axis.key(node, np.clip(runs.start[row], world.begin, world.end))
    end = world.axis.key(node, np.clip(runs.end[row], world.begin, world.end))
    mine = (world.outage_node >= low) & (world.outage_node < high)
    starts, ends = merged(
        np.concatenate([start, world.outage_from[mine]]),
        np.concatenate([end, world.outage_to[mine]]),
    )
    return int((ends - starts).sum())
