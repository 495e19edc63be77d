"""`forestall sweep`: many runs over ranges of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Force, JobLog, Json, Quiet
from forestall.core.commands.questions import Given, texts
from forestall.core.commands.screen import ProgressBar, say, say_json, show
from forestall.core.model.settings import Setting
from forestall.runs.commands.kinds import commands_of_models

with lazily():
    from forestall.runs import settings, sweep_run, sweep_words
    from forestall.runs import sweep as runs_sweep

if TYPE_CHECKING:
    from forestall.runs.sweep_run import Swept

MOST_MEANS = 20
"""Rows of means that are printed; the page has all."""
REPORT: Final = texts(OUTPUT, ("report", "Draw figures and write report.html", "on"))


On: TypeAlias = Annotated[
    str | None,
    Setting(
        "Run points on a cluster: slurm, slurm:partition=NAME,time=2h, or dask://HOST:PORT",
        shown="WHERE",
        group=OUTPUT,
    ),
]


HELP: Final = "Run every combination of parameter values: ranges from:to:by and lists a,b,c."
AGAIN: Final = "\n\nAn interrupted sweep continues when the same command is given again."
TOLD: Final = {
    "promise": (
        "Run every combination of parameter values, of promises and schedulers." + AGAIN,
        (
            "forestall sweep jobs jobs.swf --failures failures.csv --accuracy 0:1:0.1 --risk "
            "0:1:0.1",
            "forestall sweep jobs jobs.swf --policy fcfs,easy,conservative --nodes 100,128 --out "
            "policies",
            "forestall sweep jobs jobs.swf --failures failures.csv --checkpoint-interval "
            "30m:4h:30m --vary compression=true,false",
            "forestall sweep jobs jobs.swf --failures failures.csv --accuracy 0:1:0.01 --risk "
            "0:1:0.1 --on slurm:partition=main,time=2h --workers 32",
        ),
    ),
    "virtual": (
        "Run every combination of parameter values, of tasks in virtual machines." + AGAIN,
        (
            "forestall sweep tasks jobs.swf --failures failures.csv --nodes 32 "
            "--processors-per-node 4 --prediction-accuracy 0:1:0.25 --strategy "
            "random,first-fit,best-fit,omniscient --seed 1:5:1 --out strategies",
        ),
    ),
    "cycle": (
        "Run every combination of parameter values, of guests on shared hosts." + AGAIN,
        (
            "forestall sweep guests guests.csv --hosts hosts.parquet --scheduler "
            "falcon,condor,omniscient --job-length 30m,1h,2h,3h,4h,5h,6h --seed 1:5 --out lengths",
        ),
    ),
    "": (
        HELP + AGAIN,
        ("forestall sweep jobs.swf --failures failures.csv --accuracy 0:1:0.1 --risk 0:1:0.1",),
    ),
}


def sweep(
    log: JobLog,
    given: Given,
    out: Annotated[
        Path | None,
        Setting(
            "Folder for table, figures and finished points (default forestall-sweep)",
            shown="DIR",
            group=OUTPUT,
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        Setting(
            "Vary any parameter by name, including those that are on or off",
            shown="NAME=VALUES",
            group=OUTPUT,
        ),
    ] = None,
    workers: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Setting(
            "Number of processes (default: one per core), or of worker jobs with --on slurm "
            "(default 8). Results do not depend on it",
            group=OUTPUT,
        ),
    ] = None,
    on: On = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run every combination of parameter values of one model."""
    typed = {**given, **runs_sweep.varied(vary or [])}
    plan = runs_sweep.plan_of(log, typed)
    with ProgressBar("points", quiet=quiet) as bar:
        if not all(plan.model.is_compiled(point) for point in plan.kinds):
            bar.tell(f"compiling kernels, the first time only: {plan.model.compiling}")
        done = sweep_run.run_sweep(
            plan,
            out or settings.folder_of(typed, "forestall-sweep"),
            workers=workers,
            on=on,
            force=force,
            report=settings.report_of(typed),
            progress=bar,
            tell=bar.tell,
        )
    if as_json:
        say_json(done.table.to_dicts())
    elif not quiet:
        _print(done)


app = commands_of_models("sweep", HELP, sweep, REPORT, TOLD, varied=True)


def _print(done: Swept) -> None:
    axes = done.plan.axes
    before = f", {done.resumed:,} of them from before" if done.resumed else ""
    several = ", ".join(f"{len(values)} values of {name}" for name, values in axes.items())
    say(f"{len(done.table):,} points{before}" + (f": {several}" if several else ""))
    rows = sweep_words.extremes(done.table, tuple(axes), done.plan.model)
    if rows:
        say()
        show(rows, ("", "least", "at", "most", "at"), right=(1, 3), wrap=(2, 4))
        say(f"at: {', '.join(axes)}")
    heads, told = sweep_words.means(done.table, tuple(axes), done.plan.model)
    if told and "seed" in axes:
        paged = (done.folder / "report.html").exists()
        _print_means(heads, told, "on the page" if paged else "which report.html would show")
    if "seed" in axes and done.plan.model.drawing:
        say(done.plan.model.drawing)
    say()
    say(f"Table: {done.folder / 'sweep.csv'}")
    if (done.folder / "report.html").exists():
        say(f"Figures: {done.folder / 'report.html'}")


def _print_means(heads: tuple[str, ...], rows: list[tuple[str, ...]], rest: str) -> None:
    """Print means over seeds, with units in a second line of the heads."""
    say()
    show(
        rows[:MOST_MEANS],
        ("mean over seeds", *(head.replace(" (", "\n(") for head in heads[1:])),
        right=range(1, len(heads)),
        wrap=(0,),
    )
    more = len(rows) - MOST_MEANS
    if more > 0:
        say(f"and {more:,} more, {rest}")
    if heads[0]:
        say(f"means at: {heads[0]}")
    say("±: half the 95 % interval, from three seeds on; none if all seeds give the same value")
