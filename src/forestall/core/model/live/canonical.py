"""Canonical JSON: one value, one text, byte for byte."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

_CANONICAL: Final = json.JSONEncoder(
    allow_nan=False, ensure_ascii=True, separators=(",", ":"), sort_keys=True
)


def canonical(value: Any) -> str:
    """Return a value as JSON in its one form: keys sorted, no spaces, ASCII, no NaN or infinity.

    Raises ValueError or TypeError for what JSON cannot say.

    >>> canonical({"b": (1, 2.5), "a": None})
    '{"a":null,"b":[1,2.5]}'
    """
    return _CANONICAL.encode(value)


def digest(value: Any, digits: int = 16) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()[:digits]
