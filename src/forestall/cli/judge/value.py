"""`forestall assess value`: what a predictor is worth to the system, by replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, QUIET, READING, TRAINING, chosen
from forestall.cli.screen import Bar, say, say_json, show

with lazily():
    from forestall.app.judge import value as judge_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
    from forestall.cli.runs.parameters import parameter_choices

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
    with Bar("runs", quiet=quiet) as bar:
        account = judge_value.Account(log, chosen(given), names).replayed(bar)
    if as_json:
        say_json(account)
    elif not quiet:
        print_account(account)


def print_account(account: Mapping[str, Any]) -> None:
    """Print what each predictor brought."""
    say(account["verdict"])
    say()
    heads = ("Predictor", "QoS", "Regained", "Lost (node-h)", "Saved", "Utilization", "Kept",
             "Promised")  # fmt: skip
    rows = [
        (
            row["predictor"],
            f"{row['qos']:.4f}",
            _share(row["regained"]),
            f"{row['lost_node_hours']:,.0f}",
            _share(row["saved"]),
            f"{row['utilization']:.1%}",
            f"{row['kept']:.1%}",
            f"{row['promised']:.1%}",
        )
        for row in account["predictors"]
    ]
    show(rows, heads, right=range(1, 8), wrap=(0,))
    say("Regained, saved: shares of the QoS and of the node-hours that failures cost without")
    say("prediction, up to the perfect one's. QoS weighs each job by its promise: probabilities")
    say("below 1 lower it even where they are right.")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
