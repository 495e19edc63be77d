"""`forestall assess alarms`: what the alarms of any predictor are worth, from files alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.judge.notes import tell
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
from forestall.cli.screen import Bar, say, say_json, show
from forestall.model.units import parse_duration

with lazily():
    from forestall.app.judge.alarms import files, judge, words

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    if out is not None:
        files.check_alarms_folder(out, force=force)
    with Bar("horizons", quiet=quiet) as bar:
        found = judge.study(raised, failures, chosen(given), asked, bar)
    written: str | None = None
    if out is not None:
        with Bar("figures", quiet=quiet) as bar:
            written = files.write_alarms_folder(found, out, bar)
    if as_json:
        say_json(found.summary)
    elif not quiet:
        print_alarms(found.summary)
        if written is not None:
            say()
            say(written)


def print_alarms(summary: Mapping[str, Any]) -> None:
    """Print the verdict and the tables."""
    say(summary["verdict"])
    say()
    tell(words.headline(summary))
    show(words.rows(summary), words.HEADS, right=range(8))
    say()
    show(words.count_rows(summary), words.COUNT_HEADS, right=range(8))
    if summary["by_score"]:
        say()
        within = words.within(summary)
        say(f"Only alarms of high scores, within {within}")
        show(words.score_rows(summary), words.SCORE_HEADS, right=range(7))
    notes = words.notes(summary)
    if notes:
        say()
    for note in notes:
        tell(note)
