"""Weibull lifetimes and their kin: exponential, Rayleigh, and Weibull with a location.

Maximum likelihood of the two-parameter law solves one equation in the shape, 1 / k = M(k) - L, with
L the mean logarithm of the exact gaps and M that of all gaps, each weighted by t^k; the scale
follows. As a function of 1 / k the equation is nearly straight, so Newton on 1 / k needs two or
three passes over the sample.

Source: Lawless, "Statistical Models and Methods for Lifetime Data", 2nd ed., 2003, 5.2.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import BLOCK, Batch, Derivatives, Fittable
from forestall.reliability.lifetimes.location_scale import (
    ShapeScale,
    gamma_at,
    gamma_variance,
    numbers,
)
from forestall.reliability.lifetimes.standard import SmallestExtreme

_EXTREME = SmallestExtreme()
_PART = 4_096
_CLOSE = 1e-6  # a relative step of 1 / k after which the next would be of order 1e-12


class FixedShape(Fittable):
    """Weibull laws of a given shape: sf = exp(-(t / (stretch scale))^power), power an integer.

    Attributes
    ----------
    power : the shape
    stretch : the Weibull scale over this family's
    """

    parameters = ("scale",)
    kinds = ("scale",)
    power: ClassVar[int]
    stretch: ClassVar[float]

    def cumulative(self, t: Floats, scale: Floats) -> Floats:
        """Return the cumulative hazard; 0 up to 0."""
        with np.errstate(over="ignore", under="ignore"):
            return (np.maximum(t, 0.0) / (self.stretch * scale)) ** self.power

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf below 0."""
        with np.errstate(all="ignore"):
            scale = self.stretch * numbers(theta)[0]
            value = np.log(self.power) - np.log(scale) - self.cumulative(t, numbers(theta)[0])
            if self.power > 1:
                value = value + (self.power - 1) * np.log(np.maximum(t, 0.0) / scale)
        return np.where((t >= 0) & np.less(t, np.inf), value, -np.inf)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        return -self.cumulative(t, numbers(theta)[0])

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(divide="ignore", under="ignore"):
            return np.log(-np.expm1(-self.cumulative(t, numbers(theta)[0])))

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.stretch * numbers(theta)[0] * (-np.log1p(-p)) ** (1 / self.power)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        return self.stretch * numbers(theta)[0] * gamma_at(1 / self.power)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            unit = gamma_variance(1 / self.power)
            return np.square(self.stretch * numbers(theta)[0]) * unit

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        unit = rng.standard_exponential(shape) ** (1 / self.power)
        return self.stretch * numbers(theta)[0] * unit

    def start(self, batch: Batch) -> Floats:
        """Return the scale as if gaps known to have ended by a time had ended then."""
        parts = [part for part in (batch.exact, batch.right, batch.left) if len(part)]
        longest = np.max([part.time.max(axis=1) for part in parts], axis=0)
        total = np.zeros(len(batch))
        for part in parts:
            total += part.total((part.time / longest[:, None]) ** self.power)
        mean = total / np.maximum(batch.ended.count, 0.5)
        scale: Floats = longest / self.stretch * mean ** (1 / self.power)
        return scale[:, None]

    def closed(self, batch: Batch) -> Floats | None:
        """Return the scale that the mean power of time over the failures gives."""
        return self.start(batch) if len(batch.left) == 0 else None

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by the logarithm of the scale."""
        scale = np.exp(unconstrained)
        hazard = np.zeros(len(batch))
        for part in (batch.exact, batch.right):
            if len(part):
                hazard += part.total((part.time / (self.stretch * scale)) ** self.power)
        count, k = batch.exact.count, self.power
        value = count * (np.log(k) - k * np.log(self.stretch * scale[:, 0])) - hazard
        if k > 1:
            value += (k - 1) * batch.exact.sum_log
        first, second = k * (hazard - count), -k * k * hazard
        if len(batch.left):
            terms = _EXTREME.left(k * (batch.left.log - np.log(self.stretch * scale)))
            value += batch.left.total(terms[0])
            first -= k * batch.left.total(terms[1])
            second += k * k * batch.left.total(terms[2])
        return value, first[:, None], second[:, None, None]

    def loglik(self, batch: Batch, theta: Floats) -> Floats:
        return self.derivatives(batch, np.log(theta))[0]


class Exponential(FixedShape):
    """Exponential: sf = exp(-t / scale); the hazard rate is 1 / scale at any age."""

    name, title = "exponential", "Exponential"
    at_zero = True
    power, stretch = 1, 1.0

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return the scale."""
        return numbers(theta)[0]


