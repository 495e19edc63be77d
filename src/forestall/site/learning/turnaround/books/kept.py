"""A book's arrays, kept and restored; what does not fit together is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.site.learning.turnaround.book_state import (
    BINS,
    BLEND,
    COHORT,
    DESK,
    FAR,
    GROUP,
    JOB,
    LAW,
    NEAR,
    PART,
    POINTS,
    PROMISE,
    USER,
    BookState,
    pool,
)
from forestall.site.learning.turnaround.classes import NARROW, WIDE
from forestall.site.learning.turnaround.kept import inside, taken

RECORDS: Final = {
    "jobs": JOB,
    "promises": PROMISE,
    "near": pool(NEAR),
    "far": pool(FAR),
    "laws": LAW,
    "groups": GROUP,
    "parts": PART,
    "users": USER,
    "desk": DESK,
}
PLACES: Final = ("free", "open_jobs", "heap")


def kept_book(book: BookState) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a book that quotes jobs as they come."""
    return {name: getattr(book, name) for name in (*RECORDS, *PLACES, "told")}


def restored_book(arrays: Mapping[str, npt.NDArray[Any]]) -> BookState:
    """Return the book of which `kept_book` told. Raises KeyError and ValueError."""
    book = BookState(
        levels=np.zeros(0),
        **dict.fromkeys(("alike", "waits", "offered"), np.zeros((0, 0), np.float32)),
        told=taken(arrays, "told", np.float32, (None, POINTS)),
        **{name: taken(arrays, name, kind, (None,)) for name, kind in RECORDS.items()},
        **{name: taken(arrays, name, np.int64, (None,)) for name in PLACES},
    )
    count = len(book.jobs)
    lengths = (len(book.promises), len(book.open_jobs), len(book.heap), len(book.free))
    if lengths != (2 * count, count, 2 * count, len(book.laws)) or len(book.desk) != 1:
        raise ValueError("tables of different lengths")
    _check_jobs(book)
    _check_desk(book)
    return book


def _check_jobs(book: BookState) -> None:
    """Raise ValueError where jobs point outside the tables."""
    jobs = book.jobs
    bounds = {
        "user": len(book.users),
        "part": len(book.parts),
        "slot": len(book.laws),
        "place": len(jobs),
        "groups": len(book.groups),
        "wait_level": 5,
        "run_level": 5,
    }
    for name, bound in bounds.items():
        inside(name, jobs[name], bound)
    for column, block in (NARROW | WIDE).items():
        table = book.near if column in NARROW else book.far
        inside("keys", jobs["keys"][:, column], len(table) - block + 1)
    others = [at for at in range(jobs["keys"].shape[1]) if at not in NARROW | WIDE]
    inside("keys", jobs["keys"][:, others], len(book.far))
    inside("rows", jobs["rows"][:, :2], len(book.near))
    inside("rows", jobs["rows"][:, 2:], len(book.far))
    inside("bin", book.promises["bin"], BINS)


def _check_desk(book: BookState) -> None:
    """Raise ValueError where what is held, open or free points outside."""
    desk, count = book.desk, len(book.jobs)
    for name, held, places, bound in (
        ("open", desk["open"], book.open_jobs, count),
        ("heap", desk["heap"], book.heap, 2 * count),
        ("free", desk["free"], book.free, len(book.laws)),
    ):
        inside(name, held, len(places) + 1)
        inside(name, places, bound)
    for name, table, depth in (("near", book.near, NEAR), ("far", book.far, FAR)):
        inside(name, table["held"], depth + 1)
        inside(name, table["head"], depth)
    inside("cohort", book.groups["cohort"], count)
    for name, most in (("held", COHORT), ("steps", COHORT), ("bent", BLEND)):
        inside(name, book.groups[name], most + 1)
