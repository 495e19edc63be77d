"""FCFS, EASY and conservative backfilling where jobs share nodes, as one compiled step an event;
and what they have in common with the promise policy.

As in `classic_kernels`, all events of a second are taken in, then one PASS decides. A job needs
nodes that each fit throughout its window; a node is never overbooked in any resource.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import merged
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.events import EventKind
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.shared import pass_kernels as passes
from forestall.scheduling.engine.shared import queue_kernels as queues
from forestall.scheduling.engine.shared.state import (
    ENDS,
    FAILURES,
    FINISHES,
    FRESH,
    SLOTS,
)
from forestall.scheduling.engine.state import CONSERVATIVE, DONE, EASY, RUNNING
from forestall.scheduling.rules import checkpoint_kernels as checkpoints
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import CHOSEN

_REQUEUE = np.int64(DecisionKind.REQUEUE)
_NODE_FAILED_REASON = np.int64(Reason.NODE_FAILED)
_FINISHED = np.int64(EventKind.FINISHED)
_CHECKPOINT_FINISHED = np.int64(EventKind.CHECKPOINT_FINISHED)
_NODE_RECOVERED = np.int64(EventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_SUBMITTED = np.int64(EventKind.SUBMITTED)
_PASS = np.int64(EventKind.PASS)
_ONE = np.int64(1)
_MINUS = np.int64(-1)


@merged
def finish(state, j, now):
    """A job is done: what it had of its nodes is free."""
    job = state.jobs[j]
    queues.forget(state, job.end, j)
    queues.occupy(state, j, _ONE)
    if state.rules.policy == CONSERVATIVE and job.end > now:
        state.at[FINISHES] += 1
        if not state.rules.compression:
            passes.change_profile(state, j, now, job.end, _ONE)
    job.status = DONE
    state.at[SLOTS] -= state.slots.first[j + 1] - state.slots.first[j]
    state.slots.used[j] = 0


@merged
def runs_on(state, j, node):
    """Return whether job `j` has a slot on a node."""
    slots = state.slots
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        if slots.node[s] == node:
            return True
    return False


@merged
def take_down(state, node, until):
    """Note that a node is down."""
    before = state.up_at[node]
    if before == 0:
        queues.count_node(state, node, _MINUS)
    else:
        queues.forget(state, before, -1 - node)
    state.up_at[node] = max(before, until)
    queues.expect(state, state.up_at[node], -1 - node)
    state.at[FAILURES] += 1


@merged
def victim_after(state, last, node):
    """Return the lowest job above `last` that runs on a node, or -1."""
    victim = np.int64(-1)
    for i in range(state.at[ENDS]):
        who = queues.end_at(state, i).who
        if (
            who > last
            and (victim < 0 or who < victim)
            and state.jobs[who].status == RUNNING
            and runs_on(state, who, node)
        ):
            victim = who
    return victim


@merged
def fail_node(state, node, until, now):
    """Take a node down; all jobs on it wait again, each without its work since its last
    checkpoint. They are told in the order of their numbers."""
    take_down(state, node, until)
    j = victim_after(state, _MINUS, node)
    while j >= 0:
        kill(state, j, node, now)
        queues.enqueue(state, j, state.jobs[j].submit if state.rules.requeue_original else now)
        j = victim_after(state, j, node)


@merged
def kill(state, j, node, now):
    """End the run of `j` because `node` failed; work since its last checkpoint is lost. Its count
    is the seconds since then: what they were worth depends on the nodes."""
    job = state.jobs[j]
    record = runs.decided(state.out, _REQUEUE, _NODE_FAILED_REASON, j)
    record.node, record.count = node, now - job.mark
    record.deadline, record.probability, record.start = job.deadline, job.promise, job.start
    record.at = job.saved
    queues.forget(state, job.end, j)
    queues.occupy(state, j, _ONE)


@merged
def recover_node(state, node, now):
    """A node is back."""
    queues.forget(state, state.up_at[node], -1 - node)
    state.up_at[node] = 0
    queues.count_node(state, node, _ONE)


@merged
def risk_of_waiting(state, j, now):
    """Return p_f of a running job's nodes over [now, now + C + I + C)."""
    rules, job = state.rules, state.jobs[j]
    if rules.checkpoint != checkpoints.CHECKPOINT_RISK:
        return 0.0
    return risk_of_job(state, j, now, now, now + 2 * job.pause + job.interval)


@merged
def risk_of_job(state, j, now, start, end):
    """Return p_f of the nodes of job `j` over [start, end); they are left in the row CHOSEN."""
    rows, slots = state.scratch.rows, state.slots
    for i in range(rows.shape[1]):
        rows[CHOSEN, i] = bits.ZERO
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        bits.put(rows[CHOSEN], slots.node[s])
    return risks.risk_of_set(state.prediction, rows[CHOSEN], now, start, end)


@merged
def schedule(state, now):
    """The pass at the end of a second in which something happened."""
    if state.rules.policy == CONSERVATIVE:
        passes.conservative_pass(state, now)
    else:
        passes.start_heads(state, now)
        if state.rules.policy == EASY:
            passes.backfill(state, now)
    state.at[FINISHES], state.at[FAILURES], state.at[FRESH] = 0, 0, 0


@merged
def admit(state, j):
    """Take note of a job that has not been seen before."""
    runs.admit(state, j)
    state.at[SLOTS] += state.slots.first[j + 1] - state.slots.first[j]


@merged
def take(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`."""
    state.out.held[0] = 0
    if kind == _SUBMITTED:
        admit(state, key)
        queues.enqueue(state, key, state.jobs[key].submit)
    elif kind == _FINISHED:
        finish(state, key, now)
    elif kind == _PASS:
        schedule(state, now)
    elif kind == _NODE_FAILED:
        fail_node(state, key, until, now)
    elif kind == _NODE_RECOVERED:
        recover_node(state, key, now)
    elif kind == _CHECKPOINT_REQUESTED:
        runs.answer(state, key, risk_of_waiting(state, key, now), now)
    elif kind == _CHECKPOINT_FINISHED:
        runs.saved(state, key)
