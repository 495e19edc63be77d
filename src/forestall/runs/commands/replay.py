"""`forestall replay`: the same decisions again, of a run or of a live controller's ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.questions import Given, TextOptions, texts
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say, say_json
from forestall.core.commands.study import Output, tell_study
from forestall.core.model.errors import ParameterError
from forestall.runs.models import MODELS

with lazily():
    from forestall.live.report import question
    from forestall.live.report import report as ledger_report
    from forestall.live.report import study as ledger_study
    from forestall.runs import replay as runs_replay

OWN: Final = [
    one
    for name in (model.decides for model in MODELS.values())
    for one in texts(
        "Options",
        (name, f"Python {name} that made the run; its module is imported", "MODULE:CLASS"),
    )
]
"""What can have decided a run in the user's own Python."""


app = typer.Typer()


@command(
    app,
    "replay",
    "forestall simulate jobs.swf --log-events --out run && forestall replay run",
    "forestall replay ledger.db",
    "forestall replay sqlite:////var/lib/forestall/ledger.db --wanted 0.8 --predictor none",
    "forestall replay ledger.db --guard serve.toml --json",
)
def replay(
    target: Annotated[
        str, typer.Argument(metavar="DIR|LEDGER", help="Folder of a run; file or URL of a ledger.")
    ],
    given: Annotated[Given, TextOptions(OWN)],
    *,
    asked: question.ReplayQuestion,
    output: Output,
) -> None:
    """Feed the engine what was recorded, a run's event log or the ledger of forestall serve, and
    compare its decisions.

    The exit code is 1 where they are not the same, byte for byte, or where the tables beside them,
    or the promises of the ledger, tell otherwise. Of a ledger it also says what
    another predictor, rule or limit would have done; a ledger is only read, and may be written to
    meanwhile.
    """
    if runs_replay.is_ledger(target):
        _replay_ledger(target, given, asked, output)
    else:
        _replay_run(Path(target), given, asked, output)


def _replay_ledger(
    target: str, given: Given, asked: question.ReplayQuestion, output: Output
) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(name, value, "nothing: a ledger's engine has its own")
    same = True

    def work(bar: ProgressBar) -> ledger_study.LedgerReplayed:
        nonlocal same
        found = ledger_study.find(target, asked, bar)
        same = found.same and not found.unlike
        return found

    tell_study(ledger_report.FOLDER, work, "cycles", output)
    if not same:
        raise typer.Exit(1)


def _replay_run(folder: Path, given: Given, asked: question.ReplayQuestion, output: Output) -> None:
    for name in ("predictor", "wanted", "guard", "rules"):
        if getattr(asked, name) is not None:
            raise ParameterError(name, getattr(asked, name), "nothing, for the folder of a run")
    if output.out is not None:
        raise ParameterError("out", output.out, "nothing, for the folder of a run")
    found = runs_replay.replay(folder, **given)
    if output.as_json:
        say_json(found.to_dict())
    elif not output.quiet:
        say(f"{folder}: {found.verdict}")
        if not found.same:
            say(f"logged:   {'(nothing)' if found.logged is None else found.logged}", indent=2)
            say(f"replayed: {'(nothing)' if found.replayed is None else found.replayed}", indent=2)
        for text in found.unlike:
            say(text, indent=2)
    if not found.passed:
        raise typer.Exit(1)
