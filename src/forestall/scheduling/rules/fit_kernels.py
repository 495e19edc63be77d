"""Which nodes of a shared machine a job fits on, and which of these it takes.

A unit is what a job asks of a node, or one of its tasks: ``cap`` units fit on a node at most (1 for
jobs that ask for nodes). Rules of `spec` page 10, section 2; the fragmentation gradient is that of
Weng et al., USENIX ATC 2023, for whole GPUs.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import inlined, kernel, record_of

BEST, FIRST, WORST, GRADIENT = map(np.int64, range(4))
"""Rules of placement. BEST: fewest free GPUs, then cores, then least free memory, then number."""
_CORES, _MEMORY, _GPUS = 0, 1, 2

KIND: Final = record_of("cap exclusive nodes waiting fits place")
"""A kind of request: units that a node may have at most; whether it takes whole nodes; its row of
allowed nodes; how many jobs of it wait; how many units fit now (only while some wait); its place
in the list of kinds that wait."""


class Kinds(NamedTuple):
    """KIND[kinds]; int64[kinds, resources] what a unit needs; bool[rows, nodes] which nodes are
    allowed; int64[kinds] those of which jobs wait, and int64[1] how many they are."""

    table: npt.NDArray[Any]
    need: npt.NDArray[np.int64]
    allowed: npt.NDArray[np.bool_]
    waiting: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]


class Mix(NamedTuple):
    """What the fragmentation gradient goes by: int64[m, resources] needs of typical jobs,
    float64[m] how frequent they are, and bool[m, nodes] where they may run."""

    need: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    allowed: npt.NDArray[np.bool_]


@inlined
def copy_to(target, source):
    """Copy what is free of a node; an assignment of arrays would allocate."""
    for r in range(len(target)):
        target[r] = source[r]


@inlined
def units_within(kinds, k, capacity, free):
    """Return how many units of a kind fit into what is free of a node."""
    kind = kinds.table[k]
    if kind.exclusive == 1:
        for r in range(len(free)):
            if free[r] != capacity[r]:
                return np.int64(0)
        return np.int64(1)
    most = kind.cap
    for r in range(len(free)):
        need = kinds.need[k, r]
        if need > 0:
            if free[r] < need:
                return np.int64(0)
            if most > 1:
                most = min(most, free[r] // need)
    return most


@inlined
def take_units(kinds, k, capacity, free, units, sign):
    """Take units of a kind from what is free of a node (`sign` -1), or give them back (1)."""
    if kinds.table[k].exclusive == 1:
        for r in range(len(free)):
            free[r] += sign * capacity[r]
    else:
        for r in range(len(free)):
            free[r] += sign * units * kinds.need[k, r]


@inlined
def is_before(rule, free, score, risk, a, b):
    """Return whether node `a` is taken before node `b`; `free` is what is free of each."""
    if risk[a] != risk[b]:
        return risk[a] < risk[b]
    if rule == GRADIENT and score[a] != score[b]:
        return score[a] < score[b]
    if rule != FIRST:
        sign = -1 if rule == WORST else 1
        for i in range(3):
            r = _GPUS if i == 0 else (_CORES if i == 1 else _MEMORY)
            if free[a, r] != free[b, r]:
                return sign * free[a, r] < sign * free[b, r]
    return a < b


@kernel
def fragments(mix, node, free):
    """Return the GPUs free on a node that a typical job cannot use, in expectation."""
    lost = 0.0
    for m in range(len(mix.weight)):
        usable = mix.allowed[m, node] and mix.need[m, _GPUS] > 0
        for r in range(len(free)):
            usable = usable and free[r] >= mix.need[m, r]
        if not usable:
            lost += mix.weight[m] * free[_GPUS]
        else:
            lost += mix.weight[m] * (free[_GPUS] % mix.need[m, _GPUS])
    return lost


@kernel
def sift(heap, size, i, rule, free, score, risk):
    """Let the node at a place of the heap sink to where it belongs."""
    while True:
        low = i
        for child in range(2 * i + 1, 2 * i + 3):
            if child < size and is_before(rule, free, score, risk, heap[child], heap[low]):
                low = child
        if low == i:
            return
        heap[i], heap[low] = heap[low], heap[i]
        i = low


@kernel
def pick(candidates, found, rule, free, score, risk, units, wanted, nodes, taken):
    """Choose among `found` candidate nodes, which together hold `wanted` units at least.

    units : int64[nodes], units that fit on each candidate; free : int64[nodes, resources]
    score, risk : float64[nodes], which the gradient goes by; the probability that a node fails the
        job, which comes before all else
    nodes, taken : where the chosen nodes and their units are written, in the order of the choice

    Returns how many nodes were chosen.
    """
    if wanted <= units[candidates[0]] and found == 1:
        nodes[0], taken[0] = candidates[0], wanted
        return np.int64(1)
    for i in range(found // 2 - 1, -1, -1):
        sift(candidates, found, i, rule, free, score, risk)
    count, left, size = np.int64(0), wanted, found
    while left > 0:
        node = candidates[0]
        nodes[count], taken[count] = node, min(left, units[node])
        left -= taken[count]
        count += 1
        size -= 1
        candidates[0] = candidates[size]
        sift(candidates, size, 0, rule, free, score, risk)
    return count
