"""What a move costs (the paper's tau), learnt from the moves that were made.

A move of m GiB takes a + b m seconds: a to begin and to end, b a GiB of memory sent. Both are
fitted to all moves, and for each path (source, target) to its own moves, drawn toward those of all
as if these had been seen `WEIGHT` times. Source: least squares with a prior (ridge regression,
Hoerl and Kennard 1970); the law of the time is that of Clark et al., NSDI 2005, for a memory that
is written slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from forestall.core.model.arrays import Floats

GIB: Final = 2**30
WEIGHT: Final = 3.0
"""Moves that what was known before counts for."""
FORGETS: Final = 0.98
"""What an older move counts, each time that another is seen."""
TYPICAL: Final = 4.0
"""GiB at which the prior weighs the part by memory as much as the fixed part."""


@dataclass(frozen=True)
class MoveCost:
    """What a move will cost.

    Attributes
    ----------
    seconds : expected
    spread : standard deviation, s
    moves : on that path, of which this was learnt
    """

    seconds: float
    spread: float
    moves: int

    @property
    def high(self) -> int:
        """Seconds that 19 of 20 moves stay within (normal)."""
        return math.ceil(self.seconds + 1.645 * self.spread)


@dataclass
class _Line:
    """Sums of a weighted least-squares line."""

    moments: Floats = field(default_factory=lambda: np.zeros((2, 2)))
    products: Floats = field(default_factory=lambda: np.zeros(2))
    squares: float = 0.0
    weight: float = 0.0
    count: int = 0

    def learn(self, gib: float, seconds: float) -> None:
        point = np.array([1.0, gib])
        self.moments = FORGETS * self.moments + np.outer(point, point)
        self.products = FORGETS * self.products + seconds * point
        self.squares = FORGETS * self.squares + seconds * seconds
        self.weight = FORGETS * self.weight + 1.0
        self.count += 1

    def drawn_to(self, prior: Floats) -> Floats:
        """Return a and b, neither below 0."""
        penalty = WEIGHT * np.diag([1.0, TYPICAL * TYPICAL])
        found = np.linalg.solve(self.moments + penalty, self.products + penalty @ prior)
        return np.asarray(np.maximum(found, 0.0))

    def variance(self, line: Floats, prior: float) -> float:
        """Return the variance about a line, drawn toward one known before."""
        left = self.squares - 2 * float(line @ self.products) + float(line @ self.moments @ line)
        return (max(left, 0.0) + WEIGHT * prior) / (self.weight + WEIGHT)


class MoveCosts:
    """Learns what moves cost, by memory and path.

    Parameters
    ----------
    fixed, per_gib : s, and s a GiB, that are believed before the first move

    >>> costs = MoveCosts(fixed=2.0, per_gib=8.0)
    >>> costs.of("a", "b", GIB).seconds
    10.0
    >>> for _ in range(50):
    ...     costs.learn("a", "b", GIB, 30.0)
    >>> 25 < costs.of("a", "b", GIB).seconds < 31
    True
    """

    def __init__(self, fixed: float = 2.0, per_gib: float = 8.0) -> None:
        self._prior = np.array([fixed, per_gib])
        self._all = _Line()
        self._paths: dict[tuple[str, str], _Line] = {}

    def learn(self, source: str, target: str, memory: float, seconds: float) -> None:
        """Take in a move that came off: of so many bytes, in so many seconds."""
        if not (math.isfinite(seconds) and seconds >= 0 and memory >= 0):
            return
        for line in (self._all, self._paths.setdefault((source, target), _Line())):
            line.learn(memory / GIB, seconds)

    def of(self, source: str, target: str, memory: float) -> MoveCost:
        """Return what a move of so many bytes will cost on a path, known or not."""
        gib = np.array([1.0, memory / GIB])
        believed = (0.5 * float(self._prior @ gib)) ** 2
        fleet = self._all.drawn_to(self._prior)
        spread = self._all.variance(fleet, believed)
        path = self._paths.get((source, target))
        if path is None:
            return MoveCost(float(fleet @ gib), math.sqrt(spread), 0)
        line = path.drawn_to(fleet)
        return MoveCost(float(line @ gib), math.sqrt(path.variance(line, spread)), path.count)
