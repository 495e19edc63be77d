"""Maximum likelihood under censoring, beside SciPy and, where installed, surpyval, reliability and
lifelines on the same gaps in the same run. User CPU, not wall time, so that what else runs counts
less; the log-likelihoods must agree.

`python -m benchmarks.fits`
"""

from __future__ import annotations

import resource
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.common import line
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.fits.ranking import fit_all

CENSORED = 0.3
SHAPE, SCALE = 0.7, 100.0


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n Weibull gaps and which are cut short by a rival of the same shape, 30 % of them."""
    rng = np.random.default_rng(1)
    gaps = SCALE * rng.weibull(SHAPE, n)
    ends = SCALE * (1 / CENSORED - 1) ** (1 / SHAPE) * rng.weibull(SHAPE, n)
    return np.minimum(gaps, ends), ends < gaps


def cpu(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the median user CPU of a call after a warm-up, and what it returned."""
    answer = call()
    spent = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        answer = call()
        spent.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return median(spent), answer


def weibull_loglik(shape: float, scale: float, gaps: np.ndarray, censored: np.ndarray) -> float:
    """Return SciPy's log-likelihood of a Weibull law."""
    law = stats.weibull_min(shape, scale=scale)
    return float(law.logpdf(gaps[~censored]).sum() + law.logsf(gaps[censored]).sum())


def by_scipy(gaps: np.ndarray, censored: np.ndarray) -> tuple[float, float]:
    """Return shape and scale by scipy.stats."""
    data = stats.CensoredData.right_censored(gaps, censored)
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    return shape, scale


def by_surpyval(gaps: np.ndarray, censored: np.ndarray) -> tuple[float, float]:
    """Return shape and scale by surpyval."""
    from surpyval import Weibull  # type: ignore[import-not-found]

    scale, shape = Weibull.fit(gaps, c=censored.astype(int)).params
    return shape, scale


def by_reliability(gaps: np.ndarray, censored: np.ndarray) -> tuple[float, float]:
    """Return shape and scale by reliability."""
    from reliability.Fitters import Fit_Weibull_2P  # type: ignore[import-not-found]

    found = Fit_Weibull_2P(
        failures=gaps[~censored], right_censored=gaps[censored],
        show_probability_plot=False, print_results=False,
    )  # fmt: skip
    return found.beta, found.alpha


def by_lifelines(gaps: np.ndarray, censored: np.ndarray) -> tuple[float, float]:
    """Return shape and scale by lifelines."""
    from lifelines import WeibullFitter  # type: ignore[import-not-found]

    found = WeibullFitter().fit(gaps, ~censored)
    return found.rho_, found.lambda_


OTHERS = {
    "scipy": by_scipy,
    "surpyval": by_surpyval,
    "reliability": by_reliability,
    "lifelines": by_lifelines,
}


def weibull(n: int, ours_rounds: int, rounds: int, repeat: int = 1) -> None:
    """Print the Weibull fit of n gaps beside each library's."""
    gaps, censored = sample(n)

    def ours() -> Fitted:
        for _ in range(repeat - 1):
            fit(gaps, "weibull", censored=censored)
        return fit(gaps, "weibull", censored=censored)

    spent, found = cpu(ours, ours_rounds)
    for name, other in OTHERS.items():
        try:
            version(name)
        except PackageNotFoundError:
            print(f"{'':<42}{name} is not installed")
            continue
        theirs, (shape, scale) = cpu(lambda other=other: other(gaps, censored), rounds)  # type: ignore[misc]
        reached = weibull_loglik(shape, scale, gaps, censored)
        assert found.loglik >= reached - 1e-6 * abs(reached), (name, found.loglik, reached)
        line(f"Weibull, {n:,} gaps, 30 % censored", spent / repeat, name, theirs)


def every_family(n: int) -> None:
    """Print the time that all families take."""
    gaps, censored = sample(n)
    spent, ranking = cpu(lambda: fit_all(gaps, censored=censored), 5)
    best = ranking.best.family.name
    print(f"{'all families':<14}{n:,} gaps, 30 % censored: {spent * 1e3:.0f} ms, best: {best}")


def main() -> None:
    """Print the comparisons."""
    warnings.simplefilter("ignore")
    weibull(1_000_000, 9, 2)
    weibull(7_000, 7, 5, repeat=50)
    every_family(7_000)


if __name__ == "__main__":
    main()
