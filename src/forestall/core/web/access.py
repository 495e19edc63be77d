"""Who asks, and how often they may: a token, or the user at the other end of a Unix socket."""

from __future__ import annotations

import math
import pwd
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from forestall.core.model.live.desk import Viewer
from forestall.core.web.tokens import TokenStore

PEER: Final = "unix user "
"""What stands for the address of who asks over the socket, before the number of the user. The
kernel says it; nobody can send it."""
_MOST_KNOWN: Final = 10_000


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes
    ----------
    tokens : those that are known
    operators : users of this machine who are operators on the socket
    """

    tokens: TokenStore
    operators: Collection[str] = ("root",)

    def viewer_of(self, authorization: str, client: str) -> Viewer | None:
        """Return who asks, None for nobody that is known.

        authorization : the header; where it names a token, that alone counts
        client : the address of who asks, or `PEER` and the number of a user
        """
        if authorization:
            kind, _, token = authorization.partition(" ")
            return self.tokens.viewer(token.strip()) if kind.lower() == "bearer" else None
        return self._peer(client) if client.startswith(PEER) else None

    def _peer(self, client: str) -> Viewer | None:
        try:
            name = pwd.getpwuid(int(client.removeprefix(PEER))).pw_name
        except (KeyError, ValueError, OverflowError):
            return None
        return Viewer(name, "operator" if name in self.operators else "user")


class RateLimit:
    """So many requests of each asker in a second on average, and some more at once.

    Parameters
    ----------
    per_second, burst : how many
    clock : s; it never goes back
    """

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, who: str) -> int:
        """Count a request; return 0 where it may pass, else in how many s the next one may."""
        with self._lock:
            now = self._clock()
            left, at = self._left.get(who, (self._burst, now))
            left = min(left + (now - at) * self._rate, self._burst)
            if left < 1:
                return math.ceil((1 - left) / self._rate)
            if len(self._left) >= _MOST_KNOWN and who not in self._left:
                self._forget(now)
            self._left[who] = (left - 1, now)
            return 0

    def _forget(self, now: float) -> None:
        """Forget askers who may ask as much as anybody again; all, where that is not enough."""
        full = self._burst / self._rate
        kept = {who: one for who, one in self._left.items() if now - one[1] < full}
        self._left = kept if len(kept) < _MOST_KNOWN else {}


def client_of(scope: Any) -> str:
    """Return the address of who asks, by the connection."""
    client = scope.get("client")
    return str(client[0]) if client else ""
