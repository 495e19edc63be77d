"""The engine for tasks in virtual machines: what happened in, what should be done out.

Source: Fu and Xu, ARES 2009, Sections 3 and 4. A job is placed as a whole or waits, first come
first served; the tasks of a node that is predicted to fail move to nodes that the strategy chooses.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.virtual import TaskDecisionKind, TaskEventKind, TaskReason
from forestall.core.model.virtual_books import Ended, MoveEnd
from forestall.machines.engine import move_kernels as moving
from forestall.machines.engine import place_kernels as placing
from forestall.machines.engine import state as states
from forestall.machines.engine import tasks_kernels as tasks
from forestall.machines.engine.state import DONE, RUNNING, WAITING
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules import placement_kernels as placement
from forestall.machines.rules.fleet_kernels import FAR

_TASK_ENDED = np.int64(TaskEventKind.TASK_ENDED)
_MIGRATION_ENDED = np.int64(TaskEventKind.MIGRATION_ENDED)
_DEADLINE = np.int64(TaskEventKind.DEADLINE)
_NODE_RECOVERED = np.int64(TaskEventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(TaskEventKind.NODE_FAILED)
_FORESEEN = np.int64(TaskEventKind.FORESEEN)
_LEAVE_DUE = np.int64(TaskEventKind.LEAVE_DUE)
_SUBMITTED = np.int64(TaskEventKind.SUBMITTED)
_PASS = np.int64(TaskEventKind.PASS)
_OVERLOADED = np.int64(TaskEventKind.OVERLOADED)
_MIGRATION_FAILED = np.int64(TaskEventKind.MIGRATION_FAILED)

_STAY = np.int64(TaskDecisionKind.STAY)
_ABORT = np.int64(TaskDecisionKind.ABORT)
_STOP = np.int64(TaskDecisionKind.STOP)
_DROP = np.int64(TaskDecisionKind.DROP)
_FAILED = np.int64(TaskReason.NODE_FAILED)
_DEADLINE_CAME = np.int64(TaskReason.DEADLINE_CAME)
_TARGET_FAILED = np.int64(TaskReason.TARGET_FAILED)
_COMPLETED, _, _ABORTED, _STOPPED, _LATE, _ = (np.int64(one) for one in Ended)
_, _TO_FAILED, _FROM_FAILED, _ENDED_FIRST, _DEADLINE_FIRST = (np.int64(one) for one in MoveEnd)


@kernel
def take(state, kind, key, at, now):
    """Take in one event, and leave the decisions on it in `state.out` (see `TaskEvent`)."""
    state.at[states.HELD] = 0
    if kind == _TASK_ENDED:
        complete(state, state.places[key], now)
    elif kind == _MIGRATION_ENDED:
        moving.switch(state, state.places[key], now)
    elif kind == _DEADLINE:
        deadline_came(state, key, now)
    elif kind == _NODE_RECOVERED:
        recover(state, key, now)
    elif kind == _NODE_FAILED:
        fail(state, key, at, now)
    elif kind == _FORESEEN:
        fleets.foresee(state.fleet, key, at)
    elif kind == _LEAVE_DUE:
        moving.leave(state, key, now)
    elif kind == _OVERLOADED:
        moving.relieve(state, key, now)
    elif kind == _SUBMITTED:
        placing.submit(state, key)
    elif kind == _PASS:
        placing.place_all(state, now)
    elif kind == _MIGRATION_FAILED:
        tasks.give_up_move(state, state.places[key], now, _TO_FAILED)


@kernel
def has_room(state):
    """Return whether any one event surely fits into the arrays."""
    at, books, slots = state.at, state.books, len(state.vms)
    # The worst one event can do: a failure or a pass that ends and begins a stay of every task.
    return (
        at[states.RUNS] + 2 * slots + 2 <= len(books.runs)
        and at[states.MOVES] + slots + 1 <= len(books.moves)
        and at[states.STRIKES] < len(books.struck)
        and at[states.WAITS] + slots <= len(state.waits)
        and (
            state.choosing.strategy != placement.RANDOM
            or at[states.MORE] + slots + 1 <= len(state.more)
        )
    )


@kernel
def complete(state, place, now):
    """Take in that a task has done its work."""
    # What is held elsewhere is given back before the task is gone.
    tasks.give_up_move(state, place, now, _ENDED_FIRST)
    vm = state.vms[place]
    number = vm.job
    job = state.jobs[number]
    ended = _COMPLETED if now <= job.deadline else _LATE
    if ended == _COMPLETED:
        job.done += 1
    else:
        job.late += 1
    ahead = tasks.checkpoints_ahead(state.rules, vm)
    tasks.write_stay(state, place, now, ended, vm.remaining, 0, ahead)
    tasks.remove(state, place)
    tasks.settle(state, number, now)


@kernel
def deadline_came(state, number, now):
    """Drop a job that waits; stop the tasks of one that runs, where they do not run on."""
    job = state.jobs[number]
    if job.status == WAITING:
        placing.leave_queue(state, number)
        job.status, job.dropped, job.left = DONE, 1, 0
        state.at[states.LEFT] -= 1
        state.at[states.ENDED_AT] = now
        tasks.note(state, _DROP, _DEADLINE_CAME, number, -1, -1, -1)
    elif job.status == RUNNING and state.rules.stop != 0:
        place = job.vm
        while place >= 0:
            # Read before the task leaves the list.
            later = state.vms[place].next_of_job
            stop(state, place, now)
            place = later
        forget_waits(state, number, now)


@kernel
def stop(state, place, now):
    """Stop a task at its deadline."""
    tasks.give_up_move(state, place, now, _DEADLINE_FIRST)
    tasks.break_arrival(state, place, now, _DEADLINE_FIRST)
    vm = state.vms[place]
    number = vm.job
    done, _saved, _phase, checkpoints = tasks.lived(state.rules, vm, now)
    tasks.note(state, _STOP, _DEADLINE_CAME, number, place, vm.node, -1)
    tasks.write_stay(state, place, now, _STOPPED, done, 0, checkpoints)
    tasks.remove(state, place)
    tasks.settle(state, number, now)


@kernel
def forget_waits(state, number, now):
    """Let no task of a job wait for its restart any more."""
    at, waits, held = state.at, state.waits, 0
    for i in range(at[states.WAITS]):
        if waits[i].job == number:
            tasks.note(state, _STOP, _DEADLINE_CAME, number, -1, -1, -1)
            state.out[at[states.HELD] - 1].task = waits[i].task
            tasks.settle(state, number, now)
        else:
            # The rest close up, in order.
            waits[held] = waits[i]
            held += 1
    at[states.WAITS] = held


@kernel
def recover(state, node, now):
    """Take in that a node is back, unless it failed again meanwhile."""
    one = state.fleet.nodes[node]
    # Failed again meanwhile: a later recovery is on its way.
    if one.up == 0 and one.back <= now:
        fleets.open_or_close(state.fleet, node, 1, 0)


@kernel
def fail(state, node, until, now):
    """Take in that a node has failed and will be back at `until`: its tasks are aborted."""
    one, at = state.fleet.nodes[node], state.at
    # Overlapping outages: the node is back when the last of them ends.
    one.back = max(one.back, until)
    hit, lost = 0, 0
    while one.first >= 0:
        lost += abort(state, one.first, now)
        hit += 1
    # Tasks on their way to this node stay where they are; no list leads to them from here.
    if at[states.LEAVING] > 0:
        for place in range(len(state.vms)):
            vm = state.vms[place]
            if vm.job >= 0 and vm.target == node:
                tasks.give_up_move(state, place, now, _TO_FAILED)
                tasks.note(state, _STAY, _TARGET_FAILED, vm.job, place, vm.node, node)
    fleets.foresee(state.fleet, node, FAR)
    if one.up != 0:
        fleets.open_or_close(state.fleet, node, 0, 0)
    strike = state.books.struck[at[states.STRIKES]]
    strike.time, strike.tasks, strike.lost = now, hit, lost
    at[states.STRIKES] += 1


@kernel
def abort(state, place, now):
    """Abort a task whose node has failed; return the work lost."""
    tasks.give_up_move(state, place, now, _FROM_FAILED)
    tasks.break_arrival(state, place, now, _TO_FAILED)
    vm = state.vms[place]
    number, task = vm.job, vm.task
    done, saved, _phase, checkpoints = tasks.lived(state.rules, vm, now)
    # Work since the last checkpoint is lost; without a new one the last kept state still holds.
    if checkpoints > 0:
        vm.kept = vm.remaining - saved
    kept = vm.kept
    lost = kept - (vm.remaining - done)
    tasks.note(state, _ABORT, _FAILED, number, place, vm.node, -1)
    tasks.write_stay(state, place, now, _ABORTED, done, lost, checkpoints)
    tasks.remove(state, place)
    if state.rules.checkpointing != 0:
        placing.wait(state, number, task, kept)
    else:
        tasks.settle(state, number, now)
    return lost
