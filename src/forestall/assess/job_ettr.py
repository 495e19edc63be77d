"""Effective training time of jobs as they really ran, by size, beside what a model expects.

ETTR is productive time over available time. All runs of a job (it is requeued after a failure)
belong together; available is all time from when it could first start to its last end, waits
included; productive is the time of its runs less restarts, checkpoints and the work since the last
checkpoint of every run that was stopped. Accounting knows nothing of checkpoints: their interval,
cost and restart are taken as given.

Sources: Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters",
arXiv 2410.21680, Section 3; the model is `forestall.reliability.training`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.assess.goodput import (
    CHUNK,
    Assumed,
    Blocks,
    parts,
    ratio,
    stopped_from_outside,
)
from forestall.assess.losses import exact_sums
from forestall.assess.panel import Estimate, estimate
from forestall.assess.run_ends import cause, causes_of, followed
from forestall.model.accounting import Accounting
from forestall.model.job_records import NEVER
from forestall.reliability.training import TrainingTime, training_time

Long = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]

DAY: Final = 86_400
LONG_JOB: Final = DAY
"""Jobs that ran so long are compared with the model, as by Kokolis et al."""


@dataclass(frozen=True)
class JobRuns:
    """Jobs that started, each with all its runs; int64[m] unless said otherwise.

    Attributes
    ----------
    size : nodes of its last run
    gpus : of its last run, -1 where not told
    first : when it could first start
    running : s in which it ran
    available : s from when it could first start to its last end (or that of the records)
    productive : s less restarts, checkpoints and what was lost
    stops : runs of it that were stopped: from outside, or to be followed by another
    """

    size: Long
    gpus: Long
    first: Long
    running: Long
    available: Long
    productive: Long
    stops: Long

    def __len__(self) -> int:
        return len(self.size)

    def take(self, mask: Mask) -> JobRuns:
        """Return the jobs where the mask holds."""
        return JobRuns(
            *(
                one[mask]
                for one in (
                    self.size, self.gpus, self.first, self.running, self.available,
                    self.productive, self.stops,
                )
            )
        )  # fmt: skip


def job_runs(records: Accounting, assumed: Assumed, causes: Codes | None = None) -> JobRuns:
    """Return the jobs that ran at least 1 s on a known number of nodes.

    A run is stopped where it ended for one of `run_ends.INTERRUPTIONS`, or where the same job ran
    again after it. How else a job ended, well or not, is no matter here: ETTR says what
    interruptions cost, not what the job was worth.
    """
    why = causes_of(records) if causes is None else causes
    stopped = stopped_from_outside(why) | followed(records)
    stopped &= why != cause("never_started")
    began = np.flatnonzero((records.start < NEVER) & (records.nodes > 0))
    # Jobs are numbered anew, by their first run here.
    count = int(records.which.max(initial=-1)) + 1
    there = np.zeros(count, dtype=np.bool_)
    there[records.which[began]] = True
    number = np.cumsum(there) - 1
    job = number[records.which[began]]
    jobs = int(there.sum())
    last = np.zeros(jobs, dtype=np.int64)
    last[job] = began  # of several the last is kept: runs of a job are in order
    first = np.zeros(jobs, dtype=np.int64)
    first[job[::-1]] = began[::-1]
    running = exact_sums(job, records.elapsed[began], jobs)
    ready = records.start[first] - records.wait[first]
    end = np.minimum(records.end[last], records.until)
    found = JobRuns(
        records.nodes[last].astype(np.int64),
        records.gpus[last].astype(np.int64),
        ready,
        running,
        np.maximum(end - ready, running),
        exact_sums(job, _kept(records, began, stopped, assumed), jobs),
        np.bincount(job, weights=stopped[began], minlength=jobs).astype(np.int64),
    )
    return found if bool((running > 0).all()) else found.take(running > 0)


def _kept(records: Accounting, rows: Long, stopped: Mask, assumed: Assumed) -> Long:
    """Return the productive seconds of some runs, in pieces that bound the memory it takes."""
    found = np.empty(len(rows), dtype=np.int64)
    for low in range(0, len(rows), CHUNK):
        some = rows[low : low + CHUNK]
        found[low : low + CHUNK] = parts(records.take(some), stopped[some], assumed).kept
    return found


@dataclass(frozen=True)
class SizeClass:
    """ETTR of jobs of a size.

    Attributes
    ----------
    least, most : nodes (or GPUs) of the class, both included
    jobs, stops : number of jobs, and of their runs that were stopped
    node_seconds : in which they ran
    size : mean number of nodes, weighted by node-seconds
    ettr : with all waits, weighted by node-seconds (productive over available)
    ettr_running : without any wait (productive over running)
    mean : plain mean over jobs of the ETTR with all waits
    model : what the model expects without waits; None without a failure rate
    """

    least: int
    most: int
    jobs: int
    stops: int
    node_seconds: int
    size: float
    ettr: Estimate
    ettr_running: Estimate
    mean: Estimate
    model: TrainingTime | None

    @property
    def label(self) -> str:
        """The sizes in words."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,}-{self.most:,}"

    @property
    def differs(self) -> bool | None:
        """Whether the model lies outside the interval; None where one of them is missing."""
        if self.model is None or not np.isfinite(self.ettr_running.low):
            return None
        return not self.ettr_running.low <= self.model.exact <= self.ettr_running.high


