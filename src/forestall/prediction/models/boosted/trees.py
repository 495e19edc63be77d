"""Gradient-boosted trees as plain arrays: taken out of scikit-learn, asked without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints

with lazily():
    from forestall.prediction.models.boosted import trees_kernels


BLOCK: Final = 64
"""Rows that a tree is asked about at once."""

BINS: Final = 127
"""Edges that a feature may be split at, at most."""

MOST_NODES: Final = 1 << 21
"""Of all trees together: with them what a file brings stays below 1 GB, and takes some seconds."""

_FIELDS: Final = ("root", "feature", "threshold", "astray", "child", "value", "gain", "group")


@dataclass(frozen=True)
class Trees:
    """Groups of trees; the sum of a group's trees and its base is a margin (log odds).

    Attributes
    ----------
    root : int64[trees + 1], where each tree's nodes begin
    feature : int32[nodes]; threshold : float64[nodes]; astray : uint8[nodes], 1 where a row without
        the feature goes right; child : int32[nodes, 2], a leaf is its own child
    value : float64[nodes], of leaves; gain : float64[nodes], of splits
    group : int32[trees]; base : float64[groups]
    """

    root: Ints
    feature: npt.NDArray[np.int32]
    threshold: Floats
    astray: npt.NDArray[np.uint8]
    child: npt.NDArray[np.int32]
    value: Floats
    gain: Floats
    group: npt.NDArray[np.int32]
    base: Floats

    def __len__(self) -> int:
        return len(self.group)

    def margins(self, rows: npt.NDArray[np.float32]) -> Floats:
        """Return float64[n, groups] for rows, float32[n, features] (nan: not known)."""
        sums = np.tile(self.base, (len(rows), 1))
        if len(self) and len(rows):
            columns = np.zeros((rows.shape[1], BLOCK), dtype=np.float32)
            trees_kernels.add_trees(
                self._forest, rows, columns, np.empty(BLOCK, dtype=np.int32), sums
            )
        return sums

    def importance(self, features: int) -> Floats:
        """Return float64[features]: each feature's share of the gain of all splits, 0 for all where
        nothing was ever split."""
        splits = self.child[:, 0] != np.arange(len(self.child))
        gain: Floats = np.bincount(
            self.feature[splits], weights=self.gain[splits], minlength=features
        ).astype(np.float64)
        total = gain.sum()
        return gain / total if total > 0 else gain

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it by name; `Trees(**arrays)` takes it back."""
        return {**{name: getattr(self, name) for name in _FIELDS}, "base": self.base}

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Trees:
        """Return the trees that `arrays` took apart."""
        types = (np.int64, np.int32, np.float64, np.uint8, np.int32, np.float64, np.float64)
        kinds = dict(zip((*_FIELDS, "base"), (*types, np.int32, np.float64), strict=True))
        return cls(**{k: np.ascontiguousarray(arrays[k], dtype=t) for k, t in kinds.items()})

    @classmethod
    def held(cls, held: Held, features: int, groups: int) -> Trees:
        """Return the trees that a file brings, for so many features and groups: no split looks
        beyond a row, and every child comes after its parent, in the same tree, and has one.

        Raises ParameterError where that does not hold.
        """
        root = held.array("root", np.int64, None, least=0, rising=True)
        count = int(root[-1]) if len(root) else -1
        held.hold("root", len(root) > 0 and root[0] == 0, "where each tree begins, from 0")
        held.hold("root", count <= MOST_NODES, f"trees of at most {MOST_NODES:,} nodes")
        held.hold("root", bool((np.diff(root) > 0).all()), "trees of at least one node")
        made = cls(
            root=root,
            feature=held.array("feature", np.int32, count, least=0, most=max(features - 1, 0)),
            threshold=held.array("threshold", np.float64, count, unbounded=True),
            astray=held.array("astray", np.uint8, count, most=1),
            child=held.array("child", np.int32, count, 2, least=0, most=max(count - 1, 0)),
            value=held.array("value", np.float64, count),
            gain=held.array("gain", np.float64, count),
            group=held.array("group", np.int32, len(root) - 1, least=0, most=groups - 1),
            base=held.array("base", np.float64, groups),
        )
        wide = np.abs(made.threshold) > np.finfo(np.float32).max
        held.hold("threshold", not (wide & np.isfinite(made.threshold)).any(), "features' numbers")
        held.hold("feature", features > 0 or count == 0, "no splits, since there are no features")
        held.hold("child", made._grows(), f"trees of at most {trees_kernels.MOST_LEAVES} leaves")
        return made

    def _grows(self) -> bool:
        """Whether the children make each tree one: all nodes but the first are the child of one
        that stands before them."""
        place, last = np.arange(len(self.child)), np.repeat(self.root[1:], np.diff(self.root))
        leaf = (self.child == place[:, None]).all(axis=1)
        below = self.child[~leaf]
        ahead = (below > place[~leaf, None]) & (below < last[~leaf, None])
        ones = np.bincount(below.ravel(), minlength=len(place))
        ones[self.root[:-1]] += 1
        leaves = np.add.reduceat(leaf.astype(np.int64), self.root[:-1]) if len(self) else leaf
        most = int(leaves.max(initial=0))
        return bool(ahead.all() and (ones == 1).all() and most <= trees_kernels.MOST_LEAVES)

    @classmethod
    def none(cls, base: Sequence[float]) -> Trees:
        """Return groups of no trees."""
        empty: dict[str, npt.NDArray[Any]] = dict.fromkeys(_FIELDS, np.empty(0))
        return cls.of(
            {**empty, "root": np.zeros(1), "child": np.empty((0, 2)), "base": np.asarray(base)}
        )

    @classmethod
    def joined(cls, groups: Sequence[Trees]) -> Trees:
        """Return several of one group each as one of several groups."""
        if not groups:
            return cls.none([])
        begins = np.cumsum([0, *(len(g.feature) for g in groups)])
        held = {
            name: np.concatenate([getattr(g, name) for g in groups])
            for name in ("feature", "threshold", "astray", "value", "gain", "base")
        }
        roots = [g.root[:-1] + b for g, b in zip(groups, begins, strict=False)]
        held["root"] = np.concatenate([*roots, begins[-1:]])
        held["child"] = np.concatenate([g.child + b for g, b in zip(groups, begins, strict=False)])
        held["group"] = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
        return cls.of(held)

    def first(self, trees: int) -> Trees:
        """Return the first so many trees."""
        end = self.root[min(trees, len(self))]
        held = {name: value[:end] for name, value in self.arrays().items()}
        return Trees.of(
            {
                **held,
                "root": self.root[: trees + 1],
                "group": self.group[:trees],
                "base": self.base,
            }
        )

    def decoded(self, edges: Sequence[Floats]) -> Trees:
        """Return the trees for features of trees for the `coded` ones: a code is at most c where
        the feature is at most edge c."""
        threshold = self.threshold.copy()
        for k in np.flatnonzero(np.isfinite(threshold)):
            threshold[k] = edges[self.feature[k]][int(self.threshold[k])]
        return replace(self, threshold=threshold)

    @cached_property
    def _forest(self) -> trees_kernels.Forest:
        """The same for the kernel: splits and leaves apart, leaves from left to right."""
        leaf = self.child[:, 0] == np.arange(len(self.child))
        tree = np.repeat(np.arange(len(self)), np.diff(self.root))
        leaves = np.bincount(tree[leaf], minlength=len(self))
        assert leaves.max(initial=0) <= trees_kernels.MOST_LEAVES, (
            f"a tree of {leaves.max()} leaves"
        )
        below, before = self._leaves_below(leaf)
        first_leaf = np.append(0, np.cumsum(leaves))
        value = np.empty(int(first_leaf[-1]))
        value[first_leaf[tree[leaf]] + before[leaf]] = self.value[leaf]
        inner = ~leaf
        on_left = below[self.child[inner, 0]]
        return trees_kernels.Forest(
            split=np.append(0, np.cumsum(np.bincount(tree[inner], minlength=len(self)))),
            leaf=first_leaf,
            feature=self.feature[inner],
            threshold=_rounded_down(self.threshold[inner]),
            astray=self.astray[inner],
            left=(~(((1 << on_left) - 1) << before[inner])).astype(np.int32),
            value=value,
            group=self.group,
            place=trees_kernels.places(),
        )

    def _leaves_below(self, leaf: Bools) -> tuple[Ints, Ints]:
        """Return int64[nodes]: how many leaves lie under each node, and how many of its tree lie to
        the left of it. Children come after their parents."""
        below, before = leaf.astype(np.int64), np.zeros(len(leaf), dtype=np.int64)
        inner = np.flatnonzero(~leaf).tolist()
        children = self.child.tolist()
        for k in reversed(inner):
            below[k] = below[children[k][0]] + below[children[k][1]]
        for k in inner:
            left, right = children[k]
            before[left], before[right] = before[k], before[k] + below[left]
        return below, before


