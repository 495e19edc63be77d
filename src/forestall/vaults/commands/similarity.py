"""`forestall checkpoint similarity`: how alike files are, before they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import RateLine, say, say_json, show
from forestall.core.model.units import told_bytes

with lazily():
    from forestall.vaults.api import similar


def add_to(app: typer.Typer) -> None:
    """Add the command to those of `forestall checkpoint`."""
    command(
        app,
        "similarity",
        "forestall checkpoint similarity out/rank-*",
        "forestall checkpoint similarity monday tuesday --chunks content:16 --json",
    )(similarity)


def similarity(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files and folders, one for each rank or version."),
    ],
    chunks: Annotated[
        list[str] | None,
        typer.Option(
            "--chunks",
            metavar="HOW:KIB",
            help="How to cut files into chunks; may be repeated (default: content:4, :16, :64, "
            ":256 and blocks:4).",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say what share of the bytes is equal within and across paths, by size of chunks.

    It tells whether sharing chunks between the ranks of a program, or versions of its checkpoint,
    is worth it, and how best to cut. Nothing is stored.
    """  # fmt: skip
    with RateLine("reading", quiet=quiet or as_json) as line:
        found = similar.similarity(
            paths, chunks=chunks or (), progress=lambda read: line(read, "several times over")
        )
    if as_json:
        say_json(found)
        return
    say(_finding(found))
    if not found["bytes"]:
        return
    rows = [
        (one["chunks"], f"{100 * one['share_within']:.1f} %", f"{100 * one['share_across']:.1f} %",
         told_bytes(one["unique"]), told_bytes(one["stored"]))
        for one in found["by_chunks"]
    ]  # fmt: skip
    heads = ("Chunks, KiB", "Equal within", "Equal across", "Left to store", "Compressed")
    show(rows, heads, right=(1, 2, 3, 4))


def _finding(found: dict[str, Any]) -> str:
    of = "1 path" if found["paths"] == 1 else f"{found['paths']:,} paths"
    if not found["bytes"]:
        return f"{of}, and nothing in them."
    return (
        f"Sharing chunks suits {of} of {told_bytes(found['bytes'])} {found['suits']}: with "
        f"{found['best']} KiB it stores {100 * found['ratio']:.1f} % of the "
        f"{told_bytes(found['compressed_each'])} that compressing each file takes (before parity)."
    )
