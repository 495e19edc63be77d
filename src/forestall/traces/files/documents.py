"""JSON and TOML that somebody wrote: whatever is in them, it is a value or one error."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from forestall.model.errors import TraceError, brief, of_system

DEEP = "is nested too deep"
MOST_DEEP = 100
"""Levels of a document: what is nested deeper is no file of ours, and who walks it would not get to
the end."""
LARGE = "a whole number of more than 64 bits"
_LEAST, _MOST = -(2**63), 2**64
_SAME_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * 19
"""Digits of a number that may be too large, each as 0."""
_REST = bytes(set(range(256)) - set(b'[]{}"'))


def json_of(text: str | bytes) -> Any:
    """Return the value of a text of JSON, in which every string can be written. Raises ValueError,
    also where it is nested too deep or has a whole number of more than 64 bits."""
    try:
        value = json.loads(text)
        if (b"\\u" if isinstance(text, bytes) else "\\u") in text:  # type: ignore[operator]
            # Half a pair of surrogates is a string for JSON, but nothing that UTF-8 can hold.
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError(DEEP) from None
    if isinstance(text, bytes) and _looks_shallow(text):
        return value
    return _shallow(value)


def _looks_shallow(text: bytes) -> bool:
    """Return whether nothing in a text of JSON can be too deep or too large; where that is not seen
    without reading its strings, False. It takes a fifth of the time of looking at each value."""
    if b"\\" in text or b"\0" in text or _LONG in text.translate(_SAME_DIGIT):
        return False
    rest = text.translate(None, _REST).replace(b'""', b"")
    for _ in range(MOST_DEEP // 2):  # a round takes away one level, or two
        if not rest:
            return True
        rest = rest.replace(b"[]", b"").replace(b"{}", b"")
    return False


def _shallow(value: Any) -> Any:
    """Return a value; ValueError where it is nested too deep, or a number in it is too large."""
    level, above = [value], [value]
    for _ in range(MOST_DEEP):
        whole = [one for one in level if type(one) is int]
        if whole and not _LEAST <= min(whole) <= max(whole) < _MOST:
            raise ValueError(_too_large(above))
        above = level
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return value
    raise ValueError(DEEP)


def _too_large(holders: list[Any]) -> str:
    """Return what is wrong with a number in one of these, and its key where it has one."""
    for outer in holders:
        for key, one in outer.items() if isinstance(outer, dict) else ():
            if type(one) is int and not _LEAST <= one < _MOST:
                return f"{brief(key)}: {LARGE}"
    return LARGE


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the tables of a TOML file; TraceError where it cannot be read or is none."""
    place = Path(path)
    with of_system(place, "cannot be read"):
        raw = place.read_bytes()
    try:
        table: dict[str, Any] = _shallow(tomllib.loads(raw.decode("utf-8")))
    except RecursionError:
        raise TraceError(place, f"is not TOML ({DEEP})") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        said = str(error).splitlines()[0]
        raise TraceError(place, f"is not TOML ({said})") from None
    return table
