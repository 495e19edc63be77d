"""Placement and negotiation: which nodes, from when, and with what probability."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall._compile import kernel
from forestall.decide.nodes import bitset_kernels as bits
from forestall.decide.nodes import machine_kernels as machines
from forestall.decide.nodes import timeline_kernels as timelines
from forestall.predict.foreseen_kernels import FAR, first_from, next_recovery, shift_of

FREE: Final = 0
CHOSEN: Final = 1
RISKY: Final = 2
SEEN: Final = 3

OFFER: Final = np.dtype(
    [
        ("start", "i8"),
        ("end", "i8"),
        ("probability", "f8"),
        ("refused", "i8"),
        ("left_out", "i8"),
        ("left_out_at", "i8"),
        ("first", "i8"),
    ]
)
"""start and end; probability of success; earlier offers that were refused for their risk; a node
that was free but left out (-1: none) and when it is predicted to fail; the first start that was
feasible."""


ROOT: Final = np.int64(0)
WORK: Final = np.dtype([("risk", "f8"), ("node", "i8")])
"""A node's risk, by node; and the places of a heap of nodes."""


class Scratch(NamedTuple):
    """Room to work in, without meaning between calls: uint64[4, words], WORK[nodes], OFFER[1]."""

    rows: npt.NDArray[np.uint64]
    work: npt.NDArray[Any]
    offer: npt.NDArray[Any]


@kernel
def mark_risky(scratch, foreseen, now, start, end):
    """Note each free node's first predicted failure that a job in [start, end) would meet: one
    within the window, or one from `now` on that leaves the node down at `start`. Returns how many
    nodes.

    (With one downtime D for all failures that is the window [max(now, start - D + 1), end).)
    """
    rows = scratch.rows
    for i in range(rows.shape[1]):
        rows[RISKY, i] = bits.ZERO
        rows[SEEN, i] = bits.ZERO
    risky = 0
    number = first_from(foreseen, max(now, start - foreseen.longest + 1))
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return risky
        node = foreseen.failures[index].node
        met = foreseen.failures[index].until + shift > start
        if met and bits.has(rows[FREE], node) and not bits.has(rows[SEEN], node):
            bits.put(rows[SEEN], node)
            scratch.work[node].risk = foreseen.failures[index].probability
            if foreseen.failures[index].probability > 0:
                bits.put(rows[RISKY], node)
                risky += 1
        number += 1


@kernel
def partition_risk(foreseen, row, now, start, end):
    """Return p_f of a set of nodes: the probability of the first predicted failure that it
    meets."""
    number = first_from(foreseen, max(now, start - foreseen.longest + 1))
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return 0.0
        met = foreseen.failures[index].until + shift > start
        if met and bits.has(row, foreseen.failures[index].node):
            return foreseen.failures[index].probability
        number += 1


@kernel
def first_failure(foreseen, node, now, start, end):
    """Return the time of the first predicted failure that `node` meets, or -1."""
    number = first_from(foreseen, max(now, start - foreseen.longest + 1))
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return -1
        met = foreseen.failures[index].until + shift > start
        if met and foreseen.failures[index].node == node:
            return foreseen.failures[index].time + shift
        number += 1


@kernel
def before(scratch, one, other):
    """Return whether node `one` is less risky than `other`, or as risky and lower in number."""
    a, b = scratch.work[one].risk, scratch.work[other].risk
    return a < b or (a == b and one < other)


@kernel
def sink(scratch, place, count):
    """Restore the heap of nodes, least risky first, below `place`."""
    work = scratch.work
    node = work[place].node
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and before(scratch, work[child + 1].node, work[child].node):
            child += 1
        if not before(scratch, work[child].node, node):
            break
        work[place].node = work[child].node
        place = child
    work[place].node = node


