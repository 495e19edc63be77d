"""`forestall design`: queues, checkpoints and spares of a cluster, and what changes would buy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall._lazy import lazily
from forestall.cli.registry import command
from forestall.cli.runs.options import FORCE, JSON, OUTPUT, QUIET
from forestall.cli.screen import ProgressBar, say, say_json
from forestall.cli.study import say_report

with lazily():
    from forestall.app.reliability.design import design as app_design
    from forestall.app.reliability.design import report

SEARCH = "Search"

CLUSTER = Annotated[
    Path,
    typer.Argument(
        metavar="CLUSTER.toml", help="Groups of nodes, queues, checkpoint cost and wishes."
    ),
]
OPTIMIZE = Annotated[
    bool,
    typer.Option(
        "--optimize",
        help="Search for queues with fewer failures at equal capacity.",
        rich_help_panel=SEARCH,
    ),
]
JOBS = Annotated[
    Path | None,
    typer.Option(
        "--jobs",
        metavar="JOBLOG",
        help="The jobs to search for (default: those of the file, or a published model's).",
        rich_help_panel=SEARCH,
        show_default=False,
    ),
]
PROCESSORS = Annotated[
    int | None,
    typer.Option(
        "--processors-per-node",
        metavar="P",
        min=1,
        help="Of an SWF job log, whose sizes are processors (default: as the file says, or 1).",
        rich_help_panel=SEARCH,
        show_default=False,
    ),
]
TOP = Annotated[
    int,
    typer.Option("--top", metavar="N", min=0, help="Changes to print.", rich_help_panel=OUTPUT),
]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for design.json, tables and the trade-off's figure.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "design",
        "forestall design cluster.toml",
        "forestall design cluster.toml --optimize --jobs jobs.swf --out design",
        "forestall design cluster.toml --json",
    )(design)


def design(
    cluster: CLUSTER,
    optimize: OPTIMIZE = False,
    jobs: JOBS = None,
    processors_per_node: PROCESSORS = None,
    top: TOP = 12,
    out: OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
) -> None:
    """Say how likely the jobs of each queue meet a failure, how often to write checkpoints, how
    many spares a job needs, and what changes would buy.

    Failure probabilities are of jobs that fill their queue: all its nodes, up to its limit.
    """
    if out is not None:
        report.check_design_folder(out, force=force)
    with ProgressBar("searching", quiet=quiet or as_json) as bar:
        done = app_design.design(
            cluster,
            optimize=optimize,
            jobs=jobs,
            processors_per_node=processors_per_node,
            progress=bar,
        )
    if out is not None:
        report.save_design(done, out)
    if as_json:
        say_json(done.json)
    elif not quiet:
        say_report(report.report_of(done, top))
        if out is not None:
            say()
            say(f"Written to {out}")
