"""`forestall simulate`: one run of one workload."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from forestall._lazy import lazily
from forestall.cli.choice import Choice, Given
from forestall.cli.registry import command
from forestall.cli.runs.options import OUTPUT, Config, Force, JobLog, Json, Quiet
from forestall.cli.runs.parameters import run_options
from forestall.cli.runs.table import print_run
from forestall.cli.screen import ProgressBar, say, say_json

with lazily():
    from forestall.app.runs import settings as runs_settings
    from forestall.app.runs import single

RESULTS = (
    Choice("out", OUTPUT, "Folder for all files; without it only the table is printed.", "DIR"),
    Choice("log_events", OUTPUT, "Write what the engine was told and decided, too.", flag=True),
    Choice(
        "gantt",
        OUTPUT,
        "Span of the chart of nodes over time, since the first submission.",
        "3d:6d",
    ),
    Choice("report", OUTPUT, "Write report.html (default on).", flag=True, on=True),
)


app = typer.Typer()


@command(
    app,
    "simulate",
    "forestall simulate jobs.swf --failures failures.csv --nodes 128 --out run",
    "forestall simulate jobs.swf --policy easy --estimates requested --nodes 100",
    "forestall simulate jobs.csv --failures lanl.csv --system 19 --from 2003-07-18T16:00 "
    "--days 365 --fold-nodes 8",
    "forestall simulate jobs.swf --failures lanl.csv --system 20 --from 2003-01-01 "
    "--predictor hazard --train lanl.csv --risk 0",
    "forestall simulate jobs.swf --failures lanl.csv --system 20 --from 2004-09-01 "
    "--predictor b.predictor --events ras.csv --metrics metrics.csv "
    "--maintenance '10d/10d8h 0-15'",
    "forestall simulate jobs.swf --config run.toml --accuracy 0.9 --json",
    "forestall simulate jobs.swf --model virtual --failures failures.csv --nodes 32 "
    "--processors-per-node 4 --strategy best-fit --prediction-accuracy 0.8 --out run",
    "forestall simulate guests.csv --model cycle --hosts hosts.parquet --scheduler falcon "
    "--restart checkpoint --out run",
)
def simulate(
    log: JobLog,
    given: Annotated[Given, run_options(*RESULTS)],
    config: Config = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Replay jobs on a machine that fails, promise deadlines, and account for the promises.

    With --model virtual: place tasks that share nodes, move them before failures, and account for
    the deadlines. With --model cycle: run jobs as guests on hosts whose owners come back, and say
    how long that took and how often a host left its guest.
    """
    of_config = partial(runs_settings.of_config, config, given)
    with of_config():
        settings = runs_settings.settings_of(log, runs_settings.with_config(config, given))

    with of_config(), ProgressBar("jobs", quiet=quiet) as bar:
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
