"""Climb log-likelihoods to their maxima: damped Newton on many samples at once.

Everything is in unconstrained coordinates: logarithms of scales, rates and shapes, logits of
shares, the rest as it is. Rows are independent; each has its own step length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.lifetimes.base import POSITIVE, Kind
from forestall.reliability.lifetimes.batch import Batch, Derivatives, Fittable

EDGES: dict[Kind, float] = {
    "scale": 300.0,
    "rate": 300.0,
    "shape": 10.0,
    "share": 25.0,
    "real": 50.0,
    "location": np.inf,
    "logscale": np.inf,
}
"""How far an unconstrained coordinate may go from 0, by kind of parameter: a likelihood that still
rises there (a shape of e^10) has its maximum in a limit of the family, not in the family."""

TOLERANCE = 1e-10
"""What one more step may still add to a log-likelihood that counts as its maximum."""

_STEP = 1e-4  # of differences: balances curvature left out against digits lost
_FIRST_REACH = 2.0
_LEAST_REACH = 1e-9


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the likelihoods of a batch have their maxima.

    Attributes
    ----------
    theta : float64[B, p], parameters in the batch's units
    loglik : float64[B], log-likelihoods there
    converged : bool[B], whether it is a maximum
    edge : bool[B, p], which parameters stopped at the edge of what is searched, the likelihood
        still rising towards it
    """

    theta: Floats
    loglik: Floats
    converged: Bools
    edge: Bools


def unconstrained(family: Fittable, theta: Floats) -> Floats:
    """Return the coordinates, float64[..., p], of parameters float64[..., p]."""
    u = np.array(theta, dtype=np.float64)
    for k, kind in enumerate(family.kinds):
        if kind in POSITIVE:
            u[..., k] = np.log(u[..., k])
        elif kind == "share":
            u[..., k] = np.log(u[..., k]) - np.log1p(-u[..., k])
    return u


def constrained(family: Fittable, u: Floats) -> Floats:
    """Return the parameters, float64[..., p], at coordinates float64[..., p]."""
    theta = np.array(u, dtype=np.float64)
    for k, kind in enumerate(family.kinds):
        if kind in POSITIVE:
            theta[..., k] = np.exp(theta[..., k])
        elif kind == "share":
            theta[..., k] = 1 / (1 + np.exp(-theta[..., k]))
    return theta


def slopes(family: Fittable, theta: Floats) -> Floats:
    """Return d parameter / d coordinate, float64[..., p], at parameters `theta`."""
    slope = np.ones_like(theta)
    for k, kind in enumerate(family.kinds):
        if kind in POSITIVE:
            slope[..., k] = theta[..., k]
        elif kind == "share":
            slope[..., k] = theta[..., k] * (1 - theta[..., k])
    return slope


def information(family: Fittable, batch: Batch, theta: Floats) -> Floats:
    """Return float64[B, p, p], the observed information in coordinates at parameters `theta`."""
    with np.errstate(all="ignore"):
        u = unconstrained(family, theta)
        found = family.derivatives(batch, u) or _differences(family, batch, u)
        return -found[2]


def maximise(
    family: Fittable,
    batch: Batch,
    start: Floats | None = None,
    *,
    free: Bools | None = None,
    tolerance: float = TOLERANCE,
    limit: int = 200,
) -> Solution:
    """Climb from `start` to where each sample's log-likelihood is highest.

    Newton steps where the likelihood curves down; where it does not, the signs of the curvatures
    are turned, so that each step still goes up; steps that gain too little are taken again shorter.

    Parameters
    ----------
    start : float64[B, p] or float64[p], parameters; default `family.start(batch)`
    free : bool[p] or bool[B, p], which parameters move; the others stay as in `start`
    tolerance : stop where a Newton step promises to add no more than this
    limit : steps at most; rows that need more are not converged
    """
    with np.errstate(all="ignore"):
        theta = family.start(batch) if start is None else start
        p = len(family.parameters)
        u = unconstrained(family, np.broadcast_to(theta, (len(batch), p)))
        moving = np.broadcast_to(True if free is None else free, u.shape)
        ascent = _Ascent(family, batch, u, moving, tolerance)
        for _ in range(limit):
            if not ascent.step():
                break
        theta = constrained(family, ascent.u)
        if start is not None:
            theta = np.where(moving, theta, np.broadcast_to(start, theta.shape))
        return Solution(theta, ascent.value, ascent.converged, ascent.edge)


