"""`forestall simulate`: one run of one workload."""

from __future__ import annotations

from typing import Final

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Force, JobLog, Json, Quiet
from forestall.core.commands.questions import Given, texts
from forestall.core.commands.screen import ProgressBar, say, say_json
from forestall.runs.commands.kinds import commands_of_models
from forestall.runs.commands.table import print_run

with lazily():
    from forestall.runs import settings as runs_settings
    from forestall.runs import single

RESULTS: Final = texts(
    OUTPUT,
    ("out", "Folder for all files (default: print the table only)", "DIR"),
    ("log_events", "Also write the events and decisions of the engine", "off"),
    ("gantt", "Span of the chart of nodes over time, measured from the first submission", "3d:6d"),
    ("report", "Write report.html (default on)", "on"),
    rare={"gantt"},
)
HELP: Final = (
    "Replay jobs on a machine that fails, promise deadlines, and account for the promises."
)
TOLD: Final = {
    "promise": (
        "Replay jobs on nodes that fail, promise deadlines, and account for the promises.",
        (
            "forestall simulate jobs jobs.swf --failures failures.csv --nodes 128 --out run",
            "forestall simulate jobs jobs.swf --policy easy --estimates requested --nodes 100",
            "forestall simulate jobs jobs.csv --failures lanl.csv --system 19 --from "
            "2003-07-18T16:00 --days 365 --fold-nodes 8",
            "forestall simulate jobs jobs.swf --failures lanl.csv --system 20 --from 2003-01-01 "
            "--predictor hazard --train lanl.csv --risk 0",
            "forestall simulate jobs jobs.swf --failures lanl.csv --system 20 --from 2004-09-01 "
            "--predictor b.predictor --events ras.csv --metrics metrics.csv "
            "--maintenance '10d/10d8h 0-15'",
            "forestall simulate jobs jobs.swf --settings run.toml --accuracy 0.9 --json",
        ),
    ),
    "virtual": (
        "Place tasks in virtual machines that share nodes, move them before nodes fail, and "
        "account for the deadlines.",
        (
            "forestall simulate tasks jobs.swf --failures failures.csv --nodes 32 "
            "--processors-per-node 4 --strategy best-fit --prediction-accuracy 0.8 --out run",
        ),
    ),
    "cycle": (
        "Run jobs as guests on hosts whose owners come back: how long the jobs took, and how "
        "often they lost their host.",
        (
            "forestall simulate guests guests.csv --hosts hosts.parquet --scheduler falcon "
            "--restart checkpoint --out run",
        ),
    ),
    "": (
        "Replay jobs on a machine that fails; --model says how.",
        ("forestall simulate jobs.swf --failures failures.csv --nodes 128 --out run",),
    ),
}


def simulate(
    log: JobLog,
    given: Given,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Play one run of one model, and print what came of it."""
    settings = runs_settings.settings_of(log, given)
    with ProgressBar("jobs", quiet=quiet) as bar:
        if not settings.model.is_compiled(settings.parameters):
            bar.tell(f"compiling kernels, the first time only: {settings.model.compiling}")
        done = single.run(settings, force=force, progress=bar)
    result = done.result
    if as_json:
        say_json(result.summary)
    elif not quiet:
        played = getattr(result.outcome, "failures", ())
        failures = None if settings.inputs.failures is None else len(played)
        print_run(result.summary, result.cleaning, done.hints, failures)
        if failures is None and not settings.model.on_hosts:
            say("No failures were given (--failures FILE): nothing failed.")
        if done.folder is not None:
            report = f"; open {done.folder / 'report.html'}" if settings.report else ""
            say(f"Files are in {done.folder}{report}")


app = commands_of_models("simulate", HELP, simulate, RESULTS, TOLD)
