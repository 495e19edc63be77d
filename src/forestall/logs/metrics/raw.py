"""What the reader of one file of metrics hands on, and how samples become `Metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.findings import shown
from forestall.core.files.times import window_from
from forestall.core.model import units
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import TraceError
from forestall.core.model.metrics import Metrics

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]
MAX_NODES = units.MOST_NODES
"""Node numbers from here on are taken for mistakes."""

SHARES = (
    ("Active", "MemTotal", "memory_share"),
    ("node_memory_Active_bytes", "node_memory_MemTotal_bytes", "memory_share"),
)
"""Metrics that are worked out where both of the others are there: the first over the second."""


@dataclass(frozen=True)
class MetricSelection:
    """What the caller asked for: metrics, columns (or labels) of node and time, strictness."""

    names: tuple[str, ...] | None = None
    node: str | None = None
    time: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class RawSamples:
    """Samples in any order.

    Attributes
    ----------
    time : int64[n], whole seconds, in the source's own count
    node : text or whole numbers, n of them
    value : the metrics, n rows of float64, null or nan where missing
    calendar : whether times are Unix seconds
    numbered : whether nodes are numbers from 0 rather than names
    line : int64[n], where each sample stands, None where a source has no lines
    cleaning : what was left out or changed so far
    """

    time: Int
    node: pl.Series
    value: pl.DataFrame
    calendar: bool
    numbered: bool = False
    line: Int | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __len__(self) -> int:
        return len(self.time)


def assembled(
    samples: RawSamples, source: str | Path, *, start: str | int | None, days: float | None
) -> Metrics:
    """Return the samples in [start, start + days) in order of (node, time), one a second.

    Of several samples of one node and second the first stays. Values that are not finite count as
    missing. Names are numbered in their order (whole numbers by size).
    """
    if len(samples) == 0:
        raise TraceError(source, "has no samples")
    first, last = int(samples.time.min()), int(samples.time.max())
    window = window_from(
        source, first, last, samples.calendar, start=start, days=days, what="samples"
    )
    number, names, nodes = _numbered(samples)
    order, cleaning = _ordered(samples, number)
    time, node = samples.time[order], number[order]
    inside = (time >= window.zero) & (time < window.stop)
    if not bool(inside.any()):
        raise TraceError(source, "has no samples in that window")
    if not bool(inside.all()):
        time, node, order = time[inside], node[inside], order[inside]
    columns = _with_shares(samples.value)
    value = np.empty((len(order), len(columns)))
    for k, column in enumerate(columns.values()):
        value[:, k] = column[order]
    strange = np.isinf(value)
    rows = _places(samples, order[np.flatnonzero(strange.any(axis=1))])
    value[strange] = np.nan
    time -= window.zero
    return Metrics(
        time,
        node,
        value,
        tuple(columns),
        nodes,
        node_names=names,
        period=period_of(time, node),
        origin=window.origin,
        source=str(source),
        cleaning=cleaning.plus(
            "infinite", "samples with an infinite value (missing)", "changed", rows
        ),
    )


def readable(raw: bytes | str) -> str:
    """Return text in which bytes that are no UTF-8 are marked, so that any table can hold it."""
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")
    return data.decode("utf-8", errors="replace")


def period_of(time: Int, node: Int) -> int:
    """Return the median of the gaps between samples of a node, s; 0 where there are none."""
    gaps = np.diff(time)[np.diff(node) == 0]
    if len(gaps) == 0:
        return 0
    first = int(gaps[0])
    if 2 * int(np.count_nonzero(gaps == first)) > len(gaps):  # quicker, where nearly all are equal
        return first
    return int(np.median(gaps))


def joined(parts: Sequence[RawSamples], source: str | Path) -> RawSamples:
    """Return the samples of several files; files with other metrics fill each other's rows."""
    parts = [part for part in parts if len(part)]
    if not parts:
        raise TraceError(source, "has no samples")
    if len({part.calendar for part in parts}) > 1:
        raise TraceError(source, "mixes files with dates and files that count from 0")
    numbered = all(part.numbered for part in parts)
    kind = pl.Int64 if numbered else pl.String
    cleaning = Cleaning()
    for part in parts:
        cleaning += part.cleaning
    whole = RawSamples(
        np.concatenate([part.time for part in parts]),
        pl.concat([part.node.cast(kind).alias("node") for part in parts]),
        pl.concat([part.value for part in parts], how="diagonal"),
        parts[0].calendar,
        numbered,
        cleaning=cleaning,
    )
    alike = {tuple(part.value.columns) for part in parts}
    return whole if len(alike) == 1 else _merged(whole)


