"""Moving the tasks of a node that is predicted to fail: by stop and copy, or while they run on."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.virtual import PROCESSOR, TaskDecisionKind, TaskReason
from forestall.core.model.virtual_books import Begun, Ended
from forestall.machines.engine import state as states
from forestall.machines.engine import tasks_kernels as tasks
from forestall.machines.rules import costs_kernels as costing
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules import placement_kernels as placement
from forestall.machines.rules.fleet_kernels import FAR, NOBODY

_MIGRATE = np.int64(TaskDecisionKind.MIGRATE)
_STAY = np.int64(TaskDecisionKind.STAY)
_FAILURE_PREDICTED = np.int64(TaskReason.FAILURE_PREDICTED)
_OVERLOADED = np.int64(TaskReason.OVERLOADED)
_NOWHERE_TO_GO = np.int64(TaskReason.NOWHERE_TO_GO)
_ARRIVING = np.int64(TaskReason.ARRIVING)
_NO_TIME_LEFT = np.int64(TaskReason.NO_TIME_LEFT)
_MIGRATED = np.int64(Begun.MIGRATED)
_MOVED = np.int64(Ended.MOVED)
HELD_BACK = np.int64(2)
"""Closed for one choice alone."""


@kernel
def leave(state, node, now):
    """Move the tasks of a node that is predicted to fail, in order of (deadline, job, task)."""
    fleet = state.fleet
    fleets.doubt(fleet, node, 1)
    one = fleet.nodes[node]
    if one.up == 0 or one.first < 0 or not moves_any(state):
        return
    # Closed meanwhile, so that no task of it is told to move where it is; a drained one stays so.
    closed = one.closed
    fleets.open_or_close(fleet, node, 1, 1)
    place = next_to_leave(state, node, -1, -1, -1)
    while place >= 0:
        vm = state.vms[place]
        deadline, number, task = state.jobs[vm.job].deadline, vm.job, vm.task
        consider_move(state, place, deadline, now, _FAILURE_PREDICTED)
        place = next_to_leave(state, node, deadline, number, task)
    fleets.open_or_close(fleet, node, 1, closed)


@kernel
def moves_any(state):
    """Return whether tasks move at all."""
    if state.choosing.strategy == placement.RANDOM and state.rules.random_migrates == 0:
        return False
    return state.choosing.migrates != 0


@kernel
def is_above(state, node):
    """Return whether more of a node is in use than its limit allows."""
    one = state.fleet.nodes[node]
    used = one.capacity - one.free
    return one.up != 0 and used * PROCESSOR > state.rules.limit * one.capacity


@kernel
def relieve(state, node, now):
    """Move one task off a node that has been above its limit for too long, to a node that stays
    within it; see `machines.rules.overload`."""
    if state.rules.limit == 0 or not moves_any(state) or not is_above(state, node):
        return
    place = relieving(state, node, now)
    if place < 0:
        return
    nodes, rate = state.fleet.nodes, state.fleet.at[fleets.RATE]
    # Closed meanwhile: what the move would overload, and the node itself.
    for number in range(len(nodes)):
        one = nodes[number]
        within = (one.capacity - one.free + rate) * PROCESSOR <= state.rules.limit * one.capacity
        if one.up != 0 and one.closed == 0 and (number == node or not within):
            fleets.open_or_close(state.fleet, number, 1, HELD_BACK)
    consider_move(state, place, state.jobs[state.vms[place].job].deadline, now, _OVERLOADED)
    for number in range(len(nodes)):
        if nodes[number].closed == HELD_BACK:
            fleets.open_or_close(state.fleet, number, 1, 0)


@kernel
def relieving(state, node, now):
    """Return the task that should leave a node, -1 where there is none: the least one without which
    the node is within its limit, or else the greatest; ties by job and task. What is arriving or
    leaving counts, and stays."""
    one = state.fleet.nodes[node]
    excess = (one.capacity - one.free) * PROCESSOR - state.rules.limit * one.capacity
    best = np.int64(-1)
    place = one.first
    while place >= 0:
        vm = state.vms[place]
        stays = vm.runs_from > now or vm.target >= 0
        if best < 0 and not stays:
            best = place
        elif not stays:
            top = state.vms[best]
            enough, had = vm.rate * PROCESSOR >= excess, top.rate * PROCESSOR >= excess
            # Of those that suffice the least; of those that do not, the greatest.
            order = vm.rate - top.rate if enough else top.rate - vm.rate
            if enough != had:
                order = -1 if enough else 1
            if order < 0 or (order == 0 and (vm.job, vm.task) < (top.job, top.task)):
                best = place
        place = vm.next_on_node
    # Alone it would be no better off elsewhere.
    if best >= 0 and state.vms[best].rate == one.capacity - one.free:
        return np.int64(-1)
    return best


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
def consider_move(state, place, deadline, now, why):
    """Move a task off its node, if there is time for it and a node that takes it; `why` is the
    reason for it."""
    vm, choosing = state.vms[place], state.choosing
    number, source = vm.job, vm.node
    # Already on its way.
    if vm.target >= 0:
        return
    reason, node = _NOWHERE_TO_GO, NOBODY
    arrival = now + placement.tau_of(state.fleet, choosing)
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
    at = state.fleet.nodes[source].foreseen if why != _OVERLOADED else FAR
    tasks.write_move(state, place, node, at, now)
    # It runs on while it is copied: capacity is held at both ends until it switches.
    if state.rules.copy > 0:
        vm.target, vm.moving_since = node, now
        vm.target_rate = min(state.fleet.at[fleets.RATE], state.fleet.nodes[node].free)
        fleets.take(state.fleet, node, vm.target_rate)
        state.at[states.LEAVING] += 1
    else:
        end_stay(state, place, now)
        begin_stay(state, place, node, 0, now, now)
    tasks.note(state, _MIGRATE, why, number, place, source, node)
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
    """Take in that a task which was copied while it ran goes on at its target, or that one which
    was stopped has arrived there."""
    vm, rules = state.vms[place], state.rules
    if rules.believed >= 0 and (vm.target >= 0 or vm.runs_from == now):
        took = rules.copy + rules.standstill
        state.fleet.at[fleets.TAU] = costing.learn(state.costs, rules.memory, took)
    # Given up meanwhile, or arrived.
    if vm.target < 0:
        return
    target, rate, since = vm.target, vm.target_rate, vm.moving_since
    vm.target = -1
    state.at[states.LEAVING] -= 1
    end_stay(state, place, now)
    begin_stay(state, place, target, rate, since, now)
