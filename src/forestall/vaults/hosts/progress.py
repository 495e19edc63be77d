"""How far a request to a storage host is: the host's code notes it, whoever waits for the request
looks at it. A request goes on while it moves bytes fast enough; else it is late."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SILENCE: Final = 30.0
"""s that a host has for its next bytes: a disk that is written back may take as long."""
FIRST: Final = 10.0
"""s that it has for a few bytes, as a vault is opened."""
RATE: Final = 8 * 1024
"""Bytes/s below which a request does not go on: a byte each few seconds is no progress."""
UNSEEN: Final = 256 * 1024
"""Bytes/s that are allowed for where nobody sees how far it is, as while a disk is waited for."""
ENTRY: Final = 1024
"""Bytes that an entry of a listing counts for."""


class RequestProgress:
    """How far one request is. A window of time begins anew each time that enough was moved in it.

    Parameters
    ----------
    silence : s that a window has
    """

    def __init__(self, silence: float = SILENCE) -> None:
        self._silence = silence
        self.restart()

    def restart(self) -> None:
        """Begin a window: nothing is waited for from the host up to now."""
        self._begun, self._moved, self._extra = time.monotonic(), 0, 0.0

    def add(self, count: int) -> None:
        """Note bytes that were moved."""
        self._moved += count

    def expect(self, size: int) -> None:
        """Allow for bytes that are on their way unseen."""
        self._extra += size / UNSEEN

    def is_late(self, now: float) -> bool:
        """Whether too little was moved until now, s of the monotonic clock."""
        allowed = self._silence + self._extra
        if now - self._begun < allowed:
            return False
        if self._moved < RATE * allowed:
            return True
        self._begun, self._moved, self._extra = now, 0, 0.0
        return False

    @property
    def silence(self) -> float:
        """s that a window has."""
        return self._silence


_here = threading.local()


@contextmanager
def noted_in(progress: RequestProgress) -> Iterator[None]:
    """Note in it what this thread moves."""
    _here.progress = progress
    try:
        yield
    finally:
        _here.progress = None


def progress_here() -> RequestProgress:
    """Return the progress of this thread's request; one that nobody looks at where it has none."""
    return getattr(_here, "progress", None) or RequestProgress()
