"""What predictors are worth: ours, and those of others by their scores or alarms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from forestall.core._lazy import lazily
from forestall.core.kit.study_result import StudyResult
from forestall.core.kit.waiting import waiting
from forestall.core.model.units import parse_duration
from forestall.prediction.judge.questions import AlarmSettings, How, ScoreQuestion, Stakes
from forestall.public.asked.reliability import LogOptions, reading_of

with lazily():
    from forestall.prediction.judge import predict
    from forestall.prediction.judge.alarms import judge as alarm_judge
    from forestall.prediction.judge.alarms import report as alarm_report
    from forestall.prediction.judge.predictors import report as predictor_report
    from forestall.prediction.judge.predictors import study as predictor_study
    from forestall.prediction.judge.scores import judge as score_judge
    from forestall.prediction.judge.scores import report as score_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.core.kit.progress import Progress
    from forestall.prediction.judge.alarms.judge import AlarmStudy
    from forestall.prediction.judge.predictors.study import PredictorStudy
    from forestall.prediction.judge.scores.judge import ScoreStudy


def assess_predictors(
    log: str | Path,
    *,
    predictors: Sequence[str] | None = None,
    split: float = 2 / 3,
    split_at: str | None = None,
    alarm_share: float = 0.05,
    draws: int = 400,
    level: float = 0.9,
    seed: int = 1,
    action_cost: float = 0.5,
    loss: float = 24.0,
    price: float | None = None,
    currency: str = "EUR",
    until: str | None = None,
    nodes: int | None = None,
    events: str | Path | None = None,
    metrics: str | Path | None = None,
    progress: Progress | None = None,
    **reading: Unpack[LogOptions],
) -> StudyResult[PredictorStudy]:
    """Train every predictor on the first part of a log, and judge it on the rest.

    Parameters
    ----------
    log : a failure log of any known format
    predictors : names of ``forestall predict list``, or files of trained ones; None: all
    split, split_at : share of the window that is the past; or the moment where it ends
    alarm_share : node-time under alarm at which recall is measured
    draws, level, seed : how often weeks are drawn anew for intervals; their level; of draws
    action_cost, loss : node-hours that acting on a node costs, and that a failure destroys
    price, currency : of a node-hour
    until : learn and judge before this moment only: a date, or ``"10d"``
    nodes : of the machine, where that is more than the logs tell
    events, metrics : an event log and metrics of the same machine
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    reading : which rows of the log: system, start, days, fold_nodes, failure_format, strict

    Returns
    -------
    StudyResult
        `table` has one row per predictor; `study.chosen` is the one that did best on the past

    Raises
    ------
    TraceError
        if a log cannot be used
    ParameterError
        for invalid arguments

    Examples
    --------
    >>> import forestall as fs
    >>> year = fs.generate_failures(32, 365, 1, rate_per_year=600, heterogeneity=1.0)
    >>> _ = year.table().select("time", "node", "downtime").write_csv("failures.csv")
    >>> found = fs.assess_predictors("failures.csv", predictors=["rate", "recency"], draws=20)
    >>> found.table["name"].to_list()
    ['constant', 'rate', 'recency']
    """
    how = How(split, alarm_share, draws, level, seed)
    stakes = Stakes(action_cost, loss, price, currency)
    sources = predict.Sources(
        Path(log), reading_of(reading), _path(events), _path(metrics), nodes, until
    )
    with waiting(progress, "predictors") as bar:
        found = predictor_study.study(
            sources, predictors, how, stakes, split_at=split_at, progress=bar
        )
    return StudyResult(found, predictor_report.FOLDER)


def assess_scores(
    scores: str | Path,
    *,
    score: str | Sequence[str] = "score",
    failed: str = "failed",
    group: str | None = None,
    baseline: str | None = None,
    threshold: float | None = None,
    loss: float | None = None,
    action_cost: float = 0.0,
    effect: float = 1.0,
    draws: int = 3000,
    seed: int = 1,
    level: float = 0.95,
    bins: int = 10,
    binning: Literal["auto", "width", "count"] = "auto",
    probabilities: bool | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> StudyResult[ScoreStudy]:
    """Judge scores: whether high ones mean failures, and how good they are as probabilities.

    Parameters
    ----------
    scores : CSV or Parquet with a column of scores and one of outcomes, one row per case
    score : the column to judge; of several the others are compared with the first
    failed : the column of outcomes: 1 or 0
    group : the column that groups correlated cases, such as the node; ``"none"``: none do; None:
        ``group``, if it is there
    baseline : a column of scores that should be beaten
    threshold : scores of at least this are alarms; None: that of the best F1
    loss, action_cost, effect : node-hours that a failure destroys and that acting costs, and the
        share of the loss that acting avoids
    draws, seed : permutations for the p-value
    level : of intervals
    bins, binning : of the reliability table
    probabilities : whether scores are probabilities; None: if all lie within 0 and 1
    strict : a row that must be left out is an error
    progress : called periodically with steps done and all steps; None: a notebook shows a bar

    Returns
    -------
    StudyResult
        `to_dict` has ``auc``, ``auc_ci``, ``brier_skill``, ...; `tables` the ROC curve and more

    Raises
    ------
    TraceError
        if the table cannot be used
    ParameterError
        for invalid arguments

    Examples
    --------
    >>> import forestall as fs
    >>> import polars as pl
    >>> chance = fs.stream(1, "scores").random(400)
    >>> came = (fs.stream(1, "came").random(400) < chance).astype(int)
    >>> pl.DataFrame({"score": chance, "failed": came}).write_csv("scores.csv")
    >>> fs.assess_scores("scores.csv", draws=200).to_dict()["auc"] > 0.7
    True
    """
    columns = (score,) if isinstance(score, str) else tuple(score)
    asked = ScoreQuestion(
        columns, failed, group, baseline, threshold, loss, action_cost, effect, draws, seed, level,
        bins, binning, probabilities,
    )  # fmt: skip
    with waiting(progress, "measures") as bar:
        found = score_judge.study(Path(scores), asked, strict=strict, progress=bar)
    return StudyResult(found, score_report.FOLDER)


def assess_alarms(
    alarms: str | Path,
    failures: str | Path,
    *,
    records: str | Path | None = None,
    horizons: Sequence[str | float] = ("1h", "6h", "24h"),
    lead: str | float = 0,
    action_time: str | float = 0,
    action_cost: float = 0.0,
    nodes: int | None = None,
    level: float = 0.95,
    seed: int = 1,
    progress: Progress | None = None,
    **reading: Unpack[LogOptions],
) -> StudyResult[AlarmStudy]:
    """Judge alarms: recall compared with chance, precision, false alarms, lead times.

    Durations are text such as ``"6h"``, or seconds.

    Parameters
    ----------
    alarms : a CSV of alarms: ``time,node[,score][,until]``
    failures : the failure log
    records : job records of the same nodes: what answering the alarms costs and saves
    horizons : how long before a failure an alarm is about it
    lead : shortest useful lead time
    action_time, action_cost : what an action takes of a job's nodes, and node-hours besides
    nodes : of the machine; None: those that the log and the alarms name
    level, seed : of intervals; of draws
    progress : called periodically with horizons done and all of them; None: a notebook shows a bar
    reading : which rows of the log: system, start, days, fold_nodes, failure_format, strict

    Returns
    -------
    StudyResult
        `table` has one row per horizon

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for invalid arguments

    Examples
    --------
    >>> import forestall as fs
    >>> log = fs.generate_failures(16, 100, 1, rate_per_year=400)
    >>> table = log.table().select("time", "node", "downtime")
    >>> table.write_csv("failures.csv")
    >>> import polars as pl
    >>> early = table.select(pl.col("time") - 1800, "node")
    >>> early.filter(pl.col("time") > 0).write_csv("alarms.csv")
    >>> fs.assess_alarms("alarms.csv", "failures.csv").table.height
    3
    """
    times = sorted({parse_duration(one, "horizons") for one in horizons})
    asked = AlarmSettings(
        horizons=tuple(times),
        lead=parse_duration(lead, "lead"),
        action_time=parse_duration(action_time, "action_time"),
        action_cost=action_cost,
        nodes=nodes,
        level=level,
        seed=seed,
    )
    with waiting(progress, "horizons") as bar:
        found = alarm_judge.study(
            Path(alarms), Path(failures), reading_of(reading), asked,
            bar or (lambda done, total: None), _path(records),
        )  # fmt: skip
    return StudyResult(found, alarm_report.FOLDER)


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)
