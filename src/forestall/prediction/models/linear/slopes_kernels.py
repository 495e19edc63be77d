"""A Kalman filter of ARMA models with the derivatives of all it does; see `arma_kernels`."""

from __future__ import annotations

from typing import NamedTuple

from forestall.core._compile import entry, kernel
from forestall.prediction.models.linear.arma_kernels import (
    STEADY,
    Floats,
    first_column,
    real_column,
)


class Moving(NamedTuple):
    """Where a filter with derivatives stands; names with an s at the end hold derivatives.

    gain : float64[r], not divided by the variance of the error
    move : float64[r]: the covariance changes by move move' weight in a step
    tell : float64[2]: the variance of the error, and that weight
    state : float64[r]
    spare : room for five rows

    Tables of derivatives, float64[r + 1, p + q + 1], have a last row and a last column of zeros.
    """

    gain: Floats
    gains: Floats
    move: Floats
    moves: Floats
    tell: Floats
    tells: Floats
    state: Floats
    states: Floats
    spare: Floats


@kernel
def column_slopes(model, column, slopes, work):
    """Fill slopes[i, k], the derivatives of `first_column` by ar_1..p and ma_1..q, with steps along
    the imaginary axis: exact, as nothing is subtracted."""
    ar, ma, p, q = model.ar, model.ma, model.p, model.q
    r = len(ar)
    left, right, found = work[6], work[7], work[8]
    for i in range(r):
        left[i] = complex(ar[i], 0.0)
        right[i] = complex(ma[i], 0.0)
    # f(x + ih) = f(x) + ih f'(x) - ...: so small a step that h^2 vanishes, and no digits cancel.
    step = 1e-100
    for k in range(p + q):
        if k < p:
            left[k] = complex(ar[k], step)
        else:
            right[k - p + 1] = complex(ma[k - p + 1], step)
        if first_column(left[:r], right[:r], p, q, found[:r], work) == 0:
            return 0
        for i in range(r):
            slopes[i, k] = found[i].imag / step
        if k < p:
            left[k] = complex(ar[k], 0.0)
        else:
            right[k - p + 1] = complex(ma[k - p + 1], 0.0)
    return real_column(ar, ma, q, column, work)


@kernel
def advance_covariance(model, at):
    """One step of the recursion of Morf, Sidhu and Kailath, with derivatives.

    Returns how much the gain and the variance moved.
    """
    ar, p = model.ar, model.p
    r, many = len(ar), p + model.q
    gain, gains, move, moves = at.gain, at.gains, at.move, at.moves
    tell, tells, spare = at.tell, at.tells, at.spare
    # P(t+1) - P(t) = move move' weight stays of rank one from the stationary start on, so O(r)
    # numbers stand for the whole covariance.
    head, weight, scale = move[0], tell[1], tell[0]
    lean = weight * head
    after = scale + lean * head
    for k in range(many):
        spare[0, k] = moves[0, k]
        spare[1, k] = tells[1, k] * head + weight * moves[0, k]
        spare[2, k] = tells[0, k] + spare[1, k] * head + lean * moves[0, k]
    change, inverse = abs(lean * head), 1.0 / scale
    for k in range(many):
        change = max(change, 1e-6 * abs(spare[2, k] - tells[0, k]))
    # Rows ascend: move[i + 1] and its slopes are still those of the step before when row i reads
    # them.
    for i in range(r):
        shifted = ar[i] * head + (move[i + 1] if i + 1 < r else 0.0)
        share = gain[i] * inverse
        move[i] = shifted - share * head
        gain[i] += shifted * lean
        change = max(change, abs(shifted * lean))
        back, here = head * inverse, ar[i]
        # d/d ar_i of ar[i] * head: only the slope by its own coefficient has the extra term.
        if i < p:
            spare[3, i] = head
        for k in range(many):
            slope = here * spare[0, k] + moves[i + 1, k] + spare[3, k]
            turn = gains[i, k] - share * tells[0, k]
            rise = slope * lean + shifted * spare[1, k]
            moves[i, k] = slope - share * spare[0, k] - turn * back
            gains[i, k] += rise
            spare[4, k] = max(spare[4, k], abs(rise))
        if i < p:
            spare[3, i] = 0.0
    for k in range(many):
        # A slope weighs a millionth of a value in what counts as a change.
        change = max(change, 1e-6 * spare[4, k])
        spare[4, k] = 0.0
    # weight' = weight - (weight head)^2 / after
    for k in range(many):
        tells[1, k] -= (2.0 * lean * spare[1, k] - lean * lean / after * spare[2, k]) / after
        tells[0, k] = spare[2, k]
    tell[1] = weight - lean * lean / after
    tell[0] = after
    return change


