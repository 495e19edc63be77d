"""Confidence intervals from the parametric bootstrap.

Each draw is a sample like the one at hand, fitted again (see `redraw`). Its error is measured in
its own standard errors, in unconstrained coordinates and for the mean on its logarithm; the
quantiles of these errors take the place of the normal ones (bootstrap-t: Efron and Tibshirani, An
Introduction to the Bootstrap, 1993, 12.5). For families that are all scale, or all location and
scale of the logarithm, and nothing censored, that is exact but for the number of draws. Where draws
lack standard errors, bias-corrected percentiles (the same, 14.3) take its place.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from forestall.core.model.arrays import Floats
from forestall.reliability.fits.curvature import (
    in_unit,
    mean_of,
    slope_of_log_mean,
    spread,
    value_at,
)
from forestall.reliability.fits.newton import unconstrained
from forestall.reliability.fits.redraw import Fit, Scheme

Ends = tuple[float, float]

NONE: Ends = (float("nan"), float("nan"))

ENOUGH = 0.98
"""Share of the draws that must have a standard error for errors to be measured in it."""


def bootstrap(
    fitted: Fit, level: float, draws: int, seed: int
) -> tuple[dict[str, Ends], Ends, list[str]]:
    """Return intervals by name of the parameter, that of the mean, and notes.

    nan where there is none; parameters that are not regular are left out.
    """
    family, regular = fitted.family, fitted.regular
    thetas, spreads = [], []
    for _, batch, theta, fine in Scheme.of(fitted).refitted(draws, seed):
        some = np.flatnonzero(fine)
        if not len(some):
            continue
        thetas.append(theta[some])
        spreads.append(spread(family, batch.rows(some), theta[some], regular))
    if not thetas:
        return {}, NONE, [f"none of {draws:,} draws could be fitted; no interval"]
    theta, covariance = np.concatenate(thetas), np.concatenate(spreads)
    notes = []
    if len(theta) < draws:
        notes.append(f"{draws - len(theta):,} of {draws:,} draws could not be fitted; left out")
    own = spread(family, fitted.sample.batch, fitted.scaled[None, :], regular)[0]
    centre, drawn = unconstrained(family, fitted.scaled), unconstrained(family, theta)
    named: dict[str, Ends] = {}
    for k in np.flatnonzero(regular).tolist():
        low, high, studentised = _interval(
            centre[k], own[k, k], drawn[:, k], covariance[:, k, k], level
        )
        name = family.parameters[k]
        named[name] = in_unit(fitted, k, (value_at(family, k, low), value_at(family, k, high)))
        if not studentised:
            notes.append(f"{name}: bias-corrected percentiles; draws lack standard errors")
    slopes = slope_of_log_mean(family, np.vstack([centre, drawn]), regular)
    variances = np.einsum("bi,bij,bj->b", slopes, np.concatenate([own[None], covariance]), slopes)
    logs = np.log(mean_of(family, np.vstack([fitted.scaled, theta])))
    low, high, studentised = _interval(logs[0], variances[0], logs[1:], variances[1:], level)
    if not studentised:
        notes.append("mean: bias-corrected percentiles; draws lack standard errors")
    scale = fitted.sample.scale
    return named, (float(np.exp(low) * scale), float(np.exp(high) * scale)), notes


def _interval(
    estimate: float, variance: float, drawn: Floats, variances: Floats, level: float
) -> tuple[float, float, bool]:
    """Return the ends around an estimate, and whether errors were measured in standard errors."""
    error = np.sqrt(variance)
    errors = (drawn - estimate) / np.sqrt(variances)
    known = np.isfinite(errors)
    if np.isfinite(error) and len(drawn) and known.mean() >= ENOUGH:
        tail = (1 - level) / 2
        high, low = _quantiles(errors[known], np.array([tail, 1 - tail]))
        return estimate - low * error, estimate - high * error, True
    drawn = drawn[~np.isnan(drawn)]
    count = len(drawn)
    if not count or np.isnan(estimate):
        return float("nan"), float("nan"), False
    below = (np.count_nonzero(drawn < estimate) + 0.5 * np.count_nonzero(drawn == estimate)) / count
    bias = ndtri(np.clip(below, 1 / (count + 1), count / (count + 1)))
    reach = ndtri((1 + level) / 2)
    low, high = _quantiles(drawn, ndtr(2 * bias + np.array([-reach, reach])))
    return low, high, False


def _quantiles(drawn: Floats, shares: Floats) -> list[float]:
    """Return quantiles, the k-th of n in order at share k / (n + 1); inf among them stays inf."""
    order = np.sort(drawn)
    place = np.clip(shares * (len(order) + 1) - 1, 0, len(order) - 1)
    floor, ceiling = order[np.floor(place).astype(int)], order[np.ceil(place).astype(int)]
    part = place - np.floor(place)
    answer: list[float] = np.where(
        floor < ceiling, floor + part * (ceiling - floor), floor
    ).tolist()
    return answer
