"""Find the maximum of a likelihood the shortest way that the family and the sample allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.reliability.fits.newton import TOLERANCE, Solution, maximise
from forestall.reliability.fits.threshold import solve_threshold
from forestall.reliability.lifetimes.batch import BLOCK, Batch, Fittable
from forestall.reliability.lifetimes.weibull import Weibull3

MANY = 4_096
"""Observations from which a fit begins with a part of them."""

WARM = 12
"""Steps after which a start that was near is taken for not near enough."""


def solve(
    family: Fittable,
    batch: Batch,
    start: Floats | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Solution:
    """Return the maximum-likelihood parameters of each sample of a batch.

    Parameters
    ----------
    start : float64[B, p] or float64[p], parameters near the maximum, in the batch's units, where
        some are known, as of the law that a bootstrap drew from
    tolerance : what a log-likelihood may lack of its maximum, where it is climbed. An estimate is
        then within about sqrt(2 tolerance) standard errors of its place, so that a bootstrap can do
        with 1e-5
    """
    if len(batch) > 1 and len(batch) * batch.size > BLOCK:
        rows = [
            solve(
                family,
                some,
                start[here] if start is not None and start.ndim == 2 else start,
                tolerance=tolerance,
            )
            for here, some in batch.blocks()
        ]
        return Solution(
            *(np.concatenate(part) for part in zip(*(_fields(row) for row in rows), strict=True))
        )
    solution = _found(family, batch, start, tolerance)
    solution.converged[batch.ended.count == 0] = False  # nothing ended: no likelihood has a maximum
    return solution


def _found(family: Fittable, batch: Batch, start: Floats | None, tolerance: float) -> Solution:
    """Return the solution the family's own way, directly, or by ascent."""
    if isinstance(family, Weibull3):
        return solve_threshold(batch, start, solve)
    if start is not None and family.warm:
        return _warm(family, batch, start, tolerance)
    with np.errstate(all="ignore"):
        theta = family.closed(batch)
        if theta is not None:
            value = family.loglik(batch, theta)
            known = np.isfinite(theta).all(axis=1) & np.isfinite(value)
            solution = Solution(theta, value, known, np.zeros(theta.shape, dtype=np.bool_))
            if not known.all():
                _complete(family, batch, solution)
            return solution
    first = _near(family, batch) if start is None else start
    return maximise(family, batch, first, tolerance=tolerance)


def _warm(family: Fittable, batch: Batch, start: Floats, tolerance: float) -> Solution:
    """Return the solution by ascent from `start`, of rows that do not get there from scratch."""
    solution = maximise(family, batch, start, tolerance=tolerance, limit=WARM)
    lost = np.flatnonzero(~solution.converged | solution.edge.any(axis=1))
    if len(lost):
        anew = _found(family, batch.rows(lost), None, tolerance)
        for mine, found in zip(_fields(solution), _fields(anew), strict=True):
            mine[lost] = found
    return solution


def _complete(family: Fittable, batch: Batch, solution: Solution) -> None:
    """Fill in, by ascent, the samples for which the direct way found nothing: an edge, perhaps."""
    rows = np.flatnonzero(~solution.converged)
    climbed = maximise(family, batch.rows(rows))
    for mine, found in zip(_fields(solution), _fields(climbed), strict=True):
        mine[rows] = found


def _near(family: Fittable, batch: Batch) -> Floats | None:
    """Return the maximum for a part of a large sample, from where the rest is a few steps."""
    if batch.size < MANY:
        return None
    part = solve(family, batch.thinned(MANY // 4))
    return part.theta if part.converged.all() and not part.edge.any() else None


def _fields(solution: Solution) -> tuple[npt.NDArray[Any], ...]:
    return solution.theta, solution.loglik, solution.converged, solution.edge
