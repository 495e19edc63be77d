"""Kalman filters of ARMA models as loops over arrays.

The state is that of Harvey: a_i(t), i in 0..r-1, with r = max(p, q + 1), a_0 the value itself,
a_i(t+1) = ar_i a_0(t) + a_{i+1}(t) + ma_i e(t+1), where `ar` and `ma` are filled up with zeros to r
and ma_0 = 1. All variances are in units of the variance of the innovations e.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel

STEADY = 1e-15
"""A filter is steady once its gain has changed by less than this for more than 2 r steps: what
moves in the covariance shows in the gain within r steps."""
VAGUE = 1e7

Floats = npt.NDArray[np.float64]


class ArmaModel(NamedTuple):
    """Coefficients float64[r], filled up with zeros, ma[0] = 1; and the orders."""

    ar: Floats
    ma: Floats
    p: int
    q: int


class FilterRoom(NamedTuple):
    """Where a filter without derivatives works: float64[r, r], float64[r] twice, and complex128[9,
    2 r + 2 q + 4]."""

    cov: Floats
    state: Floats
    column: Floats
    work: npt.NDArray[np.complex128]


@kernel
def step_down(ar, p, partial, row, spare):
    """Find the partial autocorrelations of an autoregression; 1 if it is stationary, else 0."""
    for j in range(p):
        row[j] = ar[j]
    # Levinson and Durbin backwards: from the coefficients of order m + 1 to those of order m. It is
    # stationary exactly where all partial autocorrelations lie within (-1, 1).
    for m in range(p - 1, -1, -1):
        kappa = row[m]
        partial[m] = kappa
        if not abs(kappa) < 1:
            return 0
        rest = 1 - kappa * kappa
        for j in range(m):
            spare[j] = (row[j] + kappa * row[m - 1 - j]) / rest
        for j in range(m):
            row[j] = spare[j]
    return 1


@kernel
def autocovariances(ar, p, lags, partial, acov, row, spare):
    """Fill acov[0..lags] for the autoregression with innovations of variance 1, by Levinson's
    recursion from its partial autocorrelations."""
    known = step_down(ar, p, partial, row, spare)
    if known == 0:
        return 0
    acov[0] = 0.0  # of the coefficients' type: real or complex
    error = acov[0] + 1.0
    # Var = 1 / prod(1 - kappa^2): each order takes its share of the variance away again.
    for m in range(p):
        error = error / (1 - partial[m] * partial[m])
    acov[0] = error
    for k in range(1, lags + 1):
        total = acov[0] * 0
        if k <= p:
            kappa = partial[k - 1]
            total = kappa * error
            for j in range(k - 1):
                total += row[j] * acov[k - 1 - j]
            for j in range(k - 1):
                spare[j] = row[j] - kappa * row[k - 2 - j]
            for j in range(k - 1):
                row[j] = spare[j]
            row[k - 1] = kappa
            error = error * (1 - kappa * kappa)
        else:
            # Beyond the order of the model: Yule and Walker's equations.
            for j in range(p):
                total += ar[j] * acov[k - 1 - j]
        acov[k] = total
    return 1


@kernel
def first_column(ar, ma, p, q, column, work):
    """Fill column[i] = Cov(a_0, a_i) of the stationary state; 0 where there is none.

    `work` has at least 6 rows of 2 r + 2 q + 4 numbers of the type of the coefficients.
    """
    r = len(ar)
    partial, acov, row, spare, psi, gamma = work[0], work[1], work[2], work[3], work[4], work[5]
    if autocovariances(ar, p, r + q, partial, acov, row, spare) == 0:
        return 0
    # psi, the response of the process to an innovation k steps ago.
    for k in range(r):
        psi[k] = ma[k]
        for j in range(min(k, p)):
            psi[k] += ar[j] * psi[k - 1 - j]
    for k in range(r + 1):
        gamma[k] = acov[0] * 0
    # gamma, the autocovariances of the whole process: those of the autoregression, weighted by the
    # autocovariances of the moving average.
    for m in range(q + 1):
        weight = acov[0] * 0
        for i in range(q + 1 - m):
            weight += ma[i] * ma[i + m]
        for k in range(r + 1):
            gamma[k] += weight * acov[abs(k - m)]
            if m > 0:
                gamma[k] += weight * acov[k + m]
    for i in range(r):
        # a_i(t) = sum over j >= i of ar_j a_0(t - 1 - j + i) + ma_j e(t - j + i), against a_0(t).
        total = acov[0] * 0
        for j in range(i, r):
            total += ar[j] * gamma[1 + j - i] + ma[j] * psi[j - i]
        column[i] = total
    return 1


@kernel
def stationary(ar, ma, column, cov):
    """Fill the whole covariance of the stationary state, of which `column` is the first."""
    r = len(ar)
    for i in range(r - 1, -1, -1):
        for j in range(r - 1, -1, -1):
            value = ar[i] * ar[j] * column[0] + ma[i] * ma[j]
            if j + 1 < r:
                value += ar[i] * column[j + 1]
            if i + 1 < r:
                value += ar[j] * column[i + 1]
            if i + 1 < r and j + 1 < r:
                value += cov[i + 1, j + 1]
            cov[i, j] = value
    for i in range(r):
        cov[i, 0] = column[i]
        cov[0, i] = column[i]


@kernel
def passed_over(ar, ma, cov, column, state):
    """Move state and covariance on by a step in which nothing was seen."""
    r = len(ar)
    for i in range(r):
        column[i] = cov[0, i]
    # P' = T P T' + R R', worked out entry by entry: T has ar in its first column and ones above the
    # diagonal.
    head = state[0]
    for i in range(r):
        more = i + 1 < r
        state[i] = ar[i] * head + (state[i + 1] if more else 0.0)
        for j in range(r):
            value = ar[i] * ar[j] * column[0] + ma[i] * ma[j]
            if j + 1 < r:
                value += ar[i] * column[j + 1]
            if more:
                value += ar[j] * column[i + 1]
                if j + 1 < r:
                    value += cov[i + 1, j + 1]
            cov[i, j] = value


@kernel
def find_gain(cov, gain):
    """Fill the gain, of which the first entry is 1; return how much it moved."""
    moved = 0.0
    for i in range(len(gain)):
        new = cov[i, 0] / cov[0, 0]
        moved = max(moved, abs(new - gain[i]))
        gain[i] = new
    return moved


@kernel
def narrow(ma, cov, gain):
    """Move the covariance on by a step in which the value was seen: of the first entry of the state
    nothing is left to know."""
    r = len(ma)
    scale = cov[0, 0]
    # As in `passed_over` after the value was seen: the first row and column of P are 0 then.
    for i in range(r):
        for j in range(r):
            value = ma[i] * ma[j]
            if i + 1 < r and j + 1 < r:
                value += cov[i + 1, j + 1] - gain[i + 1] * gain[j + 1] * scale
            cov[i, j] = value


@entry
def run_filter(series, model, room, states, errors, scales, vague):
    """Filter a series about mean 0, nan where nothing was seen.

    Parameters
    ----------
    series : float64[n]
    model, room : see there; the state is left as after the last value
    states : float64[n + 1, r] to get what is expected before each value, or float64[0, r]
    errors, scales : float64[n]: what came less what was expected (nan where nothing did), and the
        variance of that
    vague : whether to start from a state of which nothing is known (variances of `VAGUE`) where
        there is no stationary one

    Returns 1, or 0 where the autoregression is not stationary.
    """
    ar, ma = model.ar, model.ma
    cov, state, column = room.cov, room.state, room.column
    n, r = len(series), len(ar)
    keep = len(states) > 0
    if real_column(ar, ma, model.q, column, room.work) == 0:
        if not vague:
            return 0
        for i in range(r):
            for j in range(r):
                cov[i, j] = VAGUE if i == j else 0.0
    else:
        stationary(ar, ma, column, cov)
    for i in range(r):
        state[i] = 0.0
        column[i] = 0.0
    calm, steady = 0, False
    for t in range(n):
        if keep:
            for i in range(r):
                states[t, i] = state[i]
        scales[t] = cov[0, 0]
        # A gap: uncertainty grows again, and the gain has to settle anew.
        if math.isnan(series[t]):
            errors[t] = math.nan
            passed_over(ar, ma, cov, column, state)
            calm, steady = 0, False
            continue
        error = series[t] - state[0]
        errors[t] = error
        # Once the gain is steady the covariance is left alone, which is most of the work.
        if not steady:
            moved = find_gain(cov, column)
            calm = calm + 1 if moved < STEADY else 0
            steady = calm > 2 * r
            if not steady:
                narrow(ma, cov, column)
        # What is expected next, with the value seen: ar times it, and the gain's share of the
        # error.
        for i in range(r - 1):
            state[i] = ar[i] * series[t] + state[i + 1] + column[i + 1] * error
        state[r - 1] = ar[r - 1] * series[t]
    if keep:
        for i in range(r):
            states[n, i] = state[i]
    return 1


@kernel
def real_column(ar, ma, q, column, work):
    """`first_column` of real coefficients, in the complex type that derivatives need."""
    r = len(ar)
    left, right, found = work[6], work[7], work[8]
    for i in range(r):
        left[i] = complex(ar[i], 0.0)
        right[i] = complex(ma[i], 0.0)
    if first_column(left[:r], right[:r], r, q, found[:r], work) == 0:
        return 0
    for i in range(r):
        column[i] = found[i].real
    return 1
