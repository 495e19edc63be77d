"""`forestall compare`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json, show
from forestall.core.model.settings import Setting

with lazily():
    from forestall.runs import compare as runs_compare
    from forestall.runs import models

if TYPE_CHECKING:
    from forestall.runs.compare import Comparison

ABREAST = 3
"""Runs that fit beside each other."""


app = typer.Typer()


@command(
    app,
    "compare",
    "forestall compare run-1 run-2",
    "forestall compare run-1 run-2 run-3 --out comparison.html",
)
def compare(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of runs; the first is the baseline."),
    ],
    out: Annotated[
        Path | None, Setting("Also write a page with figures", shown="FILE.html", group=OUTPUT)
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare runs: measures, differences from the first run, parameters that differ."""
    found = runs_compare.compare(*folders)
    if out is not None:
        found.report.save(out)
    if as_json:
        say_json(found.to_dict())
        return
    print_comparison(found)
    if out is not None:
        say()
        say(f"Page: {out}")


def print_comparison(found: Comparison) -> None:
    """Print a few runs at a time, the first of them always there."""
    names = list(found.summaries)
    groups = [range(k, min(k + ABREAST - 1, len(names))) for k in range(1, len(names), ABREAST - 1)]
    for group in groups or [range(0)]:
        picked = (0, *group)
        heads = ["", *(cell for k in picked for cell in ((names[k], "") if k else (names[k],)))]
        rows: list[tuple[str, ...]] = [
            (row.name, *(c for k in picked for c in _cells(row.texts[k], row.differences[k], k)))
            for row in found.rows
        ]
        if found.differing:
            rows.append(("",))
        rows += [
            (name, *(cell for k in picked for cell in _cells(_text(found, name, k), "", k)))
            for name in found.differing
        ]
        show(rows, heads, right=range(1, len(heads)), wrap=())
        if group and group[-1] != len(names) - 1:
            say()
    if not found.differing and len(names) > 1:
        say()
        say("All parameters and logs are the same.")


def _cells(text: str, difference: str, k: int) -> tuple[str, ...]:
    return (text, difference) if k else (text,)


def _text(found: Comparison, name: str, k: int) -> str:
    value = found.differing[name][k]
    summary = list(found.summaries.values())[k]
    text = "not set" if value is None else models.told_of(summary, name, value)
    return text if len(text) <= 22 else f"...{text[-19:]}"
