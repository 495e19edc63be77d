"""Tasks that run: what they have done, the lists that they stand in, and the books of them."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.machines.engine import state as states
from forestall.machines.engine.state import DONE
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules import placement_kernels as placement

_MIGRATED = np.int64(Begun.MIGRATED)
_MOVED = np.int64(Ended.MOVED)
_CANCELLED = np.int64(Ended.CANCELLED)
_ARRIVED = np.int64(MoveEnd.ARRIVED)


@kernel
def note(state, kind, reason, job, place, source, node):
    """Write down a decision about a running task (`place`), or a whole job (-1)."""
    at = state.at
    decision = state.out[at[states.HELD]]
    decision.kind, decision.reason, decision.job, decision.vm = kind, reason, job, place
    decision.task, decision.rate, decision.at = -1, 0, -1
    if place >= 0:
        vm = state.vms[place]
        decision.task, decision.rate = vm.task, vm.rate
    decision.source, decision.node = source, node
    decision.deadline = state.jobs[job].deadline
    at[states.HELD] += 1


@kernel
def another(state):
    """Return a further draw in [0, 1) where nodes are drawn by chance."""
    if state.choosing.strategy != placement.RANDOM:
        return 0.0
    draw = state.more[state.at[states.MORE]]
    state.at[states.MORE] += 1
    return draw


# ------------------------------------------------------------------------------- work and progress


@kernel
def progress_seconds(vm):
    """Return the seconds of progress that a task needs from `runs_from` on."""
    return (vm.remaining + vm.rate - 1) // vm.rate


@kernel
def checkpoints_ahead(rules, vm):
    """Return how many checkpoints a task will take from `runs_from` on; none at its end."""
    # Progress since the last checkpoint carries over from the stay before.
    first = rules.interval - vm.phase
    needed = progress_seconds(vm)
    if rules.checkpointing == 0 or needed <= first:
        return 0
    return 1 + (needed - first - 1) // rules.interval


@kernel
def ends_at(state, place):
    """Return when a task will end where it is."""
    vm, rules = state.vms[place], state.rules
    return vm.runs_from + progress_seconds(vm) + checkpoints_ahead(rules, vm) * rules.overhead


@kernel
def lived(rules, vm, now):
    """Return what a task has done since `runs_from`: work, the part of it that its last checkpoint
    saved, s of progress since that checkpoint, and checkpoints."""
    elapsed = now - vm.runs_from
    if elapsed <= 0:
        return 0, 0, vm.phase, 0
    first, ahead = rules.interval - vm.phase, checkpoints_ahead(rules, vm)
    if ahead == 0 or elapsed < first:
        return min(vm.rate * elapsed, vm.remaining), 0, vm.phase + elapsed, 0
    since = elapsed - first
    # Whole rounds of a checkpoint and an interval after the first interval; the last checkpoint has
    # no further one after it.
    begun = min(since // (rules.interval + rules.overhead), ahead - 1)
    rest = since - begun * (rules.interval + rules.overhead)
    progress = first + begun * rules.interval
    if rest < rules.overhead:  # within its pause
        saved = vm.rate * (progress - rules.interval) if begun > 0 else 0
        return vm.rate * progress, saved, rules.interval, begun
    done = min(vm.rate * (progress + rest - rules.overhead), vm.remaining)
    return done, vm.rate * progress, rest - rules.overhead, begun + 1


# ------------------------------------------------------------------------------------------- lists


@kernel
def link(state, place):
    """Put a task into the list of its node."""
    vm = state.vms[place]
    node = state.fleet.nodes[vm.node]
    vm.next_on_node, vm.before_on_node = node.first, -1
    if node.first >= 0:
        state.vms[node.first].before_on_node = place
    node.first = place


@kernel
def unlink(state, place):
    """Take a task out of the list of its node, and give back its capacity."""
    vm = state.vms[place]
    if vm.before_on_node >= 0:
        state.vms[vm.before_on_node].next_on_node = vm.next_on_node
    else:
        state.fleet.nodes[vm.node].first = vm.next_on_node
    if vm.next_on_node >= 0:
        state.vms[vm.next_on_node].before_on_node = vm.before_on_node
    fleets.take(state.fleet, vm.node, -vm.rate)


@kernel
def remove(state, place):
    """Take a task out of all lists; its place is free."""
    unlink(state, place)
    vm, at = state.vms[place], state.at
    job = state.jobs[vm.job]
    if vm.before_of_job >= 0:
        state.vms[vm.before_of_job].next_of_job = vm.next_of_job
    else:
        job.vm = vm.next_of_job
    if vm.next_of_job >= 0:
        state.vms[vm.next_of_job].before_of_job = vm.before_of_job
    state.places[job.first + vm.task] = -1
    vm.job = -1
    state.spare[at[states.FREE]] = place
    at[states.FREE] += 1


@kernel
def settle(state, number, now):
    """Take note that a task of a job has ended for good."""
    job = state.jobs[number]
    job.left -= 1
    if job.left == 0:
        job.status = DONE
        state.at[states.LEFT] -= 1
        state.at[states.ENDED_AT] = now


# ------------------------------------------------------------------------------------------- books


@kernel
def write_stay(state, place, now, ended, work, lost, checkpoints):
    """Write down a stay that ends now."""
    vm, at = state.vms[place], state.at
    run = state.books.runs[at[states.RUNS]]
    run.job, run.task, run.node = vm.job, vm.task, vm.node
    run.begun, run.ended = vm.begun, ended
    run.start, run.runs_from, run.end = vm.start, vm.runs_from, now
    run.rate, run.work, run.lost, run.checkpoints = vm.rate, work, lost, checkpoints
    at[states.RUNS] += 1
    if ended != _MOVED:
        state.jobs[vm.job].finish = now


@kernel
def write_move(state, place, target, foreseen, now):
    """Write down a migration that begins now, as if it would arrive; `foreseen` is the predicted
    time that it flees, FAR where it does not."""
    vm, at = state.vms[place], state.at
    move = state.books.moves[at[states.MOVES]]
    move.time, move.predicted = now, foreseen
    move.end = now + state.rules.copy + state.rules.standstill
    move.job, move.task, move.source, move.target = vm.job, vm.task, vm.node, target
    # Corrected if it never does: most do.
    move.outcome = _ARRIVED
    vm.move = at[states.MOVES]
    at[states.MOVES] += 1


@kernel
def break_arrival(state, place, now, outcome):
    """Write down that a task which was still arriving never did."""
    vm = state.vms[place]
    if vm.runs_from > now and vm.move >= 0:
        move = state.books.moves[vm.move]
        move.outcome, move.end = outcome, now


@kernel
def give_up_move(state, place, now, outcome):
    """Give back what is held for a task where it is moving to; it stays where it is."""
    vm, at = state.vms[place], state.at
    if vm.target < 0:
        return
    run, move = state.books.runs[at[states.RUNS]], state.books.moves[vm.move]
    # What was held is a stay of its own in the books: capacity was taken, no work was done.
    run.job, run.task, run.node = vm.job, vm.task, vm.target
    run.begun, run.ended = _MIGRATED, _CANCELLED
    run.start, run.end = vm.moving_since, now
    run.runs_from = vm.moving_since + state.rules.copy + state.rules.standstill
    run.rate, run.work, run.lost, run.checkpoints = vm.target_rate, 0, 0, 0
    at[states.RUNS] += 1
    move.outcome, move.end = outcome, now
    fleets.take(state.fleet, vm.target, -vm.target_rate)
    vm.target = -1
    at[states.LEAVING] -= 1