class Rayleigh(FixedShape):
    """Rayleigh: sf = exp(-t^2 / (2 scale^2)), a Weibull law of shape 2."""

    name, title = "rayleigh", "Rayleigh"
    power, stretch = 2, float(np.sqrt(2.0))


class Weibull(ShapeScale):
    """Weibull: sf = exp(-(t / scale)^shape)."""

    name, title = "weibull", "Weibull"
    standard = _EXTREME

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale Gamma(1 + 1 / shape)."""
        shape, scale = numbers(theta)
        with np.errstate(over="ignore"):
            return scale * gamma_at(1 / shape)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return scale^2 (Gamma(1 + 2 / shape) - Gamma(1 + 1 / shape)^2)."""
        shape, scale = numbers(theta)
        with np.errstate(over="ignore", under="ignore"):
            return scale**2 * gamma_variance(1 / shape)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            power, scale = numbers(theta)
            return scale * rng.standard_exponential(shape) ** (1 / power)

    def closed(self, batch: Batch) -> Floats | None:
        """Return the root of the shape's equation, and its scale; nan where there is no root."""
        if len(batch.left):
            return None
        if batch.size > 2 * _PART:
            part = self.closed(batch.thinned(_PART))
            assert part is not None
            inverse = 1 / part[:, 0]
            rough = self._rough(batch) if not np.isfinite(inverse).all() else inverse
            inverse = np.where(np.isfinite(inverse), inverse, rough)
        else:
            inverse = self._rough(batch)
        return _root(batch, inverse)

    def _rough(self, batch: Batch) -> Floats:
        """Return 1 / shape from the spread of the exact gaps' logarithms; nan where it is 0.

        Censoring takes the long gaps away, so the spread of all is looked at too.
        """
        exact, right = batch.exact, batch.right
        square = exact.total(np.square(exact.log)) / exact.count
        spread = square - np.square(exact.sum_log / exact.count)
        if len(right):
            count = exact.count + right.count
            mean = (exact.sum_log + right.sum_log) / count
            every = exact.total(np.square(exact.log)) + right.total(np.square(right.log))
            spread = np.maximum(spread, every / count - mean * mean)
        mean_square = np.maximum(square, 1e-300)
        fine = spread > 1e-24 * (1 + mean_square)
        return np.where(fine, np.sqrt(np.maximum(spread, 0.0)) / _EXTREME.spread, np.nan)

    def loglik(self, batch: Batch, theta: Floats) -> Floats:
        shape, log_scale = theta[:, 0], np.log(theta[:, 1])
        value = batch.exact.count * (np.log(shape) - shape * log_scale)
        value += (shape - 1) * batch.exact.sum_log
        value -= _powers(batch, shape, log_scale)[0]
        if len(batch.left):
            value += batch.left.total(
                _EXTREME.logcdf(shape[:, None] * (batch.left.log - log_scale[:, None]))
            )
        return value


