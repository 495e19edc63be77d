"""Checkpoints whose distance follows the hazard: the best schedule for laws with a memory.

After each restart the schedule begins anew. With checkpoints finished at ages t_1 < t_2 < ... the
work of an attempt that is not lost is, in the mean, the sum of (t_i - t_(i-1) - cost) sf(t_i); the
time of an attempt does not depend on the schedule. So the best schedule of a job without end has
the largest sum: dynamic programming over a grid of ages, then the conditions for
the best places are solved. Of equal distances the exponential law's is
best.

Source: the question is that of Nurmi, Wolski and Brevik, UCSB TR 2004-25 (Hacker and Meglicki,
HPDC 2007, Section 6); the condition for t_i is that of Barlow, Hunter and Proschan, J. SIAM 11
(1963) 1078, for inspections.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import best_long_run, long_run_efficiency
from forestall.reliability.systems.ageing import SystemLifetime

with lazily():
    from scipy import linalg


_FINE = 24
"""Points of the grid for each interval of the first-order rule."""
_MOST = 40_000
_REACH = 1e-10
"""The schedule ends where an attempt survives with this probability."""


@dataclass(frozen=True)
class Schedule:
    """Work between checkpoints after a restart, one after the other.

    Attributes
    ----------
    intervals : float64[checkpoints], work before the first checkpoint, the second, ...
    efficiency : work over time of a job without end
    equidistant : the efficiency of the best equal intervals
    """

    intervals: Floats
    efficiency: float
    equidistant: float

    @property
    def gain(self) -> float:
        """How much shorter a job becomes than with the best equal intervals, as a share."""
        return 1 - self.equidistant / self.efficiency


def best_schedule(
    law: SystemLifetime, cost: float, restart: float = 0.0, downtime: float = 0.0
) -> Schedule:
    """Return the best schedule where times between failures are like draws from `law`.

    Raises ParameterError for a cost that is not above 0 and for a law without a mean.
    """
    if not cost > 0:
        raise ParameterError("cost", cost, "a time above 0")
    even = best_long_run(law, cost, restart, downtime)
    places = _coarse(law, cost, restart, even)
    for _ in range(3):
        places = _polished(law, cost, restart, _relaxed(law, cost, restart, places))
    intervals = np.diff(places, prepend=restart) - cost
    reward = float(intervals @ law.sf(places))
    return Schedule(
        intervals,
        reward / (law.mean() + downtime),
        float(long_run_efficiency(law, even, cost, restart, downtime)),
    )


def _grid(law: SystemLifetime, cost: float, restart: float, even: float) -> Floats:
    """Return ages from the end of a restart on, dense where failures are."""
    end = restart + float(law.quantile(1 - _REACH))
    ages, age = [restart], restart
    while age < end and len(ages) < _MOST:
        ahead = float(law.cumulative_hazard(age + cost) - law.cumulative_hazard(age)) / cost
        wanted = math.sqrt(2 * cost / ahead) if ahead > 0 else even
        step = min(wanted + cost, max(even + cost, 0.5 * age)) / _FINE
        age += max(step, 1e-6 * even)
        ages.append(age)
    return np.array(ages)


def _coarse(law: SystemLifetime, cost: float, restart: float, even: float) -> Floats:
    """Return the ages at which checkpoints end, by dynamic programming on the grid."""
    ages = _grid(law, cost, restart, even)
    sf = law.sf(ages)
    best, onward = np.zeros(len(ages)), np.zeros(len(ages), dtype=np.int64)
    ahead = 12 * _FINE
    for k in range(len(ages) - 2, -1, -1):
        part = slice(k + 1, k + 1 + ahead)
        worth = (ages[part] - ages[k] - cost) * sf[part] + best[part]
        place = int(np.argmax(worth))
        if worth[place] > 0:
            best[k], onward[k] = worth[place], k + 1 + place
    path, at = [], int(onward[0])
    while at:
        path.append(at)
        at = int(onward[at])
    return ages[path]


def _relaxed(law: SystemLifetime, cost: float, restart: float, places: Floats) -> Floats:
    """Move every other checkpoint to the root of its condition between its neighbours, in turns:
    slow, but it cannot fail."""
    places = places.copy()
    for turn in range(8):
        mine = np.arange(turn % 2, len(places), 2)
        left = np.where(mine > 0, places[mine - 1], restart)
        right = np.append(places, np.inf)[mine + 1]
        after = np.append(law.sf(places), 0.0)[mine + 1]
        low, high = left + cost, np.where(np.isfinite(right), right - cost, 2 * places[mine])
        for _ in range(40):
            middle = 0.5 * (low + high)
            sf = law.sf(middle)
            rising = sf - (middle - left - cost) * law.hazard(middle) * sf - after > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        places[mine] = 0.5 * (low + high)
    return places


def _polished(law: SystemLifetime, cost: float, restart: float, places: Floats) -> Floats:
    """Solve the conditions of all checkpoints, sf(t_i) - sf(t_(i+1)) = work_i pdf(t_i), by Newton's
    method for a tridiagonal system; steps are halved until the reward does not fall."""

    def reward(t: Floats) -> float:
        work = np.diff(t, prepend=restart) - cost
        return float(work @ law.sf(t)) if bool(np.all(work > 0)) else -math.inf

    best = reward(places)
    for _ in range(40):
        work = np.diff(places, prepend=restart) - cost
        sf, hazard = law.sf(places), law.hazard(places)
        nudge = 1e-5 * np.minimum(places, work)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.log(law.hazard(places + nudge) / law.hazard(places - nudge)) / (2 * nudge)
        if not bool(np.all(np.isfinite(slope) & (hazard > 0))):
            break  # a density that jumps: the slower way must do
        follow = np.exp(np.append(np.diff(law.log_sf(places)), -np.inf))  # sf(t_(i+1)) / sf(t_i)
        error = (1 - follow) / hazard - work
        bands = np.zeros((3, len(places)))
        bands[1] = -2 - (1 - follow) / hazard * (slope - hazard)
        bands[0, 1:] = (follow * np.append(hazard[1:], 0.0) / hazard)[:-1]
        bands[2, :-1] = 1.0
        step = linalg.solve_banded((1, 1), bands, -error)
        size = 1.0
        while size > 1e-6 and not reward(places + size * step) >= best:
            size *= 0.5
        if size <= 1e-6:
            break
        places = places + size * step
        gained, best = reward(places) - best, reward(places)
        if gained <= 1e-15 * best and float(np.max(np.abs(step) * sf)) < 1e-12 * places[-1]:
            break
    return places
