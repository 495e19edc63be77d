"""ARMA models with a mean, by exact Gaussian maximum likelihood.

    y_t - m = ar_1 (y_{t-1} - m) + ... + ar_p (y_{t-p} - m)
              + e_t + ma_1 e_{t-1} + ... + ma_q e_{t-q}

The likelihood is that of the Kalman filter from the stationary state (Harvey, Forecasting,
structural time series models and the Kalman filter, 1989, section 3.3), with the variance of e
profiled out. Its derivatives are exact: without gaps the covariance moves by rank one in a step
(Morf, Sidhu and Kailath, IEEE Trans. Automatic Control 19, 1974; Pearlman, Biometrika 67, 1980), so
that a step costs O(r (p + q)) with all derivatives, and once nothing moves any more O(q (p + q)).
Steps are those of scoring, damped as Levenberg and Marquardt do, in the inverse hyperbolic tangents
of the partial autocorrelations of both parts (Monahan, Biometrika 71, 1984): every step stays
stationary and invertible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.linear import arma_kernels as kernels
from forestall.prediction.models.linear import slopes_kernels
from forestall.prediction.models.linear.starts import limited_orders, starts, to_partial

EDGE = 8.0
"""Partial autocorrelations stay within tanh(8), 2e-7 below 1."""
GAIN = 1e-5
"""A climb ends where a step gains less than this of log-likelihood."""


@dataclass(frozen=True)
class Arma:
    """An ARMA model.

    Attributes
    ----------
    ar, ma : float64[p], float64[q]: the coefficients, in the signs of the module's formula
    mean : of the series
    variance : of the innovations e; 0 for a series that never changes
    loglik : log-likelihood of what it was fitted to (inf where the variance is 0)
    observed : number of values that it was fitted to, without gaps
    steps : how often the likelihood was evaluated
    """

    ar: Floats
    ma: Floats
    mean: float
    variance: float
    loglik: float = math.nan
    observed: int = 0
    steps: int = 0

    @property
    def orders(self) -> tuple[int, int]:
        """p and q."""
        return len(self.ar), len(self.ma)

    def roots(self) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
        """Return the roots of 1 - ar_1 z - ... and of 1 + ma_1 z + ..., nearest to 0 first; beyond
        the unit circle where the model is stationary, or invertible."""
        return _roots(-self.ar), _roots(self.ma)

    def filtered(self, series: npt.ArrayLike) -> FilteredSeries:
        """Return what the model expected of a series at each step, from the values before it.

        Where rounding leaves no stationary state, nothing is known of the first one.
        """
        return _filtered(_series(series), self.ar, self.ma, self.mean, vague=True)

    def ahead(self, steps: int) -> Floats:
        """Return float64[steps, r]: row h gives the forecast of h + 1 steps on, less the mean, as a
        product with a row of `FilteredSeries.states`."""
        size = max(len(self.ar), len(self.ma) + 1)
        shift = np.diag(np.ones(size - 1), 1)
        shift[: len(self.ar), 0] = self.ar
        rows = np.empty((steps, size))
        row = np.zeros(size)
        row[0] = 1.0
        for h in range(steps):
            rows[h] = row
            row = row @ shift
        return rows

    def forecast(self, history: npt.ArrayLike, steps: int) -> Floats:
        """Return float64[steps]: the means of the values that follow a history (nan: not seen)."""
        if not len(np.atleast_1d(np.asarray(history))):
            return np.full(steps, self.mean)
        state = self.filtered(history).states[-1]
        answer: Floats = self.mean + self.ahead(steps) @ state
        return answer

    def spread(self, steps: int) -> Floats:
        """Return float64[steps]: standard deviations of the errors of `forecast`."""
        size = max(len(self.ar), len(self.ma) + 1)
        moving = np.zeros(size)
        moving[0] = 1.0
        moving[1 : 1 + len(self.ma)] = self.ma
        weights = self.ahead(steps) @ moving
        return np.sqrt(self.variance * np.cumsum(weights**2))

    def likelihood(self, series: npt.ArrayLike) -> float:
        """Return the log-likelihood of a series, with the model's own variance.

        Raises ParameterError where the autoregression is not stationary.
        """
        run = _filtered(_series(series), self.ar, self.ma, self.mean, states=False)
        seen = np.isfinite(run.errors)
        if self.variance <= 0:
            return math.inf if bool(np.all(run.errors[seen] == 0)) else -math.inf
        scale = run.scales[seen] * self.variance
        terms = np.log(2 * math.pi * scale) + run.errors[seen] ** 2 / scale
        return float(-terms.sum() / 2)


@dataclass(frozen=True)
class FilteredSeries:
    """A series seen through a model.

    Attributes
    ----------
    errors : float64[n]: each value less its forecast from those before it; nan where it is missing
    scales : float64[n]: the variances of the forecasts, in units of the model's
    states : float64[n + 1, r]: what is expected before each value, and after the last; see
        `Arma.ahead`
    """

    errors: Floats
    scales: Floats
    states: Floats


def fit_arma(series: npt.ArrayLike, p: int, q: int, *, starts_tried: int = 3) -> Arma:
    """Return the ARMA(p, q) model with a mean that makes a series most likely.

    Parameters
    ----------
    series : float64[n], evenly spaced; nan where a value is missing, which the filter skips
    p, q : orders, 0 or more. A series of fewer than 2 (p + q + 1) values gets lower ones (that of
        the higher first), and coefficients of 0 for the rest
    starts_tried : from how many starts at most the likelihood is climbed

    Raises ParameterError for orders below 0, values that are infinite, or none at all.
    """
    values = _series(series)
    for name, order in (("p", p), ("q", q)):
        if order < 0:
            raise ParameterError(name, order, "0 or more")
    seen = values[np.isfinite(values)]
    if len(seen) == 0:
        raise ParameterError("series", f"{len(values)} values, none observed", "at least one")
    mean, deviation = float(seen.mean()), float(seen.std())
    if not deviation > 1e-12 * max(abs(mean), float(np.abs(seen).max())):
        return Arma(np.zeros(p), np.zeros(q), mean, 0.0, math.inf, len(seen))
    low, high = limited_orders(p, q, len(seen))
    climb = _Climb((values - mean) / deviation, low, high)
    best = climb.best(starts_tried)
    ar, ma = climb.coefficients(best)
    loglik = -climb.count * (climb.value(best) + math.log(deviation))
    loglik -= climb.count / 2 * (1 + math.log(2 * math.pi))
    return Arma(
        np.concatenate((ar, np.zeros(p - low))),
        np.concatenate((ma, np.zeros(q - high))),
        mean + deviation * float(best[-1]),
        climb.variance(best) * deviation**2,
        loglik,
        len(seen),
        climb.steps,
    )


def _series(series: npt.ArrayLike) -> Floats:
    values = np.ascontiguousarray(series, dtype=np.float64)
    if values.ndim != 1 or bool(np.any(np.isinf(values))):
        raise ParameterError("series", f"shape {values.shape}", "one row of finite numbers or nan")
    return values


def _roots(coefficients: Floats) -> npt.NDArray[np.complex128]:
    found = np.roots(np.concatenate((coefficients[::-1], [1.0])))
    return np.asarray(found[np.argsort(np.abs(found), kind="stable")], dtype=np.complex128)


def _filled(ar: Floats, ma: Floats) -> kernels.ArmaModel:
    """Return the coefficients filled up with zeros to the size of the state, and 1 before ma."""
    size = max(len(ar), len(ma) + 1)
    left, right = np.zeros(size), np.zeros(size)
    left[: len(ar)] = ar
    right[0] = 1.0
    right[1 : 1 + len(ma)] = ma
    return kernels.ArmaModel(left, right, len(ar), len(ma))


def _filtered(
    values: Floats, ar: Floats, ma: Floats, mean: float, *, states: bool = True, vague: bool = False
) -> FilteredSeries:
    model = _filled(ar, ma)
    size, n = len(model.ar), len(values)
    kept = np.empty((n + 1 if states else 0, size))
    errors, scales = np.empty(n), np.empty(n)
    work = np.empty((9, 2 * size + 2 * len(ma) + 4), dtype=np.complex128)
    room = kernels.FilterRoom(np.empty((size, size)), np.empty(size), np.empty(size), work)
    known = kernels.run_filter(values - mean, model, room, kept, errors, scales, vague)
    if not known:
        raise ParameterError("ar", ar.tolist(), "a stationary autoregression")
    return FilteredSeries(errors, scales, kept)


class _Climb:
    """The likelihood of one series (standardised) and how it is climbed.

    Points are float64[p + q + 1]: inverse hyperbolic tangents of the partial autocorrelations of
    both parts, and the mean. The value is the negative log-likelihood by observation, without its
    constant.
    """

    def __init__(self, values: Floats, p: int, q: int) -> None:
        self.values, self.p, self.q = values, p, q
        self.gaps = bool(np.any(np.isnan(values)))
        self.count = int(np.isfinite(values).sum())
        self.steps = 0
        n, size, many = len(values), max(p, q + 1), p + q
        self.errors, self.scales = np.empty(n), np.empty(n)
        self.slopes, self.bends = np.empty((n, many + 1)), np.zeros((n, many + 1))
        row, table = np.zeros(size), np.zeros((size + 1, many + 1))
        self.at = slopes_kernels.Moving(
            row, table, row.copy(), table.copy(), np.zeros(2), np.zeros((2, many + 1)),
            row.copy(), table.copy(), np.zeros((5, many + 1)),
        )  # fmt: skip
        self.work = np.empty((9, 2 * size + 2 * q + 4), dtype=np.complex128)

    def coefficients(self, point: Floats) -> tuple[Floats, Floats]:
        """Return ar and ma of a point."""
        partial = np.tanh(point[:-1])
        return _from_partial(partial[: self.p])[0], -_from_partial(partial[self.p :])[0]

    def value(self, point: Floats) -> float:
        """Return the value at a point; inf where rounding leaves none."""
        try:
            run = _filtered(self.values, *self.coefficients(point), float(point[-1]), states=False)
        except ParameterError:
            return math.inf
        seen = np.isfinite(run.errors)
        errors, scales = run.errors[seen], run.scales[seen]
        total = float((errors**2 / scales).sum())
        if not (math.isfinite(total) and total > 0 and float(scales.min()) > 0):
            return math.inf
        return 0.5 * math.log(total / self.count) + float(np.log(scales).sum()) / (2 * self.count)

    def variance(self, point: Floats) -> float:
        """Return the variance of the innovations at a point."""
        run = _filtered(self.values, *self.coefficients(point), float(point[-1]), states=False)
        return float(np.nansum(run.errors**2 / run.scales)) / self.count

    def linearised(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Return the value, its gradient and the information matrix (by observation)."""
        self.steps += 1
        if self.gaps:
            return self._differences(point)
        partial = np.tanh(point[:-1])
        ar, left = _from_partial(partial[: self.p])
        ma, right = _from_partial(partial[self.p :])
        steady = slopes_kernels.linearise(
            self.values - point[-1], _filled(ar, -ma), self.at, self.work,
            self.errors, self.scales, self.slopes, self.bends,
        )  # fmt: skip
        if steady < 0:
            return _nowhere(len(point))
        many = self.p + self.q
        turn = np.zeros((many + 1, many + 1))
        sech = 1 - partial**2
        turn[: self.p, : self.p] = left * sech[: self.p]
        turn[self.p : many, self.p : many] = -right * sech[self.p :]
        turn[many, many] = 1.0
        value, gradient, information = self._summed(
            self.errors, self.scales, self.slopes, self.bends[:steady]
        )
        return value, turn.T @ gradient, turn.T @ information @ turn

    def _summed(
        self, errors: Floats, scales: Floats, slopes: Floats, bends: Floats
    ) -> tuple[float, Floats, Floats]:
        """Sum up over the steps; `bends` has rows for those of which the variance still moves."""
        n, start = self.count, len(bends)
        weighted = errors / scales
        total = float(weighted @ errors)
        if not (math.isfinite(total) and total > 0 and float(scales.min()) > 0):
            return _nowhere(slopes.shape[1])
        inverse = 1 / scales[:start]
        ratio = bends * inverse[:, None]
        share = 0.5 * (1 / n - weighted[:start] * errors[:start] / total)
        gradient = (slopes.T @ weighted) / total + ratio.T @ share
        early, late = slopes[:start] * np.sqrt(inverse)[:, None], slopes[start:]
        information = early.T @ early
        if len(late):
            information += (late.T @ late) / scales[-1]
        information = information / total + (ratio.T @ ratio) / (2 * n)
        value = 0.5 * math.log(total / n) + float(np.log(scales).sum()) / (2 * n)
        return value, gradient, information

    def _differences(self, point: Floats) -> tuple[float, Floats, Floats]:
        """The same where values are missing, by differences of two runs for each derivative."""
        seen = np.isfinite(self.values)

        def run(at: Floats) -> tuple[Floats, Floats]:
            out = _filtered(self.values, *self.coefficients(at), float(at[-1]), states=False)
            return out.errors[seen], out.scales[seen]

        if not math.isfinite(self.value(point)):
            return _nowhere(len(point))
        errors, scales = run(point)
        slopes, bends = np.empty((self.count, len(point))), np.empty((self.count, len(point)))
        for k in range(len(point)):
            step = np.zeros(len(point))
            step[k] = 1e-5
            (above, wide), (below, narrow) = run(point + step), run(point - step)
            slopes[:, k], bends[:, k] = (above - below) / 2e-5, (wide - narrow) / 2e-5
        return self._summed(errors, scales, slopes, bends)

    def climbed(self, point: Floats, limit: int = 80) -> _Found:
        """Return where the climb from a point ends.

        The damping follows how well the quadratic foretold the gain (Nielsen, Damping parameter in
        Marquardt's method, 1999).
        """
        value, gradient, information = self.linearised(point)
        damping, harder, left = 1e-3, 2.0, limit
        while left > 0 and math.isfinite(value):
            left -= 1
            trial = np.clip(point + _damped(gradient, information, damping), -EDGE, EDGE)
            step = trial - point
            hoped = -float(gradient @ step) - 0.5 * float(step @ information @ step)
            new, slope, curve = self.linearised(trial)
            gained = value - new
            if gained > 0:
                point, value, gradient, information = trial, new, slope, curve
                damping *= max(0.2, 1 - (2 * min(gained / hoped, 1.0) - 1) ** 3)
                harder = 2.0
                if max(gained, 0.1 * hoped) * self.count < GAIN:
                    break
            elif hoped * self.count < GAIN or damping > 1e12:
                break
            else:
                damping = max(damping, 1e-6) * harder
                harder *= 2
        return _Found(value, point, left > 0 and _sound(point, information))

    def best(self, tried: int) -> Floats:
        """Return the best point of the climbs: from one start, and from others while none of those
        before ended soundly."""
        if self.p + self.q == 0:
            return self.climbed(np.zeros(1)).point
        found: list[_Found] = []
        for ar, ma in starts(self.values, self.p, self.q)[: max(tried, 1)]:
            partial = np.concatenate((to_partial(ar), to_partial(-ma)))
            inside = np.clip(partial, -0.995, 0.995)
            found.append(self.climbed(np.concatenate((np.arctanh(inside), [0.0]))))
            if found[-1].sound:
                break
        if not any(math.isfinite(one.value) for one in found):
            found.append(self.climbed(np.zeros(self.p + self.q + 1)))
        return min(found, key=lambda one: one.value).point


