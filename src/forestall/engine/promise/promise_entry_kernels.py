"""What Python calls of the promise policy: one event, a quote, and the parts of a placement that a
user's own predictor or placement rule takes part in."""

from __future__ import annotations

from forestall._compile import entry
from forestall.decide.nodes import timeline_kernels as timelines
from forestall.decide.promise import checkpoint_kernels as checkpoints
from forestall.decide.promise import offer_kernels as offers
from forestall.engine.promise import promise_kernels as promise
from forestall.engine.promise import run_kernels as runs
from forestall.predict import foreseen_kernels as foreseen


@entry
def handle(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`."""
    promise.take(state, kind, key, until, now)


@entry
def length_for(state, estimate, interval):
    """Return the seconds that a reservation for `estimate` seconds of work takes."""
    rules = state.rules
    return checkpoints.reservation_length(estimate, interval, rules.overhead, rules.checkpoint)


@entry
def quote(state, now, size, length):
    """Find the offer that a job would get now and return its reason; the offer is left in the
    scratch room and nothing else changes."""
    promise.negotiate(state, now, size, length, state.rules.risk)
    return promise.reason_of(state, now)


@entry
def open_event(state, now):
    """Begin to take an event: no decisions yet, and the past let go."""
    state.out.held[0] = 0
    timelines.advance(state.timeline, now)


@entry
def length_of(state, j):
    """Return the seconds that a reservation for the work left of job `j` takes."""
    return runs.length_of(state.jobs[j], state.rules)


@entry
def free_at(state, start, end, size):
    """Find the nodes free in [start, end) and up at `start`: 0 where they are enough (they are left
    in the scratch room), otherwise the earliest time at which it is worth to look again."""
    near = timelines.segment_of(state.timeline, start)
    return offers.free_at(state.timeline, state.machine, state.scratch, near, start, end, size)


@entry
def next_candidate(state, lower):
    """Return the earliest reservation end or known recovery >= `lower`, or FAR."""
    near = timelines.segment_of(state.timeline, lower)
    return offers.next_candidate(state.timeline, state.machine, near, lower)


@entry
def mark_risky(state, now, start, end):
    """Note the risk of each free node over a job's time in the scratch room."""
    offers.mark_risky(state.scratch, state.foreseen, now, start, end)


@entry
def risk_of_chosen(state, now, start, end):
    """Return p_f of the chosen nodes in the scratch room."""
    row = state.scratch.rows[offers.CHOSEN]
    return offers.partition_risk(state.foreseen, row, now, start, end)


@entry
def next_recovery(state, now, lower):
    """Return the earliest end >= `lower` of a predicted outage from `now` on, or FAR."""
    return foreseen.next_recovery(state.foreseen, now, lower)


@entry
def commit(state, j, fresh, reason, node):
    """Reserve what the offer in the scratch room says."""
    promise.commit(state, j, fresh, reason, node)


@entry
def begin_due(state, j, now):
    """Start a job at its reserved time and return -1, or return a node of it that is down."""
    return promise.begin_due(state, j, now)


@entry
def fail_node(state, node, until, now):
    """Take a node down; return the job that it killed, which must be placed again, or -1."""
    return promise.fail_node(state, node, until, now)


@entry
def settle(state, kind, key, now):
    """Take an event that needs neither a place nor a prediction."""
    promise.settle(state, kind, key, now)


@entry
def answer(state, j, probability, now):
    """Answer a checkpoint request."""
    runs.answer(state, j, probability, now)
