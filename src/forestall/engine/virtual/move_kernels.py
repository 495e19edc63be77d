"""Moving the tasks of a node that is predicted to fail: by stop and copy, or while they run on."""

from __future__ import annotations

import numpy as np

from forestall._compile import kernel
from forestall.decide.virtual import fleet_kernels as fleets
from forestall.decide.virtual import placement_kernels as placement
from forestall.decide.virtual.fleet_kernels import FAR, NOBODY
from forestall.engine.virtual import state as states
from forestall.engine.virtual import tasks_kernels as tasks
from forestall.model.virtual import TaskDecisionKind, TaskReason
from forestall.model.virtual_books import Begun, Ended

_MIGRATE = np.int64(TaskDecisionKind.MIGRATE)
_STAY = np.int64(TaskDecisionKind.STAY)
_FAILURE_PREDICTED = np.int64(TaskReason.FAILURE_PREDICTED)
_NOWHERE_TO_GO = np.int64(TaskReason.NOWHERE_TO_GO)
_ARRIVING = np.int64(TaskReason.ARRIVING)
_NO_TIME_LEFT = np.int64(TaskReason.NO_TIME_LEFT)
_MIGRATED = np.int64(Begun.MIGRATED)
_MOVED = np.int64(Ended.MOVED)


@kernel
def leave(state, node, now):
    """Move the tasks of a node that is predicted to fail, in order of (deadline, job, task)."""
    fleet, choosing = state.fleet, state.choosing
    fleets.doubt(fleet, node, 1)
    one = fleet.nodes[node]
    if one.up == 0 or one.first < 0 or choosing.migrates == 0:
        return
    if choosing.strategy == placement.RANDOM and state.rules.random_migrates == 0:
        return
    # Closed meanwhile, so that no task of it is told to move where it is; a drained one stays so.
    closed = one.closed
    fleets.open_or_close(fleet, node, 1, 1)
    place = next_to_leave(state, node, -1, -1, -1)
    while place >= 0:
        vm = state.vms[place]
        deadline, number, task = state.jobs[vm.job].deadline, vm.job, vm.task
        consider_move(state, place, deadline, now)
        place = next_to_leave(state, node, deadline, number, task)
    fleets.open_or_close(fleet, node, 1, closed)


@kernel
def next_to_leave(state, node, deadline, number, task):
    """Return the task on a node that comes after this one in order of (deadline, job, task), or
    -1."""
    # The node's list is in no order, and moves change it: each time the least one above the last.
    best = np.int64(-1)
    place = state.fleet.nodes[node].first
    while place >= 0:
        vm = state.vms[place]
        mine = (state.jobs[vm.job].deadline, vm.job, vm.task)
        if mine > (deadline, number, task):
            if best < 0:
                best = place
            else:
                other = state.vms[best]
                if mine < (state.jobs[other.job].deadline, other.job, other.task):
                    best = place
        place = vm.next_on_node
    return best


@kernel
def consider_move(state, place, deadline, now):
    """Move a task off its node, if there is time for it and a node that takes it."""
    vm, choosing = state.vms[place], state.choosing
    number, source = vm.job, vm.node
    # Already on its way.
    if vm.target >= 0:
        return
    reason, node = _NOWHERE_TO_GO, NOBODY
    arrival = now + choosing.transfer
    if vm.runs_from > now:
        reason = _ARRIVING
    elif deadline <= arrival:
        reason = _NO_TIME_LEFT
    elif state.fleet.at[fleets.SLOTS] > 0:
        # For the work that is left now, in the time that is left on arrival.
        done, _saved, _phase, _checkpoints = tasks.lived(state.rules, vm, now)
        alpha = placement.alpha_of(state.fleet, choosing, deadline)
        node, _why = placement.choose(
            state.fleet,
            choosing,
            alpha,
            vm.remaining - done,
            deadline,
            arrival,
            tasks.another(state),
        )
    if node == NOBODY:
        tasks.note(state, _STAY, reason, number, place, source, -1)
        return
    at = state.fleet.nodes[source].foreseen
    tasks.write_move(state, place, node, now)
    # It runs on while it is copied: capacity is held at both ends until it switches.
    if state.rules.copy > 0:
        vm.target, vm.moving_since = node, now
        vm.target_rate = min(state.fleet.at[fleets.RATE], state.fleet.nodes[node].free)
        fleets.take(state.fleet, node, vm.target_rate)
        state.at[states.LEAVING] += 1
    else:
        end_stay(state, place, now)
        begin_stay(state, place, node, 0, now, now)
    tasks.note(state, _MIGRATE, _FAILURE_PREDICTED, number, place, source, node)
    decision = state.out[state.at[states.HELD] - 1]
    decision.at = -1 if at == FAR else at
    if vm.target >= 0:
        decision.rate = vm.target_rate


@kernel
def end_stay(state, place, now):
    """End the stay of a task that goes on elsewhere."""
    vm = state.vms[place]
    done, saved, phase, checkpoints = tasks.lived(state.rules, vm, now)
    tasks.write_stay(state, place, now, _MOVED, done, 0, checkpoints)
    tasks.unlink(state, place)
    # A checkpoint of this stay outlives it: an abort elsewhere falls back to it.
    if checkpoints > 0:
        vm.kept = vm.remaining - saved
    vm.remaining -= done
    vm.phase = phase


@kernel
def begin_stay(state, place, node, rate, since, now):
    """Begin the stay of a task that moves: at `rate` if that is held since `since`, else at what it
    can get (0)."""
    vm, fleet = state.vms[place], state.fleet
    vm.node, vm.begun, vm.start = node, _MIGRATED, since
    # Held from `since`, making progress only after the standstill.
    vm.runs_from = now + state.rules.standstill
    vm.rate = rate
    if rate == 0:
        vm.rate = min(fleet.at[fleets.RATE], fleet.nodes[node].free)
        fleets.take(fleet, node, vm.rate)
    tasks.link(state, place)


@kernel
def switch(state, place, now):
    """Take in that a task which was copied while it ran goes on at its target."""
    vm = state.vms[place]
    # Given up meanwhile.
    if vm.target < 0:
        return
    target, rate, since = vm.target, vm.target_rate, vm.moving_since
    vm.target = -1
    state.at[states.LEAVING] -= 1
    end_stay(state, place, now)
    begin_stay(state, place, target, rate, since, now)