@dataclass(frozen=True)
class _Found:
    """Where a climb ended; `sound` unless it did not come to rest, or ended at the edge of what is
    stationary and invertible, or where a direction is all but flat (roots that cancel)."""

    value: float
    point: Floats
    sound: bool


def _sound(point: Floats, information: Floats) -> bool:
    spread = np.sqrt(np.diag(information))
    if not bool(np.all((spread > 1e-100) & (spread < 1e100))):
        return False
    alike = np.linalg.eigvalsh(information / np.outer(spread, spread))
    return bool(np.all(np.abs(point[:-1]) < EDGE / 2)) and float(alike[0]) > 1e-5


def _nowhere(size: int) -> tuple[float, Floats, Floats]:
    """Return what stands for a point at which rounding leaves no likelihood."""
    return math.inf, np.zeros(size), np.eye(size)


def _damped(gradient: Floats, information: Floats, damping: float) -> Floats:
    """Return the step of Levenberg and Marquardt."""
    scale = np.diag(information)
    lifted = information + np.diag(damping * scale + 1e-14 + 1e-12 * float(scale.max()))
    return np.asarray(np.linalg.solve(lifted, -gradient), dtype=np.float64)


def _from_partial(partial: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of an autoregression with these partial autocorrelations, and their
    derivatives float64[p, p] by them (columns)."""
    p = len(partial)
    row, slopes = np.zeros(p), np.zeros((p, p))
    for m in range(p):
        kappa = partial[m]
        turned, bent = row[:m][::-1].copy(), slopes[:m, :m][::-1].copy()
        row[:m] -= kappa * turned
        slopes[:m, :m] -= kappa * bent
        slopes[:m, m] = -turned
        row[m] = kappa
        slopes[m, m] = 1.0
    return row, slopes
