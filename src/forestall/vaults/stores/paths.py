"""What the book of storage hosts says of the paths to them, for those who hold no NumPy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from forestall.core.model.errors import TraceError


class StorePath(NamedTuple):
    """A path to a host: bytes/s that were sent, and when that was last measured."""

    rate: float
    at: float


def measured_paths(path: Path) -> dict[str, StorePath]:
    """Return the paths that the book in a file knows, by host; the file is only read.

    Raises TraceError where it is no such book, or cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            rows = base.execute("SELECT host, bytes, seconds, at FROM paths").fetchall()
    except sqlite3.Error as error:
        raise TraceError(path, f"the book of storage hosts: {error}") from None
    return {
        host: StorePath(moved / seconds, at)
        for host, moved, seconds, at in rows
        if moved > 0 and seconds > 0
    }
