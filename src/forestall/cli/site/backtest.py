"""`forestall backtest`: what quotes would have been worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from forestall._lazy import lazily
from forestall.cli import UNUSABLE
from forestall.cli.registry import command, group_of
from forestall.cli.runs.options import Force, Json, Quiet, StudyOut
from forestall.cli.screen import ProgressBar, say, say_json, say_utf8
from forestall.cli.site.options import Files, OpenMetrics, SiteOptions, given_of, metrics_place
from forestall.cli.site.report import print_commands
from forestall.show.text import sections_of

with lazily():
    from forestall.app.site import given as asking
    from forestall.app.site import report as shown
    from forestall.app.site.promises import backtest

if TYPE_CHECKING:
    from forestall.app.site.promises.backtest import BacktestFound


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
    _print(found, openmetrics, written, "json" if as_json else "none" if quiet else "text")
    if found.study.holds is False:
        raise typer.Exit(1)


def _print(found: BacktestFound, openmetrics: str | None, written: str | None, how: str) -> None:
    if openmetrics == "-":
        say_utf8(shown.openmetrics(found.findings))
        return
    if openmetrics is not None:
        shown.write_openmetrics(openmetrics, found.findings)
    if how == "json":
        say_json(found.to_dict())
    elif how != "none":
        print(sections_of(backtest.told(found)), end="")
        for line in (written, None if openmetrics is None else f"Written: {openmetrics}"):
            if line is not None:
                say()
                say(line)
