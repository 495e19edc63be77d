"""Sets of nodes as rows of 64-bit words; node k is bit k % 64 of word k // 64."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core._compile import inlined, kernel, population, trailing_zeros

ONE: Final = np.uint64(1)
ZERO: Final = np.uint64(0)
FULL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_BITS: Final = 64


@inlined
def ones(word):
    """Return the number of set bits of a word."""
    return population(word)


@inlined
def lowest(word):
    """Return the number of the lowest set bit of a word that is not zero."""
    return trailing_zeros(word)


@inlined
def run_after(word, first):
    """Return how many set bits follow each other in a word from bit `first` on, which is set."""
    gap = ~(word >> np.uint64(first))
    # A word of ones has no gap; shifted by one bit or more, it has zeros at its top.
    return trailing_zeros(gap) if gap != ZERO else np.int64(_BITS)


@inlined
def run_of(first, length):
    """Return a word with `length` set bits from bit `first` on; together at most 64."""
    rest = FULL if length == _BITS else (ONE << np.uint64(length)) - ONE
    return rest << np.uint64(first)


@kernel
def lowest_of(word, wanted):
    """Return the `wanted` lowest set bits of a word that has more than those.

    Six steps of halving: how many of the lowest bits of the word hold no more than `wanted`.
    """
    width, step = 0, 32
    while step > 0:
        below = (ONE << np.uint64(width + step)) - ONE
        if ones(word & below) <= wanted:
            width += step
        step >>= 1
    return word & ((ONE << np.uint64(width)) - ONE)


@kernel
def count(row):
    """Return the number of nodes in the set."""
    total = 0
    for i in range(len(row)):
        total += ones(row[i])
    return total


@inlined
def has(row, node):
    """Return whether the set holds `node`."""
    return (row[node >> 6] >> np.uint64(node & 63)) & ONE != ZERO


@inlined
def put(row, node):
    """Add `node` to the set."""
    row[node >> 6] |= ONE << np.uint64(node & 63)


@inlined
def drop(row, node):
    """Remove `node` from the set."""
    row[node >> 6] &= ~(ONE << np.uint64(node & 63))


@kernel
def fill(row, nodes):
    """Make the set {0, ..., nodes - 1}."""
    for i in range(len(row)):
        left = nodes - 64 * i
        if left >= 64:
            row[i] = FULL
        elif left > 0:
            row[i] = (ONE << np.uint64(left)) - ONE
        else:
            row[i] = ZERO


@kernel
def copy(target, source):
    """Make `target` equal to `source`."""
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def meet(target, source):
    """Keep in `target` what is in `source` too; return how many nodes remain."""
    total = 0
    for i in range(len(target)):
        target[i] &= source[i]
        total += ones(target[i])
    return total


@kernel
def unite(target, source):
    """Add `source` to `target`."""
    for i in range(len(target)):
        target[i] |= source[i]


@kernel
def subtract(target, source):
    """Remove `source` from `target`."""
    for i in range(len(target)):
        target[i] &= ~source[i]


@kernel
def overlaps(row, other):
    """Return whether the sets share a node."""
    for i in range(len(row)):
        if row[i] & other[i] != ZERO:
            return True
    return False


@kernel
def take_lowest(target, source, wanted):
    """Make `target` the `wanted` lowest nodes of `source`, which has as many."""
    left = wanted
    for i in range(len(source)):
        word = source[i]
        if left == 0:
            target[i] = ZERO
            continue
        here = ones(word)
        if here > left:
            word, here = lowest_of(word, left), left
        target[i] = word
        left -= here
