"""The nodes: which job each runs, which are down and until when as far as is known."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import inlined, kernel
from forestall.scheduling.rules.nodes import bitset_kernels as bits

NODE: Final = np.dtype([("up_at", "i8")])
"""The time at which the node is back where it is down."""

DOWN, IDLE, BUSY = range(3)
COUNT, UNASSIGNED, LOWEST, RUNNING = range(4)


class Machine(NamedTuple):
    """NODE[nodes]; uint64[3, words] rows: the nodes that are down, those that are up and
    unassigned, and those that a job has; int64[nodes] list of the down ones; int64[nodes] list of
    the jobs that run and have node sets, in no order; int64[4]: how many are down, how many are up
    and unassigned, a word below which none of the latter lies, and how many jobs run.

    Which job a node has is not kept: that is asked for only when a node fails, while a job on
    thousands of nodes would have to write its number to each.
    """

    nodes: npt.NDArray[Any]
    rows: npt.NDArray[np.uint64]
    down: npt.NDArray[np.int64]
    running: npt.NDArray[np.int64]
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
    if bits.has(machine.rows[IDLE], node):
        bits.drop(machine.rows[IDLE], node)
        machine.at[UNASSIGNED] -= 1
    return True


@kernel
def recover(machine, node):
    """Take a node up again."""
    machine.nodes[node].up_at = 0
    bits.drop(machine.rows[DOWN], node)
    # The list stays in order of failure; few nodes are down at a time.
    down, last = machine.down, machine.at[COUNT] - 1
    for i in range(last + 1):
        if down[i] == node:
            for k in range(i, last):
                down[k] = down[k + 1]
            break
    machine.at[COUNT] = last
    if not bits.has(machine.rows[BUSY], node):
        bits.put(machine.rows[IDLE], node)
        machine.at[UNASSIGNED] += 1
        machine.at[LOWEST] = min(machine.at[LOWEST], node >> 6)


@inlined
def take_first(machine, row, wanted):
    """Write the `wanted` lowest nodes that are up and unassigned, which are as many, into the empty
    `row`; return the word of the first of them.

    Words without any stay as they are: on a large machine they are nearly all.
    """
    idle, at = machine.rows[IDLE], machine.at
    # LOWEST only ever says too little: it falls as nodes return, and is made true here.
    while idle[at[LOWEST]] == bits.ZERO:
        at[LOWEST] += 1
    left, i = wanted, at[LOWEST]
    while left > 0:
        word = idle[i]
        if word != bits.ZERO:
            here = bits.ones(word)
            if here > left:
                word, here = bits.lowest_of(word, left), left
            row[i] = word
            left -= here
        i += 1
    return at[LOWEST]


@inlined
def assign(machine, row, first, size):
    """Give a job the nodes of `row`: `size` of them, all idle, the lowest not before word
    `first`."""
    left, i = size, first
    while left > 0:
        word = row[i]
        if word != bits.ZERO:
            machine.rows[IDLE, i] &= ~word
            machine.rows[BUSY, i] |= word
            left -= bits.ones(word)
        i += 1
    machine.at[UNASSIGNED] -= size


@inlined
def vacate(machine, row, first, size):
    """Take the nodes of `row`, `size` of them and none before word `first`, from their job; the row
    is left empty."""
    left, i = size, first
    while left > 0:
        word = row[i]
        if word != bits.ZERO:
            left -= bits.ones(word)
            row[i] = bits.ZERO
            machine.rows[BUSY, i] &= ~word
            freed = word & ~machine.rows[DOWN, i]
            if freed != bits.ZERO:
                machine.rows[IDLE, i] |= freed
                machine.at[UNASSIGNED] += bits.ones(freed)
                machine.at[LOWEST] = min(machine.at[LOWEST], i)
        i += 1


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
