"""What claims are tested on, and how findings are worded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import forestall as fs
from studies.kit.means import Mean, Runs
from studies.virtual.inputs import Real
from studies.virtual.network import Foretold
from studies.virtual.study import BEST, BLIND, JOBS, PAPER, RANDOM, REAL, STAYS, USAGE, Cell, Plan

HOLDS, FAILS = "holds", "does not hold"


def points(value: float, digits: int = 2) -> str:
    """Return a difference of shares in percentage points, with a sign."""
    text = f"{100 * value:+.{digits}f}"
    return text.replace("-", "+", 1) if float(text) == 0 else text


def gained(mean: Mean) -> str:
    """Return a difference with its interval."""
    return f"{points(mean.mean)} ({points(mean.low)} to {points(mean.high)})"


def times(rate: float) -> str:
    """Return a failure rate as text."""
    return f"{rate:g}x"


def listed(rates: Sequence[float]) -> str:
    """Return failure rates as a list in words."""
    return ", ".join(times(rate) for rate in rates)


def aware(strategy: str, rate: float, accuracy: float = PAPER, **more: Any) -> Cell:
    """Return the cell of a strategy, which asks for predictions or not; without failures nothing is
    there to move for, and both baselines are one."""
    if rate == 0 and strategy == RANDOM:
        strategy = STAYS
    return Cell(strategy, -1.0 if strategy in BLIND else accuracy, rate).at(**more)


@dataclass(frozen=True)
class Found:
    """What came out.

    Attributes
    ----------
    plan : what was played
    runs : all of them
    real, foretold, jobs : the real failures, what the network said of them, and LANL's jobs, where
        they were played
    """

    plan: Plan
    runs: Runs[Cell]
    real: Real | None = None
    foretold: Foretold | None = None
    jobs: fs.Jobs | None = None

    @property
    def every(self) -> tuple[float, ...]:
        """All rates of failures."""
        return *self.plan.rates, *self.plan.more_rates

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the highest of the grid's rates of failures."""
        return self.plan.rates[0], self.plan.rates[-1]

    def cell(self, strategy: str, rate: float, accuracy: float = PAPER) -> Cell:
        """Return a cell of generated failures at the grid's load."""
        study = "more failures" if rate in self.plan.more_rates else "grid"
        return aware(strategy, rate, accuracy, study=study)

    def gain(
        self, strategy: str, other: str, rate: float, measure: str, accuracy: float = PAPER
    ) -> Mean:
        """Return by how much a strategy is ahead of another at a rate and an accuracy."""
        one, two = self.cell(strategy, rate, accuracy), self.cell(other, rate, accuracy)
        return self.runs.gain(one, two, measure)

    def late(self, strategy: str, rate: float, accuracy: float = PAPER) -> Cell:
        """Return a cell of predictions that may come late; at an accuracy of 1 none does."""
        if accuracy == 1 or strategy in BLIND:
            return self.cell(strategy, rate, accuracy)
        return aware(strategy, rate, accuracy, study="two-sided", error="two-sided")

    @property
    def late_rates(self) -> tuple[float, ...]:
        """The rates at which predictions that may come late were played."""
        return tuple(r for r in self.plan.rates if self.runs.has(self.late(BEST, r)))

    def wide(
        self, strategy: str, rate: float, width: float, load: float, accuracy: float = PAPER
    ) -> Cell:
        """Return a cell of tasks of `width` processors."""
        return aware(strategy, rate, accuracy, study="width", width=width, load=load)

    def logged(self, strategy: str) -> Cell:
        """Return a cell of LANL's own jobs on the real failures."""
        return aware(strategy, 1.0, study=USAGE, failures=REAL, load=-1.0)

    def played(self, rate: float, least: float = 0.0, most: float = 1.0) -> tuple[float, ...]:
        """Return the accuracies from `least` to `most` that were played at a rate."""
        return tuple(
            a
            for a in self.plan.accuracies
            if least <= a <= most and self.runs.has(self.cell(BEST, rate, a))
        )

    def seeds(self) -> int:
        """Return how many seeds the grid has."""
        return self.runs.mean(self.cell(RANDOM, self.plan.rates[0]), JOBS).seeds

    def where(self, ahead: Sequence[float], behind: Sequence[float], rates: Sequence[float]) -> str:
        """Return the verdict of a claim that holds at some of the failure rates, or at none."""
        if len(ahead) == len(rates):
            return HOLDS
        other = f"; the other way round at {listed(behind)}" if behind else ""
        if ahead:
            return f"holds only at {listed(ahead)} the paper's failures{other}"
        if len(behind) == len(rates):
            return f"{FAILS}: it is the other way round at every rate"
        return f"{FAILS}: inconclusive with {self.seeds()} seeds{other}"


def near(rates: Sequence[float], others: Sequence[str] = ()) -> str:
    """Return the verdict of a claim about a size that is reached at these rates, or in other
    cases."""
    cases = [f"at {listed(rates)} the paper's failures"] if rates else []
    return f"holds only {'; '.join([*cases, *others])}" if cases or others else FAILS