def _merged(whole: RawSamples) -> RawSamples:
    """Return one row for each node and second, of each metric the first value there is."""
    metrics = [f"m{k}" for k in range(whole.value.width)]  # their own names may be "node"
    table = whole.value.rename(dict(zip(whole.value.columns, metrics, strict=True)))
    table = table.with_columns(whole.node.alias("node"), pl.Series("time", whole.time))
    # Not drop_nulls().first(): of that Polars 1.32.0 makes numbers that are nowhere in the table.
    one = table.group_by("node", "time", maintain_order=True).agg(
        pl.col(name).filter(pl.col(name).is_not_null()).first() for name in metrics
    )
    back = dict(zip(metrics, whole.value.columns, strict=True))
    return RawSamples(
        one["time"].to_numpy().astype(np.int64),
        one["node"],
        one.select(metrics).rename(back),
        whole.calendar,
        whole.numbered,
        cleaning=whole.cleaning,
    )


def _numbered(samples: RawSamples) -> tuple[Int, tuple[str, ...] | None, int]:
    """Return the number of each sample's node, the names by number, and how many nodes."""
    if samples.numbered:
        number = samples.node.to_numpy().astype(np.int64)
        return number, None, int(number.max()) + 1
    text = samples.node.cast(pl.String)
    names = text.unique().sort()
    whole = names.str.contains(r"^(0|[1-9][0-9]{0,17})$")
    if bool(whole.all()):
        names = names.cast(pl.Int64).sort().cast(pl.String)
    place = pl.DataFrame({"name": names}).with_row_index("number")
    table = text.alias("name").to_frame().join(place, on="name", how="left", maintain_order="left")
    return table["number"].to_numpy().astype(np.int64), tuple(names.to_list()), len(names)


def _ordered(samples: RawSamples, node: Int) -> tuple[Int, Cleaning]:
    """Return the rows in order of (node, time), one a second, and what there was to remark."""
    order = np.argsort(node, kind="stable")
    late = np.flatnonzero((np.diff(node[order]) == 0) & (np.diff(samples.time[order]) < 0)) + 1
    text = "samples earlier than the one of their node before them (sorted)"
    cleaning = samples.cleaning.plus("unsorted", text, "kept", _places(samples, order[late]))
    if len(late):
        order = np.lexsort((samples.time, node))
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (np.diff(node[order]) == 0) & (np.diff(samples.time[order]) == 0)
    text = "samples of a node and second that has one already"
    cleaning = cleaning.plus("duplicate", text, "left out", _places(samples, order[again]))
    return order[~again], cleaning


def _places(samples: RawSamples, rows: Int) -> list[str]:
    if len(rows) == 0:
        return []
    if samples.line is not None:
        return [f"line {line}" for line in samples.line[rows].tolist()]
    nodes, times = samples.node.gather(rows).to_list(), samples.time[rows].tolist()
    return [f"node {node} at {time} s" for node, time in zip(nodes, times, strict=True)]


def _with_shares(value: pl.DataFrame) -> dict[str, npt.NDArray[np.float64]]:
    columns = {name: value[name].fill_null(np.nan).to_numpy() for name in value.columns}
    for part, whole, share in SHARES:
        if part in columns and whole in columns and share not in columns:
            total = np.where(columns[whole] > 0, columns[whole], np.nan)
            with np.errstate(over="ignore"):
                found = columns[part] / total
            columns[share] = np.where(np.isfinite(found), found, np.nan)
    return columns


def no_such_metric(source: str | Path, missing: Sequence[str], there: Sequence[str]) -> TraceError:
    """Return the error that says which metrics are not there, and which are."""
    some = ", ".join(shown(name) for name in there[:12])
    more = f" and {len(there) - 12} more" if len(there) > 12 else ""
    return TraceError(source, f"has no metric {', '.join(missing)}; it has {some}{more}")
