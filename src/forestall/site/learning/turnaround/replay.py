"""A record of jobs replayed in time order: what would have been promised, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.site.learning.turnaround.book_state import CORRECTED, SUBMIT, BookState, new_book
from forestall.site.learning.turnaround.classes import calibrated, numbered
from forestall.site.learning.turnaround.tasks import Tasks

with lazily():
    from forestall.site.learning.turnaround import book_kernels

Progress = Callable[[int, int], None]

CHUNK: Final = 1 << 16
"""Events between two looks at the progress bar."""
_GOLDEN: Final = 0.6180339887498949
_SILVER: Final = 0.4142135623730951


@dataclass(frozen=True)
class ReplayedBook:
    """A book at the end of its record, and the jobs that it is of."""

    tasks: Tasks
    book: BookState
    warm: int


def spread(count: int, shift: float, step: float = _GOLDEN) -> Floats:
    """Return `count` numbers spread evenly over [0, 1), and evenly in every stretch of them: the
    multiples of an irrational step (Kronecker's sequence)."""
    return np.asarray((shift + step * np.arange(count)) % 1.0)


def mixed_levels(count: int, shift: float) -> Floats:
    """Return probabilities to ask for, spread evenly over 1 % to 99 %."""
    return np.asarray(0.01 + 0.98 * spread(count, shift))


def named_deadlines(count: int, shift: float) -> Floats:
    """Return which quantiles of past turnarounds jobs name as their deadlines, spread evenly."""
    return spread(count, shift, _SILVER)


def replay(
    tasks: Tasks,
    levels: Floats | None,
    names: Floats | None,
    rules: Mapping[str, float] | None = None,
    progress: Progress | None = None,
    *,
    told: npt.NDArray[np.float32] | None = None,
    shown: tuple[float, ...] = (),
) -> ReplayedBook:
    """Return the book after all events, with a promise for each job and question.

    Parameters
    ----------
    levels : float64[n], probabilities that jobs ask for; None: no deadlines are promised
    names : float64[n], which quantile of the latest turnarounds a job names as its deadline; None:
        no probabilities are promised
    rules : settings other than `book_state.RULES`
    progress : told of events done and all events
    told : float32[n, POINTS], laws of turnarounds told from elsewhere, s, corrected already; None:
        those of like jobs
    shown : levels of the quantiles that `offered` of the book shall have for every job and, where
        nothing is told, `alike` and `waits`
    """
    given = dict(rules or {})
    book = prepared(tasks, given)
    if told is not None:
        book = book._replace(told=told)
    if shown:
        room = np.zeros((len(tasks), len(shown)), np.float32)
        book = book._replace(levels=np.array(shown), offered=room)
        if told is None:
            book = book._replace(alike=np.zeros_like(room), waits=np.zeros_like(room))
    nothing = np.full(len(tasks), -1.0)
    asked = nothing if levels is None else np.ascontiguousarray(levels, np.float64)
    named = nothing if names is None else np.ascontiguousarray(names, np.float64)
    total = tasks.events.shape[1]
    turn = total if told is None else first_told(tasks, told)
    for first, last in pairwise(sorted({*range(0, total, CHUNK), turn, total})):
        if first == turn:
            rely_on_told(book, given)
        book_kernels.replay(book, tasks.events, asked, named, first, last)
        if progress is not None:
            progress(last, total)
    return ReplayedBook(tasks, book, int(book.desk["warm"][0]))


def first_told(tasks: Tasks, told: npt.NDArray[np.float32]) -> int:
    """Return how many events come before the submission of the first job with a law that is
    told; all where none has one."""
    _, kind, job = tasks.events
    found = np.flatnonzero((kind == SUBMIT) & (told[job, 0] >= 0))
    return int(found[0]) if len(found) else len(kind)


def rely_on_told(book: BookState, rules: Mapping[str, float]) -> None:
    """Let a book go by the rules for laws that were corrected before they were told, from the first
    of them on, but for those that somebody chose."""
    for name in CORRECTED.keys() - rules.keys():
        book.desk[name] = CORRECTED[name]


def prepared(tasks: Tasks, rules: dict[str, float]) -> BookState:
    """Return an empty book with what jobs say of themselves when they are submitted."""
    keys, near, far = numbered(tasks)
    user, part = tasks.user.code.astype(np.int64), tasks.part.code.astype(np.int64)
    # What says nothing is one of its own: the last.
    users, parts = len(tasks.user.words), len(tasks.part.words)
    part = np.where(part < 0, parts, part)
    alike, groups = calibrated(part, tasks.size)
    room = tasks.most_open + 1
    book = new_book(len(tasks), near, far, room, parts + 1, groups, users + 1, rules)
    book.jobs["limit"], book.jobs["size"] = tasks.limit, tasks.size
    book.jobs["user"] = np.where(user < 0, users, user)
    book.jobs["part"], book.jobs["groups"] = part, alike
    book.jobs["keys"] = keys
    return book
