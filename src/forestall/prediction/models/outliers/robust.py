"""Where most of a cloud of points lies, whatever the rest does: the minimum covariance determinant.

Of all halves of the points, the one whose covariance has the least determinant is looked for by
steps that cannot raise it, from many small random starts; its mean and covariance are then made
consistent for Gaussian points, and taken once more over the points that lie not too far out.

Source: P. J. Rousseeuw and K. Van Driessen, "A fast algorithm for the minimum covariance
determinant estimator", Technometrics 41, 1999; the reweighting as in Section 4 there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincinv

from forestall.core.model.arrays import Floats, Ints

STARTS = 40
"""Random starts, of which the best go on to the end."""
BEST = 5
STEPS = 100
INSIDE = 0.975
"""Share of Gaussian points that the last mean and covariance are taken over."""
RIDGE = 1e-9
"""Added to each scaled metric's variance, for points that lie in a plane."""
MAD = 1.4826
"""Standard deviations in a median absolute deviation, of a Gaussian."""


@dataclass(frozen=True)
class Cloud:
    """Location float64[m] and scatter float64[m, m] of points."""

    location: Floats
    scatter: Floats

    def squared_distances(self, points: Floats) -> Floats:
        """Return float64[n]: the squared Mahalanobis distances of points float64[n, m]."""
        root = np.linalg.cholesky(self.scatter)
        total = np.zeros(len(points))
        # row by row of the root, so that a point's distance does not depend on the others
        solved: list[Floats] = []
        for k in range(len(root)):
            value = points[:, k] - self.location[k]
            for j, before in enumerate(solved):
                value = value - root[k, j] * before
            solved.append(value / root[k, k])
            total += solved[-1] ** 2
        return total


def robust_cloud(
    points: Floats, rng: np.random.Generator, *, support: float = 0.5, most: int = 20_000
) -> Cloud:
    """Return the robust location and scatter of points float64[n, m] without nan.

    Parameters
    ----------
    support : share of the points that the determinant is taken over, 0.5 to 1
    most : where there are more points, so many are evenly taken

    Each metric is first scaled by its median and median absolute deviation. Fewer points than five
    for each metric give those alone, without correlations; points that all lie in a plane, a
    scatter with a small ridge.
    """
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).astype(np.int64)]
    number, metrics = points.shape
    middle, width = median_and_width(points)
    if number < 5 * metrics:
        return Cloud(middle, np.diag(width**2))
    scaled = (points - middle) / width
    size = max(int(np.ceil(support * number)), (number + metrics + 1) // 2)
    # 100 points for each metric tell good starts from bad ones
    few = scaled[rng.permutation(number)[: max(100 * metrics, 500)]]
    held = max(int(np.ceil(len(few) * size / number)), metrics + 1)
    starts = [_settled(few, _start(few, rng), held, 2) for _ in range(STARTS)]
    starts.sort(key=_log_determinant)
    best = min((_settled(scaled, one, size, STEPS) for one in starts[:BEST]), key=_log_determinant)
    consistent = _consistent(best, size / number)
    inside = consistent.squared_distances(scaled) <= _quantile(INSIDE, metrics)
    final = _consistent(_cloud(scaled[inside]), INSIDE) if inside.sum() > metrics else consistent
    return Cloud(middle + width * final.location, width[:, None] * final.scatter * width)


def median_and_width(points: Floats) -> tuple[Floats, Floats]:
    """Return float64[m] twice: medians, and median absolute deviations as standard deviations.

    Where more than half of the values are the same the width is the standard deviation, and 1 where
    all are.
    """
    if len(points) == 0:
        return np.zeros(points.shape[1]), np.ones(points.shape[1])
    middle = np.median(points, axis=0)
    width = MAD * np.median(np.abs(points - middle), axis=0)
    spread = np.where(width > 0, width, np.std(points, axis=0))
    least = 1e-12 * np.maximum(np.abs(middle), 1e-12)
    return middle, np.where(spread > least, spread, 1.0)


def _start(points: Floats, rng: np.random.Generator) -> Cloud:
    metrics = points.shape[1]
    return _cloud(points[rng.choice(len(points), metrics + 1, replace=False)], ridge=1e-3)


def _settled(points: Floats, cloud: Cloud, size: int, steps: int) -> Cloud:
    """Return the cloud after so many steps, each to the `size` points that are nearest."""
    held: Ints | None = None
    for _ in range(steps):
        near = np.sort(np.argpartition(cloud.squared_distances(points), size - 1)[:size])
        if held is not None and np.array_equal(near, held):
            break
        held, cloud = near, _cloud(points[near])
    return cloud


def _cloud(points: Floats, ridge: float = RIDGE) -> Cloud:
    location = points.mean(axis=0)
    away = points - location
    scatter = np.einsum("ni,nj->ij", away, away) / len(points)
    least = ridge * (1 + np.diag(scatter).max())
    return Cloud(location, scatter + least * np.eye(points.shape[1]))


def _log_determinant(cloud: Cloud) -> float:
    return float(2 * np.log(np.diag(np.linalg.cholesky(cloud.scatter))).sum())


def _quantile(share: float, metrics: int) -> float:
    """Return the quantile of the chi-square law of so many metrics."""
    return float(2 * gammaincinv(metrics / 2, share))


def _consistent(cloud: Cloud, share: float) -> Cloud:
    """Return the scatter of a share of Gaussian points, the nearest ones, as that of all.

    Butler, Davies and Jhun, Annals of Statistics 21, 1993.
    """
    metrics = len(cloud.location)
    if share >= 1:
        return cloud
    factor = share / gammainc(metrics / 2 + 1, _quantile(share, metrics) / 2)
    return Cloud(cloud.location, cloud.scatter * factor)
