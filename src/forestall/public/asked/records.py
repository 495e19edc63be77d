"""What a site's own records tell: lemons, what promises would have been worth, the queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from forestall.core._lazy import lazily
from forestall.core.kit.study_result import StudyResult
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration
from forestall.slurm.sources.given import BacktestQuestion, LemonQuestion, RecordOptions, records_of

with lazily():
    from forestall.site.futures import question, study
    from forestall.site.futures import report as futures_report
    from forestall.site.lemons import worst
    from forestall.site.promises import backtest

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.site.futures.study import QueueFutures
    from forestall.site.lemons.worst import LemonsFound
    from forestall.site.promises.backtest import BacktestFound
    from forestall.slurm.sources.given import GivenRecords

ALLOWED = "files, failures=FILE, or slurm=True"


def records(files: tuple[str | Path, ...], options: Any) -> GivenRecords:
    """Return what a function was told about its records; ParameterError where that is nothing."""
    given = records_of(files, options)
    if given.nothing:
        raise ParameterError("files", None, ALLOWED)
    return given


def lemons(
    *files: str | Path,
    false_discovery_rate: float = 0.05,
    checkpoint_interval: str | float | None = None,
    progress: Progress | None = None,
    **options: Unpack[RecordOptions],
) -> LemonsFound:
    """Name nodes that fail more than chance allows, and what average ones would have saved.

    Parameters
    ----------
    files : a site's records, as `read_site` takes them
    false_discovery_rate : accepted share of named nodes that are named in error
    checkpoint_interval : how often jobs are assumed to checkpoint, text such as ``"30m"`` or s;
        None: an hour
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    options : as for `read_site`: slurm, failures, system, since, until, partition, ...

    Returns
    -------
    LemonsFound
        `table` has one row per named node; `study.found` all nodes

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for an unknown or invalid option

    Examples
    --------
    >>> import forestall as fs
    >>> log = fs.generate_failures(32, 365, 1, rate_per_year=200, heterogeneity=1.0)
    >>> _ = log.table().select("time", "node", "downtime").write_csv("failures.csv")
    >>> found = fs.lemons(failures="failures.csv")
    >>> found.to_dict()["nodes_compared"]
    32
    """
    given = records(files, options)
    every = None if checkpoint_interval is None else seconds(checkpoint_interval)
    asked = LemonQuestion(false_discovery_rate, every)
    with waiting(progress, "steps") as bar:
        return worst.find(given, asked, bar)


def backtest_promises(
    *files: str | Path,
    question: Literal["deadline", "probability", "both"] = "both",
    level: float | None = None,
    warm_up: int = 1000,
    seed: int = 1,
    learn: bool = True,
    progress: Progress | None = None,
    **options: Unpack[RecordOptions],
) -> BacktestFound:
    """Say what quotes of deadlines and probabilities would have been worth on past jobs.

    Jobs are replayed in time order; each quote uses only what was known when it was made.

    Parameters
    ----------
    files : records of jobs, as `read_site` takes them
    question : what jobs request: a deadline for a probability, the probability of a deadline
    level : the probability of every deadline; None: spread evenly from 0.01 to 0.99
    warm_up : jobs that are done before promises count
    seed : of what is asked for
    learn : whether quotes are learned from jobs and queue; else they rest on similar jobs only,
        which is fast
    progress : called periodically with events done and all events; None: a notebook shows a bar
    options : as for `read_site`: slurm, since, until, partition, min_nodes, ...

    Returns
    -------
    BacktestFound
        `study.holds` says whether promises were kept as often as stated, None if there are
        too few; `table` has one row per promise

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for an unknown or invalid option, or without records of jobs

    Examples
    --------
    >>> import forestall as fs
    >>> from forestall.logs.jobs.swf import write_swf
    >>> write_swf(fs.generate_jobs(32, 1, count=400, load=0.8), "jobs.swf")
    >>> found = fs.backtest_promises("jobs.swf", warm_up=100, learn=False)
    >>> found.to_dict()["jobs"], "probability" in found.table.columns
    (400, False)
    """
    given = records(files, options)
    asked = BacktestQuestion(question, level, warm_up, seed, learn)
    with waiting(progress, "events") as bar:
        return backtest.find(given, asked, bar)


def queue_futures(
    *files: str | Path,
    at: str | None = None,
    drain: str | None = None,
    rule: Literal["easy", "conservative", "priority"] = "easy",
    depth: int = 100,
    order: Literal["auto", "submitted", "priority", "learned"] = "auto",
    holds: Literal["none", "recorded"] = "recorded",
    arrivals: Literal["none", "recent"] = "recent",
    node_failures: Literal["none", "recorded"] = "recorded",
    futures: int = 256,
    seed: int = 1,
    progress: Progress | None = None,
    **options: Unpack[RecordOptions],
) -> StudyResult[QueueFutures]:
    """Simulate a site's queue forward: when jobs start and end, when nodes are free.

    Each future draws how long every job runs from similar past jobs, and plays the scheduler to
    the end.

    Parameters
    ----------
    files : records of jobs and nodes, as `read_site` takes them
    at : time at which the queue is taken, such as ``"2024-03-01T12:00"``; None: the end of the
        records
    drain : ``"NODES@FROM+DURATION"``: show which jobs a drain would delay
    rule : how the scheduler fills in jobs; with ``"priority"`` it looks at `depth` waiting jobs
    order : who is first
    holds : whether jobs whose nodes are free wait as long as such jobs did
    arrivals : who comes next: nobody, or jobs as of the same hours of recent weeks
    node_failures : whether nodes fail as often as the records tell
    futures : how many to play
    seed : of the run times that are drawn
    progress : called periodically with sets done and all sets; None: a notebook shows a bar
    options : as for `read_site`

    Returns
    -------
    StudyResult
        `tables` has ``"jobs"`` and ``"free_nodes"``

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for an unknown or invalid option
    """
    given = records(files, options)
    asked = question.FuturesQuestion(
        at, drain, rule, depth, order, holds, arrivals, node_failures, futures, seed
    )
    with waiting(progress, "sets of futures") as bar:
        return StudyResult(study.find(given, asked, bar), futures_report.FOLDER)


def seconds(given: str | float) -> int:
    """Return a time between checkpoints, s; ParameterError for none."""
    found = parse_duration(given, "checkpoint_interval")
    if found < 1:
        raise ParameterError("checkpoint_interval", given, "a duration of at least 1s")
    return found
