"""The folder of a run: every file is written beside its place and then put there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.files.documents import json_of
from forestall.core.model.cleaning import Cleaning


def skipped_table(cleaning: Cleaning) -> pl.DataFrame:
    """Return ``kind,action,name``: one row for each job, line or node that was left out or
    changed."""
    rows = [(r.kind, r.action, name) for r in cleaning.remarks for name in r.names]
    schema = {"kind": pl.String, "action": pl.String, "name": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    with atomic_path(path) as place:
        write(place)


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    _whole(path, harmless(table).write_csv)


def write_json(value: dict[str, Any], path: Path) -> None:
    """Write a dictionary as JSON, whole or not at all."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    _whole(path, lambda place: place.write_text(text, encoding="utf-8"))


def since_first(jobs: pl.DataFrame, span: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return a span since the first submission in the log's own seconds."""
    if span is None:
        return None
    first = int(jobs["submit"][0])
    return first + span[0], first + span[1]


# -------------------------------------------------------------------------------- the manifest

MANIFEST: Final = "manifest.json"
"""How large each file of a run's folder was when it was written, and its SHA-256: by it a file that
rotted or was edited since is told from one that was wrong from the start."""


def write_manifest(folder: Path) -> None:
    """Write `manifest.json` of all files in a folder, itself left out: ``files`` by name, ``bytes``
    and ``sha256`` each, and the ``sha256`` of those lines."""
    files = {path.name: _told(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}
    write_json({"files": files, "sha256": _sum(files)}, folder / MANIFEST)


def _told(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _sum(files: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def changed_files(folder: Path, ours: frozenset[str]) -> dict[str, str] | None:
    """Return what is not as it was when the folder was written, by the name of the file and in
    words; None where there is no manifest. `ours` are names of files that runs write: one of them
    that the manifest does not name is told, too."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        held = json_of(path.read_text(encoding="utf-8"))
        files = {str(name): dict(told) for name, told in held["files"].items()}
        whole = _sum(files) == held["sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {MANIFEST: "cannot be read as a manifest"}
    if not whole:
        return {MANIFEST: "changed since it was written"}
    found = {}
    for name, told in files.items():
        place = folder / Path(name).name
        if not place.is_file():
            found[name] = "was written, but is missing now"
            continue
        try:
            same = _told(place) == told
        except OSError as error:
            found[name] = f"cannot be read: {error.strerror or error}"
            continue
        if not same:
            size = place.stat().st_size
            how = f"{told.get('bytes')} bytes then, {size} now"
            found[name] = f"changed since it was written ({how})"
    new = sorted(one.name for one in folder.iterdir() if one.name in ours - files.keys())
    return found | dict.fromkeys(new, "was not there when the folder was written")
