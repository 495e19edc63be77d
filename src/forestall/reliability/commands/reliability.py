"""`forestall reliability`: how a machine fails, from its failure log."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import FailureLog, FailureReading
from forestall.core.commands.registry import command
from forestall.core.commands.study import Output, tell_study
from forestall.core.model.settings import Setting

with lazily():
    from forestall.reliability.report import questions
    from forestall.reliability.report.failures import report, study


app = typer.Typer()


@command(
    app,
    "reliability",
    "forestall reliability failures.csv",
    "forestall reliability lanl.csv --system 20 --out report",
    "forestall reliability lanl.csv --system 20 --by cause",
    "forestall reliability failures.csv --clock uptime --families weibull,lognormal --json",
    rare="clock families draws seed unit years fold_nodes failure_format",
)
def reliability(
    log: FailureLog,
    reading: FailureReading,
    by: Annotated[
        Literal["year", "node", "cause"] | None,
        Setting("Breakdown to print in full (default: years, shortened)", group="Analysis"),
    ] = None,
    *,
    asked: questions.FailureStudySettings,
    output: Output,
) -> None:
    """Show how a machine fails: rates, distributions, trend, years, causes, bad nodes, bursts."""
    tell_study(
        report.FOLDER,
        lambda bar: study.study(log, reading, asked, bar),
        "analysis",
        output,
        lambda found: report.in_brief(found, by),
    )
