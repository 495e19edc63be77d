"""Draws from a named stream, quick for one number at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from forestall.core.streams import stream

T = TypeVar("T")

_AT_ONCE = 64


class Chance:
    """A stream of random numbers (`core.streams`), begun when the first is drawn."""

    def __init__(self, seed: int, name: str) -> None:
        self._of = (seed, name)
        self._stream: np.random.Generator | None = None
        self._left: list[float] = []

    def draw(self) -> float:
        """Return a number from [0, 1)."""
        if not self._left:
            if self._stream is None:
                seed, name = self._of
                self._stream = stream(seed, "slurm", name)
            self._left = self._stream.random(_AT_ONCE).tolist()
        return self._left.pop()

    def wait(self, mean: float) -> int:
        """Return whole seconds of an exponential law, at least 1."""
        return max(1, round(-mean * math.log1p(-self.draw())))

    def below(self, count: int) -> int:
        """Return a whole number from [0, count)."""
        return int(self.draw() * count)

    def one_of(self, things: Sequence[T]) -> T:
        """Return one of some things."""
        return things[self.below(len(things))]
