"""Sums of small decision trees, evaluated for many rows at once.

A row need not go down a tree: each split at which it goes right rules out the leaves on its left;
of the leaves that remain after all splits, it comes to the first. So all splits of a tree are
looked at, in any order, by comparisons of whole columns that the processor does several at a time.

Source: Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of
regression trees", SIGIR 2015.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry

Array = npt.NDArray[Any]
MOST_LEAVES: Final = 31


class Forest(NamedTuple):
    """Trees one after the other.

    split : int64[trees + 1], where each tree's splits begin; leaf : int64[trees + 1], where each
        tree's leaves begin, from left to right
    feature : int32[splits]; threshold : float32[splits], where a row goes left if its feature is
        at most that; astray : uint8[splits], 1 where a row without the feature goes right
    left : int32[splits], a bit for each leaf of the tree: 0 for those on the left of the split
    value : float64[leaves]
    group : int32[trees], which sum the tree belongs to
    place : int64[32], which bit is set, by the bits times `SPREAD` (a de Bruijn sequence)
    """

    split: Array
    leaf: Array
    feature: Array
    threshold: Array
    astray: Array
    left: Array
    value: Array
    group: Array
    place: Array


SPREAD: Final = 0x077CB531


def places() -> npt.NDArray[np.int64]:
    """Return int64[32]: the number of the one bit that is set in b, at (b * SPREAD) >> 27."""
    place = np.zeros(32, dtype=np.int64)
    for bit in range(32):
        place[(((1 << bit) * SPREAD) & 0xFFFFFFFF) >> 27] = bit
    return place


@entry
def add_trees(forest, rows, columns, remain, sums):
    """Add the values of the leaves that each of the rows, float32[n, features], comes to, to
    `sums`, float64[n, groups]. `columns`, float32[features, block], and `remain`, int32[block],
    are to work in."""
    block = len(remain)
    for start in range(0, len(rows), block):
        count = min(block, len(rows) - start)
        # A block at a time, turned into columns: comparisons of neighbours in memory run several at
        # once.
        for r in range(count):
            for f in range(len(columns)):
                columns[f, r] = rows[start + r, f]
        for tree in range(len(forest.group)):
            # All bits set: no leaf is ruled out yet. Rows beyond `count` are worked on and never
            # read.
            for r in range(block):
                remain[r] = -1
            # A row that goes right at a split loses the leaves on its left. A missing feature is
            # nan, which no comparison holds for: each form below sends it the way of `astray`.
            for s in range(forest.split[tree], forest.split[tree + 1]):
                column = columns[forest.feature[s]]
                threshold, left = forest.threshold[s], forest.left[s]
                if forest.astray[s] != 0:
                    for r in range(block):
                        remain[r] &= -1 if column[r] <= threshold else left
                else:
                    for r in range(block):
                        remain[r] &= left if column[r] > threshold else -1
            group, leaf = forest.group[tree], forest.leaf[tree]
            for r in range(count):
                # The lowest bit left is the leaf; its number is read off by the de Bruijn sequence.
                low = np.int64(remain[r])
                low &= -low
                bit = forest.place[((low * SPREAD) & 0xFFFFFFFF) >> 27]
                sums[start + r, group] += forest.value[leaf + bit]
