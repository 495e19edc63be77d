"""`forestall interval`: how often to checkpoint."""

from __future__ import annotations

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say_json, say_report
from forestall.core.model.errors import ParameterError
from forestall.reliability.commands.records import Files, SiteOptions, given_of, rate_of

with lazily():
    from forestall.reliability.report import interval as reliability_interval
    from forestall.reliability.report import questions


app = typer.Typer()


@command(
    app,
    "interval",
    "forestall interval --mtbf 4d --checkpoint-overhead 5m",
    "forestall interval --mtbf 1000d --shape 0.7 --nodes 512 --checkpoint-overhead 5m "
    "--restart-overhead 5m",
    "forestall interval --mtbf 1000d --nodes 512 --checkpoint-overhead 5m --work 30d --json",
    "forestall interval --slurm --nodes 256 --checkpoint-overhead 5m",
    "forestall interval jobs.txt events.txt --nodes 256 --checkpoint-overhead 5m --recall 0.3",
)
def interval(
    options: SiteOptions,
    files: Files = None,
    *,
    asked: questions.IntervalQuestion,
    as_json: Json = False,
) -> None:
    """Find the best checkpoint interval, and show how far the closed forms are from it.

    Intervals count work between checkpoints. Overhead is expected time over work, less 1. With
    --slurm or files a node's MTTF is measured from a site's records.
    """
    given = given_of(files, options)
    if asked.checkpoint_overhead is None and given.nothing:
        raise ParameterError("checkpoint_overhead", None, "the time of a checkpoint, such as 5m")
    found = reliability_interval.answer(asked, rate_of(given, told=asked.mtbf))
    if as_json:
        say_json(found.to_dict())
    else:
        usual = reliability_interval.USUAL
        assumed = f"A checkpoint is assumed to cost {usual} ({{checkpoint_overhead}})."
        said = "" if asked.checkpoint_overhead else assumed
        say_report(reliability_interval.report_of(found, said))
