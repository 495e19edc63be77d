"""`forestall lemons`: nodes that fail more than chance allows."""

from __future__ import annotations

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import UNUSABLE
from forestall.core.commands.options import Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say, say_json, say_utf8
from forestall.core.show.text import Short, sections_of
from forestall.reliability.commands.records import (
    Files,
    OpenMetrics,
    SiteOptions,
    given_of,
    metrics_place,
)
from forestall.site.commands.report import print_commands

with lazily():
    from forestall.site import report as shown
    from forestall.site.lemons import worst
    from forestall.slurm.sources import given as asking


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
