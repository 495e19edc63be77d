"""Quantiles of a number from features, learnt by boosted trees: see `trees_kernels`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.prediction.models import settings as check
from forestall.prediction.models.boosted.trees import edges_of

with lazily():
    from forestall.site.learning.quantiles import trees_kernels

Rows = npt.NDArray[np.float32]

LEVELS: Final = (0.01, 0.025, *(k / 20 for k in range(1, 20)), 0.975, 0.99)
"""Levels of quantiles, unless others are asked for."""
MOST_EDGES: Final = 62
"""Edges of a feature: with a code for rows without it, its codes are `trees_kernels.BINS`."""
NARROWEST: Final = 0.01
"""The least width that a quantile function is taken to have anywhere, as a share of its mean width
over all rows: where it is flat, a level moves all the same."""
HEAVIEST: Final = 1000.0
"""The greatest weight of a row."""


@dataclass(frozen=True)
class TreeSettings:
    """How trees are grown.

    Attributes
    ----------
    depth : splits between a tree's root and its leaves, 1 to 10
    trees : how many, at least 1
    rate : share of each step that is taken, in (0, 1]
    least : rows (by weight) that a leaf has at least
    features, rows : shares in (0, 1] of features and rows that each tree sees
    ridge : rows (by weight) without a gradient that are added to each leaf
    spread : weight of the spread, against that of the location, in the search for splits
    """

    depth: int = 5
    trees: int = 150
    rate: float = 0.04
    least: float = 10.0
    features: float = 0.6
    rows: float = 0.7
    ridge: float = 20.0
    spread: float = 1.5

    def __post_init__(self) -> None:
        check.whole("depth", self.depth, 1, 10)
        check.whole("trees", self.trees, 1)
        for name in ("rate", "features", "rows"):
            allowed = "a number in (0, 1]"
            if check.number(name, getattr(self, name), allowed, above=0) > 1:
                raise ParameterError(name, getattr(self, name), allowed)
        for name in ("least", "ridge", "spread"):
            check.number(name, getattr(self, name), "a number of at least 0", least=0)


@dataclass(frozen=True)
class QuantileForest:
    """Trees whose sum tells all quantiles of a row.

    Attributes
    ----------
    levels : float64[L], ascending, in (0, 1)
    start : float64[L], what quantiles are before the first tree
    feature : int32[trees, leaves - 1], what each node splits by; node k's children are 2 k + 1 and
        2 k + 2
    threshold : float32[trees, leaves - 1], above which a row goes right; one without the feature
        (nan) goes left
    value : float64[trees, leaves, L], steps of leaves
    """

    levels: Floats
    start: Floats
    feature: npt.NDArray[np.int32]
    threshold: Rows
    value: Floats

    def tell(self, rows: Rows) -> Floats:
        """Return the quantiles, float64[n, L], ascending, of rows float32[n, features] (nan: not
        known)."""
        out = np.empty((len(rows), len(self.levels)))
        trees_kernels.tell(self._arrays, np.ascontiguousarray(rows, np.float32), out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it by name; see `of`."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> QuantileForest:
        """Return the forest that `arrays` took apart."""
        return cls(
            np.ascontiguousarray(arrays["levels"], np.float64),
            np.ascontiguousarray(arrays["start"], np.float64),
            np.ascontiguousarray(arrays["feature"], np.int32),
            np.ascontiguousarray(arrays["threshold"], np.float32),
            np.ascontiguousarray(arrays["value"], np.float64),
        )

    @cached_property
    def _arrays(self) -> trees_kernels.ForestArrays:
        return trees_kernels.ForestArrays(**self.arrays())


def fit(
    rows: Rows,
    values: Floats,
    rng: np.random.Generator,
    *,
    censored: Bools | None = None,
    weight: Floats | None = None,
    levels: tuple[float, ...] = LEVELS,
    settings: TreeSettings | None = None,
) -> QuantileForest:
    """Return a forest that tells the quantiles of values by features.

    Parameters
    ----------
    rows : float32[n, features], nan where a feature is not known; only the order of a feature's
        values matters
    values : float64[n]
    rng : draws the rows and the features that each tree sees
    censored : bool[n], where the value is only known to be at least so large; None: nowhere
    weight : float64[n] in [0, 1000]; None: 1 each
    levels : ascending, in (0, 1)

    Raises ParameterError for rows, values, weights or levels that cannot be used.
    """
    settings = settings or TreeSettings()
    if rows.ndim != 2 or not rows.shape[1]:
        raise ParameterError("rows", rows.shape, "a table of at least one feature")
    values = _finite("values", values, len(rows), "numbers, one for each row")
    weight = np.ones(len(rows)) if weight is None else weight
    weight = _finite("weight", weight, len(rows), "numbers from 0 to 1000, one for each row")
    if weight.min() < 0 or weight.max() > HEAVIEST or weight.max() == 0:
        raise ParameterError("weight", weight, "numbers from 0 to 1000, not all 0")
    hidden = np.zeros(len(rows), np.bool_) if censored is None else np.asarray(censored, np.bool_)
    asked = _levels(levels)
    start = weighted_quantiles(values, hidden, weight, asked)
    edges = edges_of(rows, MOST_EDGES)
    growth = _growth(_codes(rows, edges), values, hidden, weight, asked, settings)
    rules = trees_kernels.GrowthRules(
        settings.depth,
        settings.rate,
        settings.least,
        settings.ridge,
        settings.spread,
        _narrowest(values, start, asked),
    )
    return _grown(growth, rules, edges, start, rng, settings)


def _grown(
    growth: trees_kernels.Growth,
    rules: trees_kernels.GrowthRules,
    edges: list[Floats],
    start: Floats,
    rng: np.random.Generator,
    settings: TreeSettings,
) -> QuantileForest:
    trees, leaves, count = settings.trees, 1 << settings.depth, len(growth.values)
    feature = np.zeros((trees, leaves - 1), np.int32)
    splits = np.zeros((trees, leaves - 1), np.uint8)
    value = np.zeros((trees, leaves, len(start)))
    trees_kernels.prepare(growth, rules, start)
    for tree in range(trees):
        chosen = np.flatnonzero(rng.random(count) < settings.rows)
        seen = rng.permutation(len(edges))[: growth.sums.shape[2]]
        growth.rows[: len(chosen)] = chosen
        trees_kernels.grow(
            growth, rules, seen, len(chosen), feature[tree], splits[tree], value[tree]
        )
    return QuantileForest(growth.levels, start, feature, _thresholds(edges, feature, splits), value)


def weighted_quantiles(values: Floats, censored: Bools, weight: Floats, levels: Floats) -> Floats:
    """Return quantiles, float64[L], of values some of which are only known to be at least so large,
    by the estimator of Kaplan and Meier; the largest value where it tells none.

    Source: Kaplan and Meier, "Nonparametric estimation from incomplete observations", Journal of
    the American Statistical Association 53, 1958.
    """
    order = np.lexsort((censored, values))
    values, weight = values[order], weight[order]
    ended = np.where(censored[order], 0.0, weight)
    left = np.maximum(np.cumsum(weight[::-1])[::-1], 1e-300)  # at risk, itself among them
    below = 1.0 - np.cumprod(1.0 - np.minimum(ended / left, 1.0))
    at = np.searchsorted(below, levels - 1e-12, side="left")
    return np.asarray(values[np.minimum(at, len(values) - 1)])


def _narrowest(values: Floats, start: Floats, levels: Floats) -> float:
    """Return the least width that quantile functions are taken to have, in the values' unit."""
    width = 0.0
    if len(levels) > 1:
        width = float((start[-1] - start[0]) / (levels[-1] - levels[0]))
    return NARROWEST * (width or float(np.ptp(values)) or 1.0)


