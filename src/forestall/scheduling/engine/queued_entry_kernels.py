"""Steps of a real cluster that a simulated one never takes, where jobs wait in a queue.

Python puts these steps together (`queued`). Reservations of conservative backfilling are made anew
after each of them, as after a failure. Sets of nodes come in the scratch row SEEN.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry, inlined
from forestall.core.model.decisions import Reason
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine import classic_kernels as classic
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.state import FAILURES
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import queue_kernels as queues
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.search_state import SEEN

_STARTED = np.int64(Reason.RESERVED_START)
_ONE = np.int64(1)


@entry
def job_on(state, node):
    """Return the job that runs on a node, or -1."""
    return runs.job_on(state, node)


@inlined
def expect_run(state, j, end, size):
    """Note when a run will end, and how many nodes return then: not those that are away."""
    away = 0
    row, down = state.timeline.rows[state.jobs[j].row], state.machine.rows[machines.DOWN]
    for i in range(len(row)):
        away += bits.ones(row[i] & down[i])
    queues.expect(state.queue, end, size - away, j)


@entry
def expect_again(state, j, end):
    """Correct what is expected of a run: nodes of it may be away or back, or it lasts longer."""
    job = state.jobs[j]
    queues.forget(state.queue, job.end, j)
    expect_run(state, j, end, job.size)
    job.estimate += max(end - job.end, 0)
    job.end = end
    state.at[FAILURES] += 1  # reservations are made anew, as after a failure


@entry
def take_away(state, node, until):
    """Let a node take no new job until `until`; one that runs on it goes on."""
    machine, queue = state.machine, state.queue
    before = machine.nodes[node].up_at
    if not machines.fail(machine, node, until):
        queues.forget(queue, before, -1 - node)
    queues.expect(queue, machine.nodes[node].up_at, _ONE, -1 - node)
    state.at[FAILURES] += 1
    j = runs.job_on(state, node)
    if j >= 0:
        expect_again(state, j, state.jobs[j].end)


@entry
def expect_back(state, node, now):
    """Correct when a node returns: now, whatever was said."""
    queues.forget(state.queue, state.machine.nodes[node].up_at, -1 - node)
    state.machine.nodes[node].up_at = now
    queues.expect(state.queue, now, _ONE, -1 - node)
    state.at[FAILURES] += 1


@entry
def end_queued(state, j, status):
    """End a run of a policy that queues; its reservations are made anew."""
    queues.forget(state.queue, state.jobs[j].end, j)
    runs.end_run(state, j, status)
    state.at[FAILURES] += 1


@entry
def unqueue(state, j):
    """Take a job that waits out of the queue."""
    queue = state.queue
    for i in range(queue.at[queues.FIRST], queue.at[queues.LAST]):
        if queue.entries[i].job == j and queue.entries[i].size < FAR:
            queues.leave(queue, i)
            break
    state.at[FAILURES] += 1


@entry
def enqueue(state, j, key):
    """Let a job wait; `key` is the time that orders the queue."""
    classic.enqueue(state, j, key)


@entry
def run_queued(state, j, now, end):
    """Note that a job, in no queue, runs on the nodes of the row SEEN, which are idle."""
    job, row = state.jobs[j], timelines.new_row(state.timeline)
    bits.copy(state.timeline.rows[row], state.scratch.rows[SEEN])
    job.size = bits.count(state.scratch.rows[SEEN])
    job.row, job.low, job.start, job.end = row, 0, now, end
    expect_run(state, j, end, job.size)
    runs.begin(state, j, now, _STARTED)
    state.out.held[0] = 0
    state.at[FAILURES] += 1
