"""`forestall assess`: what predictors are worth, ours and others'."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.judge import (
    alarms as assess_alarms,
)
from forestall.cli.judge import (
    jobs as assess_jobs,
)
from forestall.cli.judge import (
    predictors as assess_predictors,
)
from forestall.cli.judge import (
    value as assess_value,
)
from forestall.cli.registry import command, examples
from forestall.cli.runs.options import FORCE, JSON, QUIET, STUDY_OUT
from forestall.cli.study import Output, tell_study

with lazily():
    from forestall.app.judge.scores import judge, report

COLUMNS = "Columns"
JUDGING = "Judging"


def group() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(
        help="Say what predictors are worth: ours, and those of others by their scores or alarms.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples(
            "forestall assess predictors failures.csv --out study",
            "forestall assess scores scores.csv",
            "forestall assess alarms alarms.csv --failures failures.csv",
            "forestall assess jobs jobs.csv --metrics metrics.csv --metric memory_share",
            "forestall assess value jobs.swf --failures later.csv --predictors rate.predictor",
        ),
    )
    add_to(app)
    for module in (assess_alarms, assess_jobs, assess_predictors, assess_value):
        module.add_to(app)
    return app


def add_to(app: typer.Typer) -> None:
    """Register the command on scores."""
    command(
        app,
        "scores",
        "forestall assess scores scores.csv",
        "forestall assess scores scores.csv --threshold 0.3 --out report",
        "forestall assess scores scores.csv --score ours,theirs --group node",
        "forestall assess scores scores.csv --score p --baseline recency --json",
        "forestall assess scores scores.csv --score anomaly --no-probabilities",
    )(scores)


TABLE = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES",
        help="CSV or Parquet with columns score and failed (0 or 1), and perhaps group.",
    ),
]
SCORE = Annotated[
    str,
    typer.Option(
        "--score",
        metavar="NAME,...",
        help="Column to judge; with several, the others are compared with the first.",
        rich_help_panel=COLUMNS,
    ),
]
FAILED = Annotated[
    str,
    typer.Option(
        "--failed", metavar="NAME", help="Column of what came: 1 or 0.", rich_help_panel=COLUMNS
    ),
]
GROUP = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="NAME|none",
        help="Column of cases that hang together, such as the node (default: group, if there).",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
BASELINE = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        help="Column of scores that should be beaten.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
THRESHOLD = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="X",
        help="Scores of X or more are alarms (default: best F1).",
        rich_help_panel=JUDGING,
        show_default=False,
    ),
]
DRAWS = Annotated[
    int,
    typer.Option(
        "--draws", metavar="N", help="Permutations for the p-value.", rich_help_panel=JUDGING
    ),
]
SEED = Annotated[
    int,
    typer.Option("--seed", min=0, metavar="N", help="Of permutations.", rich_help_panel=JUDGING),
]
LEVEL = Annotated[
    float, typer.Option("--level", metavar="SHARE", help="Of intervals.", rich_help_panel=JUDGING)
]
BINS = Annotated[
    int,
    typer.Option("--bins", metavar="N", help="Of the reliability table.", rich_help_panel=JUDGING),
]
BINNING = Annotated[
    Literal["auto", "width", "count"],
    typer.Option(
        "--binning",
        help="Bins of equal width or count; auto: count where one bin would hold most cases.",
        rich_help_panel=JUDGING,
    ),
]
PROBABILITIES = Annotated[
    bool | None,
    typer.Option(
        "--probabilities/--no-probabilities",
        help="Whether scores are probabilities (default: if all lie within 0 and 1).",
        rich_help_panel=JUDGING,
        show_default=False,
    ),
]
STRICT = Annotated[bool, typer.Option("--strict", help="A row that must be left out is an error.")]


def scores(
    table: TABLE,
    score: SCORE = "score",
    failed: FAILED = "failed",
    group: GROUP = None,
    baseline: BASELINE = None,
    threshold: THRESHOLD = None,
    draws: DRAWS = 3000,
    seed: SEED = 1,
    level: LEVEL = 0.95,
    bins: BINS = 10,
    binning: BINNING = "auto",
    probabilities: PROBABILITIES = None,
    strict: STRICT = False,
    out: STUDY_OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
) -> None:
    """Say whether high scores mean failures, how surely, and what they are as probabilities."""
    asked = judge.ScoreQuestion(
        score=tuple(name.strip() for name in score.split(",")),
        failed=failed,
        group=group,
        baseline=baseline,
        threshold=threshold,
        draws=draws,
        seed=seed,
        level=level,
        bins=bins,
        binning=binning,
        probabilities=probabilities,
    )
    tell_study(
        report.FOLDER,
        lambda bar: judge.study(table, asked, strict=strict, progress=bar),
        "measures",
        Output(out, force, quiet, as_json),
    )
