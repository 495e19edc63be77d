"""The world of tasks in virtual machines: tasks that end, nodes that fail and recover, deadlines.

Five streams are merged by one whole-number key (time, kind, order): submissions, deadlines,
failures and predictions, sorted beforehand, and a heap of what the present state leads to.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import kernel
from forestall.core.model.virtual import TaskDecisionKind, TaskEventKind
from forestall.machines.engine import move_kernels as moving
from forestall.machines.engine import state as states
from forestall.machines.engine import tasks_kernels as tasks
from forestall.machines.engine.state import DONE, RUNNING
from forestall.machines.rules import fleet_kernels as fleets
from forestall.prediction.models.heap_kernels import Heap, cancel, put

_TASK_ENDED = np.int64(TaskEventKind.TASK_ENDED)
_MIGRATION_ENDED = np.int64(TaskEventKind.MIGRATION_ENDED)
_DEADLINE = np.int64(TaskEventKind.DEADLINE)
_NODE_RECOVERED = np.int64(TaskEventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(TaskEventKind.NODE_FAILED)
_FORESEEN = np.int64(TaskEventKind.FORESEEN)
_OVERLOADED = np.int64(TaskEventKind.OVERLOADED)
_LEAVE_DUE = np.int64(TaskEventKind.LEAVE_DUE)
_SUBMITTED = np.int64(TaskEventKind.SUBMITTED)
_PASS = np.int64(TaskEventKind.PASS)

_START = np.int64(TaskDecisionKind.START)
_MIGRATE = np.int64(TaskDecisionKind.MIGRATE)
_STAY = np.int64(TaskDecisionKind.STAY)
_ABORT = np.int64(TaskDecisionKind.ABORT)
_STOP = np.int64(TaskDecisionKind.STOP)
_RESTART = np.int64(TaskDecisionKind.RESTART)

ORDER_BITS: Final = 26
KIND_BITS: Final = 4
MAX_ORDER: Final = 2**ORDER_BITS
"""Tasks of a run, at most."""
MAX_TIME: Final = 2**33
"""Seconds after the clock's origin that a key can hold."""
NEVER: Final = 2**63 - 1
"""A key later than any event's."""

STRIKE: Final = np.dtype([("time", "i8"), ("node", "i8"), ("downtime", "i8")])
TOLD: Final = np.dtype([("known", "i8"), ("node", "i8"), ("expected", "i8")])

HEAP, FAILURES, SUBMISSIONS, DEADLINES, PREDICTIONS = map(np.int64, range(5))

ARRIVED, DUE, STRUCK, KNOWN, NOW, KIND, KEY = range(7)
AT, EVENTS, TOO_LATE, UNPLACED, LOGGED, DECIDED, UNWATCHED = range(7, 14)


class TaskWorld(NamedTuple):
    """int64[jobs] in order of (deadline, job); STRIKE[failures]; TOLD[predictions]; planned events,
    the items being places of tasks (their ends), the same again (ends of their migrations), nodes
    (recoveries), and nodes twice again (when they are to be left, and when they have been above
    their limit for too long); int64[14] counters; int64[2]: origin of the clock, s before its
    predicted failure at which a node is left (-1: what a move is believed to take)."""

    by_deadline: npt.NDArray[np.int64]
    strikes: npt.NDArray[Any]
    told: npt.NDArray[Any]
    heap: Heap
    at: npt.NDArray[np.int64]
    clock: npt.NDArray[np.int64]


