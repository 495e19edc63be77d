"""Nodes that are shared by tasks: what each has to give, and when it is foreseen to fail.

Two trees over the nodes answer the questions of the selection strategies. Their leaves stand in
order of (foreseen failure, node), so that the nodes that outlive a deadline are a suffix:
`roomiest` holds in each inner place the node of most free capacity below it, `lowest` the lowest
node below it, for each level of free capacity apart. A third, in order of nodes, counts those that
a strategy may choose blindly. Taking and giving back capacity costs O(log nodes); a new prediction
is put in order when the next question comes, which costs O(nodes x levels).
"""

from __future__ import annotations

from math import gcd
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import kernel, record_of, records
from forestall.core.model.virtual import FAR as _FAR

FAR: Any = np.int64(_FAR)
NOBODY: Any = np.int64(2**31 - 1)
"""Stands in trees for no node."""

MOST_LEVELS: Final = 2**26
"""Entries of the trees by level, at most; with more the nodes are looked at one by one."""

ANY: Final = 2**31
"""Tasks that a node's memory holds where memory does not count."""

SHARED: Final = record_of("capacity free room foreseen doubtful up closed back first")
"""A node: capacity and what is free of it, thousandths of a processor; how many more tasks its
memory holds (ANY and near it: memory does not count); predicted time of its next
failure, s (FAR: none); whether that is so near that the node counts as failing (delta 0); whether
it is up; whether it takes nothing though it is up; when it is back, s; the first of its tasks
(-1: none)."""

WIDTH, GRAIN, LEVELS, RATE, LEAST, SLOTS, UP, DIRTY, COUNTED, TAU = range(10)


class Fleet(NamedTuple):
    """SHARED[nodes]; int64[nodes] nodes in order of (foreseen, node), and the place of each in it;
    int32[2 width] and int32[levels, 2 width] trees (levels 0: not kept); int32[2 width] tree of
    counts in node order (empty: not kept); int64[10] numbers, see the constants above: tasks that
    fit are SLOTS, the rate of a task RATE, the least rate LEAST; TAU is what a move is believed to
    take, s (-1: what `Choosing` says)."""

    nodes: npt.NDArray[Any]
    order: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    roomiest: npt.NDArray[np.int32]
    lowest: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    at: npt.NDArray[np.int64]


