"""Trials with controls: which nodes to act on and for how long, and what came of it.

A record of a machine on which nothing was done cannot say what acting would have brought (Brandt et
al., Section 6, which asks for real-world trials). In a trial one acts on some nodes and leaves
others alone: nodes that failed alike before are paired, and a coin says which of a pair is acted
on. What is compared is a measure of each node and day: failed jobs, or node-hours of failed jobs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtrit

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError

ACT, CONTROL, OUT = 1, 0, -1
"""What is done with a node: acted on, left alone, not in the trial."""
LEAST_PAIRS: Final = 3
CELLS: Final = 2_000_000
"""Signs drawn at a time."""


@dataclass(frozen=True)
class NodeSpread:
    """How a measure varies over nodes and days.

    Attributes
    ----------
    mean : of a node and day
    between : variance over nodes of what they have in the long run
    within : variance of one day of a node around that, such that a mean of T days has within / T
    days : of the record that it was learned from
    """

    mean: float
    between: float
    within: float
    days: int

    @property
    def reliability(self) -> float:
        """The share of the variance of nodes' means in the record that the long run explains."""
        whole = self.between + self.within / self.days
        return self.between / whole if whole > 0 else 0.0

    def of_pair(self, days: float) -> float:
        """Return the variance of the difference of two nodes over so many days that were paired by
        their means in the record: what pairing does not explain, and that of the days."""
        return 2 * (self.between * (1 - self.reliability) + self.within / days)


def spread_of_nodes(measure: Floats) -> NodeSpread:
    """Return how a measure, float64[nodes, days], varies.

    What nodes have in the long run shows in both halves of the record alike: its variance is the
    covariance of the means of the halves. All else is of the days; days of a node that hang
    together are so counted as fewer.
    """
    nodes, days = measure.shape
    if nodes < 2 or days < 2:
        raise ParameterError("days", days, "a record of two days and two nodes or more")
    half = days // 2
    parts = measure[:, :half].mean(axis=1), measure[:, days - half :].mean(axis=1)
    between = max(0.0, float(np.cov(*parts)[0, 1]))
    whole = float(measure.mean(axis=1).var(ddof=1))
    return NodeSpread(float(measure.mean()), between, max(whole - between, 0.0) * days, days)


def _needed(pairs: int, power: float, level: float) -> float:
    """Return how many standard errors an effect must measure."""
    return float(stdtrit(pairs - 1, (1 + level) / 2) + stdtrit(pairs - 1, power))


def days_needed(
    spread: NodeSpread, pairs: int, effect: float, *, power: float = 0.8, level: float = 0.95
) -> float:
    """Return for how many days so many pairs must run to show an effect with this power; inf where
    no time is enough.

    Parameters
    ----------
    effect : share of the measure that acting takes away
    power : chance that a trial shows it
    level : of its two-sided interval
    """
    _shares(effect=effect, power=power, level=level)
    if pairs < 2 or spread.mean <= 0:
        return math.inf
    allowed = pairs * (effect * spread.mean / _needed(pairs, power, level)) ** 2 / 2
    left = allowed - spread.between * (1 - spread.reliability)
    return spread.within / left if left > 0 else math.inf


def least_effect(
    spread: NodeSpread, pairs: int, days: float, *, power: float = 0.8, level: float = 0.95
) -> float:
    """Return the smallest share of the measure that such a trial would show with this power."""
    if pairs < 2 or spread.mean <= 0:
        return math.inf
    error = math.sqrt(spread.of_pair(days) / pairs)
    return _needed(pairs, power, level) * error / spread.mean


def _shares(**given: float) -> None:
    for name, value in given.items():
        if not 0 < value < 1:
            raise ParameterError(name, value, "a number between 0 and 1")


