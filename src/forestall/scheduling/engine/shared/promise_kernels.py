"""The promise policy where jobs share nodes: every job gets a quote at arrival, keeps what it was
promised, and every event is answered by itself.

As `promise_kernels` (Oliner et al., DSN 2005), with nodes that fit instead of nodes that are free:
what reservations leave of each node stands in its profile, and outages that are known count at the
start of a window. Among nodes that fit, the least risky ones are taken; among equals, those that
the rule of placement has first.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel, merged
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.events import EventKind
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.shared import event_kernels as shared
from forestall.scheduling.engine.shared import pass_kernels as passes
from forestall.scheduling.engine.shared import queue_kernels as queues
from forestall.scheduling.engine.shared.state import ENDS, FIRST
from forestall.scheduling.engine.state import WAITING
from forestall.scheduling.rules import fit_kernels as fits
from forestall.scheduling.rules import (  # noqa: F401 - the bodies of the questions
    foreseen_risk_kernels,
    node_risk_kernels,
    planned_risk_kernels,
)
from forestall.scheduling.rules import profile_kernels as profiles
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import FREE, RISKY

_RESERVE = np.int64(DecisionKind.RESERVE)
_FREE_NOW = np.int64(Reason.FREE_NOW)
_WAITS_FOR_NODES = np.int64(Reason.WAITS_FOR_NODES)
_WAITS_FOR_SAFETY = np.int64(Reason.WAITS_FOR_SAFETY)
_BEST_OFFER = np.int64(Reason.BEST_OFFER)
_NODE_DOWN_AT_START = np.int64(Reason.NODE_DOWN_AT_START)
_NODE_FAILED_REASON = np.int64(Reason.NODE_FAILED)
_RESERVED_START = np.int64(Reason.RESERVED_START)
_FINISHED = np.int64(EventKind.FINISHED)
_CHECKPOINT_FINISHED = np.int64(EventKind.CHECKPOINT_FINISHED)
_NODE_RECOVERED = np.int64(EventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_START_DUE = np.int64(EventKind.START_DUE)
_SUBMITTED = np.int64(EventKind.SUBMITTED)
_ONE = np.int64(1)
_MINUS = np.int64(-1)
_LOWEST = np.int64(-(2**62))
"""Before any job and any node that are expected at one time."""
_FRESH = np.int64(1)
_AGAIN = np.int64(0)


@merged
def next_candidate(state, now, lower, wanted):
    """Return the earliest reservation end, known recovery or, where a promise is negotiated,
    foreseen one that is not before `lower`; FAR where there is none."""
    place, best = queues.place_of(state, lower, _LOWEST), FAR
    if place < state.at[ENDS]:
        best = queues.end_at(state, place).time
    if wanted > 0:
        best = min(best, risks.next_recovery(state.prediction, now, lower))
    return best


@kernel
def choose(state, j, now, start, end):
    """Choose nodes for job `j` over [start, end), and fill in the offer."""
    room, rows, k = state.room, state.scratch.rows, state.kind[j]
    for i in range(rows.shape[1]):
        rows[FREE, i] = bits.ZERO
    passes.fit_over(state, k, start, end)
    for node in range(len(state.capacity)):
        room.risk[node] = 0.0
        if room.units[node] > 0:
            bits.put(rows[FREE], node)
    if state.placement[0] != fits.FIRST:
        if risks.note_risks(state.prediction, state.scratch, now, start, end) > 0:
            for node in range(len(state.capacity)):
                if bits.has(rows[RISKY], node):
                    room.risk[node] = state.scratch.work[node].risk
    queues.place(state, j, room.least)
    offer = state.scratch.offer[0]
    offer.start, offer.end = start, end
    offer.probability = 1.0 - shared.risk_of_job(state, j, now, start, end)


@kernel
def search(state, j, now, wanted):
    """Find the first start from which job `j` fits with at least the probability `wanted`; 0 or
    less takes the first one that fits. Where none ever will, it is the best of them, the earliest
    among equals; what repeats for ever is looked at for two periods past the last reservation."""
    job, offer, k = state.jobs[j], state.scratch.offer[0], state.kind[j]
    length, asked = runs.length_of(job, state.rules), wanted
    offer.refused, offer.first = 0, -1
    best, best_start, give_up, lower = -1.0, now, FAR, now
    while True:
        if lower >= give_up:
            lower, wanted, give_up = best_start, -1.0, FAR
        start = profiles.earliest(
            state.profile, state.kinds, k, state.capacity, state.up_at, lower, length, job.size,
            state.room,
        )  # fmt: skip
        choose(state, j, now, start, start + length)
        if offer.first < 0:
            offer.first = start
        if offer.probability >= wanted:
            return
        offer.refused += 1
        if offer.probability > best:
            best, best_start = offer.probability, start
        period = risks.period(state.prediction)
        if period > 0 and give_up == FAR:
            last = start
            if state.at[ENDS] > 0:
                last = queues.end_at(state, state.at[ENDS] - 1).time
            give_up = max(last, start) + length + 2 * period
        if risks.is_spread(state.prediction, state.scratch, now, start, start + length):
            give_up = start + 1
        lower = next_candidate(state, now, start + 1, asked)


@merged
def reason_of(state, now):
    """Return why a fresh offer starts when it does."""
    offer = state.scratch.offer[0]
    if offer.probability < state.rules.wanted:  # only where the search gave up
        return _BEST_OFFER
    if offer.refused > 0:
        return _WAITS_FOR_SAFETY
    return _FREE_NOW if offer.start == now else _WAITS_FOR_NODES


@kernel
def place(state, j, now, fresh, reason, node):
    """Give job `j` a reservation; a fresh one makes its promise, another keeps deadline and
    promise."""
    job, offer = state.jobs[j], state.scratch.offer[0]
    profiles.advance(state.profile, now)
    search(state, j, now, state.rules.wanted * fresh)
    job.status, job.start, job.end = WAITING, offer.start, offer.end
    if fresh:
        job.deadline, job.promise = offer.end, offer.probability
        reason = reason_of(state, now)
    passes.change_profile(state, j, job.start, job.end, _MINUS)
    queues.expect(state, job.end, j)
    record = runs.decided(state.out, _RESERVE, reason, j)
    record.start, record.end, record.deadline = job.start, job.end, job.deadline
    record.probability, record.node = job.promise, node
    record.count, record.at = offer.refused, offer.first


@merged
def give_up(state, j, now):
    """Take back what is left of the reservation of job `j`."""
    job = state.jobs[j]
    if job.end > now:
        passes.change_profile(state, j, max(now, job.start), job.end, _ONE)


@merged
def down_node(state, j):
    """Return the lowest node of job `j` that is down, or -1."""
    slots, found = state.slots, _MINUS
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        node = slots.node[s]
        if state.up_at[node] != 0 and (found < 0 or node < found):
            found = node
    return found


@merged
def begin_due(state, j, now):
    """Start job `j` at its reserved time, or place it again where a node of it is down."""
    node = down_node(state, j)
    if node < 0:
        queues.begin(state, j, now, _RESERVED_START)
        return
    give_up(state, j, now)
    queues.forget(state, state.jobs[j].end, j)
    place(state, j, now, _AGAIN, _NODE_DOWN_AT_START, node)


@merged
def fail_node(state, node, until, now):
    """Take a node down: all jobs on it end, then each is placed again, in the order of their
    numbers. Reservations of jobs that wait stay: the node may be back before they start."""
    shared.take_down(state, node, until)
    risks.learn(state.prediction, node, now)
    j = shared.victim_after(state, _MINUS, node)
    while j >= 0:
        give_up(state, j, now)
        shared.kill(state, j, node, now)
        queues.enqueue(state, j, np.int64(0))
        j = shared.victim_after(state, j, node)
    while state.at[FIRST] >= 0:
        j = state.at[FIRST]
        queues.dequeue(state, j)
        place(state, j, now, _AGAIN, _NODE_FAILED_REASON, node)


@merged
def take(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`."""
    state.out.held[0] = 0
    risks.move_on(state.prediction, now)
    if kind == _SUBMITTED:
        shared.admit(state, key)
        place(state, key, now, _FRESH, _WAITS_FOR_NODES, _MINUS)
    elif kind == _START_DUE:
        begin_due(state, key, now)
    elif kind == _FINISHED:
        give_up(state, key, now)
        shared.finish(state, key, now)
    elif kind == _NODE_FAILED:
        fail_node(state, key, until, now)
    elif kind == _NODE_RECOVERED:
        shared.recover_node(state, key, now)
    elif kind == _CHECKPOINT_REQUESTED:
        runs.answer(state, key, shared.risk_of_waiting(state, key, now), now)
    elif kind == _CHECKPOINT_FINISHED:
        runs.saved(state, key)
