"""`forestall reliability`: how a machine fails, from its failure log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import FORCE, JSON, QUIET, READ_FAILURES, STUDY_OUT, chosen
from forestall.cli.study import Output, tell_study

with lazily():
    from forestall.app.reliability.failures import report, study

ANALYSIS = "Analysis"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "reliability",
        "forestall reliability failures.csv",
        "forestall reliability lanl.csv --system 20 --out report",
        "forestall reliability lanl.csv --system 20 --by cause",
        "forestall reliability failures.csv --clock uptime --families weibull,lognormal --json",
    )(reliability)


LOG = Annotated[Path, typer.Argument(metavar="FAILURES", help="A failure log of any known format.")]
BY = Annotated[
    Literal["year", "node", "cause"] | None,
    typer.Option(
        "--by",
        help="Which breakdown is printed in full (default: years in short).",
        rich_help_panel=ANALYSIS,
        show_default=False,
    ),
]
CLOCK = Annotated[
    Literal["calendar", "uptime"],
    typer.Option(
        "--clock",
        help="Gaps run from failure to failure, or from repair to failure.",
        rich_help_panel=ANALYSIS,
    ),
]
FAMILIES = Annotated[
    str,
    typer.Option(
        "--families",
        metavar="NAME,...|all",
        help="Distributions to rank.",
        rich_help_panel=ANALYSIS,
    ),
]
DRAWS = Annotated[
    int,
    typer.Option(
        "--draws",
        min=0,
        metavar="N",
        help="Samples to draw for p-values of fits; 0: none.",
        rich_help_panel=ANALYSIS,
    ),
]
SEED = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Of draws.", rich_help_panel=ANALYSIS)
]
UNIT = Annotated[
    Literal["s", "min", "h", "d"],
    typer.Option("--unit", help="Unit of gaps.", rich_help_panel=ANALYSIS),
]


@with_options(READ_FAILURES)
def reliability(
    log: LOG,
    by: BY = None,
    clock: CLOCK = "calendar",
    families: FAMILIES = "all",
    draws: DRAWS = 0,
    seed: SEED = 1,
    unit: UNIT = "h",
    out: STUDY_OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Say how a machine fails: rates, distributions, trend, years, causes, bad nodes, bursts."""
    asked = study.asked_of(
        {"clock": clock, "families": families, "draws": draws, "seed": seed, "unit": unit}
    )
    tell_study(
        report.FOLDER,
        lambda bar: study.study(log, chosen(given), asked, bar),
        "analysis",
        Output(out, force, quiet, as_json),
        lambda found: report.in_brief(found, by),
    )
