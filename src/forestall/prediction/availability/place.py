"""Where the agent keeps what it sees, unless it is told."""

from __future__ import annotations

import os
from pathlib import Path


def default_folder() -> Path:
    """Return where the agent keeps what it sees: $XDG_STATE_HOME/forestall, or
    ~/.local/state/forestall."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # the standard takes a path that is not absolute for none
    base = Path(given) if os.path.isabs(given) else Path("~/.local/state").expanduser()
    return base / "forestall"
