"""Which waiting jobs start now: a pass that plans by limits, in order of priority.

Free nodes as a planner sees them only grow with time, but where a drain begins or a reservation
starts. So whether `size` nodes are free throughout [now, end) is asked at these *check points*
alone: now, the begins of drains, and the first reservation. With more than one reservation the
whole profile is kept.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.futures import profile_kernels as planned
from forestall.scheduling.futures.state import (
    CLASSES,
    EDGE,
    EVENTS,
    FIRST,
    KILLED,
    LATEST,
    POINTS,
    RAW,
    RELEASES,
    RESERVED,
    RUNNING,
    SEGMENTS,
    SHIFT,
    TESTED,
)


@inlined
def push(work, time, job):
    """Put an event into the heap."""
    times, jobs, at = work.event_time, work.event_job, work.at
    i = at[EVENTS]
    at[EVENTS] += 1
    while i > 0:
        up = (i - 1) >> 1
        if times[up] < time or (times[up] == time and jobs[up] <= job):
            break
        times[i], jobs[i] = times[up], jobs[up]
        i = up
    times[i], jobs[i] = time, job


@inlined
def pop(work):
    """Take the first event off the heap."""
    times, jobs, at = work.event_time, work.event_job, work.at
    at[EVENTS] -= 1
    last = at[EVENTS]
    time, job = times[last], jobs[last]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= last:
            break
        right = down + 1
        if right < last and (
            times[right] < times[down] or (times[right] == times[down] and jobs[right] < jobs[down])
        ):
            down = right
        if time < times[down] or (time == times[down] and job <= jobs[down]):
            break
        times[i], jobs[i] = times[down], jobs[down]
        i = down
    times[i], jobs[i] = time, job


@inlined
def drop(work, job):
    """Take the event of a job out of the heap."""
    times, jobs = work.event_time, work.event_job
    i = np.int64(0)
    while jobs[i] != job:
        i += 1
    while i > 0:  # to the top, from where it is taken
        up = (i - 1) >> 1
        times[i], jobs[i] = times[up], jobs[up]
        i = up
    pop(work)


@inlined
def enter(work, board, j):
    """Let job `j` wait at its place."""
    size, length, block, c = board.size[j], board.limit[j], j >> SHIFT, board.klass[j]
    work.queue_size[j], work.queue_length[j] = size, length
    work.block_count[block] += 1
    work.cells[block, c] = min(work.cells[block, c], length)
    great = block >> SHIFT
    work.great_cells[great, c] = min(work.great_cells[great, c], length)
    work.at[FIRST] = min(work.at[FIRST], j)


@inlined
def leave(work, board, j):
    """Take job `j` out of the queue."""
    sizes, lengths, cells, c = work.queue_size, work.queue_length, work.cells, board.klass[j]
    length = lengths[j]
    sizes[j], lengths[j] = FAR, FAR
    block = j >> SHIFT
    work.block_count[block] -= 1
    if length > cells[block, c]:
        return
    low = block << SHIFT
    least = FAR
    for i in range(low, min(low + (1 << SHIFT), len(sizes))):
        if board.klass[i] == c:
            least = min(least, lengths[i])
    cells[block, c] = least
    great = block >> SHIFT
    if least == length or length > work.great_cells[great, c]:
        return
    low = great << SHIFT
    least = FAR
    for i in range(low, min(low + (1 << SHIFT), len(cells))):
        least = min(least, cells[i, c])
    work.great_cells[great, c] = least


@inlined
def run_time(board, played, k, j):
    """Return how long job `j` runs in future `k`: whole seconds, at least one."""
    run = max(np.int64(1), np.int64(np.ceil(played.run[k, j])))
    return min(run, board.limit[j]) if board.rule[KILLED] else run


@inlined
def begin(work, board, played, k, j, now):
    """Start job `j`: its nodes are taken until its run time is over."""
    leave(work, board, j)
    end = now + run_time(board, played, k, j)
    played.start[k, j], played.end[k, j] = now, end
    work.at[RAW] -= board.size[j]
    work.at[RUNNING] += 1
    planned.expect(work, now + board.limit[j], j)
    push(work, end, j)


@inlined
def next_waiting(work, i):
    """Return the first column from `i` on that waits, or the number of columns."""
    sizes = work.queue_size
    count = len(sizes)
    while i < count:
        if i & ((1 << SHIFT) - 1) == 0 and work.block_count[i >> SHIFT] == 0:
            i += 1 << SHIFT
        elif sizes[i] == FAR:
            i += 1
        else:
            return i
    return count


@inlined
def add_point(work, time, free):
    """Note a time at which no more than `free` nodes may be taken."""
    count = work.at[POINTS]
    work.point_time[count], work.point_free[count] = time, free
    work.at[POINTS] += 1


@inlined
def room_until(work, end):
    """Return how many nodes are free throughout from now to `end`."""
    room = work.point_free[0]
    for i in range(1, work.at[POINTS]):
        if work.point_time[i] < end:
            room = min(room, work.point_free[i])
    return room


@inlined
def take_until(work, size, end):
    """Take nodes from now to `end` from the check points."""
    for i in range(work.at[POINTS]):
        if work.point_time[i] < end:
            work.point_free[i] -= size


@kernel
def drain_points(work, board, now):
    """Set the check points to now and the begins of drains."""
    at = work.at
    at[POINTS] = 0
    add_point(work, now, at[RAW])
    i, free = np.int64(0), at[RAW]
    for edge in range(at[EDGE], len(board.edge_time)):
        time = board.edge_time[edge]
        while i < at[RELEASES] and max(planned.release_time(work, i), now + 1) <= time:
            free += planned.release_size(work, board, i)
            i += 1
        free -= board.edge_take[edge]
        if board.edge_take[edge] > 0:
            add_point(work, time, free)


@kernel
def shadow(work, board, size, length, now):
    """Add the check points of a reservation for the first that waits; return its start or FAR."""
    at = work.at
    if at[EDGE] == len(board.edge_time):
        free, i = at[RAW], np.int64(0)
        while i < at[RELEASES] and free < size:
            free += planned.release_size(work, board, i)
            i += 1
        if free < size:
            return FAR
        time = max(planned.release_time(work, i - 1), now + 1)
        while i < at[RELEASES] and planned.release_time(work, i) <= time:
            free += planned.release_size(work, board, i)
            i += 1
        add_point(work, time, free - size)
        return time
    planned.profile(work, now)
    time = planned.earliest(work, board, now, size, length)
    if time < FAR:
        i = np.int64(0)
        while i + 1 < at[SEGMENTS] and work.segment_time[i + 1] <= time:
            i += 1
        for point in range(at[POINTS]):
            if time <= work.point_time[point] < time + length:
                work.point_free[point] -= size
        add_point(work, time, work.segment_free[i] - size)
    return time


@inlined
def any_fits(work, cells, block, now):
    """Return whether any job of a block may fit, by the shortest limit of each size class."""
    size = np.int64(1)
    free = work.point_free[0]
    for c in range(CLASSES):
        if size > free:
            return False
        shortest = cells[block, c]
        if shortest < FAR and size <= room_until(work, now + shortest):
            return True
        size *= 2
    return False


@kernel
def easy_pass(work, board, played, k, now):
    """Start the first that wait while they fit; reserve for the next one; fill in those behind that
    do not delay it."""
    drain_points(work, board, now)
    count = len(work.queue_size)
    i = next_waiting(work, work.at[FIRST])
    work.at[FIRST] = i
    while i < count:
        size, length = work.queue_size[i], work.queue_length[i]
        if size <= room_until(work, now + length):
            begin(work, board, played, k, i, now)
            take_until(work, size, now + length)
        elif shadow(work, board, size, length, now) < FAR:
            i += 1
            break
        i = next_waiting(work, i + 1)
    while i < count and work.point_free[0] > 0:
        if i & ((1 << (2 * SHIFT)) - 1) == 0 and not any_fits(
            work, work.great_cells, i >> (2 * SHIFT), now
        ):
            i += 1 << (2 * SHIFT)
            continue
        if i & ((1 << SHIFT) - 1) == 0 and not any_fits(work, work.cells, i >> SHIFT, now):
            i += 1 << SHIFT
            continue
        size = work.queue_size[i]
        if size <= work.point_free[0]:
            end = now + work.queue_length[i]
            if size <= room_until(work, end):
                begin(work, board, played, k, i, now)
                take_until(work, size, end)
        i += 1


@inlined
def small_ones(work, cells, block):
    """Return whether any job of a block needs no more nodes than are free, by size class."""
    size, free = np.int64(1), work.at[RAW]
    for c in range(CLASSES):
        if size > free:
            return False
        if cells[block, c] < FAR:
            return True
        size *= 2
    return False


@inlined
def next_to_start(work, board, i, now, spare, by_plan):
    """Return the first from `i` on whose place is now, and how many wait before it in vain; by its
    nodes alone where there is no profile yet. The search ends after `spare` in vain."""
    sizes, count = work.queue_size, len(work.queue_size)
    inside, vain = np.int64((1 << SHIFT) - 1), np.int64(0)
    while i < count and vain < spare:
        if i & inside == 0 and not small_ones(work, work.cells, i >> SHIFT):
            vain += work.block_count[i >> SHIFT]
            i += 1 << SHIFT
            continue
        if sizes[i] < FAR:
            fits = sizes[i] <= work.at[RAW]
            if fits and (
                not by_plan or planned.holds(work, board, now, sizes[i], now + work.queue_length[i])
            ):
                return i, vain
            vain += 1
        i += 1
    return count, vain


@kernel
def planned_pass(work, board, played, k, now):
    """Give jobs in order their earliest place and start those whose place is now; with as many
    reservations, and as many jobs looked at in vain, as the rule has.

    Reservations are not kept from pass to pass, and only take nodes. So the pass ends as soon as
    nobody who is still to be looked at could start now.
    """
    tested, count = board.rule[TESTED], np.int64(len(work.queue_size))
    i = next_waiting(work, work.at[FIRST])
    work.at[FIRST] = i
    candidate, in_vain = next_to_start(work, board, i, now, tested, False)
    if candidate >= count or in_vain >= tested:
        return
    planned.profile(work, now)
    candidate, in_vain = next_to_start(work, board, i, now, tested, True)
    reserved = np.int64(0)
    while candidate < count and in_vain < tested:
        size, length = work.queue_size[i], work.queue_length[i]
        if i == candidate:
            begin(work, board, played, k, i, now)
            planned.occupy(work, size, min(now + length, LATEST))
        elif reserved < board.rule[RESERVED]:
            start = planned.earliest(work, board, now, size, length)
            if start < FAR:
                planned.reserve(work, size, start, start + length)
                reserved += 1
        else:
            i = candidate
            continue
        i = next_waiting(work, i + 1)
        held = candidate >= i and planned.holds(
            work, board, now, work.queue_size[candidate], now + work.queue_length[candidate]
        )
        if not held:
            more = np.int64(candidate >= i)
            candidate, vain = next_to_start(
                work, board, max(i, candidate + more), now, tested - in_vain - more, True
            )
            in_vain += more + vain
