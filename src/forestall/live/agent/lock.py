"""One agent for a folder: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from forestall.model.errors import TraceError

LOCK: Final = "agent.lock"
AGAIN: Final = 0.2
"""Seconds after which a lock that is taken is tried again: who asks `running` holds it shortly."""


@contextmanager
def only_agent(folder: Path) -> Iterator[None]:
    """Be the one agent of a folder, which is made where it is not there.

    Raises TraceError where there is an agent already, or the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise TraceError(folder, f"cannot be written to: {error.strerror or error}") from None
    try:
        if not _taken(handle):
            time.sleep(AGAIN)
            if not _taken(handle):
                holder = _number(handle)
                named = f" (process {holder})" if holder else ""
                raise TraceError(folder, f"another agent{named} is at work on this folder")
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def running(folder: Path) -> int | None:
    """Return the process of the agent at work on a folder, 0 where it is not told; None: none."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _number(handle)
    finally:
        os.close(handle)
    return None


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _number(handle: int) -> int:
    try:
        return int(os.pread(handle, 32, 0))
    except (OSError, ValueError):
        return 0
