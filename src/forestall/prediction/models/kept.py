"""Observations as values that JSON can hold and arrays of numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog, Severity
from forestall.core.model.units import MAX_SECONDS, MOST_NODES

Arrays = Mapping[str, npt.NDArray[Any]]

_PARTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "failures": (
        ("span", "nodes", "repairs", "names", "origin", "source"),
        (
            "time", "node", "downtime", "detectability", "kind",
            "service_start", "service_end", "service_new",
        ),
    ),
    "events": (
        ("places", "kinds", "span", "origin", "source"),
        ("time", "place", "severity", "kind", "alert"),
    ),
    "metrics": (
        ("names", "nodes", "node_names", "period", "origin", "source"),
        ("time", "node", "value"),
    ),
}  # fmt: skip
"""The tables of observations: their values, and their columns."""


def packed(seen: Observations) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return observations as values and arrays; see `unpacked`."""
    values: dict[str, Any] = {name: int(getattr(seen, name)) for name in ("begin", "end", "nodes")}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for part, (told, columns) in _PARTS.items():
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


def unpacked(values: Any, arrays: Arrays) -> Observations:
    """Return the observations that a file brings: each node, place and kind is one of those that
    there are, and times lie within the bounds of all. Raises ParameterError, and AssertionError
    where parts do not fit together."""
    held = Held(values, arrays)
    nodes = held.whole("nodes", 0, MOST_NODES)
    return Observations(
        _failures(held.part("failures"), nodes),
        held.whole("begin"),
        held.whole("end"),
        nodes,
        _events(held.part("events"), nodes) if "events" in held.values else None,
        _metrics(held.part("metrics"), nodes) if "metrics" in held.values else None,
    )


def _failures(held: Held, nodes: int) -> Failures:
    """Return the failures of a machine of at most so many nodes."""
    own = held.whole("nodes", 0, nodes)
    time = _times(held, "time", None)
    count, kind = len(time), None
    if "kind" in held.arrays:
        words = held.texts("kinds")
        code = held.array("kind", np.int32, count, least=0, most=len(words) - 1)
        kind = tuple(words[one] for one in code.tolist())
    service: tuple[Any, Any, Any] = None, None, None
    if "service_start" in held.arrays:
        start, end = (
            held.array(name, np.int64, own, least=-(2**61), most=2**61)
            for name in ("service_start", "service_end")
        )
        service = start, end, held.array("service_new", np.bool_, own)
    return Failures(
        time,
        held.array("node", np.int64, count, least=0, most=nodes - 1),
        held.array("downtime", np.int64, count, least=-1, most=MAX_SECONDS),
        held.array("detectability", np.float64, count, least=0, most=1, nan=True),
        kind,
        held.whole("span", 0, 2 * MAX_SECONDS),
        own,
        held.flag("repairs"),
        _names(held, "names"),
        held.text("source"),
        origin=_origin(held),
        service_start=service[0],
        service_end=service[1],
        service_new=service[2],
    )


def _events(held: Held, nodes: int) -> RasLog:
    """Return the records of a machine of so many nodes; a place of -1 is none of them."""
    places, kinds = held.texts("places"), held.texts("kinds")
    time = _times(held, "time", None)
    count = len(time)
    return RasLog(
        time,
        held.array("place", np.int32, count, least=-1, most=max(nodes, len(places)) - 1),
        held.array("severity", np.int8, count, least=0, most=int(max(Severity))),
        held.array("kind", np.int32, count, least=0, most=len(kinds) - 1),
        places,
        kinds,
        held.array("alert", np.bool_, count) if "alert" in held.arrays else None,
        held.whole("span", 0, 2 * MAX_SECONDS),
        _origin(held),
        held.text("source"),
    )


def _metrics(held: Held, nodes: int) -> Metrics:
    """Return the samples of a machine of so many nodes."""
    names, own = held.texts("names"), held.whole("nodes", 0, MOST_NODES)
    time = _times(held, "time", None)
    value = held.arrays.get("value")
    kind = np.float64 if value is None else value.dtype
    return Metrics(
        time,
        held.array("node", np.int64, len(time), least=0, most=max(nodes, own) - 1),
        held.array("value", kind, len(time), len(names), nan=True, least=-1e150, most=1e150),
        names,
        own,
        _names(held, "node_names"),
        held.whole("period", 0),
        _origin(held),
        held.text("source"),
    )


def _times(held: Held, name: str, count: int | None) -> npt.NDArray[np.int64]:
    return held.array(name, np.int64, count, least=-MAX_SECONDS, most=MAX_SECONDS)


def _names(held: Held, name: str) -> tuple[str, ...] | None:
    return None if held.value(name) is None else held.texts(name)


def _origin(held: Held) -> int | None:
    return None if held.value("origin") is None else held.whole("origin")


def under(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


def _codes(words: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the words that there are, sorted, and which one each is."""
    known = sorted(set(words))
    place = {word: k for k, word in enumerate(known)}
    return known, np.fromiter((place[word] for word in words), np.int32, len(words))
