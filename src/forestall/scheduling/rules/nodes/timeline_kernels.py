"""The timeline: free nodes as a step function of time, with one edge per start or end of a
reservation.

The segment of edge i is [edges[i].time, edges[i + 1].time); the last one has no end. A segment
holds the number of free nodes and, where node sets matter, the row of its bitset. Edges before the
head lie in the past. Conservative backfilling only counts: its edges have row -1.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import inlined, kernel, record_of
from forestall.scheduling.rules.nodes import bitset_kernels as bits

EDGE: Final = record_of("time row refs ends free")
"""time; bitset row; reservations that start or end here; of these the ends; free nodes from here
on."""

HEAD, TAIL, SPARE = range(3)
ROOM: Final = 8
"""Edges and rows that one event may need; the caller grows the arrays when fewer are left."""


class Timeline(NamedTuple):
    """EDGE[capacity]; uint64[rows, words]; int64[rows] stack of unused rows; int64[3] head, tail
    and number of unused rows."""

    edges: npt.NDArray[Any]
    rows: npt.NDArray[np.uint64]
    spare: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]


@kernel
def new_row(timeline):
    """Take an unused row."""
    timeline.at[SPARE] -= 1
    return timeline.spare[timeline.at[SPARE]]


@kernel
def give_row(timeline, row):
    """Give a row back."""
    timeline.spare[timeline.at[SPARE]] = row
    timeline.at[SPARE] += 1


@kernel
def clear(timeline, now, nodes, sets):
    """Make everything free from `now` on, with node sets or counts only."""
    edges, at = timeline.edges, timeline.at
    for i in range(at[HEAD], at[TAIL]):
        if edges[i].row >= 0:
            give_row(timeline, edges[i].row)
    at[HEAD], at[TAIL] = 0, 1
    edges[0].time, edges[0].refs, edges[0].ends, edges[0].free = now, 0, 0, nodes
    edges[0].row = -1
    if sets:
        row = new_row(timeline)
        bits.fill(timeline.rows[row], nodes)
        edges[0].row = row


@kernel
def segment_of(timeline, time):
    """Return the index of the last edge with time <= `time`, or the head where all are later."""
    edges, low, high = timeline.edges, timeline.at[HEAD], timeline.at[TAIL] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if edges[middle].time <= time:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def move_edge(edges, target, source):
    """Copy one edge."""
    edges[target].time = edges[source].time
    edges[target].row = edges[source].row
    edges[target].refs = edges[source].refs
    edges[target].ends = edges[source].ends
    edges[target].free = edges[source].free


@kernel
def split(timeline, time):
    """Return the index of the edge at exactly `time`, made from its segment where there is none."""
    edges, at = timeline.edges, timeline.at
    index = segment_of(timeline, time)
    if edges[index].time == time:
        return index
    # The shorter side moves: edges before the head are past, so there is room on either.
    if at[HEAD] > 0 and (at[TAIL] == len(edges) or index - at[HEAD] < at[TAIL] - index):
        for i in range(at[HEAD], index + 1):
            move_edge(edges, i - 1, i)
        at[HEAD] -= 1
    else:
        for i in range(at[TAIL], index + 1, -1):
            move_edge(edges, i, i - 1)
        at[TAIL] += 1
        index += 1
    old = index - 1
    edges[index].time, edges[index].refs, edges[index].ends = time, 0, 0
    edges[index].free, edges[index].row = edges[old].free, -1
    if edges[old].row >= 0:
        row = new_row(timeline)
        bits.copy(timeline.rows[row], timeline.rows[edges[old].row])
        edges[index].row = row
    return index


@kernel
def unsplit(timeline, index):
    """Remove an edge at which nothing starts or ends any more: both sides are equally free."""
    edges, at = timeline.edges, timeline.at
    if edges[index].row >= 0:
        give_row(timeline, edges[index].row)
    if index - at[HEAD] < at[TAIL] - index:
        for i in range(index, at[HEAD], -1):
            move_edge(edges, i, i - 1)
        at[HEAD] += 1
    else:
        for i in range(index, at[TAIL] - 1):
            move_edge(edges, i, i + 1)
        at[TAIL] -= 1


@kernel
def advance(timeline, now):
    """Let the past go: afterwards the head's segment holds `now`."""
    edges, at = timeline.edges, timeline.at
    while at[HEAD] + 1 < at[TAIL] and edges[at[HEAD] + 1].time <= now:
        if edges[at[HEAD]].row >= 0:
            give_row(timeline, edges[at[HEAD]].row)
        at[HEAD] += 1


