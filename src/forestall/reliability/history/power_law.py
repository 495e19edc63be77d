"""The power-law process: a repairable system whose rate grows or falls with age.

Failures by age t number (t / scale)^shape on average; the intensity is
shape / scale (t / scale)^(shape - 1). Shape below 1: fewer and fewer failures (Duane's growth),
above 1: more and more. Crow, "Reliability analysis for complex, repairable systems", 1974 (the
Crow-AMSAA model); Rigdon and Basu, "Statistical methods for the reliability of repairable systems",
2000; MIL-HDBK-189.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, ndtri

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.history.observed import Observed, Truncation
from forestall.reliability.history.rates import checked_level
from forestall.reliability.roots import root as find_root

with lazily():
    import polars as pl


LOW, HIGH = math.log(1e-4), math.log(1e9)
"""Between these lies the logarithm of any shape."""
MOST = 1e9
"""So steep a slope, or so unlikely a value, is as good as infinite."""


@dataclass(frozen=True)
class PowerLawGoodness:
    """Cramer-von Mises distance of the failures from the fitted process, and its p-value from
    `draws` samples of that process, each fitted again."""

    statistic: float
    p_value: float
    draws: int


@dataclass(frozen=True)
class PowerLaw:
    """A fitted power-law process of one or more like systems.

    Attributes
    ----------
    shape, scale : maximum-likelihood estimates; scale in the unit of time of the data
    shape_unbiased : (n - 1) / n of the shape where truncated by time, (n - k - 1) / n by failure
        (n failures, k systems): without bias where all windows start at age 0, nearly elsewhere;
        nan for too few
    loglik : maximised log-likelihood of the failures in their windows
    used : the failures and windows it was fitted to, in ages; truncated by failure, windows end
        with the last failure, which `last` counts
    truncation, last : how the windows end, and failures at their ends
    """

    shape: float
    scale: float
    shape_unbiased: float
    loglik: float
    used: Observed
    truncation: Truncation
    last: int

    @property
    def failures(self) -> int:
        """How many failures it was fitted to."""
        return len(self.used.time) + self.last

    @property
    def params(self) -> dict[str, float]:
        """Shape and scale by name."""
        return {"shape": self.shape, "scale": self.scale}

    def intensity(self, age: npt.ArrayLike) -> Floats:
        """Return failures per unit of time of one system at an age."""
        t = np.asarray(age, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(self.shape / self.scale * (t / self.scale) ** (self.shape - 1))

    def expected(self, until: npt.ArrayLike, since: npt.ArrayLike = 0.0) -> Floats:
        """Return the expected failures of one system between two ages."""
        a, b = (np.asarray(t, dtype=np.float64) / self.scale for t in (since, until))
        return np.asarray(b**self.shape - a**self.shape)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of (shape, scale), float64[2, 2], from the observed information of their
        logarithms; nan where that is not positive definite."""
        values = np.array([self.shape, self.scale])
        return np.asarray(self._log_covariance * np.outer(values, values))

    @cached_property
    def _log_covariance(self) -> Floats:
        return _covariance(_Likelihood.of(self.used, self.last), self.shape, self.scale)

    def ci(
        self, level: float = 0.95, method: Literal["likelihood", "fisher", "exact"] = "likelihood"
    ) -> dict[str, tuple[float, float]]:
        """Return confidence intervals of shape and scale.

        "likelihood": where the profile likelihood stays within the chi-square quantile; "fisher":
        from the information of the logarithms; "exact": chi-square, of the shape alone, where all
        windows start at age 0 and end alike. Raises ParameterError where that does not hold.
        """
        if method == "exact":
            return {"shape": self._exact(checked_level(level))}
        if method == "fisher":
            z = float(ndtri(0.5 + checked_level(level) / 2))
            spread = np.sqrt(np.diag(self._log_covariance))
            pairs = zip(self.params.items(), spread.tolist(), strict=True)
            return {n: (v * math.exp(-z * s), v * math.exp(z * s)) for (n, v), s in pairs}
        if method != "likelihood":
            raise ParameterError("method", method, "likelihood, fisher or exact")
        likelihood = _Likelihood.of(self.used, self.last)
        drop = float(ndtri(0.5 + checked_level(level) / 2)) ** 2 / 2
        return {
            "shape": likelihood.shape_interval(self.shape, drop),
            "scale": likelihood.scale_interval(self.shape, self.scale, drop),
        }

    def _exact(self, level: float) -> tuple[float, float]:
        used = self.used
        alike = len(np.unique(used.end)) == 1 and self.truncation == "time"
        if used.start.any() or not (alike or int(np.count_nonzero(used.span > 0)) == 1):
            raise ParameterError(
                "method", "exact", "likelihood or fisher: the windows are not from age 0 to one end"
            )
        # 2 n shape / estimate is chi-square with twice as many degrees of freedom as failures that
        # do not end a window
        tail, n = (1 - level) / 2, len(used.time)
        low, high = gammaincinv(n, [tail, 1 - tail]) / self.failures * self.shape
        return float(low), float(high)

    def goodness(self, rng: np.random.Generator, draws: int = 999) -> PowerLawGoodness:
        """Return the Cramer-von Mises test of the process with a p-value by parametric bootstrap.

        Given how many failures each system has, their transformed ages are a sorted uniform sample;
        the shape is that which is likeliest given these numbers.
        """
        if draws < 1:
            raise ParameterError("draws", draws, "at least 1")
        used = self.used
        n = len(used.time)
        if n < 2:
            raise ParameterError("failures", n, "at least 2 inside the windows")
        a, b = (ends[used.system] for ends in (used.start, used.end))
        unit = float(b.max())
        a, b, t = a / unit, b / unit, used.time / unit
        factor = (n - 1) / n
        seen = _distance(t[None], a, b, factor * _conditional(t[None], a, b))[0]
        shape = float(_conditional(t[None], a, b)[0])
        far = 0
        rows = max(1, 2_000_000 // n)
        for done in range(0, draws, rows):
            u = rng.random((min(rows, draws - done), n))
            low, high = a**shape, b**shape
            sample = np.maximum((low + u * (high - low)) ** (1 / shape), np.finfo(float).tiny)
            fitted = factor * _conditional(sample, a, b)
            far += int(np.count_nonzero(_distance(sample, a, b, fitted) >= seen))
        return PowerLawGoodness(float(seen), (far + 1) / (draws + 1), draws)

    def table(self, level: float = 0.95) -> pl.DataFrame:
        """Return a Polars table of the parameters with their intervals."""
        bounds = self.ci(level)
        return pl.DataFrame(
            {
                "parameter": list(self.params),
                "estimate": list(self.params.values()),
                "low": [bounds[name][0] for name in self.params],
                "high": [bounds[name][1] for name in self.params],
            }
        )


def power_law(observed: Observed, *, truncation: Truncation = "time") -> PowerLaw:
    """Return the maximum-likelihood power-law process of systems that share shape and scale.

    Times are ages: a system that is new at its window's start has start 0 (`Observed.aged`).
    Failures at age 0, or at the very start of a window, are left out and noted. Raises
    ParameterError for negative ages and for fewer than 2 failures.
    """
    if len(observed.start) and float(observed.start.min()) < 0:
        raise ParameterError("start", float(observed.start.min()), "an age of at least 0")
    used = observed.inner(truncation)
    last = int(np.count_nonzero(used.span > 0)) if truncation == "failure" else 0
    n = len(used.time) + last
    if n < 2 or len(used.time) < 1:
        raise ParameterError("failures", n, "at least 2 failures at ages above 0")
    likelihood = _Likelihood.of(used, last)
    shape = likelihood.maximum()
    freedom = n - 1 if truncation == "time" else n - last - 1
    unbiased = shape * freedom / n if freedom > 0 else math.nan
    loglik = likelihood.profile(math.log(shape))
    return PowerLaw(shape, likelihood.scale(shape), unbiased, loglik, used, truncation, last)


@dataclass(frozen=True)
class _Likelihood:
    """Log-likelihood of shape and scale, on ages divided by `unit` so that powers do not overflow.

    `n` failures with `logs` the sum of their log ages; windows [a, b] by their logarithms, those
    from age 0 (`log_whole`, of b) apart.
    """

    n: int
    logs: float
    log_whole: Floats
    log_a: Floats
    log_b: Floats
    unit: float

    @classmethod
    def of(cls, used: Observed, last: int) -> _Likelihood:
        watched = used.span > 0
        unit = float(used.end.max())
        a, b = used.start[watched] / unit, used.end[watched] / unit
        n = len(used.time) + last
        logs = float(np.log(used.time / unit).sum())
        if last:
            logs += float(np.log(b).sum())  # each window ends with a failure
        late = a > 0
        return cls(n, logs, np.log(b[~late]), np.log(a[late]), np.log(b[late]), unit)

    def exposure(self, shape: float) -> tuple[float, float, float]:
        """Return sum(b^shape - a^shape) and its first two derivatives by the shape."""
        whole, a, b = (np.exp(shape * v) for v in (self.log_whole, self.log_a, self.log_b))
        late = -b * np.expm1(shape * (self.log_a - self.log_b))  # exact for a small shape too
        out = [float(whole.sum() + late.sum())]
        for k in (1, 2):
            part = (b * self.log_b**k - a * self.log_a**k).sum()
            out.append(float((whole * self.log_whole**k).sum() + part))
        return out[0], out[1], out[2]

    def score(self, shape: float) -> float:
        e, e1, _ = self.exposure(shape)
        return self.n / shape + self.logs - self.n * e1 / e

    def maximum(self) -> float:
        """Return the likeliest shape."""
        if self.score(math.exp(HIGH)) > 0 or self.score(math.exp(LOW)) < 0:
            allowed = (
                "failures whose rate grows or falls as some power of age (these come too early"
            )
            allowed += " in their windows, or all at the end)"
            raise ParameterError("times", "without a likeliest shape", allowed)
        root = find_root(lambda v: self.score(math.exp(v)), LOW, HIGH)
        return math.exp(root)

    def scale(self, shape: float) -> float:
        """Return the likeliest scale for a shape."""
        return float(self.unit * (self.exposure(shape)[0] / self.n) ** (1 / shape))

    def value(self, shape: float, scale: float) -> float:
        log_scale = math.log(scale / self.unit)
        rate = math.log(shape) - shape * log_scale
        told = self.n * (rate - math.log(self.unit)) + (shape - 1) * self.logs
        return told - math.exp(-shape * log_scale) * self.exposure(shape)[0]

    def profile(self, log_shape: float) -> float:
        shape = math.exp(log_shape)
        e = self.exposure(shape)[0]
        rate = math.log(shape * self.n / e) - math.log(self.unit)
        return self.n * (rate - 1) + (shape - 1) * self.logs

    def shape_interval(self, shape: float, drop: float) -> tuple[float, float]:
        best = self.profile(math.log(shape)) - drop
        return _crossings(lambda v: self.profile(v) - best, math.log(shape))

    def scale_interval(self, shape: float, scale: float, drop: float) -> tuple[float, float]:
        best = self.value(shape, scale) - drop
        return _crossings(lambda v: self._best_of_scale(v, math.log(shape)) - best, math.log(scale))

    def _best_of_scale(self, log_scale: float, near: float) -> float:
        """Return the likelihood of a scale with its likeliest shape."""
        log_unit = log_scale - math.log(self.unit)
        whole, a, b = (v - log_unit for v in (self.log_whole, self.log_a, self.log_b))

        def slope(v: float) -> float:
            shape = math.exp(v)
            with np.errstate(over="ignore", invalid="ignore"):
                growth = (whole * np.exp(shape * whole)).sum()
                growth += (b * np.exp(shape * b) - a * np.exp(shape * a)).sum()
            told = self.n / shape + self.logs - self.n * log_unit - growth
            return float(told) if told > -MOST else -MOST  # also where it overflows

        low, high = near - 6, near + 6
        best = low if slope(low) <= 0 else high if slope(high) >= 0 else find_root(slope, low, high)
        try:
            return self.value(math.exp(best), math.exp(log_scale))
        except OverflowError:
            return -math.inf


def _crossings(excess: Callable[[float], float], middle: float) -> tuple[float, float]:
    """Return exp of where a function falls below 0 on either side of `middle`."""

    def bounded(v: float) -> float:
        return max(excess(v), -MOST)

    bounds = []
    for side in (-1.0, 1.0):
        step, inner = 0.05, middle
        while bounded(middle + side * step) > 0 and step < 60:
            inner, step = middle + side * step, 2 * step
        outer = middle + side * step
        if bounded(outer) > 0:
            bounds.append(0.0 if side < 0 else math.inf)
        else:
            bounds.append(math.exp(find_root(bounded, inner, outer)))
    return bounds[0], bounds[1]


def _covariance(likelihood: _Likelihood, shape: float, scale: float) -> Floats:
    """Return the covariance of (ln shape, ln scale) at the maximum."""
    e, e1, e2 = likelihood.exposure(shape)
    n, log_scale = likelihood.n, math.log(scale / likelihood.unit)
    # with rate = scale^-shape: l = n ln shape + n ln rate + (shape - 1) logs - rate e(shape)
    rate = n / e
    information = np.array([[n / shape**2 + rate * e2, rate * e1], [rate * e1, n]])
    if not np.all(np.linalg.eigvalsh(information) > 0):
        return np.full((2, 2), np.nan)
    covariance = np.linalg.inv(information)  # of (shape, ln rate)
    jacobian = np.array([[1 / shape, 0], [-log_scale / shape, -1 / shape]])
    return np.asarray(jacobian @ covariance @ jacobian.T)


def _conditional(t: Floats, a: Floats, b: Floats) -> Floats:
    """Return the likeliest shape of each row of ages t[B, n], given how many fell into each window
    [a, b] (float64[n] each), float64[B]."""
    logs = np.log(t).sum(axis=1)
    n = t.shape[1]
    if not a.any():
        return np.asarray(n / (np.log(b).sum() - logs))
    windows, many = np.unique(np.column_stack([a, b]), axis=0, return_counts=True)
    low, high = windows.T
    log_b, ratio = np.log(high), np.log(np.maximum(low, np.finfo(float).tiny) / high)
    log_a = log_b + ratio

    def score(shape: Floats) -> Floats:
        power = shape[:, None] * ratio
        share = np.where(low > 0, np.exp(power), 0.0)  # a^shape of b^shape
        left = np.where(low > 0, -np.expm1(power), 1.0)
        mean = (log_b - share * log_a) / left
        return np.asarray(n / shape + logs - (many * mean).sum(axis=1))

    lower, upper = np.full(len(t), LOW), np.full(len(t), HIGH)
    for _ in range(60):  # bisection: the score falls
        middle = (lower + upper) / 2
        rising = score(np.exp(middle)) > 0
        lower, upper = np.where(rising, middle, lower), np.where(rising, upper, middle)
    return np.asarray(np.exp((lower + upper) / 2))


def _distance(t: Floats, a: Floats, b: Floats, shape: Floats) -> Floats:
    """Return the Cramer-von Mises statistic of each row."""
    power = shape[:, None]
    low, high = a**power, b**power
    u = np.sort((t**power - low) / (high - low), axis=1)
    n = t.shape[1]
    even = (2 * np.arange(1, n + 1) - 1) / (2 * n)
    return np.asarray(1 / (12 * n) + ((u - even) ** 2).sum(axis=1))
