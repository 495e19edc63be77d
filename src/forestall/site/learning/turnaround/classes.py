"""Which jobs are alike: the classes whose latest values a job's distribution is blended from."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.site.learning.turnaround.book_state import (
    BACKLOGS,
    CELLS,
    DYNAMIC,
    KEYS,
    RUN0,
    RUN1,
    RUN2,
    RUN3,
    RUN4,
    RUNS,
    WAIT0,
    WAIT1,
    WAIT2,
    WAIT3,
)
from forestall.site.learning.turnaround.tasks import Tasks

Alike = dict[int, tuple[Any, ...]]

RUN_CLASSES: Final = (
    "this user's jobs of this name, size, limit and partition",
    "this user's jobs with this limit in this partition",
    "this user's jobs",
    "the partition's jobs",
    "all jobs",
)
WAIT_CLASSES: Final = (
    "jobs of this size class in this partition behind a queue like this",
    "jobs in this partition behind a queue and own jobs like these",
    "jobs in this partition behind a queue as long",
    "all jobs behind a queue as long",
    "all jobs, by the length of the queue",
)
NARROW: Final = {RUN0: 1, RUN1: 1, WAIT0: CELLS, WAIT1: CELLS}
WIDE: Final = {RUN2: 1, RUN3: 1, WAIT2: BACKLOGS, WAIT3: 1}
"""Classes with rows of their own by column, and how many rows each has."""


def size_class(size: int) -> int:
    """Return the class of a number of nodes: 1 to 3, 4 to 15, 16 to 63, ..."""
    return (size.bit_length() - 1) // 2


def features(user: Any, name: Any, part: Any, size: Any, limit: Any, wide: Any) -> Alike:
    """Return by column what jobs of one class have in common, of one job or of many; `wide` is the
    class of its size."""
    has = limit > 0
    return {
        RUN0: (user, name, size, limit, part),
        RUN1: (user, limit, part),
        RUN2: (user, has),
        RUN3: (part, has),
        WAIT0: (part, wide),
        WAIT1: (part,),
        WAIT2: (part,),
        WAIT3: (part,),
    }


def numbered(tasks: Tasks) -> tuple[Ints, int, int]:
    """Return the rows of all classes of all jobs, int64[n, KEYS], and how many rows of narrow and
    of wide classes there are."""
    keys = np.zeros((len(tasks), KEYS), np.int64)
    user, name, part = (one.code.astype(np.int64) for one in (tasks.user, tasks.name, tasks.part))
    columns = features(user, name, part, tasks.size, tasks.limit, size_classes(tasks.size))
    near, far = 0, DYNAMIC
    for column, alike in columns.items():
        codes, count = grouped(alike)
        if column in NARROW:
            keys[:, column] = near + codes * NARROW[column]
            near += count * NARROW[column]
        else:
            keys[:, column] = far + codes * WIDE[column]
            far += count * WIDE[column]
    keys[:, RUN4] = RUNS + (tasks.limit > 0)
    return keys, near, far


def calibrated(part: Ints, size: Ints) -> tuple[Ints, int]:
    """Return the calibrations that each job counts for, int64[n, ALIKE], and how many there are:
    that of all jobs, of its partition, and of its size class there."""
    by_part, parts = grouped((part,))
    by_size, sizes = grouped((part, size_classes(size)))
    alike = np.stack([np.zeros_like(by_part), 1 + by_part, 1 + parts + by_size], axis=1)
    return alike, 1 + parts + sizes


def size_classes(size: Ints) -> Ints:
    """Return the class of each number of nodes, int64[n]; see `size_class`."""
    return np.asarray((np.frexp(size.astype(np.float64))[1].astype(np.int64) - 1) // 2)


def grouped(columns: tuple[Ints, ...]) -> tuple[Ints, int]:
    """Return a number for each distinct combination of values, and how many there are."""
    codes = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        distinct, place = np.unique(column, return_inverse=True)
        distinct_codes, codes = np.unique(codes * len(distinct) + place, return_inverse=True)
        count = len(distinct_codes)
    return codes.astype(np.int64), count
