"""What is seen of virtual machines and was not decided here: they start, move and end by others'
hands, and nodes go and return without saying when."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry
from forestall.core.model.virtual import TaskReason
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.machines.engine import event_kernels as events
from forestall.machines.engine import move_kernels as moving
from forestall.machines.engine import place_kernels as placing
from forestall.machines.engine import state as states
from forestall.machines.engine import tasks_kernels as tasks
from forestall.machines.engine.state import DONE, RUNNING, WAITING
from forestall.machines.rules import fleet_kernels as fleets

_PLACED = np.int64(Begun.PLACED)
_ABORTED = np.int64(Ended.ABORTED)
_STOPPED = np.int64(Ended.STOPPED)
_FAILURE_PREDICTED = np.int64(TaskReason.FAILURE_PREDICTED)
_TO_FAILED = np.int64(MoveEnd.TARGET_FAILED)
_ENDED_FIRST = np.int64(MoveEnd.ENDED_FIRST)


@entry
def gives(state, node):
    """Return whether a node takes one more task: it is up and not closed, and has room."""
    return fleets.gives(state.fleet, node) > 0


@entry
def start_seen(state, number, node, now):
    """Note that the one task of a job, which waits or is new, runs on a node that has room."""
    job = state.jobs[number]
    if job.status == WAITING:
        placing.leave_queue(state, number)
    job.status, job.start = RUNNING, now
    placing.start(state, number, np.int64(0), job.work, node, now, _PLACED)


@entry
def move_seen(state, key, node, now):
    """Note that a task which runs was moved to a node that has room."""
    place = state.places[key]
    tasks.give_up_move(state, place, now, _TO_FAILED)
    tasks.write_move(state, place, node, state.fleet.nodes[state.vms[place].node].foreseen, now)
    moving.end_stay(state, place, now)
    moving.begin_stay(state, place, node, np.int64(0), now, now)


@entry
def consider_move(state, key, now):
    """Move one task off its node, if there is time for it and a node that takes it."""
    state.at[states.HELD] = 0
    place = state.places[key]
    vm = state.vms[place]
    node, one = vm.node, state.fleet.nodes[vm.node]
    closed = one.closed
    fleets.open_or_close(state.fleet, node, 1, 1)
    moving.consider_move(state, place, state.jobs[vm.job].deadline, now, _FAILURE_PREDICTED)
    fleets.open_or_close(state.fleet, node, 1, closed)


@entry
def take_back(state, number, now):
    """End a job that waits or runs, without having done its work."""
    job = state.jobs[number]
    if job.status == WAITING:
        placing.leave_queue(state, number)
        job.status, job.dropped, job.left = DONE, 1, 0
        state.at[states.LEFT] -= 1
        state.at[states.ENDED_AT] = now
    else:
        place = job.vm
        while place >= 0:
            later = state.vms[place].next_of_job
            events.stop(state, place, now)
            place = later
        events.forget_waits(state, number, now)
    state.at[states.HELD] = 0  # it has happened: nothing is to be done


@entry
def send_back(state, key, now):
    """Let a task that runs, or whose start did not come off, wait for its restart."""
    place = state.places[key]
    tasks.give_up_move(state, place, now, _ENDED_FIRST)
    tasks.break_arrival(state, place, now, _TO_FAILED)
    vm = state.vms[place]
    number, task = vm.job, vm.task
    done, saved, _phase, checkpoints = tasks.lived(state.rules, vm, now)
    if checkpoints > 0:
        vm.kept = vm.remaining - saved
    kept = vm.kept
    tasks.write_stay(state, place, now, _ABORTED, done, kept - (vm.remaining - done), checkpoints)
    tasks.remove(state, place)
    placing.wait(state, number, task, kept)


@entry
def fail_task(state, key, now):
    """End a task that runs and failed by itself."""
    events.stop(state, state.places[key], now)
    state.at[states.HELD] = 0


@entry
def drain(state, node):
    """Let a node take no task any more; those on it run on."""
    if state.fleet.nodes[node].up == 0:  # it is back, but closed
        state.fleet.nodes[node].back = 0
    fleets.open_or_close(state.fleet, node, 1, 1)


@entry
def doubt(state, node):
    """Let a node count as failing: who asks for reliability passes it over."""
    fleets.doubt(state.fleet, node, 1)


@entry
def give_back(state, node):
    """Take a node up that is back, whatever was said, and open it."""
    state.fleet.nodes[node].back = 0
    fleets.open_or_close(state.fleet, node, 1, 0)
