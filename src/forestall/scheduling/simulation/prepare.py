"""From a job log and a failure log to the arrays that a run starts from; what is left out is
named."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import InputError
from forestall.core.model.failures import Failures, PlannedOutages
from forestall.core.model.jobs import Jobs
from forestall.core.model.units import MAX_SECONDS
from forestall.core.world.jobs import check_times, nothing_left, raised, sieve
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.engine.plugin import row_of
from forestall.scheduling.engine.state import Rules
from forestall.scheduling.rules.checkpoint_kernels import (
    CHECKPOINT_ALL,
    CHECKPOINT_NONE,
    CHECKPOINT_RISK,
)
from forestall.scheduling.rules.search_state import (
    AT_A_SWITCH,
    IN_A_ROW,
    LEAST_RISKY,
    LEAST_TOGETHER,
    LOWEST,
    NO_MATTER,
    Near,
    new_near,
)
from forestall.scheduling.simulation.checkpoint_costs import pauses_of
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.world_kernels import MAX_ORDER

CHECKPOINTS = {
    "none": CHECKPOINT_NONE,
    "risk": CHECKPOINT_RISK,
    "periodic": CHECKPOINT_ALL,
    "daly": CHECKPOINT_ALL,
}
PLACEMENTS = {"first": LOWEST, "fault-aware": LEAST_RISKY, "least": LEAST_TOGETHER}


@dataclass(frozen=True)
class Workload:
    """Jobs as they will be simulated. `estimate` is what reservations are computed from, s;
    `interval` the seconds between checkpoint requests; `pause` what a checkpoint takes, and
    `recovery` what going on from one takes, s (int64[n]); `cleaning` what was left out."""

    jobs: Jobs
    estimate: npt.NDArray[np.int64]
    interval: npt.NDArray[np.int64]
    pause: npt.NDArray[np.int64]
    recovery: npt.NDArray[np.int64]
    cleaning: Cleaning

    def take(self, which: npt.NDArray[np.bool_]) -> Workload:
        """Return the workload of some of the jobs."""
        told = ("estimate", "interval", "pause", "recovery")
        return replace(
            self, jobs=self.jobs.take(which), **{name: getattr(self, name)[which] for name in told}
        )


def prepare_jobs(jobs: Jobs, failures: Failures, parameters: Parameters) -> Workload:
    """Return the jobs that can be simulated; the others are counted and named by kind.

    Raises InputError where none is left.
    """
    check_times("a submit time", jobs.submit, 0)
    beside = " beside the spares" if parameters.spares else ""
    size = f"jobs larger than the {parameters.ordinary} nodes{beside}"
    cleaning, keep = sieve(jobs, parameters.ordinary, size)
    kept = jobs.take(keep)
    if len(kept) == 0:
        raise nothing_left(jobs, cleaning)
    if len(kept) >= MAX_ORDER:
        raise InputError(f"{jobs.source}: {len(kept)} jobs are too many; at most {MAX_ORDER - 1}")
    runtime, estimate, cleaning = _durations(kept, parameters, cleaning)
    pause, recovery = pauses_of(kept.size, parameters)
    interval = _intervals(kept.size, pause, failures, parameters)
    given = replace(kept, runtime=runtime)
    return Workload(given, estimate, interval, pause, recovery, cleaning)


def _durations(
    jobs: Jobs, parameters: Parameters, cleaning: Cleaning
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Cleaning]:
    runtime, cleaning = raised(jobs, parameters.min_runtime, cleaning)
    if parameters.estimates == "runtime":
        return runtime, runtime, cleaning
    unknown = jobs.estimate <= 0
    cleaning = cleaning.plus(
        "no_requested_time",
        "jobs without requested time; the run time stands for it",
        "changed",
        jobs.job[unknown].tolist(),
    )
    estimate = np.where(unknown, runtime, jobs.estimate)
    over = runtime > estimate
    if parameters.overrun == "extend":
        text = "jobs longer than requested; the run time stands for it"
        cleaning = cleaning.plus("overrun_extended", text, "changed", jobs.job[over].tolist())
        return runtime, np.maximum(estimate, runtime), cleaning
    text = "jobs longer than requested, cut at the request"
    cleaning = cleaning.plus("overrun_cut", text, "changed", jobs.job[over].tolist())
    return np.minimum(runtime, estimate), estimate, cleaning


def node_mtbf(failures: Failures, nodes: int) -> float:
    """Return a node's mean time between failures over the log, s; inf where there are no
    failures."""
    return failures.span * nodes / len(failures) if len(failures) else math.inf


def _intervals(
    size: npt.NDArray[np.int64],
    overhead: npt.NDArray[np.int64],
    failures: Failures,
    parameters: Parameters,
) -> npt.NDArray[np.int64]:
    """Return the seconds between checkpoint requests of each job; Daly's first order for "daly"."""
    if parameters.checkpoint != "daly":
        return np.full(len(size), parameters.checkpoint_interval, dtype=np.int64)
    mtbf = parameters.mtbf or node_mtbf(failures, parameters.nodes)
    job_mtbf = mtbf / size
    with np.errstate(invalid="ignore"):
        best = np.where(
            overhead < job_mtbf / 2, np.sqrt(2 * overhead * job_mtbf) - overhead, job_mtbf
        )
    far = MAX_SECONDS // 4
    chosen: npt.NDArray[np.int64] = np.clip(np.nan_to_num(best, posinf=far), 1, far).astype(
        np.int64
    )
    return chosen


