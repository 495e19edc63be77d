"""JSON and TOML that somebody wrote: whatever is in them, it is a value or one error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from forestall.model.errors import TraceError, of_system

DEEP: Final = "is nested too deep"
LAYERS: Final = 50
"""Tables and lists of TOML within each other, at most."""


def json_of(text: str | bytes) -> Any:
    """Return the value of a text of JSON, in which every string can be written. Raises ValueError,
    also where it is nested too deep or has a number of thousands of digits."""
    try:
        value = json.loads(text)
        if (b"\\u" if isinstance(text, bytes) else "\\u") in text:  # type: ignore[operator]
            # Half a pair of surrogates is a string for JSON, but nothing that UTF-8 can hold.
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError(DEEP) from None
    return value


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the tables of a TOML file; TraceError where it cannot be read or is none."""
    place = Path(path)
    with of_system(place, "cannot be read"):
        raw = place.read_bytes()
    try:
        told = tomllib.loads(raw.decode("utf-8"))
    except RecursionError:
        raise TraceError(place, f"is not TOML ({DEEP})") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        said = str(error).splitlines()[0]
        raise TraceError(place, f"is not TOML ({said})") from None
    layer: list[Any] = [told]
    for _ in range(LAYERS):  # dotted keys nest without any recursion
        layer = [inner for one in layer for inner in _inside(one)]
        if not layer:
            return told
    raise TraceError(place, f"is not TOML that is understood here ({DEEP})")


def _inside(value: Any) -> Iterable[Any]:
    """Return what stands in a table or a list."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
