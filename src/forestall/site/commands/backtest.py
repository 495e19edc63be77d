"""`forestall backtest`: what quotes would have been worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import UNUSABLE
from forestall.core.commands.options import Force, Json, Quiet, StudyOut
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import ProgressBar, say, say_json, say_utf8
from forestall.core.show.text import sections_of
from forestall.reliability.commands.records import (
    Files,
    OpenMetrics,
    SiteOptions,
    given_of,
    metrics_place,
)
from forestall.site.commands.report import print_commands

with lazily():
    from forestall.site import report as shown
    from forestall.site.promises import backtest
    from forestall.site.waits import backtest as waits_backtest
    from forestall.slurm.sources import given as asking

if TYPE_CHECKING:
    from forestall.core.show.report import Report
    from forestall.site.promises.backtest import BacktestFound
    from forestall.site.waits.backtest import WaitsFound


app = group_of(
    "Replay records in time order, and show how good quotes would have been.",
    "forestall backtest promises jobs.txt --out study",
)


@command(
    app,
    "promises",
    "forestall backtest promises --slurm --since 365d",
    "forestall backtest promises jobs.txt --out study",
    "forestall backtest promises jobs.swf --question deadline --probability 0.9",
    "forestall backtest promises jobs.txt --partition gpu --json",
)
def promises(
    options: SiteOptions,
    files: Files = None,
    *,
    asked: asking.BacktestQuestion,
    out: StudyOut = None,
    openmetrics: OpenMetrics = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say what quotes of deadlines and probabilities would have been worth on past jobs.

    Jobs are replayed in time order; each quote uses only what was known when it was made. Said
    and kept shares are compared decile by decile. The exit code is 1 where they do not agree, 0
    where they do or there are too few promises. Nothing is changed and nothing leaves this machine.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands("backtest promises", page="")
        raise typer.Exit(UNUSABLE)
    metrics_place(openmetrics, as_json=as_json)

    if out is not None:
        backtest.check_backtest_folder(out, force=force)
    with ProgressBar("events", quiet=quiet) as bar:
        found = backtest.find(given, asked, bar)
    written: str | None = None
    if out is not None:
        with ProgressBar("figures", quiet=quiet) as bar:
            written = backtest.write_backtest_folder(found, out, bar)
    how = "json" if as_json else "none" if quiet else "text"
    _print(found, backtest.told(found), openmetrics, written, how)
    if found.study.holds is False:
        raise typer.Exit(1)


@command(
    app,
    "waits",
    "forestall backtest waits --slurm --since 365d",
    "forestall backtest waits jobs.txt starts.txt",
    "forestall backtest waits jobs.swf --latest 50000 --json",
)
def waits(
    options: SiteOptions,
    files: Files = None,
    *,
    asked: asking.WaitsQuestion,
    openmetrics: OpenMetrics = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say how good answers to "when will my job start" would have been on past jobs.

    Jobs are replayed in time order; each answer uses only what was known when it was asked, at the
    job's submission or while it waits. They are scored beside simple yardsticks, boosted trees
    (with scikit-learn) and Slurm's own estimates (where recorded). Nothing is changed and nothing
    leaves this machine.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands("backtest waits", page="")
        raise typer.Exit(UNUSABLE)
    metrics_place(openmetrics, as_json=as_json)
    with ProgressBar("steps", quiet=quiet) as bar:
        found = waits_backtest.find(given, asked, bar)
    told = shown.shown(found.findings)
    _print(found, told, openmetrics, None, "json" if as_json else "none" if quiet else "text")


def _print(
    found: BacktestFound | WaitsFound,
    report: Report,
    openmetrics: str | None,
    written: str | None,
    how: str,
) -> None:
    if openmetrics == "-":
        say_utf8(shown.openmetrics(found.findings))
        return
    if openmetrics is not None:
        shown.write_openmetrics(openmetrics, found.findings)
    if how == "json":
        say_json(found.to_dict())
    elif how != "none":
        print(sections_of(report), end="")
        for line in (written, None if openmetrics is None else f"Written: {openmetrics}"):
            if line is not None:
                say()
                say(line)
