"""Laws of every family to test with, and SciPy's name for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.lifetimes.batch import Batch, BatchPart

LAWS: dict[str, list[tuple[float, ...]]] = {
    "exponential": [(2.0,)],
    "weibull": [(0.7, 1.3), (3.0, 0.5)],
    "weibull-3p": [(1.5, 2.0, 0.4)],
    "lognormal": [(0.3, 1.1), (-1.0, 0.2)],
    "loglogistic": [(4.5, 1.2), (9.0, 3.0)],
    "rayleigh": [(1.7,)],
    "gumbel": [(50.0, 3.0)],
    "frechet": [(5.0, 1.4)],
    "gamma": [(0.6, 2.0), (3.0, 0.4), (80.0, 0.01), (300.0, 0.5)],
    "generalized-gamma": [(2.0, 1.3, 0.8), (0.4, 3.0, 2.0), (150.0, 0.2, 1e-9)],
    "nakagami": [(0.4, 1.5), (2.5, 0.7)],
    "inverse-gaussian": [(1.5, 0.8), (2.0, 60.0)],
    "birnbaum-saunders": [(0.9, 1.6), (0.2, 3.0)],
    "pareto": [(6.0, 0.7)],
    "lomax": [(7.0, 5.0)],
    "generalized-pareto": [(0.15, 1.2), (-0.3, 2.0), (0.0, 1.5), (1e-6, 1.5)],
    "burr": [(2.0, 3.5, 1.4), (0.9, 40.0, 30.0)],
    "hyperexponential": [(0.4, 0.1, 2.0), (0.9, 0.5, 30.0)],
}
"""Parameters of laws with a variance, in the order of the family."""

SCIPY: dict[str, Callable[..., Any]] = {
    "exponential": lambda scale: stats.expon(scale=scale),
    "weibull": lambda shape, scale: stats.weibull_min(shape, scale=scale),
    "weibull-3p": lambda shape, scale, loc: stats.weibull_min(shape, loc, scale),
    "lognormal": lambda mu, sigma: stats.lognorm(sigma, scale=np.exp(mu)),
    "loglogistic": lambda shape, scale: stats.fisk(shape, scale=scale),
    "rayleigh": lambda scale: stats.rayleigh(scale=scale),
    "gumbel": stats.gumbel_r,
    "frechet": lambda shape, scale: stats.invweibull(shape, scale=scale),
    "gamma": lambda shape, scale: stats.gamma(shape, scale=scale),
    "generalized-gamma": lambda a, c, scale: stats.gengamma(a, c, scale=scale),
    "nakagami": lambda shape, scale: stats.nakagami(shape, scale=scale),
    "inverse-gaussian": lambda mean, s: stats.invgauss(mean / s, scale=s),
    "birnbaum-saunders": lambda shape, scale: stats.fatiguelife(shape, scale=scale),
    "pareto": lambda shape, scale: stats.pareto(shape, scale=scale),
    "lomax": lambda shape, scale: stats.lomax(shape, scale=scale),
    "generalized-pareto": lambda shape, scale: stats.genpareto(shape, scale=scale),
    "burr": lambda c, d, scale: stats.burr12(c, d, scale=scale),
}
"""SciPy's law of the same parameters, where it has the family."""

EVERY = [(name, theta) for name, laws in LAWS.items() for theta in laws]
ONE = [(name, laws[0]) for name, laws in LAWS.items()]


def batch_of_rows(time: Floats, censored: Bools | None = None) -> Batch:
    """Return the batch of `time` float64[B, N], of which some are right-censored.

    Parameters
    ----------
    censored : bool[B, N], or None where none is; numbers may differ from row to row
    """
    if censored is None or not censored.any():
        return Batch.of(time)
    order = np.argsort(censored, axis=1, kind="stable")
    ordered = np.take_along_axis(time, order, axis=1)
    ended = time.shape[1] - np.count_nonzero(censored, axis=1)
    most, least = int(ended.max()), int(ended.min())
    column = np.arange(time.shape[1])
    exact, right = ordered[:, :most], ordered[:, least:]
    if most == least:
        return Batch(BatchPart(exact), BatchPart(right), BatchPart.none(len(time)))
    seen = (column[:most] < ended[:, None]).astype(np.float64)
    going = (column[least:] >= ended[:, None]).astype(np.float64)
    first = np.where(ended[:, None] > 0, ordered[:, :1], 1.0)
    last = np.where(ended[:, None] < time.shape[1], ordered[:, -1:], 1.0)
    return Batch(
        BatchPart(np.where(seen > 0, exact, first), seen),
        BatchPart(np.where(going > 0, right, last), going),
        BatchPart.none(len(time)),
    )
