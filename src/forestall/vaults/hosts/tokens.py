"""By which token this user is known to a storage daemon.

$FORESTALL_STORAGE_TOKENS names a file with a line ``HOST:PORT TOKEN`` for each daemon (default:
~/.config/forestall/storage-tokens); where it has none for a daemon, $FORESTALL_STORAGE_TOKEN is
taken.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from forestall.core.model.errors import InputError, TraceError, of_system

TOKEN: Final = "FORESTALL_STORAGE_TOKEN"
FILE: Final = "FORESTALL_STORAGE_TOKENS"
_WORD: Final = re.compile(r"[!-~]{1,200}")


def usual_file() -> Path:
    """Return where the tokens are by default."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path("~/.config").expanduser()
    return base / "forestall" / "storage-tokens"


def token_for(address: str) -> str:
    """Return the token for the daemon at HOST:PORT.

    Raises InputError where there is none, TraceError for a file that cannot be read or may be by
    others.
    """
    named = os.environ.get(FILE)
    path = Path(named) if named else usual_file()
    found = _in_file(path, address) if named or path.exists() else None
    token = found or os.environ.get(TOKEN, "").strip()
    if not token:
        raise InputError(
            f"no token for the storage host {address}: put a line '{address} TOKEN' into {path}, "
            f"or set ${TOKEN}"
        )
    if not _WORD.fullmatch(token):
        raise InputError(f"the token for the storage host {address} has unexpected characters")
    return token


def _in_file(path: Path, address: str) -> str | None:
    with of_system(path, "cannot be read"), open(path, encoding="utf-8", errors="replace") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise TraceError(path, "may be read by others; chmod 600 it")
        lines = file.read().splitlines()
    for line in lines:
        words = line.partition("#")[0].split()
        if len(words) == 2 and words[0] == address:
            return words[1]
    return None
