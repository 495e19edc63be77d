"""`forestall lemons`: nodes that fail more than chance allows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli import UNUSABLE
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, QUIET
from forestall.cli.screen import ProgressBar, say, say_json
from forestall.cli.site.options import FILES, METRICS, SITE, given_of, metrics_place
from forestall.cli.site.report import print_commands
from forestall.model.errors import ParameterError
from forestall.model.units import parse_duration

with lazily():
    from forestall.app.site import report as shown
    from forestall.app.site.lemons import worst

RATE = Annotated[
    float,
    typer.Option(
        "--false-discovery-rate",
        metavar="SHARE",
        help="Of the nodes that are named, the share that may be named in error.",
        rich_help_panel="Analysis",
    ),
]
INTERVAL = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-interval",
        metavar="DURATION",
        help="How often jobs are taken to checkpoint, for what they lose (default 1h).",
        rich_help_panel="Analysis",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "lemons",
        "forestall lemons --slurm --since 180d",
        "forestall lemons jobs.txt events.txt nodes.txt",
        "forestall lemons --failures lanl.csv --system 20 --false-discovery-rate 0.01",
        "forestall lemons events.txt --json",
    )(lemons)


@with_options(SITE)
def lemons(
    files: FILES = None,
    false_discovery_rate: RATE = 0.05,
    checkpoint_interval: INTERVAL = None,
    openmetrics: METRICS = None,
    quiet: QUIET = False,
    as_json: JSON = False,
    **options: Any,
) -> None:
    """Name nodes that fail more than chance allows, and what average ones would have saved.

    Nothing is changed and nothing leaves this machine.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands("lemons", page="")
        raise typer.Exit(UNUSABLE)
    metrics_place(openmetrics, as_json=as_json)
    assumed: dict[str, Any] = {}
    if checkpoint_interval is not None:
        seconds = parse_duration(checkpoint_interval, "--checkpoint-interval")
        if seconds == 0:
            allowed = "a duration of at least 1s"
            raise ParameterError("--checkpoint-interval", checkpoint_interval, allowed)
        assumed["checkpoint_interval"] = seconds

    with ProgressBar("lemons", quiet=quiet) as bar:
        found = worst.find(given, assumed, false_discovery_rate=false_discovery_rate, progress=bar)
    if openmetrics is not None:
        if openmetrics == "-":
            print(shown.openmetrics(found.report()), end="")
            return
        shown.write_openmetrics(openmetrics, found.report())
    if as_json:
        say_json(found.as_json())
    elif not quiet:
        print(worst.text_of(found), end="")
        if openmetrics is not None:
            say(f"Written: {openmetrics}")
