"""How often to checkpoint: the closed forms, and the interval that is best for any lifetime law.

A checkpoint costs `cost` after every `interval` of work. What counts is the expected completion
time of the job, or, for a job long beside the times between failures, the efficiency: work done
over time spent. With a renewal at each failure it is, by the renewal-reward theorem,

    interval * sum over j >= 1 of sf(restart + j (interval + cost)) / (mttf + downtime).

Sources: Young, CACM 17 (1974) 530; Daly, Future Generation Computer Systems 22 (2006) 303-312,
Equations 20 and 37; Hacker and Meglicki, HPDC 2007, Section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.completion import (
    MOST_SEGMENTS,
    assumes,
    stretches_along,
    stretches_at,
)
from forestall.reliability.checkpoints.completion_grid import Stretch
from forestall.reliability.checkpoints.segments import CheckpointPlan, waste
from forestall.reliability.lifetimes.base import Lifetime
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

Efficiency = Callable[[float], float]

MOST_CHECKPOINTS = 1e9
_TERMS = 256
_GOLDEN = (math.sqrt(5) - 1) / 2


def young(cost: float, mttf: float) -> float:
    """Return Young's interval, sqrt(2 cost mttf)."""
    return math.sqrt(2 * cost * mttf)


def daly_first_order(cost: float, mttf: float) -> float | None:
    """Return Daly's first-order interval, sqrt(2 cost mttf) - cost; None unless cost < mttf / 2."""
    return math.sqrt(2 * cost * mttf) - cost if cost < mttf / 2 else None


def daly(cost: float, mttf: float) -> float:
    """Return Daly's higher-order interval (Equation 37); `mttf` for cost >= 2 mttf.

    >>> [round(daly(5.0, 60 * hours), 2) for hours in (24, 6, 0.25)]
    [116.69, 56.71, 9.14]
    """
    if cost >= 2 * mttf:
        return mttf
    ratio = cost / (2 * mttf)
    return math.sqrt(2 * cost * mttf) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - cost


def nodes_for_interval(
    interval: float, cost: float, mttf: float, shape: float = 1.0, *, as_published: bool = False
) -> float:
    """Return how many nodes have `interval` as their first-order best one, all as new.

    System MTTF = (interval + cost)^2 / (2 cost); N = (MTTF of a node / that)^shape. `as_published`
    takes (interval - cost)^2, as Equation 23 of Hacker and Meglicki does by a slip of sign; for
    the reproduction of their number only.

    >>> round(nodes_for_interval(10.0, 0.25, 100_000.0, 0.7), 2)
    74.86
    """
    for name, value in (("interval", interval), ("cost", cost), ("mttf", mttf), ("shape", shape)):
        if not (value > 0 and math.isfinite(value)):
            raise ParameterError(name, value, "a finite number above 0")
    needed = (interval - cost if as_published else interval + cost) ** 2 / (2 * cost)
    if not needed > 0:
        raise ParameterError("interval", interval, "a time other than the cost")
    return float((mttf / needed) ** shape)


def long_run_efficiency(
    law: SystemLifetime,
    interval: npt.ArrayLike,
    cost: float,
    restart: float = 0.0,
    downtime: float = 0.0,
) -> Floats:
    """Return work done over time spent by a job without end; shape of `interval`.

    `law` is the time from a failure to the next. For the exponential it is Daly's interval / (M +
    downtime) exp(-restart / M) / (exp((interval + cost) / M) - 1). The first 256 terms of the sum
    are added, the rest is the integral with the corrections of Euler and Maclaurin.
    """
    work = np.asarray(interval, dtype=np.float64)
    period = work + cost
    times = restart + period[..., None] * np.arange(1, _TERMS + 1)
    begin = restart + period * (_TERMS + 1)
    last = law.sf(begin)
    with np.errstate(invalid="ignore"):
        slope = np.where(last > 0, period * law.hazard(begin) * last, 0.0)
    rest = law.integral.beyond(begin) / period + last / 2 + slope / 12
    reward = work * (law.sf(times).sum(axis=-1) + rest)
    return np.asarray(reward / (law.mean() + downtime))


def best_long_run(
    law: SystemLifetime, cost: float, restart: float = 0.0, downtime: float = 0.0
) -> float:
    """Return the interval of the highest `long_run_efficiency`; ParameterError without a mean, and
    where even the highest is 0."""
    mean = law.mean()
    if not math.isfinite(mean):
        raise ParameterError("lifetime", str(law.lifetime), "a law with a finite mean")
    guess = daly(cost, mean)
    low, high = min(guess, 1e-3 * mean) * 1e-2, max(guess, float(law.quantile(0.999))) * 4
    tries = np.geomspace(low, high, 240)
    values = long_run_efficiency(law, tries, cost, restart, downtime)
    place = int(np.argmax(values))
    if not values[place] > 0:
        raise _never_finished(cost)
    around = tries[max(0, place - 1)], tries[min(len(tries) - 1, place + 1)]
    return _highest(
        lambda log: float(long_run_efficiency(law, math.exp(log), cost, restart, downtime)),
        math.log(around[0]),
        math.log(around[1]),
    )


