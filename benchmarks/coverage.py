"""Do the confidence intervals cover what they claim? Simulated, beside the claimed level.

`python -m benchmarks.coverage`

Each cell is the share of simulated samples whose interval holds the true value, in percent. A share
has a Monte-Carlo error, printed per method; cells further than three of them below the claim are
marked with *. Likelihood and Wald intervals rest on large samples and may fall short on 20 gaps,
most so for means: that is what this table is for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.fits.intervals import METHODS, Method, confidence_intervals

LEVEL = 0.9
SAMPLES: dict[Method, int] = {"likelihood": 300, "wald": 1000, "bootstrap": 100}
DRAWS = 199

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]

# Family, true parameters and mean, how to draw, mean of the exponential censoring times for 30 %.
LAWS: list[tuple[str, dict[str, float], Draw, float]] = [
    ("exponential", {"scale": 1.0, "mean": 1.0}, lambda rng, n: rng.exponential(1.0, n), 7 / 3),
    (
        "weibull",
        {"shape": 0.7, "scale": 1.0, "mean": math.gamma(1 + 1 / 0.7)},
        lambda rng, n: rng.weibull(0.7, n),
        2.75,
    ),
    (
        "gamma",
        {"shape": 2.0, "scale": 1.0, "mean": 2.0},
        lambda rng, n: rng.gamma(2.0, 1.0, n),
        5.12,
    ),
    (
        "lognormal",
        {"mu": 0.0, "sigma": 1.0, "mean": math.exp(0.5)},
        lambda rng, n: rng.lognormal(0.0, 1.0, n),
        3.85,
    ),
]


def sample(
    draw: Draw, size: int, stop: float, rng: np.random.Generator
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return gaps and which are censored; `stop` inf for none."""
    gaps = draw(rng, size)
    if math.isinf(stop):
        return gaps, np.zeros(size, dtype=bool)
    stopped = rng.exponential(stop, size)
    return np.minimum(gaps, stopped), stopped < gaps


def covered(fitted: Fitted, truth: dict[str, float], method: Method, seed: int) -> list[bool]:
    """Return for each parameter whether the interval holds the truth; nan holds nothing."""
    found = confidence_intervals(fitted, LEVEL, method, DRAWS, seed)
    return [found[name][0] <= value <= found[name][1] for name, value in truth.items()]


def coverage(
    family: str, truth: dict[str, float], draw: Draw, size: int, stop: float, method: Method
) -> Array:
    """Return the share of samples whose interval holds the truth, for each parameter."""
    rng = np.random.default_rng([size, METHODS.index(method), int(math.isinf(stop))])
    inside = np.zeros(len(truth))
    done = 0
    while done < SAMPLES[method]:
        gaps, censored = sample(draw, size, stop, rng)
        try:
            fitted = fit(gaps, family, censored=censored)
        except ParameterError:  # hardly a failure among them; another sample
            continue
        inside += covered(fitted, truth, method, done)
        done += 1
    return inside / SAMPLES[method]


def main() -> None:
    """Print the table."""
    start = time.perf_counter()
    errors = {m: math.sqrt(LEVEL * (1 - LEVEL) / SAMPLES[m]) for m in METHODS}
    claims = "  ".join(f"{m} +-{100 * errors[m]:.1f} ({SAMPLES[m]:,} samples)" for m in METHODS)
    print(f"claimed {100 * LEVEL:.0f} %; Monte-Carlo error: {claims}; bootstrap of {DRAWS} draws")
    print(
        f"{'family':<13}{'gaps':>5}{'censored':>10}  {'of':<7}"
        + "".join(f"{m:>12}" for m in METHODS)
    )
    for family, truth, draw, stop in LAWS:
        for size in (20, 100):
            for end in (math.inf, stop):
                found = {m: coverage(family, truth, draw, size, end, m) for m in METHODS}
                share = "none" if math.isinf(end) else "30 %"
                for k, name in enumerate(truth):
                    cells = ""
                    for m in METHODS:
                        mark = "*" if found[m][k] < LEVEL - 3 * errors[m] else " "
                        cells += f"{100 * found[m][k]:>11.1f}{mark}"
                    print(f"{family:<13}{size:>5}{share:>10}  {name:<7}{cells}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
