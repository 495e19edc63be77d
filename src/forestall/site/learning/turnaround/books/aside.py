"""A book that is as it was, whatever a submission and the quotes after it wrote into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.site.learning.turnaround.book_state import GROUP, BookState

LARGE: Final = ("cohort", "ordered", "score", "below")
"""Columns of a calibration with a value for each of its latest jobs."""
Kept = tuple[npt.NDArray[Any], Any]
"""An array and which of its rows are kept."""
SMALL: Final = tuple(name for name in (GROUP.names or ()) if name not in LARGE)


@contextmanager
def unchanged(book: BookState, job: int, groups: Sequence[int], now: int) -> Iterator[None]:
    """Give back all that is written into the book's arrays meanwhile by the submission of the next
    job at `now`, whose row is `job` and whose calibrations are `groups`, and by offers that are no
    promises.

    Only what that can reach is copied: of a year of jobs those that are open.
    """
    desk = book.desk[0]
    opened, free = int(desk["open"]), int(desk["free"])
    own = np.array([one for one in groups if one < len(book.groups)], np.int64)
    kept: list[Kept] = [
        (book.jobs, slice(job, job + 1)),
        (book.promises, slice(2 * job, 2 * job + 2)),
        (book.told, slice(job, job + 1)),
        (book.laws, book.free[max(free - 1, 0) : free].copy()),
        (book.open_jobs, slice(opened, opened + 1)),
        (book.parts, slice(None)),
        (book.users, slice(None)),
        (book.desk, slice(None)),
        *((book.groups[name], slice(None)) for name in SMALL),
        *_settled(book, now),
    ]
    # As `book_kernels.refresh` has it.
    renews = book.groups["stale"][0] >= max(float(desk["patience"]), 0.5 * opened)
    if renews:
        own = np.union1d(own, np.flatnonzero(book.groups["stale"] >= desk["patience"]))
        jobs = book.open_jobs[:opened].copy()
        kept += [(book.jobs["score"], jobs)]
        kept += [(book.promises["chance"], 2 * jobs + question) for question in range(2)]
    kept += [(book.groups[name], own) for name in LARGE]
    before = [array[rows].copy() for array, rows in kept]
    try:
        yield
    finally:
        for (array, rows), was in zip(kept, before, strict=True):
            array[rows] = was


def _settled(book: BookState, now: int) -> list[Kept]:
    """Return what is written where promises are settled whose deadlines have passed."""
    heap = book.heap[: int(book.desk["heap"][0])]
    passed = heap[book.promises["deadline"][heap] < now]
    return [(book.promises, passed), (heap, slice(None))] if len(passed) else []
