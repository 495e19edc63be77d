"""FCFS, EASY and conservative backfilling on a shared machine, as passes over its queue."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel, merged
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.nodes import GPUS
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.shared import queue_kernels as queues
from forestall.scheduling.engine.shared.state import (
    ENDS,
    FAILURES,
    FINISHES,
    FIRST,
    FRESH,
    SEARCH,
    WAITING,
)
from forestall.scheduling.rules import fit_kernels as fits
from forestall.scheduling.rules import profile_kernels as profiles

_RESERVE = np.int64(DecisionKind.RESERVE)
_FREE_NOW = np.int64(Reason.FREE_NOW)
_WAITS_FOR_NODES = np.int64(Reason.WAITS_FOR_NODES)
_RESERVED_START = np.int64(Reason.RESERVED_START)
_HEAD_OF_QUEUE = np.int64(Reason.HEAD_OF_QUEUE)
_ENDS_BEFORE_SHADOW = np.int64(Reason.ENDS_BEFORE_SHADOW)
_FITS_EXTRA_NODES = np.int64(Reason.FITS_EXTRA_NODES)
_MOVED_EARLIER = np.int64(Reason.MOVED_EARLIER)
_REBUILT = np.int64(Reason.REBUILT_AFTER_FAILURE)
_ONE = np.int64(1)
_MINUS = np.int64(-1)


@merged
def best_now(state, k):
    """Return the node that one unit of a kind, which fits now, goes to."""
    best, rule, room = -1, state.placement[0], state.room
    allowed = state.kinds.allowed[state.kinds.table[k].nodes]
    sign = 0 if rule == fits.FIRST else (-1 if rule == fits.WORST else 1)
    for node in range(len(state.capacity)):
        # The cheapest of what tells nodes apart comes first: most are passed over by it.
        if best >= 0 and sign * state.free[node, GPUS] > sign * state.free[best, GPUS]:
            continue
        if (
            allowed[node]
            and state.up_at[node] == 0
            and fits.units_within(state.kinds, k, state.capacity[node], state.free[node]) > 0
            and (best < 0 or fits.is_before(rule, state.free, room.score, room.risk, node, best))
        ):
            best = node
            if rule == fits.FIRST:
                break
    return best


@kernel
def place_now(state, j):
    """Choose nodes for a job where it fits now, by what is free of them now; return whether it
    fits."""
    room, slots, k = state.room, state.slots, state.kind[j]
    kind = state.kinds.table[k]
    if state.jobs[j].size == 1 and state.placement[0] != fits.GRADIENT:
        node = best_now(state, k) if kind.fits != 0 else _MINUS
        if node < 0:
            kind.fits = 0
            return False
        first = slots.first[j]
        slots.node[first], slots.units[first], slots.used[j] = node, 1, 1
        return True
    if queues.fitting(state, k) < state.jobs[j].size:
        return False
    for node in range(len(state.capacity)):
        room.units[node] = queues.units_now(state, k, node)
    queues.place(state, j, state.free)
    return True


@merged
def start_heads(state, now):
    """Start jobs from the head of the queue while they fit."""
    at = state.at
    while at[WAITING] > 0:
        head = at[FIRST]
        if not place_now(state, head):
            break
        queues.start(state, head, now, _HEAD_OF_QUEUE)


@merged
def reserve_head(state, head):
    """EASY: find the earliest time at which the head fits given the expected ends of what runs, and
    choose its nodes then; return that time, FAR where there is none.

    For these nodes `room.free` is left as what is free of them then, beside the head.
    """
    room, slots, k = state.room, state.slots, state.kind[head]
    wanted, search = state.jobs[head].size, state.at[SEARCH] + 1
    state.at[SEARCH] = search
    count, i, time = queues.fitting(state, k), np.int64(0), FAR
    while i < state.at[ENDS]:
        time = queues.end_at(state, i).time
        while i < state.at[ENDS] and queues.end_at(state, i).time == time:
            count += give_back(state, k, queues.end_at(state, i).who)
            i += 1
        if count >= wanted:
            break
        time = FAR
    if time == FAR:
        return time
    for node in range(len(room.units)):
        room.units[node] = units_then(state, k, node)
        if room.units[node] > 0:
            touch(state, node)
    queues.place(state, head, room.free)
    for s in range(slots.first[head], slots.first[head] + slots.used[head]):
        node = slots.node[s]
        room.reserved[node] = search
        fits.take_units(
            state.kinds, k, state.capacity[node], room.free[node], slots.units[s], _MINUS
        )
    return time


@inlined
def touch(state, node):
    """Begin to keep what is free of a node at the time that a search has come to."""
    room = state.room
    if room.touched[node] != state.at[SEARCH]:
        room.touched[node] = state.at[SEARCH]
        room.up[node] = state.up_at[node] == 0
        fits.copy_to(room.free[node], state.free[node])


@inlined
def units_then(state, k, node):
    """Return how many units of a kind fit on a node at the time that a search has come to."""
    if state.room.touched[node] != state.at[SEARCH]:
        return queues.units_now(state, k, node)
    if not state.room.up[node] or not state.kinds.allowed[state.kinds.table[k].nodes, node]:
        return np.int64(0)
    return fits.units_within(state.kinds, k, state.capacity[node], state.room.free[node])


@merged
def give_back(state, k, who):
    """Let an expected end come to pass, as far as nodes that kind `k` may have are concerned;
    return how many units of it more fit."""
    room, slots, more = state.room, state.slots, np.int64(0)
    allowed = state.kinds.allowed[state.kinds.table[k].nodes]
    if who < 0:
        node = -1 - who
        if allowed[node]:
            touch(state, node)
            room.up[node] = True
            more = units_then(state, k, node)
        return more
    for s in range(slots.first[who], slots.first[who] + slots.used[who]):
        node = slots.node[s]
        if allowed[node]:
            touch(state, node)
            more -= units_then(state, k, node)
            fits.take_units(
                state.kinds, state.kind[who], state.capacity[node], room.free[node],
                slots.units[s], _ONE,
            )  # fmt: skip
            more += units_then(state, k, node)
    return more


@inlined
def units_beside(state, k, node):
    """Return how many units of a kind fit on a node both now and beside the head; what is free of
    it in both is left in its row of `room.least`. Only the head's own nodes have less then."""
    units, room = queues.units_now(state, k, node), state.room
    if units == 0:
        return units
    if room.reserved[node] != state.at[SEARCH]:
        fits.copy_to(room.least[node], state.free[node])
        return units
    for r in range(state.free.shape[1]):
        room.least[node, r] = min(state.free[node, r], room.free[node, r])
    return fits.units_within(state.kinds, k, state.capacity[node], room.least[node])