def by_size(
    jobs: JobRuns,
    blocks: Blocks,
    weights: Float,
    *,
    rate: float | None,
    assumed: Assumed,
    level: float = 0.95,
    gpus: bool = False,
) -> tuple[SizeClass, ...]:
    """Return the ETTR of jobs in classes of 1, 2, 3 to 4, 5 to 8, ... nodes, those with any job.

    Parameters
    ----------
    blocks, weights : weeks to draw anew, and how often each is drawn
    rate : failures a node-day, for the model; None: no model
    gpus : whether classes are of GPUs; jobs without any are left out, and there is no model
    """
    if gpus:
        jobs = jobs.take(jobs.gpus > 0)
    code = np.searchsorted(2 ** np.arange(32), jobs.gpus if gpus else jobs.size, "left")
    sums = _sums(jobs, code, blocks)
    made = []
    for k in np.flatnonzero(sums.jobs.sum(axis=1)).tolist():
        ends = (2 ** (k - 1) + 1 if k > 1 else 2**k, 2**k)
        made.append(_class(sums, k, ends, weights, None if gpus else rate, assumed, level))
    return tuple(made)


def whole(
    jobs: JobRuns, blocks: Blocks, weights: Float, assumed: Assumed, level: float = 0.95
) -> SizeClass | None:
    """Return the ETTR of all jobs together, without a model; None without jobs."""
    if not len(jobs):
        return None
    sums = _sums(jobs, np.zeros(len(jobs), dtype=np.int64), blocks)
    ends = int(jobs.size.min()), int(jobs.size.max())
    return _class(sums, 0, ends, weights, None, assumed, level)


@dataclass(frozen=True)
class _Sums:
    """Sums over jobs by class and block, [classes, blocks] each, or by class alone."""

    productive: Long
    running: Long
    available: Long
    each: Float
    jobs: Long
    stops: Long
    squares: Float


def _sums(jobs: JobRuns, code: Long, blocks: Blocks) -> _Sums:
    classes = int(code.max(initial=0)) + 1
    cell = code * blocks.count + blocks.of(jobs.first)
    cells, shape = classes * blocks.count, (classes, blocks.count)
    productive, running, available = (
        exact_sums(cell, jobs.size * one, cells).reshape(shape)
        for one in (jobs.productive, jobs.running, jobs.available)
    )
    squares = jobs.size.astype(np.float64) ** 2 * jobs.running
    each = np.bincount(cell, weights=jobs.productive / jobs.available, minlength=cells)
    return _Sums(
        productive,
        running,
        available,
        each.reshape(shape).astype(np.float64),
        np.bincount(cell, minlength=cells).reshape(shape),
        exact_sums(code, jobs.stops, classes),
        np.bincount(code, weights=squares, minlength=classes).astype(np.float64),
    )


def _class(
    sums: _Sums,
    k: int,
    ends: tuple[int, int],
    weights: Float,
    rate: float | None,
    assumed: Assumed,
    level: float,
) -> SizeClass:
    units, count = int(sums.running[k].sum()), sums.jobs[k]
    size = float(sums.squares[k]) / units
    model = None
    if rate is not None and rate > 0:
        model = expected(max(round(size), 1), rate, assumed)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (weights @ sums.each[k]) / (weights @ count.astype(np.float64))
    mean = estimate(float(sums.each[k].sum() / count.sum()), draws, level, len(count))
    return SizeClass(
        *ends,
        int(count.sum()),
        int(sums.stops[k]),
        units,
        size,
        ratio(sums.productive[k], sums.available[k], weights, level),
        ratio(sums.productive[k], sums.running[k], weights, level),
        mean,
        model,
    )


def expected(nodes: int, rate: float, assumed: Assumed) -> TrainingTime:
    """Return what the model expects of a long job without waits.

    Parameters
    ----------
    rate : failures a node-day, above 0
    """
    return training_time(nodes, rate, assumed.cost, assumed.restart, interval=assumed.interval)


def long_jobs(jobs: JobRuns) -> JobRuns:
    """Return the jobs that ran at least a day."""
    return jobs.take(jobs.running >= LONG_JOB)


@dataclass(frozen=True)
class FailureRate:
    """How often nodes fail.

    Attributes
    ----------
    per_node_day, low, high : failures a node-day, with the exact interval of a Poisson count
    failures, node_days : what it is from
    source : in words
    """

    per_node_day: float
    low: float
    high: float
    failures: int
    node_days: float
    source: str


def failure_rate(
    failures: int, node_days: float, source: str, level: float = 0.95
) -> FailureRate | None:
    """Return the rate; None without exposure."""
    from forestall.reliability.rates import poisson_interval

    if not node_days > 0:
        return None
    low, high = (float(end) / node_days for end in poisson_interval(failures, level))
    return FailureRate(failures / node_days, low, high, failures, node_days, source)


def rate_of_runs(records: Accounting, causes: Codes, level: float = 0.95) -> FailureRate | None:
    """Return the rate at which runs were ended by failures of their nodes, over the node-days of
    all runs; None where no run's end is told."""
    if not bool(np.any((causes != cause("unknown_end")) & (causes != cause("never_started")))):
        return None
    ends = int((causes == cause("node_failure")).sum())
    days = int(records.node_seconds.sum()) / DAY
    return failure_rate(ends, days, "runs that a node failure ended", level)
