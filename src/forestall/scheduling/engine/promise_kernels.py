"""The promise policy: every job gets a quote at arrival, and keeps what it was promised.

An event is taken in two steps: `take` does what needs no prediction and notes what is left to do;
`decide` does that. Where Python has to be asked, `decide` returns False, and is called again with
the answer.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, merged
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.events import EventKind
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.state import (
    CHECKPOINT,
    COUNTED,
    NOTHING,
    PLACE,
    SPENT,
    UNCOUNTED,
    WAITING,
)
from forestall.scheduling.rules import checkpoint_kernels as checkpoints
from forestall.scheduling.rules import offer_kernels as offers
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules import spare_kernels as spares
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.search_state import CHOSEN, LEARN, TOGETHER

_RESERVE = np.int64(DecisionKind.RESERVE)
_FREE_NOW = np.int64(Reason.FREE_NOW)
_WAITS_FOR_NODES = np.int64(Reason.WAITS_FOR_NODES)
_WAITS_FOR_SAFETY = np.int64(Reason.WAITS_FOR_SAFETY)
_BEST_OFFER = np.int64(Reason.BEST_OFFER)
_NODE_DOWN_AT_START = np.int64(Reason.NODE_DOWN_AT_START)
_NODE_BUSY_AT_START = np.int64(Reason.NODE_BUSY_AT_START)
_NODE_FAILED = np.int64(Reason.NODE_FAILED)
_FALLS_BACK = np.int64(Reason.CHECKPOINT_LOST)
_RESERVED_START = np.int64(Reason.RESERVED_START)
_FINISHED = np.int64(EventKind.FINISHED)
_CHECKPOINT_FINISHED = np.int64(EventKind.CHECKPOINT_FINISHED)
_NODE_RECOVERED = np.int64(EventKind.NODE_RECOVERED)
_NODE_FAILED_EVENT = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_CHECKPOINT_LOST = np.int64(EventKind.CHECKPOINT_LOST)
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
    # Only where the search gave up is the offer below what was wanted.
    if offer.probability < state.rules.wanted:
        return _BEST_OFFER
    if offer.refused > 0:
        return _WAITS_FOR_SAFETY
    return _FREE_NOW if offer.start == now else _WAITS_FOR_NODES


@inlined
def commit(state, j, fresh, reason, node):
    """Reserve what the offer says for job `j`; a fresh one makes its promise."""
    job, offer = state.jobs[j], state.scratch.offer[0]
    job.status, job.start, job.end = WAITING, offer.start, offer.end
    if fresh:  # a job that is placed again keeps its deadline and promise
        job.deadline, job.promise = offer.end, offer.probability
    elif job.spared == COUNTED or job.spared == SPENT:  # noqa: PLR1714 - compiled
        note_loss(state, job, reason)
    job.row = timelines.new_row(state.timeline)
    bits.copy(state.timeline.rows[job.row], state.scratch.rows[CHOSEN])
    timelines.reserve(state.timeline, job.row, job.size, job.start, job.end)
    record = runs.decided(state.out, _RESERVE, reason, j)
    record.start, record.end, record.deadline = job.start, job.end, job.deadline
    record.probability, record.node = job.promise, node
    record.count, record.at = offer.refused, offer.first
    record.left_out, record.left_out_at = offer.left_out, offer.left_out_at


@inlined
def open_search(state, now, wanted, pool):
    """Begin to look for a start on nodes of a pool; see `offer_kernels.open_search`."""
    offers.open_search(state.timeline, state.scratch, now, wanted)
    if pool > 0:
        offers.take_within(state.scratch, state.pools[pool])


@inlined
def terms_of(state, job):
    """Return what the chance of a lost node of a job to be made good depends on."""
    ordinary = bits.count(state.pools[len(state.pools) - 1])
    return spares.terms_of(job.estimate, job.size < ordinary)


@inlined
def note_loss(state, job, reason):
    """Take note whether a job that is placed again still ends by its deadline, if it lost a node;
    once it does not, its losses are no longer counted."""
    end = job.end - job.failovers * runs.failover_of(job, state.rules)
    kind = spares.IN_RUN if reason == _NODE_FAILED else spares.AT_START
    if job.spared == SPENT:
        kind = spares.PAST_ROOM
    if reason in (_NODE_FAILED, _NODE_DOWN_AT_START):
        spares.note_loss(state.losses, kind, terms_of(state, job), end <= job.deadline)
    job.spared = COUNTED if end <= job.deadline else UNCOUNTED


@inlined
def count_on_spares(state, j, now):
    """Let the search that was opened for job `j` count on spares for the failures that there is
    time for."""
    job, search = state.jobs[j], state.scratch.search[0]
    mean = risks.mean_down(state.prediction, state.pools[0], now)
    count = bits.count(state.pools[0]) - bits.count(state.pools[job.pool])
    spares.begin(state.losses, spares.pool_has_one(count, mean), job.failovers)
    search.beyond, search.room = job.failovers, runs.failover_of(job, state.rules)
    terms = terms_of(state, job)
    search.at_start = spares.chance_made_good(state.losses, spares.AT_START, terms)
    search.in_run = spares.chance_made_good(state.losses, spares.IN_RUN, terms)
    search.past_room = spares.chance_made_good(state.losses, spares.PAST_ROOM, terms)


@inlined
def replace(state, j):
    """Let job `j`, whose node is down at its start, take any node, as far as it counts on spares;
    without room for a failure it waits for its pool."""
    job = state.jobs[j]
    if job.failovers > 0:
        job.pool = 0
    elif job.spared == COUNTED:
        job.spared = SPENT


@merged
def search(state, now, size, length):
    """Go on with the search for a start; see `offer_kernels.search`."""
    return offers.search(
        state.timeline,
        state.machine,
        state.scratch,
        state.prediction,
        state.near,
        now,
        size,
        length,
        state.rules.placement,
    )


@inlined
def give_up(state, j, now):
    """Take back what a job's reservation still holds."""
    job = state.jobs[j]
    timelines.release(state.timeline, job.row, job.size, job.start, job.end, now)


