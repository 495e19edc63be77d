"""Files of results: all of them, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import forestall as fs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def found_in(data: Path, name: str) -> Path:
    """Return what is called `name` below `data`; TraceError says what was expected where."""
    path = data / name
    if not path.exists():
        raise fs.errors.TraceError(
            path, f"is not there; --data must name the folder that holds {name}"
        )
    return path


def folder_for(out: str | Path) -> Path:
    """Return the folder for results, made where it is not there; TraceError where it cannot be."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fs.errors.TraceError(
            folder, f"cannot be a folder for results: {error.strerror}"
        ) from None
    return folder


def flushed(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(
    folder: Path, figures: Mapping[str, Figure], texts: Mapping[str, str]
) -> tuple[Path, ...]:
    """Write figures and texts by the names of their files, and return the files in this order.

    They are made beside the folder's own files and then take their places, so that an error leaves
    what was there. Raises TraceError where they cannot be written.
    """
    names = (*figures, *texts)
    try:
        beside = Path(tempfile.mkdtemp(dir=folder, prefix=".written-"))
        try:
            for name, figure in figures.items():
                fs.style.save(figure, beside / name)
            for name, text in texts.items():
                (beside / name).write_text(text, encoding="utf-8")
            for name in names:
                flushed(beside / name)
                os.replace(beside / name, folder / name)
            flushed(folder)
        finally:
            shutil.rmtree(beside)
    except OSError as error:
        raise fs.errors.UnwritableError(folder, error) from None
    return tuple(folder / name for name in names)
