"""`forestall assess predictors`: which predictor is worth acting on, by a log's own future."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.judge.predict import EVENTS, METRICS, NODES, UNTIL
from forestall.cli.registry import command
from forestall.cli.runs.options import FORCE, JSON, QUIET, READ_FAILURES, STUDY_OUT, chosen
from forestall.cli.study import Output, tell_study

with lazily():
    from forestall.app.judge import predict
    from forestall.app.judge.predictors import judge, report, study

JUDGEMENT = "Judgement"
STAKES = "What is at stake"


def add_to(group: typer.Typer) -> None:
    """Register the command."""
    command(
        group,
        "predictors",
        "forestall assess predictors failures.csv --out study",
        "forestall assess predictors lanl.csv --system 20 --predictors rate,renewal,boosted",
        "forestall assess predictors failures.csv --events ras.csv --loss 48 --action-cost 1",
    )(predictors)


SPLIT = Annotated[
    float,
    typer.Option(
        "--split", metavar="SHARE", help="Share of the window that is the past.",
        rich_help_panel=JUDGEMENT,
    ),
]  # fmt: skip
SPLIT_AT = Annotated[
    str | None,
    typer.Option(
        "--split-at", metavar="TIME", help="Where the past ends (in the place of --split).",
        rich_help_panel=JUDGEMENT, show_default=False,
    ),
]  # fmt: skip
NAMES = Annotated[
    str,
    typer.Option(
        "--predictors", metavar="NAME,...|all",
        help="Names of `forestall predict list`, or files of `predict train`.",
        rich_help_panel=JUDGEMENT,
    ),
]  # fmt: skip
ALARM_SHARE = Annotated[
    float,
    typer.Option(
        "--alarm-share", metavar="SHARE", help="Node-time under alarm at which recall is measured.",
        rich_help_panel=JUDGEMENT,
    ),
]  # fmt: skip
DRAWS = Annotated[
    int,
    typer.Option(
        "--draws", min=20, metavar="N", help="How often weeks are drawn anew for intervals.",
        rich_help_panel=JUDGEMENT,
    ),
]  # fmt: skip
LEVEL = Annotated[
    float,
    typer.Option("--level", metavar="L", help="Of intervals.", rich_help_panel=JUDGEMENT),
]
SEED = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Of draws.", rich_help_panel=JUDGEMENT)
]
COST = Annotated[
    float,
    typer.Option(
        "--action-cost", metavar="H", help="Node-hours that acting on a node costs.",
        rich_help_panel=STAKES,
    ),
]  # fmt: skip
LOSS = Annotated[
    float,
    typer.Option(
        "--loss", metavar="H", help="Node-hours that a failure destroys without action.",
        rich_help_panel=STAKES,
    ),
]  # fmt: skip
PRICE = Annotated[
    float | None,
    typer.Option(
        "--price", metavar="P", help="Of a node-hour.", rich_help_panel=STAKES, show_default=False
    ),
]
CURRENCY = Annotated[
    str, typer.Option("--currency", metavar="NAME", help="Of prices.", rich_help_panel=STAKES)
]


@with_options(READ_FAILURES)
def predictors(
    log: Annotated[
        Path, typer.Argument(metavar="FAILURES", help="A failure log of any known format.")
    ],
    names: NAMES = "all",
    split: SPLIT = 2 / 3,
    split_at: SPLIT_AT = None,
    until: UNTIL = None,
    nodes: NODES = None,
    events: EVENTS = None,
    metrics: METRICS = None,
    alarm_share: ALARM_SHARE = 0.05,
    draws: DRAWS = 400,
    level: LEVEL = 0.9,
    seed: SEED = 1,
    action_cost: COST = 0.5,
    loss: LOSS = 24.0,
    price: PRICE = None,
    currency: CURRENCY = "EUR",
    out: STUDY_OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Train every predictor on a log's past, and judge it on what came after."""
    how = judge.How(split, alarm_share, draws, level, seed)
    stakes = study.checked_stakes(action_cost, loss, price, currency)
    sources = predict.Sources(log, chosen(given), events, metrics, nodes, until)
    asked = None if names == "all" else [name.strip() for name in names.split(",") if name.strip()]
    tell_study(
        report.FOLDER,
        lambda bar: study.study(sources, asked, how, stakes, split_at=split_at, progress=bar),
        "predictors",
        Output(out, force, quiet, as_json),
    )
