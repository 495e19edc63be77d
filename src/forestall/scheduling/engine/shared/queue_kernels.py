"""The queue of a shared machine, what fits of each kind of request, and starts."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel, merged
from forestall.core.model.decisions import DecisionKind
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.shared.state import (
    ENDS,
    FIRST,
    FRESH,
    FRONT,
    LAST,
    WAITING,
)
from forestall.scheduling.engine.state import RUNNING
from forestall.scheduling.engine.state import WAITING as IS_WAITING
from forestall.scheduling.rules import fit_kernels as fits

_START = np.int64(DecisionKind.START)
_ONE = np.int64(1)
_MINUS = np.int64(-1)
UNKNOWN = np.int64(-1)
"""Of a kind of which nobody has asked yet how many units fit."""


@inlined
def units_now(state, k, node):
    """Return how many units of a kind fit on a node now."""
    if state.up_at[node] != 0 or not state.kinds.allowed[state.kinds.table[k].nodes, node]:
        return np.int64(0)
    return fits.units_within(state.kinds, k, state.capacity[node], state.free[node])


@merged
def watch(state, k):
    """Begin to watch what fits of a kind, since a job of it waits; or count one job more. What fits
    is counted when it is first asked for, and then kept."""
    kinds = state.kinds
    kind = kinds.table[k]
    kind.waiting += 1
    if kind.waiting > 1:
        return
    kind.place = kinds.held[0]
    kinds.waiting[kinds.held[0]] = k
    kinds.held[0] += 1
    kind.fits = UNKNOWN


@merged
def count_all(state, k):
    """Count how many units of a kind fit now."""
    count = np.int64(0)
    for node in range(len(state.capacity)):
        count += units_now(state, k, node)
    state.kinds.table[k].fits = count


@inlined
def fitting(state, k):
    """Return how many units of a kind fit now."""
    if state.kinds.table[k].fits == UNKNOWN:
        count_all(state, k)
    return state.kinds.table[k].fits


@merged
def unwatch(state, k):
    """Count one waiting job of a kind less."""
    kinds = state.kinds
    kind = kinds.table[k]
    kind.waiting -= 1
    if kind.waiting == 0:
        kinds.held[0] -= 1
        last = kinds.waiting[kinds.held[0]]
        kinds.waiting[kind.place] = last
        kinds.table[last].place = kind.place


@inlined
def count_node(state, node, sign):
    """Add what fits on a node to the counts of kinds that wait, or take it out of them."""
    kinds = state.kinds
    for i in range(kinds.held[0]):
        k = kinds.waiting[i]
        if kinds.table[k].fits != UNKNOWN:
            kinds.table[k].fits += sign * units_now(state, k, node)


@kernel
def enqueue(state, j, key):
    """Let job `j` wait in the order of (key, job); mostly that is the end of the queue."""
    at = state.at
    job = state.jobs[j]
    job.status, job.start, state.order[j] = IS_WAITING, -1, key
    before = at[LAST]
    while before >= 0 and (
        state.order[before] > key or (state.order[before] == key and before > j)
    ):
        before = state.ahead[before]
    after = state.behind[before] if before >= 0 else at[FIRST]
    state.ahead[j], state.behind[j] = before, after
    if before >= 0:
        state.behind[before] = j
    else:
        at[FIRST] = j
    if after >= 0:
        state.ahead[after] = j
    else:
        at[LAST] = j
    at[WAITING] += 1
    at[FRESH] += 1
    watch(state, state.kind[j])


@merged
def dequeue(state, j):
    """Take job `j` from the queue."""
    at, before, after = state.at, state.ahead[j], state.behind[j]
    if before >= 0:
        state.behind[before] = after
    else:
        at[FIRST] = after
    if after >= 0:
        state.ahead[after] = before
    else:
        at[LAST] = before
    at[WAITING] -= 1
    unwatch(state, state.kind[j])


@inlined
def end_at(state, i):
    """Return the expected end of this place in the order of (time, who)."""
    return state.ends[state.at[FRONT] + i]


@merged
def place_of(state, time, who):
    """Return the place of the first expected end not before (time, who)."""
    low, high = np.int64(0), state.at[ENDS]
    while low < high:
        middle = (low + high) // 2
        at = end_at(state, middle)
        if at.time < time or (at.time == time and at.who < who):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def move_end(ends, target, source):
    """Copy one expected end."""
    ends[target].time, ends[target].who = ends[source].time, ends[source].who


@kernel
def expect(state, time, who):
    """Put an expected end in its place, by moving those on its shorter side that has room."""
    ends, at = state.ends, state.at
    count, place = at[ENDS], place_of(state, time, who)
    if at[FRONT] + count == len(ends):
        centre(state)
    front = at[FRONT]
    if 2 * place < count and front > 0:
        for i in range(front, front + place):
            move_end(ends, i - 1, i)
        at[FRONT] -= 1
    else:
        for i in range(front + count, front + place, -1):
            move_end(ends, i, i - 1)
    at[ENDS] += 1
    end = end_at(state, place)
    end.time, end.who = time, who


@merged
def centre(state):
    """Move the expected ends to where both sides have room."""
    front = state.at[FRONT]
    to = (len(state.ends) - state.at[ENDS]) // 2
    for i in range(state.at[ENDS]):
        move_end(state.ends, to + i, front + i)
    state.at[FRONT] = to


@kernel
def forget(state, time, who):
    """Take an expected end out."""
    ends, at = state.ends, state.at
    count, front, place = at[ENDS], at[FRONT], place_of(state, time, who)
    if 2 * place < count:
        for i in range(front + place, front, -1):
            move_end(ends, i, i - 1)
        at[FRONT] += 1
    else:
        for i in range(front + place, front + count - 1):
            move_end(ends, i, i + 1)
    at[ENDS] -= 1


@kernel
def occupy(state, j, sign):
    """Take the nodes of job `j` (`sign` -1), or give them back (1)."""
    slots, k = state.slots, state.kind[j]
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        node = slots.node[s]
        count_node(state, node, _MINUS)
        fits.take_units(
            state.kinds, k, state.capacity[node], state.free[node], slots.units[s], sign
        )
        count_node(state, node, _ONE)


@kernel
def place(state, j, free):
    """Choose nodes for job `j` among those of `room.candidates`, by what is free of each; `found`
    of them are there, with their units in `room.units`."""
    room, slots = state.room, state.slots
    found = np.int64(0)
    for node in range(len(free)):
        if room.units[node] > 0:
            room.candidates[found] = node
            found += 1
    rule = state.placement[0]
    if rule == fits.GRADIENT:
        score_all(state, state.kind[j], free, found)
    first = slots.first[j]
    slots.used[j] = fits.pick(
        room.candidates, found, rule, free, room.score, room.risk, room.units, state.jobs[j].size,
        slots.node[first:], slots.units[first:],
    )  # fmt: skip


@merged
def score_all(state, k, free, found):
    """Write how many more GPUs become fragments on each candidate if it takes one unit."""
    room, mix = state.room, state.mix
    rest = room.rest
    for i in range(found):
        node = room.candidates[i]
        fits.copy_to(rest, free[node])
        fits.take_units(state.kinds, k, state.capacity[node], rest, _ONE, _MINUS)
        room.score[node] = fits.fragments(mix, node, rest) - fits.fragments(mix, node, free[node])


@kernel
def start(state, j, now, reason):
    """Start job `j`, which has waited in the queue, on its slots."""
    job = state.jobs[j]
    dequeue(state, j)
    job.start, job.end = now, now + runs.length_of(job, state.rules)
    expect(state, job.end, j)
    begin(state, j, now, reason)


@kernel
def begin(state, j, now, reason):
    """Let job `j` run on its slots, its end being expected."""
    job = state.jobs[j]
    occupy(state, j, _MINUS)
    job.status, job.mark, job.progress, job.since = RUNNING, now, job.saved, 0
    record = runs.decided(state.out, _START, reason, j)
    record.start, record.end, record.deadline = job.start, job.end, job.deadline
    record.probability = job.promise
