"""ARMA, AR and MA models by exact likelihood: ours against statsmodels, time and log-likelihood.

`python -m benchmarks.arma [SEEDS]`

Series of 10,000 values drawn from random stationary and invertible models; statsmodels by those of
its methods that can fit the model. It takes seconds to minutes a fit and is timed once; ours is the
median of five.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib import import_module

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from benchmarks.common import line, seconds
from forestall.prediction.models.linear.arma import fit_arma

SIZE, BURN = 10_000, 2_000
MODELS = {
    "ARMA(8,8)": (8, 8, ("statespace", "innovations_mle", "hannan_rissanen")),
    "ARMA(2,1)": (2, 1, ("statespace", "innovations_mle")),
    "AR(8)": (8, 0, ("statespace", "innovations_mle", "burg")),
    "MA(8)": (0, 8, ("statespace", "innovations_mle")),
}


def coefficients(partial: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the autoregression with these partial autocorrelations."""
    row = np.zeros(0)
    for kappa in partial:
        row = np.r_[row - kappa * row[::-1], kappa]
    return row


def drawn(p: int, q: int, seed: int) -> npt.NDArray[np.float64]:
    """Return a series from a random model."""
    rng = np.random.default_rng(seed)
    ar = coefficients(rng.uniform(-0.7, 0.7, p))
    ma = -coefficients(rng.uniform(-0.7, 0.7, q))
    shocks = rng.standard_normal(SIZE + BURN)
    return np.asarray(lfilter(np.r_[1, ma], np.r_[1, -ar], shocks)[BURN:] + 5)


def compare(name: str, seed: int) -> None:
    """Fit one series by all means."""
    p, q, methods = MODELS[name]
    series = drawn(p, q, seed)
    fitted = fit_arma(series, p, q)
    (ours,) = seconds(lambda: fit_arma(series, p, q), rounds=5)
    print(f"{name}, seed {seed}: log-likelihood {fitted.loglik:.4f} in {fitted.steps} steps")
    try:
        model = import_module("statsmodels.tsa.arima.model").ARIMA
    except ImportError as error:
        print(f"  statsmodels is not there: {error}; ours takes {ours * 1e3:.1f} ms")
        return
    for method in methods:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = model(series, order=(p, 0, q)).fit(method=method)
        took = time.perf_counter() - start
        line(f"  ours is better by {fitted.loglik - theirs.llf:+.4f}", ours, method, took)


def main() -> None:
    """Print the comparison of each model and seed."""
    seeds = [int(word) for word in sys.argv[1:]] or [1]
    for name in MODELS:
        for seed in seeds:
            compare(name, seed)


if __name__ == "__main__":
    main()
