"""Bounds of a quantile from past values alone: which order statistic, whatever their law.

Of n independent values of one law, the number at or below its q-quantile is binomial(n, q), or more
where values tie. So the k-th smallest is at least the quantile with confidence c where
sum_{j<k} C(n, j) q^j (1 - q)^(n - j) >= c; the smallest such k gives the sharpest bound. There is
one from n >= ln(1 - c) / ln q on: 59 values for q = c = 0.95.

Sources: Wilks, Annals of Mathematical Statistics 12, 1941; Nurmi, Brevik and Wolski, "QBETS: queue
bounds estimation from time series", JSSPP 2007.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError

SLACK: Final = 1e-12
"""A sum that misses the confidence by no more than its rounding is enough."""
NONE: Final = 0
"""The rank where too few values are there for a bound."""


def check(quantile: float, confidence: float) -> None:
    """Raise ParameterError where these are no quantile and confidence."""
    for name, value in (("quantile", quantile), ("confidence", confidence)):
        if isinstance(value, bool) or not 0 < value < 1:
            raise ParameterError(name, value, "a number between 0 and 1")


def least_values(quantile: float = 0.95, confidence: float = 0.95) -> int:
    """Return how many values an upper bound needs at least.

    >>> least_values(), least_values(0.5, 0.95)
    (59, 5)
    """
    check(quantile, confidence)
    few = math.ceil(math.log1p(-confidence) / math.log(quantile))
    # The quotient of logarithms can be a whole number, and rounding then falls on either side.
    around = np.arange(max(few - 1, 1), few + 2)
    enough = upper_ranks(around, quantile, confidence) > NONE
    return int(around[np.argmax(enough)])


def upper_ranks(counts: npt.ArrayLike, quantile: float = 0.95, confidence: float = 0.95) -> Ints:
    """Return which of n values in ascending order, counted from 1, is an upper bound.

    Parameters
    ----------
    counts : n of any shape, whole numbers of at least 0
    quantile, confidence : between 0 and 1

    Returns int64 of that shape, `NONE` where n is too small. Raises ParameterError.
    """
    check(quantile, confidence)
    number = _whole(counts)
    # The smallest k in (low, high] with enough below it; high is known to be enough.
    low, high = np.zeros_like(number), number.copy()
    while bool(np.any(high - low > 1)):
        middle = (low + high) // 2
        enough = (
            bdtr(np.maximum(middle - 1, 0).astype(float), number, quantile) >= confidence - SLACK
        )
        enough &= middle > 0
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle)
    last = bdtr(np.maximum(high - 1, 0).astype(float), np.maximum(number, 1), quantile)
    return np.where((number > 0) & (last >= confidence - SLACK), high, NONE)


def lower_ranks(counts: npt.ArrayLike, quantile: float = 0.95, confidence: float = 0.95) -> Ints:
    """Return which of n values in ascending order, counted from 1, is a lower bound: the mirror
    image of `upper_ranks`, with the same parameters and errors."""
    number = _whole(counts)
    check(quantile, confidence)
    mirrored = upper_ranks(number, 1 - quantile, confidence)
    return np.where(mirrored > NONE, number + 1 - mirrored, NONE)


def upper_bound(values: npt.ArrayLike, quantile: float = 0.95, confidence: float = 0.95) -> float:
    """Return a bound that is at or above the quantile with this confidence; inf where the values
    are too few. Raises ParameterError."""
    held = np.asarray(values, dtype=np.float64).ravel()
    rank = int(upper_ranks(len(held), quantile, confidence))
    return math.inf if rank == NONE else float(np.partition(held, rank - 1)[rank - 1])


def lower_bound(values: npt.ArrayLike, quantile: float = 0.95, confidence: float = 0.95) -> float:
    """Return a bound that is at or below the quantile with this confidence; -inf where the values
    are too few. Raises ParameterError."""
    held = np.asarray(values, dtype=np.float64).ravel()
    rank = int(lower_ranks(len(held), quantile, confidence))
    return -math.inf if rank == NONE else float(np.partition(held, rank - 1)[rank - 1])


def interval(
    values: npt.ArrayLike, quantile: float = 0.5, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the ends of an interval that holds the quantile with at least this confidence, half of
    the doubt on either side; infinite where the values are too few. Raises ParameterError."""
    check(quantile, confidence)
    each = (1 + confidence) / 2
    return lower_bound(values, quantile, each), upper_bound(values, quantile, each)


def rank_table(
    most: int, quantile: float = 0.95, confidence: float = 0.95
) -> npt.NDArray[np.int32]:
    """Return `upper_ranks` of 0, 1, ..., `most` values, int32[most + 1]."""
    return upper_ranks(np.arange(most + 1), quantile, confidence).astype(np.int32)


def _whole(counts: npt.ArrayLike) -> Ints:
    number = np.asarray(counts)
    if number.dtype.kind not in "iu" or bool(np.any(number < 0)):
        raise ParameterError("counts", counts, "whole numbers of at least 0")
    return number.astype(np.int64)
