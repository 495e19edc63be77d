"""One run as a row: a case says what is played, a row what came out; many cases over all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

import forestall as fs
from studies.kit.workers import cores, over_workers
from studies.promises.inputs import JOBS, Inputs, gathered, powers_of_two, rolled, scattered
from studies.promises.watched import Watched

DOWNTIME: Final = 120
CHUNK: Final = 16
"""Cases that a worker takes at a time."""
WORTH_WORKERS: Final = 500
"""With fewer cases than this, starting workers takes longer than they save."""

EDGES: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)
"""Promises are counted in [0, 0.1), ..., [0.98, 1), and those of exactly 1 apart."""


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes
    ----------
    study : what it is part of; `variant` its label there
    log : name of the job log; `jobs` how many of its first jobs; `from_zero` sets the first
        submission to 0 where else the log's own 0 counts
    accuracy, risk, checkpoint, placement, repeat : parameters of the simulation
    seed : of the detectabilities
    room : whether reservations have room for checkpoints even where none are taken
    sizes : "log", or "powers of two": each job has as many nodes as the nearest one, and as many
        node-seconds as before
    failures : "log"; "none"; "rolled", begun `shift` days later; "scattered", drawn without pattern
        by `seed`; or "gathered" into bursts of five
    topology : by which runs are looked at; `slack` the probability that is given up for it (None:
        no node is chosen by it)
    watched : whether each offer is compared with the least of all sets
    """

    study: str
    log: str
    accuracy: float
    risk: float
    seed: int
    variant: str = ""
    checkpoint: str = "risk"
    placement: str = "fault-aware"
    room: bool = False
    repeat: bool = False
    sizes: str = "log"
    failures: str = "log"
    shift: int = 0
    jobs: int = JOBS
    from_zero: bool = False
    topology: str = ""
    slack: float | None = None
    watched: bool = False


@dataclass(frozen=True)
class Played:
    """A case, what it gave (a row of `runs.csv`), and its promises by how high they were."""

    case: Case
    row: dict[str, Any]
    promises: list[dict[str, Any]] = field(default_factory=list)


def failures_of(case: Case, failures: fs.Failures) -> fs.Failures | None:
    """Return the failures that the case is played with; None: nothing fails."""
    if case.failures == "none":
        return None
    if case.failures == "rolled":
        return rolled(failures, case.shift)
    if case.failures == "scattered":
        return scattered(failures, case.seed)
    return gathered(failures) if case.failures == "gathered" else failures


