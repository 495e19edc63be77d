"""Folders in which others may write, too: no link of theirs is followed, and what is theirs and
open to all is not worked in."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from forestall.core.model.errors import TraceError, of_system


def open_own(path: str | Path, flags: int, mode: int = 0o644) -> int:
    """Return an open handle on a file, which is none of a link: else what stands elsewhere would be
    written over, with our rights. Raises OSError (ELOOP)."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def make_own(folder: Path, mode: int = 0o777) -> None:
    """Make a folder in another one, which is there then and is ours.

    Raises OSError where it cannot be made, and where a link or another user's folder is in its
    place: its owner could put anything there at any time.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link to elsewhere", str(folder))
    if found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to another user", str(folder))


def check_not_planted(folder: Path) -> None:
    """Raise TraceError for a folder that is another user's and that anyone may write to: whatever
    lies there may have been put there to mislead."""
    with of_system(folder, "cannot be looked at"):
        found = os.stat(folder)
    if found.st_uid != os.geteuid() and found.st_mode & stat.S_IWOTH:
        message = "is another user's, and anyone may write to it; expected a folder of your own"
        raise TraceError(folder, message)