def _rounded_down(threshold: Floats) -> npt.NDArray[np.float32]:
    """Return the largest float32 that are not above: features are float32, so that they are at most
    the one where they are at most the other."""
    near = threshold.astype(np.float32)
    down = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > threshold, down, near)


def edges_of(rows: npt.NDArray[np.float32], most: int = BINS) -> list[Floats]:
    """Return, for each feature, at most `most` of its values that split the rows about evenly, in
    order, the largest left out; none where it never varies."""
    found = []
    for column in rows.T:
        known = np.sort(column[~np.isnan(column)])
        values = np.unique(known)
        if len(values) > most + 1:
            at = np.arange(1, most + 1) * len(known) // (most + 1)
            values = np.append(np.unique(known[at]), np.inf)
        found.append(values[:-1].astype(np.float64))
    return found


def coded(rows: npt.NDArray[np.float32], edges: Sequence[Floats]) -> npt.NDArray[np.float32]:
    """Return how many edges lie below each value, nan where there is none; a feature that never
    varies is 0 throughout.

    What scikit-learn gets is coded, since it looks for edges of its own by weighted percentiles one
    by one, for minutes, where there are weights, and fails where a feature is nan throughout.
    """
    codes = np.zeros_like(rows)
    for k, edge in enumerate(edges):
        if len(edge):
            found = np.searchsorted(edge, rows[:, k].astype(np.float64), side="left")
            codes[:, k] = np.where(np.isnan(rows[:, k]), np.nan, found)
    return codes


def from_scikit(model: Any) -> Trees:
    """Return the trees of a fitted binary `HistGradientBoostingClassifier`, one group."""
    lists = [one[0].nodes for one in model._predictors]
    base = float(np.ravel(model._baseline_prediction)[0])
    if not lists:
        return Trees.none([base])
    begins = np.cumsum([0, *(len(nodes) for nodes in lists)])
    nodes = np.concatenate(lists)
    leaf = nodes["is_leaf"].astype(np.bool_)
    itself = np.arange(len(nodes))
    offset = np.repeat(begins[:-1], np.diff(begins))
    assert not nodes["is_categorical"].any(), "splits by category"
    return Trees.of(
        {
            "root": begins,
            "feature": np.where(leaf, 0, nodes["feature_idx"]),
            "threshold": np.where(leaf, np.inf, nodes["num_threshold"]),
            "astray": np.where(leaf, 0, nodes["missing_go_to_left"] == 0),
            "child": np.column_stack(
                [np.where(leaf, itself, nodes[side] + offset) for side in ("left", "right")]
            ),
            "value": nodes["value"],
            "gain": np.where(leaf, 0.0, nodes["gain"]),
            "group": np.zeros(len(lists)),
            "base": np.array([base]),
        }
    )
