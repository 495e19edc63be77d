"""What is played: the paper's grid at several failure rates, and runs that tell why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from studies.kit.means import Chosen

RANDOM, FIRST, BEST, OMNISCIENT = "random", "first-fit", "best-fit", "omniscient"
DAYS: Final = 365
STAYS = "random stays"
"""Random-select that moves no task: the blind baseline. The paper's moves them (Section 4.1), to
nodes drawn at random."""
BLIND: Final = (STAYS, OMNISCIENT)
"""What no prediction is asked for."""
CAPACITY, RELIABILITY, DYNAMIC = "best-fit 1", "best-fit 0", "best-fit dynamic"
ALPHAS: Final[dict[str, float | str]] = {CAPACITY: 1.0, RELIABILITY: 0.0, DYNAMIC: "dynamic"}
AWARE: Final = (FIRST, BEST)
BASELINES: Final = (RANDOM, STAYS)
PLAYED: Final = (RANDOM, *AWARE)
"""Played at each accuracy."""
STRATEGIES: Final = (*BASELINES, FIRST, BEST, RELIABILITY, CAPACITY, DYNAMIC, OMNISCIENT)

PAPER: Final = 0.765
ACCURACIES: Final = (0.0, 0.2, 0.4, 0.6, 0.765, 0.8, 1.0)
MISSES: Final = 0.037
"""The paper's share of false negatives."""

RATES: Final = (1.0, 3.0, 10.0, 30.0)
MORE_RATES: Final = (100.0, 300.0)
LOAD: Final = 0.3
"""Of the grid: low enough for jobs not to wait, so that failures alone decide."""

LOADS: Final = (0.3, 0.5, 0.7, 0.9)
WIDTHS: Final = (1.5, 3.0)
"""Processors of a task that do not divide a node's four."""

WIDE_LOADS: Final = (0.5, 0.7)
LATE: Final = (0.0, 0.4, PAPER)
"""Accuracies of two-sided predictions at the lower rates."""
HIGH: Final = 30.0
"""The rate at which the runs that tell why are made."""

