"""The compiled rules of placement, written in Python as a user would."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]


def least_risky(free: Int, size: int, risk: npt.NDArray[np.float64], start: int, end: int) -> Int:
    """Return the `size` nodes of lowest risk, lower number first among equals."""
    return free[np.lexsort((free, risk))[:size]]


def lowest(free: Int, size: int, risk: npt.NDArray[np.float64], start: int, end: int) -> Int:
    """Return the `size` lowest-numbered nodes."""
    return free[:size]
