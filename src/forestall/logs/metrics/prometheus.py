"""Answers of Prometheus to range queries, as JSON.

``{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {...}, "values":
[[time, "value"], ...]}]}}``; answers to instant queries (a vector) are taken as well. A metric's
name is ``__name__``, "value" where a function took it away. A series' node is the label asked for,
else the first of `LABELS` that it has; the port of an instance is cut off. Series of one name and
node become metrics of their own, named with the labels that tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.documents import json_of
from forestall.core.files.findings import SpoiltLines, shown
from forestall.core.files.packed import DAMAGES, read_bytes
from forestall.core.model.errors import TraceError
from forestall.core.model.units import MAX_SECONDS
from forestall.logs.metrics.raw import MetricSelection, RawSamples, joined, no_such_metric, readable

with lazily():
    import polars as pl

Series = tuple[dict[str, str], list[Any]]

LABELS = ("node", "nodename", "hostname", "host", "instance")
_ASIDE = frozenset({"__name__", "job", *LABELS})


def looks_like(first: str) -> bool:
    """Return whether a file's first line is that of JSON."""
    return first.lstrip().startswith("{")


def read_prometheus(path: Path, asked: MetricSelection) -> RawSamples:
    """Read one answer. Points that are no [time, value] are left out and counted."""
    spoilt = SpoiltLines()
    native: list[str] = []
    series = _series(path, spoilt, native)
    named = _names(series, asked.node)
    if asked.names is not None:
        there = sorted(set(named))
        missing = [n for n in asked.names if not any(name.split("{")[0] == n or name == n
                                                     for name in there)]  # fmt: skip
        if missing:
            raise no_such_metric(path, missing, there)
    parts: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    lost: list[str] = []
    nameless = 0
    for (labels, points), name in zip(series, named, strict=True):
        if asked.names is not None and not {name, name.split("{")[0]} & set(asked.names):
            continue
        node = node_of(labels, asked.node)
        if node is None:
            nameless += 1
            continue
        time, value, bad = _points(points)
        lost += [f"point {k} of {name} on {node}" for k in bad]
        parts.setdefault(name, []).append((node, time, value))
    if asked.strict and (lost or nameless or spoilt):
        said = f"{lost[0]} is not [time, value]" if lost else "has series without a node's label"
        said = DAMAGES[min(spoilt)][1] if spoilt else said
        raise TraceError(path, said)
    if nameless == len(series):
        label = asked.node or "/".join(LABELS)
        raise TraceError(path, f"has no series with a label {label} to name a node")
    cleaning = spoilt.cleaning()
    cleaning = cleaning.plus("bad_point", "points that are not [time, value]", "left out", lost)
    text = "series with native histograms, which are no numbers"
    cleaning = cleaning.plus("native_histogram", text, "left out", native)
    text = "series without a node's label"
    cleaning = cleaning.plus("no_node", text, "left out", ["a series"] * nameless)
    frames = [_metric(name, found) for name, found in parts.items()]
    whole = joined(frames, path)
    return RawSamples(whole.time, whole.node, whole.value, True, cleaning=cleaning)


def node_of(labels: dict[str, str], asked: str | None) -> str | None:
    """Return the node that a series' labels name, None where they name none."""
    for label in (asked,) if asked is not None else LABELS:
        if labels.get(label):
            text = str(labels[label])
            host, colon, port = text.rpartition(":")
            return host if label == "instance" and colon and port.isdigit() else text
    return None


def _series(path: Path, spoilt: SpoiltLines, native: list[str]) -> list[Series]:
    try:
        answer = json_of(read_bytes(path, spoilt.note))
    except ValueError as error:
        raise TraceError(path, f"not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(answer, dict):
        raise TraceError(path, "not an answer of Prometheus: expected an object")
    if answer.get("status") == "error":
        raise TraceError(path, f"is an error of Prometheus: {shown(answer.get('error'), 80)}")
    data = answer.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if kind not in ("matrix", "vector") or not isinstance(result, list):
        message = f"{shown(kind)}; expected a matrix (the answer to a range query)"
        raise TraceError(path, message, field="resultType")
    found: list[Series] = []
    for entry in result:
        labels = entry.get("metric") if isinstance(entry, dict) else None
        if not isinstance(labels, dict):
            raise TraceError(path, "has a result without its metric", field="result")
        points = entry.get("values") if kind == "matrix" else [entry.get("value")]
        told = {readable(str(key)): readable(str(value)) for key, value in labels.items()}
        if entry.keys() & {"histograms", "histogram"}:
            native.append(told.get("__name__", "value"))
            points = entry.get("values") or []
        found.append((told, points if isinstance(points, list) else []))
    if not found:
        raise TraceError(path, "has no series: the query found nothing")
    return found


def _names(series: Sequence[Series], asked: str | None) -> list[str]:
    """Return the name of each series' metric, with the labels that tell those of a node apart."""
    seen: dict[tuple[str, str | None], list[dict[str, str]]] = {}
    for labels, _ in series:
        key = labels.get("__name__", "value"), node_of(labels, asked)
        seen.setdefault(key, []).append(labels)
    apart: dict[str, set[str]] = {}
    for (name, _), some in seen.items():
        keys = {key for labels in some for key in labels} - _ASIDE - {asked or ""}
        differing = {key for key in keys if len({labels.get(key) for labels in some}) > 1}
        apart.setdefault(name, set()).update(differing)
    named = []
    for labels, _ in series:
        name = labels.get("__name__", "value")
        told = [f'{key}="{labels[key]}"' for key in sorted(apart[name]) if key in labels]
        named.append(f"{name}{{{','.join(told)}}}" if told else name)
    return named


def _points(
    points: Iterable[Any],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], list[int]]:
    """Return times and values, and the places (from 1) of points that are neither."""
    time, value, bad = [], [], []
    for k, point in enumerate(points, 1):
        try:
            moment, said = point
            when, what = float(moment), float(said)
            if not abs(when) < MAX_SECONDS:
                raise ValueError
        except (TypeError, ValueError):
            bad.append(k)
        else:
            time.append(int(when // 1))
            value.append(what)
    return np.array(time, dtype=np.int64), np.array(value, dtype=np.float64), bad


def _metric(name: str, found: Sequence[tuple[str, np.ndarray, np.ndarray]]) -> RawSamples:
    """Return the samples of one metric of all nodes."""
    sizes = [len(time) for _, time, _ in found]
    nodes = pl.Series([node for node, _, _ in found], dtype=pl.String)
    index = pl.Series(np.repeat(np.arange(len(found)), sizes))
    value = pl.DataFrame({name: np.concatenate([value for _, _, value in found])})
    time = np.concatenate([time for _, time, _ in found])
    return RawSamples(time, nodes.gather(index), value, True)
