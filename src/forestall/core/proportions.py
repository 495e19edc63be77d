"""Intervals of a share: so many of so many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from forestall.core.model.arrays import Floats


def wilson_bounds(
    hit: npt.ArrayLike, of: npt.ArrayLike, level: float = 0.95, shared: npt.ArrayLike = 1.0
) -> tuple[Floats, Floats]:
    """Return both ends of Wilson's score interval of shares; sensible near 0 and 1, and for few.

    Parameters
    ----------
    hit, of : so many of so many
    level : of the interval, above 0 and below 1
    shared : design effects, at least 1: how many of `of` are worth one that is drawn by itself

    Returns
    -------
    float64 each, of the shape of the arguments; of none of none it is 0 to 1. The ends for none
    and for all are exactly 0 and 1.

    Source: Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    hits, every = np.asarray(hit, dtype=np.float64), np.asarray(of, dtype=np.float64)
    z2 = float(ndtri((1 + level) / 2)) ** 2
    some = np.maximum(every, 1.0)
    share, n = hits / some, some / np.maximum(np.asarray(shared, dtype=np.float64), 1.0)
    scale = 1 + z2 / n
    middle = (share + z2 / (2 * n)) / scale
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / scale
    low = np.where(hits > 0, np.maximum(middle - half, 0.0), 0.0)
    high = np.where(hits < every, np.minimum(middle + half, 1.0), 1.0)
    return low, np.where(every > 0, high, 1.0)


def wilson(hit: int, of: int, level: float = 0.95, shared: float = 1.0) -> tuple[float, float]:
    """Return both ends of Wilson's interval of one share; see `wilson_bounds`."""
    low, high = wilson_bounds(hit, of, level, shared)
    return float(low), float(high)
