"""The engine for tasks in virtual machines: what happened in, what should be done out.

Source: Fu and Xu, ARES 2009, Sections 3 and 4. A job is placed as a whole or waits, first come
first served; the tasks of a node that is predicted to fail move to nodes that the strategy chooses.
"""

from __future__ import annotations

import numpy as np

from forestall._compile import kernel
from forestall.decide import fleet_kernels as fleets
from forestall.decide import placement_kernels as placement
from forestall.decide.fleet_kernels import FAR, NOBODY
from forestall.engine import virtual_state as states
from forestall.engine.virtual_state import DONE, RUNNING, WAITING
from forestall.model.virtual import TaskDecisionKind, TaskEventKind, TaskReason
from forestall.model.virtual_books import Begun, Ended, MoveEnd

_TASK_ENDED = np.int64(TaskEventKind.TASK_ENDED)
_MIGRATION_ENDED = np.int64(TaskEventKind.MIGRATION_ENDED)
_DEADLINE = np.int64(TaskEventKind.DEADLINE)
_NODE_RECOVERED = np.int64(TaskEventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(TaskEventKind.NODE_FAILED)
_FORESEEN = np.int64(TaskEventKind.FORESEEN)
_LEAVE_DUE = np.int64(TaskEventKind.LEAVE_DUE)
_SUBMITTED = np.int64(TaskEventKind.SUBMITTED)
_PASS = np.int64(TaskEventKind.PASS)
_MIGRATION_FAILED = np.int64(TaskEventKind.MIGRATION_FAILED)

_START = np.int64(TaskDecisionKind.START)
_MIGRATE = np.int64(TaskDecisionKind.MIGRATE)
_STAY = np.int64(TaskDecisionKind.STAY)
_ABORT = np.int64(TaskDecisionKind.ABORT)
_STOP = np.int64(TaskDecisionKind.STOP)
_DROP = np.int64(TaskDecisionKind.DROP)
_RESTART = np.int64(TaskDecisionKind.RESTART)

_FAILURE_PREDICTED = np.int64(TaskReason.FAILURE_PREDICTED)
_NOWHERE_TO_GO = np.int64(TaskReason.NOWHERE_TO_GO)
_ARRIVING = np.int64(TaskReason.ARRIVING)
_NO_TIME_LEFT = np.int64(TaskReason.NO_TIME_LEFT)
_FAILED = np.int64(TaskReason.NODE_FAILED)
_DEADLINE_CAME = np.int64(TaskReason.DEADLINE_CAME)
_TARGET_FAILED = np.int64(TaskReason.TARGET_FAILED)
_NEVER_MIGRATES = np.int64(TaskReason.NEVER_MIGRATES)

_PLACED, _MIGRATED, _RESTARTED = (np.int64(one) for one in Begun)
_COMPLETED, _MOVED, _ABORTED, _STOPPED, _LATE, _CANCELLED = (np.int64(one) for one in Ended)
_ARRIVED, _TO_FAILED, _FROM_FAILED, _ENDED_FIRST, _DEADLINE_FIRST = (
    np.int64(one) for one in MoveEnd
)


@kernel
def take(state, kind, key, at, now):
    """Take in one event, and leave the decisions on it in `state.out` (see `TaskEvent`)."""
    state.at[states.HELD] = 0
    if kind == _TASK_ENDED:
        complete(state, state.places[key], now)
    elif kind == _MIGRATION_ENDED:
        switch(state, state.places[key], now)
    elif kind == _DEADLINE:
        deadline_came(state, key, now)
    elif kind == _NODE_RECOVERED:
        recover(state, key, now)
    elif kind == _NODE_FAILED:
        fail(state, key, at, now)
    elif kind == _FORESEEN:
        fleets.foresee(state.fleet, key, at)
    elif kind == _LEAVE_DUE:
        leave(state, key, now)
    elif kind == _SUBMITTED:
        submit(state, key)
    elif kind == _PASS:
        place_all(state, now)
    elif kind == _MIGRATION_FAILED:
        give_up_move(state, state.places[key], now, _TO_FAILED)


@kernel
def has_room(state):
    """Return whether any one event surely fits into the arrays."""
    at, books, slots = state.at, state.books, len(state.vms)
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


# ------------------------------------------------------------------------------- work and progress


@kernel
def progress_seconds(vm):
    """Return the seconds of progress that a task needs from `runs_from` on."""
    return (vm.remaining + vm.rate - 1) // vm.rate


@kernel
def checkpoints_ahead(rules, vm):
    """Return how many checkpoints a task will take from `runs_from` on; none at its end."""
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
def write_move(state, place, target, now):
    """Write down a migration that begins now, as if it would arrive."""
    vm, at = state.vms[place], state.at
    move = state.books.moves[at[states.MOVES]]
    foreseen = state.fleet.nodes[vm.node].foreseen
    move.time, move.predicted = now, -1 if foreseen == FAR else foreseen
    move.end = now + state.rules.copy + state.rules.standstill
    move.job, move.task, move.source, move.target = vm.job, vm.task, vm.node, target
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


# ------------------------------------------------------------------------------------------ events


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
def complete(state, place, now):
    """Take in that a task has done its work."""
    give_up_move(state, place, now, _ENDED_FIRST)
    vm = state.vms[place]
    number = vm.job
    job = state.jobs[number]
    ended = _COMPLETED if now <= job.deadline else _LATE
    if ended == _COMPLETED:
        job.done += 1
    else:
        job.late += 1
    ahead = checkpoints_ahead(state.rules, vm)
    write_stay(state, place, now, ended, vm.remaining, 0, ahead)
    remove(state, place)
    settle(state, number, now)


@kernel
def deadline_came(state, number, now):
    """Drop a job that waits; stop the tasks of one that runs, where they do not run on."""
    job = state.jobs[number]
    if job.status == WAITING:
        leave_queue(state, number)
        job.status, job.dropped, job.left = DONE, 1, 0
        state.at[states.LEFT] -= 1
        state.at[states.ENDED_AT] = now
        note(state, _DROP, _DEADLINE_CAME, number, -1, -1, -1)
    elif job.status == RUNNING and state.rules.stop != 0:
        place = job.vm
        while place >= 0:
            later = state.vms[place].next_of_job
            stop(state, place, now)
            place = later
        forget_waits(state, number, now)


@kernel
def stop(state, place, now):
    """Stop a task at its deadline."""
    give_up_move(state, place, now, _DEADLINE_FIRST)
    break_arrival(state, place, now, _DEADLINE_FIRST)
    vm = state.vms[place]
    number = vm.job
    done, _saved, _phase, checkpoints = lived(state.rules, vm, now)
    note(state, _STOP, _DEADLINE_CAME, number, place, vm.node, -1)
    write_stay(state, place, now, _STOPPED, done, 0, checkpoints)
    remove(state, place)
    settle(state, number, now)


@kernel
def forget_waits(state, number, now):
    """Let no task of a job wait for its restart any more."""
    at, waits, held = state.at, state.waits, 0
    for i in range(at[states.WAITS]):
        if waits[i].job == number:
            note(state, _STOP, _DEADLINE_CAME, number, -1, -1, -1)
            state.out[at[states.HELD] - 1].task = waits[i].task
            settle(state, number, now)
        else:
            waits[held] = waits[i]
            held += 1
    at[states.WAITS] = held


@kernel
def recover(state, node, now):
    """Take in that a node is back, unless it failed again meanwhile."""
    one = state.fleet.nodes[node]
    if one.up == 0 and one.back <= now:
        fleets.open_or_close(state.fleet, node, 1, 0)


@kernel
def fail(state, node, until, now):
    """Take in that a node has failed and will be back at `until`: its tasks are aborted."""
    one, at = state.fleet.nodes[node], state.at
    one.back = max(one.back, until)
    tasks, lost = 0, 0
    while one.first >= 0:
        lost += abort(state, one.first, now)
        tasks += 1
    if at[states.LEAVING] > 0:
        for place in range(len(state.vms)):
            vm = state.vms[place]
            if vm.job >= 0 and vm.target == node:
                give_up_move(state, place, now, _TO_FAILED)
                note(state, _STAY, _TARGET_FAILED, vm.job, place, vm.node, node)
    fleets.foresee(state.fleet, node, FAR)
    if one.up != 0:
        fleets.open_or_close(state.fleet, node, 0, 0)
    strike = state.books.struck[at[states.STRIKES]]
    strike.time, strike.tasks, strike.lost = now, tasks, lost
    at[states.STRIKES] += 1


@kernel
def abort(state, place, now):
    """Abort a task whose node has failed; return the work lost."""
    give_up_move(state, place, now, _FROM_FAILED)
    break_arrival(state, place, now, _TO_FAILED)
    vm = state.vms[place]
    number, task = vm.job, vm.task
    done, saved, _phase, checkpoints = lived(state.rules, vm, now)
    if checkpoints > 0:
        vm.kept = vm.remaining - saved
    kept = vm.kept
    lost = kept - (vm.remaining - done)
    note(state, _ABORT, _FAILED, number, place, vm.node, -1)
    write_stay(state, place, now, _ABORTED, done, lost, checkpoints)
    remove(state, place)
    if state.rules.checkpointing != 0:
        wait(state, number, task, kept)
    else:
        settle(state, number, now)
    return lost


@kernel
def wait(state, number, task, remaining):
    """Let an aborted task wait for its restart, in order of (job, task)."""
    at, waits = state.at, state.waits
    i = at[states.WAITS]
    while i > 0 and (waits[i - 1].job, waits[i - 1].task) > (number, task):
        waits[i] = waits[i - 1]
        i -= 1
    waits[i].job, waits[i].task, waits[i].remaining = number, task, remaining
    at[states.WAITS] += 1


# ---------------------------------------------------------------------------------------- placing


@kernel
def place_all(state, now):
    """Restart the tasks that wait for it, then place the jobs that wait: in order, and none passes
    another unless that is asked for."""
    at = state.at
    restart_all(state, now)
    if at[states.WAITS] > 0 and state.rules.backfill == 0:
        return
    number = at[states.HEAD]
    while number >= 0 and state.fleet.at[fleets.SLOTS] > 0:
        job = state.jobs[number]
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
            state.fleet, state.choosing, alpha, one.remaining, job.deadline, now, another(state)
        )
        place = start(state, one.job, one.task, one.remaining, node, now, _RESTARTED)
        note(state, _RESTART, reason, one.job, place, -1, node)
        used += 1
    if used > 0:
        for i in range(used, at[states.WAITS]):
            waits[i - used] = waits[i]
        at[states.WAITS] -= used