@entry
def linearise(series, model, at, work, errors, scales, slopes, bends):
    """Filter a whole series, with the derivatives of all errors by ar, ma and the mean.

    Parameters
    ----------
    series : float64[n] about the mean, without gaps
    model, at : see there
    work : complex128[9, 2 r + 2 q + 4]
    errors, scales : float64[n]: the errors of the forecasts and their variances
    slopes : float64[n, p + q + 1]: derivatives of the errors, by the mean last
    bends : float64[n, p + q + 1]: derivatives of the variances up to where the filter is steady;
        the last column is left alone

    Returns the first step from which the variances no longer change, -1 where the autoregression is
    not stationary.
    """
    n, r, many = len(series), len(model.ar), model.p + model.q
    if column_slopes(model, at.gain, at.gains, work) == 0:
        return -1
    prepare(model, at)
    steady, calm = n, 0
    for t in range(n):
        if calm > 2 * r:
            steady = t
            break
        follow(series[t], t, model, at, errors, slopes)
        scales[t] = at.tell[0]
        for k in range(many):
            bends[t, k] = at.tells[0, k]
        changed = advance_covariance(model, at)
        calm = calm + 1 if changed < STEADY * (1.0 + abs(at.gain[0])) else 0
    # From here on gain and variance are constant: the recursion of the model takes over.
    if steady < n:
        for t in range(steady, n):
            scales[t] = at.tell[0]
        glide(series, steady, model, errors, slopes)
    return steady


@kernel
def prepare(model, at):
    """Set off from the stationary state, whose first column of covariances stands in `gain`, with
    its derivatives in `gains`."""
    ar, p = model.ar, model.p
    r, many = len(ar), p + model.q
    first = at.gain[0]
    at.tell[0] = first
    # P(1) = T P T' + R R' - K K' / first less the stationary P, which T P T' + R R' is: what is
    # left is -K K' / first, of rank one.
    at.tell[1] = -1.0 / first
    for k in range(many):
        at.tells[0, k] = at.gains[0, k]
        at.tells[1, k] = at.gains[0, k] / (first * first)
        at.spare[0, k] = at.gains[0, k]
    for i in range(r):
        more = i + 1 < r
        at.gain[i] = ar[i] * first + (at.gain[i + 1] if more else 0.0)
        at.move[i] = at.gain[i]
        for k in range(many):
            slope = ar[i] * at.spare[0, k] + (at.gains[i + 1, k] if more else 0.0)
            if k == i and k < p:
                slope += first
            at.gains[i, k] = slope
            at.moves[i, k] = slope
        at.state[i] = 0.0
        for k in range(many + 1):
            at.states[i, k] = 0.0
    for k in range(many + 1):
        at.spare[3, k] = 0.0
        at.spare[4, k] = 0.0


@kernel
def follow(value, t, model, at, errors, slopes):
    """Take one value into the state, while the gain still moves."""
    ar, p = model.ar, model.p
    r, many = len(ar), p + model.q
    gain, gains, state, states = at.gain, at.gains, at.state, at.states
    tells, spare = at.tells, at.spare
    head, inverse = state[0], 1.0 / at.tell[0]
    error = value - head
    errors[t] = error
    for k in range(many + 1):
        spare[0, k] = states[0, k]
        spare[1, k] = -states[0, k]
    # The mean is taken off every value: its derivative is -1.
    spare[1, many] -= 1.0
    lean = error * inverse
    for i in range(r):
        share, here = gain[i] * inverse, ar[i]
        state[i] = here * head + (state[i + 1] if i + 1 < r else 0.0) + share * error
        # The extra term of the slope by ar_i itself, as in `advance_covariance`.
        if i < p:
            spare[3, i] = head
        for k in range(many + 1):
            states[i, k] = (
                here * spare[0, k]
                + states[i + 1, k]
                + spare[3, k]
                + (gains[i, k] - share * tells[0, k]) * lean
                + share * spare[1, k]
            )
        if i < p:
            spare[3, i] = 0.0
    for k in range(many + 1):
        slopes[t, k] = spare[1, k]


@kernel
def glide(series, start, model, errors, slopes):
    """Take all values from `start` when the filter is steady: the recursion of the model itself.

    The derivatives by ar_2 are those by ar_1 a step before, once what the start left behind has
    died away, and so on: from there on only two of them are worked out, and that by the mean.
    """
    ar, ma, p, q = model.ar, model.ma, model.p, model.q
    n, many = len(series), p + q + 1
    rest = 1.0
    for j in range(p):
        rest -= ar[j]
    calm = 0
    for t in range(start, n):
        error = series[t]
        for j in range(p):
            error -= ar[j] * series[t - 1 - j]
        for j in range(q - 1, -1, -1):
            error -= ma[j + 1] * errors[t - 1 - j]
        errors[t] = error
        settled = calm > q
        strayed = 0.0
        for k in range(many):
            # Of each family only the first is worked out: the others are it, a step later each.
            if settled and k not in (0, p, many - 1):
                slopes[t, k] = slopes[t - 1, k - 1]
                continue
            slope = 0.0
            if k < p:
                slope = -series[t - 1 - k]
            elif k < many - 1:
                slope = -errors[t - 1 - k + p]
            else:
                slope = -rest
            for j in range(q - 1, -1, -1):
                slope -= ma[j + 1] * slopes[t - 1 - j, k]
            slopes[t, k] = slope
            if k not in (0, p, many - 1):
                strayed = max(strayed, abs(slope - slopes[t - 1, k - 1]))
        if not settled:
            calm = calm + 1 if strayed < 1e-13 else 0
