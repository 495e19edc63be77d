"""`forestall interval`: how often to checkpoint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON
from forestall.cli.screen import say, say_json, show
from forestall.cli.site.options import FILES, SITE, given_of, rate_of
from forestall.model.errors import ParameterError

with lazily():
    from forestall.app.reliability import interval as reliability_interval
    from forestall.show import text as site_text

if TYPE_CHECKING:
    from forestall.app.reliability.interval import IntervalAnswer

USUAL = "5m"
"""What a checkpoint costs where nobody says."""
FAILURES = "Nodes and failures"
JOB = "Job"
TITLES = {
    "young": "Young",
    "daly_first": "Daly, first order",
    "daly": "Daly",
    "optimal": "optimum",
}

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
        _print(found)
        if checkpoint_cost is None:
            say(f"A checkpoint is taken to cost {USUAL} (--checkpoint-cost).")


def _print(found: IntervalAnswer) -> None:
    if found.hopeless:
        say("No interval helps: failures come before practically any checkpoint is finished.")
    else:
        _print_intervals(found)
        say()
    mttf = found.found.mttf
    said = clock(mttf) if mttf >= 1 else f"{mttf:.2g} s"
    what = "unforeseen failures" if found.recall else "failures"
    say(f"Mean time between {what} of the system: {said}.")
    if found.measured is not None:
        _print_measured(found)
    if found.recall:
        say(
            f"A predictor foresees {100 * found.recall:g} % of the failures, and work is saved in "
            "time. What acting on its alarms costs, false ones too, comes on top."
        )
    say(f"Assumes: {found.found.assumes}.")
    if found.job is not None:
        _print_job(found)
    elif found.found.plan is not None and not found.hopeless:
        say("The job has too many checkpoints for a distribution; its mean follows the efficiency.")


def _print_measured(found: IntervalAnswer) -> None:
    rate = found.measured
    assert rate is not None
    for line in site_text.paragraph(f"Measured: {rate.text}"):
        say(line)
    if found.shape != 1:
        say("Measured is the MTTF alone, as time in service over failures; the shape is as told.")
    low, high = found.ends
    if found.hopeless or low is None:
        return
    work = found.found.plan.work if found.found.plan is not None else math.inf
    said = clock(low) if low < work else "no checkpoint"
    until = "upwards" if high is None else f"to {clock(high) if high < work else 'no checkpoint'}"
    same = low >= work and high is not None and high >= work
    say(f"The best interval at the ends of that: {said if same else f'{said} {until}'}.")


def _print_intervals(found: IntervalAnswer) -> None:
    best = found.found.choices[-1]
    every = f"Checkpoint every {clock(best.interval)} of work"
    if found.unsaved:
        every = "Take no checkpoint, the job is short beside the time between failures"
    say(f"{every}: efficiency {percent(best.efficiency)}, overhead {percent(best.overhead)}.")
    say()
    show(
        [
            (
                TITLES[one.name],
                clock(one.interval),
                percent(one.overhead),
                percent(one.loss, 3),
                f"{one.ratio:.3f}",
            )
            for one in found.found.choices
        ],
        ("", "interval", "overhead", "longer than best", "of best interval"),
        right=(1, 2, 3, 4),
        wrap=(),
    )


def _print_job(found: IntervalAnswer) -> None:
    job = found.job
    assert job is not None
    say()
    if not job.mean() < 1e12:
        say("With these failures the job practically never ends.")
        return
    say(f"The job: {clock(job.unhindered)} without failures, {clock(job.mean())} in the mean.")
    show(
        [
            (f"{100 * p:g} % done by", clock(deadline))
            for p, deadline in zip(reliability_interval.PROMISES, found.deadlines, strict=True)
        ],
        right=(1,),
        wrap=(),
    )
    if found.approximate:
        how = job.method.removeprefix("approximation: ")
        say(f"The promises are an approximation ({how}): the mean is good, the spread less so.")


def clock(seconds: float) -> str:
    """Return a time as Slurm writes it, ``1-12:00:00``."""
    if not seconds < 1e12:
        return "never"
    whole = round(seconds)
    days, rest = divmod(whole, 86_400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days:,}-{text}" if days else text


def percent(share: float, digits: int = 2) -> str:
    """Return a share as a percentage; large ones as a factor."""
    if not math.isfinite(share):
        return "no end"
    return f"{100 * share:.{digits}f} %" if share < 100 else f"x {share:.3g}"
