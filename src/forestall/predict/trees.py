"""Gradient-boosted trees as plain arrays: taken out of scikit-learn, asked without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.predict.base import Floats

if TYPE_CHECKING:
    from forestall.predict.trees_kernels import Forest

BLOCK: Final = 64
"""Rows that go down a tree together."""

BINS: Final = 127
"""Edges that a feature may be split at, at most."""

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

    root: npt.NDArray[np.int64]
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
        from forestall.predict.trees_kernels import add_trees

        sums = np.tile(self.base, (len(rows), 1))
        if len(self) and len(rows):
            add_trees(self._forest(), rows, np.empty(BLOCK, dtype=np.int32), sums)
        return sums

    def importance(self, features: int) -> Floats:
        """Return float64[features]: each feature's share of the gain of all splits, 0 for all where
        nothing was ever split."""
        splits = self.child[:, 0] != np.arange(len(self.child))
        gain = np.bincount(self.feature[splits], weights=self.gain[splits], minlength=features)
        total = gain.sum()
        shares: Floats = gain / total if total > 0 else gain
        return shares

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

    def _forest(self) -> Forest:
        from forestall.predict.trees_kernels import Forest

        return Forest(
            root=self.root,
            depth=self._depths(),
            feature=self.feature,
            threshold=self.threshold,
            astray=self.astray,
            child=self.child,
            value=self.value,
            group=self.group,
        )

    def _depths(self) -> npt.NDArray[np.int64]:
        """Return int64[trees]: steps from each root to its deepest leaf. Parents stand before
        their children."""
        at, depth = self.root[:-1].astype(np.int32), np.zeros(len(self), dtype=np.int64)
        front, tree = at, np.arange(len(self))
        while True:
            inner = self.child[front, 0] != front
            front, tree = front[inner], tree[inner]
            if not len(front):
                return depth
            depth[tree] += 1  # one step for a tree, however many of its nodes stand here
            front, tree = self.child[front].ravel(), np.repeat(tree, 2)


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
