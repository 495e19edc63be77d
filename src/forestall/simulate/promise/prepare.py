"""From a job log and a failure log to the arrays that a run starts from; what is left out is
named."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from forestall._compile import records
from forestall.decide.promise.checkpoint_kernels import (
    CHECKPOINT_ALL,
    CHECKPOINT_NONE,
    CHECKPOINT_RISK,
)
from forestall.decide.promise.search_state import LEAST_RISKY, LOWEST
from forestall.engine.promise.state import CONSERVATIVE, EASY, FCFS, PROMISE, Rules
from forestall.model.cleaning import Cleaning
from forestall.model.errors import InputError, ParameterError
from forestall.model.failures import Failures
from forestall.model.jobs import Jobs
from forestall.model.units import MAX_SECONDS
from forestall.predict.foreseen_kernels import FORESEEN, Foreseen
from forestall.predict.trace import TracePredictor
from forestall.simulate.promise.parameters import Parameters
from forestall.simulate.promise.world_kernels import MAX_ORDER
from forestall.traces.streams import draw_detectability

POLICIES = {"promise": PROMISE, "fcfs": FCFS, "easy": EASY, "conservative": CONSERVATIVE}
CHECKPOINTS = {
    "none": CHECKPOINT_NONE,
    "risk": CHECKPOINT_RISK,
    "periodic": CHECKPOINT_ALL,
    "daly": CHECKPOINT_ALL,
}
PLACEMENTS = {"first": LOWEST, "fault-aware": LEAST_RISKY}
DEFAULT_DOWNTIME = 120


class Machine(Protocol):
    """What failures are prepared by: parameters of any model."""

    @property
    def nodes(self) -> int: ...
    @property
    def downtime(self) -> int | Literal["log"] | None: ...
    @property
    def repeat_failures(self) -> bool: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class Workload:
    """Jobs as they will be simulated. `estimate` is what reservations are computed from, s;
    `interval` the seconds between checkpoint requests (int64[n]); `cleaning` what was left out."""

    jobs: Jobs
    estimate: npt.NDArray[np.int64]
    interval: npt.NDArray[np.int64]
    cleaning: Cleaning


def prepare_failures(failures: Failures, parameters: Machine) -> Failures:
    """Return the failures of the first N nodes with every downtime and detectability known.

    Downtimes: the parameter where it is a number; the log's own where it is "log", or None and the
    log's are no repair times; 120 s for the rest.
    """
    check_times("a failure's time", failures.time, 1 - MAX_SECONDS)
    drawn = draw_detectability(failures, parameters.seed)
    inside = drawn.node < parameters.nodes
    outside = np.unique(drawn.node[~inside])
    cleaning = drawn.cleaning.plus(
        "nodes_beyond_machine",
        f"nodes of the failure log beyond the first {parameters.nodes} "
        f"({int((~inside).sum())} failures)",
        "left out",
        outside.tolist(),
    )
    kept = drawn.take(inside)
    asked = parameters.downtime
    if isinstance(asked, int):
        downtime = np.full(len(kept), asked, dtype=np.int64)
    elif asked == "log" or not kept.repairs:
        downtime = np.where(kept.downtime > 0, kept.downtime, DEFAULT_DOWNTIME)
    else:
        downtime = np.full(len(kept), DEFAULT_DOWNTIME, dtype=np.int64)
    if parameters.repeat_failures and len(kept) and kept.span <= 0:
        raise ParameterError("repeat_failures", True, "a failure log that spans some time")
    return replace(kept, downtime=downtime, cleaning=cleaning)


def check_times(name: str, times: npt.NDArray[np.int64], low: int) -> None:
    """Raise ParameterError for times that keys of events cannot hold, or -1 stands for in
    decisions."""
    bad = times[(times < low) | (times >= MAX_SECONDS)]
    if len(bad):
        raise ParameterError(name, int(bad[0]), f"{low} to {MAX_SECONDS - 1} s")


def prepare_jobs(jobs: Jobs, failures: Failures, parameters: Parameters) -> Workload:
    """Return the jobs that can be simulated; the others are counted and named by kind.

    Raises InputError where none is left.
    """
    check_times("a submit time", jobs.submit, 0)
    size = f"jobs larger than the {parameters.nodes} nodes"
    cleaning, keep = sieve(jobs, parameters.nodes, size)
    kept = jobs.take(keep)
    if len(kept) == 0:
        raise nothing_left(jobs, cleaning)
    if len(kept) >= MAX_ORDER:
        raise InputError(f"{jobs.source}: {len(kept)} jobs are too many; at most {MAX_ORDER - 1}")
    runtime, estimate, cleaning = _durations(kept, parameters, cleaning)
    interval = _intervals(kept.size, failures, parameters)
    return Workload(replace(kept, runtime=runtime), estimate, interval, cleaning)


def sieve(jobs: Jobs, most: int, too_large: str) -> tuple[Cleaning, npt.NDArray[np.bool_]]:
    """Return what is left out, and which jobs are kept: not those without run time or size, nor
    those larger than `most`, which are called `too_large`."""
    cleaning = jobs.cleaning
    keep = np.ones(len(jobs), dtype=np.bool_)
    kinds = (
        ("no_run_time", "jobs without run time", jobs.runtime < 0),
        ("zero_run_time", "jobs that ran 0 s", jobs.runtime == 0),
        ("no_size", "jobs without size", jobs.size <= 0),
        ("larger_than_machine", too_large, jobs.size > most),
    )
    for kind, text, mask in kinds:
        fresh = mask & keep
        cleaning = cleaning.plus(kind, text, "left out", jobs.job[fresh].tolist())
        keep &= ~mask
    return cleaning, keep


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


def nothing_left(jobs: Jobs, cleaning: Cleaning) -> InputError:
    """Return the error that no job is left, with what became of them."""
    why = ", ".join(one.counted for one in cleaning.remarks if one.action == "left out")
    text = f"{jobs.source or 'jobs'}: no job can be simulated out of {len(jobs)}"
    return InputError(f"{text}: left out {why}" if why else text)


def raised(jobs: Jobs, least: int, cleaning: Cleaning) -> tuple[npt.NDArray[np.int64], Cleaning]:
    """Return run times of at least `least` s, and which were raised to that."""
    short = jobs.runtime < least
    text = f"jobs shorter than {least} s, raised to it"
    cleaning = cleaning.plus("raised_to_min_runtime", text, "changed", jobs.job[short].tolist())
    return np.maximum(jobs.runtime, least), cleaning


def node_mtbf(failures: Failures, nodes: int) -> float:
    """Return a node's mean time between failures over the log, s; inf where there are no
    failures."""
    return failures.span * nodes / len(failures) if len(failures) else math.inf


def _intervals(
    size: npt.NDArray[np.int64], failures: Failures, parameters: Parameters
) -> npt.NDArray[np.int64]:
    """Return the seconds between checkpoint requests of each job; Daly's first order for "daly"."""
    if parameters.checkpoint != "daly":
        return np.full(len(size), parameters.checkpoint_interval, dtype=np.int64)
    overhead = parameters.checkpoint_overhead
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
        policy=int(POLICIES[parameters.policy]),
        checkpoint=int(CHECKPOINTS[parameters.checkpoint]),
        placement=int(PLACEMENTS[parameters.placement]),
        compression=int(parameters.compression),
        requeue_original=int(parameters.requeue == "original"),
        placed=int(placed),
        overhead=parameters.checkpoint_overhead,
        wanted=parameters.risk,
    )


def expected_downtime(parameters: Machine) -> int:
    """Return the one downtime, s, that stands for all foreseen failures where a predictor does not
    know how long each outage lasts."""
    asked = parameters.downtime
    return asked if isinstance(asked, int) else DEFAULT_DOWNTIME


def foreseen_by(predictor: TracePredictor | None, failures: Failures, period: int) -> Foreseen:
    """Return what a trace predictor foresees of the failures, as arrays for compiled code."""
    if predictor is None or len(failures) == 0:
        return _foreseen(failures.take(np.zeros(len(failures), dtype=np.bool_)), 0)
    return _foreseen(failures.take(failures.detectability <= predictor.accuracy), period)


def _foreseen(failures: Failures, period: int) -> Foreseen:
    table: npt.NDArray[Any] = records(len(failures), FORESEEN)
    table["time"], table["node"] = failures.time, failures.node
    table["until"] = failures.time + failures.downtime
    table["probability"] = failures.detectability
    longest = int(failures.downtime.max()) if len(failures) else 0
    return Foreseen(table, period, longest)
