"""How a run tells how far it has come."""

from __future__ import annotations

from collections.abc import Callable

CHUNK = 200_000
"""Events between two reports of progress."""

Progress = Callable[[int, int], None]
"""Called with the number of jobs done and of all jobs."""
