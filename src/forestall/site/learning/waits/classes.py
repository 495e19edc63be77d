"""Jobs that wait alike: by partition, size and requested time, in four levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Ints

Codes = npt.NDArray[np.int32]

LEVELS: Final = ("partition, size and requested time", "partition and size", "partition", "all")
"""Of classes, from the finest to the widest."""
PARTITION: Final = 2
HOUR: Final = 3600
TIMES: Final = (HOUR // 2, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR, 72 * HOUR)
"""Requested times are parted after each of these, s."""
SIZES: Final = (1, 4, 16, 64, 256, 1024)
"""Sizes are parted after each of these."""


@dataclass(frozen=True)
class Classes:
    """Which class each job belongs to.

    Attributes
    ----------
    fine : int32[n], the finest class of each job; those that occur are numbered from 0
    parent : int32[4, classes], for each level of `LEVELS` the class there that a finest class is
        part of; classes of all levels are numbered together, the finest first
    partition : int32[classes], code of the partition of each finest class, -1 where not told
    size, time : int32[classes], place among `SIZES` and `TIMES` of each finest class, -1 where not
        told
    """

    fine: Codes
    parent: Codes
    partition: Codes
    size: Codes
    time: Codes

    @property
    def count(self) -> int:
        """How many classes there are on all levels."""
        return int(self.parent.max(initial=-1)) + 1

    def of(self, level: int) -> Codes:
        """Return the class of each job on a level, int32[n]."""
        return np.asarray(self.parent[level][self.fine], dtype=np.int32)

    def jobs(self) -> Ints:
        """Return how many jobs each class of every level has, int64[count]."""
        each = np.bincount(self.fine, minlength=self.parent.shape[1])
        out = np.zeros(self.count, dtype=np.int64)
        for row in self.parent:
            out += np.bincount(row, weights=each, minlength=self.count).astype(np.int64)
        return out

    def name(self, fine: int, level: int, partitions: tuple[str, ...]) -> str:
        """Return what a class is, in words, for one of the finest classes in it."""
        code = int(self.partition[fine])
        words = [partitions[code] if code >= 0 else "no partition given"]
        if level < PARTITION:
            words.append(size_words(int(self.size[fine])))
        if level == 0:
            words.append(time_words(int(self.time[fine])))
        return "all jobs" if level > PARTITION else ", ".join(words)


def classify(partition: npt.ArrayLike, size: npt.ArrayLike, limit: npt.ArrayLike) -> Classes:
    """Return the classes of jobs.

    Parameters
    ----------
    partition : [n], codes from 0, negative where not told
    size : [n], nodes or processors asked for, less than 1 where not told
    limit : [n], requested time, s; negative where not told
    """
    code = np.maximum(np.asarray(partition), -1).astype(np.int32)
    sizes = np.asarray(size)
    limits = np.asarray(limit)
    large = np.where(sizes >= 1, np.searchsorted(SIZES, sizes), -1).astype(np.int32)
    long = np.where(limits >= 0, np.searchsorted(TIMES, limits), -1).astype(np.int32)
    wide, tall = len(SIZES) + 2, len(TIMES) + 2
    key = ((code + 1) * wide + (large + 1)) * tall + (long + 1)
    # Keys are few: a table of those that occur is far quicker than sorting all jobs.
    there = np.zeros(int(key.max(initial=-1)) + 1, dtype=bool)
    there[key] = True
    keys = np.flatnonzero(there)
    number = np.cumsum(there, dtype=np.int32) - 1
    parts = (keys // (wide * tall) - 1, keys // tall % wide - 1, keys % tall - 1)
    return Classes(
        number[key].astype(np.int32),
        _parents(keys, wide, tall),
        *(part.astype(np.int32) for part in parts),
    )


def _parents(keys: Ints, wide: int, tall: int) -> Codes:
    rows, begin = [], 0
    for shared in (keys, keys // tall, keys // (wide * tall), np.zeros_like(keys)):
        values, place = np.unique(shared, return_inverse=True)
        rows.append(place + begin)
        begin += len(values)
    return np.asarray(rows, dtype=np.int32).reshape(4, len(keys))


def size_words(place: int) -> str:
    """Return a class of sizes in words."""
    if place < 0:
        return "size not given"
    if place == len(SIZES):
        return f"over {SIZES[-1]:,}"
    low = 1 if place == 0 else SIZES[place - 1] + 1
    return f"{low:,}" if low == SIZES[place] else f"{low:,} to {SIZES[place]:,}"


def time_words(place: int) -> str:
    """Return a class of requested times in words."""
    if place < 0:
        return "no time given"
    if place == len(TIMES):
        return f"over {TIMES[-1] / HOUR:g} h"
    low = 0 if place == 0 else TIMES[place - 1]
    return f"{low / HOUR:g} to {TIMES[place] / HOUR:g} h"
