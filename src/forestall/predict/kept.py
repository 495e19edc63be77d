"""Observations as values that JSON can hold and arrays of numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.model.failures import Failures
from forestall.model.metrics import Metrics
from forestall.model.observations import Observations
from forestall.model.ras import RasLog

Arrays = Mapping[str, npt.NDArray[Any]]
_SERVICE = ("service_start", "service_end", "service_new")


def packed(seen: Observations) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return observations as values and arrays; see `unpacked`."""
    log, events, metrics = seen.failures, seen.events, seen.metrics
    values: dict[str, Any] = {
        "begin": int(seen.begin),
        "end": int(seen.end),
        "nodes": int(seen.nodes),
        "failures": {
            "span": int(log.span),
            "nodes": int(log.nodes),
            "repairs": bool(log.repairs),
            "names": _list(log.names),
            "origin": log.origin,
            "source": log.source,
        },
    }
    arrays: dict[str, npt.NDArray[Any]] = {
        "failures.time": log.time,
        "failures.node": log.node,
        "failures.downtime": log.downtime,
        "failures.detectability": log.detectability,
    }
    if log.kind is not None:
        values["failures"]["kinds"], arrays["failures.kind"] = _codes(log.kind)
    for name in _SERVICE:
        if getattr(log, name) is not None:
            arrays[f"failures.{name}"] = getattr(log, name)
    if events is not None:
        values["events"] = {
            "places": _list(events.places),
            "kinds": _list(events.kinds),
            "span": int(events.span),
            "origin": events.origin,
            "source": events.source,
        }
        for name in ("time", "place", "severity", "kind"):
            arrays[f"events.{name}"] = getattr(events, name)
        if events.alert is not None:
            arrays["events.alert"] = events.alert
    if metrics is not None:
        values["metrics"] = {
            "names": _list(metrics.names),
            "nodes": int(metrics.nodes),
            "node_names": _list(metrics.node_names),
            "period": int(metrics.period),
            "origin": metrics.origin,
            "source": metrics.source,
        }
        for name in ("time", "node", "value"):
            arrays[f"metrics.{name}"] = getattr(metrics, name)
    return values, arrays


def unpacked(values: Mapping[str, Any], arrays: Arrays) -> Observations:
    """Return the observations that `packed` took apart."""
    return Observations(
        _failures(values["failures"], arrays),
        int(values["begin"]),
        int(values["end"]),
        int(values["nodes"]),
        _events(values["events"], arrays) if "events" in values else None,
        _metrics(values["metrics"], arrays) if "metrics" in values else None,
    )


def _failures(told: Mapping[str, Any], arrays: Arrays) -> Failures:
    kind = None
    if "kinds" in told:
        kind = tuple(told["kinds"][code] for code in arrays["failures.kind"].tolist())
    return Failures(
        arrays["failures.time"],
        arrays["failures.node"],
        arrays["failures.downtime"],
        arrays["failures.detectability"],
        kind=kind,
        span=int(told["span"]),
        nodes=int(told["nodes"]),
        repairs=bool(told["repairs"]),
        names=_tuple(told["names"]),
        origin=told["origin"],
        source=told["source"],
        service_start=arrays.get("failures.service_start"),
        service_end=arrays.get("failures.service_end"),
        service_new=arrays.get("failures.service_new"),
    )


def _events(told: Mapping[str, Any], arrays: Arrays) -> RasLog:
    return RasLog(
        arrays["events.time"],
        arrays["events.place"],
        arrays["events.severity"],
        arrays["events.kind"],
        places=tuple(told["places"]),
        kinds=tuple(told["kinds"]),
        alert=arrays.get("events.alert"),
        span=int(told["span"]),
        origin=told["origin"],
        source=told["source"],
    )


def _metrics(told: Mapping[str, Any], arrays: Arrays) -> Metrics:
    return Metrics(
        arrays["metrics.time"],
        arrays["metrics.node"],
        arrays["metrics.value"],
        names=tuple(told["names"]),
        nodes=int(told["nodes"]),
        node_names=_tuple(told["node_names"]),
        period=int(told["period"]),
        origin=told["origin"],
        source=told["source"],
    )


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _tuple(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _codes(words: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the words that there are, sorted, and which one each is."""
    known = sorted(set(words))
    place = {word: k for k, word in enumerate(known)}
    return known, np.fromiter((place[word] for word in words), np.int32, len(words))
