"""From a whole failure log to the failures of a span: time 0, window, folded nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core.files.times import UNIX_FROM
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.units import MAX_SECONDS, SECONDS, parse_time
from forestall.logs.failures.predicted import moved
from forestall.logs.failures.raw import Int, RawFailures, Service

DAY = SECONDS["d"]


def choose(
    raw: RawFailures,
    source: str | Path,
    *,
    start: str | int | None = None,
    days: float | None = None,
    fold_nodes: int = 1,
) -> Failures:
    """Return the failures in [start, start + days), in order of (time, node).

    Time 0 is `start`; without one it is what the log itself says, else the first failure of a log
    with dates, and 0 of a log that counts seconds. The span is `days` where given, else to the end
    of the log where it tells that, else from time 0 (the first failure of a log that counts
    seconds) to the last failure, that second included. With `fold_nodes` k, node n
    becomes n // k. The time in service of a node is cut where `start` and `days` cut, and is not
    new where it is; folded nodes are in service from the earliest to the latest. Predicted times
    move with the failures that they are of, wherever they lie. Raises ParameterError, and
    TraceError where nothing lies in the window.
    """
    length = _length(days)
    if isinstance(fold_nodes, bool) or fold_nodes < 1:
        raise ParameterError("fold-nodes", fold_nodes, "a whole number of at least 1")
    if len(raw.time) == 0:
        raise TraceError(source, "no failures in it")
    zero = _zero(raw, start)
    stop = np.iinfo(np.int64).max if length is None else zero + length
    inside = np.flatnonzero((raw.time >= zero) & (raw.time < stop))
    if len(inside) == 0:
        raise TraceError(source, _nothing(raw, zero, length))
    time, node = raw.time[inside] - zero, raw.node[inside] // fold_nodes
    order = np.lexsort((node, time))
    index = inside[order]
    time = time[order]
    nodes = -(-max(raw.nodes, int(raw.node.max()) + 1) // fold_nodes)
    service = _service(raw, zero, start is not None, length)
    if service is not None:
        service = _service_of_folded(service, nodes, fold_nodes)
    return Failures(
        time,
        node[order],
        np.full(len(index), -1) if raw.downtime is None else raw.downtime[index],
        np.full(len(index), np.nan) if raw.detectability is None else raw.detectability[index],
        kind=None if raw.kind is None else tuple(raw.kind[i] for i in index.tolist()),
        span=_span(raw, time, zero, start is not None) if length is None else length,
        nodes=nodes,
        repairs=raw.repairs,
        names=_folded(raw.names, fold_nodes),
        source=str(source),
        cleaning=raw.cleaning,
        origin=zero if raw.calendar else None,
        service_start=None if service is None else service.start,
        service_end=None if service is None else service.end,
        service_new=None if service is None else service.new,
        aside=raw.aside if service is None else raw.aside + service.cleaning,
        predicted=None if raw.predicted is None else moved(raw.predicted[index], -zero),
    )


def _service(raw: RawFailures, zero: int, begins: bool, length: int | None) -> Service | None:
    """Return the time in service from `zero` on, cut where the window begins and ends."""
    whole = raw.service
    if whole is None:
        return None
    low = 0 if begins else np.iinfo(np.int64).min
    high = np.iinfo(np.int64).max if length is None else length
    start, end = np.clip(whole.start - zero, low, high), np.clip(whole.end - zero, low, high)
    return Service(start, end, whole.new & (start == whole.start - zero), whole.cleaning)


def _service_of_folded(service: Service, nodes: int, fold: int) -> Service:
    """Return the service of folded nodes: from the earliest start to the latest end."""
    there = service.end > service.start  # the rest are numbers of no node
    if fold == 1:
        return service
    firsts = np.arange(0, nodes * fold, fold)
    start = np.minimum.reduceat(np.where(there, service.start, np.iinfo(np.int64).max), firsts)
    end = np.maximum.reduceat(np.where(there, service.end, np.iinfo(np.int64).min), firsts)
    earliest = there & (service.start == np.repeat(start, fold)[: len(there)])
    new = ~np.logical_or.reduceat(earliest & ~service.new, firsts)
    empty = end < start
    zeros = np.zeros(nodes, dtype=np.int64)
    return Service(
        np.where(empty, zeros, start), np.where(empty, zeros, end), new & ~empty, service.cleaning
    )


def _length(days: float | None) -> int | None:
    if days is None:
        return None
    if not 0 < days * DAY < MAX_SECONDS:  # also refuses nan
        raise ParameterError("days", days, "a finite number above 0")
    return max(1, round(days * DAY))


def _zero(raw: RawFailures, start: str | int | None) -> int:
    if start is not None:
        zero = parse_time(str(start), "from")
        if abs(zero) >= MAX_SECONDS // 2:
            raise ParameterError("from", start, "a time within a thousand years of the log's epoch")
        if raw.zero and abs(zero) < UNIX_FROM and str(start).strip().lstrip("+-").isdigit():
            return raw.zero + zero  # seconds from the log's own time 0
        return zero
    if raw.zero is not None:
        return raw.zero
    return int(raw.time.min()) if raw.calendar else 0


def _span(raw: RawFailures, time: Int, zero: int, begins: bool) -> int:
    """Return the seconds that a log covers from `zero` (or its first failure) on; `time` are those
    of the failures in the window, counted from `zero`."""
    seen = int(time[-1]) + 1 - (0 if begins else int(time[0]))
    if raw.span is None:
        return seen
    if not begins:
        return max(seen, raw.span)
    first, last = int(raw.time.min()), int(raw.time.max())
    base = raw.zero if raw.zero is not None else first if raw.calendar else 0
    begin = base if last < base + raw.span else first
    return max(seen, begin + raw.span - zero)


def _nothing(raw: RawFailures, zero: int, length: int | None) -> str:
    first, last = (_spoken(int(t), raw.calendar) for t in (raw.time.min(), raw.time.max()))
    asked = f"from {_spoken(zero, raw.calendar)}"
    if length is not None:
        asked += f" to {_spoken(zero + length, raw.calendar)}"
    return f"no failures {asked}; the log has them from {first} to {last}"


def _spoken(time: int, calendar: bool) -> str:
    if calendar:
        try:
            return str(np.datetime64(time, "s"))
        except (OverflowError, ValueError):
            pass
    return f"{time} s"


def _folded(names: tuple[str, ...] | None, fold: int) -> tuple[str, ...] | None:
    """Return the names of folded nodes: the first and the last that became one."""
    if names is None or fold == 1:
        return names
    groups = [names[k : k + fold] for k in range(0, len(names), fold)]
    return tuple(g[0] if len(g) == 1 else f"{g[0]}..{g[-1]}" for g in groups)
