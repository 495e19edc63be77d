"""Observations as values that JSON can hold and arrays of numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.model.failures import Failures
from forestall.model.metrics import Metrics
from forestall.model.observations import Observations
from forestall.model.ras import RasLog

Arrays = Mapping[str, npt.NDArray[Any]]

_PARTS: Final[dict[str, tuple[type[Any], tuple[str, ...], tuple[str, ...]]]] = {
    "failures": (
        Failures,
        ("span", "nodes", "repairs", "names", "origin", "source"),
        (
            "time", "node", "downtime", "detectability", "kind",
            "service_start", "service_end", "service_new",
        ),
    ),
    "events": (
        RasLog,
        ("places", "kinds", "span", "origin", "source"),
        ("time", "place", "severity", "kind", "alert"),
    ),
    "metrics": (
        Metrics,
        ("names", "nodes", "node_names", "period", "origin", "source"),
        ("time", "node", "value"),
    ),
}  # fmt: skip
"""The tables of observations: what they are, their values, and their columns."""
_OPTIONAL: Final = {
    *(f"failures.{name}" for name in ("kind", "service_start", "service_end", "service_new")),
    "events.alert",
}


def packed(seen: Observations) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return observations as values and arrays; see `unpacked`."""
    values: dict[str, Any] = {name: int(getattr(seen, name)) for name in ("begin", "end", "nodes")}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for part, (_, told, columns) in _PARTS.items():
        table = getattr(seen, part)
        if table is None:
            continue
        values[part] = {name: plain(getattr(table, name)) for name in told}
        for name in columns:
            column = getattr(table, name)
            if isinstance(column, tuple):  # words
                values[part][f"{name}s"], column = _codes(column)
            if column is not None:
                arrays[f"{part}.{name}"] = column
    return values, arrays


def unpacked(values: Mapping[str, Any], arrays: Arrays) -> Observations:
    """Return the observations that `packed` took apart."""
    tables = {part: _table(part, values[part], arrays) for part in _PARTS if part in values}
    return Observations(
        tables["failures"],
        int(values["begin"]),
        int(values["end"]),
        int(values["nodes"]),
        tables.get("events"),
        tables.get("metrics"),
    )


def _table(part: str, values: Mapping[str, Any], arrays: Arrays) -> Any:
    kind, told, columns = _PARTS[part]
    fields: dict[str, Any] = {name: whole(values[name]) for name in told}
    for name in columns:
        key = f"{part}.{name}"
        if key in arrays or key not in _OPTIONAL:
            fields[name] = arrays[key]
    if part == "failures" and "kind" in fields:
        fields["kind"] = tuple(values["kinds"][code] for code in fields["kind"].tolist())
    return kind(**fields)


def under(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


def whole(value: Any) -> Any:
    """Return what a table holds."""
    return tuple(value) if isinstance(value, list) else value


def _codes(words: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the words that there are, sorted, and which one each is."""
    known = sorted(set(words))
    place = {word: k for k, word in enumerate(known)}
    return known, np.fromiter((place[word] for word in words), np.int32, len(words))
