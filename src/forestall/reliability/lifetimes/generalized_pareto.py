"""Generalized Pareto lifetimes.

Source: Grimshaw, Technometrics 35, 1993, which reduces the likelihood to one unknown.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import Batch, BatchPart, ByHazard, Derivatives
from forestall.reliability.lifetimes.climb import climb
from forestall.reliability.lifetimes.stretched import Six, StretchedStandard, chained, moved, sums

_SEARCH = 160  # gaps of a sample that starting values are searched with
_GOLDEN = 0.6180339887498949


class StandardPareto(StretchedStandard):
    """Survival (1 + k y)^(-1 / k), e^-y for k = 0; k is any number, y below -1 / k if k < 0."""

    by_level = False

    def right(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return -log(1 + k y) / k and its derivatives."""
        return self._terms(k, y)[0]

    def exact(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return the log-density: log survival less log(1 + k y)."""
        (value, by_k, twice, slope, mixed, bend), logs, rest = self._terms(k, y)
        turned = slope * rest  # -y / (1 + k y)^2
        return (
            value - logs, by_k + slope, twice + mixed,
            (1 + k) * slope, mixed + turned, (1 + k) * bend,
        )  # fmt: skip

    def _terms(self, k: Floats, y: Floats) -> tuple[Six, Floats, Floats]:
        """Return what `right` does, log(1 + k y) and 1 / (1 + k y)."""
        x = k * y
        if x.min(initial=0.0) <= -1:
            x = np.where(x > -1, x, np.nan)
        logs, rest = np.log1p(x), 1 / (1 + x)
        part = y * rest
        square = part * part
        if (np.abs(k) > 1e-3).all():
            over = 1 / k
            whole = logs * over
            by_k = (whole - part) * over
            twice = (square - 2 * by_k) * over
        else:
            small = np.abs(x) < 0.02
            over = 1 / np.where(small, 1.0, k)
            whole = np.where(small, y * _series(x, 0), logs * over)
            by_k = np.where(small, y * y * _series(x, 1), (whole - part) * over)
            twice = np.where(small, -y * y * y * _series(x, 2), (square - 2 * by_k) * over)
        return (-whole, by_k, twice, -part, square, -part * rest), logs, rest


def _series(x: Floats, order: int) -> Floats:
    """Return the derivative of that order of f(x) = log(1 + x) / x, but for its sign, near 0."""
    total = np.zeros_like(x)
    for n in range(11 + order, order - 1, -1):
        factor = 1.0
        for j in range(order):
            factor *= n - j
        total = total * -x + factor / (n + 1)
    return total


_PARETO = StandardPareto()
LOMAX_MOVE = np.array([[[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]])
"""From shape, log power and log scale to shape and log scale."""


class GeneralizedPareto(ByHazard):
    """Generalized Pareto: sf = (1 + shape t / scale)^(-1 / shape), exponential for shape 0.

    With a shape below 0 no lifetime is longer than -scale / shape. Below -1 the likelihood has no
    bound, so a fit keeps to shapes of at least `lowest`; below -1/2 large-sample theory fails.
    """

    name, title = "generalized-pareto", "Generalized Pareto"
    parameters = ("shape", "scale")
    kinds = ("real", "scale")
    lowest: ClassVar[float] = -0.99
    edge: ClassVar[dict[str, float]] = {"shape": 1e4, "scale": 600.0}

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf outside the support."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            at = np.asarray(t) / scale
            value = -_cumulative(shape, at) - np.log1p(np.maximum(shape * at, -1)) - np.log(scale)
            inside = (at >= 0) & (shape * at > -1) & (at < np.inf)
        return np.where(inside, value, -np.inf)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the survival; -inf from the upper end on."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            return -_cumulative(shape, np.maximum(t, 0.0) / scale)

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(self.logsf(t, *theta)))

    def time_of_hazard(self, hazard: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        flat = np.abs(shape) < 1e-300
        return scale * np.where(flat, hazard, np.expm1(shape * hazard) / np.where(flat, 1.0, shape))

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale / (1 - shape); inf if shape >= 1."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            return np.where(shape < 1, scale / (1 - shape), np.inf)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf if shape >= 1/2."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            value = (scale / (1 - shape)) ** 2 / (1 - 2 * shape)
        return np.where(shape < 0.5, value, np.inf)

    def start(self, batch: Batch) -> Floats:
        """Return the best of a few laws."""
        return np.stack(first_law(batch, self.lowest), axis=1)

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum among shapes from `lowest` on; None if not found for all rows."""
        first = self.start(batch)
        first[:, 1] = np.log(first[:, 1])
        bounds = np.array([[self.lowest, -600.0], [1e4, 600.0]])
        u, found = climb(self.derivatives, batch, first, bounds[0], bounds[1])
        u[:, 1] = np.exp(u[:, 1])
        short = np.flatnonzero((u[:, 0] < -0.5) | ~found)
        if len(short) and len(batch.left) == 0:
            u[short], found[short] = self._by_end(batch.rows(short), u[short]), True
        return u if found.all() else None

    def _by_end(self, batch: Batch, theta: Floats) -> Floats:
        """Return the maximum among laws with an upper end, float64[B, 2], or `theta` if better.

        The likelihood falls off a cliff where the longest gap reaches the end. So the search is for
        one unknown, log(1 - longest / end): the best shape for an end is known, see
        `first_law`, and if below `lowest`, that is the best one allowed.
        """
        part = batch.exact
        longest = np.maximum(_longest(part), _longest(batch.right) if len(batch.right) else 0.0)

        def law(z: Floats) -> Floats:
            w = np.expm1(z) / longest
            spent = part.total(np.log1p(w[:, None] * part.time))
            if len(batch.right):
                spent += batch.right.total(np.log1p(w[:, None] * batch.right.time))
            shape = np.maximum(spent / part.count, self.lowest)
            return np.stack([shape, shape / w], axis=1)

        best = np.full(len(batch), -1.0)
        most = np.full(len(batch), -np.inf)
        for z in -np.geomspace(1e-3, 33.0, 60):
            value = np.nan_to_num(self.loglik(batch, law(np.full(len(batch), z))), nan=-np.inf)
            best, most = np.where(value > most, z, best), np.maximum(value, most)
        low, high = best * 1.25, best / 1.25
        for _ in range(45):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            up = self.loglik(batch, law(right)) > self.loglik(batch, law(left))
            low, high = np.where(up, left, low), np.where(up, high, right)
        end = law(0.5 * (low + high))
        better = self.loglik(batch, end) > self.loglik(batch, theta)
        return np.where(better[:, None], end, theta)

    def loglik(self, batch: Batch, theta: Floats) -> Floats:
        """Return float64[B], the log-likelihood of each sample; -inf below the lowest shape."""
        return np.where(theta[:, 0] >= self.lowest - 1e-9, super().loglik(batch, theta), -np.inf)

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by shape and log scale."""
        shape, log_scale = unconstrained[:, 0], unconstrained[:, 1]
        one = np.ones_like(shape)
        total = sums(_PARETO, batch, shape, one, log_scale, stretch=False)
        full = chained(total, batch.exact, one, log_scale, (one, 0 * one))
        value, gradient, hessian = moved(full, LOMAX_MOVE)
        return np.where(shape >= self.lowest - 1e-9, value, -np.inf), gradient, hessian

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return both parameters for shapes up to -1/2."""
        return self.parameters if theta[0] <= -0.5 else ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say so where the fit is at the edge, or large-sample theory does not hold."""
        if theta[0] < self.lowest + 1e-3:
            return (f"shape held at {self.lowest}: below -1 the likelihood has no bound",)
        if theta[0] <= -0.5:
            return ("shape below -1/2: no standard errors, large-sample theory fails",)
        return ()


def _cumulative(shape: Floats, at: Floats) -> Floats:
    """Return log(1 + shape at) / shape, `at` for shape 0, inf beyond the upper end."""
    x = shape * at
    small = np.abs(x) < 1e-5
    whole = np.log1p(np.maximum(x, -1.0)) / np.where(small, 1.0, shape)
    return np.where(at == np.inf, at, np.where(small, at * (1 - x * (0.5 - x / 3)), whole))


def first_law(batch: Batch, lowest: float) -> tuple[Floats, Floats]:
    """Return shape and scale float64[B] of the best of a few generalized Pareto laws.

    With w = shape / scale given, the best shape is the mean of log(1 + w t) per failure.
    """
    part = batch.thinned(_SEARCH)
    ended = part.ended
    n = np.maximum(ended.count, 0.5)
    longest = np.maximum(_longest(batch.ended), _longest(batch.right) if len(batch.right) else 0.0)
    mean = (ended.sum + (part.right.sum if len(part.right) else 0.0)) / n
    best = np.stack([np.full_like(mean, max(lowest, 1e-3)), mean], axis=1)
    most = np.full_like(mean, -np.inf)
    with np.errstate(all="ignore"):
        ways = [10.0**k / mean for k in np.arange(-2, 5.1, 0.5)]
        ways += [-share / longest for share in (0.3, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999)]
        for w in ways:
            spent = ended.total(np.log1p(w[:, None] * ended.time))
            shape = spent / n
            if len(part.right):
                shape = shape + part.right.total(np.log1p(w[:, None] * part.right.time)) / n
            value = -n * np.log(shape / w) - spent - n
            fine = (value > most) & (shape > lowest)
            best[fine] = np.stack([shape, shape / w], axis=1)[fine]
            most[fine] = value[fine]
    return best[:, 0], best[:, 1]


def _longest(part: BatchPart) -> Floats:
    """Return float64[B], the longest gap of each row."""
    time = part.time if part.weight is None else np.where(part.weight > 0, part.time, 0.0)
    return np.asarray(np.max(time, axis=1, initial=0.0))
