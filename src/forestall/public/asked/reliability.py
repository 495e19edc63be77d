"""How machines fail, how often to checkpoint, how many spares to keep, how to lay out queues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from forestall.core._lazy import lazily
from forestall.core.kit.study_result import StudyResult
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ParameterError
from forestall.reliability.report.questions import (
    FailureStudySettings,
    IntervalQuestion,
    SparesQuestion,
)
from forestall.slurm.sources.given import RecordOptions, records_of

with lazily():
    from forestall.reliability.report import failure_rate
    from forestall.reliability.report import interval as intervals
    from forestall.reliability.report import spares as spare_nodes
    from forestall.reliability.report.design import design as app_design
    from forestall.reliability.report.design import report as design_report
    from forestall.reliability.report.failures import report, study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forestall.core.kit.progress import Progress
    from forestall.reliability.report.design.report import DesignAnswer
    from forestall.reliability.report.failure_rate import MeasuredRate
    from forestall.reliability.report.failures.study import FailureStudy
    from forestall.reliability.report.interval import IntervalAnswer
    from forestall.reliability.report.spares import SparesAdvice

Duration = str | float
"""A duration: text such as ``"5m"``, or seconds."""


class LogOptions(TypedDict, total=False):
    """Which rows of a failure log; as `read_failures` has them."""

    system: str | None
    start: str | None
    days: float | None
    fold_nodes: int
    failure_format: str | None
    strict: bool


def interval(
    *files: str | Path,
    checkpoint_overhead: Duration | None = None,
    mtbf: Duration | None = None,
    shape: float = 1.0,
    nodes: int = 1,
    shortest: Duration | None = None,
    recall: float = 0.0,
    ages: Duration = "steady",
    restart_overhead: Duration = 0,
    downtime: Duration = 0,
    work: Duration | None = None,
    **options: Unpack[RecordOptions],
) -> IntervalAnswer:
    """Say how often to checkpoint: the best interval, and how far the closed forms are from it.

    Durations are text such as ``"5m"``, or seconds. Intervals count work between checkpoints.

    Parameters
    ----------
    files : a site's records, from which a node's mean time to failure is measured
    checkpoint_overhead : time of a checkpoint; with records None: five minutes
    mtbf : a node's mean time between failures, where it is not measured
    shape : Weibull shape of a node's life; 1 is the exponential
    nodes : of the job
    shortest : shortest interval wanted: how many nodes may the job have?
    recall : share of the failures that a predictor foresees in time to save the work
    ages : ``"new"``, ``"steady"``, or how long the nodes have been in use
    restart_overhead, downtime : to read a checkpoint back; from a failure to the restart
    work : length of the job without failures; None: long
    options : as for `read_site`

    Returns
    -------
    IntervalAnswer
        `found.optimal` is the best interval, s; `job` the distribution of a job's time where
        `work` is given

    Raises
    ------
    ParameterError
        for invalid or contradictory arguments
    TraceError
        if a file cannot be used

    Examples
    --------
    >>> import forestall as fs
    >>> found = fs.interval(mtbf="4d", checkpoint_overhead="5m")
    >>> round(found.found.optimal), found.table["name"].to_list()
    (14201, ['young', 'daly_first', 'daly', 'optimal'])
    """
    rate = _rate(files, options)
    if checkpoint_overhead is None and rate is None:
        raise ParameterError("checkpoint_overhead", None, "the time of a checkpoint, such as 5m")
    asked = IntervalQuestion(
        checkpoint_overhead=_text(checkpoint_overhead),
        mtbf=_text(mtbf),
        shape=shape,
        nodes=nodes,
        shortest=_text(shortest),
        recall=recall,
        ages=_told(ages),
        restart_overhead=_told(restart_overhead),
        downtime=_told(downtime),
        work=_text(work),
    )
    return intervals.answer(asked, rate)


def spares(
    *files: str | Path,
    nodes: int,
    duration: Duration,
    target: float = 0.99,
    mtbf: Duration | None = None,
    rate: float | None = None,
    shape: float = 1.0,
    ages: Duration | None = None,
    pool: bool = False,
    repair: Duration | None = None,
    copies: int = 0,
    **options: Unpack[RecordOptions],
) -> SparesAdvice:
    """Say how many spares it takes so that, with the wanted probability, no job waits for a node.

    Durations are text such as ``"7d"``, or seconds.

    Parameters
    ----------
    files : a site's records, from which the failure rate is measured
    nodes : nodes of the job, including spares, but not those of a pool
    duration : how long
    target : the wanted probability
    mtbf, rate : a node's mean time between failures; or failures per 1000 node-days (None: 6.5)
    shape : Weibull shape of a node's life
    ages : of the nodes at the start: ``"new"``, ``"steady"`` or a duration; None: steady for a pool
    pool : all nodes work, and each failure takes a spare from a pool beside them
    repair : failed nodes come back to the pool after so long; ``"measured"``: as records tell
    copies : each checkpoint is on its node and ``copies - 1`` neighbors; 0: it is never lost
    options : as for `read_site`

    Returns
    -------
    SparesAdvice
        `found.spares`, None if no number suffices; `table`, the reliability by number

    Raises
    ------
    ParameterError
        for invalid or contradictory arguments
    TraceError
        if a file cannot be used

    Examples
    --------
    >>> import forestall as fs
    >>> fs.spares(nodes=256, duration="128h", mtbf="102840h", shape=0.7).found.spares
    7
    """
    asked = SparesQuestion(
        nodes=nodes,
        hours=_told(duration),
        target=target,
        mtbf=_text(mtbf),
        rate=rate,
        shape=shape,
        ages=_text(ages),
        pool=pool,
        repair=_text(repair),
        copies=copies,
        measured=_rate(files, options),
    )
    return spare_nodes.answer(asked)


def study_failures(
    log: str | Path,
    *,
    clock: Literal["calendar", "uptime"] = "calendar",
    families: Sequence[str] | None = None,
    draws: int = 0,
    seed: int = 1,
    level: float = 0.95,
    unit: Literal["s", "min", "h", "d"] = "h",
    years: Literal["calendar", "age", "own"] | None = None,
    progress: Progress | None = None,
    **reading: Unpack[LogOptions],
) -> StudyResult[FailureStudy]:
    """Say how a machine fails: rates, distributions, trend, years, causes, bad nodes, bursts.

    Parameters
    ----------
    log : a failure log of any known format
    clock : gaps run from failure to failure, or from repair to failure
    families : distributions to rank; None: all
    draws : samples to draw for p-values of fits; 0: none
    seed, level : of draws; of intervals
    unit : of gaps
    years : of the calendar, of age (from each node's start of service), or from each node's own
        first failure; None: of the calendar where the log has dates, else of age
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    reading : which rows of the log: system, start, days, fold_nodes, failure_format, strict

    Returns
    -------
    StudyResult
        its `study` holds everything, `tables` the tables of ``forestall reliability --out``

    Raises
    ------
    TraceError
        if the log cannot be used
    ParameterError
        for an invalid setting

    Examples
    --------
    >>> import forestall as fs
    >>> log = fs.generate_failures(16, 365, 1, rate_per_year=150)
    >>> _ = log.table().select("time", "node", "downtime").write_csv("failures.csv")
    >>> found = fs.study_failures("failures.csv", families=["weibull", "exponential"])
    >>> found.to_dict()["failures"] == len(log)
    True
    """
    chosen = None if families is None else tuple(families)
    asked = FailureStudySettings(clock, chosen, draws, seed, level, unit, years)
    with waiting(progress, "steps") as bar:
        found = study.study(
            Path(log), reading_of(reading), asked, bar or (lambda done, total: None)
        )
    return StudyResult(found, report.FOLDER)


def design(
    plan: str | Path,
    *,
    optimize: bool = False,
    jobs: str | Path | None = None,
    processors_per_node: int | None = None,
    progress: Progress | None = None,
) -> DesignAnswer:
    """Say how likely the jobs of each queue meet a failure, how often to checkpoint, and how many
    spares a job needs; perhaps search for better queues.

    Parameters
    ----------
    plan : a TOML file with groups of nodes, queues, checkpoint overhead and targets
    optimize : whether to search for queues with fewer failures at equal capacity
    jobs : a job log for the search, instead of the file's own jobs
    processors_per_node : of that log, where its sizes are processors; None: as the file says
    progress : called periodically with what is searched and of how much; None: a notebook shows a
        bar

    Returns
    -------
    DesignAnswer
        `table` has one row per queue; `study` holds everything; times in seconds

    Raises
    ------
    InputError
        if the file or the log cannot be used
    ParameterError
        for invalid arguments

    Examples
    --------
    >>> import forestall as fs
    >>> _ = Path("cluster.toml").write_text('''
    ... name = "ours"
    ... [[groups]]
    ... count = 64
    ... name = "nodes"
    ... mttf = "1000d"
    ... [[queues]]
    ... name = "day"
    ... nodes = 16
    ... limit = "1d"
    ... slots = 2
    ... ''')
    >>> fs.design("cluster.toml").study.job_failure < 0.1
    True
    """
    with waiting(progress, "searching") as bar:
        found = app_design.design(
            plan, optimize=optimize, jobs=jobs, processors_per_node=processors_per_node,
            progress=bar,
        )  # fmt: skip
    return design_report.DesignAnswer(found)


def reading_of(options: Mapping[str, Any], known: type = LogOptions) -> dict[str, Any]:
    """Return options of reading a log by the keys of commands; ParameterError for a name that is
    not among the known ones."""
    for name in options:
        if name not in known.__annotations__:
            allowed = "one of " + ", ".join(known.__annotations__)
            raise ParameterError("an option", name, allowed)
    given = {name: value for name, value in options.items() if value is not None}
    return {"from" if name == "start" else name: value for name, value in given.items()}


def _rate(files: tuple[str | Path, ...], options: Mapping[str, Any]) -> MeasuredRate | None:
    """Return a node's failure rate as records tell it; None where none are given."""
    given = records_of(files, options)
    if given.nothing:
        for name, value in options.items():
            raise ParameterError(name, value, "records to go with it: files, or slurm=True")
        return None
    return failure_rate.rate_of_records(given)


def _text(given: Duration | None) -> str | None:
    return None if given is None else _told(given)


def _told(given: Duration) -> str:
    """Return a duration as a question takes it, bare numbers as seconds."""
    return given if isinstance(given, str) else f"{given:f}s"
