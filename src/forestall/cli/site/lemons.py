"""`forestall lemons`: nodes that fail more than chance allows."""

from __future__ import annotations

import typer

from forestall._lazy import lazily
from forestall.cli import UNUSABLE
from forestall.cli.registry import command
from forestall.cli.runs.options import Json, Quiet
from forestall.cli.screen import ProgressBar, say, say_json, say_utf8
from forestall.cli.site.options import Files, OpenMetrics, SiteOptions, given_of, metrics_place
from forestall.cli.site.report import print_commands
from forestall.show.text import Short, sections_of

with lazily():
    from forestall.app.site import given as asking
    from forestall.app.site import report as shown
    from forestall.app.site.lemons import worst


app = typer.Typer()


@command(
    app,
    "lemons",
    "forestall lemons --slurm --since 180d",
    "forestall lemons jobs.txt events.txt nodes.txt",
    "forestall lemons --failures lanl.csv --system 20 --false-discovery-rate 0.01",
    "forestall lemons events.txt --json",
)
def lemons(
    options: SiteOptions,
    files: Files = None,
    *,
    asked: asking.LemonQuestion,
    openmetrics: OpenMetrics = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find nodes that fail more often than chance explains, and what replacing them would save.

    Nothing is changed and nothing leaves this machine.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands("lemons", page="")
        raise typer.Exit(UNUSABLE)
    metrics_place(openmetrics, as_json=as_json)
    with ProgressBar("lemons", quiet=quiet) as bar:
        found = worst.find(given, asked, bar)
    if openmetrics is not None:
        if openmetrics == "-":
            say_utf8(shown.openmetrics(found.findings))
            return
        shown.write_openmetrics(openmetrics, found.findings)
    if as_json:
        say_json(found.to_dict())
    elif not quiet:
        print(sections_of(worst.told(found), short=Short(more="--json")), end="")
        if openmetrics is not None:
            say(f"Written: {openmetrics}")
