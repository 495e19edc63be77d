"""The world: jobs that make progress, nodes that fail and recover, and the order of what happens.

Three streams are merged by one whole-number key (time, kind, order): submissions and failures,
sorted beforehand, and a heap that holds at most one next event per job and per node.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import inlined, merged_by_type, record_of
from forestall.core.model.decisions import DecisionKind
from forestall.core.model.events import EventKind
from forestall.prediction.models.heap_kernels import Heap, cancel, put
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.simulation.saves_state import JobVault, NoSaves

_FINISHED = np.int64(EventKind.FINISHED)
_CHECKPOINT_FINISHED = np.int64(EventKind.CHECKPOINT_FINISHED)
_NODE_RECOVERED = np.int64(EventKind.NODE_RECOVERED)
_NODE_FAILED = np.int64(EventKind.NODE_FAILED)
_CHECKPOINT_REQUESTED = np.int64(EventKind.CHECKPOINT_REQUESTED)
_START_DUE = np.int64(EventKind.START_DUE)
_SUBMITTED = np.int64(EventKind.SUBMITTED)
_PASS = np.int64(EventKind.PASS)
_RESERVE = np.int64(DecisionKind.RESERVE)
_START = np.int64(DecisionKind.START)
_CHECKPOINT = np.int64(DecisionKind.CHECKPOINT)
_SKIP = np.int64(DecisionKind.SKIP)
_REQUEUE = np.int64(DecisionKind.REQUEUE)

# A key has 63 bits, so that it is never negative: 36 of time, 3 of kind, 24 of order.
ORDER_BITS: Final = 24
KIND_BITS: Final = 3
MAX_ORDER: Final = 2**ORDER_BITS
MAX_TIME: Final = 2**36
"""Seconds after the clock's origin that a key can hold."""

TRUTH: Final = record_of(
    "submit runtime interval saved base since request first_start last_start finish restarts "
    "checkpoints skipped lost run"
)
"""What really happens to a job: submit; run time; seconds between checkpoint requests (0: none);
work saved; progress `base` reached at time `since`; progress at the next request; starts; finish;
counts; lost node-seconds; its current run."""

STRIKE: Final = np.dtype([("time", "i8"), ("node", "i8"), ("downtime", "i8")])
PLAYED: Final = record_of("time number job lost")
"""A failure that happened: when; its place in the log; the first job that it hit (-1: none); what
all that it hit lost, as in `RUN`."""
RUN: Final = record_of(
    "job start end lost checkpoints first_range ranges resumed unrecovered struck"
)
"""A run: the job; [start, end) s; node-seconds lost at its end (where nodes are shared, seconds);
completed checkpoints; where its ranges of nodes begin, and how many they are; the job's work that
it began with, s; what of it had been saved and could not be had, s; the failure that ended it, by
its place among those that were played (-1: none)."""

NEVER: Final = 2**63 - 1
"""A key later than any event's."""

ARRIVED, STRUCK, LEFT, RUNS, RANGES, NOW, TOUCHED, EVENTS = range(8)
LOGGED, DECIDED, KIND, KEY, UNTIL, LOG_RANGES, TOO_LATE, KILLS = range(8, 16)
MEETS: Final = 3
"""The place in the clock of the job before which a loop stops."""


class World(NamedTuple):
    """TRUTH[jobs]; STRIKE[failures]; PLAYED[capacity]; RUN[capacity]; what a vault keeps of the
    jobs' checkpoints; int64[capacity, 2] ranges of nodes of the runs; planned events, the items
    being jobs, then nodes, then an alarm; int64[16] counters; int64[4]: origin of the clock; the
    period after which the failures repeat (0: never); how many kills in a row, with no job
    finishing or saving work, show that one never will (0: no number does); the job whose user is to
    be shown offers before it is submitted (-1: none is).
    """

    jobs: npt.NDArray[Any]
    strikes: npt.NDArray[Any]
    played: npt.NDArray[Any]
    runs: npt.NDArray[Any]
    vault: NoSaves | JobVault
    ranges: npt.NDArray[np.int64]
    heap: Heap
    at: npt.NDArray[np.int64]
    clock: npt.NDArray[np.int64]


@inlined
def key_of(world, time, kind, order):
    """Pack (time, kind, order) into one whole number that sorts like the triple."""
    return ((time - world.clock[0]) << (ORDER_BITS + KIND_BITS)) | (kind << ORDER_BITS) | order


@inlined
def plan(world, item, time, kind, order):
    """Set the next event of a job or node, in place of the one it had."""
    if time - world.clock[0] >= MAX_TIME:
        world.at[TOO_LATE] = 1
    put(world.heap, item, key_of(world, time, kind, order))