def _powers(
    batch: Batch, shape: Floats, log_scale: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return float64[B] each: sums of t^k, t^k log t and t^k (log t)^2 over exact and censored.

    With `log_scale`, only the first one, of (t / scale)^k.
    """
    sums = np.zeros((3, len(batch)))
    k = shape[:, None]
    for part in (batch.exact, batch.right):
        if len(part):
            _ = part.log  # once for the whole part, not for each slice of it
        for some in part.columns(max(1, BLOCK // len(batch))):
            x = some.log
            power = x * k if log_scale is None else (x - log_scale[:, None]) * k
            np.exp(power, out=power)
            if some.weight is not None:
                power *= some.weight
            sums[0] += np.add.reduce(power, axis=1)
            if log_scale is None:
                power *= x
                sums[1] += np.add.reduce(power, axis=1)
                power *= x  # no dot product: BLAS would wake threads for it
                sums[2] += np.add.reduce(power, axis=1)
    return sums[0], sums[1], sums[2]


def _root(batch: Batch, inverse: Floats) -> Floats:
    """Return shape and scale, float64[B, 2], from 1 / shape nearby, by Newton's method."""
    mean = batch.exact.sum_log / batch.exact.count
    inverse = inverse.copy()
    log_scale = np.full(len(batch), np.nan)
    for _ in range(60):
        shape = 1 / inverse
        total, first, second = _powers(batch, shape)
        centre = first / total
        spread = np.maximum(second / total - centre * centre, 0.0)
        move = (centre - mean - inverse) / (1 + spread * shape * shape)
        lost = ~np.isfinite(move) & np.isfinite(inverse)  # powers too large: try a smaller shape
        new = np.where(lost, 2 * inverse, np.clip(inverse + move, 0.2 * inverse, 5 * inverse))
        change = 1 / new - shape
        # the sum of powers at the new shape, by Taylor: the last change is small
        log_total = np.log(total) + change * (centre + 0.5 * change * spread)
        log_scale = (log_total - np.log(batch.exact.count)) * new
        close = np.abs(new - inverse) <= _CLOSE * inverse
        inverse = new
        if (close | ~np.isfinite(inverse)).all():
            break
    else:
        inverse = np.where(close, inverse, np.nan)
    return np.stack([1 / inverse, np.exp(log_scale)], axis=1)


class Weibull3(Fittable):
    """Weibull with a location: sf = exp(-((t - location) / scale)^shape) above the location.

    Its likelihood has no bound: it grows for ever as the location nears the smallest gap and the
    shape is below 1. What a fit takes instead is said in `fits.threshold`; the location is in
    [0, smallest gap).
    """

    name, title = "weibull-3p", "Weibull (3 parameters)"
    parameters = ("shape", "scale", "location")
    kinds = ("shape", "scale", "location")

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf below the location."""
        shape, scale, location = numbers(theta)
        return WEIBULL.logpdf(t - location, shape, scale)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale, location = numbers(theta)
        return WEIBULL.logsf(t - location, shape, scale)

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale, location = numbers(theta)
        return WEIBULL.logcdf(t - location, shape, scale)

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale, location = numbers(theta)
        return location + WEIBULL.quantile(p, shape, scale)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return location + scale Gamma(1 + 1 / shape)."""
        shape, scale, location = numbers(theta)
        return location + WEIBULL.mean(shape, scale)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance, that of the law without location."""
        return WEIBULL.variance(theta[0], theta[1])

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        power, scale, location = numbers(theta)
        return location + WEIBULL.draw(rng, shape, power, scale)

    def start(self, batch: Batch) -> Floats:
        """Return the law without location that starts the two-parameter fit."""
        return np.concatenate([WEIBULL.start(batch), np.zeros((len(batch), 1))], axis=1)

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by log shape, log scale and location."""
        shape, log_scale = np.exp(unconstrained[:, :1]), unconstrained[:, 1:2]
        rows = len(batch)
        value, gradient, hessian = np.zeros(rows), np.zeros((rows, 3)), np.zeros((rows, 3, 3))
        terms = (_EXTREME.exact, _EXTREME.right, _EXTREME.left)
        for part, term in zip((batch.exact, batch.right, batch.left), terms, strict=True):
            for some in part.columns(max(1, BLOCK // rows)):
                above = some.time - unconstrained[:, 2:]
                if part is batch.right:  # not even as long as the location: says nothing
                    above = np.where(above > 0, above, np.finfo(np.float64).tiny)
                log, rate = np.log(above), 1 / above
                z = shape * (log - log_scale)
                a, first, second = term(z)
                by = (z, np.broadcast_to(-shape, z.shape), -shape * rate)
                if part is batch.exact:
                    a = a + unconstrained[:, :1] - log
                    gradient[:, 0] += some.count
                    gradient[:, 2] += some.total(rate)
                    hessian[:, 2, 2] += some.total(rate * rate)
                value += some.total(a)
                for j in range(3):
                    gradient[:, j] += some.total(first * by[j])
                    for k in range(j + 1):
                        hessian[:, j, k] += some.total(second * by[j] * by[k])
                    hessian[:, j, 0] += some.total(first * by[j])
                hessian[:, 2, 2] -= some.total(first * shape * rate * rate)
        for j, k in ((1, 0), (2, 0), (2, 1)):
            hessian[:, k, j] = hessian[:, j, k]
        return value, gradient, hessian

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """The location, at 0 or for a shape of at most 2 (Smith, Biometrika 72, 1985)."""
        return ("location",) if theta[0] <= 2 or theta[2] <= 0 else ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say where the location comes from, if not from a maximum between 0 and the gaps."""
        if theta[2] <= 0:
            return ("no location above 0 is likelier: the law is that of weibull",)
        if theta[0] < 1:
            return ("shape below 1: the likelihood sets no bound to the location; see weibull-3p",)
        return ()


EXPONENTIAL, WEIBULL, WEIBULL3, RAYLEIGH = Exponential(), Weibull(), Weibull3(), Rayleigh()
WEIBULLS: tuple[Fittable, ...] = (EXPONENTIAL, WEIBULL, WEIBULL3, RAYLEIGH)
