"""`forestall interval`: how often to checkpoint."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON
from forestall.cli.screen import say_json
from forestall.cli.site.options import FILES, SITE, given_of, rate_of
from forestall.cli.study import say_report
from forestall.model.errors import ParameterError

with lazily():
    from forestall.app.reliability import interval as reliability_interval

USUAL = "5m"
"""What a checkpoint costs where nobody says."""
FAILURES = "Nodes and failures"
JOB = "Job"

MTTF = Annotated[
    str | None,
    typer.Option(
        "--mttf",
        metavar="DURATION",
        help="A node's mean time to failure, where it is not measured from records.",
        show_default=False,
    ),
]
COST = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-cost",
        metavar="DURATION",
        help=f"Time of a checkpoint; with records {USUAL} is assumed where it is not told.",
        show_default=False,
    ),
]
SHAPE = Annotated[
    float,
    typer.Option(
        "--shape",
        metavar="BETA",
        help="Weibull shape of a node's life; 1 is the exponential.",
        rich_help_panel=FAILURES,
    ),
]
NODES = Annotated[
    int, typer.Option("--nodes", metavar="N", help="Nodes of the job.", rich_help_panel=FAILURES)
]
RECALL = Annotated[
    float,
    typer.Option(
        "--recall",
        metavar="R",
        help="Share of the failures that a predictor foresees in time to save the work.",
        rich_help_panel=FAILURES,
    ),
]
AGES = Annotated[
    str,
    typer.Option(
        "--ages",
        metavar="new|steady|DURATION",
        help="Of the nodes: all renewed at each failure, a machine long in use, or so old at the "
        "start. With steady a single node is renewed at every failure.",
        rich_help_panel=FAILURES,
    ),
]
RESTART = Annotated[
    str,
    typer.Option(
        "--restart", metavar="DURATION", help="To read a checkpoint back.", rich_help_panel=JOB
    ),
]
DOWNTIME = Annotated[
    str,
    typer.Option(
        "--downtime", metavar="DURATION", help="From a failure to the restart.", rich_help_panel=JOB
    ),
]
WORK = Annotated[
    str | None,
    typer.Option(
        "--work",
        metavar="DURATION",
        help="Length of the job without failures (default: long).",
        rich_help_panel=JOB,
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "interval",
        "forestall interval --mttf 4d --checkpoint-cost 5m",
        "forestall interval --mttf 1000d --shape 0.7 --nodes 512 --checkpoint-cost 5m --restart 5m",
        "forestall interval --mttf 1000d --nodes 512 --checkpoint-cost 5m --work 30d --json",
        "forestall interval --slurm --nodes 256 --checkpoint-cost 5m",
        "forestall interval jobs.txt events.txt --nodes 256 --checkpoint-cost 5m --recall 0.3",
    )(interval)


@with_options(SITE)
def interval(
    files: FILES = None,
    checkpoint_cost: COST = None,
    mttf: MTTF = None,
    shape: SHAPE = 1.0,
    nodes: NODES = 1,
    recall: RECALL = 0.0,
    ages: AGES = "steady",
    restart: RESTART = "0",
    downtime: DOWNTIME = "0",
    work: WORK = None,
    as_json: JSON = False,
    **options: Any,
) -> None:
    """Say how often to checkpoint: the best interval, and how far the closed forms are from it.

    Intervals count work between checkpoints. Overhead is expected time over work, less 1. With
    --slurm or files a node's MTTF is measured from a site's records.
    """
    given = given_of(files, options)
    if checkpoint_cost is None and given.nothing:
        raise ParameterError("--checkpoint-cost", "", "the time of a checkpoint, such as 5m")
    found = reliability_interval.answer(
        mttf,
        checkpoint_cost or USUAL,
        shape=shape,
        nodes=nodes,
        ages=ages,
        restart=restart,
        downtime=downtime,
        work=work,
        recall=recall,
        rate=rate_of(given, told=mttf),
    )
    if as_json:
        say_json(found.as_json())
    else:
        assumed = f"A checkpoint is taken to cost {USUAL} (--checkpoint-cost)."
        say_report(reliability_interval.report_of(found, "" if checkpoint_cost else assumed))