REAL, MADE, NETWORK, SYNTHETIC = "real", "generated", "network", "synthetic"
USAGE: Final = "usage"
"""The jobs of LANL's usage log, in place of generated ones."""


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes
    ----------
    study : what it is part of
    seed : of jobs, failures and predictions
    strategy : one of `STRATEGIES`
    accuracy : of synthetic predictions; -1 where the strategy asks for none
    rate, load : times the paper's failures (0: none); offered load of the jobs
    failures : "generated" or "real"; predictor : "synthetic" or "network"
    requests : "drawn", "48 h", "slack" (deadline after `slack` run times), or "usage" (the jobs of
        LANL's log, whose `load` is -1)
    error, misses : "early" or "two-sided" predictions, and the share of failures without one
    backfill, checkpoints : whether jobs may pass others; whether aborted tasks restart from hourly
        checkpoints, which take as long as a migration
    migration, cost : "stop-and-copy" or "none"; s that a migration takes
    width : processors of a task; `load` counts all of them
    """

    study: str
    seed: int
    strategy: str
    accuracy: float = -1.0
    rate: float = 1.0
    load: float = LOAD
    failures: str = MADE
    predictor: str = SYNTHETIC
    requests: str = "drawn"
    slack: float = 2.0
    error: str = "early"
    misses: float = 0.0
    backfill: bool = False
    checkpoints: bool = False
    migration: str = "stop-and-copy"
    cost: int = 12
    width: float = 1.0


@dataclass(frozen=True)
class Plan:
    """How much is played; the default is all of it.

    Attributes
    ----------
    days : length of the log, with jobs and failures at the paper's rates
    seeds : of the paper's grid, loads and costs; `few` : how many of them for the other runs that
        tell why
    accuracies, rates, more_rates, loads : see the module
    """

    days: int = DAYS
    seeds: int = 20
    few: int = 10
    accuracies: Sequence[float] = ACCURACIES
    rates: Sequence[float] = RATES
    more_rates: Sequence[float] = MORE_RATES
    loads: Sequence[float] = LOADS


QUICK: Final = Plan(
    days=14,
    seeds=3,
    few=2,
    accuracies=(0.0, 0.6, 0.765, 1.0),
    rates=(1.0, 30.0),
    more_rates=(300.0,),
    loads=(0.3, 0.7),
)


def cases(plan: Plan, *, real: bool, usage: bool = False) -> list[Case]:
    """Return all runs of a plan, those of one seed together."""
    found: list[Case] = []
    for seed in range(1, plan.seeds + 1):
        mine = [*_grid(plan, seed, real), *_more(plan, seed), *_costs(plan, seed)]
        mine += [*_late(plan, seed), *_wide(plan, seed)]
        mine += [Case("loads", seed, STAYS, rate=0.0, load=load) for load in plan.loads]
        if seed <= plan.few:
            mine += [*_loads(plan, seed), *_why(plan, seed)]
            log = Case(USAGE, seed, "", load=-1.0, failures=REAL, requests=USAGE)
            mine += all_of(log) if usage else ()
        found += sorted(mine, key=lambda case: (case.requests, case.load, case.width, case.rate))
    return found


def _grid(plan: Plan, seed: int, real: bool) -> Iterator[Case]:
    """Give the paper's study, at each failure rate and on the real failures."""
    sources = [(rate, MADE) for rate in plan.rates] + ([(1.0, REAL)] if real else [])
    for rate, failures in sources:
        case = Case("grid", seed, STAYS, rate=rate, failures=failures)
        yield case
        yield replace(case, strategy=OMNISCIENT)
        ends = rate in (min(plan.rates), max(plan.rates))
        for accuracy in plan.accuracies if ends else coarse(plan):
            for strategy in PLAYED:
                yield replace(case, strategy=strategy, accuracy=accuracy)
        for strategy in ALPHAS:
            yield replace(case, strategy=strategy, accuracy=PAPER)
        if failures == REAL:
            for strategy in PLAYED:
                yield replace(case, study="network", strategy=strategy, predictor=NETWORK)


def coarse(plan: Plan) -> tuple[float, ...]:
    """Return the accuracies of the rates between the lowest and the highest."""
    return tuple(a for a in plan.accuracies if a in (0.0, 0.4, 0.6, PAPER, 1.0))


def all_of(base: Case) -> Iterator[Case]:
    """Give a case for each of the strategies, at the paper's accuracy where they ask."""
    for strategy in (*BASELINES, *AWARE, OMNISCIENT):
        yield replace(base, strategy=strategy, accuracy=-1.0 if strategy in BLIND else PAPER)


def _more(plan: Plan, seed: int) -> Iterator[Case]:
    for rate in plan.more_rates:
        base = Case("more failures", seed, "", rate=rate)
        yield from all_of(base)
        for strategy in PLAYED:
            yield replace(base, strategy=strategy, accuracy=0.6)


def _costs(plan: Plan, seed: int) -> Iterator[Case]:
    """Give what the paper's Section 3 is tested on."""
    low, high = min(plan.rates), max(plan.rates)
    for cost in (0, 600):
        yield Case("migration cost", seed, BEST, PAPER, rate=high, cost=cost)
    for rate in (low, high):
        yield Case("checkpoints", seed, STAYS, rate=rate, checkpoints=True)
        yield Case("checkpoints", seed, BEST, PAPER, rate=rate, checkpoints=True)


def late_accuracies(plan: Plan, rate: float) -> tuple[float, ...]:
    """Return the accuracies of two-sided predictions; none can come late at an accuracy of 1."""
    high = rate == max(plan.rates)
    return tuple(a for a in plan.accuracies if a < 1 and (high or a in LATE))


def late_rates(plan: Plan) -> tuple[float, ...]:
    """Return the rates at which two-sided predictions are played."""
    return tuple(rate for rate in plan.rates if rate in (1.0, 10.0, max(plan.rates)))


def _late(plan: Plan, seed: int) -> Iterator[Case]:
    for rate in late_rates(plan):
        for accuracy in late_accuracies(plan, rate):
            for strategy in PLAYED:
                yield Case("two-sided", seed, strategy, accuracy, rate, error="two-sided")


def _wide(plan: Plan, seed: int) -> Iterator[Case]:
    """Give tasks of other widths: without failures, at the paper's rate and at the highest."""
    for width in WIDTHS:
        for load in WIDE_LOADS:
            base = Case("width", seed, STAYS, rate=0.0, load=load, width=width)
            yield base
            for strategy in AWARE:
                yield replace(base, strategy=strategy, accuracy=PAPER)
        base = replace(base, load=WIDE_LOADS[0])
        for strategy in PLAYED:
            yield replace(base, strategy=strategy, accuracy=0.6, rate=min(plan.rates))
        for rate in (min(plan.rates), max(plan.rates)):
            yield from all_of(replace(base, rate=rate))


def _loads(plan: Plan, seed: int) -> Iterator[Case]:
    for load in plan.loads:
        if load == LOAD:
            continue
        for rate in (min(plan.rates), max(plan.rates)):
            yield from all_of(Case("loads", seed, "", rate=rate, load=load))
        base = Case("backfill", seed, STAYS, rate=0.0, load=load, backfill=True)
        yield base
        yield from (
            c for c in all_of(replace(base, rate=max(plan.rates))) if c.strategy != OMNISCIENT
        )


def _why(plan: Plan, seed: int) -> Iterator[Case]:
    high = max(plan.rates)
    yield from all_of(Case("48 h", seed, "", rate=high, requests="48 h"))
    for slack in (1.1, 4.0):
        yield from all_of(Case("slack", seed, "", rate=high, requests="slack", slack=slack))
    base = Case("why", seed, BEST, PAPER, rate=high)
    for misses in (MISSES, 0.2):
        yield replace(base, study="false negatives", misses=misses)
    for strategy in AWARE:
        yield replace(base, study="no migration", strategy=strategy, migration="none")


# Cells of the table of runs, and what is compared -------------------------------------------------

JOBS, TASKS, WORK = "job_completion", "task_completion", "work_completion"
"""What is compared: jobs and tasks completed in time, and the work of those tasks."""

WORDS: Final = {JOBS: "jobs", TASKS: "tasks", WORK: "work"}
MEASURES: Final = tuple(WORDS)


@dataclass(frozen=True)
class Cell(Chosen):
    """What names the runs of a cell: all seeds of one case. The fields are those of `Case`."""

    strategy: str
    accuracy: float = -1.0
    rate: float = 1.0
    load: float = LOAD
    study: str = "grid"
    failures: str = MADE
    predictor: str = SYNTHETIC
    slack: float = 2.0
    misses: float = 0.0
    cost: int = 12
    error: str = "early"
    width: float = 1.0
