"""Start values of ARMA models: Burg's autoregressions, and the regression of Hannan and Rissanen.

Burg, Maximum entropy spectral analysis, 1975; Hannan and Rissanen, Biometrika 69, 1982.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from forestall.core.model.arrays import Floats

CLOSE: Final = 1 - 1e-7
"""Partial autocorrelations of start values stay this close to 0: within the unit circle."""


def limited_orders(p: int, q: int, count: int) -> tuple[int, int]:
    """Return orders that `count` values bear: 2 (p + q + 1) of them are needed; the higher one is
    lowered first."""
    while p + q > 0 and 2 * (p + q + 1) > count:
        if p >= q:
            p -= 1
        else:
            q -= 1
    return p, q


def burg(series: Floats, order: int) -> tuple[Floats, Floats]:
    """Return the partial autocorrelations float64[order] of a series about mean 0 by Burg's
    method, and the coefficients float64[order]; always stationary."""
    forward, backward = series[1:].copy(), series[:-1].copy()
    partial, row = np.zeros(order), np.zeros(order)
    rounding = 1e-12 * float(forward @ forward + backward @ backward)
    for m in range(order):
        power = float(forward @ forward + backward @ backward)
        if len(forward) == 0 or not power > rounding:
            break
        kappa = float(np.clip(2 * float(forward @ backward) / power, -CLOSE, CLOSE))
        partial[m] = kappa
        row[:m] -= kappa * row[:m][::-1].copy()
        row[m] = kappa
        forward, backward = (
            forward[1:] - kappa * backward[1:],
            backward[:-1] - kappa * forward[:-1],
        )
    return partial, row


def filled_in(series: Floats) -> Floats:
    """Return a series with its gaps bridged by straight lines, for start values only."""
    missing = np.isnan(series)
    if not bool(missing.any()):
        return series
    at = np.arange(len(series))
    answer = series.copy()
    answer[missing] = np.interp(at[missing], at[~missing], series[~missing])
    return answer


def hannan_rissanen(series: Floats, p: int, q: int, long: int) -> tuple[Floats, Floats]:
    """Return ar and ma by regression of a series on its own past and on the past errors of a long
    autoregression of the given order."""
    _, row = burg(series, long)
    errors = np.convolve(series, np.concatenate(([1.0], -row)))[: len(series)]
    first = long + max(p, q)
    columns = [series[first - j : len(series) - j] for j in range(1, p + 1)]
    columns += [errors[first - j : len(series) - j] for j in range(1, q + 1)]
    design = np.stack(columns)
    gram = design @ design.T
    gram[np.diag_indices_from(gram)] *= 1 + 1e-9
    gram[np.diag_indices_from(gram)] += 1e-12
    found = np.asarray(np.linalg.solve(gram, design @ series[first:]), dtype=np.float64)
    return found[:p], found[p:]


def inside(ar: Floats, most: float = 0.98) -> Floats:
    """Return coefficients whose characteristic roots z ** p = ar_1 z ** (p - 1) + ... lie within
    the circle of radius `most`: those beyond the unit circle are turned in."""
    if len(ar) == 0:
        return ar
    roots = np.roots(np.concatenate(([1.0], -ar)))
    size = np.abs(roots)
    if not bool(np.any(size > most)):
        return ar
    outside = size > 1
    roots[outside] = 1 / np.conj(roots[outside])
    size = np.abs(roots)
    far = size > most
    roots[far] *= most / size[far]
    turned = np.zeros(len(ar))
    polynomial = -np.real(np.poly(roots))[1:]
    turned[: len(polynomial)] = polynomial
    return turned


def starts(series: Floats, p: int, q: int) -> list[tuple[Floats, Floats]]:
    """Return start values of (ar, ma) for a standardised series, the most promising first."""
    whole = filled_in(series)
    n = len(whole)
    if q == 0:
        return [(burg(whole, p)[1], np.zeros(0))]
    found = []
    room = (n - max(p, q) - p - q - 2) // 2
    usual = min(max(2 * (p + q), math.ceil(10 * math.log10(n))), room)
    for long in dict.fromkeys((usual, min(3 * usual, room), max(usual // 2, min(p + q, room)))):
        if long >= max(p, q, 1):
            ar, ma = hannan_rissanen(whole, p, q, long)
            found.append((inside(ar), -inside(-ma)))
    found.append((burg(whole, p)[1], np.zeros(q)))
    return found


def is_stationary(ar: Floats) -> bool:
    """Return whether an autoregression is stationary, but for rounding."""
    row = ar.copy()
    for m in range(len(ar) - 1, -1, -1):
        kappa = float(row[m])
        if abs(kappa) > 1 + 1e-6:
            return False
        row = (row[:m] + kappa * row[:m][::-1]) / max(1 - kappa * kappa, 1e-9)
    return True


def to_partial(ar: Floats) -> Floats:
    """Return the partial autocorrelations of a stationary autoregression."""
    row, partial = ar.copy(), np.zeros(len(ar))
    for m in range(len(ar) - 1, -1, -1):
        kappa = float(np.clip(row[m], -0.999999, 0.999999))
        partial[m] = kappa
        row = (row[:m] + kappa * row[:m][::-1]) / (1 - kappa * kappa)
    return partial
