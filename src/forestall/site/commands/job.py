"""`forestall job`: what a site's records tell of one job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import UNUSABLE
from forestall.core.commands.options import OUTPUT, Force, Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say, say_json
from forestall.core.model.settings import Setting
from forestall.core.show.text import Short, text_of
from forestall.reliability.commands.records import Files, SiteOptions, given_of
from forestall.site.commands.report import page_place, print_commands

with lazily():
    from forestall.core.show import page as show_page
    from forestall.site.jobs import job as jobs
    from forestall.slurm.sources import given as asking


SHORT = Short(more="--json", whole="All of it: --out job.html, --json.")

app = typer.Typer()


@command(
    app,
    "job",
    "forestall job 12345 --slurm",
    "forestall job 12345 jobs.txt events.txt starts.txt",
    "forestall job 12345 jobs.txt --json",
)
def job(
    number: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="Job id, such as 12345, or 12345_7 for a task of an array.",
            show_default=False,
        ),
    ],
    options: SiteOptions,
    files: Files = None,
    *,
    asked: asking.JobQuestion,
    out: Annotated[
        Path | None,
        Setting(
            "Write one self-contained page; in a folder, as report.html",
            shown="FILE.html|DIR",
            group=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show one job: what it waited for, used and was promised, and which failures hit it.

    Nothing is changed and nothing leaves this machine.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands(f"job {number}", page="")
        raise typer.Exit(UNUSABLE)
    target = None if out is None else page_place(out, force=force)
    with ProgressBar("job", quiet=quiet) as bar:
        found = jobs.find(given, number, asked.checkpoint_interval, bar)
    if target is not None:
        show_page.write_page(target, show_page.page(found.told))
    if as_json:
        say_json(found.to_dict())
    elif not quiet:
        print(text_of(found.told, short=SHORT), end="")
        if target is not None:
            say(f"Written: {target}")
