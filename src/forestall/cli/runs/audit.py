"""`forestall certify` and `forestall replay`: can a run be believed?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from forestall._lazy import lazily
from forestall.app.runs.models import MODELS
from forestall.cli.choice import Choice, Given, TextOptions, spelled
from forestall.cli.registry import command
from forestall.cli.runs.options import Json
from forestall.cli.screen import say, say_json, show

with lazily():
    from forestall.app.runs import certify as runs_certify
    from forestall.app.runs import replay as runs_replay

FOLDER = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]
OWN: Final = tuple(
    Choice(
        model.decides,
        "Options",
        f"The {model.decides} in Python that the run was made with; its module is imported.",
        "MODULE:CLASS",
    )
    for model in MODELS.values()
)
"""What can have decided a run in the user's own Python."""


app = typer.Typer()


@command(app, "certify", "forestall certify run")
def certify(folder: FOLDER, as_json: Json = False) -> None:
    """Check a run by its files alone: no node gives more than it has, none works while down, and
    work adds up.

    The exit code is 1 where a check fails.
    """
    certificate = runs_certify.certify(folder, spell=spelled)
    if as_json:
        say_json(
            {
                "passed": certificate.passed,
                "checks": [one._asdict() for one in certificate.checks],
                "not_checked": list(certificate.not_checked),
            }
        )
    else:
        show([("ok" if c.passed else "FAILED", c.name, c.detail) for c in certificate.checks])
        for text in certificate.not_checked:
            say(f"not checked: {text}")
        say()
        say(f"{folder}: {certificate.verdict}")
    if not certificate.passed:
        raise typer.Exit(1)


@command(
    app,
    "replay",
    "forestall simulate jobs.swf --log-events --out run && forestall replay run",
)
def replay(
    folder: FOLDER,
    given: Annotated[Given, TextOptions(OWN)],
) -> None:
    """Drive the engine from a run's event log, one event at a time, and compare its decisions.

    The exit code is 1 where they are not the same, byte for byte.
    """
    found = runs_replay.replay(folder, **given)
    say(f"{folder}: {found.verdict}")
    if found.same:
        return
    say(f"logged:   {'(nothing)' if found.logged is None else found.logged}", indent=2)
    say(f"replayed: {'(nothing)' if found.replayed is None else found.replayed}", indent=2)
    raise typer.Exit(1)
