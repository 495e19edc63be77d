"""How far a forecast of the machine's failures is to be believed: pooled with the long-run rate."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats

STEPS: Final = 100


def pooled(steady: Floats, foretold: Floats, failed: Bools) -> tuple[float, float]:
    """Return u, v >= 0 that make the outcomes likeliest, where a node fails with the probability 1
    - exp(-(u steady + v foretold)).

    Parameters
    ----------
    steady, foretold : float64[n], the failures that the long-run rate and the forecast expect of
        the node within the horizon; >= 0
    failed : bool[n]

    A weak prior, half a failure for each, draws both to 1 / 2. The steps are those of expectation
    and maximisation for a sum of two Poisson sources of which one sees only whether there was an
    event: they keep both at or above 0 and never lose likelihood.
    """
    parts = np.stack((steady, foretold))
    every = parts.sum(axis=1)
    loud = parts[:, failed]
    weights = np.array([0.5, 0.5])
    for _ in range(STEPS):
        hazard = np.maximum(weights @ loud, 1e-300)
        hits = weights * (loud / -np.expm1(-hazard)).sum(axis=1)
        new = (hits + 0.5) / (every + 1.0)
        done = float(np.max(np.abs(new - weights))) < 1e-7
        weights = new
        if done:
            break
    return float(weights[0]), float(weights[1])
