"""The clock of a simulated cluster: so many times as fast as ours, and at our pace while somebody
thinks about offers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

THINKING: Final = 60.0
"""s for which the clock goes at our pace after a question."""
LONGEST: Final = 240.0
"""s after which it goes on in any case, however often it is asked."""
FREE: Final = 10.0
"""s for which it then is not slowed again."""


class SimulatedClock:
    """Cluster time, s since 1970. Any thread may ask.

    It waits for who looks: it is never more than `ahead` seconds after the last look.

    An offer holds for minutes of the cluster's time, which at a high speed are over before anybody
    has read it. So the clock goes at our pace after `slow`, until `go` or `THINKING` seconds later.

    Parameters
    ----------
    origin : where it begins
    speed : seconds of it in one of ours, above 0
    ahead : s
    wall : our own clock, s; it never goes back
    """

    def __init__(
        self, origin: int, speed: float, ahead: int, wall: Callable[[], float] = time.monotonic
    ) -> None:
        self._speed, self._wall = speed, wall
        self._lock = threading.Lock()
        self._at, self._since = float(origin), wall()
        self._ahead, self._most = ahead, float(origin)
        self._slow_from = self._slow_until = -1e9

    def now(self) -> int:
        """Return the time."""
        with self._lock:
            return int(self._advance())

    def speed(self) -> float:
        """Return how fast it goes now."""
        with self._lock:
            return self._pace(self._wall())

    def looked(self) -> None:
        """Take note of a look that is done now."""
        with self._lock:
            self._most = self._advance() + self._ahead

    def slow(self) -> None:
        """Go at our pace for a while: somebody was made offers."""
        with self._lock:
            self._advance()
            now = self._since
            if now > self._slow_until + FREE or self._slow_until < 0:
                self._slow_from = now
            self._slow_until = max(self._slow_until, min(now + THINKING, self._slow_from + LONGEST))

    def go(self) -> None:
        """Go on: an offer was taken."""
        with self._lock:
            self._advance()
            self._slow_from = self._slow_until = -1e9

    def _pace(self, wall: float) -> float:
        return min(1.0, self._speed) if wall < self._slow_until else self._speed

    def _advance(self) -> float:
        """Bring the time up to date, slow for as long as it was."""
        wall, since = self._wall(), self._since
        middle = min(max(self._slow_until, since), wall)
        slow = min(1.0, self._speed)
        passed = (middle - since) * slow + (wall - middle) * self._speed
        self._at = min(self._at + passed, self._most)
        self._since = wall
        return self._at
