"""Gamma lifetimes and those of which a power is gamma: generalized gamma and Nakagami.

Without censoring the likelihood depends on the sample through few sums: log a - psi(a) equals the
logarithm of the mean over the geometric mean. A generalized gamma law is climbed in the coordinates
of Prentice, in which its way to the lognormal is short and straight.

Sources: Lawless, "Statistical Models and Methods for Lifetime Data", 2nd ed., 2003, 5.3 and 5.4;
Stacy, Ann. Math. Stat. 33, 1962; Prentice, Biometrika 61, 1974; Nakagami, in "Statistical Methods
in Radio Wave Propagation", 1960.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaincinv, gammaln, lambertw

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.lifetimes.batch import Batch, BatchPart, Climbing, Derivatives, Fittable
from forestall.reliability.lifetimes.climb import climb_from
from forestall.reliability.lifetimes.incomplete import (
    log_lower,
    log_upper,
    log_weight,
    lower_terms,
    trigamma,
    upper_terms,
)
from forestall.reliability.lifetimes.stretched import Six, StretchedStandard, chained, moved, sums

_LARGEST = 2e4
"""Shapes beyond are left to the general ascent, which says where it stops."""


class StandardGamma(StretchedStandard):
    """The gamma law of scale 1; k is its shape."""

    def exact(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return (k - 1) L - y - log Gamma(k) and its derivatives."""
        one = np.ones_like(k)
        value = (k - 1) * level - y - gammaln(k)
        return value, level - digamma(k), -trigamma(k), (k - 1) - y, one, -y

    def right(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return log Q(k, y) and its derivatives."""
        value, slope, bend = upper_terms(k, y)
        rate = np.exp(log_weight(k, y) - value)
        mixed = -rate * (level - digamma(k) - slope)
        return value, slope, bend, -rate, mixed, -rate * (k - y + rate)

    def left(self, k: Floats, level: Floats, y: Floats) -> Six:
        """Return log P(k, y) and its derivatives."""
        value, slope, bend = lower_terms(k, y)
        rate = np.exp(log_weight(k, y) - value)
        mixed = rate * (level - digamma(k) - slope)
        return value, slope, bend, rate, mixed, rate * (k - y - rate)

    def exact_sums(
        self, part: BatchPart, k: Floats, power: Floats, log_scale: Floats
    ) -> Floats | None:
        """Return the sums from those of times, or of their squares, and of logarithms."""
        if not ((power == 1).all() or (power == 2).all()):
            return None
        n = part.count
        times = part.sum if power[0] == 1 else part.total(part.time * part.time)
        y = times * np.exp(-power * log_scale)
        level = power * (part.sum_log - n * log_scale)
        value = (k - 1) * level - y - n * gammaln(k)
        zero = np.zeros_like(n)
        rows = [value, level - n * digamma(k), -n * trigamma(k), n * (k - 1) - y, n, -y]
        return np.array([*rows, zero, zero, zero, zero])


GAMMA = StandardGamma()


class PowerOfGamma(Fittable):
    """Families with (t / s)^power gamma of scale 1, the power and s following from parameters."""

    @abstractmethod
    def stacy(self, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return shape, power and scale of the generalized gamma law that this is."""

    def y(self, t: Floats, *theta: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the shape, and the gamma variate that time `t` stands for; 0 up to 0."""
        shape, power, scale = self.stacy(*theta)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            return shape, (np.maximum(t, 0.0) / scale) ** power

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; at 0 its limit from above."""
        shape, power, scale = self.stacy(*theta)
        _, y = self.y(t, *theta)
        with np.errstate(all="ignore"):
            inside = np.log(power) + log_weight(shape, y) - np.log(t)
            lead = shape * power
            edge = np.log(power) - gammaln(shape) - np.log(scale)
            at_zero = np.where(lead < 1, np.inf, np.where(lead > 1, -np.inf, edge))
        outside = np.where(np.equal(t, 0), at_zero, -np.inf)
        return np.where((np.asarray(t) > 0) & np.less(t, np.inf), inside, outside)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        return log_upper(*self.y(t, *theta))

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        return log_lower(*self.y(t, *theta))

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, power, scale = self.stacy(*theta)
        with np.errstate(all="ignore"):
            return np.asarray(scale * gammaincinv(shape, p) ** (1 / power))

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        form, power, scale = self.stacy(*theta)
        with np.errstate(under="ignore"):
            return scale * rng.standard_gamma(form, shape) ** (1 / power)

    def _moment(self, order: int, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the mean of T^order."""
        shape, power, scale = self.stacy(*theta)
        with np.errstate(all="ignore"):
            return np.asarray(_log_gamma_step(shape, order / power) + order * np.log(scale))

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(self._moment(1, *theta))

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        first = self._moment(1, *theta)
        with np.errstate(over="ignore"):
            return np.exp(2 * first) * np.expm1(self._moment(2, *theta) - 2 * first)


class Gamma(PowerOfGamma):
    """Gamma: density t^(shape - 1) e^(-t / scale) / (Gamma(shape) scale^shape)."""

    name, title = "gamma", "Gamma"
    parameters = ("shape", "scale")
    kinds = ("shape", "scale")

    def stacy(self, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return shape, 1 and scale."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        return shape, np.ones(()), scale

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return shape times scale."""
        return np.multiply(theta[0], theta[1])

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return shape times the square of the scale."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(theta[0]) * np.square(np.asarray(theta[1], dtype=np.float64))

    def start(self, batch: Batch) -> Floats:
        """Return the fit without censoring, the scale raised for what outlasted it."""
        count, total, logs = _overall(batch, 1)
        shape = _shape_of(np.log(total / count) - logs / count)
        return np.stack([shape, total / (shape * np.maximum(batch.ended.count, 0.5))], axis=1)

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum where nothing is censored: one equation in the shape."""
        theta = None if batch.censored else self.start(batch)
        return None if theta is None or (theta[:, 0] > _LARGEST).any() else theta

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by log shape and log scale."""
        shape, log_scale = np.exp(unconstrained[:, 0]), unconstrained[:, 1]
        power = np.ones_like(shape)
        total = sums(GAMMA, batch, shape, power, log_scale, stretch=False)
        full = chained(total, batch.exact, power, log_scale, (shape, shape))
        return moved(full, _GAMMA_MOVE)


class Nakagami(PowerOfGamma):
    """Nakagami: t^2 is gamma with mean scale^2, so `scale` is the root of the mean square."""

    name, title = "nakagami", "Nakagami"
    parameters = ("shape", "scale")
    kinds = ("shape", "scale")

    def stacy(self, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return shape, 2 and scale / sqrt(shape)."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        return shape, np.full((), 2.0), scale / np.sqrt(shape)

    def start(self, batch: Batch) -> Floats:
        """Return the fit without censoring, the scale raised for what outlasted it."""
        count, total, logs = _overall(batch, 2)
        shape = _shape_of(np.log(total / count) - 2 * logs / count)
        return np.stack([shape, np.sqrt(total / np.maximum(batch.ended.count, 0.5))], axis=1)

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum where nothing is censored: one equation in the shape."""
        theta = None if batch.censored else self.start(batch)
        return None if theta is None or (theta[:, 0] > _LARGEST).any() else theta

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by log shape and log scale."""
        shape = np.exp(unconstrained[:, 0])
        log_scale = unconstrained[:, 1] - unconstrained[:, 0] / 2
        power = np.full_like(shape, 2.0)
        total = sums(GAMMA, batch, shape, power, log_scale, stretch=False)
        full = chained(total, batch.exact, power, log_scale, (shape, shape))
        return moved(full, _NAKAGAMI_MOVE)


class GeneralizedGamma(Climbing, PowerOfGamma):
    """Generalized gamma: density ~ t^(shape power - 1) e^(-(t / scale)^power).

    It comes as close to the lognormal as one likes, with a shape that grows, a power that falls and
    a scale that vanishes. So shapes are held to at most `largest`: samples with logarithms skewed
    to the right, which have no maximum within the family, end there.
    """

    name, title = "generalized-gamma", "Generalized gamma"
    parameters = ("shape", "power", "scale")
    kinds = ("shape", "shape", "scale")
    warm = True
    largest: ClassVar[float] = 1000.0
    edge: ClassVar[dict[str, float]] = {"shape": float(np.log(1000.0)), "scale": 1e4}

    def stacy(self, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return the parameters."""
        shape, power, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        return shape, power, scale

    def climbed(self, batch: Batch) -> tuple[Floats, Bools]:
        logs = _Logs.of(batch)
        high = np.tile(_HIGH, (len(batch), 1))
        high[:, 0] = np.log(self._limit(logs.spread))
        starts = (logs.like(shape) for shape in (2.0, 0.3, 0.02))
        best, found = climb_from(self._slopes, batch, starts, _LOW, high)
        return _stacy_of(best), found

    def _slopes(self, batch: Batch, phi: Floats) -> Derivatives:
        """Return derivatives by log shape, mu and log sigma.

        log power = -log shape / 2 - log sigma and log scale = mu - log shape / power.
        """
        log_shape, mu = phi[:, 0], phi[:, 1]
        shape, power = np.exp(log_shape), np.exp(-log_shape / 2 - phi[:, 2])
        log_scale = mu - log_shape / power
        total = sums(GAMMA, batch, shape, power, log_scale)
        full = chained(total, batch.exact, power, log_scale, (shape, shape))
        jacobian = np.zeros((len(mu), 3, 3))
        jacobian[:, 0, 0] = jacobian[:, 2, 1] = 1.0
        jacobian[:, 1, 0], jacobian[:, 1, 2] = -0.5, -1.0
        jacobian[:, 2, 0] = -(1 + log_shape / 2) / power
        jacobian[:, 2, 2] = -log_shape / power
        bends = np.zeros((len(mu), 3, 3))
        bends[:, 0, 0] = -(1 + log_shape / 4) / power
        bends[:, 0, 2] = bends[:, 2, 0] = -(1 + log_shape / 2) / power
        bends[:, 2, 2] = -log_shape / power
        return moved(full, jacobian, bends * full[1][:, 2, None, None])

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by the logarithms of the parameters."""
        shape, power = np.exp(unconstrained[:, 0]), np.exp(unconstrained[:, 1])
        log_scale = unconstrained[:, 2]
        total = sums(GAMMA, batch, shape, power, log_scale)
        return chained(total, batch.exact, power, log_scale, (shape, shape))

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return all parameters where the fit ended at an edge."""
        return self.parameters if self.remarks(batch, theta) else ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say so where the fit ended at an edge."""
        if theta[0] > 0.999 * self._limit(_Logs.of(batch).spread)[0]:
            return (f"no maximum: tends to the lognormal; stopped at shape {theta[0]:.4g}",)
        if theta[0] < 1.001 / self.largest:
            return (f"no maximum: tends to a power of t up to an end; stopped at {theta[0]:.4g}",)
        return ()

    def _limit(self, spread: Floats) -> Floats:
        """Return the largest shape, float64[B]: less where logarithms spread so far that the scale
        would be too small for a number."""
        room = 600 / (1.3 * spread)  # of log(shape) sqrt(shape)
        bound: Floats = np.exp(2 * lambertw(room / 2).real)
        return np.minimum(bound, self.largest)


_GAMMA_MOVE = np.array([[[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]])
_NAKAGAMI_MOVE = np.array([[[1.0, 0.0], [0.0, 0.0], [-0.5, 1.0]]])
_LOW = np.array([-np.log(GeneralizedGamma.largest), -np.inf, -12.0])
_HIGH = np.array([np.log(GeneralizedGamma.largest), np.inf, 12.0])


class _Logs:
    """Moments of the logarithms of all gaps, float64[B] each.

    Attributes
    ----------
    mean, spread : mean and standard deviation
    hidden : log(gaps / failures), more than 0 with right-censoring
    """

    def __init__(self, mean: Floats, spread: Floats, hidden: Floats) -> None:
        self.mean, self.spread, self.hidden = mean, spread, hidden

    @classmethod
    def of(cls, batch: Batch) -> _Logs:
        count, total, squares = (np.zeros(len(batch)) for _ in range(3))
        for part in (batch.exact, batch.right, batch.left):
            if len(part):
                count += part.count
                total += part.total(part.log)
                squares += part.total(part.log * part.log)
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean * mean, 1e-12))
        return cls(mean, spread, np.log(count / np.maximum(batch.ended.count, 0.5)))

    def like(self, shape: float) -> Floats:
        """Return log shape, mu and log sigma of the generalized gamma laws of that shape with
        these moments: psi and psi' are those of the logarithm of a gamma variate."""
        sigma = self.spread / np.sqrt(trigamma(shape) * shape)
        mu = self.mean + self.spread * self.hidden
        mu = mu + sigma * np.sqrt(shape) * (np.log(shape) - digamma(shape))
        return np.stack([np.full_like(mu, np.log(shape)), mu, np.log(sigma)], axis=1)


def _stacy_of(phi: Floats) -> Floats:
    """Return shape, power and scale from log shape, mu and log sigma."""
    power = np.exp(-phi[:, 0] / 2 - phi[:, 2])
    return np.stack([np.exp(phi[:, 0]), power, np.exp(phi[:, 1] - phi[:, 0] / power)], axis=1)


def _overall(batch: Batch, power: int) -> tuple[Floats, Floats, Floats]:
    """Return float64[B] each: gaps, their powers added up, their logarithms added up."""
    count, total, logs = (np.zeros(len(batch)) for _ in range(3))
    for part in (batch.exact, batch.right, batch.left):
        if len(part):
            count += part.count
            total += part.sum if power == 1 else part.total(part.time**power)
            logs += part.sum_log
    return count, total, logs


def _shape_of(gap: Floats) -> Floats:
    """Return the shape a with log a - psi(a) = gap > 0, float64[B].

    From a start good to 1.5 % (Minka, "Estimating a Gamma distribution", 2002), Newton on 1 / a.
    """
    s = np.maximum(gap, 1e-14)
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(6):
        off = np.log(a) - digamma(a) - s
        a = 1 / (1 / a + off / (a * a * (1 / a - trigamma(a))))
    return np.asarray(a)


def _log_gamma_step(a: Floats, step: Floats) -> Floats:
    """Return log(Gamma(a + step) / Gamma(a)); by Stirling's series where both are large."""
    low, high = np.maximum(a, 32.0), np.maximum(a + step, 32.0)

    def rest(v: Floats) -> Floats:
        w = 1 / (v * v)
        return (1 / 12 - w * (1 / 360 - w / 1260)) / v

    smooth = (low - 0.5) * np.log1p(step / low) + step * (np.log(high) - 1) + rest(high) - rest(low)
    return np.asarray(np.where(a > 32.0, smooth, gammaln(a + step) - gammaln(a)))


GAMMAS: tuple[Fittable, ...] = (Gamma(), GeneralizedGamma(), Nakagami())
