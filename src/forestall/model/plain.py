"""Text of JSON as values, whatever is in it."""

from __future__ import annotations

import json
from typing import Any


def plain_of(text: str | bytes) -> Any:
    """Return what a JSON text says. Raises ValueError, and nothing else, where it is none, is
    nested too deeply, or has numbers of thousands of digits."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
