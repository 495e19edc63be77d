"""What can be read only once (standard input, a pipe, a FIFO), as a file that can be read again.

Readers look at the first bytes to know a format, and begin anew; some read twice.
"""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO, Final

from forestall.core.model.errors import TraceError, of_system

STANDARD_INPUT: Final = "-"
_kept: dict[Path, IO[bytes]] = {}
"""What was read of each, in files that go when this process ends."""


def readable(path: str | Path) -> Path:
    """Return where to read: `path` itself, or what came through it if it is a pipe or ``-``.

    Raises TraceError where it cannot be read, or is ``-`` and standard input is a terminal.
    """
    place = Path(path)
    if place not in _kept:
        if str(path) == STANDARD_INPUT and not place.exists():
            if sys.stdin is None or sys.stdin.isatty():
                raise TraceError(path, "is standard input, and nothing comes from there")
            _keep(place, sys.stdin.buffer)
        elif not _is_pipe(place):
            return place
        else:
            with of_system(path, "cannot be read"), place.open("rb") as pipe:
                _keep(place, pipe)
    return Path(_kept[place].name)


def is_there(path: str | Path) -> bool:
    """Return whether there is something to read."""
    return str(path) == STANDARD_INPUT or Path(path).exists()


def _is_pipe(place: Path) -> bool:
    try:
        kind = place.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)


def _keep(place: Path, pipe: IO[bytes]) -> None:
    file = tempfile.NamedTemporaryFile(prefix="forestall-")  # noqa: SIM115
    with of_system(place, "cannot be kept in the folder of temporary files"):
        shutil.copyfileobj(pipe, file, 1 << 20)
        file.flush()
    _kept[place] = file