@kernel
def reserve(timeline, row, size, start, end):
    """Take `size` nodes (those of `row`; -1 where only counts matter) out of [start, end)."""
    edges = timeline.edges
    first = split(timeline, start)
    edges[first].refs += 1
    last = split(timeline, end)
    edges[last].refs += 1
    edges[last].ends += 1
    for i in range(segment_of(timeline, start), last):
        edges[i].free -= size
        if row >= 0:
            bits.subtract(timeline.rows[edges[i].row], timeline.rows[row])


@kernel
def release(timeline, row, size, start, end, now):
    """Give what a reservation [start, end) still holds from `now` on back; the past is past."""
    if end <= now:
        return
    edges, at = timeline.edges, timeline.at
    first = segment_of(timeline, max(start, now))
    i = first
    while edges[i].time < end:
        edges[i].free += size
        if row >= 0:
            bits.unite(timeline.rows[edges[i].row], timeline.rows[row])
        i += 1
    edges[i].refs -= 1
    edges[i].ends -= 1
    if edges[i].refs == 0:
        unsplit(timeline, i)
        first = segment_of(timeline, max(start, now))
    if start >= now and first != at[HEAD]:
        edges[first].refs -= 1
        if edges[first].refs == 0:
            unsplit(timeline, first)


@inlined
def forward(timeline, near, time):
    """Return the segment that holds `time`, looking from the segment `near` onwards: searches go
    forwards, so their steps add up to one walk along the timeline."""
    edges, last = timeline.edges, timeline.at[TAIL] - 1
    while near < last and edges[near + 1].time <= time:
        near += 1
    return near


@inlined
def next_roomy(edges, i, size):
    """Return the time of the first edge from `i` on with `size` nodes free; the last one has
    all."""
    while edges[i].free < size:
        i += 1
    return edges[i].time


@kernel
def free_throughout(timeline, first, end, size, free):
    """Find the nodes free from segment `first` to `end` and write them to the row `free`.

    Returns 0 where they are at least `size`; otherwise a time before which no later start can do
    either, since any window from there still holds the segments that stood in the way.
    """
    edges, rows, tail = timeline.edges, timeline.rows, timeline.at[TAIL]
    if edges[first].free < size:
        return next_roomy(edges, first + 1, size)
    bits.copy(free, rows[edges[first].row])
    i = first + 1
    while i < tail and edges[i].time < end:
        if edges[i].free < size:
            return next_roomy(edges, i + 1, size)
        if bits.meet(free, rows[edges[i].row]) < size:
            bits.copy(free, rows[edges[i].row])
            back = i - 1
            while bits.meet(free, rows[edges[back].row]) >= size:
                back -= 1
            return edges[back + 1].time
        i += 1
    return 0


@kernel
def free_within(timeline, first, end, size, free, pool):
    """Find the nodes of `pool` that are free from segment `first` to `end`; as `free_throughout`,
    but free nodes are not counted beforehand. The pool has `size` nodes at least."""
    edges, rows, tail = timeline.edges, timeline.rows, timeline.at[TAIL]
    bits.copy(free, rows[edges[first].row])
    if bits.meet(free, pool) < size:
        return edges[first + 1].time
    i = first + 1
    while i < tail and edges[i].time < end:
        if bits.meet(free, rows[edges[i].row]) < size:
            bits.copy(free, rows[edges[i].row])
            if bits.meet(free, pool) < size:
                return edges[i + 1].time
            back = i - 1
            while bits.meet(free, rows[edges[back].row]) >= size:
                back -= 1
            return edges[back + 1].time
        i += 1
    return 0


@kernel
def next_end(timeline, near, lower):
    """Return the earliest time >= `lower` at which a reservation ends, or -1 where none does; the
    segment `near` does not lie after it."""
    edges, tail = timeline.edges, timeline.at[TAIL]
    i = near
    while i < tail and (edges[i].time < lower or edges[i].ends == 0):
        i += 1
    return edges[i].time if i < tail else -1


@kernel
def earliest_count(timeline, now, size, length, before, own_start, own_end):
    """Return the earliest start in [now, before) with `size` nodes free for `length` seconds, or
    `before`; only counts matter, and a reservation [own_start, own_end) of this size is seen as
    free.
    """
    edges, tail = timeline.edges, timeline.at[TAIL]
    start = now
    i = segment_of(timeline, now)
    while i < tail and edges[i].time < start + length:
        free = edges[i].free
        if own_start < own_end and own_start <= edges[i].time < own_end:
            free += size
        if free < size:
            if i + 1 >= tail:
                return before
            start = edges[i + 1].time
            if start >= before:
                return before
        i += 1
    return min(start, before)