def pair_nodes(measure: Floats, pairs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return what is done with each node, int64[nodes] of ACT, CONTROL and OUT, and its pair (-1:
    none).

    `measure` is float64[nodes], what each node had before. Nodes in its order are paired with their
    neighbours; of more pairs than are wanted those evenly spaced are taken.
    """
    most = len(measure) // 2
    if not 1 <= pairs <= most:
        raise ParameterError("pairs", pairs, f"from 1 to {most:,}")
    order = np.lexsort((rng.random(len(measure)), measure))[: 2 * most].reshape(most, 2)
    taken = order[np.linspace(0, most - 1, pairs).round().astype(np.int64)]
    coin = rng.integers(0, 2, pairs)
    arm, pair = np.full(len(measure), OUT), np.full(len(measure), -1)
    rows = np.arange(pairs)
    arm[taken[rows, coin]], arm[taken[rows, 1 - coin]] = ACT, CONTROL
    pair[taken] = rows[:, None]
    return arm, pair


@dataclass(frozen=True)
class TrialResult:
    """What came of a trial.

    Attributes
    ----------
    acted, control : mean of the measure of a node and day in either arm
    difference, low, high : acted less control, with the interval
    p_value : two-sided, of as large a difference with the arms dealt out anew
    units : pairs, or nodes where they are not paired; paired : whether they are
    """

    acted: float
    control: float
    difference: float
    low: float
    high: float
    p_value: float
    units: int
    paired: bool

    @property
    def effect(self) -> float | None:
        """The share of the measure that acting took away; None where the control has none."""
        return -self.difference / self.control if self.control > 0 else None


def judge_trial(
    measure: Floats,
    arm: Ints,
    pair: Ints,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = 10_000,
) -> TrialResult:
    """Return what came of a trial.

    Parameters
    ----------
    measure : float64[nodes], a node's mean a day while the trial ran
    arm, pair : int64[nodes], as `pair_nodes` returns them; without pairs (all -1) the arms are
        compared as they are
    """
    acted, control = arm == ACT, arm == CONTROL
    if pair[acted | control].min(initial=0) >= 0 and bool((acted | control).any()):
        return _of_pairs(measure, arm, pair, rng, level, draws)
    return _of_arms(measure, acted, control, rng, level, draws)


def _of_pairs(
    measure: Floats, arm: Ints, pair: Ints, rng: np.random.Generator, level: float, draws: int
) -> TrialResult:
    one, two = (_by_pair(arm == side, pair) for side in (ACT, CONTROL))
    if not np.array_equal(pair[one], pair[two]):
        raise ParameterError("pair", "unlike", "one node acted on and one control in each pair")
    gap = measure[one] - measure[two]
    count = len(gap)
    _enough(count, "pairs")
    error = float(gap.std(ddof=1)) / math.sqrt(count)
    exceed = 0
    for begin in range(0, draws, step := max(1, CELLS // count)):
        signs = rng.integers(0, 2, (min(step, draws - begin), count)) * 2 - 1
        exceed += int((np.abs(signs @ gap) >= abs(float(gap.sum())) * (1 - 1e-12)).sum())
    return _result(measure[one], measure[two], error, count - 1, (1 + exceed) / (1 + draws),
                   level, count, True)  # fmt: skip


def _by_pair(nodes: Bools, pair: Ints) -> Ints:
    where = np.flatnonzero(nodes)
    ordered: Ints = where[np.argsort(pair[where], kind="stable")]
    return ordered


def _of_arms(
    measure: Floats,
    acted: Bools,
    control: Bools,
    rng: np.random.Generator,
    level: float,
    draws: int,
) -> TrialResult:
    """Welch's interval, and the arms dealt out anew."""
    one, two = measure[acted], measure[control]
    _enough(min(len(one), len(two)), "nodes in each arm")
    parts = one.var(ddof=1) / len(one), two.var(ddof=1) / len(two)
    error = math.sqrt(sum(parts))
    freedom = (
        error**4 / (parts[0] ** 2 / (len(one) - 1) + parts[1] ** 2 / (len(two) - 1))
        if error > 0
        else 1.0
    )
    both = np.concatenate((one, two))
    told = abs(float(one.mean() - two.mean())) * (1 - 1e-12)
    exceed = 0
    for begin in range(0, draws, step := max(1, CELLS // len(both))):
        rows = min(step, draws - begin)
        mixed = rng.permuted(np.broadcast_to(both, (rows, len(both))), axis=1)
        gaps = mixed[:, : len(one)].mean(axis=1) - mixed[:, len(one) :].mean(axis=1)
        exceed += int((np.abs(gaps) >= told).sum())
    return _result(one, two, error, freedom, (1 + exceed) / (1 + draws), level, len(both), False)


def _enough(count: int, what: str) -> None:
    if count < LEAST_PAIRS:
        raise ParameterError("arms", count, f"at least {LEAST_PAIRS} {what}")


def _result(
    one: Floats,
    two: Floats,
    error: float,
    freedom: float,
    p_value: float,
    level: float,
    units: int,
    are_paired: bool,
) -> TrialResult:
    difference = float(one.mean() - two.mean())
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return TrialResult(
        float(one.mean()), float(two.mean()), difference, difference - half, difference + half,
        p_value, units, are_paired,
    )  # fmt: skip
