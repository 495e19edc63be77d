"""Families whose time, or its logarithm, is a location plus a scale times a standard law.

With y the time or its logarithm and z = (y - mu) / sigma, the likelihood and its derivatives by mu
and log sigma are sums of the standard law's own, whatever the law.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import BLOCK, Batch, Derivatives, Fittable
from forestall.reliability.lifetimes.standard import (
    EULER,
    LargestExtreme,
    Logistic,
    Normal,
    Standard,
)


class LocationScale(Fittable):
    """A location-scale family: two parameters, one unconstrained coordinate of which is mu and the
    other log sigma or its negative.

    Attributes
    ----------
    standard : the law of z
    of_logs : whether y is the logarithm of the time, not the time
    mu_at : which coordinate is mu; the other is `turn` times log sigma
    """

    standard: ClassVar[Standard]
    of_logs: ClassVar[bool] = True
    mu_at: ClassVar[int] = 0
    turn: ClassVar[int] = 1

    @abstractmethod
    def z(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return (y - mu) / sigma at time `t`."""

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(all="ignore"):
            return self.standard.logsf(self.z(t, *theta))

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(all="ignore"):
            return self.standard.logcdf(self.z(t, *theta))

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        at, other = self.mu_at, 1 - self.mu_at
        mu, log_sigma = unconstrained[:, at], self.turn * unconstrained[:, other]
        rate = np.exp(-log_sigma)
        sums = np.zeros((6, len(batch)))
        standard = self.standard
        sorts = (
            (batch.exact, standard.exact),
            (batch.right, standard.right),
            (batch.left, standard.left),
        )
        for part, terms in sorts:
            if len(part) and self.of_logs:
                _ = part.log  # once for the whole part, not for each slice of it
            for some in part.columns(max(1, BLOCK // len(batch))):
                y = some.log if self.of_logs else some.time
                z = (y - mu[:, None]) * rate[:, None]
                value, first, second = terms(z)
                sums[0] += some.total(value)
                sums[1] += some.total(first)
                sums[3] += some.total(second)
                first = first * z
                second = second * z
                sums[2] += some.total(first)
                sums[4] += some.total(second)
                sums[5] += some.total(second * z)
        count = batch.exact.count
        value = sums[0] - count * log_sigma
        if self.of_logs:
            value -= batch.exact.sum_log
        gradient = np.empty((len(batch), 2))
        gradient[:, at] = -rate * sums[1]
        gradient[:, other] = -self.turn * (count + sums[2])
        hessian = np.empty((len(batch), 2, 2))
        hessian[:, at, at] = rate * rate * sums[3]
        hessian[:, other, other] = sums[2] + sums[5]
        hessian[:, 0, 1] = hessian[:, 1, 0] = self.turn * rate * (sums[1] + sums[4])
        return value, gradient, hessian

    def middle_and_spread(self, batch: Batch) -> tuple[Floats, Floats]:
        """Return rough mu and sigma, float64[B] each, from moments of y, censoring set aside."""
        parts = [part for part in (batch.exact, batch.right, batch.left) if len(part)]
        every = [np.maximum(part.log, -700.0) if self.of_logs else part.time for part in parts]
        unit = np.max([np.abs(y).max(axis=1) for y in every], axis=0)
        unit = np.where(unit > 0, unit, 1.0)  # squares of times may be too large
        total, squares, count = (np.zeros(len(batch)) for _ in range(3))
        for part, y in zip(parts, every, strict=True):
            y = y / unit[:, None]
            total += part.total(y)
            squares += part.total(y * y)
            count += part.count
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean * mean, 0.0)) / self.standard.spread
        spread = unit * np.where(spread > 1e-7, spread, 1.0)
        mean = unit * mean
        # the share that did not end in sight lies above: move up a little for it
        mean += spread * np.log(count / np.maximum(batch.ended.count, 0.5))
        return mean - self.standard.middle * spread, spread


