"""Who is a guest here: files in the agent's folder, written by whoever starts guests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.records import LARGEST
from forestall.core.files.shared import make_own
from forestall.core.model.errors import of_system
from forestall.core.processes.usage import GuestProcesses

GUESTS: Final = "guests"


def register_guest(folder: Path, name: str, guest: GuestProcesses) -> Path:
    """Write FOLDER/guests/NAME.json, so that an agent at work there counts these processes as a
    guest's. It is removed by whoever wrote it; of processes that ended nothing is counted.

    Raises TraceError where it cannot be written.
    """
    place = folder / GUESTS
    with of_system(place, "cannot be written"):
        make_own(place)
    path = place / f"{name}.json"
    pgid = guest.pid if guest.pgid is None else guest.pgid
    told = {
        "pid": guest.pid, "pgid": pgid, "cgroup": guest.cgroup, "created": guest.created,
    }  # fmt: skip
    with atomic_path(path, sync=False) as beside:
        beside.write_text(json.dumps(told) + "\n", encoding="utf-8")
    return path


def registered_guests(folder: Path) -> list[GuestProcesses]:
    """Return the guests registered in an agent's folder; files that say none are left out."""
    try:
        files = sorted((folder / GUESTS).iterdir())
    except OSError:
        return []
    found = (_guest(path) for path in files if path.suffix == ".json" and path.name[0] != ".")
    return [guest for guest in found if guest is not None]


def _guest(path: Path) -> GuestProcesses | None:
    try:
        told = json_of(path.read_bytes())
        pid, created = told["pid"], told["created"]
        pgid, cgroup = told.get("pgid"), told.get("cgroup")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    number = isinstance(created, int | float) and not isinstance(created, bool)
    if not _whole(pid) or not number or not 0 <= created <= LARGEST:
        return None
    return GuestProcesses(
        pid,
        float(created),
        cgroup if isinstance(cgroup, str) else None,
        pgid if _whole(pgid) else None,
    )


def _whole(value: object) -> bool:
    return type(value) is int and 0 < value <= LARGEST
