"""`forestall calibrate`: how much a guest takes from this host's owner, and where it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json, Quiet, StudyOut
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say, say_json, say_report
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting

with lazily():
    from forestall.prediction.availability import place as agent_place
    from forestall.sharing.api.calibrate import calibrate as app_calibrate
    from forestall.sharing.api.calibrate import files, report


app = typer.Typer()


@command(
    app,
    "calibrate",
    "forestall calibrate --quick",
    "forestall calibrate --out calibration --folder ~/.local/state/forestall",
    "forestall calibrate --cpus 0 --groups 1,2,4 --loads 10%,20%,30%,50%,70%,100% "
    "--no-measure-memory",
    "forestall calibrate --limit 2% --repeats 5 --json",
    rare="seconds repeats loads groups limit cpus pattern nice memory folder",
)
def calibrate(
    asked: app_calibrate.ExperimentSettings,
    out: StudyOut = None,
    folder: Annotated[
        Path | None,
        Setting(
            "Write the thresholds to this agent folder, where agent and guests read them",
            shown="DIR",
            group=OUTPUT,
        ),
    ] = None,
    save: Annotated[
        bool, Setting("Write the thresholds to the agent's default folder", group=OUTPUT)
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure how much guests slow down this host's owner, and from which load on.

    Groups of processes that work and rest stand for the owner. Th1 is the least load at which they
    lose more than the limit beside a spinning guest at normal priority, Th2 the same at lowest
    priority. All chosen cores are busy meanwhile; Ctrl-C ends every process.
    """
    plan = asked.plan()
    folder = _agents_folder(folder, save)
    if folder is not None:
        files.check_agent_folder(folder)
    if out is not None:
        files.check_calibration_folder(out, force=asked.force)
    if not quiet:
        say(f"This takes about {report.duration(asked.takes(plan))}.", error=True)
    with ProgressBar("points", quiet=quiet) as bar:
        found = app_calibrate.calibrate(asked, progress=bar)
    written = ""
    if out is not None:
        written = files.write_folder(found, out, force=asked.force)
    if as_json:
        say_json(found.summary)
    elif not quiet:
        say_report(report.report_of(found))
        say()
        if written:
            say(written)
    if folder is not None:
        place = files.write_thresholds(found, folder, force=asked.force)
        if not (quiet or as_json):
            say(f"Thresholds are in {place}")


def _agents_folder(folder: Path | None, save: bool) -> Path | None:
    """Return where the thresholds go; None: nowhere."""
    if not save:
        return folder
    if folder is not None:
        raise ParameterError("--folder", str(folder), "nothing with --save, which names one")
    return agent_place.default_folder()
