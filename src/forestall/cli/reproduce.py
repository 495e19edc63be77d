"""`forestall reproduce`: the papers behind it, from real logs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from forestall.cli.options import examples
from forestall.cli.registry import command
from forestall.cli.screen import Bar, say


def group() -> typer.Typer:
    """Return the group with a command for each paper."""
    app = typer.Typer(
        help="Redraw the figures of the papers that forestall builds on, from real logs.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples("forestall reproduce promises --data traces"),
    )
    app.callback()(lambda: None)  # a group even while it has one command
    command(app, "promises", "forestall reproduce promises --data traces --out promises")(promises)
    return app


def promises(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder with the real logs (default: $FORESTALL_DATA).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-promises"),
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="Processes (default: one a core).", show_default=False
        ),
    ] = None,
) -> None:
    """Oliner et al., DSN 2005: Figures 1 to 12, and its claims beside what is measured here."""
    from forestall.model.errors import ParameterError
    from forestall.reproduce.promises import reproduce

    named = data or (Path(os.environ["FORESTALL_DATA"]) if "FORESTALL_DATA" in os.environ else None)
    if named is None or not named.is_dir():
        raise ParameterError("--data", str(named or ""), "a folder with the real logs")
    with Bar("runs") as bar:
        found = reproduce(named, out, workers=workers or 0, progress=bar)
    for claim in found.claims:
        say(f"{claim.claim} ({claim.section})")
        for log, finding in claim.findings.items():
            say(f"{log}: {finding.verdict}; {finding.measured}", indent=2)
    say()
    say(f"Figures, tables and verdict.md are in {found.folder}")
