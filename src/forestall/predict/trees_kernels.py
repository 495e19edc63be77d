"""Sums of decision trees, evaluated for many rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall._compile import entry

Array = npt.NDArray[Any]


class Forest(NamedTuple):
    """Trees one after the other, their nodes in one list; a row goes left where its feature is at
    most the threshold.

    root : int64[trees + 1], where each tree's nodes begin; depth : int64[trees], steps to its
        deepest leaf
    feature : int32[nodes]; threshold : float64[nodes]; astray : uint8[nodes], 1 where a row
        without the feature goes right
    child : int32[nodes, 2], left and right; a leaf is its own
    value : float64[nodes], of the leaves
    group : int32[trees], which sum the tree belongs to
    """

    root: Array
    depth: Array
    feature: Array
    threshold: Array
    astray: Array
    child: Array
    value: Array
    group: Array


@entry
def add_trees(forest, rows, place, sums):
    """Add the values of the leaves that each of the rows, float32[n, features], comes to, to
    `sums`, float64[n, groups].

    All rows of a block take a step before any takes the next one: the steps of different rows do
    not wait for each other. `place`, int32[block], is where each row of a block stands.
    """
    block = len(place)
    for start in range(0, len(rows), block):
        count = min(block, len(rows) - start)
        for tree in range(len(forest.depth)):
            for r in range(count):
                place[r] = forest.root[tree]
            for _ in range(forest.depth[tree]):
                for r in range(count):
                    at = place[r]
                    x = float(rows[start + r, forest.feature[at]])
                    right = x > forest.threshold[at]
                    if np.isnan(x):
                        right = forest.astray[at] != 0
                    place[r] = forest.child[at, 1 if right else 0]
            group = forest.group[tree]
            for r in range(count):
                sums[start + r, group] += forest.value[place[r]]
