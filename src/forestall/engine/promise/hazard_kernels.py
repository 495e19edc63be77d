"""The promise policy with hazards in the place of foreseen failures: the same steps, and every
failure changes what is known of its node."""

from __future__ import annotations

import numpy as np

from forestall._compile import inlined, kernel, merged
from forestall.decide.nodes import timeline_kernels as timelines
from forestall.decide.promise import checkpoint_kernels as checkpoints
from forestall.decide.promise import hazard_offer_kernels as offers
from forestall.engine.promise import promise_kernels as promise
from forestall.engine.promise import run_kernels as runs
from forestall.model.decisions import Reason
from forestall.model.events import EventKind
from forestall.predict.hazard.hazard_kernels import renew

_NODE_DOWN_AT_START = np.int64(Reason.NODE_DOWN_AT_START)
_NODE_FAILED = np.int64(Reason.NODE_FAILED)
_NODE_FAILED_EVENT = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_START_DUE = np.int64(EventKind.START_DUE)
_SUBMITTED = np.int64(EventKind.SUBMITTED)
_FRESH = np.int64(1)
_AGAIN = np.int64(0)
_NOBODY = np.int64(-1)


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
    promise.commit(state, j, fresh, promise.reason_of(state, now) if fresh else reason, node)


@inlined
def risk_of_waiting(state, j, now):
    """Return p_f of a running job's nodes over [now, now + C + I + C)."""
    rules, job = state.rules, state.jobs[j]
    if rules.checkpoint != checkpoints.CHECKPOINT_RISK:
        return 0.0
    end = now + 2 * rules.overhead + job.interval
    return offers.partition_risk(state.foreseen, state.timeline.rows[job.row], now, now, end)


@merged
def take(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`. See `promise_kernels.take`."""
    state.out.held[0] = 0
    timelines.advance(state.timeline, now)
    homeless, fresh, reason, node = _NOBODY, _AGAIN, _NODE_FAILED, key
    if kind == _SUBMITTED:
        runs.admit(state, key)
        homeless, fresh, node = key, _FRESH, _NOBODY
    elif kind == _START_DUE:
        node = promise.begin_due(state, key, now)
        if node >= 0:
            homeless, reason = key, _NODE_DOWN_AT_START
    elif kind == _NODE_FAILED_EVENT:
        renew(state.foreseen, key, now)
        homeless = promise.fail_node(state, key, until, now)
    elif kind == _CHECKPOINT_REQUESTED:
        runs.answer(state, key, risk_of_waiting(state, key, now), now)
    else:
        promise.settle(state, kind, key, now)
    if homeless >= 0:
        place(state, homeless, now, fresh, reason, node)
