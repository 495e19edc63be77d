"""The residual life of a node of a machine long in use, and integrals of survival functions.

Source: Cox, Renewal Theory, 1962, Chapters 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaincc, gammaincinv

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime

_X, _W = np.polynomial.legendre.leggauss(10)
_HAZARDS = np.concatenate([np.exp(np.arange(-60.0, 0.5, 0.5)), np.arange(2.0, 700.0, 2.0)])
"""Cumulative hazards at which an integral is cut: between two of them every law is smooth."""


class Integral:
    """The integral of a survival function, and of t times it, from 0 to t and from t on.

    Ten-point Gauss-Legendre rules in the logarithm of time between times of given cumulative
    hazard, so that steep and heavy-tailed laws cost the same.
    """

    def __init__(self, log_sf: Callable[[Floats], Floats]) -> None:
        self._log_sf = log_sf
        self.times = time_of_hazard(log_sf, _HAZARDS)
        first = self.times[0]
        parts = self._between(self.times[:-1], self.times[1:])
        zeroth, weighted = (np.concatenate([[0.0], np.cumsum(part)]) for part in parts)
        with np.errstate(over="ignore"):
            self._sums = (first + zeroth, 0.5 * first**2 + weighted)
        self._tail = np.concatenate([np.cumsum(parts[0][::-1])[::-1], [0.0]])
        self.total = float(self._sums[0][-1])

    @property
    def mean(self) -> float:
        """The integral over all times: `total`; inf where t sf(t) hardly falls, if at all."""
        with np.errstate(divide="ignore"):
            logs = (np.log(self.times) - _HAZARDS)[_HAZARDS <= 100]
        return self.total if logs[-1] < logs.max() - 3 else math.inf

    def _between(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the integrals of sf and of t sf from `low` to `high`, both above 0."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            start, half = np.log(low), 0.5 * np.log(high / low)
            half = np.where(high > low, half, 0.0)
            t = np.exp((start + half)[..., None] + half[..., None] * _X)
            values = t * np.exp(self._log_sf(t))
            return half * (values @ _W), half * ((t * values) @ _W)

    def up_to(self, t: npt.ArrayLike) -> Floats:
        """Return the integral of sf from 0 to `t`."""
        return self.both_up_to(t)[0]

    def both_up_to(self, t: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the integrals of sf and of t sf from 0 to `t`."""
        times = np.asarray(t, dtype=np.float64)
        place = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, None)
        base = self.times[place]
        inside = times > base
        parts = self._between(base, np.where(inside, np.minimum(times, self.times[-1]), base))
        early = times <= self.times[0]
        return (
            np.where(early, times, self._sums[0][place] + parts[0]),
            np.where(early, times**2 / 2, self._sums[1][place] + parts[1]),
        )

    def beyond(self, t: npt.ArrayLike) -> Floats:
        """Return the integral of sf from `t` on, exact far into the tail."""
        times = np.asarray(t, dtype=np.float64)
        place = np.clip(np.searchsorted(self.times, times), 0, len(self.times) - 1)
        end = self.times[place]
        low = np.clip(times, self.times[0], end)
        ahead = np.maximum(self.times[0] - times, 0.0)
        return np.asarray(ahead + self._tail[place] + self._between(low, end)[0])


def time_of_hazard(log_sf: Callable[[Floats], Floats], hazard: Floats) -> Floats:
    """Return the times at which the cumulative hazard -log sf reaches `hazard`, by bisection."""
    low, high = np.full(hazard.shape, -720.0), np.full(hazard.shape, 700.0)
    with np.errstate(all="ignore"):
        for _ in range(72):
            middle = 0.5 * (low + high)
            below = -log_sf(np.exp(middle)) < hazard
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(np.exp(0.5 * (low + high)))


@lru_cache(maxsize=64)
def equilibrium_of(law: Lifetime) -> Equilibrium:
    """Return the residual life of a law's node; of laws asked for lately the one made before, since
    of most families it takes an integral."""
    return Equilibrium(law)


def shape_of(law: Lifetime) -> float:
    """Return the Weibull shape of a law, 1 for the exponential, nan for other families."""
    if law.family.name == "exponential":
        return 1.0
    return law.params["shape"] if law.family.name == "weibull" else math.nan


def steady_mean(law: Lifetime) -> float:
    """Return the mean of a law; ParameterError without one: then there is no steady state."""
    mean = law.mean()
    if not math.isfinite(mean):
        raise ParameterError("ages", "steady", f"a law with a finite mean, which {law} has not")
    return mean


class Equilibrium:
    """The residual life of one node of a machine long in use: sf_e(t), the integral of sf from t
    on over the mean. ParameterError where the law has no mean."""

    def __init__(self, law: Lifetime) -> None:
        self.law, self.mean, self.shape = law, steady_mean(law), shape_of(law)
        self.scale = self.mean if self.shape == 1 else law.params.get("scale", 1.0)

    @cached_property
    def _integral(self) -> Integral:
        return Integral(lambda t: -self.law.cumulative_hazard(t))

    def log_sf(self, t: npt.ArrayLike) -> Floats:
        """Return log sf_e(t)."""
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if self.shape == 1:
            return np.asarray(-times / self.scale).reshape(np.shape(t))
        with np.errstate(divide="ignore", over="ignore"):
            if math.isfinite(self.shape):
                x = (times / self.scale) ** self.shape
                gone = gammainc(1 / self.shape, x)
                out = np.log1p(-np.minimum(gone, 0.75))
                late = gone > 0.5
                out[late] = np.log(gammaincc(1 / self.shape, x[late]))
                return np.asarray(out.reshape(np.shape(t)))
            integral = self._integral
            gone = integral.up_to(times) / integral.total
            out = np.log1p(-np.minimum(gone, 0.75))
            late = gone > 0.5
            out[late] = np.log(integral.beyond(times[late]) / integral.total)
            return np.asarray(out.reshape(np.shape(t)))

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed; exact for small `p`."""
        share = np.asarray(p, dtype=np.float64)
        if self.shape == 1:
            return -self.scale * np.log1p(-share)
        if math.isfinite(self.shape):
            return np.asarray(self.scale * gammaincinv(1 / self.shape, share) ** (1 / self.shape))
        with np.errstate(divide="ignore"):
            return np.exp(np.interp(np.log(-np.log1p(-share)), *self._curve))

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        log = np.linspace(-45.0, 4.0, 8192)
        coarse = log[::64]
        near = np.log(time_of_hazard(self.log_sf, np.exp(coarse)))
        time = np.interp(log[: 64 * len(coarse) - 63], coarse, near)
        return np.log(-self.log_sf(np.exp(time))), time
