"""HTCondor's processes on this host. Its jobs are guests here, not the owner's work."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MASTER: Final = "condor_master"
"""The first of HTCondor's processes on a host; its jobs are among its descendants."""


def masters(proc: str = "/proc") -> list[int]:
    """Return the processes of that name, whoever runs them, in order."""
    found = []
    for place in Path(proc).iterdir():
        if place.name.isdigit():
            try:
                named = (place / "comm").read_text(errors="replace").rstrip("\n")
                alive = (place / "cmdline").read_bytes() != b""  # not so for one that has ended
            except OSError:
                continue
            if named == MASTER and alive:
                found.append(int(place.name))
    return sorted(found)
