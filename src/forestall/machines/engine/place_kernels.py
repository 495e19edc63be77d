"""Placing: jobs as a whole, in the order of the queue, and aborted tasks that wait for restart."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.virtual import TaskDecisionKind
from forestall.core.model.virtual_books import Begun
from forestall.machines.engine import state as states
from forestall.machines.engine import tasks_kernels as tasks
from forestall.machines.engine.state import RUNNING, WAITING
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules import placement_kernels as placement

_START = np.int64(TaskDecisionKind.START)
_RESTART = np.int64(TaskDecisionKind.RESTART)
_PLACED = np.int64(Begun.PLACED)
_RESTARTED = np.int64(Begun.RESTARTED)


@kernel
def submit(state, number):
    """Put a job at the end of the queue."""
    job, at = state.jobs[number], state.at
    job.status, job.next, job.before = WAITING, -1, at[states.TAIL]
    if at[states.TAIL] >= 0:
        state.jobs[at[states.TAIL]].next = number
    else:
        at[states.HEAD] = number
    at[states.TAIL] = number


@kernel
def leave_queue(state, number):
    """Take a job out of the queue."""
    job, at = state.jobs[number], state.at
    if job.before >= 0:
        state.jobs[job.before].next = job.next
    else:
        at[states.HEAD] = job.next
    if job.next >= 0:
        state.jobs[job.next].before = job.before
    else:
        at[states.TAIL] = job.before


@kernel
def wait(state, number, task, remaining):
    """Let an aborted task wait for its restart, in order of (job, task)."""
    at, waits = state.at, state.waits
    i = at[states.WAITS]
    # Few wait at a time: insertion keeps their order.
    while i > 0 and (waits[i - 1].job, waits[i - 1].task) > (number, task):
        waits[i] = waits[i - 1]
        i -= 1
    waits[i].job, waits[i].task, waits[i].remaining = number, task, remaining
    at[states.WAITS] += 1


@kernel
def place_all(state, now):
    """Restart the tasks that wait for it, then place the jobs that wait: in order, and none passes
    another unless that is asked for."""
    at = state.at
    restart_all(state, now)
    # An aborted task stands before all jobs of the queue.
    if at[states.WAITS] > 0 and state.rules.backfill == 0:
        return
    number = at[states.HEAD]
    while number >= 0 and state.fleet.at[fleets.SLOTS] > 0:
        job = state.jobs[number]
        # Read before the job leaves the queue.
        later = job.next
        if job.tasks <= state.fleet.at[fleets.SLOTS]:
            leave_queue(state, number)
            place_job(state, number, now)
        elif state.rules.backfill == 0:
            break
        number = later


@kernel
def restart_all(state, now):
    """Restart aborted tasks, each alone, as long as there is room."""
    at, waits, used = state.at, state.waits, 0
    while used < at[states.WAITS] and state.fleet.at[fleets.SLOTS] > 0:
        one = waits[used]
        job = state.jobs[one.job]
        alpha = placement.alpha_of(state.fleet, state.choosing, job.deadline)
        node, reason = placement.choose(
            state.fleet,
            state.choosing,
            alpha,
            one.remaining,
            job.deadline,
            now,
            tasks.another(state),
        )
        place = start(state, one.job, one.task, one.remaining, node, now, _RESTARTED)
        tasks.note(state, _RESTART, reason, one.job, place, -1, node)
        used += 1
    if used > 0:
        for i in range(used, at[states.WAITS]):
            waits[i - used] = waits[i]
        at[states.WAITS] -= used


@kernel
def place_job(state, number, now):
    """Place all tasks of a job, for which there is room."""
    job, fleet, choosing = state.jobs[number], state.fleet, state.choosing
    job.status, job.start = RUNNING, now
    alpha = placement.alpha_of(fleet, choosing, job.deadline)
    for task in range(job.tasks):
        # Drawn beforehand by task: the same task gets the same draw whatever happened before.
        draw = state.draws[job.first + task] if choosing.strategy == placement.RANDOM else 0.0
        node, reason = placement.choose(fleet, choosing, alpha, job.work, job.deadline, now, draw)
        place = start(state, number, task, job.work, node, now, _PLACED)
        tasks.note(state, _START, reason, number, place, -1, node)


@kernel
def start(state, number, task, work, node, now, begun):
    """Let a task run on a node from now on, as fast as it can there; return its place."""
    at, fleet, job = state.at, state.fleet, state.jobs[number]
    at[states.FREE] -= 1
    place = state.spare[at[states.FREE]]
    vm = state.vms[place]
    vm.job, vm.task, vm.node, vm.begun = number, task, node, begun
    # Nothing is saved yet: an abort would lose all from here.
    vm.remaining = vm.kept = work
    vm.start = vm.runs_from = now
    vm.phase, vm.target, vm.move = 0, -1, -1
    vm.rate = min(fleet.at[fleets.RATE], fleet.nodes[node].free)
    fleets.take(fleet, node, vm.rate)
    tasks.link(state, place)
    vm.next_of_job, vm.before_of_job = job.vm, -1
    if job.vm >= 0:
        state.vms[job.vm].before_of_job = place
    job.vm = place
    state.places[job.first + task] = place
    return place
