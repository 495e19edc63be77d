"""JSON and TOML that somebody wrote: whatever is in them, it is a value or one error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.core._lazy import lazily
from forestall.core.model.errors import TraceError, brief

with lazily():
    from forestall.core.files import packed  # a guest's keeper knows no library

if TYPE_CHECKING:
    from forestall.core.files.packed import Damage

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


def json_of(text: str | bytes, *, exact: bool = False) -> Any:
    """Return the value of a text of JSON, in which every string can be written. Raises ValueError,
    also where it is nested too deep or has a whole number of more than 64 bits; `exact`: strings
    and numbers are what stands there, whatever that is."""
    try:
        value = json.loads(text)
        if not exact and (b"\\u" if isinstance(text, bytes) else "\\u") in text:  # type: ignore[operator]
            # Half a pair of surrogates is a string for JSON, but nothing that UTF-8 can hold.
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError(DEEP) from None
    if isinstance(text, bytes) and _looks_shallow(text):
        return value
    return _shallow(value, exact=exact)


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


def _shallow(value: Any, *, exact: bool = False) -> Any:
    """Return a value; ValueError where it is nested too deep, or a number in it is too large."""
    level, above = [value], [value]
    for _ in range(MOST_DEEP):
        whole = [one for one in level if type(one) is int]
        if not exact and whole and not _LEAST <= min(whole) <= max(whole) < _MOST:
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


def settings_text(path: Path) -> str:
    """Return a text that somebody wrote with an editor; TraceError for the first line that is
    damaged: what settings would lack then, nobody would see."""

    def refuse(damage: Damage, lines: Iterable[int]) -> None:
        raise TraceError(path, packed.DAMAGES[damage][1], line=min(lines))

    return packed.read_bytes(path, refuse).decode("utf-8")


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the tables of a TOML file; TraceError where it cannot be read or is none."""
    place = Path(path)
    text = settings_text(place)
    try:
        table: dict[str, Any] = _shallow(tomllib.loads(text))
    except RecursionError:
        raise TraceError(place, f"is not TOML ({DEEP})") from None
    except ValueError as error:  # no TOML, or a number of thousands of digits
        said = str(error).splitlines()[0]
        raise TraceError(place, f"is not TOML ({said})") from None
    return table
