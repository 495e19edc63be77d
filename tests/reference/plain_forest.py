"""Boosted quantiles written plainly and slowly, for tests: one row, one feature, one level at a
time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forestall.site.learning.quantiles.forest import NARROWEST, TreeSettings
from forestall.site.learning.quantiles.trees_kernels import LEAST_GAIN, UNIT


@dataclass
class PlainNode:
    """A node of a tree: what it splits by (None: a leaf, with its steps), and its children."""

    feature: int | None
    threshold: float
    below: PlainNode | None = None
    above: PlainNode | None = None
    steps: tuple[float, ...] = ()


@dataclass
class PlainForest:
    """Trees of such nodes, one row and one level at a time."""

    rows: list[list[float]]
    values: list[float]
    censored: list[bool]
    weight: list[float]
    levels: list[float]
    settings: TreeSettings
    start: list[float]

    def fit(self, rng: np.random.Generator) -> None:
        """Grow all trees."""
        count, features = len(self.rows), len(self.rows[0])
        levels = self.levels
        width = (self.start[-1] - self.start[0]) / (levels[-1] - levels[0])
        self.narrowest = NARROWEST * (width or max(self.values) - min(self.values) or 1.0)
        self.now = [list(self.start) for _ in range(count)]
        self.trees = []
        for _ in range(self.settings.trees):
            chosen = [i for i, u in enumerate(rng.random(count)) if u < self.settings.rows]
            order = rng.permutation(features).tolist()
            seen = order[: max(int(self.settings.features * features), 1)]
            told = {i: self.gradient(i) for i in chosen}
            tree = self.grown(chosen, seen, told, self.settings.depth)
            self.trees.append(tree)
            for i in range(count):
                moved(self.now[i], leaf_of(tree, self.rows[i]).steps)

    def below(self, i: int) -> list[float]:
        """Return for each level the probability that row i lies below its quantile."""
        value, own = self.values[i], self.now[i]
        if not self.censored[i]:
            return [1.0 if value <= q else 0.0 for q in own]
        gone = self.levels[-1]
        if value <= own[0]:
            gone = 0.0
        else:
            for k in range(1, len(own)):
                if value < own[k]:
                    share = (value - own[k - 1]) / (own[k] - own[k - 1])
                    gone = self.levels[k - 1] + share * (self.levels[k] - self.levels[k - 1])
                    break
        return [(tau - gone) / (1 - gone) if tau > gone else 0.0 for tau in self.levels]

    def gradient(self, i: int) -> tuple[int, int, int]:
        """Return a row's gradients and weight as whole numbers."""
        missing = [tau - below for tau, below in zip(self.levels, self.below(i), strict=True)]
        location = spread = 0.0
        for tau, one in zip(self.levels, missing, strict=True):
            location += one
            spread += one * (2.0 * tau - 1.0)
        location, spread = location / len(missing), spread / len(missing) * self.settings.spread
        weight = self.weight[i]
        if self.censored[i]:
            return whole(location * weight), whole(spread * weight), whole(weight)
        a, b = whole(location) * weight, whole(spread) * weight
        return math.floor(a + 0.5), math.floor(b + 0.5), whole(weight)

    def grown(
        self, rows: list[int], seen: list[int], told: dict[int, tuple[int, int, int]], depth: int
    ) -> PlainNode:
        """Return a tree of these rows."""
        found = self.split(rows, seen, told) if depth else None
        if found is None:
            return PlainNode(None, 0.0, steps=self.steps(rows))
        feature, threshold = found
        left = [i for i in rows if not self.rows[i][feature] > threshold]
        right = [i for i in rows if self.rows[i][feature] > threshold]
        return PlainNode(
            feature,
            threshold,
            self.grown(left, seen, told, depth - 1),
            self.grown(right, seen, told, depth - 1),
        )

    def split(
        self, rows: list[int], seen: list[int], told: dict[int, tuple[int, int, int]]
    ) -> tuple[int, float] | None:
        """Return the best feature and threshold; every value may be one, and what is not known
        lies below all."""
        total, least = added(rows, told), whole(self.settings.least)
        best, found = self.gain(total) + LEAST_GAIN, None
        for feature in seen:
            known = [self.rows[i][feature] for i in rows]
            for threshold in sorted({-math.inf if math.isnan(v) else v for v in known}):
                left = added([i for i in rows if not self.rows[i][feature] > threshold], told)
                right = tuple(a - b for a, b in zip(total, left, strict=True))
                if left[2] < least or right[2] < least:
                    continue
                gain = self.gain(left) + self.gain(right)
                if gain > best:
                    best, found = gain, (feature, threshold)
        return found

    def gain(self, sums: tuple[int, ...]) -> float:
        """Return what a step of rows with these sums gains."""
        a, b, w = (one / UNIT for one in sums)
        below = w + self.settings.ridge
        return (a * a + b * b) / below if below else 0.0

    def steps(self, rows: list[int]) -> tuple[float, ...]:
        """Return a leaf's steps of all levels."""
        weights = 0.0
        for i in rows:
            weights += self.weight[i]
        found = []
        for k, tau in enumerate(self.levels):
            deficit = width = 0.0
            low, high = max(k - 1, 0), min(k + 1, len(self.levels) - 1)
            steepness = 1.0 / (self.levels[high] - self.levels[low])
            for i in rows:
                deficit += self.weight[i] * (tau - self.below(i)[k])
                slope = (self.now[i][high] - self.now[i][low]) * steepness
                width += self.weight[i] * max(slope, self.narrowest)
            step = 0.0
            if weights > 0:
                step = deficit / (weights + self.settings.ridge) * width / weights
            found.append(self.settings.rate * step)
        return tuple(found)

    def told(self, row: list[float]) -> list[float]:
        """Return the quantiles of a row."""
        quantiles = list(self.start)
        for tree in self.trees:
            moved(quantiles, leaf_of(tree, row).steps)
        return quantiles


def whole(number: float) -> int:
    """Return a number in units, rounded."""
    return math.floor(number * UNIT + 0.5)


def added(rows: list[int], told: dict[int, tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return the sums of the rows' gradients and weights."""
    a = b = c = 0
    for i in rows:
        a, b, c = a + told[i][0], b + told[i][1], c + told[i][2]
    return a, b, c


def leaf_of(tree: PlainNode, row: list[float]) -> PlainNode:
    """Return the leaf that a row comes to."""
    while tree.feature is not None:
        side = tree.above if row[tree.feature] > tree.threshold else tree.below
        assert side is not None
        tree = side
    return tree


def moved(quantiles: list[float], steps: tuple[float, ...]) -> None:
    """Move quantiles, and let none lie below the one before it."""
    for k, step in enumerate(steps):
        quantiles[k] += step
        if k:
            quantiles[k] = max(quantiles[k], quantiles[k - 1])
