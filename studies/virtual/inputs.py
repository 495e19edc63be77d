"""The inputs: a year of jobs of many tasks, and failures, real ones or with their statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

import forestall as fs
from studies.kit.files import found_in
from studies.kit.text import share
from studies.virtual.study import DAYS, Plan

LANL_FILE: Final = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
SYSTEM, FROM, TRAINED_FROM, TRAINING_DAYS = 20, "2004-09-01", "2003-09-01", 366
BEGIN: Final = 1_094_018_400
"""Unix s of the midnight with which that day began at Los Alamos (UTC - 6 h)."""
NODES, PROCESSORS = 256, 4
FAILURES: Final = 307
DAY, HOUR = 86_400, 3600
REPAIR: Final = fs.LognormalTimes(2.09 * HOUR, 0.717 * HOUR)
"""Mean and median of the 307 real repairs."""
JOBS: Final = 112_454
"""Of a year, as in the paper."""
whole_share: Final = partial(share, digits=0)


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


class Logs(NamedTuple):
    """What LANL published: failures, and the jobs of the paper's year where they are at hand."""

    real: Real
    jobs: fs.Jobs | None


def read_logs(data: Path | None, plan: Plan, usage: Path | None = None) -> Logs | None:
    """Read the real logs: failures below the folder `data`, jobs from the file `usage`; they are
    for whole years only.

    Raises TraceError where a file is missing or is not what it should be, ParameterError for jobs
    without failures or for a part of the year.
    """
    whole = plan.days == DAYS
    if usage is not None and (data is None or not whole):
        allowed = "the log of a whole year, with --data for its failures and without --quick"
        raise fs.errors.ParameterError("--usage", str(usage), allowed)
    if data is None or not whole:
        return None
    return Logs(read_real(data), None if usage is None else read_usage(usage))


def read_usage(path: Path) -> fs.Jobs:
    """Read the jobs that were submitted in the paper's year, on the clock of the failures.

    Raises TraceError for another log, or one without jobs of that year.
    """
    jobs = fs.read_jobs(path, processors_per_node=PROCESSORS)
    if jobs.epoch is None:
        raise fs.errors.TraceError(
            path, "tells no dates; expected LANL's usage log (LA-UR-06-0803)"
        )
    submit = jobs.submit + jobs.epoch - BEGIN
    mine = (submit >= 0) & (submit < DAYS * DAY)
    if not mine.any():
        raise fs.errors.TraceError(path, f"has no job submitted in the {DAYS} days from {FROM}")
    return replace(jobs, submit=submit, epoch=BEGIN).take(mine)


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


class Trait(NamedTuple):
    """What tells jobs, or failures, of one seed from those of another: its name in a table, how it
    is measured, and how it is shown."""

    head: str
    measure: Callable[[Any], float]
    shown: Callable[[float], str]


def _work_in_long_jobs(jobs: fs.Jobs) -> float:
    hours = jobs.runtime / HOUR
    work = hours * jobs.size
    return float(work[hours > 48].sum() / work.sum())


OF_JOBS: Final = {
    "jobs": Trait("Jobs", len, "{:,.0f}".format),
    "tasks": Trait("Tasks", lambda jobs: jobs.size.sum(), "{:,.0f}".format),
    "mean_size": Trait("Mean tasks a job", lambda jobs: jobs.size.mean(), "{:.2f}".format),
    "serial": Trait("One task", lambda jobs: (jobs.size == 1).mean(), whole_share),
    "largest": Trait("Jobs of 256 tasks", lambda jobs: (jobs.size == NODES).sum(), "{:.0f}".format),
    "mean_runtime": Trait(
        "Mean run time", lambda jobs: (jobs.runtime / HOUR).mean(), "{:.2f} h".format
    ),
    "within_9": Trait("Within 9 h", lambda jobs: (jobs.runtime / HOUR <= 9).mean(), share),
    "above_week": Trait(
        "Above a week", lambda jobs: (jobs.runtime / HOUR > 168).mean(), partial(share, digits=2)
    ),
    "work_above_48": Trait("Work in jobs above 48 h", _work_in_long_jobs, whole_share),
    "median_slack": Trait(
        "Request over run time, median",
        lambda jobs: np.median(jobs.estimate / jobs.runtime),
        "{:.1f}".format,
    ),
}
"""What the jobs of a year are like."""


def _by_node(failures: fs.Failures) -> npt.NDArray[np.int64]:
    return np.bincount(failures.node, minlength=NODES)


OF_FAILURES: Final = {
    "failures": Trait("Number", len, "{:,.0f}".format),
    "nodes": Trait("Nodes that fail", lambda log: (_by_node(log) > 0).sum(), "{:.0f}".format),
    "mean_repair": Trait("Mean repair", lambda log: log.downtime.mean() / HOUR, "{:.2f} h".format),
    "median_repair": Trait(
        "Median repair", lambda log: np.median(log.downtime) / HOUR, "{:.2f} h".format
    ),
    "quarter": Trait(
        "Share of the worst quarter",
        lambda log: np.sort(_by_node(log))[-NODES // 4 :].sum() / max(len(log), 1),
        whole_share,
    ),
}
"""What a year of failures is like."""


def shown(traits: Mapping[str, Trait], logs: Sequence[Any]) -> list[str]:
    """Return the traits of logs, means over all of them, as text."""
    means = (float(np.mean([float(one.measure(log)) for log in logs])) for one in traits.values())
    return [one.shown(mean) for one, mean in zip(traits.values(), means, strict=True)]


def worst_quarter(failures: fs.Failures) -> npt.NDArray[np.float64]:
    """Return float64[256]: 1 for the 64 nodes with most failures, 0 for the others; nodes that tie
    for the last places share them, so that no node number is preferred."""
    count = _by_node(failures)
    places = NODES // 4
    last = np.sort(count)[-places]
    above, tied = count > last, count == last
    weight: npt.NDArray[np.float64] = above + tied * ((places - above.sum()) / tied.sum())
    return weight
