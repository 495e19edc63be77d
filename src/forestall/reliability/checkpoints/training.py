"""Effective training time: the share of a long run's time that goes into its work (ETTR, goodput).

N nodes fail r times a node-day each; a checkpoint takes w and comes after every D of work; a
restart takes u. The usual form is linear in the failure rate, (1 - N r (u + D/2)) / (1 + w/D), with
the best D = sqrt(2 w / (N r)); it falls below 0 for large N. Exact for a constant failure rate, and
always above 0, is the renewal form D N r / (exp(N r u) (exp(N r (D + w)) - 1)), where the restart
can fail too.

Sources: Kokolis et al., arXiv 2410.21680, Section 3; Daly, Future Generation Computer Systems 22
(2006) 303-312.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forestall.core.model.errors import ParameterError
from forestall.reliability.systems.ageing import seconds

DAY = 86_400.0


@dataclass(frozen=True)
class TrainingTime:
    """Effective training time of one size and interval; times in seconds.

    Attributes
    ----------
    nodes : size of the run
    rate : failures of the whole run a second
    checkpoint_cost, restart : w and u
    interval : D, which the two shares are for
    """

    nodes: int
    rate: float
    checkpoint_cost: float
    restart: float
    interval: float

    @property
    def mttf(self) -> float:
        """The mean time between failures of the run."""
        return 1 / self.rate

    @property
    def linear(self) -> float:
        """The linear form; below 0 where a run loses more than it does."""
        lost = self.rate * (self.restart + self.interval / 2)
        return (1 - lost) / (1 + self.checkpoint_cost / self.interval)

    @property
    def exact(self) -> float:
        """The renewal form for a constant failure rate, in (0, 1)."""
        return ettr(self.rate, self.interval, self.checkpoint_cost, self.restart)


def ettr(rate: float, interval: float, cost: float, restart: float) -> float:
    """Return the renewal form of the effective training time, in any one unit of time."""
    load = rate * (interval + cost)
    whole = rate * restart + load
    if whole > 700:
        return rate * interval * math.exp(-min(whole, 1e6)) if whole < 745 else 0.0
    return rate * interval * math.exp(-rate * restart) / math.expm1(load)


def best_linear(rate: float, cost: float) -> float:
    """Return the interval that is best for the linear form to first order, sqrt(2 w / (N r))."""
    return math.sqrt(2 * cost / rate)


def best_exact(rate: float, cost: float) -> float:
    """Return the interval of the highest renewal form, whatever the restart takes.

    With z = log(1 - rate D) it solves z - expm1(z) + rate w = 0; found by bisection.
    """
    load = rate * cost
    low, high = -load - 1.0, 0.0
    for _ in range(120):
        middle = 0.5 * (low + high)
        if middle - math.expm1(middle) + load < 0:
            low = middle
        else:
            high = middle
    return -math.expm1(0.5 * (low + high)) / rate


def training_time(
    nodes: int,
    failures_per_node_day: float,
    checkpoint_cost: float | str,
    restart: float | str = 0.0,
    *,
    interval: float | str | None = None,
) -> TrainingTime:
    """Return the effective training time of a run on `nodes` nodes.

    Times in seconds or as text such as ``5m``. Without `interval` the linear form's best one is
    taken, as usual; `best_exact` gives the other. Raises ParameterError.

    >>> run = training_time(1024, 6.5e-3, "5m", "5m")
    >>> round(run.interval / 60, 1), round(run.linear, 3)
    (46.5, 0.785)
    """
    if not (nodes >= 1 and nodes == int(nodes)):
        raise ParameterError("nodes", nodes, "a whole number of at least 1")
    if not (failures_per_node_day > 0 and math.isfinite(failures_per_node_day)):
        raise ParameterError(
            "failures_per_node_day", failures_per_node_day, "a finite number above 0"
        )
    cost, pause = seconds(checkpoint_cost, "checkpoint_cost"), seconds(restart, "restart")
    for name, value in (("checkpoint_cost", cost), ("restart", pause)):
        if not (value >= 0 and math.isfinite(value)):
            raise ParameterError(name, value, "a finite time of at least 0")
    if interval is None and cost == 0:
        raise ParameterError("checkpoint_cost", checkpoint_cost, "above 0, or an interval")
    rate = nodes * failures_per_node_day / DAY
    every = best_linear(rate, cost) if interval is None else seconds(interval, "interval")
    if not (every > 0 and math.isfinite(every)):
        raise ParameterError("interval", interval, "a finite time above 0")
    return TrainingTime(int(nodes), rate, cost, pause, every)
