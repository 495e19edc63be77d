"""`forestall certify`: can a run be believed?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json, show
from forestall.core.commands.spellings import spelled

with lazily():
    from forestall.runs import certify as runs_certify

FOLDER = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]

app = typer.Typer()


@command(app, "certify", "forestall certify run")
def certify(folder: FOLDER, as_json: Json = False) -> None:
    """Check a run from its files alone: no node is overbooked or works while down, and all work
    adds up.

    The exit code is 1 where a check fails.
    """
    certificate = runs_certify.certify(folder, spell=spelled)
    if as_json:
        say_json(certificate.to_dict())
    else:
        show([("ok" if c.passed else "FAILED", c.name, c.detail) for c in certificate.checks])
        if certificate.all_not_checked:
            say()
            show([("not checked", text) for text in certificate.all_not_checked])
        say()
        say(f"{folder}: {certificate.verdict}")
    if not certificate.passed:
        raise typer.Exit(1)
