"""How long jobs wait whose nodes are free: something holds them that records do not tell.

A dependency, a limit of their user or account, a hold: in logs of real systems a sixth to a half of
all waiting jobs could start at once by nodes, and wait for hours or days. How much longer is drawn
from jobs that were held at moments of the past for about as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core.model.arrays import Floats, Ints
from forestall.site.learning.futures.law import stratified

ALIKE: Final = 200
"""At most so many held jobs of the past, of the nearest age, tell of one."""
PART: Final = 5
"""And no more than one in so many of all."""
FEWEST: Final = 20
"""With fewer nothing is told."""


@dataclass(frozen=True)
class HoldLaw:
    """Jobs that were held at moments of the past, in order of age: float64[n], log of the seconds
    since each could start, and int64[n], the seconds that it went on waiting."""

    age: Floats
    left: Ints

    @classmethod
    def of(cls, age: Ints, left: Ints) -> HoldLaw:
        """Learn from seconds since jobs could start and seconds that they went on waiting."""
        logs = np.log1p(np.maximum(age, 0).astype(np.float64))
        order = np.argsort(logs, kind="stable")
        return cls(logs[order], left[order].astype(np.int64))

    def __len__(self) -> int:
        return len(self.age)

    def draw(self, job: Ints, age: Ints, futures: int, seed: int) -> Ints:
        """Return how much longer each held job waits, int64[futures, m] seconds; 0 where too few
        were held before."""
        held = np.zeros((futures, len(job)), np.int64)
        if len(self) < FEWEST:
            return held
        for column, (name, seconds) in enumerate(zip(job.tolist(), age.tolist(), strict=True)):
            alike = np.sort(self.alike(seconds))
            numbers = stratified(futures, seed, name, -1)
            held[:, column] = alike[(numbers * len(alike)).astype(np.int64)]
        return held

    def alike(self, age: int) -> Ints:
        """Return how much longer those of the nearest age waited."""
        here, count = np.log1p(max(age, 0)), min(ALIKE, max(FEWEST, len(self) // PART))
        place = int(np.searchsorted(self.age, here))
        low, high = max(place - count, 0), min(place + count, len(self))
        near = np.argsort(np.abs(self.age[low:high] - here), kind="stable")[:count]
        return np.asarray(self.left[low:high][near])
