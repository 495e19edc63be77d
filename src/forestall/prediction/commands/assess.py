"""`forestall assess`: what predictors are worth, ours and others'."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import (
    FAILURES,
    READING,
    FailureLog,
    FailureReading,
    Strict,
    shown_in,
)
from forestall.core.commands.questions import Given, TextOptions
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.study import Output, tell_study
from forestall.core.model.settings import Setting

with lazily():
    from forestall.prediction.judge import predict, questions
    from forestall.prediction.judge.alarms import judge as alarm_judge
    from forestall.prediction.judge.alarms import report as alarm_report
    from forestall.prediction.judge.collection import judge as collection_judge
    from forestall.prediction.judge.collection import report as collection_report
    from forestall.prediction.judge.jobs import judge as job_judge
    from forestall.prediction.judge.jobs import report as job_report
    from forestall.prediction.judge.policies import judge as policy_judge
    from forestall.prediction.judge.policies import report as policy_report
    from forestall.prediction.judge.predictors import report as predictor_report
    from forestall.prediction.judge.predictors import study as predictor_study
    from forestall.prediction.judge.scores import judge as score_judge
    from forestall.prediction.judge.scores import report as score_report
    from forestall.prediction.judge.trials import judge as trial_judge
    from forestall.prediction.judge.trials import report as trial_report


app = group_of(
    "Evaluate failure predictors: forestall's own, or others by their scores or alarms.",
    "forestall assess predictors failures.csv --out study",
    "forestall assess scores scores.csv",
    "forestall assess alarms alarms.csv --failures failures.csv",
    "forestall assess jobs jobs.csv --metrics metrics.csv --metric memory_share",
    "forestall assess value jobs.swf --failures later.csv --predictors rate.predictor",
)
research = group_of(
    "Judge what is done about predictions: policies, trials with controls, collecting metrics.",
    "python -m studies assess policies --load 0.95",
    "python -m studies assess plan-trial jobs.csv --effect 0.3",
    "python -m studies assess trial arms.csv jobs.csv",
    "python -m studies assess collection failures.csv --metrics metrics.parquet",
)
"""What is for research alone: ``python -m studies assess``; no help of `forestall` shows it."""


@command(
    app,
    "scores",
    "forestall assess scores scores.csv",
    "forestall assess scores scores.csv --threshold 0.3 --out report",
    "forestall assess scores scores.csv --score ours,theirs --group node",
    "forestall assess scores scores.csv --score p --baseline recency --json",
    "forestall assess scores scores.csv --score anomaly --no-probabilities",
    rare="baseline draws seed level bins binning effect",
)
def scores(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="CSV or Parquet with columns score, failed (0 or 1) and optionally group.",
        ),
    ],
    asked: questions.ScoreQuestion,
    output: Output,
    strict: Strict = False,
) -> None:
    """Judge scores: whether high ones mean failures, and how good they are as probabilities."""
    tell_study(
        score_report.FOLDER,
        lambda bar: score_judge.study(table, asked, strict=strict, progress=bar),
        "measures",
        output,
    )


@command(
    app,
    "alarms",
    "forestall assess alarms alarms.csv --failures failures.csv",
    "forestall assess alarms alarms.csv --failures lanl.csv --system 20 --horizons 1h,24h",
    "forestall assess alarms alarms.csv --failures failures.csv --lead 5m --out report",
    "forestall assess alarms alarms.csv --failures failures.csv --records jobs.csv --action-time "
    "10m",
)
def alarms(
    raised: Annotated[
        Path,
        typer.Argument(metavar="ALARMS", help="A CSV of alarms: time, node[, score][, until]."),
    ],
    failures: Annotated[Path, Setting("The failure log", group=FAILURES)],
    reading: FailureReading,
    records: Annotated[
        Path | None,
        Setting(
            "Job records of the same nodes, to compute what answering the alarms costs and saves",
            group=questions.ACTING,
        ),
    ] = None,
    *,
    asked: questions.AlarmSettings,
    output: Output,
) -> None:
    """Judge alarms: recall compared with chance, precision, false alarms, lead times."""
    tell_study(
        alarm_report.FOLDER,
        lambda bar: alarm_judge.study(raised, failures, reading, asked, bar, records),
        "horizons",
        output,
    )


JOBS_AND_METRICS: Final = "Jobs and metrics"
Records: TypeAlias = Annotated[
    Path, typer.Argument(metavar="JOBS", help="Accounting records: sacct's output, or a table.")
]


WINDOW: Final = frozenset({"from", "days", "strict"})
JOB_READING: Final = TextOptions(shown_in(JOBS_AND_METRICS, READING, WINDOW))
WINDOW_OF_JOBS: Final = TextOptions(shown_in("Jobs", READING, WINDOW))


@command(
    app,
    "jobs",
    "forestall assess jobs jobs.csv --metrics memory.csv",
    "forestall assess jobs sacct.txt --metrics ldms --metric Active --cores 16",
    "forestall assess jobs jobs.csv --metrics memory.csv --action-cost 0.5 --price 0.2 "
    "--currency EUR",
    "forestall assess jobs jobs.csv --metrics memory.csv --out report",
    rare="failed_states ignored_states value side cores scale limit seed",
)
def jobs(
    records: Records,
    metrics: Annotated[
        Path,
        Setting(
            "Samples of nodes' metrics: a file or a folder", shown="PATH", group=JOBS_AND_METRICS
        ),
    ],
    reading: Annotated[Given, JOB_READING],
    metric: Annotated[
        str | None,
        Setting("Metric to judge (default: the only one)", shown="NAME", group=JOBS_AND_METRICS),
    ] = None,
    *,
    asked: questions.JobStudySettings,
    output: Output,
) -> None:
    """Say whether a node metric is worth acting on before jobs fail, and on which nodes now."""
    tell_study(
        job_report.FOLDER,
        lambda bar: job_judge.study(records, metrics, metric, reading, asked, bar),
        "analysis",
        output,
    )


@command(app, "policies", "python -m studies assess policies", hidden=True)
@command(
    research,
    "policies",
    "python -m studies assess policies",
    "python -m studies assess policies --policies reboot,steer --thresholds 0.09 --action-cost 0.5",
    "python -m studies assess policies --load 0.95 --machines 30 --out policies",
)
def policies(asked: questions.PolicySettings, output: Output) -> None:
    """Simulate what can be done about leaking memory, compared with doing nothing."""
    tell_study(
        policy_report.FOLDER,
        lambda bar: policy_judge.play_policies(asked, bar),
        "machines",
        output,
    )


@command(app, "plan-trial", "python -m studies assess plan-trial", hidden=True)
@command(
    research,
    "plan-trial",
    "python -m studies assess plan-trial jobs.csv --effect 0.3",
    "python -m studies assess plan-trial sacct.txt --effect 0.2 --pairs 40 --failed-states "
    "NODE_FAIL,OUT_OF_MEMORY --out plan",
)
def plan_trial(
    records: Records,
    reading: Annotated[Given, WINDOW_OF_JOBS],
    *,
    asked: questions.TrialPlanSettings,
    output: Output,
) -> None:
    """Say which nodes to act on, which to leave alone, and how long it takes to show an effect."""
    tell_study(
        trial_report.PLAN_FOLDER,
        lambda bar: trial_judge.plan(records, reading, asked, bar),
        "steps",
        output,
    )


@command(app, "trial", "python -m studies assess trial", hidden=True)
@command(
    research,
    "trial",
    "python -m studies assess trial plan/arms.csv jobs.csv",
    "python -m studies assess trial arms.csv sacct.txt --from 2026-03-01 --days 60 --measure lost",
)
def trial(
    arms: Annotated[
        Path, typer.Argument(metavar="ARMS", help="A CSV: node,arm (act or control)[,pair].")
    ],
    records: Records,
    reading: Annotated[Given, WINDOW_OF_JOBS],
    *,
    asked: questions.TrialSettings,
    output: Output,
) -> None:
    """Show what acting on some nodes achieved, compared with nodes left alone."""
    tell_study(
        trial_report.FOLDER,
        lambda bar: trial_judge.judge(arms, records, reading, asked, bar),
        "steps",
        output,
    )


@command(
    app,
    "predictors",
    "forestall assess predictors failures.csv --out study",
    "forestall assess predictors lanl.csv --system 20 --predictors rate,renewal,boosted",
    "forestall assess predictors failures.csv --events ras.csv --loss 48 --action-cost 1",
    rare="split_at draws level seed alarm_share until nodes failure_format fold_nodes",
)
def predictors(
    log: FailureLog,
    reading: FailureReading,
    names: Annotated[
        tuple[str, ...] | None,
        Setting(
            "Names of `forestall predict list`, or files of `predict train`",
            option="predictors",
            shown="NAME,...|all",
            group="Judgement",
            read=questions.names_or_all,
            typed="all",
        ),
    ] = None,
    split_at: Annotated[
        str | None,
        Setting(
            "Time at which training ends (instead of --split)", shown="TIME", group="Judgement"
        ),
    ] = None,
    *,
    how: questions.How,
    until: questions.Until = None,
    nodes: questions.MachineNodes = None,
    events: questions.Events = None,
    metrics: questions.Metrics = None,
    stakes: questions.Stakes,
    output: Output,
) -> None:
    """Train every predictor on the first part of a log, and judge it on the rest."""
    sources = predict.Sources(log, reading, events, metrics, nodes, until)
    tell_study(
        predictor_report.FOLDER,
        lambda bar: predictor_study.study(
            sources, names, how, stakes, split_at=split_at, progress=bar
        ),
        "predictors",
        output,
    )


@command(app, "collection", "python -m studies assess collection", hidden=True)
@command(
    research,
    "collection",
    "python -m studies assess collection failures.csv --metrics metrics.parquet",
    "python -m studies assess collection failures.csv --metrics ldms --counts 1,3,10 --intervals "
    "1m,5m,30m --out collection",
)
def collection(
    log: FailureLog,
    reading: FailureReading,
    metrics: Annotated[Path, Setting("Metrics of the same nodes", group=questions.BESIDE)],
    *,
    how: questions.How,
    nodes: questions.MachineNodes = None,
    asked: questions.CollectionSettings,
    output: Output,
) -> None:
    """Show what collecting fewer metrics, or less often, costs in detection and saves."""
    sources = predict.Sources(log, reading, None, metrics, nodes)
    tell_study(
        collection_report.FOLDER,
        lambda bar: collection_judge.study(sources, how, asked, bar),
        "ways",
        output,
    )