@kernel
def another(state):
    """Return a further draw in [0, 1) where nodes are drawn by chance."""
    if state.choosing.strategy != placement.RANDOM:
        return 0.0
    draw = state.more[state.at[states.MORE]]
    state.at[states.MORE] += 1
    return draw


@kernel
def place_job(state, number, now):
    """Place all tasks of a job, for which there is room."""
    job, fleet, choosing = state.jobs[number], state.fleet, state.choosing
    job.status, job.start = RUNNING, now
    alpha = placement.alpha_of(fleet, choosing, job.deadline)
    for task in range(job.tasks):
        draw = state.draws[job.first + task] if choosing.strategy == placement.RANDOM else 0.0
        node, reason = placement.choose(fleet, choosing, alpha, job.work, job.deadline, now, draw)
        place = start(state, number, task, job.work, node, now, _PLACED)
        note(state, _START, reason, number, place, -1, node)


@kernel
def start(state, number, task, work, node, now, begun):
    """Let a task run on a node from now on, as fast as it can there; return its place."""
    at, fleet, job = state.at, state.fleet, state.jobs[number]
    at[states.FREE] -= 1
    place = state.spare[at[states.FREE]]
    vm = state.vms[place]
    vm.job, vm.task, vm.node, vm.begun = number, task, node, begun
    vm.remaining = vm.kept = work
    vm.start = vm.runs_from = now
    vm.phase, vm.target, vm.move = 0, -1, -1
    vm.rate = min(fleet.at[fleets.RATE], fleet.nodes[node].free)
    fleets.take(fleet, node, vm.rate)
    link(state, place)
    vm.next_of_job, vm.before_of_job = job.vm, -1
    if job.vm >= 0:
        state.vms[job.vm].before_of_job = place
    job.vm = place
    state.places[job.first + task] = place
    return place


