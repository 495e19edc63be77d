"""TOML files that users write."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from forestall.model.errors import TraceError, of_system
from forestall.traces.files.guard import first_line

MOST_LAYERS: Final = 50
"""Tables and lists within each other, at most."""
_DEEP: Final = "is not TOML that is understood here: it is nested too deeply"


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return what a TOML file says. Raises TraceError that names the file, and what is wrong."""
    with of_system(path, "cannot be read"):
        raw = Path(path).read_bytes()
    try:
        told = tomllib.loads(raw.decode())
    except RecursionError:
        raise TraceError(path, _DEEP) from None
    except ValueError as error:  # a number of thousands of digits, too
        raise TraceError(path, f"is not TOML: {first_line(error)}") from None
    layer: list[Any] = [told]
    for _ in range(MOST_LAYERS):  # dotted keys nest without any recursion
        layer = [inner for one in layer for inner in _inside(one)]
        if not layer:
            return told
    raise TraceError(path, _DEEP)


def _inside(value: Any) -> Iterable[Any]:
    """Return what stands in a table or a list."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
