"""`forestall warm-up`: compile before anybody waits."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say_json, say_report
from forestall.core.model.settings import Setting

with lazily():
    from forestall.runs import warm_up as runs_warm_up


app = typer.Typer()


@command(
    app,
    "warm-up",
    "forestall warm-up",
    "forestall warm-up --workers 1 --json",
    left="what was compiled stays in the cache",
)
def warm_up(
    workers: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Setting("Number of processes (default: one per core)", group=OUTPUT),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compile everything that an installation needs, in parallel, so that no run waits for it."""
    with ProgressBar("parts", quiet=quiet) as bar:
        bar.tell("compiling once")
        done = runs_warm_up.warm_up(workers=workers, progress=bar)
    if as_json:
        say_json(done.to_dict())
    elif not quiet:
        say_report(done.report.report)
