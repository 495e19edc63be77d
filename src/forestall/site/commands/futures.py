"""`forestall futures`: the queue's next day."""

from __future__ import annotations

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import UNUSABLE
from forestall.core.commands.registry import command
from forestall.core.commands.study import Output, tell_study
from forestall.reliability.commands.records import Files, SiteOptions, given_of
from forestall.site.commands.report import print_commands

with lazily():
    from forestall.site.futures import question, study
    from forestall.site.futures import report as futures_report


app = typer.Typer()


@command(
    app,
    "futures",
    "forestall futures --slurm",
    "forestall futures jobs.txt nodes.txt --out tomorrow",
    "forestall futures --slurm --drain 32@12:00+4h",
    "forestall futures jobs.swf --at 2024-03-01T12:00 --json",
)
def futures(
    options: SiteOptions,
    files: Files = None,
    *,
    asked: question.FuturesQuestion,
    output: Output,
) -> None:
    """Simulate the queue: when jobs start and end, when nodes are free, what a drain affects.

    Each future draws how long every job runs from similar past jobs, and plays the scheduler
    to the end. Nothing is changed and nothing leaves this machine.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands("futures", page="")
        raise typer.Exit(UNUSABLE)
    tell_study(
        futures_report.FOLDER, lambda bar: study.find(given, asked, bar), "sets of futures", output
    )
