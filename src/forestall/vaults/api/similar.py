"""How alike files are, as `forestall checkpoint similarity` and `fs.vault.similarity` tell it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from forestall.vaults import alike
from forestall.vaults.api.creation import cutting_of
from forestall.vaults.api.opened import PathLike, Told
from forestall.vaults.chunks import KIB


def similarity(
    paths: Sequence[PathLike],
    *,
    chunks: Sequence[str] = (),
    progress: Callable[[int], None] = lambda read: None,
) -> Told:
    """Return how alike paths are, each of which stands for a rank or a version.

    Parameters
    ----------
    paths : files and folders
    chunks : ways to cut, such as ``content:16`` or ``blocks:4`` (KiB); several sizes by default
    progress : is told the bytes read so far
    """
    cuttings = [cutting_of(one) for one in chunks] or alike.CUTTINGS
    found = alike.similarity([Path(one) for one in paths], cuttings, tell=progress)
    return {
        "paths": found.paths,
        "bytes": found.size,
        "compressed_each": found.each,
        "best": _name(found.best),
        "ratio": found.ratio,
        "suits": found.suits,
        "by_chunks": [_told(one, found.size) for one in found.by_cutting],
    }


def _told(one: alike.Sharing, size: int) -> dict[str, Any]:
    return {
        "chunks": _name(one), "within": one.within, "across": one.across, "unique": one.unique,
        "stored": one.stored, "share_within": one.within / size if size else 0.0,
        "share_across": one.across / size if size else 0.0,
    }  # fmt: skip


def _name(one: alike.Sharing) -> str:
    return f"{one.cutting.method}:{one.cutting.size // KIB}"
