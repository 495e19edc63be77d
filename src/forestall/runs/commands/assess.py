"""`forestall assess`: predictors, and with `value` whole runs that ask them."""

from __future__ import annotations

from typing import Annotated

from forestall.core._lazy import lazily
from forestall.core.commands.options import READING, TRAINING, JobLog, Json, Quiet
from forestall.core.commands.questions import Given, TextOptions
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say_json, say_report
from forestall.core.model.settings import Setting
from forestall.prediction.commands.assess import app
from forestall.runs.commands.parameters import parameter_options

with lazily():
    from forestall.prediction.judge import questions
    from forestall.runs import value as value_of

__all__ = ["app"]


def _replayed() -> TextOptions:
    """Return the options of the promise model's parameters, but for the predictor's."""
    ours = [
        one for one in parameter_options("promise") if one.name not in {"predictor", "accuracy"}
    ]
    return TextOptions(ours, READING, TRAINING)


@command(
    app,
    "value",
    "forestall assess value jobs.swf --failures later.csv --predictors rate.predictor",
    "forestall assess value jobs.swf --failures lanl.csv --system 20 --from 2004-09-01 "
    "--days 60 --nodes 256 --predictors rate,renewal --train lanl.csv",
)
def value(
    log: JobLog,
    predictors: Annotated[
        tuple[str, ...],
        Setting(
            "Files of `predict train`, or names of `predict list` with --train",
            shown="FILE|NAME,...",
            read=questions.names_of,
        ),
    ],
    given: Annotated[Given, _replayed()],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Replay a workload with predictors, without any, and with the perfect one."""
    with ProgressBar("runs", quiet=quiet) as bar:
        account = value_of.Account(log, given, predictors).replayed(bar)
    if as_json:
        say_json(account)
    elif not quiet:
        say_report(value_of.report_of(account))