@merged
def fits_beside(state, k, head):
    """Return how many units of a kind fit now and beside the head's reservation."""
    slots, count = state.slots, queues.fitting(state, k)
    for s in range(slots.first[head], slots.first[head] + slots.used[head]):
        node = slots.node[s]
        count += units_beside(state, k, node) - queues.units_now(state, k, node)
    return count


@merged
def backfill(state, now):
    """EASY: start later jobs that fit throughout their windows beside the head's reservation."""
    at, room = state.at, state.room
    if at[WAITING] < 2:
        return
    head = at[FIRST]
    time, j = np.int64(-1), state.behind[head]
    while j >= 0:
        after, k, job = state.behind[j], state.kind[j], state.jobs[j]
        if queues.fitting(state, k) >= job.size:
            if time < 0:  # only now: mostly there is nobody for whom it matters
                time = reserve_head(state, head)
            length = runs.length_of(job, state.rules)
            if now + length <= time:
                place_now(state, j)
                queues.start(state, j, now, _ENDS_BEFORE_SHADOW)
                state.out.decisions[state.out.held[0] - 1].at = time
            elif fits_beside(state, k, head) >= job.size:
                for node in range(len(state.capacity)):
                    room.units[node] = units_beside(state, k, node)
                queues.place(state, j, room.least)
                queues.start(state, j, now, _FITS_EXTRA_NODES)
                state.out.decisions[state.out.held[0] - 1].at = time
                take_then(state, j)
            if not any_fits(state):
                return
        j = after


