"""The inputs: a year of jobs of many tasks, and failures, real ones or with their statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from studies.kit.files import found_in

LANL_FILE: Final = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
SYSTEM, FROM, TRAINED_FROM, TRAINING_DAYS = 20, "2004-09-01", "2003-09-01", 366
NODES, PROCESSORS = 256, 4
FAILURES: Final = 307
DAY, HOUR = 86_400, 3600
REPAIR: Final = fs.LognormalTimes(2.09 * HOUR, 0.717 * HOUR)
"""Mean and median of the 307 real repairs."""
DAYS: Final = 365
JOBS: Final = 112_454
"""Of a year, as in the paper."""


@dataclass(frozen=True)
class Real:
    """The real failures: those of the paper's year, and with the year before it for training.

    Attributes
    ----------
    year : 2004-09-01 to 2005-08-31, seconds since its begin
    both : 2003-09-01 to 2005-08-31, on the same clock: the first year is below 0
    """

    year: fs.Failures
    both: fs.Failures


def read_real(data: Path) -> Real:
    """Read the failures of LANL's system 20 below the folder `data`.

    Raises TraceError where the file is missing or is not what it should be.
    """
    path = found_in(data, LANL_FILE)
    year = fs.read_failures(path, system=SYSTEM, start=FROM, days=DAYS)
    if len(year) != FAILURES or int(year.node.max()) >= NODES:
        text = f"{len(year)} failures of system {SYSTEM} in {DAYS} days from {FROM}"
        raise fs.errors.TraceError(
            path, f"{text}; expected {FAILURES}, all on nodes 0 to {NODES - 1}"
        )
    both = fs.read_failures(path, system=SYSTEM, start=TRAINED_FROM, days=TRAINING_DAYS + DAYS)
    return Real(_bare(year), _bare(replace(both, time=both.time - TRAINING_DAYS * DAY)))


def _bare(failures: fs.Failures) -> fs.Failures:
    """Return the failures of the 256 nodes without what nothing here asks for."""
    return replace(
        failures.take(failures.node < NODES),
        kind=None,
        names=None,
        nodes=NODES,
        service_start=None,
        service_end=None,
        service_new=None,
    )


@lru_cache(maxsize=4)
def year_of_jobs(seed: int, load: float, days: int, requests: str) -> fs.Jobs:
    """Return the jobs of a year, or of fewer days, at the paper's rate of submission.

    `requests` is "drawn"; "48 h", where jobs beyond 48 h ask for less than 5 min more than they
    take; or "slack", where none is told, and the deadline is so many run times.
    """
    jobs = fs.generate_task_jobs(
        seed,
        count=round(JOBS * days / DAYS),
        days=days,
        load=load,
        long_limit=None if requests == "48 h" else 28.0,
    )
    if requests == "slack":
        jobs = replace(jobs, estimate=np.full(len(jobs), -1))
    return jobs


@lru_cache(maxsize=4)
def year_of_failures(seed: int, rate: float, days: int) -> fs.Failures:
    """Return failures at `rate` times the paper's: 307 a year on 256 nodes, gamma-distributed rates
    of the nodes, Weibull gaps, and repair times like the real ones."""
    found = fs.generate_failures(NODES, days, seed, rate_per_year=FAILURES * rate, repair=REPAIR)
    return replace(found, kind=None)


@dataclass(frozen=True)
class Character:
    """What the jobs of a year are like, or their mean over seeds; times in h, shares from 0 to
    1."""

    jobs: float
    tasks: float
    mean_size: float
    serial: float
    largest: float
    mean_runtime: float
    within_9: float
    above_week: float
    work_above_48: float
    median_slack: float


def character(jobs: fs.Jobs) -> Character:
    """Return what the jobs are like."""
    hours = jobs.runtime / HOUR
    work = hours * jobs.size
    return Character(
        len(jobs),
        float(jobs.size.sum()),
        float(jobs.size.mean()),
        float((jobs.size == 1).mean()),
        float((jobs.size == NODES).sum()),
        float(hours.mean()),
        float((hours <= 9).mean()),
        float((hours > 168).mean()),
        float(work[hours > 48].sum() / work.sum()),
        float(np.median(jobs.estimate / jobs.runtime)),
    )


@dataclass(frozen=True)
class FailureCharacter:
    """What a year of failures is like; repairs in h, `quarter` the share of the failures that the
    quarter of the nodes with most of them has."""

    failures: float
    nodes: float
    mean_repair: float
    median_repair: float
    quarter: float


def failure_character(failures: fs.Failures) -> FailureCharacter:
    """Return what the failures are like."""
    count = np.bincount(failures.node, minlength=NODES)
    most = np.sort(count)[-NODES // 4 :]
    return FailureCharacter(
        len(failures),
        float((count > 0).sum()),
        float(failures.downtime.mean()) / HOUR,
        float(np.median(failures.downtime)) / HOUR,
        float(most.sum() / max(len(failures), 1)),
    )


def worst_quarter(failures: fs.Failures) -> npt.NDArray[np.float64]:
    """Return float64[256]: 1 for the 64 nodes with most failures, 0 for the others; nodes that tie
    for the last places share them, so that no node number is preferred."""
    count = np.bincount(failures.node, minlength=NODES)
    places = NODES // 4
    last = np.sort(count)[-places]
    above, tied = count > last, count == last
    weight: npt.NDArray[np.float64] = above + tied * ((places - above.sum()) / tied.sum())
    return weight