@inlined
def begin_due(state, j, now):
    """Start a job at its reserved time and return -1; or, where a node of it is down or has another
    job, withdraw the reservation and return that node: the job must be placed again."""
    node = runs.taken_at_start(state, j)
    if node < 0:
        runs.begin(state, j, now, _RESERVED_START)
        return node
    withdraw(state, j, now)
    return node


@inlined
def withdraw(state, j, now):
    """Take the reservation of a job that waits, which must be placed again."""
    give_up(state, j, now)
    timelines.give_row(state.timeline, state.jobs[j].row)
    state.jobs[j].row = -1


@inlined
def fail_node(state, node, until, now):
    """Take a node down; return the job that it killed, which must be placed again, or -1.

    Reservations of jobs that wait stay: the node may be back before they start.
    """
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


@inlined
def risk_of_waiting(state, j, now):
    """Return p_f of a running job's nodes over [now, now + C + I + C), which is until the next
    checkpoint could be complete (Oliner et al., DSN 2005, Equation 1); -1 where Python has to be
    asked first."""
    job, scratch, search = state.jobs[j], state.scratch, state.scratch.search
    if state.rules.checkpoint != checkpoints.CHECKPOINT_RISK:
        return 0.0
    end = now + 2 * job.pause + job.interval
    search[0].start, search[0].end = now, end
    bits.copy(scratch.rows[CHOSEN], state.timeline.rows[job.row])
    if not risks.told(state.prediction, search, TOGETHER):
        return -1.0
    return risks.risk_of_set(state.prediction, scratch.rows[CHOSEN], now, now, end)


@merged
def take(state, kind, key, until, now):
    """Take one event; what it leaves to decide is noted as the task.

    `key` is a job, or a node for events about nodes; `until` is a failed node's known recovery, or
    the work in the checkpoint that a job falls back to.
    """
    task = state.task[0]
    task.kind, task.job, task.failed = NOTHING, _NOBODY, _NOBODY
    state.out.held[0] = 0
    state.scratch.search[0].known = 0
    timelines.advance(state.timeline, now)
    risks.move_on(state.prediction, now)
    fresh, reason, node = _AGAIN, _NODE_FAILED, key
    if kind == _SUBMITTED:
        runs.admit(state, key)
        task.job, fresh, node = key, _FRESH, _NOBODY
    elif kind == _START_DUE:
        node = begin_due(state, key, now)
        if node >= 0:
            down = bits.has(state.machine.rows[machines.DOWN], node)
            task.job, reason = key, _NODE_DOWN_AT_START if down else _NODE_BUSY_AT_START
            if down:
                replace(state, key)
    elif kind == _CHECKPOINT_LOST:
        withdraw(state, key, now)
        runs.fall_back(state, key, until)
        task.job, reason, node = key, _FALLS_BACK, _NOBODY
    elif kind == _NODE_FAILED_EVENT:
        task.failed = key
        task.job = fail_node(state, key, until, now)
        # A run that nobody asked for, of a job that was never promised anything.
        if task.job >= 0 and state.jobs[task.job].deadline == -1:
            fresh = _FRESH
    elif kind != _CHECKPOINT_REQUESTED:
        settle(state, kind, key, now)
    if task.job >= 0:
        task.kind, task.fresh, task.reason, task.node = PLACE, fresh, reason, node
        open_search(state, now, state.rules.wanted * fresh, state.jobs[task.job].pool)
        if fresh and state.jobs[task.job].failovers > 0:
            count_on_spares(state, task.job, now)
    elif kind == _CHECKPOINT_REQUESTED:
        task.kind, task.job = CHECKPOINT, key


@merged
def decide(state, now):
    """Do what the last event left to decide; the decisions are left in `state.out`. False where
    Python has to be asked first: its question is in the scratch room."""
    task = state.task[0]
    if task.failed >= 0:  # predictions know of it before they are asked where its job goes
        state.scratch.search[0].node = task.failed
        if not risks.told(state.prediction, state.scratch.search, LEARN):
            return False
        risks.learn(state.prediction, task.failed, now)
        task.failed = _NOBODY
    if task.kind == PLACE:
        job = state.jobs[task.job]
        if not search(state, now, job.size, runs.length_of(job, state.rules)):
            return False
        reason = reason_of(state, now) if task.fresh else task.reason
        commit(state, task.job, task.fresh, reason, task.node)
    elif task.kind == CHECKPOINT:
        risk = risk_of_waiting(state, task.job, now)
        if risk < 0:
            return False
        runs.answer(state, task.job, risk, now)
    task.kind = NOTHING
    return True
