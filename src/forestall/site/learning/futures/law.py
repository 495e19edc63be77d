"""Run times of jobs from those of like jobs, given how long each has run already.

What is kept of a job that ended is the share of its limit that it used. A job is like those of its
user with its size class and limit; where too few of those outlived what it has run, like those of
its user with its limit, like its user's, like all. The law is the distribution of their latest
shares above its own, with straight lines between them, and beyond the largest seen up to the limit
with the weight of one more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream
from forestall.site.learning.turnaround.classes import size_class

LATEST: Final = 200
"""Jobs of a class that count."""
ENOUGH: Final = 8
"""A class tells of a job only where so many of its jobs outlived it."""
OVERTIME: Final = 60
"""A job past its limit ends within so many seconds."""


@dataclass(frozen=True)
class JobsAsked:
    """Jobs whose run times are wanted, int64[m] each: their names, which name streams of random
    numbers, users, nodes, limits and the seconds that each ran already (0: it waits)."""

    job: Ints
    user: Ints
    size: Ints
    limit: Ints
    elapsed: Ints


class RunLaw:
    """The latest shares of limits that jobs used, by class."""

    def __init__(self, shares: dict[Hashable, Floats]) -> None:
        self._shares = shares

    @classmethod
    def of(cls, user: Ints, size: Ints, limit: Ints, run: Ints) -> RunLaw:
        """Learn from jobs that ended, int64[n] each in order of their ends; `run` in seconds."""
        used = run / np.maximum(limit, 1)
        places: dict[Hashable, list[int]] = {}
        rows = zip(user.tolist(), size.tolist(), limit.tolist(), strict=True)
        for place, (who, nodes, seconds) in enumerate(rows):
            for alike in classes(who, nodes, seconds):
                places.setdefault(alike, []).append(place)
        return cls({alike: np.sort(used[rows[-LATEST:]]) for alike, rows in places.items()})

    def above(self, user: int, size: int, limit: int, elapsed: int) -> tuple[Floats, str]:
        """Return the shares of like jobs above what a job has used, ascending, and which jobs those
        are; none where all jobs tell nothing."""
        used = elapsed / limit
        for name, alike in zip(CLASSES, classes(user, size, limit), strict=True):
            shares = self._shares.get(alike)
            if shares is not None:
                longer = shares[np.searchsorted(shares, used, side="right") :]
                if len(longer) >= ENOUGH:
                    return longer, name
        return np.empty(0), "no job"

    def draw(
        self, asked: JobsAsked, futures: int, seed: int, attempt: Ints | None = None
    ) -> npt.NDArray[np.float32]:
        """Return run times, float32[futures, m] of whole seconds, each longer than what its job has
        run. `attempt` counts how often each was drawn before (None: 0).

        Numbers are stratified: one draw of each job from each of so many parts of equal
        probability, in an order of its own stream.
        """
        if futures < 1:
            raise ParameterError("futures", futures, "a whole number of at least 1")
        run = np.empty((futures, len(asked.job)), np.float32)
        tries = np.zeros(len(asked.job), np.int64) if attempt is None else attempt
        rows = zip(*(one.tolist() for one in (asked.job, tries)), strict=True)
        for column, (job, again) in enumerate(rows):
            numbers = stratified(futures, seed, job, again)
            run[:, column] = self._inverse(asked, column, numbers)
        return run

    def _inverse(self, asked: JobsAsked, column: int, numbers: Floats) -> Floats:
        """Return the run times of a job at these probabilities."""
        limit, elapsed = int(asked.limit[column]), int(asked.elapsed[column])
        if elapsed >= limit:
            return np.asarray(elapsed + np.ceil(numbers * OVERTIME))
        shares, _ = self.above(int(asked.user[column]), int(asked.size[column]), limit, elapsed)
        run = inverse(shares, elapsed / limit, numbers) * limit
        return np.maximum(np.ceil(run), elapsed + 1)


CLASSES: Final = (
    "the user's jobs of this size and limit",
    "the user's jobs with this limit",
    "the user's jobs",
    "all jobs",
)


def classes(user: int, size: int, limit: int) -> Iterator[Hashable]:
    """Return the classes of a job, the narrowest first."""
    yield user, size_class(max(size, 1)), limit
    yield user, limit
    yield (user,)
    yield ()


def inverse(shares: Floats, used: float, numbers: Floats) -> Floats:
    """Return the shares at these probabilities of the law with the points `used`, `shares`, 1."""
    last = max(1.0, float(shares[-1]) if len(shares) else 1.0)
    points = np.concatenate([[used], shares, [last]])
    return np.asarray(np.interp(numbers * (len(points) - 1), np.arange(len(points)), points))


def stratified(count: int, seed: int, job: int, attempt: int) -> Floats:
    """Return one number from each of `count` parts of (0, 1), in an order of the job's own."""
    generator = stream(seed, "futures", str(job), str(attempt))
    return np.asarray((generator.permutation(count) + generator.random(count)) / count)