def _never_finished(cost: float) -> ParameterError:
    allowed = "less, or rarer failures: practically no checkpoint would be finished between two"
    return ParameterError("cost", cost, allowed)


def _highest(value: Callable[[float], float], low: float, high: float) -> float:
    """Return exp of the place of the maximum, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    while high - low > 1e-7:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = value(right)
    return math.exp(0.5 * (low + high))


def mean_completion(
    plan: CheckpointPlan, system: SystemLifetime, clock: FailureClock | None = None
) -> float:
    """Return the mean completion time of a job; inf where it cannot end. Quicker than its law."""
    if system.rate is None and not carried(system):
        return plan.unhindered + waste(plan, system, system.after_failure()).mean
    if system.rate is not None:
        return _mean_of(plan, stretches_at(plan, system.rate))
    return mean_completion_along(plan, clock or FailureClock(system, 4 * plan.unhindered))


def mean_completion_along(plan: CheckpointPlan, clock: FailureClock) -> float:
    """Return the mean completion time of a job whose failures come as a clock has them."""
    return _mean_of(plan, stretches_along(plan, clock))


def _mean_of(plan: CheckpointPlan, stretches: list[Stretch]) -> float:
    total = 0.0
    with np.errstate(over="ignore"):
        for law, length, count in stretches:
            mean = law.mean()
            total += (
                count
                * float(np.exp(plan.restart / mean) * np.expm1(length / mean))
                * (mean + plan.mean_downtime)
            )
    return total


class ChosenInterval(NamedTuple):
    """An interval and what it comes to.

    `overhead` is expected time over work, less 1; `ratio` its length over the best interval's;
    `loss` how much longer the job takes than with that, less 1.
    """

    name: str
    interval: float
    efficiency: float
    overhead: float
    ratio: float
    loss: float


@dataclass(frozen=True)
class CheckpointInterval:
    """Checkpoint intervals of one system, in the unit of what was given.

    Attributes
    ----------
    mttf : the system's mean time between failures, which the closed forms take
    assumes : in words, what is assumed about node ages and the length of the job
    choices : Young, Daly first order (where it exists), Daly, optimal
    plan : the job, with the best interval, where a work length was given
    system : law of the nodes' failures
    """

    mttf: float
    assumes: str
    choices: tuple[ChosenInterval, ...]
    system: SystemLifetime
    plan: CheckpointPlan | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{one.name}={one.interval:.6g}" for one in self.choices)
        return f"CheckpointInterval({told}, mttf={self.mttf:.6g}, efficiency={self.efficiency:.4g})"

    def choice(self, name: str) -> ChosenInterval | None:
        """Return the interval of that name, None where it does not exist."""
        return next((one for one in self.choices if one.name == name), None)

    def _interval(self, name: str) -> float:
        found = self.choice(name)
        return math.nan if found is None else found.interval

    @property
    def young(self) -> float:
        """Young's interval."""
        return self._interval("young")

    @property
    def daly_first(self) -> float:
        """Daly's first-order interval, nan where the cost is half the MTTF or more."""
        return self._interval("daly_first")

    @property
    def daly(self) -> float:
        """Daly's higher-order interval."""
        return self._interval("daly")

    @property
    def optimal(self) -> float:
        """The interval of the least expected completion time."""
        return self._interval("optimal")

    @property
    def efficiency(self) -> float:
        """Work over expected time with the best interval."""
        return self.choices[-1].efficiency

    def table(self) -> pl.DataFrame:
        """Return the choices as a Polars table."""
        return pl.DataFrame([one._asdict() for one in self.choices])


