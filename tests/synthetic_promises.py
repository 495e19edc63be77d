"""Small made-up inputs, and grids of runs of a wanted shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from studies.promises.inputs import LOGS, Inputs
from studies.promises.surface import Surface

TENTHS = tuple(range(11))


def small_inputs(count: int = 40) -> Inputs:
    """Return three logs of a few jobs on 128 nodes, and failures enough to strike some of them."""
    draw = np.random.default_rng(7)
    jobs = {
        log: Jobs.build(
            np.sort(draw.integers(0, 40_000, count)),
            draw.integers(1, 64, count),
            draw.integers(60, 30_000, count),
        )
        for log in LOGS
    }
    span = 365 * 86_400
    early = draw.integers(0, 150_000, 400)
    late = draw.integers(0, span, 621)
    failures = Failures.build(np.concatenate([early, late]), draw.integers(0, 128, 1021))
    whole = Failures(
        failures.time,
        failures.node,
        failures.downtime,
        failures.detectability,
        span=span,
        nodes=128,
    )
    return Inputs(jobs, whole)


def made(
    qos: Callable[[float, float], float] = lambda a, u: 0.92 + 0.06 * a + 0.02 * a * u,
    utilization: Callable[[float, float], float] = lambda a, u: 0.6 + 0.06 * a + 0.01 * a * u,
    lost: Callable[[float, float], float] = lambda a, u: 900 - 800 * a - 50 * a * u,
    idle: Callable[[float, float], float] = lambda a, u: 0.3 + 0.05 * a * u,
    log: str = "SDSC",
    seeds: int = 2,
) -> Surface:
    """Return a grid whose values are those functions of a and U, the same for every seed."""

    def filled(f: Callable[[float, float], float]) -> np.ndarray:
        one = [[f(a / 10, u / 10) for u in TENTHS] for a in TENTHS]
        return np.array([one] * seeds, dtype=np.float64)

    return Surface(
        log, TENTHS, TENTHS, filled(qos), filled(utilization), filled(lost), filled(idle)
    )
