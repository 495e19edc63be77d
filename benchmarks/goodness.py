"""Goodness-of-fit p-values beside SciPy's, and all families on one sample beside other libraries.

`python -m benchmarks.goodness`

Both p-values come from 999 samples drawn from the fitted law and fitted again; SciPy's run takes
seconds a family and is timed once. Libraries that are not installed are left out and said so.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.common import line, seconds
from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.ranking import fit_all

SIZE, DRAWS = 1_000, 999
GAPS = 7_000

Array = npt.NDArray[np.float64]

# Ours, SciPy's, and how to draw a sample on which the fit is a good one.
PAIRS: list[tuple[str, Any, Callable[[np.random.Generator], Array]]] = [
    ("exponential", stats.expon, lambda rng: rng.exponential(100.0, SIZE)),
    ("weibull", stats.weibull_min, lambda rng: 100 * rng.weibull(0.7, SIZE)),
    ("lognormal", stats.lognorm, lambda rng: rng.lognormal(4.0, 1.0, SIZE)),
    ("gamma", stats.gamma, lambda rng: rng.gamma(0.8, 100.0, SIZE)),
    ("loglogistic", stats.fisk, lambda rng: stats.fisk(2.0, scale=90).rvs(SIZE, random_state=rng)),
    ("inverse-gaussian", stats.invgauss, lambda rng: rng.wald(100.0, 80.0, SIZE)),
]


def p_values() -> None:
    """Time p-values of both statistics, ours, beside one statistic, SciPy's."""
    for family, law, draw in PAIRS:
        gaps = draw(np.random.default_rng(3))
        fitted = fit(gaps, family)
        found = fitted.goodness(DRAWS)
        (ours,) = seconds(lambda fitted=fitted: fitted.goodness(DRAWS), rounds=3)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = stats.goodness_of_fit(
                law, gaps, known_params={"loc": 0}, statistic="ad", n_mc_samples=DRAWS,
                rng=np.random.default_rng(1),
            )  # fmt: skip
        took = time.perf_counter() - start
        agree = f"p {found.ad_p:.3f}, {theirs.pvalue:.3f}"
        line(f"{family}, KS and AD, {agree}", ours, "scipy (AD only)", took)


def ranking() -> None:
    """Time all families on one censored sample, beside whatever else is installed."""
    rng = np.random.default_rng(1)
    gaps, stopped = 100 * rng.weibull(0.7, GAPS), rng.exponential(200.0, GAPS)
    time_, censored = np.minimum(gaps, stopped), stopped < gaps
    found = fit_all(time_, censored=censored, rank_by="bic")
    share = f"{GAPS:,} gaps, {censored.mean():.0%} censored"
    print(f"{len(found)} families on {share}: {found.best.lifetime}")
    (ours,) = seconds(lambda: fit_all(time_, censored=censored), rounds=5)
    for name, run in (
        ("scipy", _scipy), ("surpyval", _surpyval), ("reliability", _reliability),
        ("lifelines", _lifelines),
    ):  # fmt: skip
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                count = run(time_, censored)
        except ImportError as error:
            print(f"  {name} is not there: {error}")
            continue
        took = time.perf_counter() - start
        line(f"fit_all, {len(found)} families", ours, f"{name}, {count}", took)


def _scipy(gaps: Array, censored: npt.NDArray[np.bool_]) -> int:
    data = stats.CensoredData(uncensored=gaps[~censored], right=gaps[censored])
    laws = (stats.expon, stats.weibull_min, stats.lognorm, stats.gamma, stats.fisk, stats.gumbel_r)
    for law in laws:
        law.fit(data, **({} if law is stats.gumbel_r else {"floc": 0}))
    return len(laws)


def _surpyval(gaps: Array, censored: npt.NDArray[np.bool_]) -> int:
    library = importlib.import_module("surpyval")
    names = ("Exponential", "Weibull", "LogNormal", "Gamma", "LogLogistic", "Gumbel", "Rayleigh")
    for name in names:
        getattr(library, name).fit(gaps, c=censored.astype(int))
    return len(names)


def _reliability(gaps: Array, censored: npt.NDArray[np.bool_]) -> int:
    fitters = importlib.import_module("reliability.Fitters")
    found = fitters.Fit_Everything(
        failures=gaps[~censored], right_censored=gaps[censored], print_results=False,
        show_histogram_plot=False, show_PP_plot=False, show_probability_plot=False,
        show_best_distribution_probability_plot=False,
    )  # fmt: skip
    return len(found.results)


def _lifelines(gaps: Array, censored: npt.NDArray[np.bool_]) -> int:
    library = importlib.import_module("lifelines")
    names = ("ExponentialFitter", "WeibullFitter", "LogNormalFitter", "LogLogisticFitter",
             "GeneralizedGammaFitter")  # fmt: skip
    for name in names:
        getattr(library, name)().fit(gaps, ~censored)
    return len(names)


def main() -> None:
    """Print both comparisons."""
    ranking()
    if "--fits" not in sys.argv:
        p_values()


if __name__ == "__main__":
    main()
