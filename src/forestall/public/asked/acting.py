"""What acting before failures is worth: on a metric, by a policy, in a trial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from forestall.core._lazy import lazily
from forestall.core.kit.study_result import StudyResult
from forestall.core.kit.waiting import waiting
from forestall.prediction.judge import questions
from forestall.public.asked.reliability import LogOptions, reading_of

with lazily():
    from forestall.prediction.judge import predict
    from forestall.prediction.judge.collection import judge as collection_judge
    from forestall.prediction.judge.collection import report as collection_report
    from forestall.prediction.judge.jobs import judge as job_judge
    from forestall.prediction.judge.jobs import report as job_report
    from forestall.prediction.judge.policies import judge as policy_judge
    from forestall.prediction.judge.policies import report as policy_report
    from forestall.prediction.judge.trials import judge as trial_judge
    from forestall.prediction.judge.trials import report as trial_report

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.prediction.judge.collection.judge import CollectionStudy
    from forestall.prediction.judge.jobs.judge import JobStudy
    from forestall.prediction.judge.policies.judge import PolicyStudy
    from forestall.prediction.judge.trials.judge import Trial, TrialPlan


class WindowOptions(TypedDict, total=False):
    """Which rows of job records; as `read_job_records` has them."""

    start: str | None
    days: float | None
    strict: bool


def assess_jobs(
    records: str | Path,
    metrics: str | Path,
    metric: str | None = None,
    *,
    asked: questions.JobStudySettings | None = None,
    progress: Progress | None = None,
    **reading: Unpack[WindowOptions],
) -> StudyResult[JobStudy]:
    """Say whether a node metric is worth acting on before jobs fail, and on which nodes now.

    Parameters
    ----------
    records : job records: sacct's output, or a table
    metrics : samples of nodes' metrics: a file or a folder
    metric : which of them; None: the only one
    asked : `fs.judge.JobStudySettings`: states, side, costs, seed; None: its defaults
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    reading : which rows: start, days, strict

    Returns
    -------
    StudyResult
        `to_dict` has the area under the ROC curve, its p-value, and what acting is worth in
        node-hours

    Raises
    ------
    TraceError
        if a file cannot be used, or clocks or nodes do not fit
    ParameterError
        for invalid arguments
    """
    how = asked or questions.JobStudySettings()
    with waiting(progress, "analysis") as bar:
        found = job_judge.study(
            Path(records),
            Path(metrics),
            metric,
            reading_of(reading, WindowOptions),
            how,
            _silent(bar),
        )
    return StudyResult(found, job_report.FOLDER)


def assess_collection(
    log: str | Path,
    metrics: str | Path,
    *,
    how: questions.How | None = None,
    asked: questions.CollectionSettings | None = None,
    nodes: int | None = None,
    progress: Progress | None = None,
    **reading: Unpack[LogOptions],
) -> StudyResult[CollectionStudy]:
    """Say what collecting fewer metrics, or collecting them less often, costs in detection.

    Parameters
    ----------
    log, metrics : a failure log, and samples of metrics of the same nodes
    how : `fs.judge.How`: split, share of node-time under alarm, draws, level, seed
    asked : `fs.judge.CollectionSettings`: numbers of metrics, intervals, order, predictor
    nodes : of the machine, where that is more than the logs name
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    reading : which rows of the log: system, start, days, fold_nodes, failure_format, strict

    Returns
    -------
    StudyResult
        `table` has one row per way of collecting

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for invalid arguments
    """
    sources = predict.Sources(Path(log), reading_of(reading), None, Path(metrics), nodes)
    with waiting(progress, "ways") as bar:
        found = collection_judge.study(
            sources, how or questions.How(), asked or questions.CollectionSettings(), bar
        )
    return StudyResult(found, collection_report.FOLDER)


def assess_policies(
    asked: questions.PolicySettings | None = None, *, progress: Progress | None = None
) -> StudyResult[PolicyStudy]:
    """Simulate what can be done about leaking memory, compared with doing nothing.

    Parameters
    ----------
    asked : `fs.judge.PolicySettings`: policies, thresholds, machines, seed; None: its defaults
    progress : called periodically with machines done and all of them; None: a notebook shows a bar

    Returns
    -------
    StudyResult
        `table` has one row per policy, in node-hours a month

    Raises
    ------
    ParameterError
        for invalid arguments

    Examples
    --------
    >>> import forestall as fs
    >>> asked = fs.judge.PolicySettings(
    ...     policies=("nothing", "reboot"), thresholds=(0.09,), nodes=16, days=2, machines=2
    ... )
    >>> fs.assess_policies(asked).table["policy"].to_list()
    ['nothing', 'reboot from 0.09']
    """
    with waiting(progress, "machines") as bar:
        found = policy_judge.play_policies(asked or questions.PolicySettings(), _silent(bar))
    return StudyResult(found, policy_report.FOLDER)


def plan_trial(
    records: str | Path,
    asked: questions.TrialPlanSettings,
    *,
    progress: Progress | None = None,
    **reading: Unpack[WindowOptions],
) -> StudyResult[TrialPlan]:
    """Say which nodes to act on, which to leave alone, and how long it takes to show an effect.

    Parameters
    ----------
    records : job records of the past
    asked : `fs.judge.TrialPlanSettings`: the effect to be shown, power, pairs, seed
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    reading : which rows: start, days, strict

    Returns
    -------
    StudyResult
        `table` has one row per node: its arm and its pair, which `assess_trial` reads

    Raises
    ------
    TraceError
        if the records cannot be used
    ParameterError
        for invalid arguments
    """
    with waiting(progress, "steps") as bar:
        found = trial_judge.plan(
            Path(records), reading_of(reading, WindowOptions), asked, _silent(bar)
        )
    return StudyResult(found, trial_report.PLAN_FOLDER)


def assess_trial(
    arms: str | Path,
    records: str | Path,
    *,
    asked: questions.TrialSettings | None = None,
    progress: Progress | None = None,
    **reading: Unpack[WindowOptions],
) -> StudyResult[Trial]:
    """Judge a trial: the effect of acting on some nodes, compared with those left alone.

    Parameters
    ----------
    arms : a CSV: ``node,arm[,pair]``; the arm is ``act`` or ``control``
    records : job records of the trial's time
    asked : `fs.judge.TrialSettings`: what the verdict is by, level, draws, seed; None: its defaults
    progress : called periodically with steps done and all steps; None: a notebook shows a bar
    reading : which rows: start, days, strict

    Returns
    -------
    StudyResult
        `to_dict` has the effect with its interval and p-value

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for invalid arguments
    """
    how = asked or questions.TrialSettings()
    with waiting(progress, "steps") as bar:
        found = trial_judge.judge(
            Path(arms), Path(records), reading_of(reading, WindowOptions), how, _silent(bar)
        )
    return StudyResult(found, trial_report.FOLDER)


def _silent(bar: Progress | None) -> Progress:
    return bar or (lambda done, total: None)
