"""How many misses in a row say that the past no longer holds.

A bound on the 0.95-quantile is missed by one wait in twenty while all is as it was. Waits that
follow each other are alike, so misses come in runs even then, and a run must be longer to say
anything the more alike they are. Here waits are taken to be a Gaussian process of order one behind
some monotone curve: X_t = rho X_{t-1} + sqrt(1 - rho^2) e_t, a miss where X_t is above its
q-quantile. The chance that n such waits hold a run of k misses is integrated along the chain, the
state being the length of the present run and X; `run_length` is the least k whose chance is at most
`alpha`. Without autocorrelation, for 59 waits and 0.05, it is 3, as QBETS has it.

The idea is that of Nurmi, Brevik and Wolski (JSSPP 2007), who count misses against a table by
autocorrelation. Their table does not come out of this process, and how it was simulated is not told
in full; the lengths here are computed, for whatever quantile, history and alpha.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError

ALPHA: Final = 0.05
"""How likely a run that says "change" may be where nothing changed, over one least history."""
STEP: Final = 0.05
HIGHEST: Final = 0.95
"""Autocorrelations above it are taken for it: runs would grow without end."""
FAR: Final = 7.5
"""Standard deviations beyond which the integral is cut: less than 1e-13 lies there."""
POINTS: Final = 48
"""Gauss-Legendre points for each side of the quantile."""


def run_chance(length: int, rho: float, quantile: float = 0.95, waits: int = 59) -> float:
    """Return the chance that among `waits` waits at least `length` in a row miss a bound at their
    `quantile`.

    Parameters
    ----------
    length : at least 1
    rho : lag-1 autocorrelation of the waits' normal scores, within 0 and `HIGHEST`
    quantile : between 0 and 1
    waits : at least 1

    Raises ParameterError.
    """
    _check(rho, quantile, waits)
    if isinstance(length, bool) or length < 1:
        raise ParameterError("length", length, "a whole number of at least 1")
    if length > waits:
        return 0.0
    return _chance(int(length), *_kernels(float(rho), float(quantile)), waits)


def run_length(rho: float, quantile: float = 0.95, waits: int = 59, alpha: float = ALPHA) -> int:
    """Return how many misses in a row have a chance of at most `alpha`; `waits` + 1 where even all
    missed would be likelier. Parameters as in `run_chance`; raises ParameterError.

    >>> run_length(0.0)
    3
    """
    _check(rho, quantile, waits)
    if not 0 < alpha < 1:
        raise ParameterError("alpha", alpha, "a number between 0 and 1")
    return _least(float(rho), float(quantile), int(waits), float(alpha), 1)


@lru_cache(maxsize=16)
def run_lengths(quantile: float = 0.95, waits: int = 59, alpha: float = ALPHA) -> tuple[int, ...]:
    """Return `run_length` for rho = 0, STEP, 2 STEP, ..., HIGHEST, never falling."""
    _check(0.0, quantile, waits)
    lengths: list[int] = []
    for rho in grid():
        # A run of misses is the likelier the more alike waits are: begin where the last one ended.
        lengths.append(_least(rho, quantile, waits, alpha, lengths[-1] if lengths else 1))
    return tuple(lengths)


def grid() -> tuple[float, ...]:
    """Return the autocorrelations that `run_lengths` is for."""
    return tuple(round(STEP * k, 10) for k in range(round(HIGHEST / STEP) + 1))


def autocorrelation(waits: npt.ArrayLike) -> float:
    """Return the lag-1 autocorrelation of what waits would be on a normal scale.

    Spearman's rank correlation r of each wait and the next, as 2 sin(pi r / 6): that of the
    Gaussian process whose ranks correlate so (Pearson, 1907). Ties get their mean rank. nan where
    there are fewer than 3 waits or all are alike.
    """
    values = np.asarray(waits, dtype=np.float64).ravel()
    if len(values) < 3:
        return math.nan
    ordered = np.sort(values)
    rank = np.searchsorted(ordered, values) + np.searchsorted(ordered, values, side="right")
    centred = rank - rank.mean()
    spread = float(centred @ centred)
    if spread == 0:
        return math.nan
    return 2 * math.sin(math.pi * float(centred[1:] @ centred[:-1]) / spread / 6)


def _least(rho: float, quantile: float, waits: int, alpha: float, least: int) -> int:
    kernels = _kernels(rho, quantile)
    for length in range(least, waits + 1):
        if _chance(length, *kernels, waits) <= alpha:
            return length
    return waits + 1


def _kernels(rho: float, quantile: float) -> tuple[Floats, Floats, int]:
    """Return the chances of each grid point at first, those of going from one to another, and how
    many of the points are below the quantile; those below come first."""
    edge = float(ndtri(quantile))
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    at, width = [], []
    for low, high in ((-FAR, edge), (edge, FAR)):
        at.append((high + low) / 2 + (high - low) / 2 * points)
        width.append((high - low) / 2 * weights)
    x, w = np.concatenate(at), np.concatenate(width)
    first = w * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    spread = math.sqrt(1 - rho**2)
    away = (x[None, :] - rho * x[:, None]) / spread
    onward = w[None, :] * np.exp(-(away**2) / 2) / (spread * math.sqrt(2 * math.pi))
    # The points are few for a steep curve; rows that add up to 1 keep what there is.
    return first / first.sum(), onward / onward.sum(axis=1, keepdims=True), POINTS


def _chance(length: int, first: Floats, onward: Floats, below: int, waits: int) -> float:
    """Return the chance of a run of at least `length` misses. Row j of `state` holds the points
    with a present run of j misses: those below the edge for j = 0, those above it else."""
    held = first[:below]
    missed = np.zeros((length, len(first) - below))
    missed[0] = first[below:]
    gone = float(missed[0].sum()) if length == 1 else 0.0
    for _ in range(waits - 1):
        going = missed[: length - 1]
        from_missed = going.sum(axis=0) @ onward[below:]
        from_held = held @ onward[:below]
        longer = going @ onward[below:, below:]
        held = from_held[:below] + from_missed[:below]
        missed = np.zeros_like(missed)
        missed[0] = from_held[below:]
        missed[1:] = longer
        gone += float(missed[length - 1].sum())
    return min(gone, 1.0)


def _check(rho: float, quantile: float, waits: int) -> None:
    if not 0 <= rho <= HIGHEST:
        raise ParameterError("rho", rho, f"a number from 0 to {HIGHEST}")
    if not 0 < quantile < 1:
        raise ParameterError("quantile", quantile, "a number between 0 and 1")
    if isinstance(waits, bool) or waits < 1:
        raise ParameterError("waits", waits, "a whole number of at least 1")
