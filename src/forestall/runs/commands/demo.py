"""`forestall demo`: no input, three runs, plain words."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Force, Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json, show
from forestall.core.model.settings import Setting

with lazily():
    from forestall.core.show import words as say_
    from forestall.runs import demo as runs_demo
    from forestall.scheduling.report import digest, words

if TYPE_CHECKING:
    from forestall.runs.demo import Demo


app = typer.Typer()


@command(
    app, "demo", "forestall demo", "forestall demo --shared",
    "forestall demo --out my-demo --seed 2",
)  # fmt: skip
def demo(
    out: Annotated[Path, Setting("Folder for the pages", shown="DIR", group=OUTPUT)] = Path(
        "forestall-demo"
    ),
    seed: Annotated[
        Annotated[int, Field(ge=0)], Setting("Seed for jobs and failures", group=OUTPUT)
    ] = 1,
    shared: Annotated[
        bool, Setting("Jobs that share nodes with cores, memory and GPUs, for three days")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Generate two weeks of jobs and failures, and show what predicting the failures is worth."""
    silent = quiet or as_json

    def tell(text: str) -> None:
        if not silent:
            say(text)

    done = runs_demo.demo(out, tell, seed=seed, force=force, shared=shared)
    if as_json:
        say_json(done.summaries)
    elif not quiet:
        _print(done)


def _print(done: Demo) -> None:
    say()
    say(
        f"{len(done.jobs):,} jobs of {done.days} days on {done.nodes}, which "
        f"fail {len(done.failures)} times in {2 * done.days} days. Every job gets a "
        "deadline and the probability that it is met; users accept nothing below "
        f"{100 * runs_demo.RISK:.0f} %. The same jobs and failures, each time:"
    )
    for name, summary in done.summaries.items():
        say()
        say(f"{TITLES[name]}.")
        for sentence in sentences(summary):
            say(sentence, indent=2)
    say()
    say("With every failure foreseen, and users who accept only certainty (risk 1).")
    for sentence in sentences(done.certain.summary):
        say(sentence, indent=2)
    say()
    print_side_by_side(done.summaries)
    say()
    say(f"Side by side: {done.folder / 'comparison.html'}")
    say(f"The run with {runs_demo.SHOWN}: {done.folder / 'report.html'}")
    say(f"Its input: {done.log}, {done.folder / 'failures.csv'}. Try it yourself:")
    on = f"--nodes {runs_demo.NODES}" if done.machine is None else f"--machine '{done.machine}'"
    say(
        f"forestall simulate {done.log} --failures {done.folder / 'failures.csv'} {on} "
        "--accuracy 0.7 --risk 0.99",
        indent=2,
    )
    say("The same promises live, on a simulated cluster that needs no Slurm:")
    ledger = done.folder.with_name(f"{done.folder.name}-live.db")  # the folder is the run's alone
    say(f"{started_by()} {LIVE} --ledger {shlex.quote(f'sqlite:///{ledger}')}", indent=2)


def started_by() -> str:
    """Return how forestall was started, as one types it from here."""
    program = Path(sys.argv[0])
    if program.name != "forestall":
        return "forestall"
    known = shutil.which("forestall")
    if known is not None and Path(known).resolve() == program.resolve():
        return "forestall"
    try:
        return shlex.quote(str(program.absolute().relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(program.absolute()))


LIVE = "serve --simulated --nodes 16 --clock-speed 60"
"""The command that goes on where the demonstration ends."""
TITLES = {
    "no prediction": "Without prediction",
    "accuracy 0.7": "With 70 % of the failures foreseen",
    "perfect": "With every failure foreseen",
}


def sentences(summary: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return promises, work and waiting of a run, a sentence each."""
    made, promised = words.promises_made(summary)
    kept = round(summary["promises_kept"] * made)
    times = say_.counted(summary["restarts"], "time")
    lost = (
        f"destroyed {say_.node_hours(summary['lost_work'])} of work; jobs were restarted {times}"
        if summary["restarts"]
        else "destroyed nothing"
    )
    wait = summary["wait"]
    median, p95 = say_.duration(wait["median"]), say_.duration(wait["p95"])
    half = "did not wait" if wait["median"] == 0 else f"waited no longer than {median}"
    return (
        f"Of {made:,} promises {kept:,} were kept ({say_.percent(summary['promises_kept'])}); "
        f"{say_.percent(promised)} was promised on average.",
        f"Failures {lost}.",
        f"Half of the jobs {half}, 95 % waited no longer than {p95}.",
    )


def print_side_by_side(summaries: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the measures of a few runs, a column each."""
    rows = [
        (measure.name, *(measure.text(measure.value(one)) for one in summaries.values()))
        for measure in digest.MEASURES
        if measure.name != "Jobs"
    ]
    show(rows, ("", *summaries), right=range(1, len(summaries) + 1), wrap=())
