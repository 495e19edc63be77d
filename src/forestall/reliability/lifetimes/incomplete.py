"""Logarithms of the regularised incomplete gamma functions, with derivatives by the shape.

P(a, x) is the probability that a gamma variate of shape a is at most x, Q(a, x) = 1 - P(a, x). Both
logarithms are exact where the function itself would be rounded to 0. Whole arrays go through a
series (x below a + 1) or a continued fraction (x above), with as many terms as the hardest element
needs; for large shapes near their mean, where either takes many, SciPy's uniform expansion is used.

Sources: NIST Digital Library of Mathematical Functions, 8.11.4 (the series) and 8.9.2 (the
fraction).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammainc, gammaincc, gammaln, zeta

from forestall.core.model.arrays import Bools, Floats

Three = tuple[Floats, Floats, Floats]
"""A value and its first and second derivative by the shape."""

LARGE = 100.0
"""Shapes from which SciPy's functions are used around the mean."""

_CHUNK = 8_192  # elements at a time, so that temporaries stay in the cache
_WIDTH = 8.0  # standard deviations around the mean that count as near, for large shapes
_LEAST = 1.5  # the fraction needs many terms for arguments below
_LEAST_OF_SLOPES = 4.0  # with slopes, where an error of 1e-13 does no harm and terms cost more


def log_upper(a: npt.ArrayLike, x: npt.ArrayLike) -> Floats:
    """Return log Q(a, x); `a` > 0 and `x` >= 0 broadcast."""
    return _both(a, x, 0)[0][0]


def log_lower(a: npt.ArrayLike, x: npt.ArrayLike) -> Floats:
    """Return log P(a, x); `a` > 0 and `x` >= 0 broadcast."""
    return _both(a, x, 0)[1][0]


def upper_terms(a: npt.ArrayLike, x: npt.ArrayLike) -> Three:
    """Return log Q(a, x) and its first and second derivative by a."""
    return _both(a, x, 2)[0]


def lower_terms(a: npt.ArrayLike, x: npt.ArrayLike) -> Three:
    """Return log P(a, x) and its first and second derivative by a."""
    return _both(a, x, 2)[1]


def log_weight(a: npt.ArrayLike, x: npt.ArrayLike) -> Floats:
    """Return log(x^a e^-x / Gamma(a)): the log-density of the logarithm of a gamma variate."""
    shape, at = np.asarray(a, dtype=np.float64), np.asarray(x, dtype=np.float64)
    return _weight(shape, at, _peak(shape))


def trigamma(a: npt.ArrayLike) -> Floats:
    """Return the second derivative of the logarithm of the gamma function."""
    return np.asarray(zeta(2.0, a))


def _both(a: npt.ArrayLike, x: npt.ArrayLike, order: int) -> tuple[Three, Three]:
    """Return log Q and log P with derivatives up to `order` (the others are left 0)."""
    shape, at = np.asarray(a, dtype=np.float64), np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        known = [_peak(shape)]
        if order:
            known += [digamma(shape), trigamma(shape)]
        whole = np.broadcast_shapes(shape.shape, at.shape)
        single = shape.size == 1
        parts = [v.reshape(()) if single else np.broadcast_to(v, whole).ravel() for v in known]
        shapes = shape.reshape(()) if single else np.broadcast_to(shape, whole).ravel()
        points = np.broadcast_to(at, whole).ravel()
        out = np.zeros((2, 3, points.size))
        for first in range(0, points.size, _CHUNK):
            here = slice(first, first + _CHUNK)
            chunk = _Chunk(
                shapes if single else shapes[here],
                points[here],
                [v if single else v[here] for v in parts],
                order,
                out[:, :, here],
            )
            chunk.fill()
    rows = out.reshape(2, 3, *whole)
    return (rows[0, 0], rows[0, 1], rows[0, 2]), (rows[1, 0], rows[1, 1], rows[1, 2])


