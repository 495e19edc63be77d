"""The queue of waiting jobs and the expected releases of nodes, for policies that only count.

The queue is an array in order of (key, job) in which removed entries leave gaps. Blocks of 64
entries keep the least size, length and start of their own, so that a pass skips what cannot start.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, inlined, kernel, record_of
from forestall.prediction.models.foreseen_kernels import FAR

ENTRY: Final = record_of("job size length key start")
"""job; nodes (FAR: a gap); reserved seconds; time that orders the queue; reserved start or FAR."""
BLOCK: Final = np.dtype([("size", "i8"), ("length", "i8"), ("start", "i8")])
RELEASE: Final = np.dtype([("time", "i8"), ("size", "i8"), ("job", "i8")])
"""Expected end of a running job, or recovery of a down node (size 1, job -1 - node)."""

SHIFT: Final = 6
BLOCK_SIZE: Final = 1 << SHIFT
FIRST, LAST, LIVE, RELEASES, FRESH = range(5)


class JobQueue(NamedTuple):
    """ENTRY[capacity], BLOCK[capacity / 64], RELEASE[2 nodes + 2] by (time, job), int64[5]: first
    and one past the last position, live entries, releases, and the first position that has no
    reservation."""

    entries: npt.NDArray[Any]
    blocks: npt.NDArray[Any]
    releases: npt.NDArray[Any]
    at: npt.NDArray[np.int64]


@inlined
def opens_block(i):
    """Return whether a position is the first of its block."""
    return i & (BLOCK_SIZE - 1) == 0


@inlined
def next_block(i):
    """Return the first position of the block after that of position `i`."""
    return ((i >> SHIFT) + 1) << SHIFT


@kernel
def refresh(queue, block):
    """Compute one block's least size, length and start anew."""
    entries = queue.entries
    size, length, start = FAR, FAR, FAR
    low = max(block << SHIFT, queue.at[FIRST])
    for i in range(low, min((block + 1) << SHIFT, queue.at[LAST])):
        if entries[i].size < FAR:
            size = min(size, entries[i].size)
            length = min(length, entries[i].length)
            start = min(start, entries[i].start)
    queue.blocks[block].size = size
    queue.blocks[block].length = length
    queue.blocks[block].start = start


@kernel
def set_entry(queue, i, job, size, length, key):
    """Write one entry, without a reservation."""
    entry = queue.entries[i]
    entry.job, entry.size, entry.length, entry.key, entry.start = job, size, length, key, FAR


@entry
def compact(queue):
    """Close the gaps."""
    entries, at = queue.entries, queue.at
    to = 0
    fresh = -1
    for i in range(at[FIRST], at[LAST]):
        if fresh < 0 and i >= at[FRESH]:
            fresh = to
        if entries[i].size < FAR:
            if to != i:
                start = entries[i].start
                set_entry(
                    queue, to, entries[i].job, entries[i].size, entries[i].length, entries[i].key
                )
                entries[to].start = start
            to += 1
    at[FIRST], at[LAST] = 0, to
    at[FRESH] = fresh if fresh >= 0 else to
    for block in range((to >> SHIFT) + 1):
        if block < len(queue.blocks):
            refresh(queue, block)


@kernel
def enter(queue, job, size, length, key):
    """Put a job in its place by (key, job); mostly that is the end. The caller has made room."""
    entries, at = queue.entries, queue.at
    i = at[LAST]
    at[LAST] += 1
    at[LIVE] += 1
    if (
        i == at[FIRST]
        or entries[i - 1].key < key
        or (entries[i - 1].key == key and entries[i - 1].job < job)
    ):
        set_entry(queue, i, job, size, length, key)
        block = queue.blocks[i >> SHIFT]
        if opens_block(i) or i == at[FIRST]:  # what the block said is of entries long gone
            block.size, block.length, block.start = size, length, FAR
        else:
            block.size = min(block.size, size)
            block.length = min(block.length, length)
        return
    # A killed job that waits by its first submit time comes before others: they make room.
    while i > at[FIRST] and (
        entries[i - 1].key > key or (entries[i - 1].key == key and entries[i - 1].job > job)
    ):
        before = entries[i - 1]
        start = before.start
        set_entry(queue, i, before.job, before.size, before.length, before.key)
        entries[i].start = start
        i -= 1
    set_entry(queue, i, job, size, length, key)
    # Reservations behind it are stale, but a job comes in between by a failure only, after which
    # conservative backfilling makes all of them anew.
    at[FRESH] = min(at[FRESH], i)
    for block in range(i >> SHIFT, ((at[LAST] - 1) >> SHIFT) + 1):
        refresh(queue, block)


@kernel
def leave(queue, i):
    """Take the entry at position `i` out."""
    entries, at = queue.entries, queue.at
    at[LIVE] -= 1
    if at[LIVE] == 0:
        at[FIRST], at[LAST], at[FRESH] = 0, 0, 0
        return
    gone, block = entries[i], queue.blocks[i >> SHIFT]
    # A block is computed anew only where the entry was the least of something.
    least = gone.size == block.size or gone.length == block.length
    least = least or (gone.start == block.start and gone.start < FAR)
    gone.size = FAR
    if i == at[FIRST]:
        while entries[at[FIRST]].size == FAR:
            at[FIRST] += 1
        at[FRESH] = max(at[FRESH], at[FIRST])
    if least and at[FIRST] >> SHIFT <= i >> SHIFT:
        refresh(queue, i >> SHIFT)


@kernel
def expect(queue, time, size, job):
    """Note that `size` nodes are expected back at `time`."""
    releases, at = queue.releases, queue.at
    # In order by insertion: releases are at most as many as nodes, and most jobs end last.
    i = at[RELEASES]
    at[RELEASES] += 1
    while i > 0 and (
        releases[i - 1].time > time or (releases[i - 1].time == time and releases[i - 1].job > job)
    ):
        releases[i].time = releases[i - 1].time
        releases[i].size = releases[i - 1].size
        releases[i].job = releases[i - 1].job
        i -= 1
    releases[i].time, releases[i].size, releases[i].job = time, size, job


@kernel
def forget(queue, time, job):
    """Remove the expected release of `job` at `time`."""
    releases, at = queue.releases, queue.at
    low, high = 0, at[RELEASES]
    while low < high:
        middle = (low + high) // 2
        if releases[middle].time < time or (
            releases[middle].time == time and releases[middle].job < job
        ):
            low = middle + 1
        else:
            high = middle
    at[RELEASES] -= 1
    for i in range(low, at[RELEASES]):
        releases[i].time = releases[i + 1].time
        releases[i].size = releases[i + 1].size
        releases[i].job = releases[i + 1].job


@kernel
def shadow(queue, free, wanted):
    """Return (time, extra): when `wanted` nodes will be free by expectation, and how many more
    then."""
    releases, count = queue.releases, queue.at[RELEASES]
    i = 0
    time = FAR
    while i < count and free < wanted:
        free += releases[i].size
        time = releases[i].time
        i += 1
    while i < count and releases[i].time == time:  # all that returns in that very second counts
        free += releases[i].size
        i += 1
    return time, free - wanted
