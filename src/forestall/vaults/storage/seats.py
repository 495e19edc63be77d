"""How many clients a storage daemon serves at once."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

from forestall.core.model.errors import ParameterError

EACH: Final = 8
"""Requests of one client at once."""


class Seats:
    """Clients that are being served. Any thread may ask.

    Parameters
    ----------
    limit : of clients at once
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ParameterError("clients", limit, "at least 1")
        self.limit = limit
        self._lock = threading.Lock()
        self._seated: Counter[str] = Counter()

    def enter(self, client: str) -> bool:
        """Seat a request of a client; False where there is no seat for it."""
        with self._lock:
            if client in self._seated:
                free = self._seated[client] < EACH
            else:
                free = len(self._seated) < self.limit
            if free:
                self._seated[client] += 1
            return free

    def leave(self, client: str) -> None:
        """Say that a request of a client is done."""
        with self._lock:
            self._seated[client] -= 1
            if not self._seated[client]:
                del self._seated[client]

    @property
    def taken(self) -> int:
        """Clients that are being served."""
        with self._lock:
            return len(self._seated)
