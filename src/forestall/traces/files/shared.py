"""Folders in which others may write, too: no link of theirs is followed, and what is theirs and
open to all is not worked in."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from forestall.model.errors import TraceError, of_system

OPENED: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
"""How a lock, a log or a store is opened: made where it is not there, and never through a link."""


def check_not_planted(folder: Path) -> None:
    """Raise TraceError for a folder that is another user's and that anyone may write to: whatever
    lies there may have been put there to mislead."""
    with of_system(folder, "cannot be looked at"):
        found = os.stat(folder)
    if found.st_uid != os.geteuid() and found.st_mode & stat.S_IWOTH:
        message = "is another user's, and anyone may write to it; expected a folder of your own"
        raise TraceError(folder, message)
