"""Lifetimes of wear and of first passage: inverse Gaussian and Birnbaum-Saunders.

Sources: Chhikara and Folks, "The Inverse Gaussian Distribution", 1989; Birnbaum and Saunders, J.
Appl. Prob. 6, 1969; for the starting values of the latter, Ng, Kundu and Balakrishnan, Comput.
Stat. Data Anal. 43, 2003.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, log_ndtr, ndtri

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import BLOCK, Batch, BatchPart, Derivatives, Fittable

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)


class InverseGaussian(Fittable):
    """Inverse Gaussian: density sqrt(s / (2 pi t^3)) exp(-s (t - mean)^2 / (2 mean^2 t)), with s
    the `shape_scale`, a time; the variance is mean^3 / s."""

    name, title = "inverse-gaussian", "Inverse Gaussian"
    parameters = ("mean", "shape_scale")
    kinds = ("scale", "scale")
    edge: ClassVar[dict[str, float]] = {"mean": 40.0, "shape_scale": 40.0}

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf up to 0."""
        root, wide = self._roots(t, *theta)
        with np.errstate(all="ignore"):
            value = np.log(root) - np.log(t) - 0.5 * (wide - root) ** 2 - _HALF_LOG_TAU
        return np.where((np.asarray(t) > 0) & np.less(t, np.inf), value, -np.inf)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        root, wide = self._roots(t, *theta)
        with np.errstate(all="ignore"):
            value = _log_tails(root, wide)[0]
        return np.where(np.asarray(t) > 0, np.where(np.equal(t, np.inf), -np.inf, value), 0.0)

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        root, wide = self._roots(t, *theta)
        with np.errstate(all="ignore"):
            value = _log_tails(root, wide)[1]
        return np.where(np.asarray(t) > 0, np.where(np.equal(t, np.inf), 0.0, value), -np.inf)

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed: Newton in log t within brackets."""
        mean, strength = (np.asarray(v, dtype=np.float64) for v in theta)
        share, ratio = np.broadcast_arrays(np.asarray(p, dtype=np.float64), strength / mean)
        with np.errstate(all="ignore"):
            low, high = _bracket(share, ratio)
            for _ in range(200):
                at = 0.5 * (low + high)
                t = np.exp(at)
                below = _log_tails(np.sqrt(ratio / t), np.sqrt(ratio * t))[1] < np.log(share)
                low, high = np.where(below, at, low), np.where(below, high, at)
                if np.max(high - low, initial=0.0) < 1e-3:
                    break
            answer = np.exp(self._polished(0.5 * (low + high), share, ratio))
            inside = np.where(share == 1, np.inf, np.where(share == 0, 0.0, mean * answer))
        return np.where((share >= 0) & (share <= 1), inside, np.nan)

    def _polished(self, at: Floats, share: Floats, ratio: Floats) -> Floats:
        """Return log t after Newton steps on the smaller of the two tails' logarithms."""
        for _ in range(4):
            t = np.exp(at)
            root, wide = np.sqrt(ratio / t), np.sqrt(ratio * t)
            survival, below = _log_tails(root, wide)
            density = np.log(root) - 0.5 * (wide - root) ** 2 - _HALF_LOG_TAU  # of log t
            up = share > 0.5
            off = np.where(up, survival - np.log1p(-share), np.log(share) - below)
            at = at + np.clip(off * np.exp(np.where(up, survival, below) - density), -0.1, 0.1)
        return at

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        return np.asarray(theta[0], dtype=np.float64)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        mean, strength = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(over="ignore", under="ignore"):
            return mean * mean * (mean / strength)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        mean, strength = (np.asarray(v, dtype=np.float64) for v in theta)
        # A draw may be rounded to 0 where the law reaches many decades.
        with np.errstate(under="ignore"):
            return mean * np.maximum(rng.wald(1.0, strength / mean, shape), 1e-300)

    def _roots(self, t: Floats, *theta: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return sqrt(s / t) and sqrt(s t) / mean: their difference is the standard deviate."""
        mean, strength = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            ratio = np.maximum(t, 0.0) / mean
            unit = strength / mean
            return np.sqrt(unit / ratio), np.sqrt(unit * ratio)

    def start(self, batch: Batch) -> Floats:
        """Return the fit of the gaps as if all had ended, the mean raised for what had not."""
        count, total = np.zeros(len(batch)), np.zeros(len(batch))
        parts = [part for part in (batch.exact, batch.right, batch.left) if len(part)]
        for part in parts:
            count += part.count
            total += part.sum
        mean = total / count
        spread = np.zeros(len(batch))
        for part in parts:
            spread += _spread(part, mean)
        strength = count / np.maximum(spread, 1e-15 * count)
        if batch.censored:
            mean = total / np.maximum(batch.ended.count, 0.5)
        return np.stack([mean, strength], axis=1)

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum where nothing is censored."""
        theta = None if batch.censored else self.start(batch)
        return None if theta is None or (theta[:, 1] > 1e14).any() else theta

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by log mean and log shape_scale."""
        mean, strength = np.exp(unconstrained).T
        part = batch.exact
        n = part.count
        off = strength * (part.sum - n * mean) / mean**2
        square = 0.5 * strength * _spread(part, mean)
        value = n * (0.5 * unconstrained[:, 1] - _HALF_LOG_TAU) - 1.5 * part.sum_log - square
        answer = np.zeros((6, len(batch)))
        answer += [
            value, off, 0.5 * n - square, -2 * off - strength * n / mean, off, -square,
        ]  # fmt: skip
        for part, side in ((batch.right, 0), (batch.left, 1)):
            for some in part.columns(max(1, BLOCK // len(batch))):
                root = np.sqrt(strength[:, None] / some.time)
                wide = root * (some.time / mean[:, None])
                for row, each in zip(answer, _tail_terms(root, wide, side), strict=True):
                    row += some.total(each)
        value, gm, gs, hmm, hms, hss = answer
        return value, np.stack([gm, gs], axis=1), _symmetric(hmm, hms, hss)

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return the mean where it is beyond all bounds."""
        return ("mean",) if self.remarks(batch, theta) else ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say so where censored gaps leave the mean without an upper bound."""
        longest = max(float(part.time.max(initial=0.0)) for part in (batch.exact, batch.right))
        if theta[0] > 1e6 * longest:
            return ("no maximum: the mean grows without bound",)
        return ()


def _spread(part: BatchPart, mean: Floats) -> Floats:
    """Return float64[B], the sum of (t - mean)^2 / (mean^2 t)."""
    total = np.zeros(len(mean))
    for some in part.columns(max(1, BLOCK // len(mean))):
        off = some.time / mean[:, None] - 1
        total += some.total(off * off / some.time)
    return total


def _log_tails(root: Floats, wide: Floats) -> tuple[Floats, Floats]:
    """Return log survival and log cdf.

    With z = wide - root and w = wide + root the cdf is Phi(z) + e^(2 s / mean) Phi(-w). All is
    over e^(-z^2 / 2), so that nothing is rounded to 0.
    """
    z = wide - root
    small = erfcx((wide + root) * _ROOT_HALF)
    lead = -0.5 * z * z - math.log(2.0)
    near = np.exp(lead)
    after = z > 0
    own = erfcx(np.abs(z) * _ROOT_HALF)
    beyond = lead + np.log(np.where(after, own - small, own + small))  # of the tail on z's side
    other = np.log1p(-near * np.where(after, own - small, own + small))
    return np.where(after, beyond, other), np.where(after, other, beyond)


def _tail_terms(root: Floats, wide: Floats, side: int) -> tuple[Floats, ...]:
    """Return the logarithm of survival (side 0) or cdf (1), and its derivatives by m = log mean
    and s = log shape_scale: value, m, s, mm, ms, ss.

    S = Phi(-z) - E with E = e^c Phi(-w), c = 2 wide root: S_m = c E and S_s = root f - c E, with f
    the normal density at z.
    """
    z, w, c = wide - root, wide + root, 2 * wide * root
    log_value = _log_tails(root, wide)[side]
    with_sign = 1.0 if side == 0 else -1.0
    scale = with_sign * np.exp(-0.5 * z * z - log_value)
    f = scale * math.exp(-_HALF_LOG_TAU)
    e = scale * 0.5 * erfcx(w * _ROOT_HALF)
    e_m, e_s = f * wide - c * e, c * e - 0.5 * f * w
    m, s = c * e, root * f - c * e
    mm, ms = c * (e_m - e), c * (e + e_s)
    ss = 0.5 * root * f * (1 - z * z) - c * (e + e_s)
    return log_value, m, s, mm - m * m, ms - m * s, ss - s * s


def _bracket(share: Floats, ratio: Floats) -> tuple[Floats, Floats]:
    """Return logarithms of t over the mean, below and above any quantile of floating point."""
    low = np.log(ratio) - 2 * np.log(40.0 + np.sqrt(ratio))
    deep = np.sqrt(np.maximum(-2 * np.log(share), 1.0)) + 2
    low = np.minimum(low, np.log(ratio) - 2 * np.log(deep + np.sqrt(ratio))) - 1
    high = np.log1p((200 + 20 * np.sqrt(ratio)) / ratio) + 1
    return low, high


class BirnbaumSaunders(Fittable):
    """Birnbaum-Saunders: (sqrt(t / scale) - sqrt(scale / t)) / shape is standard normal; the scale
    is the median."""

    name, title = "birnbaum-saunders", "Birnbaum-Saunders"
    parameters = ("shape", "scale")
    kinds = ("shape", "scale")

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf up to 0."""
        z = self.z(t, *theta)
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(t, 0.0) / scale)
            value = np.log((root + 1 / root) / (2 * shape)) - 0.5 * z * z - np.log(t)
        inside = (np.asarray(t) > 0) & np.less(t, np.inf) & (np.abs(z) < np.inf)
        return np.where(inside, value - _HALF_LOG_TAU, -np.inf)

    def z(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the standard normal deviate at time `t`; -inf up to 0."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            ratio = np.maximum(t, 0.0) / scale
            root = np.sqrt(ratio)
            return (ratio - 1) / root / shape

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        z = self.z(t, *theta)
        return np.asarray(log_ndtr(-np.where(np.equal(t, np.inf), np.inf, z)))

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        z = self.z(t, *theta)
        return np.asarray(log_ndtr(np.where(np.equal(t, np.inf), np.inf, z)))

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        return self._time(ndtri(p), *theta)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        return self._time(rng.standard_normal(shape), *theta)

    def _time(self, z: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            return np.asarray(scale * np.exp(2 * np.arcsinh(0.5 * shape * z)))

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale (1 + shape^2 / 2)."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        return scale * (1 + 0.5 * shape * shape)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return (scale shape)^2 (1 + 5 shape^2 / 4)."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(over="ignore", under="ignore"):
            return (scale * shape) ** 2 * (1 + 1.25 * shape * shape)

    def start(self, batch: Batch) -> Floats:
        """Return the moment estimates from the means of t and of 1 / t."""
        count, total, inverse = (np.zeros(len(batch)) for _ in range(3))
        for part in (batch.exact, batch.right, batch.left):
            if len(part):
                count += part.count
                total += part.sum
                inverse += part.total(1 / part.time)
        ratio = np.sqrt(np.maximum(total * inverse, 0.0)) / count
        shape = np.sqrt(2 * np.maximum(ratio - 1, 1e-10))
        hidden = np.log(count / np.maximum(batch.ended.count, 0.5))
        return np.stack([shape, np.sqrt(total / inverse) * np.exp(hidden * shape)], axis=1)

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by log shape and log scale."""
        rate, over = np.exp(-unconstrained[:, 0]), np.exp(-unconstrained[:, 1])
        answer = np.zeros((6, len(batch)))
        for some in batch.exact.columns(max(1, BLOCK // len(batch))):
            answer += _wear_terms(some, rate, over)
        part = batch.exact
        answer[0] -= part.count * (unconstrained[:, 0] + _HALF_LOG_TAU)
        answer[1] -= part.count
        if len(part):
            answer[0] -= part.sum_log
        for part, sign in ((batch.right, -1.0), (batch.left, 1.0)):
            for some in part.columns(max(1, BLOCK // len(batch))):
                root = np.sqrt(some.time * over[:, None])
                z = (root - 1 / root) * rate[:, None]
                y = 0.5 * (root + 1 / root) * rate[:, None]
                value = log_ndtr(sign * z)
                slope = sign * np.exp(-0.5 * z * z - _HALF_LOG_TAU - value)
                bend = -slope * (z + slope)
                terms = (
                    value, -slope * z, -slope * y,
                    (bend * z + slope) * z, (bend * z + slope) * y, bend * y * y + slope * z / 4,
                )  # fmt: skip
                for row, each in zip(answer, terms, strict=True):
                    row += some.total(each)
        value, ga, gb, haa, hab, hbb = answer
        return value, np.stack([ga, gb], axis=1), _symmetric(haa, hab, hbb)


def _wear_terms(some: BatchPart, rate: Floats, over: Floats) -> Floats:
    """Return float64[6, B]: what exact gaps add to the value and its derivatives by log shape and
    log scale, but for constants and the logarithms of the gaps."""
    ratio = some.time * over[:, None]
    tilt = 1 - 2 / (1 + ratio)  # tanh of half the logarithm
    n, up, down = some.count, some.total(ratio), some.total(1 / ratio)
    square = some.total((ratio - 1) ** 2 / ratio) * rate**2
    cross = 0.5 * (up - down) * rate**2
    lean, leans = some.total(tilt), some.total(tilt * tilt)
    half = some.total(np.log(0.5 + 0.5 * ratio)) - 0.5 * some.total(np.log(ratio))
    return np.array(
        [
            half - 0.5 * square,
            square,
            cross - 0.5 * lean,
            -2 * square,
            -2 * cross,
            0.25 * (n - leans) - 0.25 * (up + down + 2 * n) * rate**2 - 0.25 * square,
        ]
    )


def _symmetric(first: Floats, mixed: Floats, second: Floats) -> Floats:
    """Return float64[B, 2, 2]."""
    return np.stack([first, mixed, mixed, second], axis=1).reshape(-1, 2, 2)


POSITIVES: tuple[Fittable, ...] = (InverseGaussian(), BirnbaumSaunders())
