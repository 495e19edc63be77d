"""Effective training time of jobs as they really ran, by size, beside what a model expects.

ETTR is productive time over available time. All runs of a job (it is requeued after a failure)
belong together; available is all time from when it could first start to its last end, waits
included; productive is the time of its runs less restarts, checkpoints and the work since the last
checkpoint of every run that was stopped. Accounting knows nothing of checkpoints: their interval,
cost and restart are taken as given.

Sources: Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters",
arXiv 2410.21680, Section 3; the model is `forestall.reliability.checkpoints.training`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess.goodput import (
    Assumed,
    Blocks,
    parts,
    ratio,
    stopped_from_outside,
    uncertain,
)
from forestall.prediction.assess.losses import exact_sums
from forestall.prediction.assess.panel import RedrawnEstimate, estimate
from forestall.reliability.checkpoints.training import TrainingTime, training_time
from forestall.reliability.history.rates import poisson_interval
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.run_ends import CHUNK, Ends

Short = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int8]

DAY: Final = 86_400
LONG_JOB: Final = DAY
"""Jobs that ran so long are compared with the model, as by Kokolis et al."""
CLASSES: Final = 33
"""Classes of sizes: up to 2^32."""


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

    size: Ints
    gpus: Ints
    first: Ints
    running: Ints
    available: Ints
    productive: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.size)

    def take(self, mask: Bools) -> JobRuns:
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


def job_runs(records: Accounting, assumed: Assumed, ends: Ends | None = None) -> JobRuns:
    """Return the jobs that ran at least 1 s on a known number of nodes; `ends` says how the runs
    ended, where that is known already.

    A run is stopped where it ended for one of `run_ends.INTERRUPTIONS`, or where the same job ran
    again after it. How else a job ended, well or not, is no matter here: ETTR says what
    interruptions cost, not what the job was worth.
    """
    made = list(job_pieces(records, assumed, Ends.of(records) if ends is None else ends))
    if not made:
        return JobRuns(*(np.zeros(0, dtype=np.int64) for _ in fields(JobRuns)))
    columns = ([getattr(piece, one.name) for piece in made] for one in fields(JobRuns))
    return JobRuns(*(np.concatenate(column) for column in columns))


def job_pieces(records: Accounting, assumed: Assumed, ends: Ends) -> Iterator[JobRuns]:
    """Yield the jobs of `job_runs` in order, in pieces that bound the memory it takes."""
    last = np.full(int(records.which.max(initial=-1)) + 1, -1, dtype=np.int32)
    for rows in _began(records):
        last[records.which[rows]] = rows  # of several the last is kept: runs of a job are in order
    # Runs that another one of their job follows are few.
    early = np.concatenate(
        [rows[last[records.which[rows]] != rows] for rows in _began(records)]
        or [np.zeros(0, dtype=np.int64)]
    )
    early = early[np.argsort(records.which[early], kind="stable")]
    whose = records.which[early]
    for low in range(0, len(last), CHUNK):
        some = last[low : low + CHUNK]
        there = some >= 0
        mine = slice(*np.searchsorted(whose, (low, low + CHUNK)).tolist())
        job = np.cumsum(there)[whose[mine] - low] - 1
        piece = _piece(records, assumed, ends, some[there], early[mine], job)
        ran = piece.running > 0
        yield piece if bool(ran.all()) else piece.take(ran)


def _began(records: Accounting) -> Iterator[Ints]:
    """Yield the rows of runs that started on a known number of nodes."""
    for low in range(0, len(records), CHUNK):
        rows = slice(low, low + CHUNK)
        yield low + np.flatnonzero((records.start[rows] < NEVER) & (records.nodes[rows] > 0))


def _piece(
    records: Accounting, assumed: Assumed, ends: Ends, last: Short, before: Ints, job: Ints
) -> JobRuns:
    """Return some jobs: `last` is the last run of each, `before` are all earlier runs, by job and
    in order, and `job` the place of the job of each of these."""
    running, productive, stops = _spent(records, assumed, ends, last)
    for total, more in zip(
        (running, productive, stops), _spent(records, assumed, ends, before), strict=True
    ):
        np.add.at(total, job, more)
    first = last.copy()
    first[job[::-1]] = before[::-1]
    submit, eligible = records.submit[first], records.eligible[first]
    ready = np.where(eligible >= 0, np.maximum(eligible, submit), submit)
    ready = np.minimum(ready, records.start[first])
    end = np.minimum(records.end[last], records.until)
    return JobRuns(
        records.nodes[last].astype(np.int64),
        records.gpus[last].astype(np.int64),
        ready,
        running,
        np.maximum(end - ready, running),
        productive,
        stops,
    )


def _spent(
    records: Accounting, assumed: Assumed, ends: Ends, rows: Short | Ints
) -> tuple[Ints, Ints, Ints]:
    """Return how long some runs took, how much of it was productive, s, and which were stopped, as
    1 or 0."""
    elapsed = ends.elapsed[rows]
    stopped = stopped_from_outside(ends.causes[rows]) | ends.again[rows]
    kept = parts(elapsed, records.attempt[rows], stopped, assumed).kept
    return elapsed, kept, stopped.astype(np.int64)


@dataclass(frozen=True)
class EttrModel:
    """What the model expects of jobs of a size.

    Attributes
    ----------
    time : its ETTR, without waits
    stops : how many failures it expects in the time in which they ran
    low, high : the exact Poisson interval of how many runs were stopped
    """

    time: TrainingTime
    stops: float
    low: float
    high: float

    @property
    def by_chance(self) -> bool:
        """Whether so many stops are no rarity where the model holds."""
        return self.low <= self.stops <= self.high


@dataclass(frozen=True)
class EttrClass:
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

    The intervals of `ettr` and `ettr_running` are never narrower than what the number of stops
    leaves open; see `widened`.
    """

    least: int
    most: int
    jobs: int
    stops: int
    node_seconds: int
    size: float
    ettr: RedrawnEstimate
    ettr_running: RedrawnEstimate
    mean: RedrawnEstimate
    model: EttrModel | None

    @property
    def label(self) -> str:
        """The sizes in words."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,}-{self.most:,}"

    @property
    def differs(self) -> bool | None:
        """Whether jobs did otherwise than the model expects: its ETTR lies outside of the interval,
        and its failures outside of the Poisson interval of the stops; None where one of them is
        missing."""
        if self.model is None or not np.isfinite(self.ettr_running.low):
            return None
        if self.model.by_chance:
            return False
        return not self.ettr_running.low <= self.model.time.exact <= self.ettr_running.high


def by_size(
    jobs: JobRuns,
    blocks: Blocks,
    weights: Floats,
    *,
    rate: float | None,
    assumed: Assumed,
    level: float = 0.95,
    gpus: bool = False,
) -> tuple[EttrClass, ...]:
    """Return the ETTR of jobs in classes of 1, 2, 3 to 4, 5 to 8, ... nodes, those with any job.

    Parameters
    ----------
    blocks, weights : weeks to draw anew, and how often each is drawn
    rate : failures a node-day, for the model; None: no model
    gpus : whether classes are of GPUs; jobs without any are left out, and there is no model
    """
    sums = Sums(CLASSES, blocks)
    sums.add(jobs.take(jobs.gpus > 0) if gpus else jobs, gpus=gpus)
    return sums.classes(weights, None if gpus else rate, assumed, level)


def whole(
    jobs: JobRuns, blocks: Blocks, weights: Floats, assumed: Assumed, level: float = 0.95
) -> EttrClass | None:
    """Return the ETTR of all jobs together, without a model; None without jobs."""
    sums = Sums(1, blocks)
    sums.add(jobs)
    return sums.whole(weights, assumed, level)


@dataclass(frozen=True)
class JobEttr:
    """ETTR of the jobs of some records: of all together, None without jobs; in classes by nodes,
    of all and of those that ran a day or more (beside the model); in classes by GPUs."""

    every: EttrClass | None
    classes: tuple[EttrClass, ...]
    long: tuple[EttrClass, ...]
    gpus: tuple[EttrClass, ...]


def study(
    records: Accounting,
    assumed: Assumed,
    blocks: Blocks,
    weights: Floats,
    *,
    rate: float | None,
    ends: Ends,
    level: float = 0.95,
) -> JobEttr:
    """Return `whole` and `by_size` of all jobs, without holding them all at once; parameters as
    there, `rate` is for the long jobs."""
    every, lasting = Sums(1, blocks), Sums(CLASSES, blocks)
    nodes, gpus = Sums(CLASSES, blocks), Sums(CLASSES, blocks)
    for jobs in job_pieces(records, assumed, ends):
        every.add(jobs)
        nodes.add(jobs)
        lasting.add(long_jobs(jobs))
        gpus.add(jobs.take(jobs.gpus > 0), gpus=True)
    return JobEttr(
        every.whole(weights, assumed, level),
        nodes.classes(weights, None, assumed, level),
        lasting.classes(weights, rate, assumed, level),
        gpus.classes(weights, None, assumed, level),
    )


class Sums:
    """Sums over jobs by class of size and block, int64 or float64[classes, blocks]."""

    def __init__(self, count: int, blocks: Blocks) -> None:
        self.count, self.blocks = count, blocks
        cells = count * blocks.count
        self.productive, self.running, self.available, self.jobs, self.stops = (
            np.zeros(cells, dtype=np.int64) for _ in range(5)
        )
        self.each, self.squares = np.zeros(cells), np.zeros(cells)
        self.least, self.most = np.iinfo(np.int64).max, 0

    def add(self, jobs: JobRuns, *, gpus: bool = False) -> None:
        """Take in some jobs, by their nodes or GPUs (all above 0), in one class where there is
        but one."""
        if not len(jobs):
            return
        cell = self.blocks.of(jobs.first)
        if self.count > 1:
            cell += _class_of(jobs.gpus if gpus else jobs.size) * self.blocks.count
        cells = len(self.jobs)
        for total, seconds in (
            (self.productive, jobs.productive),
            (self.running, jobs.running),
            (self.available, jobs.available),
        ):
            total += exact_sums(cell, jobs.size * seconds, cells)
        self.jobs += np.bincount(cell, minlength=cells)
        stopped = np.flatnonzero(jobs.stops)
        np.add.at(self.stops, cell[stopped], jobs.stops[stopped])
        # One after the other, so that pieces change nothing.
        np.add.at(self.each, cell, jobs.productive / jobs.available)
        squares = jobs.size.astype(np.float64) ** 2 * jobs.running
        self.squares += np.bincount(cell, weights=squares, minlength=cells)
        self.least = min(self.least, int(jobs.size.min()))
        self.most = max(self.most, int(jobs.size.max()))

    def whole(self, weights: Floats, assumed: Assumed, level: float) -> EttrClass | None:
        """Return the ETTR of all jobs of the only class; None without any."""
        assert self.count == 1, "several classes"
        if not self.most:
            return None
        return self._class(0, (self.least, self.most), weights, None, assumed, level)

    def classes(
        self, weights: Floats, rate: float | None, assumed: Assumed, level: float
    ) -> tuple[EttrClass, ...]:
        """Return the ETTR of the classes with any job; `rate` as in `by_size`."""
        there = np.flatnonzero(self.jobs.reshape(self.count, -1).any(axis=1)).tolist()
        ends = [(2 ** (k - 1) + 1 if k > 1 else 2**k, 2**k) for k in there]
        return tuple(
            self._class(k, one, weights, rate, assumed, level)
            for k, one in zip(there, ends, strict=True)
        )

    def _class(
        self,
        k: int,
        ends: tuple[int, int],
        weights: Floats,
        rate: float | None,
        assumed: Assumed,
        level: float,
    ) -> EttrClass:
        row = slice(k * self.blocks.count, (k + 1) * self.blocks.count)
        count, each = self.jobs[row], self.each[row]
        productive, running = self.productive[row], self.running[row]
        units, stops = int(running.sum()), int(self.stops[row].sum())
        size = float(self.squares[row].sum()) / units
        interval = tuple(float(end) for end in poisson_interval(stops, level))
        model = None
        if rate is not None and rate > 0:
            time = expected(max(round(size), 1), rate, assumed)
            model = EttrModel(time, rate * units / DAY, *interval)
        # What one stop more would cost: no more than a job had.
        lost = min(size * ((assumed.interval + assumed.cost) / 2 + assumed.restart),
                   units / int(count.sum()))  # fmt: skip
        more = (stops - interval[0]) * lost, (interval[1] - stops) * lost
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = (weights @ each) / (weights @ count.astype(np.float64))
        mean = estimate(float(each.sum() / count.sum()), draws, level, len(count))
        return EttrClass(
            *ends,
            int(count.sum()),
            stops,
            units,
            size,
            widened(productive, self.available[row], weights, level, more),
            widened(productive, running, weights, level, more),
            uncertain(mean),
            model,
        )


def widened(
    over: Ints, under: Ints, weights: Floats, level: float, more: tuple[float, float]
) -> RedrawnEstimate:
    """Return `over` / `under` with an interval by redrawn blocks that is no narrower than what
    would come of `more` productive time with fewer stops, and of less with more of them.

    Blocks with no stop, or one, do not tell how many others would have.
    """
    found = ratio(over, under, weights, level, flat=True)
    if not np.isfinite(found.low):
        return found
    gain, loss = more
    whole = int(under.sum())
    low, high = max(found.value - loss / whole, 0.0), min(found.value + gain / whole, 1.0)
    return RedrawnEstimate(
        found.value, min(found.low, low), max(found.high, high), found.draws, found.blocks
    )


def _class_of(size: Ints) -> Ints:
    """Return the k of each size with 2^(k - 1) < size <= 2^k."""
    return np.frexp(size - 1)[1].astype(np.int64)


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
