"""One command at a time: a lock on the folder of a fleet, which ends with the process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from forestall.model.errors import TraceError

WATCH: Final = "watch.lock"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a fleet from look to deed; waits for whoever holds it.

    The folder itself is locked, so that nothing needs to be written. Processes that are started
    meanwhile do not inherit the lock. Raises TraceError where the folder cannot be opened.
    """
    handle = _opened(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def only_watch(folder: Path) -> Iterator[None]:
    """Be the one watch over a fleet. Raises TraceError where there is one already."""
    handle = _opened(folder / WATCH, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TraceError(folder, "another watch is at work on this fleet") from None
        yield
    finally:
        os.close(handle)


def _opened(path: Path, how: int) -> int:
    try:
        return os.open(path, how | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise TraceError(path, f"cannot be opened: {error.strerror or error}") from None
