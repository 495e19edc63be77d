"""A batch of runs as rows: each run gives a row for all jobs, and one for each run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from forestall.model.cycle import MILLION, Fate, StayEnd
from forestall.model.hosts import HostTraces
from forestall.simulate.cycle.forecasts import Forecasts
from forestall.simulate.cycle.outcome import CycleOutcome
from forestall.simulate.cycle.parameters import CycleParameters
from forestall.simulate.cycle.prepare import prepare_guests
from forestall.simulate.cycle.run import play_cycle
from studies.cycle_sharing import study
from studies.cycle_sharing.inputs import SHAPES, generated, hosts_of, jobs_of
from studies.cycle_sharing.learning import LAW_WEEKS, LawForecasts, OtherwiseTaken, TrueForecasts
from studies.cycle_sharing.study import Batch, Case

Row = dict[str, Any]
RESTART: Final[dict[str, dict[str, Any]]] = {
    study.SCRATCH: {"restart": "scratch"},
    study.CHECKPOINT: {"restart": "checkpoint"},
    study.HOURLY: {
        "restart": "checkpoint",
        "checkpoint_at_end": False,
        "checkpoint_overhead": 60,
        "restart_overhead": 60,
    },
}
ALL: Final = 0
"""Stands for the run time of all jobs together."""
DAY: Final = 86_400


@dataclass(frozen=True)
class Given:
    """What batches are played with besides what they draw: the folder of the real traces, and the
    days of hosts that can be had for any time."""

    days: int
    data: Path | None = None


def warm_up_of(name: str, days: int) -> int:
    """Return the days before the first job: the set's own or, of short traces, two of five."""
    shape = SHAPES[name]
    return shape.warm_up if days >= shape.days else max(7 * (2 * days // 35), 1)


def parameters_of(case: Case, warm_up: int) -> CycleParameters:
    """Return the parameters of the simulation; all else is the default."""
    more: dict[str, Any] = {"predict_step": study.STEP, "horizon": study.HORIZON}
    by_learning: dict[str, dict[str, Any]] = {
        study.ALONE: {"pooling": "none"},
        study.LAW: {"pooling": "none"},
        study.WEEK: {"history": 5},
        study.ONE: {"history": 1},
        study.BLIND: {"load_memory": 0},
        study.PRESENT: {"load_memory": study.PRESENT_MEMORY},
        study.FINE: {"predict_step": 60, "horizon": DAY},
        study.TRUTH: {"predict_step": 60, "predict_every": 60, "load_memory": 0},
    }
    return CycleParameters(
        scheduler=case.scheduler,
        **RESTART[case.restart],
        hold=SHAPES[case.hosts_of].hold,
        warm_up=warm_up * DAY,
        seed=case.seed,
        **(more | by_learning.get(case.learning, {})),
    )


def play_batch(batch: Batch, given: Given) -> list[Row]:
    """Play all runs of a batch and return their rows of `runs.csv`."""
    first = batch[0]
    shape = SHAPES[first.hosts_of]
    days = min(shape.days, given.days)
    warm_up = warm_up_of(first.hosts_of, days)
    hosts = hosts_of(first.hosts_of, first.seed, first.hosts, given.data, days)
    job_days = replace(shape, days=days, warm_up=warm_up).job_days
    known: dict[str, Forecasts] = {}
    rows: list[Row] = []
    for case in batch:
        jobs = jobs_of(case.hosts_of, case.seed, len(hosts), case.load, job_days)
        parameters = parameters_of(case, warm_up)
        workload = prepare_guests(jobs, hosts, parameters)
        if case.learning not in known:
            known |= _forecasts(case, hosts, days, warm_up, known)
        outcome = play_cycle(workload, hosts, parameters, forecasts=known[case.learning])
        rows += [asdict(case) | row for row in accounts(outcome)]
    return rows


def _forecasts(
    case: Case, hosts: HostTraces, days: int, warm_up: int, known: Mapping[str, Forecasts]
) -> dict[str, Forecasts]:
    """Return the forecasts of a case by learning, and those that they are made from."""
    parameters, learning = parameters_of(case, warm_up), case.learning
    if learning == study.TRUTH:
        return {learning: TrueForecasts(hosts, parameters)}
    if learning == study.LAW:
        others = generated(case.hosts_of, case.seed, case.hosts, days, 7 * LAW_WEEKS)
        return {learning: LawForecasts(hosts, parameters, others)}
    if learning not in study.TAKEN:
        return {learning: Forecasts(hosts, parameters)}
    own = replace(case, learning=study.SEEN)
    seen = known.get(study.SEEN) or Forecasts(hosts, parameters_of(own, warm_up))
    safe = learning == study.SAFE
    return {study.SEEN: seen, learning: OtherwiseTaken(seen, parameters, safe=safe)}


def accounts(outcome: CycleOutcome) -> Iterator[Row]:
    """Give what came out of a run, for all jobs and by run time.

    `makespan` mean of jobs completed, h; `failures` a job; shares `unscheduled`, `unfinished` and
    `hit` (lost a host at least once) of all jobs; `lost` work, h of a host a job; and what
    `_said` tells.
    """
    runtime = outcome.workload.jobs.runtime
    yield {"length": ALL} | _account(outcome, np.ones(len(runtime), dtype=np.bool_))
    for length in np.unique(runtime).tolist():
        yield {"length": length} | _account(outcome, runtime == length)


def _account(outcome: CycleOutcome, mine: Any) -> Row:
    fates = outcome.jobs[mine]
    submit = outcome.workload.jobs.submit[mine]
    done = fates["outcome"] == Fate.COMPLETED
    spans = (fates["finish"] - submit)[done]
    return {
        "jobs": len(fates),
        "makespan": float(spans.mean()) / 3600 if len(spans) else None,
        "failures": float(fates["failures"].mean()),
        "hit": float((fates["failures"] > 0).mean()),
        "unscheduled": float((fates["outcome"] == Fate.UNSCHEDULED).mean()),
        "unfinished": float((fates["outcome"] == Fate.UNFINISHED).mean()),
        "lost": float(fates["lost"].sum()) / MILLION / 3600 / len(fates),
        **_said(outcome.stays[mine[outcome.stays["job"]]]),
    }


def _said(stays: Any) -> Row:
    """Return what was said of stays that came to an end, and what came of it: `said` the mean of
    promises, `foreseen` that of chances before their correction, `kept` the share that ended their
    jobs, `brier` of promises and `brier_foreseen`. None where nothing was said."""
    told = stays[(stays["ended"] != StayEnd.UNFINISHED) & (stays["chance"] >= 0)]
    if not len(told):
        return dict.fromkeys(("said", "foreseen", "kept", "brier", "brier_foreseen"))
    promise, chance = told["promise"] / MILLION, told["chance"] / MILLION
    kept = (told["ended"] == StayEnd.COMPLETED).astype(np.float64)
    return {
        "said": float(promise.mean()),
        "foreseen": float(chance.mean()),
        "kept": float(kept.mean()),
        "brier": float(np.mean((promise - kept) ** 2)),
        "brier_foreseen": float(np.mean((chance - kept) ** 2)),
    }


def runs_table(rows: list[Row]) -> pl.DataFrame:
    """Return the tidy table of all runs."""
    return pl.DataFrame(rows, infer_schema_length=None)
