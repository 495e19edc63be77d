"""How long a job takes that fails, restarts and goes on from its last checkpoint: the whole
distribution, so that a deadline can be promised with a probability.

Three ways, by what is said about node ages:

- all nodes renewed at each failure, or each failed node alone in a machine long in use: the times
  between failures are like draws; renewal equations over (checkpoints taken, time), on a grid.
  In a machine long in use their law is exact, sf(t) sf_e(t)^(N-1); that they are independent of
  each other is not, but for one node or very many. It is good to 0.5 % for shapes around 0.7
  (`benchmarks/completion.py`).
- a constant failure rate: the segments of work are independent; their transforms are multiplied.
- nodes of given ages that are carried along: with a generator of random numbers, by simulation
  (`forestall.reliability.checkpoints.completion_simulated`, which is also the check on all the
  others). Without
  one, an approximation for many nodes: their failures come as a Poisson process whose rate follows
  the ages, and each stretch of work gets the rate of its expected time. Its mean is good, its
  spread less so.

Sources: Daly, Future Generation Computer Systems 22 (2006) 303-312, for the exponential mean;
Cox, Renewal Theory, 1962.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.completion_grid import (
    Grid,
    Stretch,
    with_memory,
    without_memory,
)
from forestall.reliability.checkpoints.completion_simulated import RUNS, simulate_completion
from forestall.reliability.checkpoints.segments import Attempt, CheckpointPlan, waste
from forestall.reliability.lifetimes.base import Lifetime, law_in
from forestall.reliability.lifetimes.registry import lifetime as law_of
from forestall.reliability.systems.ageing import (
    FailureClock,
    SystemLifetime,
    carried,
    seconds,
    system_of,
)

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.reliability.fits.estimate import Fitted
    from forestall.reliability.systems.systems import Age


MOST_SEGMENTS = 1 << 13
"""Checkpoints of a job whose system is not memoryless."""
CELLS = 1 << 22
"""Cells of the grid over segments and times."""
ROUNDING = 1e-7
"""Bound on the rounding and wrapping of the transforms."""


@dataclass(frozen=True)
class CompletionTime:
    """The law of a job's completion time.

    Attributes
    ----------
    plan : the job and its checkpoints
    assumes : what is assumed about node ages
    method : how the distribution was computed
    error : how far `cdf` may be off: from three step sizes; of a simulation with 95 % confidence;
        nan for the approximation
    unhindered : the time where nothing fails
    no_failure : the probability of that
    """

    plan: CheckpointPlan
    assumes: str
    method: str
    error: float
    no_failure: float
    _mean: float
    _variance: float
    _once: Callable[[Floats], Floats] = field(repr=False)
    _step: float = field(repr=False)
    _below: Floats = field(repr=False)
    _from: float = field(default=0.0, repr=False)

    def __repr__(self) -> str:
        told = f"work={self.plan.work:.6g}, mean={self.mean():.6g}, sd={self.sd():.6g}"
        return f"CompletionTime({told}, method={self.method!r})"

    @property
    def unhindered(self) -> float:
        """The time where nothing fails: work and checkpoints."""
        return self.plan.unhindered

    @property
    def finishes(self) -> bool:
        """Whether the job ever ends: False where no attempt can reach the next checkpoint."""
        return math.isfinite(self._mean)

    def mean(self) -> float:
        """Return the mean; inf for a job that never ends."""
        return self.unhindered + self._mean

    def sd(self) -> float:
        """Return the standard deviation."""
        return math.sqrt(self._variance)

    @property
    def efficiency(self) -> float:
        """Work over mean time."""
        return self.plan.work / self.mean()

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability to have ended by `t`."""
        late = np.asarray(t, dtype=np.float64) - self.unhindered
        late = np.where(late >= -1e-12 * self.unhindered, np.maximum(late, 0.0), -1.0)
        known = self.no_failure + self._once(np.maximum(late, 0.0)) + self._more(late)
        return np.where(late < 0, 0.0, np.minimum(known, 1.0))

    def sf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability to need longer than `t`."""
        return 1 - self.cdf(t)

    def _more(self, late: Floats) -> Floats:
        if len(self._below) == 0:
            return np.zeros(late.shape)
        edges = np.concatenate([[0.0], (np.arange(len(self._below)) + 0.5) * self._step])
        edges += self._from
        return np.asarray(np.interp(late, edges, np.concatenate([[0.0], self._below])))

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """Return the time by which the job has ended with probability `p`, below 1 - 1e-6.

        inf where the job ends with a smaller probability.
        """
        share = np.asarray(p, dtype=np.float64)
        if not bool(np.all((share >= 0) & (share <= 1 - 1e-6))):
            raise ParameterError("p", p, "a probability from 0 to 0.999999")
        reach = max(
            self._from + self._step * (len(self._below) + 1),
            2 * (self.plan.period + self.plan.pause),
        )
        low, high = np.zeros(share.shape), np.full(share.shape, reach)
        never = self.cdf(self.unhindered + high) < share
        for _ in range(60):
            middle = 0.5 * (low + high)
            early = self.cdf(self.unhindered + middle) < share
            low, high = np.where(early, middle, low), np.where(early, high, middle)
        found = self.unhindered + np.where(self.no_failure >= share, 0.0, high)
        return np.where(never, np.inf, found)

    def promise(self, p: float) -> float:
        """Return the deadline, from the start of the job, that is kept with probability `p`."""
        return float(self.quantile(p))

    def table(self, probabilities: npt.ArrayLike = (0.5, 0.9, 0.95, 0.99)) -> pl.DataFrame:
        """Return a table of promises: probability, deadline, and its ratio to the work."""
        share = np.atleast_1d(np.asarray(probabilities, dtype=np.float64))
        times = self.quantile(share)
        return pl.DataFrame(
            {"probability": share, "deadline": times, "times_work": times / self.plan.work}
        )


def completion_time(
    work: float | str,
    mttf: float | str | Lifetime | Fitted,
    *,
    shape: float = 1.0,
    nodes: int = 1,
    ages: Age | str = "steady",
    interval: float | str | None = None,
    cost: float | str = 0.0,
    restart: float | str = 0.0,
    downtime: float | str | Lifetime | Fitted = 0.0,
    rng: np.random.Generator | None = None,
) -> CompletionTime:
    """Return the distribution of the completion time of a job under failures, checkpoints and
    restarts.

    Times are numbers, in seconds or all in one other unit, or text such as ``1-12:00:00``.

    Parameters
    ----------
    work : run time without failures and checkpoints
    mttf : mean life of one node; or its law, a `Lifetime` or something fitted
    shape : Weibull shape of a node's life where its mean is given; 1 is exponential
    nodes : how many nodes the job needs; it fails when one of them does
    ages : ``steady``: a machine long in use, in which only the failed node is renewed; ``new``: all
        nodes are new at the start and after each failure; a time: the age of
    the nodes at the start, and only failed ones are renewed
    interval : work between checkpoints; None for none
    cost : time of a checkpoint
    restart : time to read a checkpoint back; the system can fail meanwhile
    downtime : from a failure to the restart, nothing ages meanwhile; or the law of repair times
    rng : for nodes of given ages: simulate 200,000 runs, rather than approximate

    Raises ParameterError. A job that cannot end has `finishes` False and the mean inf.

    >>> job = completion_time(48.0, 100.0, interval=4.0, cost=0.1, restart=0.1)
    >>> round(job.mean(), 3), round(job.promise(0.9), 1)
    (50.169, 52.8)
    """
    system = system_of(mttf, shape, nodes, None, ages)
    repair = law_in(downtime)
    down = seconds(downtime, "downtime") if repair is None else repair  # type: ignore[arg-type]
    plan = CheckpointPlan(
        work=seconds(work, "work"),
        interval=math.inf if interval is None else seconds(interval, "interval"),
        cost=seconds(cost, "cost"),
        restart=seconds(restart, "restart"),
        downtime=down,
    )
    if rng is not None and carried(system):
        return _simulated(plan, system, rng)
    return completion_of(plan, system)


def _simulated(
    plan: CheckpointPlan, system: SystemLifetime, rng: np.random.Generator
) -> CompletionTime:
    found = simulate_completion(plan, system, RUNS, rng)
    late = found.times - plan.unhindered
    step = float(late.max()) / 4096 or 1.0
    middles = (np.arange(4097) + 0.5) * step
    none = float((found.failures == 0).mean())
    late.sort()
    below = np.searchsorted(late, middles, side="right") / RUNS - none
    error = 1.36 / math.sqrt(RUNS)  # Dvoretzky, Kiefer, Wolfowitz, Massart
    method = f"{RUNS} simulated runs"
    mean, variance = float(late.mean()), float(late.var())
    return CompletionTime(
        plan, assumes(system), method, error, none, mean, variance, np.zeros_like, step, below
    )


def assumes(system: SystemLifetime) -> str:
    """Return in words what is assumed about node ages."""
    if system.rate is not None:
        return "constant failure rate, whatever the ages of the nodes"
    if system.ages == "new":
        return "all nodes as new at the start and after every failure"
    if system.nodes == 1:
        old = "in use for long" if system.ages == "steady" else "of the given age"
        return f"one node, {old} at the start and as new after every failure"
    if system.ages == "steady":
        return "steady state: a machine long in use, only the failed node is renewed"
    return "nodes of the given ages at the start, carried along; only failed nodes are renewed"


def completion_of(
    plan: CheckpointPlan, system: SystemLifetime, *, points: int = 8192
) -> CompletionTime:
    """Return the distribution of the completion time of a job on a system, on a grid of at most
    `points` points."""
    if system.rate is not None:
        stretches = stretches_at(plan, system.rate)
        return _memoryless(plan, stretches, system, "constant failure rate", points)
    if carried(system):
        method = "approximation: Poisson failures whose rate follows the ages"
        clock = FailureClock(system, 4 * plan.unhindered)
        return _memoryless(plan, stretches_along(plan, clock), system, method, points)
    if plan.segments > MOST_SEGMENTS:
        raise ParameterError(
            "interval", plan.interval, f"at most {MOST_SEGMENTS} checkpoints where failures "
            "are not exponential"
        )  # fmt: skip
    first, later = system, system.after_failure()
    mean, variance = waste(plan, first, later)
    begin, again = Attempt(plan, first, 0.0), Attempt(plan, later, plan.restart)
    left = plan.segments - np.arange(plan.segments)
    onward = again.through(left)
    ends = begin.ends(last=False)
    ends[-1] = begin.ends(last=True)[-1]
    width = ends - begin.start

    def once(late: Floats) -> Floats:
        if plan.repair is not None:
            return np.zeros(late.shape)
        spent = np.asarray(late - plan.pause)[..., None]
        reached = first.cdf(begin.start + np.clip(spent, 0.0, width))
        return np.maximum(reached - first.cdf(begin.start), 0.0) @ onward

    size = int(2 ** math.floor(math.log2(min(points, max(1024, CELLS // plan.segments)))))
    begins, step, below, error = _on_grid(
        plan, mean, variance, size, lambda grid: with_memory(plan, first, later, grid)
    )
    none = float(begin.through(plan.segments))
    method = "renewal equations on a grid"
    return CompletionTime(
        plan, assumes(system), method, error, none, mean, variance, once, step, below, begins
    )


def _memoryless(
    plan: CheckpointPlan, stretches: list[Stretch], system: SystemLifetime, method: str, points: int
) -> CompletionTime:
    mean = variance = 0.0
    for law, length, count in stretches:
        single = CheckpointPlan(length, math.inf, 0.0, plan.restart, plan.downtime)
        one = waste(single, law, law)
        mean, variance = mean + count * one.mean, variance + count * one.variance
    rates = np.array([one.law.rate for one in stretches])
    lengths = np.array([one.length for one in stretches])
    counts = np.array([one.repeats for one in stretches], dtype=np.float64)
    none = math.exp(-float(rates @ (lengths * counts)))

    def once(late: Floats) -> Floats:
        if plan.repair is not None:
            return np.zeros(late.shape)
        spent = np.clip(np.asarray(late - plan.pause)[..., None], 0.0, lengths)
        return none * (-np.expm1(-rates * spent) @ (counts * np.exp(-rates * plan.restart)))

    begins, step, below, error = _on_grid(
        plan, mean, variance, points, lambda grid: without_memory(plan, stretches, grid)
    )
    if carried(system):
        error = math.nan
    return CompletionTime(
        plan, assumes(system), method, error, none, mean, variance, once, step, below, begins
    )


def _on_grid(
    plan: CheckpointPlan,
    mean: float,
    variance: float,
    size: int,
    masses: Callable[[Grid], Floats],
) -> tuple[float, float, Floats, float]:
    """Return begin and step of a grid, distribution at the middles of its cells, and its error.

    Three steps, each twice the one before, tell the order of the error where it is largest (2; 1
    where single losses are shorter than a step); what they foretell is taken off, and the error
    that is left is how much the same correction differs one step higher.
    """
    if not math.isfinite(mean + variance) or mean == 0:
        return 0.0, 0.0, np.zeros(0), 0.0
    repair = plan.repair
    most = 0.0 if repair is None else repair.mean() + 25 * math.sqrt(repair.variance())
    longest = max(plan.period, plan.last) + plan.pause + plan.restart
    wide = 10 * math.sqrt(variance)
    reach = max(mean + 25 * math.sqrt(variance), 4 * (longest + most))
    step, first = reach / size, 0
    if mean > 1.2 * wide and wide > 2 * (longest + most):  # nearly all of it far from 0
        step = 2 * wide / size
        first = 4 * int((mean - wide) / (4 * step))
    levels = [np.cumsum(masses(Grid(size >> k, step * 2**k, first >> k))) for k in range(3)]
    # Each value is the mean of the distribution over a cell: two fine cells make a coarse one.
    apart = [_paired(fine) - coarse for fine, coarse in pairwise(levels)]
    ratio = float(np.max(np.abs(apart[1])) / max(float(np.max(np.abs(apart[0]))), 1e-300))
    weight = 1 / (min(max(ratio, 2.0), 4.0) - 1)
    better = [level + weight * _spread(gap) for level, gap in zip(levels, apart, strict=False)]
    error = float(np.max(np.abs(_paired(better[0]) - better[1])))
    below = np.clip(np.maximum.accumulate(better[0]), 0.0, 1.0)
    return first * step, step, below, error + ROUNDING


def _paired(fine: Floats) -> Floats:
    return 0.5 * (fine[0::2] + fine[1::2])


def _spread(coarse: Floats) -> Floats:
    """Return values at the middles of cells of half the size."""
    at = np.arange(2 * len(coarse)) / 2 - 0.25
    return np.asarray(np.interp(at, np.arange(len(coarse)), coarse))


def stretches_at(plan: CheckpointPlan, rate: float) -> list[Stretch]:
    """Return the segments of a plan under a constant failure rate."""
    law = SystemLifetime(law_of("exponential", scale=1 / rate))
    whole = [Stretch(law, plan.period, plan.segments - 1)] if plan.segments > 1 else []
    return [*whole, Stretch(law, plan.last, 1)]


def stretches_along(plan: CheckpointPlan, clock: FailureClock) -> list[Stretch]:
    """Return the segments of a plan with the failure rates of when they are expected to be worked
    on."""
    time, done, found = 0.0, 0, []
    while done < plan.segments:
        last = done == plan.segments - 1
        count = 1 if last else min(max(1, done // 8), plan.segments - 1 - done)
        length = plan.last if last else plan.period
        begun = float(clock.failures(time))
        spent = count * length
        for _ in range(8):
            rate = max((float(clock.failures(time + spent)) - begun) / spent, 1e-300)
            load = min(rate * length, 300.0)
            spent = count * math.exp(min(rate * plan.restart, 300.0)) * math.expm1(load) / rate
        law = SystemLifetime(law_of("exponential", scale=1 / rate))
        found.append(Stretch(law, length, count))
        time, done = time + spent, done + count
    return found
