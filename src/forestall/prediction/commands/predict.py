"""`forestall predict`: train predictors, ask them, and say which there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import (
    FAILURES,
    OUTPUT,
    FailureLog,
    FailureReading,
    Json,
    Quiet,
)
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import ProgressBar, say_json, say_report
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting

with lazily():
    from forestall.prediction.judge import predict, questions

if TYPE_CHECKING:
    pass


app = group_of(
    "Train failure predictors on logs, query them, and list them.",
    "forestall predict list",
    "forestall predict train rate failures.csv --out rate.predictor",
    "forestall predict ask rate.predictor --ahead 24h",
)


@command(
    app,
    "train",
    "forestall predict train rate failures.csv --out rate.predictor",
    "forestall predict train boosted lanl.csv --system 20 --until 2004-09-01 --out b.predictor",
    "forestall predict train rules failures.csv --events ras.csv --out rules.predictor",
)
def train(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the predictor; see `forestall predict list`."),
    ],
    log: FailureLog,
    out: Annotated[Path, Setting("The file to write", group=OUTPUT)],
    reading: FailureReading,
    until: questions.Until = None,
    nodes: questions.MachineNodes = None,
    events: questions.Events = None,
    metrics: questions.Metrics = None,
    settings: Annotated[
        list[str] | None,
        Setting("Setting of the predictor; may be repeated", option="set", shown="KEY=VALUE"),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a predictor on what was observed up to a moment, and write it to one file."""
    sources = predict.Sources(log, reading, events, metrics, nodes, until)
    with ProgressBar("training", quiet=quiet or as_json) as bar:
        told = predict.train(name, sources, predict.settings_from(settings or []), out, bar.tell)
    if as_json:
        say_json(told)
    elif not quiet:
        say_report(predict.trained_report(told))


@command(
    app,
    "ask",
    "forestall predict ask rate.predictor --ahead 24h",
    "forestall predict ask rate.predictor --nodelist 0-31 --ahead 6h --json",
    "forestall predict ask rate.predictor --failures failures.csv --top 5",
)
def ask(
    predictor: Annotated[
        Path, typer.Argument(metavar="PREDICTOR", help="A file of `forestall predict train`.")
    ],
    reading: FailureReading,
    nodes: Annotated[
        str | None, Setting("Nodes to ask about (default: all)", shown="0-3,7")
    ] = None,
    at: Annotated[
        str | None,
        Setting(
            "Start of the window: a date, or an age such as 10d (default: the latest time in "
            "the data)",
            shown="TIME",
        ),
    ] = None,
    ahead: Annotated[str, Setting("Length of the window", shown="DURATION")] = "24h",
    since: Annotated[
        Path | None,
        Setting(
            "A failure log with what happened since the training",
            shown="FILE",
            group=FAILURES,
        ),
    ] = None,
    events: questions.Events = None,
    metrics: questions.Metrics = None,
    until: questions.Until = None,
    top: Annotated[Annotated[int, Field(ge=1)], Setting("Rows to print", group=OUTPUT)] = 20,
    as_json: Json = False,
) -> None:
    """Ask a trained predictor how likely nodes are to fail within a window."""
    told = {**reading, "events": events, "metrics": metrics, "until": until}
    extra = next((key for key, value in told.items() if value is not None), None)
    if since is None and extra is not None:
        value = told[extra] if isinstance(told[extra], bool) else str(told[extra])
        raise ParameterError(extra, value, "a failure log as well ({since} FAILURES)")
    later = None if since is None else predict.Sources(since, reading, events, metrics, None, until)
    answer = predict.ask(predictor, predict.PredictionQuestion(nodes, at, ahead, later))
    if as_json:
        say_json(answer)
    else:
        say_report(predict.answer_report(answer, top))


@command(app, "list", "forestall predict list", "forestall predict list --json")
def listed(as_json: Json = False) -> None:
    """List the predictors that learn, baselines first."""
    rows = predict.listing()
    if as_json:
        say_json(rows)
        return
    say_report(predict.listing_report(rows))
