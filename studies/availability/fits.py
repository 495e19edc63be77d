"""Linear models fitted as the slides tell: AR by the equations of Yule and Walker, MA by Powell's
method."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.optimize import minimize
from scipy.signal import lfilter

import forestall as fs
from studies.kit.means import Floats


def yule_walker(series: Floats, p: int) -> fs.hosts.Arma:
    """Return the AR(p) model whose autocovariances are those of a series."""
    values = series - series.mean()
    lags = np.array([values[: len(values) - k] @ values[k:] for k in range(p + 1)]) / len(values)
    if not lags[0] > 0:
        return fs.hosts.Arma(np.zeros(p), np.empty(0), float(series.mean()), 0.0)
    ar = solve_toeplitz(lags[:p], lags[1:])
    left = float(lags[0] - ar @ lags[1:])
    return fs.hosts.Arma(ar, np.empty(0), float(series.mean()), left)


def by_powell(series: Floats, q: int) -> fs.hosts.Arma:
    """Return the MA(q) model of least squares: the errors of foretelling each value from those
    before it, errors before the first being 0; found by Powell's method, from no coefficients."""
    values = series - series.mean()
    scale = float(values.std()) or 1.0

    def squares(ma: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            errors = lfilter([1.0], np.concatenate(([1.0], ma)), values / scale)
            mean = float(np.mean(errors**2))
        return mean if np.isfinite(mean) else 1e300  # not invertible: errors without bound

    found = minimize(squares, np.zeros(q), method="Powell")
    variance = float(found.fun) * scale**2
    return fs.hosts.Arma(np.empty(0), np.atleast_1d(found.x), float(series.mean()), variance)
