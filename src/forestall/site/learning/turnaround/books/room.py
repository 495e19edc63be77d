"""Room in a book's arrays: tables that are too small for one more job are made larger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.site.learning.turnaround.book_state import POINTS, BookState


def with_room(book: BookState, jobs: int, tables: Mapping[str, int], *, learns: bool) -> BookState:
    """Return the book with room for so many jobs and one more that is only asked about, for one
    more open job, and for so many rows of other tables; what becomes too small is doubled."""
    held = len(book.jobs)
    if jobs >= held:
        room = 2 * held
        grown = book._replace(
            jobs=larger(book.jobs, room),
            promises=larger(book.promises, 2 * room),
            open_jobs=larger(book.open_jobs, room),
            heap=larger(book.heap, 2 * room),
        )
        grown.jobs["settled"][held:] = -1
        book = grown._replace(told=untold(book.told, room)) if learns else grown
    if int(book.desk["free"][0]) == 0:
        size = len(book.laws)
        free = np.zeros(2 * size, np.int64)
        free[:size] = np.arange(2 * size - 1, size - 1, -1)
        book = book._replace(laws=larger(book.laws, 2 * size), free=free)
        book.desk["free"] = size
    more = {
        name: larger(getattr(book, name), max(count, 2 * len(getattr(book, name))))
        for name, count in tables.items()
        if count > len(getattr(book, name))
    }
    return book._replace(**more)


def larger(array: Any, count: int) -> Any:
    """Return the array with room for more, what is new being 0."""
    grown = np.zeros(count, array.dtype).view(type(array))
    grown[: len(array)] = array
    return grown


def untold(told: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float32]:
    """Return room for so many laws that are told, the new ones not told yet."""
    grown = np.full((count, POINTS), -1.0, np.float32)
    grown[: len(told)] = told
    return grown
