"""One run as a row: a case says what is played, a row what came out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from studies.virtual.inputs import (
    DAY,
    HOUR,
    NODES,
    PROCESSORS,
    worst_quarter,
    year_of_failures,
    year_of_jobs,
)
from studies.virtual.study import (
    ALPHAS,
    BEST,
    BLIND,
    NETWORK,
    OMNISCIENT,
    RANDOM,
    REAL,
    STAYS,
    USAGE,
    Case,
)

Int = npt.NDArray[np.int64]

CHUNK: Final = 8
"""Cases that a worker takes at a time: they mostly share a year of jobs."""
UNIT: Final = 1000 * HOUR
"""Thousandths of a processor-second in a processor-hour."""


@dataclass(frozen=True)
class Given:
    """What cases are played with besides generated traces: the real failures of a year, the
    network's predictions of them and the jobs of that year, where there are any, and the length of
    the log, days."""

    days: int
    real: fs.Failures | None = None
    network: fs.Predictions | None = None
    jobs: fs.Jobs | None = None


def parameters_of(case: Case) -> dict[str, Any]:
    """Return the parameters of the simulation; all else is as in the paper."""
    named = {STAYS: RANDOM, **dict.fromkeys(ALPHAS, BEST)}
    return {
        "nodes": NODES,
        "processors_per_node": PROCESSORS,
        "strategy": named.get(case.strategy, case.strategy),
        "random_stays": case.strategy == STAYS,
        "alpha": ALPHAS.get(case.strategy, 0.5),
        "prediction_accuracy": case.accuracy if case.accuracy >= 0 else 1.0,
        "prediction_error": case.error,
        "false_negatives": 0.0 if case.strategy in BLIND else case.misses,
        "migration": case.migration,
        "migration_cost": case.cost,
        "backfill": case.backfill,
        "checkpoint": "periodic" if case.checkpoints else "none",
        "checkpoint_overhead": case.cost,
        "task_processors": case.width,
        "slack": case.slack,
        "downtime": "log",
        "seed": case.seed,
    }


def jobs_of(case: Case, given: Given) -> fs.Jobs:
    """Return the jobs that the case is played with."""
    if case.requests == USAGE:
        assert given.jobs is not None, "a case of LANL's jobs without them"
        return given.jobs
    return year_of_jobs(case.seed, case.load / case.width, given.days, case.requests)


def failures_of(case: Case, given: Given) -> fs.Failures:
    """Return the failures that the case is played with."""
    if case.rate == 0:
        return fs.Failures.none()
    if case.failures == REAL:
        assert given.real is not None, "a case of the real failures without them"
        return given.real
    return year_of_failures(case.seed, case.rate, given.days)


def predictions_of(case: Case, given: Given) -> fs.Predictions | None:
    """Return what is foreseen in the case where its parameters do not say it: the network's
    predictions, and nothing where jobs are placed and stay at random."""
    if case.strategy == STAYS:
        return fs.Predictions.none()
    if case.predictor == NETWORK and case.strategy != OMNISCIENT:
        assert given.network is not None, "a case of the network without its predictions"
        return given.network
    return None


def result_of(case: Case, given: Given) -> fs.VirtualResult:
    """Play a case."""
    return fs.simulate_virtual(
        jobs_of(case, given),
        failures_of(case, given),
        predictor=predictions_of(case, given),
        **parameters_of(case),
    )


def play_case(case: Case, given: Given) -> dict[str, Any]:
    """Play a case and return its row of `runs.csv`."""
    return asdict(case) | account(result_of(case, given), given.days)


def play_alone(batch: tuple[Case, ...], given: Given) -> list[dict[str, Any]]:
    """Play the one case of a batch, and return its row alone."""
    (case,) = batch
    return [play_case(case, given)]


def account(result: fs.VirtualResult, days: int) -> dict[str, Any]:
    """Return what came out of a run.

    Shares from 0 to 1, work in processor-hours. `work_completion` is the work of tasks completed in
    time over that of all tasks, `utilization` over what the machine could have done in the days of
    the log; `quarter` the share of it done on the quarter of the nodes with most failures;
    `jobs_hit`, `tasks_hit` how many a failure aborted something of, `_twice` those with two
    failures or more.
    """
    outcome = result.outcome
    jobs, runs = outcome.workload.jobs, outcome.runs
    first = np.concatenate(([0], np.cumsum(jobs.size)))
    task = first[runs["job"]] + runs["task"]
    how = result.runs["outcome"]
    ended, hit = (how == "completed").to_numpy(), (how == "aborted").to_numpy()
    completed = np.zeros(int(first[-1]), dtype=np.bool_)
    completed[task[ended]] = True
    work = np.where(completed[task], runs["work"] - runs["lost"], 0) / UNIT
    by_node = np.bincount(runs["node"], weights=work, minlength=NODES)
    aborted = runs[hit]
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
        "stopped_tasks": int((how == "stopped").sum()),
        "aborted": len(aborted),
        "migrations": len(outcome.moves),
        "failures_played": len(struck),
        "failures_hit": int((struck["tasks"] > 0).sum()),
        **_hits(aborted, task[hit]),
        "wait_mean": _wait(result),
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


def _wait(result: fs.VirtualResult) -> float:
    """Return the mean wait of the jobs that were started, h."""
    start, jobs = result.outcome.jobs["start"], result.outcome.workload.jobs
    begun = start >= 0
    waits = start[begun] - jobs.submit[begun]
    return float(waits.mean()) / HOUR if len(waits) else 0.0