@merged
def take_then(state, j):
    """Take what a job still has at the head's start from what is free of the head's nodes then."""
    slots, room = state.slots, state.room
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        node = slots.node[s]
        if room.reserved[node] == state.at[SEARCH]:
            fits.take_units(
                state.kinds, state.kind[j], state.capacity[node], room.free[node],
                slots.units[s], _MINUS,
            )  # fmt: skip


@merged
def any_fits(state):
    """Return whether a unit of any job that waits may fit anywhere now."""
    kinds = state.kinds
    for i in range(kinds.held[0]):
        if kinds.table[kinds.waiting[i]].fits != 0:
            return True
    return False


@merged
def reserve_all(state, now, reason):
    """Drop all reservations and make them anew in the order of the queue; those whose start stays
    the same are not told."""
    profiles.clear(state.profile, state.capacity, now)
    for i in range(state.at[ENDS]):
        end = queues.end_at(state, i)
        who, until = end.who, end.time
        if who < 0:
            profiles.close(state.profile, -1 - who, now, until)
        else:
            change_profile(state, who, now, until, _MINUS)
    j = state.at[FIRST]
    while j >= 0:
        reserve_place(state, j, now, _WAITS_FOR_NODES if state.jobs[j].start < 0 else reason)
        j = state.behind[j]


@kernel
def change_profile(state, j, first, end, sign):
    """Take the nodes of job `j` from their profiles over [first, end), or give them back."""
    slots, k = state.slots, state.kind[j]
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        profiles.change(
            state.profile, state.kinds, k, state.capacity, slots.node[s], slots.units[s], first,
            end, sign,
        )  # fmt: skip


@kernel
def fit_over(state, k, start, end):
    """Note how many units of a kind fit on each node over [start, end), the earliest window that
    was found for it, and the least that is free of it then."""
    room, alone = state.room, state.kinds.table[k].cap == 1
    for node in range(len(room.units)):
        room.units[node] = 0
        known = not alone or room.opens[node] <= start <= room.until[node]
        if known and state.up_at[node] <= start:
            room.units[node] = profiles.units_over(
                state.profile, state.kinds, k, state.capacity, node, start, end, room.least
            )


@kernel
def reserve_place(state, j, now, reason):
    """Give job `j` the earliest window in which it fits, and say so where its start is another."""
    job, room = state.jobs[j], state.room
    length, old = runs.length_of(job, state.rules), job.start
    k = state.kind[j]
    at = profiles.earliest(
        state.profile, state.kinds, k, state.capacity, state.up_at, now, length, job.size, room
    )
    fit_over(state, k, at, at + length)
    queues.place(state, j, room.least)
    job.start = at
    change_profile(state, j, at, at + length, _MINUS)
    if at == old:
        return
    why = reason
    if reason == _WAITS_FOR_NODES and at == now:
        why = _FREE_NOW
    record = runs.decided(state.out, _RESERVE, why, j)
    record.start, record.end = at, at + length
    if old >= 0:
        record.at = old


@merged
def start_reserved(state, now):
    """Start every job whose reserved start has come."""
    j = state.at[FIRST]
    while j >= 0:
        after = state.behind[j]
        if state.jobs[j].start <= now:
            queues.start(state, j, now, _RESERVED_START)
        j = after


@kernel
def wake_at(state):
    """Return the earliest reserved start of a waiting job, or FAR."""
    best, j = FAR, state.at[FIRST]
    while j >= 0:
        best = min(best, state.jobs[j].start)
        j = state.behind[j]
    return best


@merged
def conservative_pass(state, now):
    """Reservations anew where something ended early, failed or came back; those of jobs that have
    arrived; then the starts that are due."""
    at = state.at
    if at[FAILURES] > 0 or (at[FINISHES] > 0 and state.rules.compression):
        reserve_all(state, now, _REBUILT if at[FAILURES] > 0 else _MOVED_EARLIER)
    elif at[FRESH] > 0:
        profiles.advance(state.profile, now)
        j = state.at[FIRST]
        while j >= 0:
            if state.jobs[j].start < 0:
                reserve_place(state, j, now, _WAITS_FOR_NODES)
            j = state.behind[j]
    start_reserved(state, now)