@kernel
def add_least_risky(scratch, wanted):
    """Add to the chosen the `wanted` risky nodes of lowest probability, lower number first."""
    rows, work = scratch.rows, scratch.work
    count = 0
    for i in range(rows.shape[1]):
        word = rows[RISKY, i]
        while word != bits.ZERO:
            bit = word & (~word + bits.ONE)
            work[count].node = 64 * i + bits.ones(bit - bits.ONE)
            count += 1
            word ^= bit
    for place in range(count // 2 - 1, -1, -1):
        sink(scratch, place, count)
    for _ in range(wanted):
        bits.put(rows[CHOSEN], work[0].node)
        count -= 1
        work[0].node = work[count].node
        sink(scratch, ROOT, count)


@kernel
def choose(scratch, foreseen, now, start, end, size, fault_aware):
    """Choose `size` of the free nodes and fill in the offer; the page's rules 3 and 4."""
    rows = scratch.rows
    offer = scratch.offer[0]
    offer.start, offer.end, offer.left_out, offer.left_out_at = start, end, -1, -1
    risky = mark_risky(scratch, foreseen, now, start, end)
    if not fault_aware or risky == 0:
        bits.take_lowest(rows[CHOSEN], rows[FREE], size)
        offer.probability = 1.0
        if risky > 0 or len(foreseen.failures) > 0:
            offer.probability = 1.0 - partition_risk(foreseen, rows[CHOSEN], now, start, end)
        return
    bits.copy(rows[CHOSEN], rows[FREE])
    bits.subtract(rows[CHOSEN], rows[RISKY])
    safe = bits.count(rows[CHOSEN])
    if safe >= size:
        bits.copy(rows[SEEN], rows[CHOSEN])
        bits.take_lowest(rows[CHOSEN], rows[SEEN], size)
    else:
        add_least_risky(scratch, size - safe)
    offer.probability = 1.0 - partition_risk(foreseen, rows[CHOSEN], now, start, end)
    node = left_out(scratch)
    if node >= 0:
        offer.left_out = node
        offer.left_out_at = first_failure(foreseen, node, now, start, end)


@kernel
def left_out(scratch):
    """Return the lowest risky node that was passed over for a higher-numbered one, or -1."""
    rows = scratch.rows
    candidate = -1
    for i in range(rows.shape[1]):
        word = rows[RISKY, i] & ~rows[CHOSEN, i]
        if candidate < 0 and word != bits.ZERO:
            candidate = 64 * i + bits.lowest(word)
        if candidate >= 0:
            above = rows[CHOSEN, i]
            if candidate >> 6 == i:
                above &= ~((bits.ONE << np.uint64(candidate & 63)) - bits.ONE)
            if above != bits.ZERO:
                return candidate
    return -1


@kernel
def free_at(timeline, machine, scratch, near, start, end, size):
    """Find the nodes that are free in [start, end) and up at `start`; 0 where they are enough,
    otherwise the earliest time at which it is worth to look again. `near` is the segment of
    `start`."""
    skip = timelines.free_throughout(timeline, near, end, size, scratch.rows[FREE])
    if skip != 0:
        return skip
    if machine.at[machines.COUNT] == 0:
        return 0
    if machines.without_down(machine, scratch.rows[FREE], start) < size:
        return start + 1
    return 0


@kernel
def next_candidate(timeline, machine, near, lower):
    """Return the earliest reservation end or known recovery >= `lower`, or FAR; the segment `near`
    does not lie after it."""
    best = FAR
    end = timelines.next_end(timeline, near, lower)
    if end >= 0:
        best = end
    up_at = machines.next_recovery_known(machine, lower)
    if up_at >= 0:
        best = min(best, up_at)
    return best


@kernel
def find_offer(timeline, machine, scratch, foreseen, now, size, length, risk, fault_aware):
    """Find the first start that is free and whose probability is at least `risk`; the offer and the
    chosen nodes are left in the scratch room.

    `risk` <= 0 takes the first feasible start. Where no start satisfies it (a log repeated for ever
    can make that so), the best one is taken, the earliest among equals; then the probability is
    below it.
    """
    offer = scratch.offer[0]
    refused, first, best, best_start = 0, -1, -1.0, now
    give_up, recovery = FAR, now
    start, near = now, timelines.segment_of(timeline, now)
    while start < give_up:
        near = timelines.forward(timeline, near, start)
        skip = free_at(timeline, machine, scratch, near, start, start + length, size)
        lower = max(skip, start + 1)
        if skip == 0:
            choose(scratch, foreseen, now, start, start + length, size, fault_aware)
            first = start if first < 0 else first
            if offer.probability >= risk:
                offer.refused, offer.first = refused, first
                return
            refused += 1
            if offer.probability > best:
                best, best_start = offer.probability, start
            if foreseen.period > 0 and give_up == FAR:
                last = timeline.edges[timeline.at[timelines.TAIL] - 1].time
                give_up = max(last, start) + length + 2 * foreseen.period
        start = next_candidate(timeline, machine, near, lower)
        if risk > 0:
            if recovery < lower:
                recovery = next_recovery(foreseen, now, lower)
            start = min(start, recovery)
    near = timelines.segment_of(timeline, best_start)
    free_at(timeline, machine, scratch, near, best_start, best_start + length, size)
    choose(scratch, foreseen, now, best_start, best_start + length, size, fault_aware)
    offer.refused, offer.first = refused, first
