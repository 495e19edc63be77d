"""`forestall assess value`: what a predictor is worth to the system, by replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, QUIET, READING, TRAINING, chosen
from forestall.cli.runs.parameters import parameter_choices
from forestall.cli.screen import ProgressBar, say_json
from forestall.cli.study import say_report

with lazily():
    from forestall.app.judge import value as judge_value

if TYPE_CHECKING:
    from collections.abc import Callable


def add_to(group: typer.Typer) -> None:
    """Register the command."""
    command(
        group,
        "value",
        "forestall assess value jobs.swf --failures later.csv --predictors rate.predictor",
        "forestall assess value jobs.swf --failures lanl.csv --system 20 --from 2004-09-01 "
        "--days 60 --nodes 256 --predictors rate,renewal --train lanl.csv",
        complete=_with_parameters,
    )(value)


def _with_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command the options of the promise model's parameters, but for the predictor's."""
    ours = [
        one for one in parameter_choices("promise") if one.name not in {"predictor", "accuracy"}
    ]
    return with_options(ours, READING, TRAINING)(function)


def value(
    log: Annotated[
        Path, typer.Argument(metavar="JOBS", help="The job log: SWF, or a table as CSV or Parquet.")
    ],
    predictors: Annotated[
        str,
        typer.Option(
            "--predictors",
            metavar="FILE|NAME,...",
            help="Files of `predict train`, or names of `predict list` with --train.",
        ),
    ],
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Replay a workload with predictors, without any, and with the perfect one."""
    names = [name.strip() for name in predictors.split(",") if name.strip()]
    with ProgressBar("runs", quiet=quiet) as bar:
        account = judge_value.Account(log, chosen(given), names).replayed(bar)
    if as_json:
        say_json(account)
    elif not quiet:
        say_report(judge_value.report_of(account))
