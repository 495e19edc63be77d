"""Forecasts of one series by the linear models, each fitted to its own history.

These are the models that Bagchi et al. compare their predictor with:
each predicts the sequence of states of a host.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.linear.arma import Arma, fit_arma
from forestall.prediction.models.linear.starts import burg, filled_in, limited_orders

MODELS: Final = ("last", "bm", "ma", "ar", "arma")
"""The models, simplest first."""


def forecast(model: str, history: Floats, steps: int, order: int = 8) -> Floats:
    """Return float64[steps]: what follows a history by one of the linear models.

    Parameters
    ----------
    model : ``last`` repeats the window of `steps` values before; ``bm`` gives the mean of the last
        N values, 1 <= N <= order, of least squared error on the history; ``ma``, ``ar`` and
        ``arma`` are MA(order), AR(order) and ARMA(order, order) with a mean: ``ma`` and ``arma`` by
        exact maximum likelihood, ``ar`` by Burg's method, which is as good a forecast (both are
        stationary, and differ by less than the coefficients' standard errors) at a tenth of the
        time
    history : float64[n], evenly spaced; nan where a value is missing
    steps : how many values, 1 or more
    order : p, q and the longest N, 1 or more; a short history gets less, see `fit_arma`

    Raises ParameterError for what is not allowed, and for a history without any value.
    """
    values = np.ascontiguousarray(history, dtype=np.float64)
    for name, number in (("steps", steps), ("order", order)):
        if number < 1:
            raise ParameterError(name, number, "1 or more")
    if model not in MODELS:
        raise ParameterError("model", model, "one of " + ", ".join(MODELS))
    if not bool(np.any(np.isfinite(values))):
        raise ParameterError("history", f"{len(values)} values, none observed", "at least one")
    if model == "last":
        return _repeated(filled_in(values), steps)
    if model == "bm":
        length = best_window(values, order)
        recent = values[-length:]
        recent = recent if bool(np.any(np.isfinite(recent))) else filled_in(values)[-1:]
        return np.full(steps, float(np.nanmean(recent)))
    fitted = _autoregression(values, order) if model == "ar" else _moving(model, values, order)
    return fitted.forecast(values, steps)


def _repeated(values: Floats, steps: int) -> Floats:
    window = values[-steps:]
    return np.resize(window, steps)


def _moving(model: str, values: Floats, order: int) -> Arma:
    return fit_arma(values, 0 if model == "ma" else order, order)


def _autoregression(values: Floats, order: int) -> Arma:
    """Return AR(order) by Burg's method, gaps bridged for the fit alone."""
    seen = values[np.isfinite(values)]
    mean = float(seen.mean())
    low, _ = limited_orders(order, 0, len(seen))
    _, ar = burg(filled_in(values) - mean, low)
    return Arma(ar, np.zeros(0), mean, float(seen.var()))


def best_window(values: Floats, longest: int) -> int:
    """Return the number N <= longest of values whose mean forecasts the next value with the least
    squared error on the series itself; the shortest of equals.

    All N are judged on the same values: those from number `longest` on, where there are any.
    """
    n = len(values)
    longest = max(1, min(longest, n - 1))
    seen = np.isfinite(values)
    sums = np.concatenate(([0.0], np.cumsum(np.where(seen, values, 0.0))))
    counts = np.concatenate(([0], np.cumsum(seen)))
    targets = np.arange(longest, n)
    errors = np.full(longest + 1, np.inf)
    for length in range(1, longest + 1):
        total = sums[targets] - sums[targets - length]
        count = counts[targets] - counts[targets - length]
        usable = seen[targets] & (counts[targets] - counts[targets - 1] > 0)
        if bool(usable.any()):
            miss = values[targets[usable]] - total[usable] / count[usable]
            errors[length] = float(miss @ miss)
    return int(np.argmin(np.round(errors, 12))) if bool(np.isfinite(errors).any()) else 1
