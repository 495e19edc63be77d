"""Free nodes as a planner sees them: releases by limits in order, and the profile that they, drains
and reservations make up, written no further than it is read."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.futures.state import (
    EDGE,
    EDGED,
    JOB_BITS,
    JOB_MASK,
    LATEST,
    PENDING,
    RAW,
    RELEASED,
    RELEASES,
    REPAIR,
    SEGMENTS,
)


@inlined
def release_key(time, job):
    """Return a planned release as one number, in order of (time, job)."""
    return (min(time, LATEST) << JOB_BITS) + job + 1


@inlined
def release_time(work, i):
    """Return when the nodes of a planned release are free."""
    return work.releases[i] >> JOB_BITS


@inlined
def release_job(work, i):
    """Return whose nodes a planned release frees; REPAIR for a node that is down."""
    return (work.releases[i] & JOB_MASK) - 1


@inlined
def release_size(work, board, i):
    """Return how many nodes a planned release frees."""
    job = release_job(work, i)
    return np.int64(1) if job == REPAIR else board.size[job]


@inlined
def place_of(work, key):
    """Return the first planned release that is no earlier than a key."""
    keys = work.releases
    low, high = np.int64(0), work.at[RELEASES]
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def expect(work, time, job):
    """Note when nodes are planned to be free, in order of time."""
    keys, key = work.releases, release_key(time, job)
    place, i = place_of(work, key), work.at[RELEASES]
    while i > place:
        keys[i] = keys[i - 1]
        i -= 1
    keys[place] = key
    work.at[RELEASES] += 1


@inlined
def forget(work, time, job):
    """Take a planned release back."""
    keys = work.releases
    place = place_of(work, release_key(time, job))
    work.at[RELEASES] -= 1
    for i in range(place, work.at[RELEASES]):
        keys[i] = keys[i + 1]


@inlined
def sort_releases(work):
    """Put releases in order: Shell's sort with the gaps 1, 4, 13, ... (Knuth, vol. 3, 5.2.1)."""
    keys, count = work.releases, work.at[RELEASES]
    gap = np.int64(1)
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            key, i = keys[place], np.int64(place)
            while i >= gap and keys[i - gap] > key:
                keys[i] = keys[i - gap]
                i -= gap
            keys[i] = key
        gap //= 3


@inlined
def profile(work, now):
    """Begin the profile of free nodes by limits: segments, each up to the next. It is written no
    further than it is read; beyond, and without drains, free nodes only grow."""
    at = work.at
    work.segment_time[0], work.segment_free[0] = now, at[RAW]
    at[SEGMENTS], at[RELEASED], at[EDGED], at[PENDING] = 1, 0, at[EDGE], 0


@inlined
def extend(work, board, now):
    """Write the next segment of the profile; False: there is none.

    A job that outlives its limit is planned to end within the next second.
    """
    at, n = work.at, work.at[SEGMENTS]
    time = np.int64(FAR)
    if at[RELEASED] < at[RELEASES]:
        time = max(release_time(work, at[RELEASED]), now + 1)
    if at[EDGED] < len(board.edge_time):
        time = min(time, board.edge_time[at[EDGED]])
    if at[PENDING] > 0:
        time = min(time, work.pending_time[at[PENDING] - 1])
    if time >= FAR:
        return False
    free = work.segment_free[n - 1]
    while at[RELEASED] < at[RELEASES] and release_time(work, at[RELEASED]) <= time:
        free += release_size(work, board, at[RELEASED])
        at[RELEASED] += 1
    while at[EDGED] < len(board.edge_time) and board.edge_time[at[EDGED]] <= time:
        free -= board.edge_take[at[EDGED]]
        at[EDGED] += 1
    while at[PENDING] > 0 and work.pending_time[at[PENDING] - 1] <= time:
        at[PENDING] -= 1
        free += work.pending_size[at[PENDING]]
    work.segment_time[n], work.segment_free[n] = time, free
    at[SEGMENTS] = n + 1
    return True


@kernel
def earliest(work, board, now, size, length):
    """Return the earliest start with `size` nodes free throughout, or FAR; by the profile."""
    times, frees, at, edges = work.segment_time, work.segment_free, work.at, len(board.edge_time)
    start, i = times[0], np.int64(0)
    while True:
        if i == at[SEGMENTS] and (at[EDGED] == edges or not extend(work, board, now)):
            return start
        if times[i] >= start + length:
            return start
        if frees[i] < size:
            if i + 1 == at[SEGMENTS] and not extend(work, board, now):
                return FAR
            start = times[i + 1]
        i += 1


@inlined
def split(work, time):
    """Return the segment that begins at `time`, which is made where there is none."""
    times, frees, at = work.segment_time, work.segment_free, work.at
    low, high = np.int64(0), at[SEGMENTS]
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < at[SEGMENTS] and times[low] == time:
        return low
    i = at[SEGMENTS]
    while i > low:
        times[i], frees[i] = times[i - 1], frees[i - 1]
        i -= 1
    times[low], frees[low] = time, frees[low - 1]
    at[SEGMENTS] += 1
    return low


@inlined
def give_back(work, size, time):
    """Note that a reservation ends beyond what is written of the profile."""
    times, sizes, i = work.pending_time, work.pending_size, work.at[PENDING]
    work.at[PENDING] += 1
    while i > 0 and times[i - 1] < time:  # the next one stands last
        times[i], sizes[i] = times[i - 1], sizes[i - 1]
        i -= 1
    times[i], sizes[i] = time, size


@kernel
def reserve(work, size, start, end):
    """Take nodes out of [start, end) of the profile, which is written up to `start` at least."""
    first, last = split(work, start), work.at[SEGMENTS]
    if end > work.segment_time[last - 1]:
        give_back(work, size, end)
    else:
        last = split(work, end)
    for i in range(first, last):
        work.segment_free[i] -= size


@inlined
def occupy(work, size, end):
    """Take the nodes of a job that has just started, whose end is among the releases by now."""
    if end <= work.segment_time[work.at[SEGMENTS] - 1]:
        work.at[RELEASED] += 1
        reserve(work, size, work.segment_time[0], end)
    else:
        for i in range(work.at[SEGMENTS]):
            work.segment_free[i] -= size


@inlined
def holds(work, board, now, size, end):
    """Return whether `size` nodes are free throughout from now to `end`, by the profile."""
    at, i = work.at, np.int64(0)
    while True:
        if i == at[SEGMENTS] and (
            at[EDGED] == len(board.edge_time) or not extend(work, board, now)
        ):
            return True
        if work.segment_time[i] >= end:
            return True
        if work.segment_free[i] < size:
            return False
        i += 1
