"""A job under failures, played out many times: the check on the computed completion times."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.segments import CheckpointPlan
from forestall.reliability.systems.ageing import FailureClock, SystemLifetime, carried

Places = npt.NDArray[np.intp]
Source = Callable[[Places], Floats]

RUNS = 200_000
"""Runs of a simulation that nobody gave a number for."""
MOST_DRAWS = 1_000_000_000
MOST_NODES = 64
"""So many nodes are followed one by one; the failures of more come as a Poisson process."""
BLOCK = 4_000_000


@dataclass(frozen=True)
class SimulatedTimes:
    """What many runs of a job took, in the order of the runs.

    Attributes
    ----------
    times : float64[runs], completion times
    failures : int64[runs], how often each run failed
    """

    times: Floats
    failures: Ints

    def mean(self) -> float:
        """Return the mean time."""
        return float(self.times.mean())

    def standard_error(self) -> float:
        """Return the standard error of the mean."""
        return float(self.times.std(ddof=1)) / math.sqrt(len(self.times))

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """Return the share of runs that had ended by `t`."""
        ordered = np.sort(self.times)
        return np.searchsorted(ordered, np.asarray(t), side="right") / len(ordered)

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` of the runs had ended."""
        return np.asarray(np.quantile(self.times, np.asarray(p, dtype=np.float64)))


def simulate_completion(
    plan: CheckpointPlan, system: SystemLifetime, runs: int, rng: np.random.Generator
) -> SimulatedTimes:
    """Play a job `runs` times.

    With ages ``new`` or ``steady`` the times between failures are like draws, as in
    `completion_of`. Nodes of given ages are followed one by one, up to 64 of them; the failures of
    more come as a Poisson process of their mean number. Raises ParameterError where the job would
    not end.
    """
    if not runs >= 1:
        raise ParameterError("runs", runs, "at least 1")
    later = system.after_failure()
    shortest = plan.restart + (plan.period if plan.segments > 1 else plan.last)
    if not carried(system) and float(later.sf(shortest)) * MOST_DRAWS < runs:
        raise ParameterError("interval", plan.interval, "one that an attempt has a chance to reach")
    if not carried(system):
        first = True

        def draw(active: Places) -> Floats:
            nonlocal first
            law, first = (system if first else later), False
            return law.draw(rng, len(active))

        return _played(plan, runs, draw, rng)
    if system.nodes > MOST_NODES:
        return _played(plan, runs, _poisson(plan, system, runs, rng), rng)
    block = max(1, BLOCK // system.nodes)
    parts = [
        _played(plan, count, _by_node(system, count, rng), rng)
        for count in (min(block, runs - begin) for begin in range(0, runs, block))
    ]
    return SimulatedTimes(
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.failures for part in parts]),
    )


def _played(
    plan: CheckpointPlan, runs: int, draw: Source, rng: np.random.Generator
) -> SimulatedTimes:
    """Play attempt after attempt, of all runs that have not ended at once."""
    times, failures = np.zeros(runs), np.zeros(runs, dtype=np.int64)
    active = np.arange(runs)
    left = np.full(runs, plan.segments, dtype=np.float64)
    lead, drawn = 0.0, 0
    while len(active):
        drawn += len(active)
        if drawn > MOST_DRAWS:
            raise ParameterError("runs", runs, "fewer: the job fails too often")
        uptime = draw(active)
        needed = lead + plan.left(left)
        ended = uptime >= needed
        times[active[ended]] += needed[ended]
        on = ~ended
        active, uptime, left = active[on], uptime[on], left[on]
        repair = plan.repair
        down = plan.mean_downtime if repair is None else repair.draw(rng, len(active))
        times[active] += uptime + down
        failures[active] += 1
        done = np.floor(np.maximum(uptime - lead, 0.0) / plan.period)
        left -= np.minimum(done, left - 1)
        lead = plan.restart
    return SimulatedTimes(times, failures)


def _poisson(
    plan: CheckpointPlan, system: SystemLifetime, runs: int, rng: np.random.Generator
) -> Source:
    clock = FailureClock(system, 4 * plan.unhindered)
    worked, seen = np.zeros(runs), np.zeros(runs)

    def draw(active: Places) -> Floats:
        seen[active] += rng.standard_exponential(len(active))
        at = clock.time_of(seen[active])
        uptime = at - worked[active]
        worked[active] = at
        return uptime

    return draw


def _by_node(system: SystemLifetime, runs: int, rng: np.random.Generator) -> Source:
    law, nodes = system.lifetime, system.nodes
    ages = np.broadcast_to(np.asarray(system.ages, dtype=np.float64), (nodes,))
    hazard = law.cumulative_hazard(ages) + rng.standard_exponential((runs, nodes))
    lives = np.maximum(law.quantile(-np.expm1(-hazard)) - ages, 0.0)

    def draw(active: Places) -> Floats:
        here = lives[active]
        failed = here.argmin(axis=1)
        rows = np.arange(len(active))
        uptime = here[rows, failed]
        here -= uptime[:, None]
        here[rows, failed] = law.draw(rng, len(active))
        lives[active] = here
        return np.asarray(uptime)

    return draw