def with_room(jobs: fs.Jobs, parameters: fs.Parameters) -> fs.Jobs:
    """Return the jobs with requests as long as if every checkpoint were taken.

    For runs without checkpoints, so that they differ from those with checkpoints in nothing else.
    """
    requests = -(-jobs.runtime // parameters.checkpoint_interval) - 1
    return replace(jobs, estimate=jobs.runtime + requests * parameters.checkpoint_overhead)


def result_of(case: Case, inputs: Inputs, placement: Watched | None = None) -> fs.Result:
    """Play a case; all that it does not say is as in the paper's Table 2. `placement` stands in the
    place of the case's."""
    jobs: fs.Jobs = inputs.jobs[case.log]
    first = jobs if case.jobs >= len(jobs) else jobs.take(np.arange(case.jobs))
    if case.sizes == "powers of two":
        first = powers_of_two(first)
    if case.from_zero:
        first = replace(first, submit=first.submit - first.submit[0])
    return fs.simulate(
        with_room(first, fs.Parameters()) if case.room else first,
        failures_of(case, inputs.failures),
        estimates="requested" if case.room else "runtime",
        accuracy=case.accuracy,
        risk=case.risk,
        checkpoint=case.checkpoint,
        placement=placement or case.placement,
        topology=None if case.slack is None else case.topology,
        topology_slack=case.slack,
        repeat_failures=case.repeat,
        seed=case.seed,
        downtime=DOWNTIME,
    )


MEASURES: Final = (
    *("makespan", "restarts", "checkpoints", "skipped_checkpoints", "failures_played"),
    "failures_hit",
)
"""Taken over from the measures of a run, last in its row."""


def watched_of(case: Case, inputs: Inputs) -> Watched:
    """Return the case's rule of placement, which counts how far its sets are from the least."""
    known = result_of(case, inputs).outcome.failures
    rows = zip(known.node.tolist(), known.detectability.tolist(), known.time.tolist(), strict=True)
    return Watched({(node, chance): time for node, chance, time in rows})


def play_case(case: Case, inputs: Inputs) -> Played:
    """Play a case and account for it."""
    watched = watched_of(case, inputs) if case.watched else None
    result = result_of(case, inputs, watched)
    near = result.nearness(case.topology) if case.topology else {"near": None, "places_mean": None}
    found, outcome = result.measures, result.outcome
    jobs, truth = outcome.workload.jobs, outcome.jobs
    kept = truth["finish"] <= outcome.deadlines
    work = (jobs.runtime * jobs.size).astype(np.float64)
    row = {
        **asdict(case),
        "jobs_played": len(jobs),
        "qos": found["qos"],
        "utilization": found["utilization"],
        "lost_work": found["lost_work"],
        "kept": found["promises_kept"],
        "kept_work": float((work * kept).sum() / work.sum()),
        "promised": found["promised_mean"],
        "brier": found["brier"],
        "wait_mean": found["wait"]["mean"],
        "idle": found["node_seconds"]["idle"] / found["node_seconds"]["total"],
        "fragmented": fragmentation(result) if case.failures == "none" else None,
        **{name: found[name] for name in MEASURES},
        **{name: near[name] for name in ("near", "places_mean")},
        **(watched or Watched({})).counts(),
    }
    tally = promise_tally(outcome.promises, kept, truth["restarts"] > 0, work)
    named = {k: row[k] for k in ("study", "log", "accuracy", "risk", "seed")}
    return Played(case, row, [named | bin_ for bin_ in tally] if case.study == "grid" else [])


def fragmentation(result: fs.Result) -> float:
    """Return the share of node-time, from the first submission to the last end, in which nodes are
    idle while jobs wait, of a run without failures."""
    outcome = result.outcome
    jobs, size = outcome.jobs, outcome.workload.jobs.size
    time = np.concatenate([jobs["submit"], jobs["first_start"], jobs["finish"]])
    none = np.zeros_like(size)
    busy = np.concatenate([none, size, -size])
    waits = np.concatenate([none + 1, none - 1, none])
    order = np.argsort(time, kind="stable")
    span = np.diff(time[order])
    free = outcome.parameters.nodes - np.cumsum(busy[order])[:-1]
    waiting = np.cumsum(waits[order])[:-1] > 0
    return float((span * free * waiting).sum() / (span.sum() * outcome.parameters.nodes))


def promise_tally(
    promise: npt.NDArray[np.float64],
    kept: npt.NDArray[np.bool_],
    struck: npt.NDArray[np.bool_],
    work: npt.NDArray[np.float64],
) -> list[dict[str, Any]]:
    """Return for each range of promised probability how many promises were made, their sum, how
    many were kept, how many of the jobs were struck by a failure (`struck`) and kept even so, and
    the node-seconds of all these jobs (`work`) and of those in time."""
    place = np.searchsorted(np.asarray(EDGES), promise, side="right") - 1
    rows = []
    for k, low in enumerate(EDGES):
        mine = place == k
        if mine.any():
            rows.append(
                {
                    "low": low,
                    "high": EDGES[min(k + 1, len(EDGES) - 1)],
                    "promises": int(mine.sum()),
                    "promised": float(promise[mine].sum()),
                    "kept": int(kept[mine].sum()),
                    "struck": int(struck[mine].sum()),
                    "struck_and_kept": int((struck & kept)[mine].sum()),
                    "work": int(work[mine].sum()),
                    "work_kept": int((work * kept)[mine].sum()),
                }
            )
    return rows


# Over all cores ----------------------------------------------------------------------------------


def play_all(
    cases: Sequence[Case],
    inputs: Inputs,
    *,
    workers: int = 0,
    on: str | None = None,
    folder: str | Path = ".",
    progress: Callable[[int, int], None] | None = None,
) -> list[Played]:
    """Play all cases, in their order, over `workers` processes (0: one for each core, if they are
    many), or on a cluster, with a folder that its workers see.

    The results do not depend on the number of workers. The first case is played here, so that
    kernels are compiled once and not by every worker.
    """
    played = []
    chosen = workers or (cores() if len(cases) >= WORTH_WORKERS else 1)
    played_there = over_workers(
        play_case, cases, inputs, workers=workers if on else chosen, chunk=CHUNK, on=on,
        folder=folder,
    )  # fmt: skip
    for result in played_there:
        played.append(result)
        if progress is not None:
            progress(len(played), len(cases))
    return played


def runs_table(played: Sequence[Played]) -> pl.DataFrame:
    """Return the tidy table of all runs: times in s, work in node-s, shares from 0 to 1."""
    return pl.DataFrame([p.row for p in played], infer_schema_length=None)


def promises_table(played: Sequence[Played]) -> pl.DataFrame:
    """Return the tidy table of all promises of the grid, counted by how high they were."""
    return pl.DataFrame([row for p in played for row in p.promises], infer_schema_length=None)