class ShapeScale(LocationScale):
    """A family of a shape and a scale: log time is log scale plus z / shape."""

    parameters = ("shape", "scale")
    kinds = ("shape", "scale")
    mu_at, turn = 1, -1

    def z(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return shape log(t / scale); -inf up to 0."""
        shape, scale = numbers(theta)
        with np.errstate(all="ignore"):
            return shape * log_ratio(np.maximum(t, 0.0), scale)

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; at 0 its limit from above."""
        shape, scale = numbers(theta)
        z = self.z(t, *theta)
        with np.errstate(all="ignore"):
            inside = self.standard.logpdf(z) + np.log(shape) - np.log(scale) - z / shape
            inside = np.where(np.asarray(t) == np.inf, -np.inf, inside)
            at_zero = self.at_origin(shape) - np.log(scale)
        return np.where(t > 0, inside, np.where(np.equal(t, 0), at_zero, -np.inf))

    def at_origin(self, shape: Floats) -> Floats:
        """Return the logarithm of the density at 0 for scale 1: by default as of t^(shape - 1)."""
        return np.where(shape < 1, np.inf, np.where(shape > 1, -np.inf, 0.0))

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale = numbers(theta)
        with np.errstate(all="ignore"):
            return scale * np.exp(self.standard.quantile(p) / shape)

    def start(self, batch: Batch) -> Floats:
        """Return shapes and scales from moments of the logarithms."""
        mu, sigma = self.middle_and_spread(batch)
        return np.stack([1 / sigma, np.exp(mu)], axis=1)


class Loglogistic(ShapeScale):
    """Loglogistic: cdf = 1 / (1 + (t / scale)^-shape); the scale is the median."""

    name, title = "loglogistic", "Loglogistic"
    standard = Logistic()

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale (pi / shape) / sin(pi / shape); inf for a shape of at most 1."""
        shape, scale = numbers(theta)
        with np.errstate(all="ignore"):
            b = np.pi / shape
            return np.where(shape > 1, scale * b / np.sin(b), np.inf)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf for a shape of at most 2."""
        shape, scale = numbers(theta)
        with np.errstate(all="ignore"):
            b = np.pi / shape
            value = scale**2 * (2 * b / np.sin(2 * b) - (b / np.sin(b)) ** 2)
            return np.where(shape > 2, value, np.inf)


class Frechet(ShapeScale):
    """Frechet (inverse Weibull): cdf = exp(-(t / scale)^-shape)."""

    name, title = "frechet", "Frechet"
    standard = LargestExtreme()

    def at_origin(self, shape: Floats) -> Floats:
        """Return -inf: near 0 the density is exp(-t^-shape) times a power."""
        return np.full_like(shape, -np.inf)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale Gamma(1 - 1 / shape); inf for a shape of at most 1."""
        shape, scale = numbers(theta)
        return np.where(shape > 1, scale * gamma_at(-1 / shape), np.inf)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf for a shape of at most 2."""
        shape, scale = numbers(theta)
        return np.where(shape > 2, scale**2 * gamma_variance(-1 / shape), np.inf)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return numbers(theta)[1] * rng.standard_exponential(shape) ** (-1 / numbers(theta)[0])


class Lognormal(LocationScale):
    """Lognormal: the logarithm of the time is normal with mean mu and deviation sigma."""

    name, title = "lognormal", "Lognormal"
    parameters = ("mu", "sigma")
    kinds = ("logscale", "shape")
    standard = Normal()

    def z(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return (log t - mu) / sigma; -inf up to 0."""
        mu, sigma = numbers(theta)
        with np.errstate(divide="ignore"):
            return (np.log(np.maximum(t, 0.0)) - mu) / sigma

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf up to 0."""
        mu, sigma = numbers(theta)
        with np.errstate(all="ignore"):
            log = np.log(np.maximum(t, 0.0))
            inside = self.standard.logpdf((log - mu) / sigma) - np.log(sigma) - log
        return np.where(np.isfinite(log), inside, -np.inf)

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        mu, sigma = numbers(theta)
        with np.errstate(over="ignore"):
            return np.exp(mu + sigma * self.standard.quantile(p))

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return exp(mu + sigma^2 / 2)."""
        mu, sigma = numbers(theta)
        with np.errstate(over="ignore"):
            return np.exp(mu + 0.5 * np.square(sigma))

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return (exp(sigma^2) - 1) exp(2 mu + sigma^2)."""
        mu, sigma = numbers(theta)
        with np.errstate(over="ignore"):
            square = np.square(sigma)
            return np.expm1(square) * np.exp(2 * mu + square)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        mu, sigma = numbers(theta)
        with np.errstate(over="ignore"):
            return np.exp(mu + sigma * rng.standard_normal(shape))

    def start(self, batch: Batch) -> Floats:
        """Return mean and deviation of the logarithms."""
        return np.stack(self.middle_and_spread(batch), axis=1)

    def closed(self, batch: Batch) -> Floats | None:
        """Return mean and deviation of the logarithms, where nothing is censored."""
        if batch.censored:
            return None
        exact = batch.exact
        mean = exact.sum_log / exact.count
        square = exact.total(np.square(exact.log - mean[:, None])) / exact.count
        return np.stack([mean, np.where(square > 0, np.sqrt(square), np.nan)], axis=1)


class Gumbel(LocationScale):
    """Gumbel, the largest extreme value: cdf = exp(-exp(-(t - location) / scale)).

    Its times may be below 0; a share of probability lies there.
    """

    name, title = "gumbel", "Gumbel"
    parameters = ("location", "scale")
    kinds = ("location", "scale")
    at_zero = True
    standard = LargestExtreme()
    of_logs = False

    def z(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return (t - location) / scale."""
        location, scale = numbers(theta)
        with np.errstate(over="ignore", under="ignore"):
            return (t - location) / scale

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        scale = numbers(theta)[1]
        with np.errstate(all="ignore"):
            return self.standard.logpdf(self.z(t, *theta)) - np.log(scale)

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        location, scale = numbers(theta)
        with np.errstate(all="ignore"):
            return location + scale * self.standard.quantile(p)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return location + 0.5772 scale."""
        location, scale = numbers(theta)
        return location + EULER * scale

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return (pi scale)^2 / 6."""
        scale = numbers(theta)[1]
        return np.square(np.pi * scale) / 6

    def start(self, batch: Batch) -> Floats:
        """Return location and scale from mean and deviation."""
        return np.stack(self.middle_and_spread(batch), axis=1)


def numbers(theta: tuple[npt.ArrayLike, ...]) -> tuple[Floats, ...]:
    """Return the parameters as arrays."""
    return tuple(np.asarray(value, dtype=np.float64) for value in theta)


def log_ratio(t: Floats, scale: Floats) -> Floats:
    """Return log(t / scale), also where the ratio itself is too small or too large a number."""
    ratio = t / scale
    answer = np.log(ratio)
    far = (ratio == 0) | (ratio == np.inf)
    return np.where(far, np.log(t) - np.log(scale), answer) if far.any() else answer


def gamma_at(x: npt.ArrayLike) -> Floats:
    """Return Gamma(1 + x), inf where too large."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(gammaln(1 + np.asarray(x))))


def gamma_variance(x: npt.ArrayLike) -> Floats:
    """Return Gamma(1 + 2 x) - Gamma(1 + x)^2 without cancellation for small x."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        once = gammaln(1 + x)
        return np.asarray(np.exp(2 * once) * np.expm1(gammaln(1 + 2 * x) - 2 * once))


LOCATION_SCALES: tuple[Fittable, ...] = (Lognormal(), Loglogistic(), Frechet(), Gumbel())
