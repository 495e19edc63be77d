"""What may be asked of a book, and how much of a law a time has reached."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.site.learning.turnaround.book_state import (
    CANCEL,
    END,
    FAIL,
    LOSE,
    REQUEUE,
    START,
    STOP,
)

Event = Literal["start", "end", "cancel", "fail", "lose", "requeue", "stop"]
EVENTS: Final[dict[str, int]] = {
    "start": START,
    "end": END,
    "cancel": CANCEL,
    "fail": FAIL,
    "lose": LOSE,
    "requeue": REQUEUE,
    "stop": STOP,
}


def told_of(nodes: int, limit: int | None, user: str, name: str, partition: str) -> dict[str, Any]:
    """Return what a job says of itself. Raises ParameterError for sizes below 1."""
    if nodes < 1:
        raise ParameterError("nodes", nodes, "a whole number of at least 1")
    if limit is not None and limit < 1:
        raise ParameterError("limit", limit, "seconds, at least 1, or None")
    told = {"size": nodes, "limit": limit or 0, "user": user, "name": name}
    return {**told, "partition": partition}


def check_level(probability: float) -> None:
    """Raise ParameterError for what is no probability."""
    if not 0 < probability < 1:
        raise ParameterError("probability", probability, "a number between 0 and 1")


def check_deadline(deadline: int, now: int) -> None:
    """Raise ParameterError for a deadline that has passed."""
    if deadline <= now:
        raise ParameterError("deadline", deadline, f"a time after now, {now}")


def reached(law: Floats, waits: Floats, age: int) -> float:
    """Return the probability of wait and run time together of at most `age`."""
    return float(np.interp(age - waits, law[1], law[2], left=0.0).mean()) if age >= 0 else 0.0
