"""`forestall spares`: how many spares for a wanted probability that no job waits for a node."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import spelled, with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON
from forestall.cli.screen import say_json
from forestall.cli.site.options import FILES, SITE, given_of, rate_of
from forestall.cli.study import say_report

with lazily():
    from forestall.app.reliability import spares as reliability_spares

NODES = "Nodes and failures"
MODEL = "Model"

COUNT = Annotated[
    int,
    typer.Option("--nodes", metavar="N", help="Nodes of the job, or beside the spares of a pool."),
]
HOURS = Annotated[
    str,
    typer.Option(
        "--hours", metavar="HOURS", help="How long: hours, or a duration such as 4-00:00:00."
    ),
]
TARGET = Annotated[
    float, typer.Option("--target", metavar="P", help="Wanted probability, such as 0.99.")
]
MTTF = Annotated[
    str | None,
    typer.Option(
        "--mttf",
        metavar="DURATION",
        help="A node's mean time to failure.",
        rich_help_panel=NODES,
        show_default=False,
    ),
]
RATE = Annotated[
    float | None,
    typer.Option(
        "--rate",
        metavar="R",
        help="Failures per 1000 node-days, in the place of --mttf (default 6.5).",
        rich_help_panel=NODES,
        show_default=False,
    ),
]
SHAPE = Annotated[
    float,
    typer.Option(
        "--shape",
        metavar="BETA",
        help="Weibull shape of a node's life; 1 is the exponential.",
        rich_help_panel=NODES,
    ),
]
AGES = Annotated[
    str | None,
    typer.Option(
        "--ages",
        metavar="new|steady|DURATION",
        help="Of the nodes at the start (default new; of a pool steady).",
        rich_help_panel=NODES,
        show_default=False,
    ),
]
POOL = Annotated[
    bool,
    typer.Option(
        "--pool",
        help="All N nodes work, and each failure takes a spare from a pool beside them.",
        rich_help_panel=MODEL,
    ),
]
REPAIR = Annotated[
    str | None,
    typer.Option(
        "--repair",
        metavar="DURATION|measured",
        help="A pool to which failed nodes come back after so long, or as long as records tell.",
        rich_help_panel=MODEL,
        show_default=False,
    ),
]
COPIES = Annotated[
    int,
    typer.Option(
        "--copies",
        metavar="C",
        help="Each checkpoint lies on its node and C - 1 neighbours; 0: it is never gone.",
        rich_help_panel=MODEL,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "spares",
        "forestall spares --nodes 256 --hours 128 --target 0.99 --mttf 102840h --shape 0.7",
        "forestall spares --nodes 512 --hours 7d --target 0.99 --pool",
        "forestall spares --nodes 2048 --hours 30d --target 0.99 --repair 2d --json",
        "forestall spares --slurm --since 365d --nodes 256 --hours 7d --target 0.99",
    )(spares)


@with_options(SITE)
def spares(
    nodes: COUNT,
    hours: HOURS,
    files: FILES = None,
    target: TARGET = 0.99,
    mttf: MTTF = None,
    rate: RATE = None,
    shape: SHAPE = 1.0,
    ages: AGES = None,
    pool: POOL = False,
    repair: REPAIR = None,
    copies: COPIES = 0,
    as_json: JSON = False,
    **options: Any,
) -> None:
    """Say how many spares it takes so that, with the wanted probability, no job waits for a node.

    Without --pool or --repair: a job holds N nodes, the spares among them, and goes on while no
    more are lost than there are spares (k out of N). With --slurm or files the failure rate is
    measured from a site's records.
    """
    measured = rate_of(given_of(files, options), told=rate if mttf is None else mttf)
    done = reliability_spares.answer(
        reliability_spares.SparesQuestion(
            nodes, hours, target, mttf, rate, shape, ages, pool, repair, copies, measured
        )
    )
    if as_json:
        say_json(done.json)
    else:
        say_report(reliability_spares.report_of(done, spelled))
