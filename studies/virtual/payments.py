"""Where each strategy begins to pay, and what failures can cost at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from studies.kit.means import Mean
from studies.virtual.found import Found
from studies.virtual.inputs import PROCESSORS
from studies.virtual.study import BASELINES, RANDOM, STRATEGIES, Cell


@dataclass(frozen=True)
class Payment:
    """What a strategy gains over random-select at a rate, beside what chance hides.

    Attributes
    ----------
    strategy, rate, measure : of what; predictions of the paper's accuracy
    gain : over random-select that migrates, paired
    noise : deviation of random-select's own rate from seed to seed, that is, from year to year
    """

    strategy: str
    rate: float
    measure: str
    gain: Mean
    noise: float

    @property
    def clear(self) -> bool:
        """Whether the paired gain is above 0 by more than chance."""
        return self.gain.above

    @property
    def visible(self) -> bool:
        """Whether one year beside another would show it: twice the deviation and more."""
        return self.gain.mean > 2 * self.noise


def payments(found: Found, measure: str) -> list[Payment]:
    """Return the gains of all strategies at all rates that were played."""
    return [
        Payment(
            strategy,
            rate,
            measure,
            found.gain(strategy, RANDOM, rate, measure),
            found.runs.mean(found.cell(RANDOM, rate), measure).deviation,
        )
        for strategy in STRATEGIES
        if strategy not in BASELINES
        for rate in found.every
        if found.runs.has(found.cell(strategy, rate))
    ]


def since(mine: Sequence[Payment], test: Callable[[Payment], bool]) -> float | None:
    """Return the least rate from which on the test holds at every rate that was played, of
    payments in order of their rates; None where there is none."""
    rate = None
    for payment in reversed(mine):
        if not test(payment):
            break
        rate = payment.rate
    return rate


@dataclass(frozen=True)
class Bound:
    """What failures can cost at most, by arithmetic: failures times the tasks that run on a node,
    as shares of all tasks, and of all jobs (were each hit task of another job)."""

    failures: float
    tasks: float
    jobs: float


def bound(found: Found, cell: Cell) -> Bound:
    """Return the bound at the rate and load of a cell."""
    failures = found.runs.mean(cell, "failures_played").mean
    hit = failures * PROCESSORS * cell.load
    return Bound(
        failures,
        hit / found.runs.mean(cell, "tasks").mean,
        hit / found.runs.mean(cell, "jobs").mean,
    )
