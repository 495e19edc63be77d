"""The folder that a command writes: refused where it holds something else, never half-written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from forestall.core.files.documents import json_of
from forestall.core.files.folders import filling, is_left_over, mend
from forestall.core.model.errors import TraceError

SUMMARY = "summary.json"
RUN_FILES = (
    "jobs.csv",
    "runs.csv",
    "failures.csv",
    "skipped.csv",
    "events.csv",
    "decisions.csv",
    "foreseen.csv",
    "report.html",
    "manifest.json",
    SUMMARY,
)
"""Files of a run with the trace predictor, the one that says that all others are there last."""
OTHER_RUN_FILES = (
    *("hazard.csv", "predictions.npz", "tasks.csv", "migrations.csv"),
    *("stays.csv", "hosts.csv", "availability.csv", "candidates.csv", "users.csv"),
    *("checkpoints.csv", "maintenance.csv", "machine.csv"),
)
"""What a run with another predictor writes in the place of `foreseen.csv`, and what one of another
model writes besides: where it is not written anew, it goes."""

RUN_FOLDER = frozenset((*OTHER_RUN_FILES, *RUN_FILES)) - {"manifest.json"}
"""Files that the manifest of a run tells of, where they are there."""


def holds(folder: Path, keys: Collection[str], name: str = SUMMARY) -> bool:
    """Return whether a folder has a summary of ours, by `name`, with all these keys."""
    mend(folder)
    try:
        summary = json_of((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(summary, dict) and set(keys) <= summary.keys()


def is_run_folder(folder: Path) -> bool:
    """Return whether a folder holds a run of ours."""
    return holds(folder, ("parameters", "versions"))


def check_folder(
    folder: Path, *, force: bool, ours: Callable[[Path], bool] = is_run_folder
) -> None:
    """Raise InputError where a folder cannot be written to, or holds what is not `ours`."""
    try:
        if folder.exists() and not folder.is_dir():
            raise TraceError(folder, "is a file; expected a folder for results")
        mend(folder)
        held = folder.is_dir() and any(not is_left_over(one) for one in folder.iterdir())
    except OSError as error:
        raise TraceError(folder, f"cannot be a folder for results: {error.strerror}") from None
    if held and not force and not ours(folder):
        raise TraceError(folder, "holds something else; choose another folder, or use {force}")
    above = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise TraceError(folder, f"cannot be a folder for results: {above} cannot be written to")


def fill_folder(folder: Path, write: Callable[[Path], object], names: Iterable[str]) -> Path:
    """Let `write` fill a new folder, then put its files into `folder`: all of them or none.

    A file of `names` that was there before and is not written now goes away. The last of `names`
    is the one that says that all others are there.
    """
    with filling(folder, tuple(names)) as fresh:
        write(fresh)
    return folder
