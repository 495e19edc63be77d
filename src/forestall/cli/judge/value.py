"""`forestall assess value`: what a predictor is worth to the system, by replay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, PARAMETERS, QUIET, READING, TRAINING, chosen
from forestall.cli.screen import Bar, say_json
from forestall.cli.study import say_report

OURS = tuple(choice for choice in PARAMETERS if choice.name not in {"predictor", "accuracy"})


def add_to(group: typer.Typer) -> None:
    """Register the command."""
    command(
        group,
        "value",
        "forestall assess value jobs.swf --failures later.csv --predictors rate.predictor",
        "forestall assess value jobs.swf --failures lanl.csv --system 20 --from 2004-09-01 "
        "--days 60 --nodes 256 --predictors rate,renewal --train lanl.csv",
    )(value)


@with_options(OURS, READING, TRAINING)
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
    from forestall.app.judge.value import Account, report_of

    names = [name.strip() for name in predictors.split(",") if name.strip()]
    with Bar("runs", quiet=quiet) as bar:
        account = Account(log, chosen(given), names).replayed(bar)
    if as_json:
        say_json(account)
    elif not quiet:
        say_report(report_of(account))
