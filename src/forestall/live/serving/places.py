"""Where a live controller keeps its tokens, and what it has learned of the site's jobs."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ParameterError, TraceError, of_system
from forestall.live.serving.settings import LiveSettings
from forestall.live.slurm.submissions import Seals

_SQLITE: Final = "sqlite:///"
_KEY: Final = 32


def tokens_of(settings: LiveSettings) -> Path:
    """Return the file of the tokens: as the settings say, else beside the ledger. Raises
    ParameterError where neither tells."""
    serve = settings.serve
    if serve.tokens:
        return Path(serve.tokens)
    if serve.ledger.startswith(_SQLITE):
        return Path(serve.ledger.removeprefix(_SQLITE) + ".tokens")
    expected = "a file, as the ledger is not one" if serve.ledger else "a file, or a ledger"
    raise ParameterError("tokens", serve.tokens or None, expected)


def seals_of(settings: LiveSettings) -> Seals:
    """Return what seals the tags of promises, by the key in a file beside the tokens, which is made
    where there is none. Raises TraceError, ParameterError."""
    path = Path(f"{tokens_of(settings)}.key")
    with of_system(path, "cannot be read"):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_KEY))
        key = path.read_bytes()
        mode = path.stat().st_mode
    if len(key) != _KEY or mode & (stat.S_IRWXG | stat.S_IRWXO):
        what = f"expected {_KEY} bytes that its owner alone may read: remove it, and open promises"
        raise TraceError(path, f"{what} whose jobs are not submitted yet become void")
    return Seals(key)


def book_of(settings: LiveSettings) -> Path:
    """Return the file of the site's book, beside the ledger or the tokens."""
    ledger = settings.serve.ledger
    if ledger.startswith(_SQLITE):
        return Path(ledger.removeprefix(_SQLITE) + ".book")
    return Path(f"{tokens_of(settings)}.book")
