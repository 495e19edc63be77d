"""Standard laws on the whole line, of which location-scale families are made.

Each gives the logarithms of its density, survival and cdf at z, with `exact`, `right` and `left`
their first two derivatives by z, and quantiles.

Sources: Meeker and Escobar, "Statistical Methods for Reliability Data", 1998, chapter 4; for the
derivatives, Lawless, "Statistical Models and Methods for Lifetime Data", 2nd ed., 2003, 5.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri

from forestall.core.model.arrays import Floats

Terms = tuple[Floats, Floats, Floats]
"""A logarithm and its first two derivatives."""

EULER = 0.5772156649015329
_HALF_LOG_2_PI = 0.9189385332046727


class Standard(ABC):
    """A law with location 0 and scale 1.

    Attributes
    ----------
    middle, spread : its mean and standard deviation
    """

    middle: ClassVar[float]
    spread: ClassVar[float]

    @abstractmethod
    def logpdf(self, z: Floats) -> Floats:
        """Return the logarithm of the density."""

    @abstractmethod
    def logsf(self, z: Floats) -> Floats:
        """Return the logarithm of the probability above `z`."""

    @abstractmethod
    def logcdf(self, z: Floats) -> Floats:
        """Return the logarithm of the probability up to `z`."""

    @abstractmethod
    def quantile(self, p: Floats) -> Floats:
        """Return where the cdf is `p`."""

    @abstractmethod
    def exact(self, z: Floats) -> Terms:
        """Return `logpdf` and its derivatives."""

    @abstractmethod
    def right(self, z: Floats) -> Terms:
        """Return `logsf` and its derivatives."""

    @abstractmethod
    def left(self, z: Floats) -> Terms:
        """Return `logcdf` and its derivatives."""


class SmallestExtreme(Standard):
    """Smallest extreme value: sf = exp(-exp(z)); the logarithm of a Weibull time."""

    middle, spread = -EULER, np.pi / np.sqrt(6)

    def logpdf(self, z: Floats) -> Floats:
        """Return z - e^z."""
        return np.where(z == np.inf, -np.inf, z - np.exp(z))

    def logsf(self, z: Floats) -> Floats:
        """Return -e^z."""
        return -np.exp(z)

    def logcdf(self, z: Floats) -> Floats:
        """Return log(1 - exp(-e^z)); z far below 0."""
        return _log_of_rest(z)

    def quantile(self, p: Floats) -> Floats:
        """Return log(-log(1 - p))."""
        return np.log(-np.log1p(-p))

    def exact(self, z: Floats) -> Terms:
        """Return z - e^z and its derivatives."""
        e = np.exp(z)
        return z - e, 1 - e, -e

    def right(self, z: Floats) -> Terms:
        """Return -e^z and its derivatives."""
        e = -np.exp(z)
        return e, e, e

    def left(self, z: Floats) -> Terms:
        """Return log(1 - exp(-e^z)) and its derivatives."""
        return _rest(z)


class LargestExtreme(Standard):
    """Largest extreme value: cdf = exp(-exp(-z)); the smallest one turned round."""

    middle, spread = EULER, np.pi / np.sqrt(6)

    def logpdf(self, z: Floats) -> Floats:
        """Return -z - e^-z."""
        return np.where(z == -np.inf, -np.inf, -z - np.exp(-z))

    def logsf(self, z: Floats) -> Floats:
        """Return log(1 - exp(-e^-z)); -z far above 0."""
        return _log_of_rest(-z)

    def logcdf(self, z: Floats) -> Floats:
        """Return -e^-z."""
        return -np.exp(-z)

    def quantile(self, p: Floats) -> Floats:
        """Return -log(-log p)."""
        return -np.log(-np.log(p))

    def exact(self, z: Floats) -> Terms:
        """Return -z - e^-z and its derivatives."""
        e = np.exp(-z)
        return -z - e, e - 1, -e

    def right(self, z: Floats) -> Terms:
        """Return log(1 - exp(-e^-z)) and its derivatives."""
        value, first, second = _rest(-z)
        return value, -first, second

    def left(self, z: Floats) -> Terms:
        """Return -e^-z and its derivatives."""
        e = np.exp(-z)
        return -e, e, -e


class Logistic(Standard):
    """Logistic: cdf = 1 / (1 + e^-z)."""

    middle, spread = 0.0, np.pi / np.sqrt(3)

    def logpdf(self, z: Floats) -> Floats:
        """Return -|z| - 2 log(1 + e^-|z|)."""
        far = np.abs(z)
        value: Floats = -far - 2 * np.log1p(np.exp(-far))
        return value

    def logsf(self, z: Floats) -> Floats:
        """Return -log(1 + e^z)."""
        return np.minimum(-z, 0) - np.log1p(np.exp(-np.abs(z)))

    def logcdf(self, z: Floats) -> Floats:
        """Return -log(1 + e^-z)."""
        return np.minimum(z, 0) - np.log1p(np.exp(-np.abs(z)))

    def quantile(self, p: Floats) -> Floats:
        """Return log(p / (1 - p))."""
        return np.log(p) - np.log1p(-p)

    def exact(self, z: Floats) -> Terms:
        e = np.exp(-np.abs(z))
        tail = e / (1 + e)  # the smaller of cdf and sf
        return -np.abs(z) - 2 * np.log1p(e), np.sign(z) * (2 * tail - 1), -2 * tail * (1 - tail)

    def right(self, z: Floats) -> Terms:
        e = np.exp(-np.abs(z))
        tail = e / (1 + e)
        cdf = np.where(z > 0, 1 - tail, tail)
        return np.minimum(-z, 0) - np.log1p(e), -cdf, -tail * (1 - tail)

    def left(self, z: Floats) -> Terms:
        value, first, second = self.right(-z)
        return value, -first, second


class Normal(Standard):
    """Normal."""

    middle, spread = 0.0, 1.0

    def logpdf(self, z: Floats) -> Floats:
        """Return -z^2 / 2 - log(2 pi) / 2."""
        return -0.5 * z * z - _HALF_LOG_2_PI

    def logsf(self, z: Floats) -> Floats:
        """Return log Phi(-z)."""
        return np.asarray(log_ndtr(-z))

    def logcdf(self, z: Floats) -> Floats:
        """Return log Phi(z)."""
        return np.asarray(log_ndtr(z))

    def quantile(self, p: Floats) -> Floats:
        """Return Phi^-1(p)."""
        return np.asarray(ndtri(p))

    def exact(self, z: Floats) -> Terms:
        return self.logpdf(z), -z, np.full_like(z, -1.0)

    def right(self, z: Floats) -> Terms:
        """Return the logarithm of the survival and its derivatives, by Mills' ratio."""
        hazard = 0.7978845608028654 / erfcx(z * 0.7071067811865476)
        return self.logsf(z), -hazard, -hazard * np.maximum(hazard - z, 0.0)

    def left(self, z: Floats) -> Terms:
        value, first, second = self.right(-z)
        return value, -first, second


def _log_of_rest(z: Floats) -> Floats:
    """Return log(1 - exp(-e^z)), exact for z far on either side."""
    with np.errstate(divide="ignore", over="ignore"):
        e = np.exp(z)
        near = np.where(e > 0.7, np.log1p(-np.exp(-e)), np.log(-np.expm1(-e)))
    # 1 - exp(-e) is e - e^2 / 2 + ... there, and 0 in floating point before z reaches -745
    return np.where(z < -36, z, near)


def _rest(z: Floats) -> Terms:
    """Return log(1 - exp(-e^z)) and its derivatives by z."""
    e = np.exp(z)
    below = np.where(z < -36, 1.0, e / np.expm1(e))  # e f / F
    below = np.where(e > 700, 0.0, below)
    # d/dz of log(e / (exp(e) - 1)) is 1 - e - e / (exp(e) - 1); for small e, -e / 2
    slope = np.where(e < 1e-5, -e / 2, 1 - e - below)
    return _log_of_rest(z), below, below * np.where(e > 700, 0.0, slope)
