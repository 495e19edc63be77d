"""One run as a row: a case says what is played, a row what came out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.model.failures import Failures
from forestall.model.jobs import Jobs
from forestall.model.predictions import Predictions
from forestall.simulate.virtual.outcome import Ended, VirtualOutcome, VirtualWorkload
from forestall.simulate.virtual.parameters import VirtualParameters
from studies.virtual.inputs import (
    DAY,
    HOUR,
    NODES,
    PROCESSORS,
    worst_quarter,
    year_of_failures,
    year_of_jobs,
)
from studies.virtual.study import ALPHAS, BEST, NETWORK, OMNISCIENT, RANDOM, REAL, Case

if TYPE_CHECKING:
    from collections.abc import Sequence

Int = npt.NDArray[np.int64]

CHUNK: Final = 8
"""Cases that a worker takes at a time: they mostly share a year of jobs."""
UNIT: Final = 1000 * HOUR
"""Thousandths of a processor-second in a processor-hour."""


@dataclass(frozen=True)
class Given:
    """What cases are played with besides generated traces: the real failures of a year and the
    network's predictions of them, where there are any, and the length of the log, days."""

    days: int
    real: Failures | None = None
    network: Predictions | None = None


def parameters_of(case: Case) -> VirtualParameters:
    """Return the parameters of the simulation; all else is as in the paper."""
    aware = case.strategy not in (RANDOM, OMNISCIENT)
    return VirtualParameters(
        nodes=NODES,
        processors_per_node=PROCESSORS,
        strategy=BEST if case.strategy in ALPHAS else case.strategy,  # type: ignore[arg-type]
        alpha=ALPHAS.get(case.strategy, 0.5),  # type: ignore[arg-type]
        prediction_accuracy=case.accuracy if case.accuracy >= 0 else 1.0,
        prediction_error=case.error,  # type: ignore[arg-type]
        false_negatives=case.misses if aware else 0.0,
        migration=case.migration,  # type: ignore[arg-type]
        migration_cost=case.cost,
        backfill=case.backfill,
        random_migrates=case.moves,
        checkpoint="periodic" if case.checkpoints else "none",
        checkpoint_overhead=case.cost,
        task_processors=case.width,
        slack=case.slack,
        downtime="log",
        seed=case.seed,
    )


def failures_of(case: Case, given: Given) -> Failures:
    """Return the failures that the case is played with."""
    if case.rate == 0:
        return Failures.none()
    if case.failures == REAL:
        assert given.real is not None, "a case of the real failures without them"
        return given.real
    return year_of_failures(case.seed, case.rate, given.days)


def predictions_of(case: Case, given: Given, failures: Failures, jobs: Jobs) -> Predictions:
    """Return what is foreseen in the case."""
    from forestall.traces.predictions import perfect, synthetic

    if len(failures) == 0 or (case.strategy == RANDOM and not case.moves):
        return Predictions.none()
    start = min(int(jobs.submit[0]), int(failures.time[0]))
    if case.strategy == OMNISCIENT:
        return perfect(failures, start=start)
    if case.predictor == NETWORK:
        assert given.network is not None, "a case of the network without its predictions"
        return given.network
    return synthetic(
        failures,
        accuracy=case.accuracy,
        error=case.error,  # type: ignore[arg-type]
        false_negatives=case.misses,
        seed=case.seed,
        start=start,
    )


@lru_cache(maxsize=4)
def _workload(
    seed: int, load: float, days: int, requests: str, slack: float, width: float
) -> VirtualWorkload:
    from forestall.simulate.virtual.prepare import prepare_virtual

    parameters = VirtualParameters(
        nodes=NODES, processors_per_node=PROCESSORS, slack=slack, task_processors=width
    )
    return prepare_virtual(year_of_jobs(seed, load / width, days, requests), parameters)