# ----------------------------------------------------------------------------------------- moving


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
    fleets.open_or_close(fleet, node, 1, 1)
    place = next_to_leave(state, node, -1, -1, -1)
    while place >= 0:
        vm = state.vms[place]
        deadline, number, task = state.jobs[vm.job].deadline, vm.job, vm.task
        consider_move(state, place, deadline, now)
        place = next_to_leave(state, node, deadline, number, task)
    fleets.open_or_close(fleet, node, 1, 0)


@kernel
def next_to_leave(state, node, deadline, number, task):
    """Return the task on a node that comes after this one in order of (deadline, job, task), or
    -1."""
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
    if vm.target >= 0:
        return
    reason, node = _NOWHERE_TO_GO, NOBODY
    arrival = now + choosing.transfer
    if vm.runs_from > now:
        reason = _ARRIVING
    elif deadline <= arrival:
        reason = _NO_TIME_LEFT
    elif state.fleet.at[fleets.SLOTS] > 0:
        done, _saved, _phase, _checkpoints = lived(state.rules, vm, now)
        alpha = placement.alpha_of(state.fleet, choosing, deadline)
        node, _why = placement.choose(
            state.fleet,
            choosing,
            alpha,
            vm.remaining - done,
            deadline,
            arrival,
            another(state),
        )
    if node == NOBODY:
        note(state, _STAY, reason, number, place, source, -1)
        return
    at = state.fleet.nodes[source].foreseen
    write_move(state, place, node, now)
    if state.rules.copy > 0:
        vm.target, vm.moving_since = node, now
        vm.target_rate = min(state.fleet.at[fleets.RATE], state.fleet.nodes[node].free)
        fleets.take(state.fleet, node, vm.target_rate)
        state.at[states.LEAVING] += 1
    else:
        end_stay(state, place, now)
        begin_stay(state, place, node, 0, now, now)
    note(state, _MIGRATE, _FAILURE_PREDICTED, number, place, source, node)
    decision = state.out[state.at[states.HELD] - 1]
    decision.at = -1 if at == FAR else at
    if vm.target >= 0:
        decision.rate = vm.target_rate


@kernel
def end_stay(state, place, now):
    """End the stay of a task that goes on elsewhere."""
    vm = state.vms[place]
    done, saved, phase, checkpoints = lived(state.rules, vm, now)
    write_stay(state, place, now, _MOVED, done, 0, checkpoints)
    unlink(state, place)
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
    vm.runs_from = now + state.rules.standstill
    vm.rate = rate
    if rate == 0:
        vm.rate = min(fleet.at[fleets.RATE], fleet.nodes[node].free)
        fleets.take(fleet, node, vm.rate)
    link(state, place)


@kernel
def switch(state, place, now):
    """Take in that a task which was copied while it ran goes on at its target."""
    vm = state.vms[place]
    if vm.target < 0:
        return
    target, rate, since = vm.target, vm.target_rate, vm.moving_since
    vm.target = -1
    state.at[states.LEAVING] -= 1
    end_stay(state, place, now)
    begin_stay(state, place, target, rate, since, now)
