"""The manifest of a run's folder: how large each of its files was when it was written, and its
SHA-256. By it a file that rotted or was edited since is told from one that was wrong from the
start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from forestall.app.kit.output import write_json

MANIFEST: Final = "manifest.json"


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
        held = json.loads(path.read_text(encoding="utf-8"))
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
            found[name] = "was written, and is not there any more"
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