class _Chunk:
    """A stretch of elements: one shape for all, or one each."""

    def __init__(self, a: Floats, x: Floats, gammas: list[Floats], order: int, out: Floats) -> None:
        self.a, self.x, self.gammas, self.order, self.out = a, x, gammas, order, out

    def fill(self) -> None:
        """Send each element the way that suits it."""
        a, x = self.a, self.x
        low = x < np.maximum(a + 1, _LEAST if self.order == 0 else _LEAST_OF_SLOPES)
        high = ~low & (x < np.inf)
        if (a > LARGE).any():
            near = (a > LARGE) & (np.abs(x - a) < _WIDTH * np.sqrt(a))
            self._through(near, self._near)
            low &= ~near
            high &= ~near
        self._through(low, self._series)
        self._through(high, self._fraction)
        np.copyto(self.out[:, 1:], 0.0, where=(x == 0) | (x == np.inf))
        np.copyto(self.out[0, 0], -np.inf, where=x == np.inf)
        for side in self.out:
            np.copyto(side[0], np.nan, where=np.isnan(x) | ~(a > 0))

    def _through(
        self,
        some: Bools,
        way: Callable[[Floats, Floats, list[Floats]], tuple[Three, Three]],
    ) -> None:
        """Fill in the elements of `some`."""
        if not some.any():
            return
        every = bool(some.all())
        index = slice(None) if every else np.flatnonzero(some)
        pick = (lambda v: v) if self.a.ndim == 0 else (lambda v: v[index])
        found = way(pick(self.a), self.x[index], [pick(v) for v in self.gammas])
        for side, three in zip(self.out, found, strict=True):
            for k in range(self.order + 1):
                side[k, index] = three[k]

    def _series(self, a: Floats, x: Floats, gammas: list[Floats]) -> tuple[Three, Three]:
        """P = x^a e^-x / Gamma(a + 1) times the sum over n of x^n / ((a + 1) ... (a + n))."""
        logx = np.log(x) if self.order else x
        total = np.ones_like(x)
        term = np.ones_like(x)
        slope, bend = np.zeros_like(x), np.zeros_like(x)
        first = second = np.zeros_like(a)
        scratch = np.empty_like(x)
        for n in range(1, _terms(a, x)):
            share = 1 / (a + n)
            np.multiply(x, share, out=scratch)
            term *= scratch
            total += term
            if self.order:
                first = first + share
                second = second + share * share
                np.multiply(term, first, out=scratch)
                slope -= scratch
                np.multiply(term, first * first + second, out=scratch)
                bend += scratch
        value = _weight(a, x, gammas[0]) - np.log(a) + np.log(total)
        if self.order:
            slope /= total
            bend /= total
            bend += 1 / (a * a) - gammas[2] - slope * slope
            slope += logx - gammas[1] - 1 / a
        three = (value, slope, bend)
        return _complement(three, self.order), three

    def _fraction(self, a: Floats, x: Floats, gammas: list[Floats]) -> tuple[Three, Three]:
        """Q = x^a e^-x / Gamma(a) / k with k = x + 1 - a - (1 - a) / (x + 3 - a - ...)."""
        depth = _levels(a, x)
        base = x - a
        k = base + (2 * depth + 1)
        slope, bend = np.full_like(x, -1.0), np.zeros_like(x)
        for m in range(depth, 0, -1):
            over = 1 / k
            c = m * (m - a)
            ratio = c * over
            if self.order:
                push = slope * over
                bend = (ratio * (bend - 2 * slope * push) - 2 * m * push) * over
                slope = m * over + ratio * push - 1
            k = base + (2 * m - 1)
            k -= ratio
        value = _weight(a, x, gammas[0]) - np.log(k)
        if self.order:
            slope = slope / k
            bend = slope * slope - gammas[2] - bend / k
            slope = np.log(x) - gammas[1] - slope
        three = (value, slope, bend)
        return three, _complement(three, self.order)

    def _near(self, a: Floats, x: Floats, gammas: list[Floats]) -> tuple[Three, Three]:
        """Differences of the smaller function that span a fraction of the spread of the law."""
        upper = x >= a
        step = 0.02 * np.sqrt(a)

        def at(shift: int) -> Floats:
            moved = a + shift * step
            value: Floats = np.where(upper, gammaincc(moved, x), gammainc(moved, x))
            return np.log(value)

        mid = at(0)
        zero = np.zeros_like(x)
        three = (mid, zero, zero)
        if self.order:
            far, near, after, beyond = at(-2), at(-1), at(1), at(2)
            three = (
                mid,
                (8 * (after - near) - (beyond - far)) / (12 * step),
                (16 * (after + near) - (beyond + far) - 30 * mid) / (12 * step**2),
            )
        other = _complement(three, self.order)
        pairs = list(zip(three, other, strict=True))
        u, v, w = (np.where(upper, mine, rest) for mine, rest in pairs)
        q, r, s = (np.where(upper, rest, mine) for mine, rest in pairs)
        return (u, v, w), (q, r, s)


def _peak(a: Floats) -> Floats:
    """Return log(a^a e^-a / Gamma(a)), for large shapes without loss of digits."""
    great = np.maximum(a, 16.0)
    inverse = 1 / (great * great)
    rest = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / great
    stirling = 0.5 * np.log(great / (2 * math.pi)) - rest
    return np.where(a > 16.0, stirling, a * np.log(a) - a - gammaln(a))


def _weight(a: Floats, x: Floats, peak: Floats) -> Floats:
    """Return log(x^a e^-x / Gamma(a))."""
    ratio = x / a
    return peak - a * (ratio - 1 - np.log(ratio))


def _complement(three: Three, order: int) -> Three:
    """Return log(1 - e^v) and its derivatives from v and its own."""
    value, slope, bend = three
    rest = -np.expm1(value)
    if not order:
        return np.log(rest), slope, bend
    odds = np.exp(value) / rest
    down = -odds * slope
    # odds is inf where nothing is left of 1 - e^v; what is asked for there is never used.
    return np.log(rest), down, -odds * (bend + slope * slope) - down * down


def _terms(a: Floats, x: Floats) -> int:
    """Return how many terms of the series no element needs more than."""
    most = float(np.max(a))
    ratio = float(np.max(x / (a + 1)))
    n, term = 1, 1.0
    while term > 1e-18 and n < 100_000:
        term *= ratio * (most + 1) / (most + n)
        n += 1
    return n + 1


def _levels(a: Floats, x: Floats) -> int:
    """Return a depth of the fraction that is enough for all elements: found by trial."""
    far = float(np.min((x - a) / np.sqrt(np.maximum(a, 1.0))))
    root = math.cbrt(float(np.max(a)))
    return math.ceil(6 + max(85 / float(np.min(x)), 8.5 * root / max(1.0, far / 3)))
