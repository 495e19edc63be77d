"""A batch of runs as rows: each run gives a row for all jobs, and one for each run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

import forestall as fs
from studies.cycle_sharing import study
from studies.cycle_sharing.inputs import SHAPES, generated, hosts_of, jobs_of
from studies.cycle_sharing.learning import LAW_WEEKS, LawForecasts, OtherwiseTaken, TrueForecasts
from studies.cycle_sharing.study import Batch, Case
from studies.kit.kept_runs import Row

_MINUTE: Final[dict[str, Any]] = {
    "restart": "checkpoint",
    "checkpoint_at_end": False,
    "checkpoint_overhead": 60,
    "restart_overhead": 60,
}
_SAVED: Final[dict[str, dict[str, Any]]] = {
    study.HOURLY: _MINUTE,
    study.SCRATCH: {**_MINUTE, "checkpoint_interval": None},
}
RESTART: Final[dict[str, dict[str, Any]]] = {
    study.SCRATCH: {"restart": "scratch"},
    study.CHECKPOINT: {"restart": "checkpoint"},
    study.HOURLY: _MINUTE,
    **{name: {**_SAVED[base], "move_below": chance}
       for name, (base, chance) in study.MOVING.items()},
}  # fmt: skip
ALL: Final = 0
"""Stands for the run time of all jobs together."""
DAY: Final = 86_400
MILLION: Final = 1_000_000
"""Work of a run is counted in millionths of a second."""


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


def parameters_of(case: Case, warm_up: int) -> dict[str, Any]:
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
    return {
        "scheduler": case.scheduler,
        **RESTART[case.restart],
        "hold": SHAPES[case.hosts_of].hold,
        "warm_up": warm_up * DAY,
        "seed": case.seed,
        **more,
        **by_learning.get(case.learning, {}),
    }


def play_batch(batch: Batch, given: Given) -> list[Row]:
    """Play all runs of a batch and return their rows of `runs.csv`."""
    first = batch[0]
    shape = SHAPES[first.hosts_of]
    days = min(shape.days, given.days)
    warm_up = warm_up_of(first.hosts_of, days)
    hosts = hosts_of(first.hosts_of, first.seed, first.hosts, given.data, days)
    job_days = replace(shape, days=days, warm_up=warm_up).job_days
    known: dict[str, fs.hosts.Forecasts] = {}
    rows: list[Row] = []
    for case in batch:
        if source_of(case) not in known:
            known |= _forecasts(case, hosts, days, warm_up, known)
        result = fs.simulate_cycle(
            jobs_of(case.hosts_of, case.seed, len(hosts), case.load, job_days),
            hosts,
            forecasts=known[source_of(case)],
            **parameters_of(case, warm_up),
        )
        rows += [asdict(case) | row for row in accounts(result)]
    return rows


def source_of(case: Case) -> str:
    """Return what the forecasts of a case are made from: the slides' are others."""
    return study.SLIDES if case.scheduler == study.SLIDES else case.learning


def _forecasts(
    case: Case,
    hosts: fs.HostTraces,
    days: int,
    warm_up: int,
    known: Mapping[str, fs.hosts.Forecasts],
) -> dict[str, fs.hosts.Forecasts]:
    """Return the forecasts of a case by source, and those that they are made from."""
    parameters, learning = fs.CycleParameters(**parameters_of(case, warm_up)), source_of(case)
    if learning == study.TRUTH:
        return {learning: TrueForecasts(hosts, parameters)}
    if learning == study.LAW:
        others = generated(case.hosts_of, case.seed, case.hosts, days, 7 * LAW_WEEKS)
        return {learning: LawForecasts(hosts, parameters, others)}
    if learning not in study.TAKEN:
        return {learning: fs.hosts.Forecasts(hosts, parameters)}
    own = fs.CycleParameters(**parameters_of(replace(case, learning=study.SEEN), warm_up))
    seen = known.get(study.SEEN) or fs.hosts.Forecasts(hosts, own)
    safe = learning == study.SAFE
    return {study.SEEN: seen, learning: OtherwiseTaken(seen, parameters, safe=safe)}


def accounts(result: fs.CycleResult) -> Iterator[Row]:
    """Give what came out of a run, for all jobs and by run time.

    `makespan` mean of jobs completed, h; `failures` a job; shares `unscheduled`, `unfinished` and
    `hit` (lost a host at least once) of all jobs; `lost` work, h of a host a job; `moves` a job,
    and the share of them that was `needed` (of all jobs' alone); and what `_said` tells.
    """
    runtime = result.outcome.workload.jobs.runtime
    told = result.summary.get("moves") or {}
    every = _account(result, np.ones(len(runtime), dtype=np.bool_))
    yield {"length": ALL} | every | {"needed": told.get("useful_share")}
    for length in np.unique(runtime).tolist():
        yield {"length": length} | _account(result, runtime == length)


def _account(result: fs.CycleResult, mine: npt.NDArray[np.bool_]) -> Row:
    jobs, outcome = result.jobs.filter(mine), result.outcome
    ended, spans = jobs["outcome"], jobs["makespan"].drop_nulls().to_numpy()
    failures = jobs["failures"].to_numpy()
    stays = result.stays.filter(mine[outcome.stays["job"]])
    lost = int(outcome.jobs["lost"][mine].sum())
    return {
        "jobs": len(jobs),
        "makespan": float(spans.mean()) / 3600 if len(spans) else None,
        "failures": float(failures.mean()),
        "hit": float((failures > 0).mean()),
        "unscheduled": float((ended == "unscheduled").to_numpy().mean()),
        "unfinished": float((ended == "unfinished").to_numpy().mean()),
        "lost": lost / MILLION / 3600 / len(jobs),
        "moves": len(stays.filter(pl.col("ended") == "moved")) / len(jobs),
        "needed": None,
        **_said(stays),
    }


def _said(stays: pl.DataFrame) -> Row:
    """Return what was said of stays that came to an end, and what came of it: `said` the mean of
    promises, `foreseen` that of chances before their correction, `kept` the share that ended their
    jobs, `brier` of promises and `brier_foreseen`. None where nothing was said."""
    told = stays.filter((pl.col("ended") != "unfinished") & pl.col("chance").is_not_null())
    if not len(told):
        return dict.fromkeys(("said", "foreseen", "kept", "brier", "brier_foreseen"))
    promise, chance = told["promise"].to_numpy(), told["chance"].to_numpy()
    kept = (told["ended"] == "completed").to_numpy().astype(np.float64)
    return {
        "said": float(promise.mean()),
        "foreseen": float(chance.mean()),
        "kept": float(kept.mean()),
        "brier": float(np.mean((promise - kept) ** 2)),
        "brier_foreseen": float(np.mean((chance - kept) ** 2)),
    }
