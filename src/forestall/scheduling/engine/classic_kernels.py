"""FCFS, EASY backfilling and conservative backfilling: all events of a second, then one pass."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel, merged
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.events import EventKind
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.state import (
    CARRY_CLOSED,
    CARRY_OPENED,
    CLOSED,
    CONSERVATIVE,
    EASY,
    FAILURES,
    FINISHES,
    OPENED,
    OWN_POLICY,
    WAITING,
)
from forestall.scheduling.rules import offer_kernels as offers
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import queue_kernels as queues
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.search_state import CHOSEN, FREE, LOWEST

_RESERVE = np.int64(DecisionKind.RESERVE)
_FREE_NOW = np.int64(Reason.FREE_NOW)
_WAITS_FOR_NODES = np.int64(Reason.WAITS_FOR_NODES)
_RESERVED_START = np.int64(Reason.RESERVED_START)
_HEAD_OF_QUEUE = np.int64(Reason.HEAD_OF_QUEUE)
_ENDS_BEFORE_SHADOW = np.int64(Reason.ENDS_BEFORE_SHADOW)
_FITS_EXTRA_NODES = np.int64(Reason.FITS_EXTRA_NODES)
_MOVED_EARLIER = np.int64(Reason.MOVED_EARLIER)
_REBUILT = np.int64(Reason.REBUILT_AFTER_FAILURE)
_FINISHED = np.int64(EventKind.FINISHED)
_CHECKPOINT_FINISHED = np.int64(EventKind.CHECKPOINT_FINISHED)
_NODE_RECOVERED = np.int64(EventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_CHECKPOINT_LOST = np.int64(EventKind.CHECKPOINT_LOST)
_SUBMITTED = np.int64(EventKind.SUBMITTED)
_PASS = np.int64(EventKind.PASS)


# Arguments of kernels, typed: Numba compiles anew for each literal that it is called with.
_COUNTS_ONLY = np.int64(-1)
_ONE = np.int64(1)
_NOTHING = np.int64(0)


@inlined
def enqueue(state, j, key):
    """Let job `j` wait; `key` is the time that orders the queue."""
    job = state.jobs[j]
    job.status, job.start = WAITING, -1
    queues.enter(state.queue, j, job.size, runs.length_of(job, state.rules), key)


@inlined
def pick_nodes(state, job, now):
    """Choose nodes for a job that starts now, among those that are free; the rule of placement.

    Rows come empty: the classic policies use them for runs only, and `machines.vacate` empties.
    """
    machine, rows = state.machine, state.timeline.rows
    job.row = timelines.new_row(state.timeline)
    placement = state.rules.placement
    if placement != LOWEST and len(state.prediction.failures) > 0:
        bits.copy(state.scratch.rows[FREE], machine.rows[machines.IDLE])
        end, near = job.end, state.near
        offers.choose(state.scratch, state.prediction, near, now, now, end, job.size, placement)
        bits.copy(rows[job.row], state.scratch.rows[CHOSEN])
        job.low = 0
    else:
        job.low = machines.take_first(machine, rows[job.row], job.size)
        state.scratch.offer[0].left_out = -1


@inlined
def start(state, position, now, reason):
    """Start the job at a position of the queue."""
    entry_ = state.queue.entries[position]
    j, size, length = entry_.job, entry_.size, entry_.length
    queues.leave(state.queue, position)
    job = state.jobs[j]
    job.start, job.end = now, now + length
    if state.rules.placed:
        pick_nodes(state, job, now)
    queues.expect(state.queue, job.end, size, j)
    runs.begin(state, j, now, reason)
    offer = state.scratch.offer[0]
    if state.rules.placed and offer.left_out >= 0:
        record = state.out.decisions[state.out.held[0] - 1]
        record.left_out, record.left_out_at = offer.left_out, offer.left_out_at


@inlined
def start_heads(state, now):
    """Start jobs from the head of the queue while they fit."""
    queue, machine = state.queue, state.machine
    while queue.at[queues.LIVE] > 0:
        head = queue.at[queues.FIRST]
        if queue.entries[head].size > machine.at[machines.UNASSIGNED]:
            break
        start(state, head, now, _HEAD_OF_QUEUE)


@inlined
def backfill(state, now):
    """EASY: start later jobs that delay neither the head nor its shadow time."""
    queue, machine = state.queue, state.machine
    free = machine.at[machines.UNASSIGNED]
    if queue.at[queues.LIVE] < 2 or free == 0:
        return
    head = queue.at[queues.FIRST]
    time, extra = queues.shadow(queue, free, queue.entries[head].size)
    i = head + 1
    while i < queue.at[queues.LAST] and free > 0:
        if queues.opens_block(i) or i == head + 1:
            # No entry of a block is smaller or shorter than the block says: where that could not
            # start, none of its 64 can.
            block = queue.blocks[i >> queues.SHIFT]
            late = now + block.length > time
            if block.size > free or (late and block.size > extra):
                i = queues.next_block(i)
                continue
        size = queue.entries[i].size
        if size <= free:
            in_time = now + queue.entries[i].length <= time
            if in_time or size <= extra:
                start(state, i, now, _ENDS_BEFORE_SHADOW if in_time else _FITS_EXTRA_NODES)
                record = state.out.decisions[state.out.held[0] - 1]
                record.at, record.count = time, extra
                free -= size
                if not in_time:  # it still runs at the shadow time, on nodes that the head leaves
                    extra -= size
        i += 1


@kernel
def reserve_place(state, position, now, reason):
    """Conservative: give the job at a position its earliest reservation and say so."""
    waiting = state.queue.entries[position]
    at = timelines.earliest_count(
        state.timeline, now, waiting.size, waiting.length, FAR, _NOTHING, _NOTHING
    )
    waiting.start = at
    timelines.reserve(state.timeline, _COUNTS_ONLY, waiting.size, at, at + waiting.length)
    say(state, waiting, now, reason, FAR)


@inlined
def say(state, waiting, now, reason, old):
    """Write the reservation of a queue entry to the decisions; `old` is the start that it had."""
    why = _FREE_NOW if reason == _WAITS_FOR_NODES and waiting.start == now else reason
    record = runs.decided(state.out, _RESERVE, why, waiting.job)
    record.start, record.end = waiting.start, waiting.start + waiting.length
    if old < FAR:
        record.at = old


@kernel
def rebuild(state, now):
    """Conservative, after a failure: drop all reservations and make them anew in queue order."""
    queue = state.queue
    timelines.clear(state.timeline, now, len(state.machine.nodes), _NOTHING)
    for i in range(queue.at[queues.RELEASES]):
        release = queue.releases[i]
        timelines.reserve(state.timeline, _COUNTS_ONLY, release.size, now, release.time)
    for i in range(queue.at[queues.FIRST], queue.at[queues.LAST]):
        if queue.entries[i].size < FAR:
            fresh = queue.entries[i].start == FAR
            reserve_place(state, i, now, _WAITS_FOR_NODES if fresh else _REBUILT)
    refresh_all(queue)
    queue.at[queues.FRESH] = queue.at[queues.LAST]
    state.at[OPENED], state.at[CLOSED] = FAR, -1
    state.at[CARRY_OPENED], state.at[CARRY_CLOSED] = FAR, -1


@kernel
def refresh_all(queue):
    """Compute all blocks anew."""
    if queue.at[queues.LIVE] > 0:
        for block in range(
            queue.at[queues.FIRST] >> queues.SHIFT,
            ((queue.at[queues.LAST] - 1) >> queues.SHIFT) + 1,
        ):
            queues.refresh(queue, block)


@kernel
def peak_within(timeline, opened, closed):
    """Return the largest number of free nodes within [opened, closed)."""
    peak = 0
    i = timelines.segment_of(timeline, opened)
    while i < timeline.at[timelines.TAIL] and timeline.edges[i].time < closed:
        peak = max(peak, timeline.edges[i].free)
        i += 1
    return peak


@kernel
def compress(state, now):
    """Conservative, after finishes: put each waiting job, in queue order, at its earliest place.

    A job can only move to a window that meets a stretch of time in which nodes became free since it
    was last looked at. [opened, closed) spans all such stretches, so jobs larger than the most
    nodes free in it are passed over, and where it is empty there is nothing to do.
    """
    queue, timeline = state.queue, state.timeline
    opened = max(now, min(state.at[OPENED], state.at[CARRY_OPENED]))
    closed = max(state.at[CLOSED], state.at[CARRY_CLOSED])
    state.at[OPENED], state.at[CLOSED] = FAR, -1
    state.at[CARRY_OPENED], state.at[CARRY_CLOSED] = FAR, -1
    if opened >= closed:
        return
    peak = peak_within(timeline, opened, closed)
    i = queue.at[queues.FIRST]
    while i < queue.at[queues.FRESH]:
        if queues.opens_block(i) and queue.blocks[i >> queues.SHIFT].size > peak:
            i = queues.next_block(i)
            continue
        waiting = queue.entries[i]
        i += 1
        if waiting.size > peak:
            continue
        old, length = waiting.start, waiting.length
        first = max(now, opened - length + 1)  # the earliest window that still meets `opened`
        limit = min(old, closed)
        if first >= limit:
            continue
        at = timelines.earliest_count(
            timeline, first, waiting.size, length, limit, old, old + length
        )
        if at >= limit:
            continue
        move(state, i - 1, at, now)
        opened, closed = min(opened, old), max(closed, old + length)
        peak = peak_within(timeline, opened, closed)


@kernel
def move(state, position, at, now):
    """Conservative: move a reservation to an earlier start; where it was, nodes become free."""
    waiting, timeline = state.queue.entries[position], state.timeline
    old, length = waiting.start, waiting.length
    timelines.release(timeline, _COUNTS_ONLY, waiting.size, old, old + length, now)
    timelines.reserve(timeline, _COUNTS_ONLY, waiting.size, at, at + length)
    waiting.start = at
    queues.refresh(state.queue, position >> queues.SHIFT)
    say(state, waiting, now, _MOVED_EARLIER, old)
    # Jobs before this one in the queue were passed already: what it leaves is for the next pass.
    state.at[CARRY_OPENED] = min(state.at[CARRY_OPENED], old)
    state.at[CARRY_CLOSED] = max(state.at[CARRY_CLOSED], old + length)


@inlined
def start_reserved(state, now):
    """Conservative: start every job whose reserved start has come."""
    queue = state.queue
    i = queue.at[queues.FIRST]
    while i < queue.at[queues.LAST] and queue.at[queues.LIVE] > 0:
        if queue.blocks[i >> queues.SHIFT].start > now:
            i = queues.next_block(i)
            continue
        if queue.entries[i].size < FAR and queue.entries[i].start <= now:
            start(state, i, now, _RESERVED_START)
        i += 1


@kernel
def wake_at(queue):
    """Return the earliest reserved start of a waiting job, or FAR."""
    best = FAR
    if queue.at[queues.LIVE] == 0:
        return best
    first, last = (
        queue.at[queues.FIRST] >> queues.SHIFT,
        (queue.at[queues.LAST] - 1) >> queues.SHIFT,
    )
    for block in range(first, last + 1):
        best = min(best, queue.blocks[block].start)
    return best


@merged
def conservative_pass(state, now):
    """Reservations anew or earlier, then for the newly arrived, then the starts that are due."""
    queue = state.queue
    timelines.advance(state.timeline, now)
    if state.at[FAILURES] > 0:
        rebuild(state, now)
    elif state.at[FINISHES] > 0 and state.rules.compression:
        compress(state, now)
    for i in range(queue.at[queues.FRESH], queue.at[queues.LAST]):
        if queue.entries[i].size < FAR:
            reserve_place(state, i, now, _WAITS_FOR_NODES)
            block = queue.blocks[i >> queues.SHIFT]
            block.start = min(block.start, queue.entries[i].start)
    queue.at[queues.FRESH] = queue.at[queues.LAST]
    start_reserved(state, now)


@merged
def schedule(state, now):
    """The pass at the end of a second in which something happened; of a policy in Python, what
    comes before it is asked."""
    if state.rules.policy == CONSERVATIVE:
        conservative_pass(state, now)
    elif state.rules.policy != OWN_POLICY:
        start_heads(state, now)
        if state.rules.policy == EASY:
            backfill(state, now)
    state.at[FINISHES], state.at[FAILURES] = 0, 0


@inlined
def asks(state, kind):
    """Return whether a policy in Python has to be asked which jobs start: at the end of a second,
    where any can."""
    if state.rules.policy != OWN_POLICY or kind != _PASS:
        return False
    return state.queue.at[queues.LIVE] > 0 and state.machine.at[machines.UNASSIGNED] > 0


@inlined
def finish(state, j, now):
    """A job is done: its nodes are free, and what is left of its reservation too."""
    job = state.jobs[j]
    queues.forget(state.queue, job.end, j)
    if state.rules.policy == CONSERVATIVE and job.end > now:
        timelines.advance(state.timeline, now)
        timelines.release(state.timeline, _COUNTS_ONLY, job.size, job.start, job.end, now)
        state.at[OPENED] = min(state.at[OPENED], now)
        state.at[CLOSED] = max(state.at[CLOSED], job.end)
    state.at[FINISHES] += 1
    runs.finish(state, j)


@inlined
def fail_node(state, node, until, now):
    """Take a node down; a job that ran on it waits again."""
    machine, queue = state.machine, state.queue
    victim = runs.job_on(state, node)
    before = machine.nodes[node].up_at
    if not machines.fail(machine, node, until):  # it was down: its recovery is expected anew
        queues.forget(queue, before, -1 - node)
    queues.expect(queue, machine.nodes[node].up_at, _ONE, -1 - node)
    state.at[FAILURES] += 1
    if victim >= 0:
        job = state.jobs[victim]
        queues.forget(queue, job.end, victim)
        runs.kill(state, victim, node, now)
        enqueue(state, victim, job.submit if state.rules.requeue_original else now)


@inlined
def lengthen(state, j, work):
    """A job that has just started goes on from less than was thought: it runs for longer, and
    reservations are made anew, as after a failure."""
    job, queue = state.jobs[j], state.queue
    queues.forget(queue, job.end, j)
    runs.fall_back(state, j, work)
    job.end = job.start + runs.length_of(job, state.rules)
    queues.expect(queue, job.end, job.size, j)
    state.at[FAILURES] += 1


@merged
def take(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`. `until` is a failed node's known
    recovery; of a checkpoint that is lost, the work in the one before it.

    Decisions to start and reserve come with the event PASS, once a second in which anything
    happened.
    """
    state.out.held[0] = 0
    if kind == _SUBMITTED:
        runs.admit(state, key)
        enqueue(state, key, state.jobs[key].submit)
    elif kind == _FINISHED:
        finish(state, key, now)
    elif kind == _PASS:
        schedule(state, now)
    elif kind == _NODE_FAILED:
        fail_node(state, key, until, now)
    elif kind == _NODE_RECOVERED:
        queues.forget(state.queue, now, -1 - key)
        machines.recover(state.machine, key)
    elif kind == _CHECKPOINT_REQUESTED:
        runs.answer(state, key, runs.risk_of_waiting(state, key, now), now)
    elif kind == _CHECKPOINT_FINISHED:
        runs.saved(state, key)
    elif kind == _CHECKPOINT_LOST:
        lengthen(state, key, until)
