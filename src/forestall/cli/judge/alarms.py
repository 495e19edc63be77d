"""`forestall assess alarms`: what the alarms of any predictor are worth, from files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import (
    FAILURES,
    FORCE,
    JSON,
    QUIET,
    READ_FAILURES,
    STUDY_OUT,
    chosen,
)
from forestall.cli.study import Output, tell_study
from forestall.model.units import parse_duration

with lazily():
    from forestall.app.judge.alarms import judge, report

JUDGING = "Judging"


def add_to(group: typer.Typer) -> None:
    """Register the command."""
    command(
        group,
        "alarms",
        "forestall assess alarms alarms.csv --failures failures.csv",
        "forestall assess alarms alarms.csv --failures lanl.csv --system 20 --horizons 1h,24h",
        "forestall assess alarms alarms.csv --failures failures.csv --lead 5m --out report",
    )(alarms)


RAISED = Annotated[
    Path,
    typer.Argument(metavar="ALARMS", help="A CSV of alarms: time, node[, score][, until]."),
]
LOG = Annotated[
    Path,
    typer.Option("--failures", metavar="FILE", help="The failure log.", rich_help_panel=FAILURES),
]
HORIZONS = Annotated[
    str,
    typer.Option(
        "--horizons",
        metavar="DURATION,...",
        help="How long before a failure an alarm is about it.",
        rich_help_panel=JUDGING,
    ),
]
LEAD = Annotated[
    str,
    typer.Option(
        "--lead",
        metavar="DURATION",
        help="Least lead time that is of use; later alarms are late.",
        rich_help_panel=JUDGING,
    ),
]
NODES = Annotated[
    int | None,
    typer.Option(
        "--nodes",
        min=1,
        metavar="N",
        help="Nodes of the machine (default: those that the log and the alarms name).",
        rich_help_panel=JUDGING,
        show_default=False,
    ),
]
LEVEL = Annotated[
    float,
    typer.Option("--level", metavar="P", help="Of intervals.", rich_help_panel=JUDGING),
]
SEED = Annotated[
    int,
    typer.Option("--seed", min=0, metavar="N", help="Of draws.", rich_help_panel=JUDGING),
]


@with_options(READ_FAILURES)
def alarms(
    raised: RAISED,
    failures: LOG,
    horizons: HORIZONS = "1h,6h,24h",
    lead: LEAD = "0",
    nodes: NODES = None,
    level: LEVEL = 0.95,
    seed: SEED = 1,
    out: STUDY_OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Say what alarms were worth: recall beside chance, precision, false alarms, lead times."""
    asked = judge.AlarmSettings(
        judge.horizons_of(horizons), parse_duration(lead, "--lead"), nodes, level=level, seed=seed
    )
    tell_study(
        report.FOLDER,
        lambda bar: judge.study(raised, failures, chosen(given), asked, bar),
        "horizons",
        Output(out, force, quiet, as_json),
    )
