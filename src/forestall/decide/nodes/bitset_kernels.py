"""Sets of nodes as rows of 64-bit words; node k is bit k % 64 of word k // 64."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall._compile import inlined, kernel

ONE: Final = np.uint64(1)
ZERO: Final = np.uint64(0)
FULL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_M1: Final = np.uint64(0x5555555555555555)
_M2: Final = np.uint64(0x3333333333333333)
_M4: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_B1: Final = np.uint64(1)
_B2: Final = np.uint64(2)
_B4: Final = np.uint64(4)
_B8: Final = np.uint64(8)
_B16: Final = np.uint64(16)
_B32: Final = np.uint64(32)
_B127: Final = np.uint64(127)


@inlined
def ones(word):
    """Return the number of set bits of a word (adds only: no overflow where run uncompiled)."""
    w = word - ((word >> _B1) & _M1)
    w = (w & _M2) + ((w >> _B2) & _M2)
    w = (w + (w >> _B4)) & _M4
    w += w >> _B8
    w += w >> _B16
    w += w >> _B32
    return np.int64(w & _B127)


@inlined
def lowest(word):
    """Return the number of the lowest set bit of a word that is not zero."""
    return ones((word & (~word + ONE)) - ONE)


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
        if here <= left:
            target[i] = word
            left -= here
            continue
        part = ZERO
        while left > 0:
            bit = word & (~word + ONE)
            part |= bit
            word ^= bit
            left -= 1
        target[i] = part


@kernel
def add_lowest(target, source, wanted):
    """Add to `target` the lowest nodes of `source` until `wanted` were added."""
    left = wanted
    for i in range(len(source)):
        word = source[i]
        while word != ZERO and left > 0:
            bit = word & (~word + ONE)
            target[i] |= bit
            word ^= bit
            left -= 1