def outcome_of(case: Case, given: Given) -> VirtualOutcome:
    """Play a case."""
    from forestall.simulate.kit.failures import prepare_failures
    from forestall.simulate.virtual.run import play_virtual

    parameters = parameters_of(case)
    workload = _workload(case.seed, case.load, given.days, case.requests, case.slack, case.width)
    failures = prepare_failures(failures_of(case, given), parameters)
    predictions = predictions_of(case, given, failures, workload.jobs)
    return play_virtual(workload, failures, predictions, parameters)


def play_case(case: Case, given: Given) -> dict[str, Any]:
    """Play a case and return its row of `runs.csv`."""
    return asdict(case) | account(outcome_of(case, given), given.days)


def play_alone(batch: tuple[Case, ...], given: Given) -> list[dict[str, Any]]:
    """Play the one case of a batch, and return its row alone."""
    (case,) = batch
    return [play_case(case, given)]


def account(outcome: VirtualOutcome, days: int) -> dict[str, Any]:
    """Return what came out of a run.

    Shares from 0 to 1, work in processor-hours. `work_completion` is the work of tasks completed in
    time over that of all tasks, `utilization` over what the machine could have done in the days of
    the log; `quarter` the share of it done on the quarter of the nodes with most failures;
    `jobs_hit`, `tasks_hit` how many a failure aborted something of, `_twice` those with two
    failures or more.
    """
    jobs, runs = outcome.workload.jobs, outcome.runs
    first = np.concatenate(([0], np.cumsum(jobs.size)))
    task = first[runs["job"]] + runs["task"]
    ended = runs["ended"]
    completed = np.zeros(int(first[-1]), dtype=np.bool_)
    completed[task[ended == Ended.COMPLETED]] = True
    work = np.where(completed[task], runs["work"] - runs["lost"], 0) / UNIT
    by_node = np.bincount(runs["node"], weights=work, minlength=NODES)
    aborted = runs[ended == Ended.ABORTED]
    struck = outcome.struck
    total = float(by_node.sum())
    done = outcome.jobs["done"]
    return {
        "jobs": len(jobs),
        "tasks": int(first[-1]),
        "job_completion": float((done == jobs.size).mean()),
        "task_completion": float(done.sum() / first[-1]),
        "dropped_jobs": float(outcome.jobs["dropped"].mean()),
        "work_completion": total / (float(np.dot(jobs.size, outcome.workload.work)) / UNIT),
        "utilization": total / (NODES * PROCESSORS * 24 * days),
        "quarter": float(np.dot(by_node, worst_quarter(outcome.failures))) / max(total, 1e-9),
        "lost_work": float(runs["lost"].sum()) / UNIT,
        "stopped_tasks": int((ended == Ended.STOPPED).sum()),
        "aborted": len(aborted),
        "migrations": len(outcome.moves),
        "failures_played": len(struck),
        "failures_hit": int((struck["tasks"] > 0).sum()),
        **_hits(aborted, task[ended == Ended.ABORTED]),
        "wait_mean": _wait(outcome),
        "last_day": outcome.end / DAY,
    }


def _hits(aborted: npt.NDArray[Any], task: Int) -> dict[str, int]:
    """Return how many tasks and jobs met failures, and how many met more than one."""
    tasks = np.unique(task, return_counts=True)[1]
    events = np.unique(np.stack((aborted["job"], aborted["node"], aborted["end"])), axis=1)
    jobs = np.unique(events[0], return_counts=True)[1]
    return {
        "tasks_hit": len(tasks),
        "tasks_hit_twice": int((tasks > 1).sum()),
        "jobs_hit": len(jobs),
        "jobs_hit_twice": int((jobs > 1).sum()),
    }


def _wait(outcome: VirtualOutcome) -> float:
    """Return the mean wait of the jobs that were started, h."""
    start = outcome.jobs["start"]
    begun = start >= 0
    waits = start[begun] - outcome.workload.jobs.submit[begun]
    return float(waits.mean()) / HOUR if len(waits) else 0.0


def runs_table(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return the tidy table of all runs."""
    return pl.DataFrame(rows, infer_schema_length=None)
