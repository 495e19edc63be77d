"""Laws of every family to test with, and SciPy's name for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

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