def checkpoint_interval(
    mttf: float | str | Lifetime | Fitted | None = None,
    cost: float | str = 0.0,
    *,
    shape: float = 1.0,
    nodes: int = 1,
    lifetime: Lifetime | Fitted | None = None,
    ages: Age | str = "steady",
    restart: float | str = 0.0,
    downtime: float | str = 0.0,
    work: float | str | None = None,
) -> CheckpointInterval:
    """Return how often to checkpoint: closed forms, the optimum, and what each of them comes to.

    Times are numbers, in seconds or all in one other unit, or text such as ``1-12:00:00``.

    Parameters
    ----------
    mttf, shape : mean life of one node and its Weibull shape (1: exponential)
    cost : time of a checkpoint, above 0
    nodes : how many nodes; the job fails when one of them does
    lifetime : the distribution of one node's lifetime, a `Lifetime` or something fitted, instead
        of `mttf` and `shape`
    ages : ``steady``: a machine long in use, only the failed node is renewed (one node: it is as
        new after every failure); ``new``: all nodes are renewed at each failure; a time: the age of
    the nodes at the start, and only failed ones are renewed. Closed forms then take the
        long-run mean time between failures, and the optimum the rate of the job's time
    restart : time to read a checkpoint back; the system can fail meanwhile
    downtime : from a failure to the restart
    work : length of the job without failures and checkpoints; None: long. The optimum then
        divides it into like parts

    Raises ParameterError.

    >>> best = checkpoint_interval("4d", "5m")
    >>> round(best.young), round(best.daly), round(best.optimal)
    (14400, 14201, 14201)
    """
    system = system_of(mttf, shape, nodes, lifetime, ages)
    pause = seconds(restart, "restart"), seconds(downtime, "downtime")
    price = seconds(cost, "cost")
    if not (price > 0 and math.isfinite(price)):
        raise ParameterError("cost", cost, "a time above 0")
    for name, value in zip(("restart", "downtime"), pause, strict=True):
        if not (value >= 0 and math.isfinite(value)):
            raise ParameterError(name, value, "a time of at least 0")
    whole = system.lifetime.mean()
    if not math.isfinite(whole):
        raise ParameterError("lifetime", str(system.lifetime), "a law with a finite mean")
    mean = system.mean() if system.ages == "new" else whole / system.nodes
    said = assumes(system)
    plan = None
    if work is None:
        if carried(system):
            system, said = _as_now(system), "failure rate of nodes of the given ages, for ever"
        best, efficiency = _for_long(system, price, *pause)
    else:
        whole_work = seconds(work, "work")
        best, efficiency = _for_work(CheckpointPlan(whole_work, math.inf, price, *pause), system)
        if whole_work / best > MOST_CHECKPOINTS:
            raise _never_finished(price)
        plan = CheckpointPlan(whole_work, best, price, *pause)
    most = efficiency(best)
    named = {
        "young": young(price, mean),
        "daly_first": daly_first_order(price, mean),
        "daly": daly(price, mean),
        "optimal": best,
    }
    choices = tuple(
        _choice(name, interval, efficiency(interval), best, most)
        for name, interval in named.items()
        if interval is not None
    )
    return CheckpointInterval(mean, said, choices, system, plan)


def _choice(
    name: str, interval: float, efficiency: float, best: float, most: float
) -> ChosenInterval:
    if efficiency == 0:
        return ChosenInterval(name, interval, 0.0, math.inf, interval / best, math.inf)
    return ChosenInterval(
        name,
        interval,
        efficiency,
        1 / efficiency - 1,
        interval / best,
        max(0.0, most / efficiency - 1),
    )


def _as_now(system: SystemLifetime) -> SystemLifetime:
    """Return the system of constant rate that nodes of these ages have now."""
    rate = float(system.hazard(0.0))
    if not 0 < rate < math.inf:
        allowed = "new, steady, an age at which the failure rate is above 0 and bounded, or a work"
        raise ParameterError("ages", system.ages, allowed)
    return SystemLifetime(law_of("exponential", scale=system.nodes / rate), system.nodes)


def _for_long(
    system: SystemLifetime, cost: float, restart: float, downtime: float
) -> tuple[float, Efficiency]:
    """Return the best interval of a job without end, and the efficiency as a function."""
    law = system.after_failure()

    def value(interval: float) -> float:
        return float(long_run_efficiency(law, interval, cost, restart, downtime))

    return best_long_run(law, cost, restart, downtime), value


def _for_work(plan: CheckpointPlan, system: SystemLifetime) -> tuple[float, Efficiency]:
    """Return the best interval of a job of given length, and the efficiency as a function; with
    thousands of checkpoints those of a job without end."""
    clock = FailureClock(system, 4 * plan.unhindered) if carried(system) else None
    alike = system if clock is None else _long_run(system, clock, plan.work)
    near, for_long = _for_long(alike, plan.cost, plan.restart, plan.mean_downtime)
    if system.rate is None and clock is None and plan.work / near > MOST_SEGMENTS / 8:
        return near, for_long
    known: dict[int, float] = {}

    def value(interval: float) -> float:
        tried = CheckpointPlan(plan.work, interval, plan.cost, plan.restart, plan.downtime)
        return plan.work / mean_completion(tried, system, clock)

    def by_count(count: int) -> float:
        if count not in known:
            known[count] = value(plan.work / count)
        return known[count]

    guess = max(1, round(plan.work / near))
    low, high = max(1, guess // 2 - 1), 2 * guess + 2
    while clock is not None and by_count(high) > by_count(max(low, high // 2)):
        low, high = high // 2, 2 * high
    while high - low > 2:
        third = max(1, round((high - low) * (1 - _GOLDEN)))
        left, right = low + third, high - third
        if left >= right:
            left, right = (low + high) // 2, (low + high) // 2 + 1
        if by_count(left) >= by_count(right):
            high = right
        else:
            low = left
    best = max(range(low, high + 1), key=by_count)
    best = 1 if by_count(1) >= by_count(best) else best
    return plan.work / best, value


def _long_run(system: SystemLifetime, clock: FailureClock, work: float) -> SystemLifetime:
    rate = float(clock.failures(work)) / work
    return SystemLifetime(law_of("exponential", scale=1 / rate))
