"""A book that is as it was, whatever a submission and the quotes after it wrote into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.predict.turnaround.book_state import GROUP, BookState

LARGE: Final = ("cohort", "ordered", "score", "below")
"""Columns of a calibration with a value for each of its latest jobs."""
SMALL: Final = tuple(name for name in (GROUP.names or ()) if name not in LARGE)


@contextmanager
def unchanged(book: BookState, job: int, groups: Sequence[int]) -> Iterator[None]:
    """Give back all that is written into the book's arrays meanwhile by the submission of the next
    job, whose row is `job` and whose calibrations are `groups`, and by offers that are no promises.

    A submission settles promises whose deadlines have passed, looks at all open jobs and their
    promises, and renews calibrations of which enough has happened. Only rows that it can reach are
    copied: of a year of jobs those that are open, of calibrations those that are renewed.
    """
    desk = book.desk[0]
    opened, waits = int(desk["open"]), int(desk["heap"])
    jobs = np.append(book.open_jobs[:opened], job)
    renewed = np.flatnonzero(book.groups["stale"] >= desk["patience"])
    whole = np.union1d(renewed, [one for one in groups if one < len(book.groups)]).astype(np.int64)
    slots = book.free[max(int(desk["free"]) - 1, 0) : int(desk["free"])]
    kept: list[tuple[npt.NDArray[Any], Any]] = [
        (book.jobs, jobs),
        (book.promises, np.concatenate([2 * jobs, 2 * jobs + 1])),
        (book.told, slice(job, job + 1)),
        (book.laws, slots.copy()),
        (book.open_jobs, slice(opened, opened + 1)),
        (book.heap, slice(0, waits)),
        (book.parts, slice(None)),
        (book.users, slice(None)),
        (book.desk, slice(None)),
        *((book.groups[name], slice(None)) for name in SMALL),
        *((book.groups[name], whole) for name in LARGE),
    ]
    before = [array[rows].copy() for array, rows in kept]
    try:
        yield
    finally:
        for (array, rows), was in zip(kept, before, strict=True):
            array[rows] = was
