"""The promise policy: every job gets a quote at arrival, and keeps what it was promised."""

from __future__ import annotations

import numpy as np

from forestall._compile import inlined, kernel, merged
from forestall.decide.nodes import bitset_kernels as bits
from forestall.decide.nodes import machine_kernels as machines
from forestall.decide.nodes import timeline_kernels as timelines
from forestall.decide.promise import offer_kernels as offers
from forestall.engine.promise import run_kernels as runs
from forestall.engine.promise.state import WAITING
from forestall.model.decisions import DecisionKind, Reason
from forestall.model.events import EventKind

_RESERVE = np.int64(DecisionKind.RESERVE)
_FREE_NOW = np.int64(Reason.FREE_NOW)
_WAITS_FOR_NODES = np.int64(Reason.WAITS_FOR_NODES)
_WAITS_FOR_SAFETY = np.int64(Reason.WAITS_FOR_SAFETY)
_BEST_OFFER = np.int64(Reason.BEST_OFFER)
_NODE_DOWN_AT_START = np.int64(Reason.NODE_DOWN_AT_START)
_NODE_FAILED = np.int64(Reason.NODE_FAILED)
_RESERVED_START = np.int64(Reason.RESERVED_START)
_FINISHED = np.int64(EventKind.FINISHED)
_CHECKPOINT_FINISHED = np.int64(EventKind.CHECKPOINT_FINISHED)
_NODE_RECOVERED = np.int64(EventKind.NODE_RECOVERED)
_NODE_FAILED_EVENT = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_START_DUE = np.int64(EventKind.START_DUE)
_SUBMITTED = np.int64(EventKind.SUBMITTED)


# Whether a job is placed for the first time, with a quote to negotiate, or again, as promised
# before.
_FRESH = np.int64(1)
_AGAIN = np.int64(0)
_NOBODY = np.int64(-1)


@inlined
def reason_of(state, now):
    """Return why a fresh offer starts when it does."""
    offer = state.scratch.offer[0]
    if offer.probability < state.rules.risk:
        return _BEST_OFFER
    if offer.refused > 0:
        return _WAITS_FOR_SAFETY
    return _FREE_NOW if offer.start == now else _WAITS_FOR_NODES


@inlined
def commit(state, j, fresh, reason, node):
    """Reserve what the offer says for job `j`; a fresh one makes its promise."""
    job, offer = state.jobs[j], state.scratch.offer[0]
    job.status, job.start, job.end = WAITING, offer.start, offer.end
    if fresh:
        job.deadline, job.promise = offer.end, offer.probability
    job.row = timelines.new_row(state.timeline)
    bits.copy(state.timeline.rows[job.row], state.scratch.rows[offers.CHOSEN])
    timelines.reserve(state.timeline, job.row, job.size, job.start, job.end)
    record = runs.decided(state.out, _RESERVE, reason, j)
    record.start, record.end, record.deadline = job.start, job.end, job.deadline
    record.probability, record.node = job.promise, node
    record.count, record.at = offer.refused, offer.first
    record.left_out, record.left_out_at = offer.left_out, offer.left_out_at


@merged
def negotiate(state, now, size, length, risk):
    """Find the first offer whose probability is at least `risk`; it is left in the scratch room."""
    offers.find_offer(
        state.timeline,
        state.machine,
        state.scratch,
        state.foreseen,
        now,
        size,
        length,
        risk,
        state.rules.fault_aware,
    )


@kernel
def place(state, j, now, fresh, reason, node):
    """Find and reserve a place for job `j`: negotiated where it is fresh, else the first
    feasible."""
    job = state.jobs[j]
    length = runs.length_of(job, state.rules)
    negotiate(state, now, job.size, length, state.rules.risk if fresh else 0.0)
    commit(state, j, fresh, reason_of(state, now) if fresh else reason, node)


@inlined
def give_up(state, j, now):
    """Take back what a job's reservation still holds."""
    job = state.jobs[j]
    timelines.release(state.timeline, job.row, job.size, job.start, job.end, now)


@inlined
def begin_due(state, j, now):
    """Start a job at its reserved time and return -1; or, where a node of it is down, withdraw the
    reservation and return that node: the job must be placed again."""
    node = runs.down_at_start(state, j)
    if node < 0:
        runs.begin(state, j, now, _RESERVED_START)
        return node
    give_up(state, j, now)
    timelines.give_row(state.timeline, state.jobs[j].row)
    state.jobs[j].row = -1
    return node


@inlined
def fail_node(state, node, until, now):
    """Take a node down; return the job that it killed, which must be placed again, or -1."""
    victim = runs.job_on(state, node)
    machines.fail(state.machine, node, until)
    if victim >= 0:
        give_up(state, victim, now)
        runs.kill(state, victim, node, now)
    return victim


@inlined
def settle(state, kind, key, now):
    """Take an event that needs neither a place nor a prediction: a finish or a recovery."""
    if kind == _FINISHED:
        give_up(state, key, now)
        runs.finish(state, key)
    elif kind == _NODE_RECOVERED:
        machines.recover(state.machine, key)
    elif kind == _CHECKPOINT_FINISHED:
        runs.saved(state, key)


@merged
def take(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`.

    `key` is a job, or a node for events about nodes; `until` is a failed node's known recovery.
    """
    state.out.held[0] = 0
    timelines.advance(state.timeline, now)
    homeless, fresh, reason, node = _NOBODY, _AGAIN, _NODE_FAILED, key
    if kind == _SUBMITTED:
        runs.admit(state, key)
        homeless, fresh, node = key, _FRESH, _NOBODY
    elif kind == _START_DUE:
        node = begin_due(state, key, now)
        if node >= 0:
            homeless, reason = key, _NODE_DOWN_AT_START
    elif kind == _NODE_FAILED_EVENT:
        homeless = fail_node(state, key, until, now)
    elif kind == _CHECKPOINT_REQUESTED:
        runs.answer(state, key, runs.risk_of_waiting(state, key, now), now)
    else:
        settle(state, kind, key, now)
    if homeless >= 0:
        place(state, homeless, now, fresh, reason, node)
