"""`forestall reliability`: how a machine fails, from its failure log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import FORCE, JSON, QUIET, READ_FAILURES, STUDY_OUT, chosen
from forestall.cli.screen import Bar, say, say_json, show

with lazily():
    from forestall.app.reliability.failures import files, study, words
    from forestall.app.reliability.fit import words as fit_words

if TYPE_CHECKING:
    from collections.abc import Mapping

ANALYSIS = "Analysis"
FEW_FAMILIES = 5
FEW_NODES = 10
By = Literal["year", "node", "cause"]


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
    if out is not None:
        files.check_report_folder(out, force=force)
    with Bar("analysis", quiet=quiet) as bar:
        found = study.study(log, chosen(given), asked, bar)
    written: str | None = None
    if out is not None:
        with Bar("figures", quiet=quiet) as bar:
            written = files.write_report_folder(found, out, bar)
    if as_json:
        say_json(found.summary)
    elif not quiet:
        print_study(found.summary, by)
        if written is not None:
            say()
            say(written)


def print_study(summary: Mapping[str, Any], by: By | None) -> None:
    """Print the tables of a failure log."""
    say(words.headline(summary))
    say()
    show(words.measure_rows(summary))
    for name in ("node", "system"):
        print_laws(summary, name)
    print_trend(summary)
    print_groups(summary, by)
    say()
    say(words.on_nodes(summary))
    for line in words.on_bursts(summary):
        say(line)
    remarks = words.remark_rows(summary)
    if remarks:
        say()
    for line in remarks:
        say(line)


def print_laws(summary: Mapping[str, Any], by: str) -> None:
    """Print the best families of the gaps of nodes or of the machine."""
    fits, unit = summary["fits"][by], summary["unit"]
    say()
    say(words.gaps_line(fits, by, unit))
    if words.zeros_line(fits, unit):
        say(words.zeros_line(fits, unit))
    for note in fits["notes"]:
        say(f"warning: {note}")
    if fits["why"]:
        say(fits["why"])
    ranked = fit_words.short_ranking_rows(fits["families"])
    if ranked:
        show(ranked[:FEW_FAMILIES], fit_words.SHORT_HEADS, right=(0, 2, 3, 4, 5))
        tested = fit_words.chance_rows(fits["families"])[:FEW_FAMILIES]
        if tested:
            show(tested, fit_words.CHANCE_HEADS, right=(1, 2, 3, 4))


def print_trend(summary: Mapping[str, Any]) -> None:
    """Print Weibull laws, and whether failures became more or fewer."""
    laws = words.law_rows(summary)
    say()
    if laws:
        heads = (f"Weibull ({summary['unit']})", *words.LAW_HEADS[1:])
        show(laws, heads, right=(1, 3, 5))
    if words.laws_note(summary):
        say(words.laws_note(summary))
    say(words.on_clustering(summary))
    say()
    show(words.trend_rows(summary), words.TREND_HEADS, right=(2, 3))
    say(words.on_trend(summary))


def print_groups(summary: Mapping[str, Any], by: By | None) -> None:
    """Print years, causes or nodes; years in short without a choice."""
    per = f"rates per 1000 node-days, scale in {summary['unit']}"
    age = " of age" if summary["years_are"] == "age" else ""
    say()
    if by is None:
        say(f"Years{age} ({per}; Weibull laws of nodes' gaps)")
        show(words.year_rows(summary), words.YEAR_HEADS, right=(1, 2, 3, 5, 6))
        worst = summary["nodes_apart"]["nodes"][:FEW_NODES]
        if summary["nodes_apart"]["worse"]:
            say()
            say("The worst nodes (rates per 1000 node-days, the nodes' own)")
            show(words.node_rows(worst), words.NODE_HEADS, right=(1, 2, 3, 5))
    elif by == "year":
        say(f"Years{age} ({per}; Weibull laws of nodes' gaps)")
        show(words.full_year_rows(summary), words.FULL_YEAR_HEADS, right=(1, 2, 4, 6))
    elif by == "cause":
        say("Causes (rates per 1000 node-days; Weibull shape of nodes' gaps between such failures)")
        rows = words.cause_rows(summary)
        if rows:
            show(rows, words.CAUSE_HEADS, right=(1, 2, 3, 4, 5, 7), wrap=(0,))
        else:
            say("The log tells no causes.")
    else:
        say(f"Nodes (rates per 1000 node-days). {words.on_rates(summary)}")
        rows = words.node_rows(summary["nodes_apart"]["nodes"])
        if rows:
            show(rows, words.NODE_HEADS, right=(1, 2, 3, 5))
