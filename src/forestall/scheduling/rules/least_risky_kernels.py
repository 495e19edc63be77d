"""The nodes of least risk, each by its own."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import CHOSEN, RISKY, SEEN

ROOT: Final = np.int64(0)


@kernel
def before(scratch, one, other):
    """Return whether node `one` is less risky than `other`, or as risky and lower in number."""
    a, b = scratch.work[one].risk, scratch.work[other].risk
    return a < b or (a == b and one < other)


@kernel
def sink(scratch, place, count):
    """Restore the heap of nodes, least risky first, below `place`."""
    work = scratch.work
    node = work[place].node
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and before(scratch, work[child + 1].node, work[child].node):
            child += 1
        if not before(scratch, work[child].node, node):
            break
        work[place].node = work[child].node
        place = child
    work[place].node = node


@inlined
def add_least_risky(scratch, pool, wanted):
    """Add to the chosen the `wanted` risky nodes of least risk of a row, lower number first.

    A heap over the risky nodes alone: few are wanted, and most free nodes are safe, so that sorting
    them all would cost more. Its order is total, so that the same nodes come out in any case.
    """
    rows, work = scratch.rows, scratch.work
    count = 0
    for i in range(rows.shape[1]):
        word = rows[RISKY, i] & rows[pool, i]
        while word != bits.ZERO:
            work[count].node = 64 * i + bits.lowest(word)
            count += 1
            word &= word - bits.ONE
    for place in range(count // 2 - 1, -1, -1):
        sink(scratch, place, count)
    for _ in range(wanted):
        bits.put(rows[CHOSEN], work[0].node)
        count -= 1
        work[0].node = work[count].node
        sink(scratch, ROOT, count)


@kernel
def take_least_risky(scratch, pool, size):
    """Choose the `size` nodes of least risk of a row of free ones, lower number first among
    equals."""
    rows = scratch.rows
    bits.copy(rows[CHOSEN], rows[pool])
    bits.subtract(rows[CHOSEN], rows[RISKY])
    safe = bits.count(rows[CHOSEN])
    if safe >= size:
        bits.copy(rows[SEEN], rows[CHOSEN])
        bits.take_lowest(rows[CHOSEN], rows[SEEN], size)
    else:
        add_least_risky(scratch, pool, size - safe)
