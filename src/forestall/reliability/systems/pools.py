"""A pool of spares with repair: so many that no job waits for a node.

N nodes work; each failure takes a spare at once, and the failed node comes back to the pool after
its repair, or not at all. The pool is short while more nodes are down than it has spares.

- Poisson bound: failures come at N r. Without repair the number of failures in a mission of length
  T is Poisson(N r T). With repair the number of nodes down at any moment is Poisson(N r D) in
  steady state, for repairs of any law with mean D (an M/G/infinity queue): while the pool is short
  fewer nodes work and fail, so it errs towards more spares.
- Birth-death: the same chain with its true rates, exponential lives and repairs: its steady state,
  its state at a time, and the probability that it is never short in a whole mission.
- Renewal counts: failures of N places in T for any law of lives, each place renewed at its own
  failures: exact without repair, for new nodes and in steady state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import pdtr

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.systems.systems import Age, log_survival

_GRID = 4096
_TINY = 1e-15
MOST_SPARES = 1_000_000


@dataclass(frozen=True)
class Pool:
    """Working nodes, their failures and repairs, all in one unit of time.

    Parameters
    ----------
    nodes : working nodes, N
    rate : failures of a working node per unit of time, r
    repair : mean time until a failed node is a spare again; None: it does not come back
    spares_fail : whether spares fail at the same rate while they wait
    """

    nodes: int
    rate: float
    repair: float | None = None
    spares_fail: bool = False

    def __post_init__(self) -> None:
        if not (self.nodes >= 1 and self.nodes == int(self.nodes)):
            raise ParameterError("nodes", self.nodes, "a whole number of at least 1")
        if not (self.rate >= 0 and math.isfinite(self.rate)):
            raise ParameterError("rate", self.rate, "a finite number of at least 0")
        if self.repair is not None and not (self.repair > 0 and math.isfinite(self.repair)):
            raise ParameterError("repair", self.repair, "a finite time above 0")

    def down(self, mission: float) -> float:
        """Return the mean number of nodes that are down, had the pool no end."""
        if self.repair is None:
            return self.nodes * self.rate * mission
        return self.nodes * self.rate * self.repair

    def bound(self, spares: int, mission: float) -> float:
        """Return the Poisson bound for the probability that the pool is not short.

        Over the mission without repair; at any one moment with it.
        """
        return float(pdtr(spares, self.down(mission)))

    def steady(self, spares: int) -> float:
        """Return the share of time in which the pool is not short, by the birth-death chain."""
        if self.repair is None:
            return 0.0 if self.rate > 0 else 1.0
        births, deaths = self._rates(spares, self.nodes + spares)
        with np.errstate(divide="ignore"):
            logs = np.concatenate(([0.0], np.cumsum(np.log(births[:-1]) - np.log(deaths[1:]))))
        weights = np.exp(logs - logs.max())
        return float(weights[: spares + 1].sum() / weights.sum())

    def at(self, spares: int, time: float) -> float:
        """Return the probability that the pool, whole at time 0, is not short at `time`."""
        # No more than this many are ever down, but for a probability that cannot be seen.
        far = min(self.nodes + spares, spares + 40 + int(4 * self.down(time)))
        return float(self._after(spares, far, time)[: spares + 1].sum())

    def never_short(self, spares: int, mission: float) -> float:
        """Return the probability that the pool, whole at time 0, is never short in the mission."""
        return float(self._after(spares, spares, mission).sum())

    def _rates(self, spares: int, last: int) -> tuple[Floats, Floats]:
        """Return rates of one more and of one less node down, for 0 to `last` of them down."""
        k = np.arange(last + 1)
        if self.spares_fail:
            failing = np.maximum(self.nodes + spares - k, 0)
        else:
            failing = np.minimum(self.nodes, np.maximum(self.nodes + spares - k, 0))
        deaths = np.zeros(last + 1) if self.repair is None else k / self.repair
        return failing * self.rate, deaths

    def _after(self, spares: int, last: int, time: float) -> Floats:
        """Return the probabilities of 0 to `last` down at `time`; beyond `last` there is no way
        back. By uniformization and repeated squaring: nothing is ever subtracted."""
        births, deaths = self._rates(spares, last)
        total = births + deaths
        fastest = float(total.max())
        if fastest * time == 0:
            whole: Floats = np.eye(last + 1)[0]
            return whole
        doublings = max(0, math.ceil(math.log2(fastest * time)))
        step = time / 2.0**doublings
        jump = np.diag(1 - total / fastest)
        k = np.arange(last)
        jump[k, k + 1] = births[:-1] / fastest
        jump[k + 1, k] = deaths[1:] / fastest
        term = np.eye(last + 1) * math.exp(-fastest * step)
        matrix = term.copy()
        for n in range(1, 30):
            term = term @ jump * (fastest * step / n)
            matrix += term
        for _ in range(doublings):
            matrix = matrix @ matrix
        row: Floats = matrix[0]
        return row


def fewest(reached: Callable[[int], float], target: float, most: int = MOST_SPARES) -> int | None:
    """Return the fewest spares with which a growing probability reaches the target.

    None where `most` spares do not. Raises ParameterError for a target outside (0, 1).
    """
    if not 0 < target < 1:
        raise ParameterError("target", target, "a probability between 0 and 1, such as 0.99")
    low, high = 0, 1
    if reached(0) >= target:
        return 0
    if most < 1:
        return None
    while reached(high) < target:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if reached(middle) >= target:
            high = middle
        else:
            low = middle
    return high


def spares_of_pool(pool: Pool, target: float, mission: float) -> int | None:
    """Return the spares that the Poisson bound asks for.

    >>> pool = Pool(512, 6.5 / 1000)  # per node-day
    >>> spares_of_pool(pool, 0.99, 7.0), spares_of_pool(pool, 0.99, 30.0)
    (35, 124)
    """
    return fewest(lambda spares: pool.bound(spares, mission), target)


def failures_of_place(law: Lifetime, time: float, age: Age = "new", most: int = _GRID) -> Floats:
    """Return the probabilities of 0, 1, 2, ... failures in [0, time] of one place.

    The place has a node of that age at time 0 and gets a new one at each failure. Convolution on a
    grid of 4,096 cells, of second order; ends where the rest is below 1e-15. With `most` the last
    one stands for more failures than that too.
    """
    if not (time > 0 and math.isfinite(time)):
        raise ParameterError("time", time, "a finite time above 0")
    edges = np.linspace(0.0, time, _GRID + 1)
    mass = np.diff(law.cdf(edges))
    size = 2 * _GRID
    kernel = np.fft.rfft(mass, size)
    reach = -np.expm1(log_survival(law, edges, age))  # of at least k failures by each edge
    tails = [1.0]
    while reach[-1] > _TINY and len(tails) <= min(most, _GRID):
        tails.append(float(reach[-1]))
        between = 0.5 * (reach[1:] + reach[:-1])
        nexts = np.fft.irfft(kernel * np.fft.rfft(between, size), size)[:_GRID]
        reach = np.concatenate(([0.0], np.clip(nexts, 0.0, reach[1:])))
    out: Floats = np.array(tails) - np.append(tails[1:], 0.0)
    return out


def failures_of_pool(law: Lifetime, nodes: int, time: float, age: Age = "new") -> Floats:
    """Return the probabilities of 0, 1, 2, ... failures of `nodes` such places in [0, time].

    The sum of independent counts, through a Fourier transform of their law; errors below 1e-12.
    """
    one = failures_of_place(law, time, age)
    k = np.arange(len(one))
    mean = nodes * float(k @ one)
    spread = math.sqrt(max(nodes * float(k**2 @ one) - mean**2 / nodes, mean, 1.0))
    size = 2 ** math.ceil(math.log2(mean + 12 * spread + len(one) + 32))
    whole = np.fft.irfft(np.fft.rfft(one, size) ** nodes, size)
    return np.maximum(whole, 0.0)