def rules_of(parameters: Parameters, *, placed: bool = True) -> Rules:
    """Return what the engine needs to know of the parameters."""
    assert parameters.checkpoint is not None, "Parameters fills in the default of its policy"
    assert parameters.placement is not None, "Parameters fills in the default of its policy"
    return Rules(
        policy=parameters.entry.code,
        checkpoint=int(CHECKPOINTS[parameters.checkpoint]),
        placement=int(PLACEMENTS.get(parameters.placement, LOWEST)),  # others: of shared nodes
        compression=int(parameters.compression),
        requeue_original=int(parameters.requeue == "original"),
        placed=int(placed),
        overhead=parameters.checkpoint_overhead,
        wanted=parameters.risk,
    )


def near_of(parameters: Parameters) -> Near:
    """Return which nodes jobs have rather. Raises ParameterError for a topology of another
    machine."""
    topology, nodes = parameters.near, parameters.nodes
    if topology is None:
        return NO_MATTER
    slack = parameters.topology_slack or 0.0
    if topology.contiguous:
        empty = np.zeros((0, (nodes + 63) // 64), dtype=np.uint64)
        return new_near(int(IN_A_ROW), slack, empty, [0] * nodes + [1])
    units = topology.units(nodes)
    words = (nodes + 63) // 64
    rows = np.array([row_of(unit.array(), words) for _, unit in units])
    return new_near(int(AT_A_SWITCH), slack, rows, [level for level, _ in units])


def foreseen_by(predictor: TracePredictor | None, failures: Failures, period: int) -> Foreseen:
    """Return what a trace predictor foresees of the failures, as arrays for compiled code."""
    if predictor is None or len(failures) == 0:
        return _foreseen(failures.take(np.zeros(len(failures), dtype=np.bool_)), 0)
    return _foreseen(failures.take(failures.detectability <= predictor.accuracy), period)


def planned_by(outages: PlannedOutages) -> Foreseen:
    """Return planned outages as arrays for compiled code, each of probability 1."""
    certain = replace(Failures.none(), downtime=outages.until - outages.time, time=outages.time,
                      node=outages.node, detectability=np.ones(len(outages)))  # fmt: skip
    return _foreseen(certain, 0)


def _foreseen(failures: Failures, period: int) -> Foreseen:
    table: npt.NDArray[Any] = records(len(failures), FORESEEN)
    table["time"], table["node"] = failures.time, failures.node
    table["until"] = failures.time + failures.downtime
    table["probability"] = failures.detectability
    longest = int(failures.downtime.max()) if len(failures) else 0
    return Foreseen(table, period, longest)
