"""What the curvature of a likelihood says of the spread of estimates, and coordinates as values."""

from __future__ import annotations

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.fits.newton import constrained, information
from forestall.reliability.fits.redraw import Fit
from forestall.reliability.lifetimes.base import POSITIVE
from forestall.reliability.lifetimes.batch import Batch, Fittable

STEP = 1e-4
"""Of differences in coordinates."""


def spread(family: Fittable, batch: Batch, theta: Floats, regular: Bools) -> Floats:
    """Return float64[B, p, p], the covariance of the coordinates of each row's estimate.

    The inverse of the observed information at `theta` float64[B, p]; 0 for parameters that are not
    `regular`, which are taken as known; nan throughout where the curvature is no maximum's.
    """
    place = np.flatnonzero(regular)
    answer = np.zeros((*theta.shape, theta.shape[1]))
    curvature = information(family, batch, theta)[:, place[:, None], place]
    size = np.sqrt(np.abs(np.diagonal(curvature, axis1=1, axis2=2))) + 1e-150
    scaled = curvature / (size[:, :, None] * size[:, None, :])
    fine = np.isfinite(scaled).all(axis=(1, 2)) & bool(len(place))
    scaled[~fine] = np.eye(len(place))
    if len(place):
        fine &= np.linalg.eigvalsh(scaled)[:, 0] > 1e-11
        scaled[~fine] = np.eye(len(place))
        inverse = np.linalg.inv(scaled) / (size[:, :, None] * size[:, None, :])
        answer[:, place[:, None], place] = inverse
    answer[~fine] = np.nan
    return answer


def slope_of_log_mean(family: Fittable, u: Floats, regular: Bools) -> Floats:
    """Return float64[B, p], the derivatives of log mean in coordinates `u` float64[B, p]."""
    step = STEP * np.eye(u.shape[1])[:, None, :]
    logs = np.log(mean_of(family, constrained(family, u + np.stack([step, -step]))))
    return np.where(regular, ((logs[0] - logs[1]) / (2 * STEP)).T, 0.0)


def mean_of(family: Fittable, theta: Floats) -> Floats:
    """Return float64[...], the means of laws with parameters float64[..., p]."""
    return np.asarray(family.mean(*np.moveaxis(theta, -1, 0)))


def value_at(family: Fittable, k: int, u: float) -> float:
    """Return parameter `k` at a coordinate, the end of its range at an infinite one."""
    if family.kinds[k] in POSITIVE:
        return float(np.exp(u))
    return float(1 / (1 + np.exp(-u))) if family.kinds[k] == "share" else u


def in_unit(fitted: Fit, k: int, ends: tuple[float, float]) -> tuple[float, float]:
    """Return two values of parameter `k` in the unit of the gaps, from units of the batch."""
    theta = np.tile(fitted.scaled, (2, 1))
    theta[:, k] = ends
    low, high = fitted.family.rescaled(theta, fitted.sample.scale)[:, k].tolist()
    return low, high
