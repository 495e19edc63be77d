"""`forestall assess jobs`: is a node metric worth acting on before jobs fail?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import FORCE, JSON, QUIET, READING, STUDY_OUT, chosen
from forestall.cli.study import Output, tell_study
from forestall.model.errors import ParameterError
from forestall.model.units import parse_duration

with lazily():
    from forestall.app.judge.jobs import judge, report

JOBS_AND_METRICS = "Jobs and metrics"
ACTING = "Acting"
READ = tuple(
    replace(choice, panel=JOBS_AND_METRICS)
    for choice in READING
    if choice.name in {"from", "days", "strict"}
)


def add_to(group: typer.Typer) -> None:
    """Register the command."""
    command(
        group,
        "jobs",
        "forestall assess jobs jobs.csv --metrics memory.csv",
        "forestall assess jobs sacct.txt --metrics ldms --metric Active --cores 16",
        "forestall assess jobs jobs.csv --metrics memory.csv --action-cost 0.5 --price 0.2 "
        "--currency EUR",
        "forestall assess jobs jobs.csv --metrics memory.csv --out report",
    )(jobs)


RECORDS = Annotated[
    Path, typer.Argument(metavar="JOBS", help="Accounting records: sacct's output, or a table.")
]
METRICS = Annotated[
    Path,
    typer.Option(
        "--metrics",
        metavar="PATH",
        help="Samples of nodes' metrics: a file or a folder.",
        rich_help_panel=JOBS_AND_METRICS,
    ),
]
METRIC = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Which metric (default: the only one).",
        rich_help_panel=JOBS_AND_METRICS,
        show_default=False,
    ),
]
FAILED = Annotated[
    str | None,
    typer.Option(
        "--failed-states",
        metavar="STATE,...",
        help="Ends that count as failures (default: all but COMPLETED).",
        rich_help_panel=JOBS_AND_METRICS,
        show_default=False,
    ),
]
IGNORED = Annotated[
    str | None,
    typer.Option(
        "--ignored-states",
        metavar="STATE,...",
        help="Ends that count neither as failures nor as successes.",
        rich_help_panel=JOBS_AND_METRICS,
        show_default=False,
    ),
]
VALUE = Annotated[
    Literal["max", "mean", "last"],
    typer.Option(
        "--value", help="What an idle period's metric is.", rich_help_panel=JOBS_AND_METRICS
    ),
]
SIDE = Annotated[
    Literal["high", "low"],
    typer.Option("--side", help="Which values are suspect.", rich_help_panel=JOBS_AND_METRICS),
]
REBOOT = Annotated[
    str,
    typer.Option(
        "--reboot", metavar="DURATION", help="How long acting takes.", rich_help_panel=ACTING
    ),
]
CORES = Annotated[
    int | None,
    typer.Option(
        "--cores",
        min=1,
        metavar="N",
        help="Cores of a node (default: as the records have it).",
        rich_help_panel=ACTING,
        show_default=False,
    ),
]
SCALE = Annotated[
    float,
    typer.Option(
        "--scale",
        metavar="S",
        help="Share of a failed job's time that acting saves.",
        rich_help_panel=ACTING,
    ),
]
COST = Annotated[
    float,
    typer.Option(
        "--action-cost",
        metavar="NODE-HOURS",
        help="What every action costs besides its time.",
        rich_help_panel=ACTING,
    ),
]
PRICE = Annotated[
    float | None,
    typer.Option(
        "--price",
        metavar="MONEY",
        help="Of a node-hour.",
        rich_help_panel=ACTING,
        show_default=False,
    ),
]
CURRENCY = Annotated[
    str,
    typer.Option(
        "--currency",
        metavar="NAME",
        help="Of the price, such as EUR.",
        rich_help_panel=ACTING,
        show_default=False,
    ),
]
LIMIT = Annotated[
    int,
    typer.Option(
        "--limit",
        min=0,
        metavar="N",
        help="Nodes to act on at once, at most; nothing is ever done, only said.",
        rich_help_panel=ACTING,
    ),
]
SEED = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Of draws.", rich_help_panel=ACTING)
]


@with_options(READ)
def jobs(
    records: RECORDS,
    metrics: METRICS,
    metric: METRIC = None,
    failed_states: FAILED = None,
    ignored_states: IGNORED = None,
    value: VALUE = "max",
    side: SIDE = "high",
    reboot: REBOOT = "90s",
    cores: CORES = None,
    scale: SCALE = 1.0,
    action_cost: COST = 0.0,
    price: PRICE = None,
    currency: CURRENCY = "",
    limit: LIMIT = 10,
    seed: SEED = 1,
    out: STUDY_OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Say whether a node metric is worth acting on before jobs fail, and on which nodes now."""
    asked = judge.JobStudySettings(
        None if failed_states is None else _names(failed_states, "--failed-states"),
        () if ignored_states is None else _names(ignored_states, "--ignored-states"),
        value,
        side,
        parse_duration(reboot, "--reboot"),
        cores,
        scale,
        action_cost,
        price,
        currency,
        limit,
        seed=seed,
    )
    tell_study(
        report.FOLDER,
        lambda bar: judge.study(records, metrics, metric, chosen(given), asked, bar),
        "analysis",
        Output(out, force, quiet, as_json),
    )


def _names(text: str, option: str) -> tuple[str, ...]:
    found = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    if not found:
        raise ParameterError(option, text, "states such as FAILED,NODE_FAIL")
    return found
