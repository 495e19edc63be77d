"""`forestall calibrate`: how much a guest takes from this host's owner, and where it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall._lazy import lazily
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, OUTPUT, QUIET, STUDY_OUT
from forestall.cli.screen import ProgressBar, say, say_json
from forestall.cli.study import say_report
from forestall.model.errors import ParameterError

with lazily():
    from forestall.app.hosts.agent import agent
    from forestall.app.hosts.calibrate import calibrate as app_calibrate
    from forestall.app.hosts.calibrate import files, report

EXPERIMENT = "The experiment"

SECONDS = Annotated[
    float | None,
    typer.Option(
        "--seconds",
        metavar="S",
        help="How long a point is measured (default 2; with --quick 0.6).",
        rich_help_panel=EXPERIMENT,
        show_default=False,
    ),
]
REPEATS = Annotated[
    int | None,
    typer.Option(
        "--repeats",
        metavar="N",
        help="How often each point is measured (default 3; with --quick 2).",
        rich_help_panel=EXPERIMENT,
        show_default=False,
    ),
]
LOADS = Annotated[
    str | None,
    typer.Option(
        "--loads",
        metavar="SHARE,...",
        help="What the owner's groups ask for, of the cores (default 5%, 10%, 20%, ..., 100%).",
        rich_help_panel=EXPERIMENT,
        show_default=False,
    ),
]
GROUPS = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="N,...",
        help="Processes of the owner's groups (default 1, and 1, 2 and 4 for each core).",
        rich_help_panel=EXPERIMENT,
        show_default=False,
    ),
]
LIMIT = Annotated[
    str,
    typer.Option(
        "--limit",
        metavar="SHARE",
        help="What the owner may lose of its CPU time.",
        rich_help_panel=EXPERIMENT,
    ),
]
CPUS = Annotated[
    str | None,
    typer.Option(
        "--cpus",
        metavar="LIST",
        help="Cores for owner and guest, such as 0 or 0-3 (default: all).",
        rich_help_panel=EXPERIMENT,
        show_default=False,
    ),
]
PATTERN = Annotated[
    str,
    typer.Option(
        "--pattern",
        metavar="paused|periodic",
        help="The owner rests as long as ever after its work, or has work due by the clock.",
        rich_help_panel=EXPERIMENT,
    ),
]
MEMORY = Annotated[
    bool,
    typer.Option(
        "--memory/--no-memory",
        help="Also measure a lack of memory, where a memory control group can be made.",
        rich_help_panel=EXPERIMENT,
    ),
]
QUICK = Annotated[
    bool,
    typer.Option(
        "--quick", help="Fewer and shorter points: a first look.", rich_help_panel=EXPERIMENT
    ),
]
SEED = Annotated[int, typer.Option("--seed", metavar="N", help="Of orders and draws.", min=0)]
FOLDER = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="The agent's folder: agent and guests take the thresholds from there.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
SAVE = Annotated[
    bool,
    typer.Option(
        "--save",
        help="The same, into the agent's default folder.",
        rich_help_panel=OUTPUT,
    ),
]
BUSY = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Measure although the host is busy, and keep thresholds that others disturbed; write "
        "into a folder that holds something else.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "calibrate",
        "forestall calibrate --quick",
        "forestall calibrate --out calibration --folder ~/.local/state/forestall",
        "forestall calibrate --cpus 0 --groups 1,2,4 --loads 10%,20%,30%,50%,70%,100% --no-memory",
        "forestall calibrate --limit 2% --repeats 5 --json",
    )(calibrate)


def calibrate(
    seconds: SECONDS = None,
    repeats: REPEATS = None,
    loads: LOADS = None,
    groups: GROUPS = None,
    limit: LIMIT = "5%",
    cpus: CPUS = None,
    pattern: PATTERN = "paused",
    memory: MEMORY = True,
    quick: QUICK = False,
    seed: SEED = 1,
    out: STUDY_OUT = None,
    folder: FOLDER = None,
    save: SAVE = False,
    force: BUSY = False,
    quiet: QUIET = False,
    as_json: JSON = False,
) -> None:
    """Measure how much a guest takes from this host's owner, and the loads at which it begins to.

    Groups of processes that work and rest stand for the owner. Th1 is the least load at which they
    lose more than the limit beside a spinning guest at normal priority, Th2 the same at lowest
    priority. All chosen cores are busy meanwhile; Ctrl-C ends every process.
    """
    asked = app_calibrate.ExperimentSettings(
        seconds, repeats, loads, groups, limit, cpus, pattern, memory, quick, seed, force
    )
    plan = asked.plan()
    folder = _agents_folder(folder, save)
    if folder is not None:
        files.check_agent_folder(folder)
    if out is not None:
        files.check_calibration_folder(out, force=force)
    if not quiet:
        say(f"This takes about {report.duration(asked.takes(plan))}.", error=True)
    with ProgressBar("points", quiet=quiet) as bar:
        found = app_calibrate.calibrate(asked, progress=bar)
    written = ""
    if out is not None:
        written = files.write_folder(found, out, force=force)
    if as_json:
        say_json(found.summary)
    elif not quiet:
        say_report(report.report_of(found))
        say()
        if written:
            say(written)
    if folder is not None:
        place = files.write_thresholds(found, folder, force=force)
        if not (quiet or as_json):
            say(f"Thresholds are in {place}")


def _agents_folder(folder: Path | None, save: bool) -> Path | None:
    """Return where the thresholds go; None: nowhere."""
    if not save:
        return folder
    if folder is not None:
        raise ParameterError("--folder", str(folder), "nothing with --save, which names one")
    return agent.default_folder()
