"""How a replay tells moments, and how many of all rows it shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

MOST: Final = 20
"""Rows of what differs."""


def moment(at: int) -> str:
    """Return s since 1970 as a date, UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def of_all(shown: int, count: int) -> str:
    """Return how many of all rows are shown."""
    return f"the first {shown} of {count:,}" if shown < count else f"{count:,}"
