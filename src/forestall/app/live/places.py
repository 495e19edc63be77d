"""Where a live controller keeps its tokens, and what it has learned of the site's jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from forestall.app.live.settings import LiveSettings
from forestall.model.errors import ParameterError

_SQLITE: Final = "sqlite:///"


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


def book_of(settings: LiveSettings) -> Path:
    """Return the file of the site's book, beside the ledger or the tokens."""
    ledger = settings.serve.ledger
    if ledger.startswith(_SQLITE):
        return Path(ledger.removeprefix(_SQLITE) + ".book")
    return Path(f"{tokens_of(settings)}.book")
