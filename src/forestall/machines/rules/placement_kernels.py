"""Which node a task gets: by chance, by capacity, or by capacity and predicted time to failure.

Source: Fu and Xu, ARES 2009, Section 4, Equations 3.3, 3.4 and 4.1. A task has work left (w),
a deadline (d) and uses at most q processors; a node has capacity to give (c) and a predicted time
to failure (delta). Per task first-fit and random-select cost O(log nodes), best-fit O(levels x log
nodes) where capacities come in few levels, else O(nodes); so do the rules for tasks that no node
qualifies for, which look at every node.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from forestall.core._compile import ask, kernel
from forestall.core.model.virtual import PROCESSOR, TaskReason
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules.entries import OWN_STRATEGY, STRATEGIES
from forestall.machines.rules.fleet_kernels import FAR, NOBODY

RANDOM: Final = np.int64(STRATEGIES["random"].number)
FIRST_FIT: Final = np.int64(STRATEGIES["first-fit"].number)
BEST_FIT: Final = np.int64(STRATEGIES["best-fit"].number)
OWN: Final = np.int64(OWN_STRATEGY.number)

_QUALIFIED = np.int64(TaskReason.QUALIFIED)
_WITH_ONE_MIGRATION = np.int64(TaskReason.WITH_ONE_MIGRATION)
_LONGEST_LEFT = np.int64(TaskReason.LONGEST_LEFT)
_DRAWN = np.int64(TaskReason.DRAWN)


class Choosing(NamedTuple):
    """How nodes are chosen: RANDOM, FIRST_FIT, BEST_FIT or OWN; weight of capacity in best-fit
    (below 0: dynamic); whether tasks can migrate, and how long that takes, s; where a strategy in
    Python is asked (`_compile.Asked`)."""

    strategy: int
    alpha: float
    migrates: int
    transfer: int
    own: int = 0


@kernel
def choose(fleet, choosing, alpha, work, deadline, now, draw):
    """Return the node for a task, and why; NOBODY where no node has the least rate to give.

    Parameters
    ----------
    fleet, choosing : see `fleet_kernels.Fleet` and `Choosing`
    alpha : as `alpha_of` says
    work : left, thousandths of a processor-second
    deadline, now : s
    draw : in [0, 1), used by RANDOM alone
    """
    if choosing.strategy == RANDOM:
        return fleets.drawn(fleet, draw), _DRAWN
    if deadline > now:
        fleets.put_in_order(fleet)
        if choosing.strategy == FIRST_FIT:
            node = fleets.roomiest_from(fleet, fleets.first_outliving(fleet, deadline))
        elif choosing.strategy == OWN:
            node = ask(choosing.own, work, deadline, now)
        else:
            node = best_fit(fleet, alpha, work, deadline, now)
        if node != NOBODY:
            return node, _QUALIFIED
        node = with_one_migration(fleet, choosing, work, deadline, now)
        if node != NOBODY:
            return node, _WITH_ONE_MIGRATION
    return longest_left(fleet, now), _LONGEST_LEFT


@kernel
def alpha_of(fleet, choosing, deadline):
    """Return the weight of capacity: as it was chosen, or 1 less the share of up nodes that are
    foreseen to fail before the deadline."""
    if choosing.alpha >= 0:
        return choosing.alpha
    failing = 0
    for node in range(len(fleet.nodes)):
        one = fleet.nodes[node]
        if one.up != 0 and (one.doubtful != 0 or one.foreseen < deadline):
            failing += 1
    return 1.0 - failing / max(fleet.at[fleets.UP], 1)


@kernel
def capacity_reliability(alpha, free, work, delta, span):
    """Return cr of Equation 4.1, the less the better a node fits; without its second part where
    alpha is 1. Capacities and work in thousandths, times in s."""
    capacity = free / PROCESSOR
    needed = (work / PROCESSOR) / span
    fit = alpha * (capacity - needed) / needed
    if alpha >= 1:
        return fit
    return fit + (1 - alpha) * (delta - span) / span


@kernel
def best_fit(fleet, alpha, work, deadline, now):
    """Return the node of least cr among those with enough capacity that outlive the deadline."""
    span = deadline - now
    # Equation 3.3: enough capacity to do the work by the deadline, rounded up.
    wanted = max((work + span - 1) // span, fleet.at[fleets.LEAST])
    first = fleets.first_outliving(fleet, deadline)
    if fleet.at[fleets.LEVELS] == 0:
        return best_of_all(fleet, alpha, work, deadline, now, wanted, first)
    grain, levels = fleet.at[fleets.GRAIN], fleet.at[fleets.LEVELS]
    endless = fleets.first_outliving(fleet, FAR)
    best, least = NOBODY, np.inf
    # Of one level the first in the order fails soonest, which is least cr: one candidate a level.
    for level in range((wanted + grain - 1) // grain, levels):
        # Time does not count: the lowest level that has a node, and of it the lowest node.
        if alpha >= 1:
            node = fleets.lowest_from(fleet, level, first)
            if node != NOBODY:
                return node
            continue
        place = fleets.leftmost(fleet.lowest[level], fleet.at[fleets.WIDTH], first)
        if 0 <= place < endless:
            node = fleet.order[place]
            delta = fleet.nodes[node].foreseen - now
            cr = capacity_reliability(alpha, level * grain, work, delta, span)
            if cr < least or (cr == least and node < best):
                best, least = node, cr
    if best == NOBODY:  # all that are left are never foreseen to fail, and tie
        place = fleets.leftmost_with(fleet, endless, wanted)
        if place >= 0:
            best = fleet.order[place]
    return best


@kernel
def best_of_all(fleet, alpha, work, deadline, now, wanted, first):
    """Return what `best_fit` does by looking at each node that outlives the deadline."""
    span = deadline - now
    best, least, endless = NOBODY, np.inf, NOBODY
    for place in range(first, len(fleet.order)):
        node = fleet.order[place]
        free = fleets.vouched(fleet, node)
        if free < wanted:
            continue
        foreseen = fleet.nodes[node].foreseen
        # cr has no value for delta without end: such nodes are the last resort, the lowest first.
        if foreseen == FAR and alpha < 1:
            endless = min(endless, node)
            continue
        cr = capacity_reliability(alpha, free, work, foreseen - now, span)
        if cr < least or (cr == least and node < best):
            best, least = node, cr
    return endless if best == NOBODY else best


@kernel
def tau_of(fleet, choosing):
    """Return what a migration takes, s, as far as is known: what was learnt, or else what is
    told."""
    return choosing.transfer if fleet.at[fleets.TAU] < 0 else fleet.at[fleets.TAU]


@kernel
def left_of(fleet, node, now):
    """Return a node's predicted time to failure, s; 0 where it counts as failing, also at the
    arrival of a move."""
    one = fleet.nodes[node]
    if one.doubtful != 0:
        return 0
    return FAR if one.foreseen == FAR else max(one.foreseen - now, 0)


@kernel
def two_roomiest(fleet, now):
    """Return the two nodes with most to give that do not count as failing, NOBODY for want of
    them."""
    first = second = NOBODY
    for node in range(len(fleet.nodes)):
        if fleets.gives(fleet, node) == 0 or left_of(fleet, node, now) == 0:
            continue
        if first == NOBODY or fleet.nodes[node].free > fleet.nodes[first].free:
            first, second = node, first
        elif second == NOBODY or fleet.nodes[node].free > fleet.nodes[second].free:
            second = node
    return first, second


@kernel
def with_one_migration(fleet, choosing, work, deadline, now):
    """Return the node of most capacity that can do the work with one migration to the roomiest
    other node when it is predicted to fail (Equation 3.4, with c_k for the whole span that is
    left). Nodes that count as failing are neither: what is on them could not leave again."""
    first, second = two_roomiest(fleet, now)
    best = NOBODY
    for node in range(len(fleet.nodes)):
        free = fleets.gives(fleet, node)
        delta = left_of(fleet, node, now)
        if free == 0 or delta == 0 or (best != NOBODY and free <= fleet.nodes[best].free):
            continue
        if fleet.nodes[node].foreseen >= deadline:
            continue
        target = second if node == first else first
        # Until it fails at most the task's own rate, then on the target for what is left less the
        # migration.
        done = min(fleet.at[fleets.RATE], free) * delta
        if choosing.migrates != 0 and target != NOBODY:
            span = deadline - now - delta - tau_of(fleet, choosing)
            done += fleet.nodes[target].free * max(span, 0)
        if done >= work:
            best = node
    return best


@kernel
def longest_left(fleet, now):
    """Return the node that is foreseen to live longest of those that have anything to give; one
    that counts as failing only where all others are full."""
    best, longest = NOBODY, -FAR
    for node in range(len(fleet.nodes)):
        if fleets.gives(fleet, node) == 0:
            continue
        left = left_of(fleet, node, now)
        if best == NOBODY or left > longest:
            best, longest = node, left
    return best
