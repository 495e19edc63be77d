"""Futures played forward: events of a second, then one pass, until all jobs are done."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry, inlined, kernel
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.futures import plan_kernels as plan
from forestall.scheduling.futures import profile_kernels as planned
from forestall.scheduling.futures.state import (
    EDGE,
    EVENTS,
    FAILED,
    FIRST,
    HAZARD,
    KEPT,
    ORIGIN,
    POINTS,
    RAW,
    READY,
    RELEASES,
    REPAIR,
    REPAIRED,
    RESERVED,
    RUNNING,
    SEED,
    SHIFT,
    TESTED,
)

_MOST_FAILURES = np.int64(10_000_000)


@inlined
def uniform(seed, k, number):
    """Return a number in (0, 1) from a stream named by seed and future, without keeping a state.

    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of the place in the stream.
    """
    word = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(k) * np.uint64(0xD1B54A32D192ED03) + np.uint64(number)
    word *= np.uint64(0x9E3779B97F4A7C15)
    for _ in range(2):
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word = word ^ (word >> np.uint64(31))
    return (np.float64(word >> np.uint64(12)) + 0.5) / 4503599627370496.0


@inlined
def next_failure(work, board, nodes, k, time):
    """Return the time of the failure after `time`, as float64."""
    rate = board.failures[HAZARD] * nodes
    draw = uniform(np.int64(board.failures[SEED]), k, 2 * work.at[FAILED])
    work.at[FAILED] += 1
    return time - np.log(draw) / rate


@inlined
def as_second(moment):
    """Return the second that a moment lies in."""
    return np.int64(moment)


@inlined
def let_in(work, board, played, nodes, k, a, now):
    """Let tasks of array `a` wait that are ready, in order, while fewer of it run or wait than may
    run at once: whoever waits may then start."""
    i, last = work.array_next[a], board.first_member[a + 1]
    settled = True
    while i < last and work.array_used[a] < board.at_once[a]:
        j = board.member[i]
        if played.start[k, j] == FAR and work.queue_size[j] == FAR and board.size[j] <= nodes:
            if board.ready[j] <= now:
                plan.enter(work, board, j)
                work.array_used[a] += 1
            else:
                settled = False
        i += 1
        if settled:
            work.array_next[a] = i


@kernel
def reset(work, board, played, nodes, k, now):
    """Set the work to what is so right before `now`: what started before runs or is done, all else
    waits or is still to come."""
    at = work.at
    at[:] = 0
    at[RAW], at[FIRST] = nodes, len(board.size)
    work.queue_size[:] = FAR
    work.queue_length[:] = FAR
    work.block_count[:] = 0
    work.cells[:] = FAR
    work.great_cells[:] = FAR
    for a in range(len(board.at_once)):
        work.array_used[a], work.array_next[a] = 0, board.first_member[a]
    edges = len(board.edge_time)
    while at[EDGE] < edges and board.edge_time[at[EDGE]] < now:
        at[RAW] -= board.edge_take[at[EDGE]]
        at[EDGE] += 1
    for j in range(len(board.size)):
        start, end = played.start[k, j], played.end[k, j]
        if start < now or board.start[j] < FAR:
            if end >= now:
                at[RAW] -= board.size[j]
                at[RUNNING] += 1
                if board.array[j] >= 0:
                    work.array_used[board.array[j]] += 1
                work.releases[at[RELEASES]] = planned.release_key(start + board.limit[j], j)
                at[RELEASES] += 1
                plan.push(work, end, j)
        else:
            played.start[k, j], played.end[k, j] = FAR, FAR
            if board.ready[j] < now and board.size[j] <= nodes and board.array[j] < 0:
                plan.enter(work, board, j)
    for a in range(len(board.at_once)):
        let_in(work, board, played, nodes, k, a, now - 1)
    planned.sort_releases(work)
    while at[READY] < len(board.size) and board.ready[board.by_ready[at[READY]]] < now:
        at[READY] += 1


@inlined
def due(work, board, played, nodes, k, now):
    """Take all ends, repairs, edges of drains and arrivals up to `now`."""
    at = work.at
    while at[EVENTS] > 0 and work.event_time[0] <= now:
        time, j = work.event_time[0], work.event_job[0]
        plan.pop(work)
        if j == REPAIR:
            at[RAW] += 1
            planned.forget(work, time, REPAIR)
        else:
            at[RAW] += board.size[j]
            at[RUNNING] -= 1
            planned.forget(work, played.start[k, j] + board.limit[j], j)
            if board.array[j] >= 0:
                work.array_used[board.array[j]] -= 1
                let_in(work, board, played, nodes, k, board.array[j], now)
    while at[EDGE] < len(board.edge_time) and board.edge_time[at[EDGE]] <= now:
        at[RAW] -= board.edge_take[at[EDGE]]
        at[EDGE] += 1
    while at[READY] < len(board.size) and board.ready[board.by_ready[at[READY]]] <= now:
        j = board.by_ready[at[READY]]
        at[READY] += 1
        if board.array[j] >= 0:
            let_in(work, board, played, nodes, k, board.array[j], now)
        elif played.start[k, j] == FAR and board.size[j] <= nodes:
            plan.enter(work, board, j)


@kernel
def strike(work, board, played, nodes, k, now):
    """Let a node fail: each is as likely; a job that runs on it waits again."""
    at = work.at
    draw = uniform(np.int64(board.failures[SEED]), k, 2 * at[FAILED] - 1)
    node = np.int64(draw * nodes)
    busy = np.int64(0)
    hit, i = np.int64(-1), np.int64(0)
    while i < at[RELEASES]:
        if planned.release_job(work, i) != REPAIR:
            busy += planned.release_size(work, board, i)
            if node < busy:
                hit = i
                break
        i += 1
    if hit < 0 and node >= busy + max(at[RAW], 0):
        return  # it was down
    if hit >= 0:
        j = planned.release_job(work, hit)
        planned.forget(work, planned.release_time(work, hit), j)
        plan.drop(work, j)
        at[RAW] += board.size[j]
        at[RUNNING] -= 1
        played.start[k, j], played.end[k, j] = FAR, FAR
        played.restarts[k, j] += 1
        plan.enter(work, board, j)
    until = now + max(np.int64(1), np.int64(board.failures[REPAIRED]))
    at[RAW] -= 1
    planned.expect(work, until, REPAIR)
    plan.push(work, until, REPAIR)


@inlined
def keep(work, passes, k, now):
    """Keep what the last in order could have had after this pass."""
    n = passes.number[k]
    if n >= passes.time.shape[1]:
        return
    if n > 0 and passes.time[k, n - 1] == now:
        n -= 1
    free = np.int32(max(np.int64(0), work.point_free[0]))
    passes.time[k, n], passes.free[k, n] = now, free
    for c in range(passes.later.shape[2]):
        given = c + 1 < work.at[POINTS]
        passes.later[k, n, c] = work.point_time[c + 1] if given else FAR
        passes.room[k, n, c] = np.int32(work.point_free[c + 1]) if given else np.int32(0)
    passes.number[k] = n + 1
    note_peaks(passes, k, n)


@inlined
def note_peaks(passes, k, n):
    """Count a pass among the peaks of its block."""
    block, peaks = n >> SHIFT, passes.peak
    if n & ((1 << SHIFT) - 1) == 0:
        peaks[k, block, 0], peaks[k, block, 1], peaks[k, block, 2] = 0, 0, 0
    free, room = np.int64(passes.free[k, n]), np.int64(passes.room[k, n, 0])
    peaks[k, block, 0] = max(peaks[k, block, 0], free)
    peaks[k, block, 1] = max(peaks[k, block, 1], min(free, room))
    peaks[k, block, 2] = max(peaks[k, block, 2], passes.later[k, n, 0] - passes.time[k, n])


@inlined
def hopeless(passes, k, block, size, length):
    """Return whether a job fits after no pass of a block."""
    peaks = passes.peak
    if peaks[k, block, 0] < size:
        return True
    return peaks[k, block, 1] < size and peaks[k, block, 2] < length


@entry
def note_all_peaks(passes, k):
    """Compute the peaks of a future anew."""
    for n in range(passes.number[k]):
        note_peaks(passes, k, n)


@inlined
def next_time(work, board, failure):
    """Return when something happens next, or FAR where nothing but failures will."""
    at = work.at
    time = work.event_time[0] if at[EVENTS] > 0 else FAR
    if at[EDGE] < len(board.edge_time):
        time = min(time, board.edge_time[at[EDGE]])
    if at[READY] < len(board.size):
        time = min(time, board.ready[board.by_ready[at[READY]]])
    return min(time, failure) if time < FAR else FAR


@inlined
def left(work, board):
    """Return whether any job runs, waits or is still to come, or a drain of which a quote must
    know."""
    at = work.at
    if at[RUNNING] > 0 or at[READY] < len(board.size):
        return True
    if board.rule[KEPT] and at[EDGE] < len(board.edge_time):
        return True
    at[FIRST] = plan.next_waiting(work, at[FIRST])
    return at[FIRST] < len(board.size)


@kernel
def play_one(work, board, played, passes, nodes, k):
    """Play future `k` from `since` on."""
    at, now = work.at, played.since[k]
    reset(work, board, played, nodes, k, now)
    n = passes.number[k]
    while n > 0 and passes.time[k, n - 1] >= now:
        n -= 1
    passes.number[k] = n
    fails = board.failures[HAZARD] > 0.0
    moment = board.failures[ORIGIN]
    failure = as_second(np.float64(FAR))
    if fails:
        moment = next_failure(work, board, nodes, k, moment)
        while moment < now:
            moment = next_failure(work, board, nodes, k, moment)
        failure = as_second(moment)
    while now < FAR:
        due(work, board, played, nodes, k, now)
        while failure <= now and at[FAILED] < _MOST_FAILURES:
            strike(work, board, played, nodes, k, now)
            moment = next_failure(work, board, nodes, k, moment)
            failure = as_second(moment)
        if board.rule[RESERVED] == 1 and board.rule[TESTED] == FAR:
            plan.easy_pass(work, board, played, k, now)
        else:
            plan.planned_pass(work, board, played, k, now)
        if board.rule[KEPT]:
            keep(work, passes, k, now)
        if not left(work, board) or at[FAILED] >= _MOST_FAILURES:
            break
        now = next_time(work, board, failure)


@entry
def play(work, board, played, passes, nodes, first, last):
    """Play the futures [first, last) that are to be played."""
    for k in range(first, last):
        if played.since[k] < FAR:
            play_one(work, board, played, passes, nodes, k)


@entry
def first_fits(passes, now, asked, starts, first, last):
    """Write when a job that is last in order would start in futures [first, last); `asked` is
    int64[2], nodes and limit. A pass counts from its own time to the next."""
    size, length = asked[0], asked[1]
    for k in range(first, last):
        starts[k] = FAR
        count = passes.number[k]
        n = np.int64(0)
        high = count
        while n < high:  # the last pass at or before now
            middle = (n + high) >> 1
            if passes.time[k, middle] <= now:
                n = middle + 1
            else:
                high = middle
        n = max(n - 1, np.int64(0))
        while n < count:
            if n & ((1 << SHIFT) - 1) == 0 and hopeless(passes, k, n >> SHIFT, size, length):
                n += 1 << SHIFT
                continue
            if passes.free[k, n] >= size:
                time = max(passes.time[k, n], now)
                fits = True
                for c in range(passes.later.shape[2]):
                    if passes.later[k, n, c] < time + length and passes.room[k, n, c] < size:
                        fits = False
                if fits:
                    starts[k] = time
                    break
            n += 1
