"""Nodes near each other: the choice of a unit, such as a switch, beside the choice by risk.

Of the sets that the rule of placement takes in each unit, and of all nodes, those count whose
probability of success is at most `slack` below the best one's, and that the user takes if there is
one that the user takes; of these the one at the lowest level, of most probable success, with the
fewest nodes left free beside it, the first one.
"""

from __future__ import annotations

from typing import Final

from forestall.core._compile import inlined, kernel
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.least_risky_kernels import take_least_risky
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import (
    CHOSEN,
    FREE,
    IN_A_ROW,
    LEAST_TOGETHER,
    LOWEST,
    RISKY,
    UNIT,
)

ROUNDING: Final = 1e-12
"""Probabilities that differ by less are alike."""


@kernel
def pick(scratch, prediction, pool, now, start, end, size, placement):
    """Choose `size` nodes of a row of free ones by a rule of placement."""
    if placement == LOWEST:
        bits.take_lowest(scratch.rows[CHOSEN], scratch.rows[pool], size)
        return
    take_least_risky(scratch, pool, size)
    if placement == LEAST_TOGETHER:
        risks.take_least_together(prediction, scratch, pool, now, start, end, size)


@inlined
def chance_of_chosen(scratch, prediction, now, start, end, placement):
    """Return the probability of success of the chosen nodes, as far as the rule asks for it."""
    chance = 1.0
    if placement != LOWEST and bits.overlaps(scratch.rows[CHOSEN], scratch.rows[RISKY]):
        chance = 1.0 - risks.risk_of_chosen(prediction, scratch, now, start, end)
    return chance


@inlined
def window(row, first, size):
    """Make a row the `size` nodes in a row from `first` on."""
    for i in range(len(row)):
        low, high = max(first - 64 * i, 0), min(first + size - 64 * i, 64)
        row[i] = bits.run_of(low, high - low) if low < high else bits.ZERO


@inlined
def rate_rows(scratch, prediction, near, now, start, end, size, placement):
    """Note the probability of success of each window of free nodes in a row."""
    rows = scratch.rows
    nodes = len(near.level) - 1
    safe = placement == LOWEST or not bits.overlaps(rows[FREE], rows[RISKY])
    begin = 0
    for node in range(nodes + 1):
        if node < nodes:
            near.chance[node] = -1.0
            if bits.has(rows[FREE], node):
                continue
        for first in range(begin, node - size + 1):
            near.chance[first], near.left[first] = 1.0, node - begin - size
            if not safe:
                window(rows[CHOSEN], first, size)
                chance = chance_of_chosen(scratch, prediction, now, start, end, placement)
                near.chance[first] = chance
        begin = node + 1


@inlined
def rate_units(scratch, prediction, near, now, start, end, size, placement):
    """Note the probability of success of what the rule takes in each unit but the last."""
    rows = scratch.rows
    for k in range(len(near.level) - 1):
        bits.copy(rows[UNIT], near.units[k])
        near.left[k] = bits.meet(rows[UNIT], rows[FREE]) - size
        near.chance[k] = -1.0
        if near.left[k] >= 0:
            pick(scratch, prediction, UNIT, now, start, end, size, placement)
            near.chance[k] = chance_of_chosen(scratch, prediction, now, start, end, placement)


@inlined
def best_unit(near, wanted):
    """Return the unit whose nodes a job gets that takes a probability of `wanted`."""
    top = 0.0
    for k in range(len(near.chance)):
        top = max(top, near.chance[k])
    least = top - near.slack - ROUNDING
    if top >= wanted:
        least = max(least, wanted)
    best = -1
    for k in range(len(near.chance)):
        chance = near.chance[k]
        if chance < 0.0 or chance < least or (best >= 0 and near.level[k] > near.level[best]):
            continue
        if best < 0 or chance > near.chance[best]:
            best = k
        elif chance == near.chance[best] and near.left[k] < near.left[best]:
            best = k
    return best


@kernel
def take_near(scratch, prediction, near, now, start, end, size, placement):
    """Choose `size` of the free nodes, near each other where that costs little; the free nodes of
    their unit are left in the row UNIT."""
    rows = scratch.rows
    last = len(near.level) - 1
    if near.sort == IN_A_ROW:
        rate_rows(scratch, prediction, near, now, start, end, size, placement)
    else:
        rate_units(scratch, prediction, near, now, start, end, size, placement)
    pick(scratch, prediction, FREE, now, start, end, size, placement)
    near.chance[last] = chance_of_chosen(scratch, prediction, now, start, end, placement)
    near.left[last] = bits.count(rows[FREE]) - size
    best = best_unit(near, scratch.search[0].wanted)
    bits.copy(rows[UNIT], rows[FREE])
    if best == last:
        return
    if near.sort == IN_A_ROW:
        window(rows[CHOSEN], best, size)
        bits.copy(rows[UNIT], rows[CHOSEN])
        return
    bits.meet(rows[UNIT], near.units[best])
    pick(scratch, prediction, UNIT, now, start, end, size, placement)
