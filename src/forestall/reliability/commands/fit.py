"""`forestall fit`: lifetimes fitted to gaps between failures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json, Strict
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json, say_report
from forestall.core.model.settings import Setting

with lazily():
    from forestall.reliability.report import questions
    from forestall.reliability.report.fit import fit as app_fit
    from forestall.reliability.report.fit import report


app = typer.Typer()


@command(
    app,
    "fit",
    "forestall fit gaps.csv",
    "forestall fit gaps.csv --family weibull --json",
    "forestall fit gaps.csv --family lognormal --ci bootstrap --p-values --plot fit.png",
    rare="resolution level ci draws seed zeros",
)
def fit(
    gaps: Annotated[
        Path,
        typer.Argument(
            metavar="GAPS",
            help="CSV with a column gap and optionally censored (1: still running at the end).",
        ),
    ],
    asked: questions.FitQuestion,
    strict: Strict = False,
    plot: Annotated[
        Path | None,
        Setting("Draw the fit: P-P, Q-Q, survival, hazard (.png, .svg or .pdf)", group=OUTPUT),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit a lifetime distribution to times between failures, or rank all of them."""
    if plot is not None:
        report.check_plot(plot)
    answer = app_fit.fit_file(gaps, asked, strict=strict)
    if plot is not None:
        report.draw_fit(answer, plot)
    if as_json:
        say_json(answer.plain())
    else:
        say_report(report.report_of(answer))
        if plot is not None:
            say(f"Figure: {plot}")
