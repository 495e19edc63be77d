"""Placement and negotiation by hazards: every node has some risk, which changes with time."""

from __future__ import annotations

from forestall._compile import kernel
from forestall.decide.nodes import bitset_kernels as bits
from forestall.decide.nodes import timeline_kernels as timelines
from forestall.decide.promise.offer_kernels import (
    CHOSEN,
    FREE,
    RISKY,
    SEEN,
    add_least_risky,
    free_at,
    left_out,
    next_candidate,
)
from forestall.predict.foreseen_kernels import FAR
from forestall.predict.hazard.hazard_kernels import node_risk, renewed_halfway


@kernel
def first_that_matters(hazard, now, start):
    """Return the earliest failure that could still leave a node down at `start`."""
    return max(now, start - hazard.downtime + 1)


@kernel
def mark_risks(scratch, hazard, now, start, end):
    """Note the risk of each free node; those whose risk is above 0 are marked as risky."""
    rows = scratch.rows
    halfway, growth = renewed_halfway(hazard, now, start, end)
    for i in range(rows.shape[1]):
        rows[RISKY, i] = bits.ZERO
        word = rows[FREE, i]
        while word != bits.ZERO:
            bit = word & (~word + bits.ONE)
            node = 64 * i + bits.ones(bit - bits.ONE)
            risk = node_risk(hazard, node, now, start, end, halfway, growth)
            scratch.work[node].risk = risk
            if risk > 0.0:
                bits.put(rows[RISKY], node)
            word ^= bit


@kernel
def partition_risk(hazard, row, now, start, end):
    """Return p_f of a set of nodes, which fail independently of each other."""
    lasting = 1.0
    halfway, growth = renewed_halfway(hazard, now, start, end)
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            bit = word & (~word + bits.ONE)
            node = 64 * i + bits.ones(bit - bits.ONE)
            lasting *= 1.0 - node_risk(hazard, node, now, start, end, halfway, growth)
            word ^= bit
    return 1.0 - lasting


@kernel
def noted_risk(scratch):
    """Return p_f of the chosen nodes from the risks that are noted of each."""
    lasting = 1.0
    for i in range(scratch.rows.shape[1]):
        word = scratch.rows[CHOSEN, i]
        while word != bits.ZERO:
            bit = word & (~word + bits.ONE)
            lasting *= 1.0 - scratch.work[64 * i + bits.ones(bit - bits.ONE)].risk
            word ^= bit
    return 1.0 - lasting


@kernel
def choose(scratch, hazard, now, start, end, size, fault_aware):
    """Choose `size` of the free nodes, least risk first or lowest number first, and fill in the
    offer."""
    rows = scratch.rows
    offer = scratch.offer[0]
    offer.start, offer.end, offer.left_out, offer.left_out_at = start, end, -1, -1
    since = first_that_matters(hazard, now, start)
    if not fault_aware:
        bits.take_lowest(rows[CHOSEN], rows[FREE], size)
        offer.probability = 1.0 - partition_risk(hazard, rows[CHOSEN], now, since, end)
        return
    mark_risks(scratch, hazard, now, since, end)
    bits.copy(rows[CHOSEN], rows[FREE])
    bits.subtract(rows[CHOSEN], rows[RISKY])  # a risk can be too small to be told from 0
    safe = bits.count(rows[CHOSEN])
    if safe >= size:
        bits.copy(rows[SEEN], rows[CHOSEN])
        bits.take_lowest(rows[CHOSEN], rows[SEEN], size)
    else:
        add_least_risky(scratch, size - safe)
    offer.probability = 1.0 - noted_risk(scratch)
    offer.left_out = left_out(scratch)


@kernel
def find_offer(timeline, machine, scratch, hazard, now, size, length, risk, fault_aware):
    """Find the first start that is free and whose probability is at least `risk`; the offer and the
    chosen nodes are left in the scratch room.

    Candidates are now, ends of reservations and known recoveries: a hazard has no moment of its own
    at which it is over. They end with the last reservation; where none satisfies `risk`, the best
    one is taken, the earliest among equals.
    """
    offer = scratch.offer[0]
    refused, first, best, best_start = 0, -1, -1.0, now
    start, near = now, timelines.segment_of(timeline, now)
    while start < FAR:
        near = timelines.forward(timeline, near, start)
        skip = free_at(timeline, machine, scratch, near, start, start + length, size)
        if skip == 0:
            choose(scratch, hazard, now, start, start + length, size, fault_aware)
            first = start if first < 0 else first
            if offer.probability >= risk:
                offer.refused, offer.first = refused, first
                return
            refused += 1
            if offer.probability > best:
                best, best_start = offer.probability, start
        start = next_candidate(timeline, machine, near, max(skip, start + 1))
    near = timelines.segment_of(timeline, best_start)
    free_at(timeline, machine, scratch, near, best_start, best_start + length, size)
    choose(scratch, hazard, now, best_start, best_start + length, size, fault_aware)
    offer.refused, offer.first = refused, first
