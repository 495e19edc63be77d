"""`forestall design`: queues, checkpoints and spares of a cluster, and what changes would buy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Force, Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say, say_json, say_report
from forestall.core.model.settings import Setting

with lazily():
    from forestall.reliability.report.design import design as app_design
    from forestall.reliability.report.design import report


app = typer.Typer()


@command(
    app,
    "design",
    "forestall design cluster.toml",
    "forestall design cluster.toml --optimize --job-log jobs.swf --out design",
    "forestall design cluster.toml --json",
)
def design(
    cluster: Annotated[
        Path,
        typer.Argument(
            metavar="CLUSTER.toml", help="Groups of nodes, queues, checkpoint overhead and targets."
        ),
    ],
    optimize: Annotated[
        bool,
        Setting("Search for queues with fewer failures at equal capacity", group="Search"),
    ] = False,
    jobs: Annotated[
        Path | None,
        Setting(
            "The jobs to search for (default: those of the file, or a published model's)",
            shown="JOBLOG",
            group="Search",
        ),
    ] = None,
    processors_per_node: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Setting(
            "Processors per node, to convert the job sizes of an SWF log (default: as the file "
            "says, or 1)",
            shown="P",
            group="Search",
        ),
    ] = None,
    top: Annotated[Annotated[int, Field(ge=0)], Setting("Changes to print", group=OUTPUT)] = 12,
    out: Annotated[
        Path | None,
        Setting(
            "Folder for design.json, tables and the trade-off's figure", shown="DIR", group=OUTPUT
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show how likely jobs of each queue are to meet a failure, how often to checkpoint, how many
    spares a job needs, and what changes would gain.

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
