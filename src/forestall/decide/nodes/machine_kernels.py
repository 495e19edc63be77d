"""The nodes: which job each runs, which are down and until when as far as is known."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall._compile import kernel
from forestall.decide.nodes import bitset_kernels as bits

NODE: Final = np.dtype([("job", "i8"), ("up_at", "i8")])
"""The job that runs there, or -1; the time at which the node is back where it is down."""

DOWN: Final = 0
IDLE: Final = 1
COUNT: Final = 0
UNASSIGNED: Final = 1
LOWEST: Final = 2


class Machine(NamedTuple):
    """NODE[nodes]; uint64[2, words] rows: the nodes that are down, and those that are up and
    unassigned; int64[nodes] list of the down ones; int64[3]: how many are down, how many are up and
    unassigned, and a word below which none of the latter lies."""

    nodes: npt.NDArray[Any]
    rows: npt.NDArray[np.uint64]
    down: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]


@kernel
def fail(machine, node, until):
    """Take a node down until `until`, or longer where it already is; return whether it was up."""
    nodes = machine.nodes
    if bits.has(machine.rows[DOWN], node):
        nodes[node].up_at = max(nodes[node].up_at, until)
        return False
    nodes[node].up_at = until
    bits.put(machine.rows[DOWN], node)
    machine.down[machine.at[COUNT]] = node
    machine.at[COUNT] += 1
    if nodes[node].job < 0:
        bits.drop(machine.rows[IDLE], node)
        machine.at[UNASSIGNED] -= 1
    return True


@kernel
def recover(machine, node):
    """Take a node up again."""
    machine.nodes[node].up_at = 0
    bits.drop(machine.rows[DOWN], node)
    down, last = machine.down, machine.at[COUNT] - 1
    for i in range(last + 1):
        if down[i] == node:
            for k in range(i, last):
                down[k] = down[k + 1]
            break
    machine.at[COUNT] = last
    if machine.nodes[node].job < 0:
        bits.put(machine.rows[IDLE], node)
        machine.at[UNASSIGNED] += 1
        machine.at[LOWEST] = min(machine.at[LOWEST], node >> 6)


@kernel
def assign(machine, row, job):
    """Give the nodes of `row` to `job`."""
    for i in range(len(row)):
        word = row[i]
        machine.rows[IDLE, i] &= ~word
        while word != bits.ZERO:
            bit = word & (~word + bits.ONE)
            machine.nodes[64 * i + bits.ones(bit - bits.ONE)].job = job
            word ^= bit
            machine.at[UNASSIGNED] -= 1


@kernel
def vacate(machine, row):
    """Take the nodes of `row` from their job."""
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            bit = word & (~word + bits.ONE)
            machine.nodes[64 * i + bits.ones(bit - bits.ONE)].job = -1
            word ^= bit
        freed = row[i] & ~machine.rows[DOWN, i]
        if freed != bits.ZERO:
            machine.rows[IDLE, i] |= freed
            machine.at[UNASSIGNED] += bits.ones(freed)
            machine.at[LOWEST] = min(machine.at[LOWEST], i)


@kernel
def next_recovery_known(machine, lower):
    """Return the earliest known recovery >= `lower`, or -1 where there is none."""
    best = -1
    for i in range(machine.at[COUNT]):
        up_at = machine.nodes[machine.down[i]].up_at
        if up_at >= lower and (best < 0 or up_at < best):
            best = up_at
    return best


@kernel
def without_down(machine, free, time):
    """Remove from `free` the nodes that are down at `time` as far as is known now; return the
    count."""
    for i in range(machine.at[COUNT]):
        node = machine.down[i]
        if machine.nodes[node].up_at > time:
            bits.drop(free, node)
    return bits.count(free)
