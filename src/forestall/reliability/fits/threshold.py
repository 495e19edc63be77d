"""Fit the Weibull law with a location, whose likelihood has no bound.

As the location nears the smallest gap and the shape is below 1, the density there grows for ever.
So a fit is, in this order:

1. the highest proper local maximum of the likelihood over locations in [0, smallest gap): one with
   lower values on both sides, or location 0 with lower values beyond it;
2. where there is none, the location as far below the smallest gap as the next different one is
   above it; kept only if it is above 0, no gap of 0 speaks against it and the likelihood is higher
   there than at location 0. The smallest gap is thus no nearer to its location than to the next.

The log-likelihood is in either case that of the law given back, so no spike wins a ranking.

Source: Smith, "Maximum likelihood estimation in a class of nonregular cases", Biometrika 72, 1985:
for shapes below 1 the smallest gap is within order n^(-1 / shape) of the location, nearer than any
other estimate comes, and shape and scale can be fitted as if the location were known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.reliability.fits.newton import Solution
from forestall.reliability.lifetimes.batch import Batch, BatchPart, Fittable
from forestall.reliability.lifetimes.weibull import WEIBULL

Solver = Callable[[Fittable, Batch], Solution]

_GRID = 16
_NEAR_GRID = 6
_ROUNDS = 40
_TINY = 1e-300


def shifted(batch: Batch, location: Floats) -> Batch:
    """Return the batch as times from `location` float64[B].

    What did not even last as long as the location says nothing: it becomes next to 0.
    """
    if not location.any():
        return batch

    def part(times: BatchPart) -> BatchPart:
        return BatchPart(np.maximum(times.time - location[:, None], _TINY), times.weight)

    return Batch(part(batch.exact), part(batch.right), part(batch.left))


def solve_threshold(batch: Batch, start: Floats | None, solve: Solver) -> Solution:
    """Return shape, scale and location of each sample of a batch.

    Parameters
    ----------
    start : float64[B, 3] or float64[3], parameters near which the location is looked for first
    solve : how to fit the two-parameter law
    """
    with np.errstate(all="ignore"):
        least = batch.exact.time.min(axis=1)
        limit = batch.left.time.min(axis=1) if len(batch.left) else np.full(len(batch), np.inf)
        top = np.minimum(least, limit)
        second = _second(batch.exact, least)
        grid = _distances(batch, top, second - least, start)
        heights = np.stack([_profile(batch, top, d, solve).loglik for d in grid.T], axis=1)
        peak = _peak(heights)
        proper = peak >= 0
        best = np.where(proper, peak, 0)
        rows = np.arange(len(batch))
        distance = grid[rows, best]
        distance = np.where(proper, distance, top)
        first = np.flatnonzero(proper & (best == 0))
        if len(first):  # the maximum may lie between location 0 and the next place looked at
            level = solve(WEIBULL, batch.rows(first))
            best[first] = np.where(_slope(batch.rows(first), level.theta) < 0, 1, 0)
        inner = np.flatnonzero(proper & (best > 0))
        if len(inner):
            beside = (grid[inner, np.maximum(peak[inner] - 1, 0)], grid[inner, peak[inner] + 1])
            distance[inner] = _refine(batch.rows(inner), top[inner], distance[inner], beside, solve)
        fit = _profile(batch, top, distance, solve)
        location = np.where(distance >= top, 0.0, top - distance)
        theta = np.concatenate([fit.theta, location[:, None]], axis=1)
        loglik, converged = fit.loglik.copy(), fit.converged.copy()
        apart = 2 * least - second
        lost = np.flatnonzero(~proper & (apart > 0) & (limit > least))
        if len(lost):
            other = solve(WEIBULL, shifted(batch.rows(lost), apart[lost]))
            better = other.loglik > loglik[lost]
            theta[lost[better]] = np.column_stack([other.theta, apart[lost]])[better]
            loglik[lost[better]] = other.loglik[better]
            converged[lost[better]] = other.converged[better]
        return Solution(theta, loglik, converged, np.zeros(theta.shape, dtype=np.bool_))


def _second(exact: BatchPart, least: Floats) -> Floats:
    """Return float64[B], the smallest exact gap above the smallest; inf where there is none, or
    where too few different ones follow for a shape."""
    above = np.where(exact.time > least[:, None], exact.time, np.inf)
    second = above.min(axis=1)
    highest = exact.time.max(axis=1)
    return np.where(highest > second, second, np.inf)


def _distances(batch: Batch, top: Floats, step: Floats, start: Floats | None) -> Floats:
    """Return float64[B, G], how far below the smallest gap to look, from 0 (location 0) down."""
    if start is None:
        low = np.minimum(np.where(np.isfinite(step), step, top) / 100, top / 100)
        share = np.linspace(0, 1, _GRID)
        return top[:, None] ** (1 - share) * np.maximum(low, 1e-12 * top)[:, None] ** share
    law = np.broadcast_to(start, (len(batch), 3))
    typical = law[:, 1] * np.maximum(batch.failures, 1) ** (-1 / law[:, 0])
    away = np.clip(typical, 1e-12 * top, top / 30)
    factors = np.geomspace(30, 1 / 30, _NEAR_GRID)
    near = np.minimum(away[:, None] * factors, 0.99 * top[:, None])
    return np.concatenate([top[:, None], near], axis=1)


def _profile(batch: Batch, top: Floats, distance: Floats, solve: Solver) -> Solution:
    """Return the two-parameter fits with the location `distance` float64[B] below `top`."""
    # a distance of all of `top` is location 0: nothing to take away, no digit lost
    location = np.where(distance >= top, 0.0, top - distance)
    return solve(WEIBULL, shifted(batch, location))


def _peak(heights: Floats) -> npt.NDArray[np.intp]:
    """Return for each row of float64[B, G] the highest point that both neighbours lie below.

    The first point needs one neighbour only; the last, from where the likelihood may grow for
    ever, is none. -1 where there is no such point.
    """
    values = np.where(np.isfinite(heights), heights, -np.inf)
    before = np.concatenate([np.full((len(values), 1), -np.inf), values[:, :-1]], axis=1)
    after = np.concatenate([values[:, 1:], np.full((len(values), 1), np.inf)], axis=1)
    local = np.where((values >= before) & (values >= after), values, -np.inf)
    best = local.argmax(axis=1)
    return np.where(np.isfinite(local.max(axis=1)), best, -1)


def _refine(
    batch: Batch, top: Floats, distance: Floats, beside: tuple[Floats, Floats], solve: Solver
) -> Floats:
    """Return distances at which the profile likelihood is level, from `distance`, between `beside`.

    Bisection on its slope, sped up by the Illinois form of false position.
    """
    far, near = np.log(beside[0]), np.log(beside[1])

    def slope(v: Floats) -> Floats:
        away = np.minimum(np.exp(v), top)
        fit = _profile(batch, top, away, solve)
        return _slope(shifted(batch, top - away), fit.theta) * away

    at_far, at_near = slope(far), slope(near)
    v = np.where(distance < beside[0], np.log(distance), 0.5 * (far + near))
    for turn in range(_ROUNDS):
        value = slope(v)
        # the likelihood by the distance falls at the far end and grows at the near one
        same = np.sign(value) == np.sign(at_far)
        # Illinois: an end that stays counts half, so that the line moves off it; every third
        # time it counts whole, so that a good line is not spoilt
        stay = 1.0 if turn % 3 == 0 else 0.5
        far, near = np.where(same, v, far), np.where(same, near, v)
        at_far, at_near = (
            np.where(same, value, at_far * stay),
            np.where(same, at_near * stay, value),
        )
        line = (far * at_near - near * at_far) / (at_near - at_far)
        inside = (np.minimum(far, near) < line) & (line < np.maximum(far, near))
        new = np.where(value == 0, v, np.where(inside, line, 0.5 * (far + near)))
        done = (np.abs(new - v) < 1e-8) | (np.abs(far - near) < 1e-8)
        v = new
        if done.all():
            break
    return np.exp(v)


def _slope(batch: Batch, theta: Floats) -> Floats:
    """Return float64[B], how a fit's log-likelihood grows as all times grow by the same amount."""
    shape, scale = theta[:, :1], theta[:, 1:]
    answer = np.zeros(len(batch))
    law = WEIBULL.standard
    sorts = ((batch.exact, law.exact), (batch.right, law.right), (batch.left, law.left))
    for part, terms in sorts:
        if len(part):
            z = shape * (part.log - np.log(scale))
            by_time = terms(z)[1] * shape / part.time
            if part is batch.exact:
                by_time = by_time - 1 / part.time
            answer += part.total(np.where(part.time > _TINY, by_time, 0.0))
    return answer
