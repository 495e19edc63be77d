"""`forestall doctor`: what a controller needs, and what to do where it is missing."""

from __future__ import annotations

import typer

from forestall._lazy import lazily
from forestall.cli import complain
from forestall.cli.registry import command
from forestall.cli.runs.options import Json
from forestall.cli.screen import say_json, show
from forestall.show.words import counted

with lazily():
    from forestall.app.live.client import connection
    from forestall.app.live.doctor import checks
    from forestall.app.live.doctor import run as doctor_run

app = typer.Typer()


@command(
    app,
    "doctor",
    "forestall doctor",
    "forestall doctor --settings /etc/forestall/forestall.toml",
    "forestall doctor --ledger sqlite:////var/lib/forestall/ledger.db",
)
def doctor(
    asked: checks.PlaceQuestion, options: connection.ServerOptions, as_json: Json = False
) -> int:
    """Check that this machine has what a controller needs, and say how to add what is missing.

    Nothing is changed. Exit code 1 if something is missing.
    """
    found = list(doctor_run.all_checks(asked, options))
    wrong = doctor_run.how_many_missing(found)
    if as_json:
        say_json(doctor_run.as_json(found))
        return 1 if wrong else 0
    rows = [(one.subject, str(one.state), one.found, one.todo) for one in found]
    show(rows, ("Check", "", "Found", "What to do"), wrap=(-2, -1))
    return complain(f"{counted(wrong, 'thing')} missing", 1) if wrong else 0