@inlined
def strike_of(world, number):
    """Return (index, seconds to add) of the failure with this running number; index -1: no more."""
    count, period = len(world.strikes), world.clock[1]
    if number < count:
        return number, 0
    if period == 0 or count == 0:
        return -1, 0
    return number % count, (number // count) * period


@inlined
def peek(world):
    """Return the key of the next event, NEVER where nothing will happen any more, and its stream:
    0 heap, 1 failures, 2 submissions."""
    best, stream = NEVER, -1
    if world.heap.size[0] > 0:
        best, stream = world.heap.keys[0], 0
    index, shift = strike_of(world, world.at[STRUCK])
    if index >= 0:
        strike = world.strikes[index]
        key = key_of(world, strike.time + shift, _NODE_FAILED, strike.node)
        if key < best:
            best, stream = key, 1
    if world.at[ARRIVED] < len(world.jobs):
        j = world.at[ARRIVED]
        key = key_of(world, world.jobs[j].submit, _SUBMITTED, j)
        if key < best:
            best, stream = key, 2
    return best, stream


@inlined
def time_of(world, key):
    """Return the time that a key holds."""
    return (key >> (ORDER_BITS + KIND_BITS)) + world.clock[0]


@inlined
def step(world, key, stream):
    """Let the next event happen: its kind, key and known recovery are left in the counters."""
    at = world.at
    now = time_of(world, key)
    at[NOW], at[UNTIL] = now, -1
    at[KIND] = (key >> ORDER_BITS) & ((1 << KIND_BITS) - 1)
    at[KEY] = key & (MAX_ORDER - 1)
    at[EVENTS] += 1
    if stream == 0:
        cancel(world.heap, world.heap.ids[0])
    elif stream == 1:
        strike_now(world, now)
    else:
        job = world.jobs[at[ARRIVED]]
        job.first_start, job.last_start, job.finish, job.run = -1, -1, -1, -1
        job.saved, job.restarts, job.checkpoints, job.skipped, job.lost = 0, 0, 0, 0, 0
        at[ARRIVED] += 1
    if at[KIND] == _FINISHED:
        finish(world, at[KEY], now)
    elif at[KIND] == _CHECKPOINT_FINISHED:
        resume(world, at[KEY], now)


@inlined
def close_second(world):
    """Let the present second end: the next event is the pass in which counting policies
    schedule."""
    at = world.at
    at[KIND], at[KEY], at[UNTIL] = _PASS, 0, -1
    at[TOUCHED] = 0


@inlined
def strike_now(world, now):
    """Take the next failure from the log and plan the recovery of its node."""
    at = world.at
    index, _ = strike_of(world, at[STRUCK])
    strike = world.strikes[index]
    at[UNTIL] = now + strike.downtime
    played = world.played[at[STRUCK]]
    played.time, played.number, played.job, played.lost = now, index, -1, 0
    at[STRUCK] += 1
    item = len(world.jobs) + strike.node
    place = world.heap.places[item]
    if place < 0 or time_of(world, world.heap.keys[place]) < at[UNTIL]:
        plan(world, item, at[UNTIL], _NODE_RECOVERED, strike.node)


@inlined
def plan_progress(world, j):
    """Plan what a running job comes to next: a checkpoint request, or its end."""
    job = world.jobs[j]
    if job.interval > 0 and job.request < job.runtime:
        plan(world, j, job.since + job.request - job.base, _CHECKPOINT_REQUESTED, j)
    else:
        plan(world, j, job.since + job.runtime - job.base, _FINISHED, j)


@inlined
def finish(world, j, now):
    """The job's work is done."""
    job = world.jobs[j]
    job.finish = now
    world.at[KILLS] = 0
    world.at[LEFT] -= 1
    world.runs[job.run].end = now
    forget_saves(world.vault, j)


@inlined
def resume(world, j, now):
    """A checkpoint is complete: its request's progress is saved, and the job goes on."""
    job = world.jobs[j]
    job.saved, job.base, job.since = job.request, job.request, now
    world.at[KILLS] = 0
    job.request += job.interval
    world.runs[job.run].checkpoints += 1
    complete_save(world.vault, job, j)
    plan_progress(world, j)


@inlined
def begin(world, state, j, now):
    """The job starts on the nodes of its row from the work that it has saved; that is fetched
    first."""
    job = world.jobs[j]
    unrecovered = resume_from(world.vault, state, job, j, now)
    job.base, job.since, job.request = job.saved, now, job.saved + job.interval
    if job.saved > 0:
        job.since += state.jobs[j].recovery
    job.last_start = now
    if job.first_start < 0:
        job.first_start = now
    job.run = world.at[RUNS]
    world.at[RUNS] += 1
    run = world.runs[job.run]
    run.job, run.start, run.end, run.lost, run.checkpoints = j, now, -1, 0, 0
    run.resumed, run.unrecovered, run.struck = job.saved, unrecovered, -1
    job.lost += unrecovered * state.jobs[j].size
    run.first_range = world.at[RANGES]
    world.at[RANGES] = note_nodes(state, world.ranges, run.first_range, j)
    run.ranges = world.at[RANGES] - run.first_range
    plan_progress(world, j)


@merged_by_type
def note_nodes(state, ranges, count, j):
    """Append the node set of a job as ranges at `count`, where node sets are kept; return the new
    count. Where nodes are shared: each node, and how many units of the job it has."""
    if state.jobs[j].row < 0:
        return count
    job = state.jobs[j]
    return note_ranges(ranges, count, state.timeline.rows[job.row], job.low, job.size)


@inlined
def note_ranges(ranges, count, row, first, size):
    """Append a set of `size` nodes, none of them before word `first`, as ranges [first, past the
    last) at `count`; return the new count."""
    opened, left, i = np.int64(-1), size, first
    while left > 0:
        word, base = row[i], 64 * i
        i += 1
        left -= bits.ones(word)
        if word == bits.FULL:  # goes on with the range that is open, or opens one
            opened = base if opened < 0 else opened
            continue
        if opened >= 0 and word & bits.ONE == bits.ZERO:
            ranges[count, 0], ranges[count, 1] = opened, base
            count += 1
            opened = np.int64(-1)
        while word != bits.ZERO:
            low = bits.lowest(word)
            past = low + bits.run_after(word, low)
            opened = base + low if opened < 0 else opened
            word &= ~bits.run_of(low, past - low)
            if past < 64:
                ranges[count, 0], ranges[count, 1] = opened, base + past
                count += 1
                opened = np.int64(-1)
    if opened >= 0:
        ranges[count, 0], ranges[count, 1] = opened, 64 * i
        count += 1
    return count


@inlined
def kill(world, j, now, lost):
    """The job's run ends because a node failed."""
    job = world.jobs[j]
    job.restarts += 1
    job.lost += lost
    break_save(world.vault, j, now)
    world.runs[job.run].end = now
    world.runs[job.run].lost = lost
    world.runs[job.run].struck = world.at[STRUCK] - 1
    played = world.played[world.at[STRUCK] - 1]
    played.job = j if played.job < 0 else played.job
    played.lost += lost
    world.at[KILLS] += 1
    if 0 < world.clock[2] < world.at[KILLS]:
        world.at[TOO_LATE] = 2 + j
    cancel(world.heap, j)


@inlined
def carry_out(world, state, decision, now):
    """Do what a decision says."""
    j, kind = decision.job, decision.kind
    if kind == _RESERVE:
        if decision.deadline >= 0:
            plan(world, j, decision.start, _START_DUE, j)
    elif kind == _START:
        begin(world, state, j, now)
    elif kind == _CHECKPOINT:
        world.jobs[j].checkpoints += 1
        begin_save(world.vault, state, world.jobs[j], j, now)
        plan(world, j, decision.end, _CHECKPOINT_FINISHED, j)
    elif kind == _SKIP:
        job = world.jobs[j]
        job.skipped += 1
        job.base, job.since = job.request, now
        job.request += job.interval
        plan_progress(world, j)
    elif kind == _REQUEUE:
        kill(world, j, now, decision.count)


@inlined
def has_room(world, nodes):
    """Return whether any one event surely fits into the arrays."""
    at = world.at
    return (
        at[TOO_LATE] == 0
        and at[RUNS] + nodes < len(world.runs)
        and at[RANGES] + nodes + 1 < len(world.ranges)
        and at[STRUCK] + 1 < len(world.played)
        and vault_has_room(world.vault)
    )


# --------------------------------------------------------------------------- without a vault


@merged_by_type
def vault_has_room(vault):
    """Return whether the next event surely finds room in what a vault keeps."""
    return True


@merged_by_type
def begin_save(vault, state, job, j, now):
    """A checkpoint of a job begins."""


@merged_by_type
def complete_save(vault, job, j):
    """A job's checkpoint is complete, and there as long as enough of it can be read."""


@merged_by_type
def break_save(vault, j, now):
    """A job's run ends, and with it the checkpoint under way, if there is one."""


@merged_by_type
def forget_saves(vault, j):
    """A job is done: nobody needs its checkpoints any more."""


@merged_by_type
def resume_from(vault, state, job, j, now):
    """Let a job that starts go on from the newest checkpoint that can be had; return the work that
    was saved and could not be, s. Without a vault all can be."""
    return np.int64(0)


@merged_by_type
def is_lost(vault, state, world):
    """Turn a start that is due into the news that the job's last checkpoint cannot be had, where
    that is so."""


@merged_by_type
def tells_loss(vault, world):
    """Return whether the engine has to be told that the last checkpoint of a job that has just
    started could not be had: if so, that is what happens next."""
    return False
