"""The clocks of the agent, so that a test can set them."""

from __future__ import annotations

import time
from typing import Protocol


class AgentClock(Protocol):
    """What the agent asks for the time."""

    def wall(self) -> float:
        """Return Unix seconds; may jump."""

    def boot(self) -> float:
        """Return seconds since the machine was started, those in which it was suspended too."""

    def monotonic(self) -> float:
        """Return seconds of a clock that only goes on, and stands still while suspended."""

    def sleep(self, seconds: float) -> None:
        """Wait; may end early."""


class SystemClock:
    """The clocks of this machine."""

    def wall(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def boot(self) -> float:
        """Return seconds of CLOCK_BOOTTIME."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def monotonic(self) -> float:
        """Return seconds of CLOCK_MONOTONIC."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(max(0.0, seconds))
