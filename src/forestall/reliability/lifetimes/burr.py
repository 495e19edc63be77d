"""Burr XII lifetimes, and the Lomax law among them.

Sources: Tadikamalla, Int. Stat. Rev. 48, 1980; Arnold, "Pareto Distributions", 2nd ed., 2015, 5.2.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.base import Kind
from forestall.reliability.lifetimes.batch import Batch, ByHazard, Derivatives
from forestall.reliability.lifetimes.climb import climb, climb_from
from forestall.reliability.lifetimes.generalized_pareto import LOMAX_MOVE, first_law
from forestall.reliability.lifetimes.stretched import Six, StretchedStandard, chained, moved, sums

_SEARCH = 512  # gaps of a sample that starting values are searched with


class StandardLomax(StretchedStandard):
    """Survival (1 + y)^-k."""

    by_level = False

    def exact(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return log k - (k + 1) log(1 + y) and its derivatives."""
        logs, share = np.log1p(y), _share(y)
        down = -(k + 1) * share
        return (
            np.log(k) - (k + 1) * logs, 1 / k - logs, -1 / (k * k),
            down, -share, down * (1 - share),
        )  # fmt: skip

    def right(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return -k log(1 + y) and its derivatives."""
        logs, share = np.log1p(y), _share(y)
        down = -k * share
        return -k * logs, -logs, np.zeros_like(k), down, -share, down * (1 - share)


def _share(y: Floats) -> Floats:
    """Return y / (1 + y), 1 at infinity."""
    return 1 - 1 / (1 + y)


_LOMAX = StandardLomax()
_SHARES = np.array([0.2, 0.5, 0.8])
_SHEAR = np.array([[1.0, 0.0], [1.0, 1.0]])
_BURR_MOVE = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])


class Burr(ByHazard):
    """Burr XII: sf = (1 + (t / scale)^shape_c)^-shape_d.

    Lomax for shape_c = 1, loglogistic for shape_d = 1; as shape_d and the scale grow it comes close
    to the Weibull, and as shape_d falls and shape_c grows, to the Pareto.
    """

    name, title = "burr", "Burr XII"
    parameters: ClassVar[tuple[str, ...]] = ("shape_c", "shape_d", "scale")
    kinds: ClassVar[tuple[Kind, ...]] = ("shape", "shape", "scale")
    edge: ClassVar[dict[str, float]] = {"shape_c": 8.0, "shape_d": 8.0, "scale": 600.0}

    def burr(self, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return shape_c, shape_d and scale of the Burr law that this is."""
        c, d, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        return c, d, scale

    def level(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return shape_c log(t / scale); -inf up to 0."""
        c, _, scale = self.burr(*theta)
        with np.errstate(all="ignore"):
            ratio = np.maximum(t, 0.0) / scale
            logs = np.log(ratio)
            if not ((ratio > 0) & (ratio < np.inf)).all():  # 0 and inf, or rounded to them
                logs = np.where(np.isfinite(logs), logs, np.log(np.maximum(t, 0.0)) - np.log(scale))
            return c * logs

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; at 0 its limit from above."""
        c, d, scale = self.burr(*theta)
        level = self.level(t, *theta)
        with np.errstate(all="ignore"):
            peak = np.log(c) + np.log(d) - np.log(scale)
            inside = peak + (1 - 1 / c) * level - (d + 1) * _log_one_plus(level)
            at_zero = np.where(c < 1, np.inf, np.where(c > 1, -np.inf, peak))
        outside = np.where(np.equal(t, 0), at_zero, -np.inf)
        return np.where((np.asarray(t) > 0) & np.less(t, np.inf), inside, outside)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(all="ignore"):
            return -self.burr(*theta)[1] * _log_one_plus(self.level(t, *theta))

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(all="ignore"):
            level = self.level(t, *theta)
            d = self.burr(*theta)[1]
            low = level + np.log(d)  # where e^level would be rounded to 0
            return np.where(level < -700, low, np.log(-np.expm1(-d * _log_one_plus(level))))

    def time_of_hazard(self, hazard: Floats, *theta: npt.ArrayLike) -> Floats:
        c, d, scale = self.burr(*theta)
        spent = hazard / d
        return scale * np.where(spent > 700, np.exp(spent / c), np.expm1(spent) ** (1 / c))

    def _moment(self, order: int, *theta: npt.ArrayLike) -> Floats:
        """Return the mean of (T / scale)^order; inf where there is none."""
        c, d, _ = self.burr(*theta)
        with np.errstate(all="ignore"):
            value = d * np.exp(betaln(d - order / c, 1 + order / c))
        return np.where(c * d > order, value, np.inf)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return the mean; inf if shape_c shape_d <= 1."""
        return self.burr(*theta)[2] * self._moment(1, *theta)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf if shape_c shape_d <= 2."""
        first, second = self._moment(1, *theta), self._moment(2, *theta)
        with np.errstate(all="ignore"):
            spread = np.where(second < np.inf, second - first * first, np.inf)
            return np.square(self.burr(*theta)[2]) * spread

    def start(self, batch: Batch) -> Floats:
        """Return the best of a few laws."""
        return self._first(batch)[0]

    def _first(self, batch: Batch) -> list[Floats]:
        """Return a few laws, float64[B, 3] each, with quantiles of the gaps, the best one first."""
        part = batch.thinned(_SEARCH)
        every = np.concatenate([part.ended.time, part.right.time], axis=1)
        if len(part.right):
            every = np.where(_weights(part) > 0, every, np.median(every, axis=1, keepdims=True))
        low, mid, high = np.quantile(np.log(np.maximum(every, 1e-300)), _SHARES, axis=1)
        count = batch.ended.count
        hidden = np.log((count + batch.right.count) / np.maximum(count, 0.5))
        laws, values = [], []
        for d in (1.0, 0.25, 4.0, 30.0, 0.02):
            level = np.log(np.expm1(-np.log1p(-_SHARES) / d))  # of y, at the quantiles
            c = np.clip((level[2] - level[0]) / (high - low + 2e-6), 0.05, 500.0)
            for lift in (0.0, 1.0) if batch.censored else (0.0,):
                scale = np.exp(mid - level[1] / c + lift * hidden / c)
                laws.append(np.stack([c, np.full_like(c, d), scale], axis=1))
                values.append(np.nan_to_num(self.loglik(part, laws[-1]), nan=-np.inf))
        best = np.array(laws)[np.argmax(values, axis=0), np.arange(len(batch))]
        return [best, laws[-1], laws[0]]

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum, climbed with s of scale = s shape_d^(1 / shape_c) instead of the
        scale, so that the way to the Weibull is straight; None if not found for all rows."""
        first = [np.log(law) for law in self._first(batch)]
        for u in first:
            u[:, 2] -= u[:, 1] * np.exp(-u[:, 0])
        u, found = climb_from(self._slopes, batch, first, *self._bounds())
        u[:, 2] += u[:, 1] * np.exp(-u[:, 0])
        return np.exp(u) if found.all() else None

    def _bounds(self) -> tuple[Floats, Floats]:
        reach = np.array([self.edge[name] for name in self.parameters])
        return -reach, reach

    def _slopes(self, batch: Batch, u: Floats) -> Derivatives:
        """Return derivatives by log shape_c, log shape_d and the logarithm of s."""
        over = np.exp(-u[:, 0])
        whole = u.copy()
        whole[:, 2] += u[:, 1] * over
        jacobian = np.tile(np.eye(3), (len(u), 1, 1))
        jacobian[:, 2, 0], jacobian[:, 2, 1] = -u[:, 1] * over, over
        bends = np.zeros((len(u), 3, 3))
        bends[:, 0, 0] = u[:, 1] * over
        bends[:, 0, 1] = bends[:, 1, 0] = -over
        full = self.derivatives(batch, whole)
        return moved(full, jacobian, bends * full[1][:, 2, None, None])

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by the logarithms of the parameters."""
        c, d = np.exp(unconstrained[:, 0]), np.exp(unconstrained[:, 1])
        log_scale = unconstrained[:, 2]
        total = sums(_LOMAX, batch, d, c, log_scale)
        return moved(chained(total, batch.exact, c, log_scale, (d, d)), _BURR_MOVE)

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return all parameters where the fit ended at an edge."""
        return self.parameters if self.remarks(batch, theta) else ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say which law the fit tends to where it has no maximum."""
        limits = {name: np.exp(0.999 * reach) for name, reach in self.edge.items()}
        if theta[1] > limits["shape_d"]:
            return (f"no maximum: tends to the Weibull; stopped at shape_d {theta[1]:.4g}",)
        if theta[0] > limits["shape_c"] or theta[1] < 1 / limits["shape_d"]:
            return (f"no maximum: tends to the Pareto; stopped at shape_c {theta[0]:.4g}",)
        return ()


def _weights(batch: Batch) -> Floats:
    """Return float64[B, n], the weights of `ended` and of `right`, side by side."""
    parts = (batch.ended, batch.right)
    return np.hstack([np.ones_like(p.time) if p.weight is None else p.weight for p in parts])


def _log_one_plus(level: Floats) -> Floats:
    """Return log(1 + e^level)."""
    return np.where(level > 36, level, np.log1p(np.exp(np.minimum(level, 700.0))))


class Lomax(Burr):
    """Lomax (Pareto of the second kind): sf = (1 + t / scale)^-shape.

    As shape and scale grow it comes close to the exponential: where the gaps vary no more than
    exponential ones, there is no maximum, and the fit stops at the largest shape.
    """

    name, title = "lomax", "Lomax"
    parameters = ("shape", "scale")
    kinds = ("shape", "scale")
    edge: ClassVar[dict[str, float]] = {"shape": 10.0, "scale": 600.0}

    def burr(self, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return 1, shape and scale."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        return np.ones(()), shape, scale

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf below 0."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            value = np.log(shape) - np.log(scale) - (shape + 1) * np.log1p(t / scale)
        return np.where(np.asarray(t) >= 0, value, -np.inf)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(over="ignore", under="ignore"):
            return -shape * np.log1p(np.maximum(t, 0.0) / scale)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale / (shape - 1); inf if shape <= 1."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            return np.where(shape > 1, scale / (shape - 1), np.inf)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf if shape <= 2."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            value = (scale / (shape - 1)) ** 2 * (shape / (shape - 2))
        return np.where(shape > 2, value, np.inf)

    def start(self, batch: Batch) -> Floats:
        """Return the best of a few laws."""
        tilt, scale = first_law(batch, 1e-3)
        return np.stack([1 / tilt, scale / tilt], axis=1)

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum, climbed with scale / shape instead of the scale; None if not
        found for all rows."""
        first = np.log(self.start(batch))
        first[:, 1] -= first[:, 0]
        u, found = climb(self._slopes, batch, first, *self._bounds())
        u[:, 1] += u[:, 0]
        return np.exp(u) if found.all() else None

    def _slopes(self, batch: Batch, u: Floats) -> Derivatives:
        """Return derivatives by log shape and log(scale / shape)."""
        return moved(self.derivatives(batch, u @ _SHEAR.T), _SHEAR[None])

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by log shape and log scale."""
        shape, log_scale = np.exp(unconstrained[:, 0]), unconstrained[:, 1]
        power = np.ones_like(shape)
        total = sums(_LOMAX, batch, shape, power, log_scale, stretch=False)
        full = chained(total, batch.exact, power, log_scale, (shape, shape))
        return moved(full, LOMAX_MOVE)

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say so where the fit tends to the exponential."""
        if theta[0] > np.exp(0.999 * self.edge["shape"]):
            return (f"no maximum: tends to the exponential; stopped at shape {theta[0]:.4g}",)
        return ()
