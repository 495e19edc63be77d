"""Books of quotes to files and back: one file each, with a version, that is never executed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.files.guard import making
from forestall.core.model.errors import ParameterError
from forestall.site.learning.turnaround.book import CompletionBook
from forestall.site.learning.turnaround.target_learner import Fitting, at_need

WHAT: Final = "forestall book of quotes"
VERSION: Final = 1


def save_book(book: CompletionBook, path: str | Path) -> None:
    """Write a book with all that it has learned to one file; see `load_book`.

    Waits for a forest that is being fitted. Raises TraceError if the file cannot be written,
    ParameterError for anything but a book, or if a job's name is neither text nor number.
    """
    if not isinstance(book, CompletionBook):
        raise ParameterError("book", book, "a CompletionBook")
    values, arrays = book.state()
    write_bundle(path, WHAT, VERSION, values, arrays)


def load_book(path: str | Path, *, fitting: Fitting = at_need) -> CompletionBook:
    """Return the book that `save_book` wrote, which goes on as if it had never stopped.

    `fitting` is as in `CompletionBook`. Raises TraceError where the file is missing, damaged, of a
    later version or of another kind.
    """
    values, arrays = read_bundle(path, WHAT, VERSION)
    with making(path, WHAT):
        return CompletionBook.from_state(values, arrays, fitting=fitting)