class TaskLogs(NamedTuple):
    """EVENT[capacity] and DECISION[capacity]; empty where nothing is to be logged."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]


@kernel
def key_of(world, time, kind, order):
    """Pack (time, kind, order) into one whole number that sorts like the triple."""
    # 33 bits of time, 4 of kind, 26 of order: 63 bits, so that keys stay positive and compare as
    # they are. Kinds are numbered in the order in which they happen within a second.
    return ((time - world.clock[0]) << (ORDER_BITS + KIND_BITS)) | (kind << ORDER_BITS) | order


@kernel
def time_of(world, key):
    """Return the time that a key holds."""
    return (key >> (ORDER_BITS + KIND_BITS)) + world.clock[0]


@kernel
def plan(world, item, time, kind, order):
    """Set the next event of an item, in place of the one it had."""
    if time - world.clock[0] >= MAX_TIME:
        world.at[TOO_LATE] = 1
    put(world.heap, item, key_of(world, time, kind, order))


@kernel
def peek(state, world):
    """Return the key of the next event, NEVER where nothing will happen any more, and its
    stream."""
    at = world.at
    best, stream = NEVER, np.int64(-1)
    if world.heap.size[0] > 0:
        best, stream = world.heap.keys[0], HEAP
    # The heads of sorted arrays cost nothing to keep: only what depends on the run is in the heap.
    if at[STRUCK] < len(world.strikes):
        strike = world.strikes[at[STRUCK]]
        key = key_of(world, strike.time, _NODE_FAILED, strike.node)
        if key < best:
            best, stream = key, FAILURES
    if at[ARRIVED] < len(state.jobs):
        key = key_of(world, state.jobs[at[ARRIVED]].submit, _SUBMITTED, at[ARRIVED])
        if key < best:
            best, stream = key, SUBMISSIONS
    if at[KNOWN] < len(world.told):
        row = world.told[at[KNOWN]]
        key = key_of(world, row.known, _FORESEEN, row.node)
        if key < best:
            best, stream = key, PREDICTIONS
    number = next_due(state, world)
    if number >= 0:
        key = key_of(world, state.jobs[number].deadline, _DEADLINE, number)
        if key < best:
            best, stream = key, DEADLINES
    return best, stream


@kernel
def next_due(state, world):
    """Return the job whose deadline comes next and matters, -1 where there is none."""
    at = world.at
    while at[DUE] < len(world.by_deadline):
        number = world.by_deadline[at[DUE]]
        status = state.jobs[number].status
        # Deadlines of jobs that have ended, or run on regardless, are passed over for good.
        if status != DONE and not (status == RUNNING and state.rules.stop == 0):
            return number
        at[DUE] += 1
    return np.int64(-1)


@kernel
def step(state, world, key, stream):
    """Let the next event happen; what it was is left in the counters."""
    at = world.at
    at[NOW], at[AT] = time_of(world, key), -1
    at[KIND] = (key >> ORDER_BITS) & ((1 << KIND_BITS) - 1)
    at[KEY] = key & (MAX_ORDER - 1)
    at[EVENTS] += 1
    # Any event may have made room, or brought work.
    at[UNPLACED] = at[UNWATCHED] = 1
    if stream == HEAP:
        cancel(world.heap, world.heap.ids[0])
    elif stream == FAILURES:
        at[AT] = at[NOW] + world.strikes[at[STRUCK]].downtime
        at[STRUCK] += 1
    elif stream == SUBMISSIONS:
        at[ARRIVED] += 1
    elif stream == PREDICTIONS:
        at[AT] = world.told[at[KNOWN]].expected
        at[KNOWN] += 1
    else:
        at[DUE] += 1
    if at[KIND] == _TASK_ENDED:  # a migration that has not ended by now never will
        cancel(world.heap, len(state.vms) + state.places[at[KEY]])


@kernel
def place_now(state, world):
    """Let the second end: a placing pass, if anything waits."""
    at = world.at
    at[UNPLACED] = 0
    if state.at[states.HEAD] < 0 and state.at[states.WAITS] == 0:
        return False
    at[KIND], at[KEY], at[AT] = _PASS, 0, -1
    at[EVENTS] += 1
    return True


@kernel
def watch(state, world):
    """Let the second end: note since when nodes are above their limit of load."""
    items = 2 * len(state.vms) + 2 * len(state.fleet.nodes)
    world.at[UNWATCHED] = 0
    for node in range(len(state.fleet.nodes)):
        if not moving.is_above(state, node):
            cancel(world.heap, items + node)
        elif world.heap.places[items + node] < 0:
            plan(world, items + node, world.at[NOW] + state.rules.hold, _OVERLOADED, node)


@kernel
def plan_end(state, world, place):
    """Plan the end of a task that runs, or will when it has arrived."""
    vm = state.vms[place]
    number = state.jobs[vm.job].first + vm.task
    plan(world, place, tasks.ends_at(state, place), _TASK_ENDED, number)


@kernel
def carry_out(state, world):
    """Plan what follows from the event that has just happened, and from what was decided on it."""
    at, slots = world.at, len(state.vms)
    now, kind, key = at[NOW], at[KIND], at[KEY]
    # Items of the heap: ends of tasks, ends of their migrations, recoveries, departures.
    recoveries, departures = 2 * slots, 2 * slots + len(state.fleet.nodes)
    if kind == _MIGRATION_ENDED:
        plan_end(state, world, state.places[key])
    elif kind == _NODE_FAILED:
        state.books.struck[state.at[states.STRIKES] - 1].number = at[STRUCK] - 1
        plan(world, recoveries + key, state.fleet.nodes[key].back, _NODE_RECOVERED, key)
        # It has failed already.
        cancel(world.heap, departures + key)
    elif kind == _FORESEEN:
        lead = world.clock[1] if world.clock[1] >= 0 else state.fleet.at[fleets.TAU]
        time = max(now, at[AT] - lead)
        if time - world.clock[0] < MAX_TIME:
            plan(world, departures + key, time, _LEAVE_DUE, key)
        else:  # later than anything that will happen
            cancel(world.heap, departures + key)
    for i in range(state.at[states.HELD]):
        decision = state.out[i]
        place = decision.vm
        if place < 0:
            continue
        if decision.kind in (_START, _RESTART):
            plan_end(state, world, place)
        elif decision.kind == _MIGRATE:
            vm = state.vms[place]
            if vm.target >= 0:
                number = state.jobs[vm.job].first + vm.task
                time = now + state.rules.copy
                plan(world, slots + place, time, _MIGRATION_ENDED, number)
            else:
                plan_end(state, world, place)
                if state.rules.believed >= 0:
                    number = state.jobs[vm.job].first + vm.task
                    plan(world, slots + place, vm.runs_from, _MIGRATION_ENDED, number)
        elif decision.kind in (_ABORT, _STOP):
            cancel(world.heap, place)
            cancel(world.heap, slots + place)
        elif decision.kind == _STAY and state.vms[place].target < 0 and state.rules.copy > 0:
            cancel(world.heap, slots + place)
