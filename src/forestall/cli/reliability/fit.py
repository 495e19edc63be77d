"""`forestall fit`: lifetimes fitted to gaps between failures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from forestall._lazy import lazily
from forestall.cli.registry import command
from forestall.cli.runs.options import JSON, OUTPUT
from forestall.cli.screen import say, say_json
from forestall.cli.study import say_report

with lazily():
    from forestall.app.reliability.fit import fit as app_fit
    from forestall.app.reliability.fit import report
    from forestall.reliability.lifetimes import registry

FIT = "Fit"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "fit",
        "forestall fit gaps.csv",
        "forestall fit gaps.csv --family weibull --json",
        "forestall fit gaps.csv --family lognormal --ci bootstrap --p-values --plot fit.png",
    )(fit)


def _families() -> list[str]:
    return list(registry.FAMILIES)


GAPS = Annotated[
    Path,
    typer.Argument(
        metavar="GAPS",
        help="CSV with a column gap, and perhaps censored (1: still running at the end).",
    ),
]
FAMILY = Annotated[
    str | None,
    typer.Option(
        "--family",
        metavar="NAME",
        help="Such as weibull; without it all families are fitted and ranked.",
        rich_help_panel=FIT,
        show_default=False,
        autocompletion=lambda incomplete: [n for n in _families() if n.startswith(incomplete)],
    ),
]
RANK_BY = Annotated[
    Literal["aic", "bic", "loglik", "ks", "ad"],
    typer.Option("--rank-by", help="What makes a family the best.", rich_help_panel=FIT),
]
ZEROS = Annotated[
    Literal["auto", "censored", "exact", "drop"],
    typer.Option(
        "--zeros",
        help="What gaps of 0 are: shorter than the resolution (censored), 0, or left out.",
        rich_help_panel=FIT,
    ),
]
RESOLUTION = Annotated[
    float | None,
    typer.Option(
        "--resolution",
        metavar="TIME",
        help="Shortest gap that the log could tell (default: the smallest gap above 0).",
        rich_help_panel=FIT,
        show_default=False,
    ),
]
LEVEL = Annotated[
    float, typer.Option("--level", metavar="SHARE", help="Of intervals.", rich_help_panel=FIT)
]
CI = Annotated[
    Literal["likelihood", "wald", "bootstrap"],
    typer.Option("--ci", help="How intervals are found.", rich_help_panel=FIT),
]
P_VALUES = Annotated[
    bool,
    typer.Option("--p-values", help="Of the goodness of fit, by drawing.", rich_help_panel=FIT),
]
DRAWS = Annotated[
    int, typer.Option("--draws", metavar="N", help="Samples to draw.", rich_help_panel=FIT)
]
SEED = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Of draws.", rich_help_panel=FIT)
]
UNIT = Annotated[
    str,
    typer.Option("--unit", metavar="NAME", help="Unit of the gaps, as shown.", rich_help_panel=FIT),
]
STRICT = Annotated[bool, typer.Option("--strict", help="A row that must be left out is an error.")]
PLOT = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw the fit: P-P, Q-Q, survival, hazard (.png, .svg or .pdf).",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]


def fit(
    gaps: GAPS,
    family: FAMILY = None,
    rank_by: RANK_BY = "aic",
    zeros: ZEROS = "auto",
    resolution: RESOLUTION = None,
    level: LEVEL = 0.95,
    ci: CI = "likelihood",
    p_values: P_VALUES = False,
    draws: DRAWS = 999,
    seed: SEED = 1,
    unit: UNIT = "",
    strict: STRICT = False,
    plot: PLOT = None,
    as_json: JSON = False,
) -> None:
    """Fit a lifetime distribution to times between failures, or rank all of them."""
    question = app_fit.FitQuestion(
        family, rank_by, zeros, resolution, level, ci, p_values, draws, seed, unit
    )
    if plot is not None:
        report.check_plot(plot)
    answer = app_fit.fit_file(gaps, question, strict=strict)
    if plot is not None:
        report.draw_fit(answer, plot)
    if as_json:
        say_json(answer.plain())
    else:
        say_report(report.report_of(answer))
        if plot is not None:
            say(f"Figure: {plot}")