def new_fleet(
    capacity: npt.NDArray[np.int64],
    rate: int,
    least: int,
    *,
    by_level: bool,
    counted: bool,
    rooms: npt.NDArray[np.int64] | None = None,
) -> Fleet:
    """Return empty nodes that are all up, with nothing foreseen.

    Parameters
    ----------
    capacity : int64[nodes], thousandths of a processor
    rate, least : what a task can use at most, and what it must be given at least, thousandths
    by_level : keep the trees that best-fit asks
    counted : keep the tree that random-select asks
    rooms : int64[nodes], how many tasks the memory of each holds; None where it does not count
    """
    count = len(capacity)
    width = 1 << max(count - 1, 0).bit_length()
    nodes = records(count, SHARED)
    nodes["capacity"], nodes["free"] = capacity, capacity
    nodes["room"] = ANY if rooms is None else rooms
    nodes["foreseen"], nodes["up"], nodes["first"] = FAR, 1, -1
    # What is free changes in steps of this: a level is a multiple of it.
    grain = gcd(rate, *(int(one) for one in np.unique(capacity)))
    levels = int(capacity.max()) // grain + 1
    # Trees by level pay only where they are few: else a look at every node is quicker.
    worth = by_level and levels * width.bit_length() < 2 * count
    if not worth or levels * 2 * width > MOST_LEVELS:
        levels = 0
    at = np.zeros(10, dtype=np.int64)
    at[WIDTH], at[GRAIN], at[LEVELS] = width, grain, levels
    at[RATE], at[LEAST], at[UP], at[DIRTY] = rate, least, count, 1
    at[COUNTED], at[TAU] = int(counted), -1
    slots = np.minimum(capacity // rate + (capacity % rate >= least), nodes["room"])
    at[SLOTS] = int(slots.sum())
    counts = np.zeros(2 * width if counted else 0, dtype=np.int32)
    if counted:
        counts[width : width + count] = slots > 0
        for i in range(width - 1, 0, -1):
            counts[i] = counts[2 * i] + counts[2 * i + 1]
    order = np.arange(count)
    return Fleet(
        nodes,
        order,
        order.copy(),
        np.full(2 * width, NOBODY, dtype=np.int32),
        np.full((levels, 2 * width), NOBODY, dtype=np.int32),
        counts,
        at,
    )


@kernel
def slots_of(fleet, one):
    """Return how many tasks fit into what a node has free."""
    rate, free = fleet.at[RATE], one.free
    rest = 1 if free % rate >= fleet.at[LEAST] else 0
    return min(free // rate + rest, one.room)


@kernel
def gives(fleet, node):
    """Return what a node has to give, 0 where it takes nothing or has less than the least rate."""
    one = fleet.nodes[node]
    if one.up == 0 or one.closed != 0 or one.free < fleet.at[LEAST] or one.room <= 0:
        return 0
    return one.free


@kernel
def vouched(fleet, node):
    """Return what a node has to give to who asks for reliability: nothing while it is doubtful."""
    if fleet.nodes[node].doubtful != 0:
        return 0
    return gives(fleet, node)


@kernel
def better(fleet, first, second):
    """Return which of two nodes (or NOBODY) has more to give; the lower one where both have as
    much."""
    if first == NOBODY:
        return second
    if second == NOBODY:
        return first
    more = fleet.nodes[second].free - fleet.nodes[first].free
    if more > 0 or (more == 0 and second < first):
        return second
    return first


@kernel
def show(fleet, node, before):
    """Bring the trees up to date after a change of what a node gives; `before` is what it vouched
    for. Where the order is to be made anew, they wait for that."""
    if fleet.at[COUNTED] != 0:
        count_again(fleet, node)
    if fleet.at[DIRTY] != 0:
        return
    now, width = vouched(fleet, node), fleet.at[WIDTH]
    leaf = width + fleet.place[node]
    fleet.roomiest[leaf] = node if now > 0 else NOBODY
    i = leaf >> 1
    # No early end: the node above may be the same and have more or less to give than before.
    while i > 0:
        fleet.roomiest[i] = better(fleet, fleet.roomiest[2 * i], fleet.roomiest[2 * i + 1])
        i >>= 1
    if fleet.at[LEVELS] > 0 and now != before:
        if before > 0:
            set_lowest(fleet, before // fleet.at[GRAIN], leaf, NOBODY)
        if now > 0:
            set_lowest(fleet, now // fleet.at[GRAIN], leaf, node)


@kernel
def set_lowest(fleet, level, leaf, node):
    """Set a leaf of the tree of one level."""
    fleet.lowest[level, leaf] = node
    i = leaf >> 1
    while i > 0:
        least = min(fleet.lowest[level, 2 * i], fleet.lowest[level, 2 * i + 1])
        # Above it nothing changes either.
        if fleet.lowest[level, i] == least:
            break
        fleet.lowest[level, i] = least
        i >>= 1


@kernel
def count_again(fleet, node):
    """Set the leaf of a node in the tree of counts."""
    i = fleet.at[WIDTH] + node
    new = 1 if gives(fleet, node) > 0 else 0
    change = new - fleet.counts[i]
    if change != 0:
        while i > 0:
            fleet.counts[i] += change
            i >>= 1


@kernel
def take(fleet, node, rate):
    """Take capacity of a node for a task; a negative `rate` gives it back."""
    one, at = fleet.nodes[node], fleet.at
    before = vouched(fleet, node)
    # SLOTS counts open nodes only: what closed ones have free comes back when they open.
    slots = slots_of(fleet, one)
    one.free -= rate
    one.room -= 1 if rate > 0 else -1
    if one.up != 0 and one.closed == 0:
        at[SLOTS] += slots_of(fleet, one) - slots
    show(fleet, node, before)


@kernel
def open_or_close(fleet, node, up, closed):
    """Set whether a node is up and whether it takes nothing though it is up."""
    one, at = fleet.nodes[node], fleet.at
    before = vouched(fleet, node)
    if one.up != 0 and one.closed == 0:
        at[SLOTS] -= slots_of(fleet, one)
    at[UP] += up - one.up
    one.up, one.closed = up, closed
    if one.up != 0 and one.closed == 0:
        at[SLOTS] += slots_of(fleet, one)
    show(fleet, node, before)


@kernel
def doubt(fleet, node, doubtful):
    """Set whether a node counts as failing."""
    one = fleet.nodes[node]
    before = vouched(fleet, node)
    one.doubtful = doubtful
    show(fleet, node, before)


@kernel
def foresee(fleet, node, time):
    """Set when a node is predicted to fail (FAR: not at all); it counts as failing no more."""
    one = fleet.nodes[node]
    if one.foreseen != time:
        one.foreseen = time
        # Predictions come in bursts: the order waits for the next question.
        fleet.at[DIRTY] = 1
    if one.doubtful != 0:
        doubt(fleet, node, 0)


@kernel
def put_in_order(fleet):
    """Sort the nodes by (foreseen, node) and build the trees anew, where a prediction has
    changed."""
    if fleet.at[DIRTY] == 0:
        return
    fleet.at[DIRTY] = 0
    sort_nodes(fleet)
    nodes, width, levels = fleet.nodes, fleet.at[WIDTH], fleet.at[LEVELS]
    fleet.lowest[:, :] = NOBODY
    for place in range(len(nodes)):
        node = fleet.order[place]
        fleet.place[node] = place
        now = vouched(fleet, node)
        fleet.roomiest[width + place] = node if now > 0 else NOBODY
        if levels > 0 and now > 0:
            fleet.lowest[now // fleet.at[GRAIN], width + place] = node
    for i in range(width - 1, 0, -1):
        fleet.roomiest[i] = better(fleet, fleet.roomiest[2 * i], fleet.roomiest[2 * i + 1])
    for level in range(levels):
        for i in range(width - 1, 0, -1):
            fleet.lowest[level, i] = min(fleet.lowest[level, 2 * i], fleet.lowest[level, 2 * i + 1])


@kernel
def sort_nodes(fleet):
    """Sort the nodes by (foreseen, node) where they stand: by Shell's gaps, for the order before
    is nearly right."""
    order, nodes = fleet.order, fleet.nodes
    gap = 1
    while gap < len(order) // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(order)):
            node = order[i]
            time, j = nodes[node].foreseen, i
            while j >= gap:
                other = order[j - gap]
                late = nodes[other].foreseen
                if late < time or (late == time and other < node):
                    break
                order[j] = other
                j -= gap
            order[j] = node
        gap //= 3


@kernel
def first_outliving(fleet, deadline):
    """Return the first place in the order whose node is foreseen to fail at `deadline` or later."""
    low, high = 0, len(fleet.order)
    while low < high:
        middle = (low + high) // 2
        if fleet.nodes[fleet.order[middle]].foreseen < deadline:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def leftmost(tree, width, place):
    """Return the first place from `place` on that is not NOBODY in a tree, -1 where there is
    none."""
    i = width + place
    if place >= width:
        return -1
    # Up while this is a right child, then to the neighbour: its subtree begins where ours ended.
    # From the root's right edge there is no way on.
    while tree[i] == NOBODY:
        while i & 1:
            i >>= 1
        if i == 0:
            return -1
        i += 1
    # Down again, to the left wherever there is anything.
    while i < width:
        i *= 2
        if tree[i] == NOBODY:
            i += 1
    return i - width


@kernel
def leftmost_with(fleet, place, wanted):
    """Return the first place from `place` on whose node has at least `wanted` to give, -1 where
    there is none."""
    tree, width = fleet.roomiest, fleet.at[WIDTH]
    i = width + place
    if place >= width:
        return -1
    while tree[i] == NOBODY or fleet.nodes[tree[i]].free < wanted:
        while i & 1:
            i >>= 1
        if i == 0:
            return -1
        i += 1
    while i < width:
        i *= 2
        if tree[i] == NOBODY or fleet.nodes[tree[i]].free < wanted:
            i += 1
    return i - width


@kernel
def roomiest_from(fleet, place):
    """Return the node of most free capacity at `place` or after it in the order, NOBODY where none
    gives."""
    width = fleet.at[WIDTH]
    found = NOBODY
    # The suffix as O(log n) whole subtrees, from the bottom up.
    low, high = width + place, 2 * width
    while low < high:
        if low & 1:
            found = better(fleet, found, fleet.roomiest[low])
            low += 1
        if high & 1:
            high -= 1
            found = better(fleet, found, fleet.roomiest[high])
        low >>= 1
        high >>= 1
    return found


@kernel
def lowest_from(fleet, level, place):
    """Return the lowest node of this level at `place` or after it in the order, or NOBODY."""
    tree, width = fleet.lowest[level], fleet.at[WIDTH]
    found = NOBODY
    # As in `roomiest_from`.
    low, high = width + place, 2 * width
    while low < high:
        if low & 1:
            found = min(found, tree[low])
            low += 1
        if high & 1:
            high -= 1
            found = min(found, tree[high])
        low >>= 1
        high >>= 1
    return found


@kernel
def drawn(fleet, draw):
    """Return the node that a draw in [0, 1) takes from those that give, in node order; NOBODY where
    none does."""
    counts, width = fleet.counts, fleet.at[WIDTH]
    # The root counts all that give; on the way down the rank among them becomes a leaf.
    rank = np.int64(draw * counts[1])
    if counts[1] == 0:
        return NOBODY
    i = 1
    while i < width:
        i *= 2
        if rank >= counts[i]:
            rank -= counts[i]
            i += 1
    return i - width