def _finite(name: str, given: Any, count: int, allowed: str) -> Floats:
    found = np.ascontiguousarray(given, np.float64)
    if count == 0 or found.shape != (count,) or not np.isfinite(found).all():
        raise ParameterError(name, given, allowed)
    return found


def _levels(levels: tuple[float, ...]) -> Floats:
    asked = np.ascontiguousarray(levels, np.float64)
    fits = asked.ndim == 1 and len(asked) > 0 and (np.diff(asked) > 0).all()
    if not fits or not (asked[0] > 0 and asked[-1] < 1):
        raise ParameterError("levels", levels, "probabilities between 0 and 1, ascending")
    return asked


def _codes(rows: Rows, edges: list[Floats]) -> npt.NDArray[np.uint8]:
    first = np.cumsum([0, *(len(one) for one in edges)])
    codes = np.empty((len(edges), len(rows)), np.uint8)
    flat = np.concatenate([np.zeros(0), *edges]).astype(np.float32)
    trees_kernels.code(np.ascontiguousarray(rows, np.float32), flat, first, codes)
    return codes


def _thresholds(
    edges: list[Floats], feature: npt.NDArray[np.int32], splits: npt.NDArray[np.uint8]
) -> Rows:
    """Return above which value a row's code is above the split's."""
    found = np.full(splits.shape, np.inf, np.float32)
    for k, own in enumerate(edges):
        of = np.concatenate([[-np.inf], own, [np.inf]]).astype(np.float32)
        here = feature == k
        found[here] = of[np.minimum(splits[here], len(of) - 1)]
    return found


def _growth(
    codes: npt.NDArray[np.uint8],
    values: Floats,
    censored: Bools,
    weight: Floats,
    levels: Floats,
    settings: TreeSettings,
) -> trees_kernels.Growth:
    """Return rows to learn from, and room to work in."""
    features, count = codes.shape
    leaves, channels = 1 << settings.depth, trees_kernels.CHANNELS
    seen = max(int(settings.features * features), 1)
    return trees_kernels.Growth(
        codes=codes,
        values=values,
        censored=censored,
        weight=weight,
        levels=levels,
        quantiles=np.empty((count, len(levels))),
        told=np.zeros((len(levels) + 1, 2), np.int64),
        steepness=np.zeros(len(levels)),
        rows=np.zeros(count, np.int64),
        gradient=np.zeros((count, channels), np.int64),
        spare_rows=np.zeros(count, np.int64),
        spare_gradient=np.zeros((count, channels), np.int64),
        begin=np.zeros(leaves + 1, np.int64),
        sums=np.zeros((2, max(leaves // 2, 1), seen, trees_kernels.BINS, channels), np.int64),
        deficit=np.zeros((leaves, len(levels))),
        width=np.zeros((leaves, len(levels))),
    )
