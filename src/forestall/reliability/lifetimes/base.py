"""What every family of lifetime distributions can do, and a law: a family with its parameters.

Everything broadcasts: times and parameters may be arrays of any shapes that go together, so one
call computes a batch of laws at a batch of times. Times are in whatever unit the parameters are in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError

Kind = Literal["scale", "rate", "location", "logscale", "shape", "real", "share"]
"""What a parameter is, which says how it changes with the unit of time and where it may lie.

scale: a time, > 0; rate: 1 / time, > 0; location: a time, any; logscale: the logarithm of a time,
any; shape: a number > 0; real: any number; share: a number in (0, 1).
"""

POSITIVE: frozenset[Kind] = frozenset({"scale", "rate", "shape"})


class Family(ABC):
    """A family of lifetime distributions. One instance of each is in `registry.FAMILIES`.

    Attributes
    ----------
    name : as commands and `fs.fit` take it, such as ``weibull``
    title : as tables and legends show it, such as ``Weibull``
    parameters : names of the parameters, in order
    kinds : what each of them is, in the same order
    at_zero : whether the density at 0 is finite and above 0 for every parameter, so that a gap of
        exactly 0 can be taken as it stands
    """

    name: ClassVar[str]
    title: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]
    kinds: ClassVar[tuple[Kind, ...]]
    at_zero: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density at `t`; -inf outside the support."""

    @abstractmethod
    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability to last longer than `t`; 0 below the support.

        Exact far into the tail: not log(1 - cdf).
        """

    @abstractmethod
    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability to last at most `t`, exact for small `t`."""

    @abstractmethod
    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed."""

    @abstractmethod
    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return the mean; inf where there is none."""

    @abstractmethod
    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf or nan where there is none."""

    def loghazard(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the hazard rate, density over survival."""
        with np.errstate(invalid="ignore"):
            return self.logpdf(t, *theta) - self.logsf(t, *theta)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        """Return random lifetimes of that shape; parameters broadcast against it."""
        return self.quantile(rng.random(shape), *theta)

    def rescaled(self, theta: Floats, factor: npt.ArrayLike) -> Floats:
        """Return the parameters, float64[..., p], of `factor` times the lifetime."""
        scaled = np.array(theta, dtype=np.float64)
        factor = np.asarray(factor, dtype=np.float64)
        for k, kind in enumerate(self.kinds):
            if kind in ("scale", "location"):
                scaled[..., k] *= factor
            elif kind == "rate":
                scaled[..., k] /= factor
            elif kind == "logscale":
                scaled[..., k] += np.log(factor)
        return scaled

    def checked(self, values: Mapping[str, float]) -> tuple[float, ...]:
        """Return the values in order; ParameterError names the one that cannot be."""
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            raise ParameterError(unknown[0], values[unknown[0]], f"one of {self.parameters}")
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            value = values.get(name)
            fine = value is not None and np.isfinite(value)
            if not fine or (kind in POSITIVE and not value > 0):  # type: ignore[operator]
                allowed = "a finite number above 0" if kind in POSITIVE else "a finite number"
                raise ParameterError(name, value, allowed)
            if kind == "share" and not 0 < value < 1:  # type: ignore[operator]
                raise ParameterError(name, value, "a number between 0 and 1")
        return tuple(float(values[name]) for name in self.parameters)


@dataclass(frozen=True)
class Lifetime:
    """A law of lifetimes: a family and the values of its parameters.

    >>> from forestall.reliability.lifetimes.registry import lifetime
    >>> weibull = lifetime("weibull", shape=0.7, scale=100.0)
    >>> round(weibull.mean(), 2), round(float(weibull.sf(100.0)), 4)
    (126.58, 0.3679)
    """

    family: Family
    values: tuple[float, ...]

    @property
    def params(self) -> dict[str, float]:
        """The parameters by name."""
        return dict(zip(self.family.parameters, self.values, strict=True))

    def pdf(self, t: npt.ArrayLike) -> Floats:
        """Return the density at `t`, 1 / time."""
        return np.exp(self.family.logpdf(_times(t), *self.values))

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability to have failed by `t`."""
        return np.exp(self.family.logcdf(_times(t), *self.values))

    def sf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability to last longer than `t`: the reliability R(t)."""
        return np.exp(self.family.logsf(_times(t), *self.values))

    def hazard(self, t: npt.ArrayLike) -> Floats:
        """Return the hazard rate at age `t`, 1 / time."""
        return np.exp(self.family.loghazard(_times(t), *self.values))

    def cumulative_hazard(self, t: npt.ArrayLike) -> Floats:
        """Return the hazard added up from 0 to `t`: -log R(t)."""
        return -self.family.logsf(_times(t), *self.values)

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed."""
        return self.family.quantile(_times(p), *self.values)

    def mean(self) -> float:
        """Return the mean time to failure; inf where there is none."""
        return float(self.family.mean(*self.values))

    def variance(self) -> float:
        """Return the variance of the time to failure."""
        return float(self.family.variance(*self.values))

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        """Return random lifetimes."""
        return self.family.draw(rng, shape, *self.values)

    def survival_from(self, age: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return the probability that what has lasted `age` lasts another `t`."""
        old = _times(age)
        logsf = self.family.logsf
        return np.exp(logsf(old + _times(t), *self.values) - logsf(old, *self.values))

    def __str__(self) -> str:
        inner = ", ".join(f"{name} {value:.6g}" for name, value in self.params.items())
        return f"{self.family.title}({inner})"

    def __repr__(self) -> str:
        return f"Lifetime({self.family.name!r}, {self.listed()})"

    def listed(self) -> str:
        """Return the parameters as they are given to a function, to six digits."""
        return ", ".join(f"{name}={value:.6g}" for name, value in self.params.items())


def law_in(given: object) -> Lifetime | None:
    """Return the law that something is or holds: a `Lifetime`, or something fitted, whose
    `lifetime` is one; None where it is neither."""
    held = getattr(given, "lifetime", given)
    return held if isinstance(held, Lifetime) else None


def needed_law(given: object, name: str = "lifetime") -> Lifetime:
    """Return the law that something is or holds; ParameterError where it is neither."""
    law = law_in(given)
    if law is None:
        raise ParameterError(name, given, "a Lifetime, or something fitted")
    return law


def _times(t: npt.ArrayLike) -> Floats:
    return np.asarray(t, dtype=np.float64)
