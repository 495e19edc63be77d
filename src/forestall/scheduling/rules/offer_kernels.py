"""Placement and negotiation: which nodes, from when, and with what probability.

Where Python has to be asked for a risk or a choice, these functions return False and leave the
question in the scratch room. Called again once it is answered, they go on: a window is looked at
anew, which changes nothing, and what is known of it is not asked again.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel, merged
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.rules import (  # noqa: F401 - the bodies of the questions
    asked_risk_kernels,
    foreseen_risk_kernels,
    node_risk_kernels,
    spare_kernels,
)
from forestall.scheduling.rules import near_kernels as nearby
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.search_state import (
    ANYWHERE,
    CHOSEN,
    EACH,
    FREE,
    LOWEST,
    MOMENT,
    OWN,
    PICK,
    RECOVERY,
    RISKY,
    TOGETHER,
    UNIT,
    WITHIN,
)


@kernel
def choose(scratch, prediction, near, now, start, end, size, placement):
    """Choose `size` of the free nodes for [start, end) and fill in the offer (docs/models/promises,
    "A quote", rules 2 and 3); False where Python has to be asked first."""
    rows, search, offer = scratch.rows, scratch.search, scratch.offer[0]
    offer.start, offer.end, offer.left_out, offer.left_out_at = start, end, -1, -1
    if placement == LOWEST:
        if near.sort == ANYWHERE:
            bits.take_lowest(rows[CHOSEN], rows[FREE], size)
        else:
            nearby.take_near(scratch, prediction, near, now, start, end, size, placement)
        if not risks.told(prediction, search, TOGETHER):
            return False
        offer.probability = 1.0 - risks.risk_of_set(prediction, rows[CHOSEN], now, start, end)
        return True
    if not risks.told(prediction, search, EACH):
        return False
    risky, pool = risks.note_risks(prediction, scratch, now, start, end), FREE
    if placement == OWN:
        if not risks.known(search, PICK):
            return False
    elif near.sort != ANYWHERE:
        nearby.take_near(scratch, prediction, near, now, start, end, size, placement)
        pool = UNIT
    elif risky == 0:
        bits.take_lowest(rows[CHOSEN], rows[FREE], size)
    else:
        nearby.pick(scratch, prediction, FREE, now, start, end, size, placement)
    if not risks.told(prediction, search, TOGETHER):
        return False
    offer.probability = 1.0 - risks.risk_of_chosen(prediction, scratch, now, start, end)
    if risky > 0:
        offer.left_out = left_out(scratch, pool)
        if offer.left_out >= 0:
            search[0].node = offer.left_out
            if not risks.told(prediction, search, MOMENT):
                return False
            offer.left_out_at = risks.first_failure(prediction, offer.left_out, now, start, end)
    return True


@merged
def left_out(scratch, pool):
    """Return the lowest risky node of a row of free ones that was passed over for a higher-numbered
    one, or -1.

    If no node above the lowest candidate was chosen, none was above any other.
    """
    rows = scratch.rows
    candidate = -1
    for i in range(rows.shape[1]):
        word = rows[RISKY, i] & rows[pool, i] & ~rows[CHOSEN, i]
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
    free = scratch.rows[FREE]
    if scratch.search[0].within:
        skip = timelines.free_within(timeline, near, end, size, free, scratch.rows[WITHIN])
    else:
        skip = timelines.free_throughout(timeline, near, end, size, free)
    if skip != 0:
        return skip
    if machine.at[machines.COUNT] == 0:  # the usual case: no node is down
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
def open_search(timeline, scratch, now, wanted):
    """Begin to look for a start on any nodes whose probability of success is at least `wanted`; 0
    or less takes the first feasible one."""
    at = scratch.search[0]
    at.start, at.lower, at.near = now, now, timelines.segment_of(timeline, now)
    at.recovery, at.give_up, at.wanted = now, FAR, wanted
    at.refused, at.first, at.best, at.best_start = 0, -1, -1.0, now
    at.known, at.within, at.hurried, at.beyond = 0, 0, 1, 0


@kernel
def take_within(scratch, pool):
    """Let the search that was opened take nodes of the row `pool` only."""
    scratch.search[0].within = 1
    bits.copy(scratch.rows[WITHIN], pool)


@merged
def to_next_start(timeline, machine, scratch, prediction, now):
    """Go on to the earliest candidate start not before `lower`: the end of a reservation, a known
    recovery or, where a promise is negotiated, a foreseen one; FAR where none is left. False where
    Python has to be asked for the latter."""
    at = scratch.search[0]
    # The earliest recovery not before an earlier `lower` still is that for all up to itself.
    if at.wanted > 0 and at.recovery < at.lower:
        if not risks.told(prediction, scratch.search, RECOVERY):
            return False
        at.recovery = risks.next_recovery(prediction, now, at.lower)
        at.known = 0
    at.start = next_candidate(timeline, machine, at.near, at.lower)
    if at.wanted > 0:
        at.start = min(at.start, at.recovery)
    return True


@merged
def refuse(timeline, scratch, prediction, length):
    """Take note that the offer is not good enough. What repeats for ever may never allow a better
    one: the search gives up two periods past the last reservation."""
    at, offer = scratch.search[0], scratch.offer[0]
    at.refused += 1
    if offer.probability > at.best:
        at.best, at.best_start = offer.probability, at.start
    period = risks.period(prediction)
    if period > 0 and at.give_up == FAR:
        last = timeline.edges[timeline.at[timelines.TAIL] - 1].time
        at.give_up = max(last, at.start) + length + 2 * period


@kernel
def search(timeline, machine, scratch, prediction, near, now, size, length, placement):
    """Find the first start that is free and good enough; the offer and the chosen nodes are left in
    the scratch room. False where Python has to be asked first.

    Where no start satisfies the job (a log repeated for ever can make that so, and hazards, which
    never are over), the best offer is made, the earliest among equals; then its probability is
    below what was wanted. Where risks are told that no later start escapes it is the best one up to
    the first start that meets nothing else.
    """
    at, offer = scratch.search[0], scratch.offer[0]
    while True:
        if at.start < at.lower and not to_next_start(timeline, machine, scratch, prediction, now):
            return False
        if at.start >= at.give_up:
            # Back to the best of the refused ones, which now is good enough.
            at.start = at.lower = at.best_start
            at.near = timelines.segment_of(timeline, at.start)
            at.wanted, at.give_up = -1.0, FAR
        at.near = timelines.forward(timeline, at.near, at.start)
        at.end, at.size = at.start + length, size
        skip = free_at(timeline, machine, scratch, at.near, at.start, at.end, size)
        if skip == 0:
            if not choose(scratch, prediction, near, now, at.start, at.end, size, placement):
                return False
            at.known = 0
            if at.beyond > 0:
                offer.probability = risks.success_with_spares(prediction, scratch, now)
            if at.first < 0:
                at.first = at.start
            if offer.probability >= at.wanted:
                offer.refused, offer.first = at.refused, at.first
                return True
            refuse(timeline, scratch, prediction, length)
            if at.hurried and risks.is_spread(prediction, scratch, now, at.start, at.end):
                at.give_up = at.start + 1
        at.lower = max(skip, at.start + 1)
