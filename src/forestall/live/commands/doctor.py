"""`forestall doctor`: what a controller needs, and what to do where it is missing."""

from __future__ import annotations

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import complain
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say_json, show
from forestall.core.show.words import counted

with lazily():
    from forestall.live.client import connection
    from forestall.live.doctor import checks
    from forestall.live.doctor import run as doctor_run

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