class _Ascent:
    """The state of a climb: where each row is, and what the likelihood is like there."""

    def __init__(
        self,
        family: Fittable,
        batch: Batch,
        u: Floats,
        free: Bools,
        tolerance: float,
    ) -> None:
        self.family, self.tolerance, self.free = family, tolerance, free
        edges = [
            family.edge.get(name, EDGES[kind])
            for name, kind in zip(family.parameters, family.kinds, strict=True)
        ]
        self.limit = np.array(edges)
        self.u = np.clip(u, -self.limit, self.limit)
        self.batch, self.size = batch, batch.size
        self.places = np.array([kind in ("location", "logscale") for kind in family.kinds])
        self.live = np.arange(len(batch))
        self.value, self.gradient, self.hessian = _all(family, batch, self.u)
        self.reach = np.full(len(batch), _FIRST_REACH)
        self.converged = np.zeros(len(batch), dtype=np.bool_)
        self.edge = np.zeros(self.u.shape, dtype=np.bool_)
        self._keep(np.isfinite(self.value) & np.isfinite(self.gradient).all(axis=1))

    def _keep(self, going: Bools) -> None:
        """Leave out live rows that are done."""
        if not going.all():
            self.live = self.live[going]
            self.batch = self.batch.rows(np.flatnonzero(going))

    def _length(self, rows: npt.NDArray[np.intp], move: Floats) -> Floats:
        """Return how long steps are: a logarithm counts as it is, a location in the standard
        deviations that one observation leaves it."""
        far = np.abs(move)
        if self.places.any():
            size = np.sqrt(np.abs(np.diagonal(self.hessian[rows], axis1=1, axis2=2)) / self.size)
            far = np.where(self.places, far * size, far)
        return np.asarray(far.max(axis=1))

    def step(self) -> bool:
        """Take one step with each live row; False when there is none left."""
        live = self.live
        if len(live) == 0:
            return False
        u, gradient = self.u[live], self.gradient[live]
        outward = (np.abs(u) >= self.limit) & (np.sign(gradient) == np.sign(u))
        held = outward | ~self.free[live]
        move, sound = _direction(gradient, self.hessian[live], held)
        gain = np.einsum("bp,bp->b", gradient, move)
        length = self._length(live, move)
        reach = self.reach[live]
        noise = 1e-13 * (1 + np.abs(self.value[live]))
        done = sound & (length <= reach) & (gain <= 2 * self.tolerance)
        stuck = reach < _LEAST_REACH  # no digits left: fine where the slope is but rounding
        self.converged[live] = done | (stuck & (gain <= np.maximum(1e-6, 1e4 * noise)))
        self.edge[live] = outward & self.free[live]
        going = ~(done | stuck)
        if not going.any():
            self.live = live[:0]
            return False
        self._keep(going)
        u, move, reach, length = u[going], move[going], reach[going], length[going]
        move *= np.minimum(1.0, reach / np.maximum(length, 1e-300))[:, None]
        move = np.clip(u + move, -self.limit, self.limit) - u
        gain = np.einsum("bp,bp->b", gradient[going], move)
        self._try(u + move, 1e-4 * gain - noise[going], self._length(self.live, move))
        return True

    def _try(self, trial: Floats, wanted: Floats, length: Floats) -> None:
        """Move rows to `trial` where that gains what is wanted; shorten the reach of others."""
        live = self.live
        found = self.family.derivatives(self.batch, trial)
        if found is None:
            value = self.family.loglik(self.batch, constrained(self.family, trial))
        else:
            value = found[0]
        better = value - self.value[live] >= wanted  # False for nan
        if better.any() and found is None:
            some = np.flatnonzero(better)
            part = self.batch if better.all() else self.batch.rows(some)
            found = _differences(self.family, part, trial[some], value[some])
        elif found is not None:
            some = np.flatnonzero(better)
            found = (found[0][some], found[1][some], found[2][some])
        self.reach[live] = np.where(better, np.maximum(self.reach[live], 2 * length), length / 4)
        if found is not None:
            rows = live[better]
            fine = np.isfinite(found[1]).all(axis=1) & np.isfinite(found[2]).all(axis=(1, 2))
            self.reach[rows[~fine]] = length[better][~fine] / 4
            rows = rows[fine]
            self.u[rows] = trial[better][fine]
            self.value[rows], self.gradient[rows] = found[0][fine], found[1][fine]
            self.hessian[rows] = found[2][fine]


def _direction(gradient: Floats, hessian: Floats, held: Bools) -> tuple[Floats, Bools]:
    """Return float64[B, p], where to step, and bool[B], whether the curvature is a maximum's."""
    p = gradient.shape[1]
    gradient = np.where(held, 0.0, gradient)
    curvature = -hessian
    if held.any():
        curvature = np.where(held[:, :, None] | held[:, None, :], np.eye(p), curvature)
    size = np.sqrt(np.abs(np.diagonal(curvature, axis1=1, axis2=2)))
    size = np.where(size > 1e-150, size, 1.0)
    values, vectors = np.linalg.eigh(curvature / (size[:, :, None] * size[:, None, :]))
    sound = values[:, 0] > 1e-11
    steep = np.maximum(np.abs(values), 1e-9)
    along = np.einsum("bpq,bp->bq", vectors, gradient / size) / steep
    return np.einsum("bpq,bq->bp", vectors, along) / size, sound


def _all(family: Fittable, batch: Batch, u: Floats) -> Derivatives:
    """Return log-likelihood, gradient and Hessian, the family's own where it has them."""
    return family.derivatives(batch, u) or _differences(family, batch, u)


def _differences(
    family: Fittable, batch: Batch, u: Floats, middle: Floats | None = None
) -> Derivatives:
    """Return log-likelihood, gradient and Hessian by central differences in coordinates `u`."""
    rows, p = u.shape
    step = _STEP * np.eye(p)

    def at(move: Floats) -> Floats:
        return family.loglik(batch, constrained(family, u + move))

    if middle is None:
        middle = at(np.zeros(p))
    up = [at(step[k]) for k in range(p)]
    down = [at(-step[k]) for k in range(p)]
    gradient = np.stack([(up[k] - down[k]) / (2 * _STEP) for k in range(p)], axis=1)
    hessian = np.empty((rows, p, p))
    for j in range(p):
        hessian[:, j, j] = (up[j] - 2 * middle + down[j]) / _STEP**2
        for k in range(j):
            both = at(step[j] + step[k]) + at(-step[j] - step[k])
            rest = up[j] + down[j] + up[k] + down[k] - 2 * middle
            hessian[:, j, k] = hessian[:, k, j] = (both - rest) / (2 * _STEP**2)
    return middle, gradient, hessian
