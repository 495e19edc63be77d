"""`forestall spares`: how many spares for a wanted probability that no job waits for a node."""

from __future__ import annotations

from dataclasses import replace

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say_json, say_report
from forestall.reliability.commands.records import Files, SiteOptions, given_of, rate_of

with lazily():
    from forestall.reliability.report import questions
    from forestall.reliability.report import spares as reliability_spares


app = typer.Typer()


@command(
    app,
    "spares",
    "forestall spares --nodes 256 --hours 128 --target 0.99 --mtbf 102840h --shape 0.7",
    "forestall spares --nodes 512 --hours 7d --target 0.99 --pool",
    "forestall spares --nodes 2048 --hours 30d --target 0.99 --repair 2d --json",
    "forestall spares --slurm --since 365d --nodes 256 --hours 7d --target 0.99",
)
def spares(
    options: SiteOptions,
    files: Files = None,
    *,
    asked: questions.SparesQuestion,
    as_json: Json = False,
) -> None:
    """Compute how many spares keep jobs from waiting for a node, with a given probability.

    Without --pool or --repair: a job holds N nodes, the spares among them, and goes on while no
    more are lost than there are spares (k out of N). With --slurm or files the failure rate is
    measured from a site's records.
    """
    told = asked.rate if asked.mtbf is None else asked.mtbf
    measured = rate_of(given_of(files, options), told=told)
    done = reliability_spares.answer(replace(asked, measured=measured))
    if as_json:
        say_json(done.to_dict())
    else:
        say_report(reliability_spares.report_of(done))
