"""From a whole failure log to the failures of a span: time 0, window, folded nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.model.errors import ParameterError, TraceError
from forestall.model.failures import Failures
from forestall.model.units import MAX_SECONDS, SECONDS, parse_time
from forestall.traces.failures.raw import RawFailures

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

    Time 0 is `start`; without one it is the first failure of a log with dates, and 0 of a log that
    counts seconds. The span is `days` where given, else from time 0 (the first failure of a log
    that counts seconds) to the last failure, that second included. With `fold_nodes` k, node n
    becomes n // k. Raises ParameterError, and TraceError where nothing lies in the window.
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
    first = 0 if start is not None else int(time[0])
    return Failures(
        time,
        node[order],
        np.full(len(index), -1) if raw.downtime is None else raw.downtime[index],
        np.full(len(index), np.nan) if raw.detectability is None else raw.detectability[index],
        kind=None if raw.kind is None else tuple(raw.kind[i] for i in index.tolist()),
        span=int(time[-1]) - first + 1 if length is None else length,
        nodes=-(-max(raw.nodes, int(raw.node.max()) + 1) // fold_nodes),
        repairs=raw.repairs,
        names=_folded(raw.names, fold_nodes),
        source=str(source),
        cleaning=raw.cleaning,
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
        return zero
    return int(raw.time.min()) if raw.calendar else 0


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
