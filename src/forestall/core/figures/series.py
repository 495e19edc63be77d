"""What the figures show, as plain arrays: levels over time, waits, promise deciles, windows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.proportions import wilson

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BINS = 1500
"""No figure of a level over time has more steps than this."""
DECILES = 10


def time_weighted(starts: Ints, ends: Ints, weights: Ints | Floats, edges: Floats) -> Floats:
    """Return the mean level within each bin of a level that is the sum of what is under way.

    Parameters
    ----------
    starts, ends, weights : arrays[n], what adds `weights` to the level during [start, end), s
    edges : float64[bins + 1], ascending, s

    Returns
    -------
    float64[bins] : exact time-weighted means, whatever the bins leave out or cut through
    """
    if len(starts) == 0:
        return np.zeros(len(edges) - 1)
    times, steps = np.concatenate((starts, ends)), np.concatenate((weights, -weights))
    order = np.argsort(times, kind="stable")
    times, level = times[order].astype(np.float64), np.cumsum(steps[order])
    area = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(times))))
    widths = np.diff(edges)
    return np.diff(np.interp(edges, times, area)) / np.where(widths > 0, widths, 1)


def edges_of(start: int, end: int, bins: int = BINS) -> Floats:
    """Return the edges of bins of equal width, none shorter than a second."""
    span = max(end - start, 1)
    return np.linspace(start, start + span, min(bins, span) + 1)


def column(table: pl.DataFrame, name: str) -> Ints:
    """Return one column as int64[n]; a null counts as 0."""
    return table[name].cast(pl.Int64).fill_null(0).to_numpy()


def busy_nodes(jobs: pl.DataFrame, runs: pl.DataFrame, edges: Floats) -> Floats:
    """Return the mean number of busy nodes within each bin."""
    sized = runs.select("job", "start", "end").join(jobs.select("job", "size"), on="job")
    return time_weighted(
        column(sized, "start"), column(sized, "end"), amounts(sized, "size"), edges
    )


def waits(jobs: pl.DataFrame, runs: pl.DataFrame) -> tuple[Ints, Ints, Floats]:
    """Return (from, until, nodes) of every time that a job was waiting: before each of its runs.

    A job that never ran waits until the last moment of the log.
    """
    sizes = jobs.select("job", "size", "submit")
    ran = runs.select("job", "start", "end").sort("job", "start")
    waited = (
        ran.with_columns(before=pl.col("end").shift(1).over("job"))
        .join(sizes, on="job", how="inner")
        .select(pl.col("before").fill_null(pl.col("submit")), "start", "size")
    )
    never = sizes.join(ran.select("job").unique(), on="job", how="anti")
    last = max(int(column(runs, "end").max(initial=0)), int(column(jobs, "submit").max(initial=0)))
    starts = np.concatenate((column(waited, "before"), column(never, "submit")))
    ends = np.concatenate((column(waited, "start"), np.full(len(never), last, dtype=np.int64)))
    nodes = np.concatenate((amounts(waited, "size"), amounts(never, "size")))
    return starts, np.maximum(starts, ends), nodes


def outages(failures: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Return (node, from, until) of every outage; failures while a node is down extend it."""
    if failures.is_empty():
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    merged = (
        failures.select(
            "node", "time", until=pl.col("time") + pl.col("downtime").fill_null(0).clip(0)
        )
        .sort("node", "time")
        .with_columns(reached=pl.col("until").cum_max().shift(1).over("node"))
        .with_columns(
            outage=(pl.col("reached").is_null() | (pl.col("time") > pl.col("reached"))).cum_sum()
        )
        .group_by("outage", maintain_order=True)
        .agg(pl.col("node").first(), pl.col("time").first(), pl.col("until").max())
    )
    return column(merged, "node"), column(merged, "time"), column(merged, "until")


@dataclass(frozen=True)
class Decile:
    """Promises between `low` and `high`: how many, what was promised and kept, 95 % interval."""

    low: float
    high: float
    count: int
    promised_mean: float
    kept_share: float
    kept_low: float
    kept_high: float


def deciles(jobs: pl.DataFrame) -> list[Decile]:
    """Return the deciles of promised probability that hold any promise, the last one closed."""
    made = jobs.filter(pl.col("promise").is_not_null() & pl.col("kept").is_not_null())
    promise = made["promise"].cast(pl.Float64).to_numpy()
    kept = made["kept"].cast(pl.Int64).to_numpy()
    place = np.clip((promise * DECILES + 1e-9).astype(np.int64), 0, DECILES - 1)
    found = []
    for i in np.unique(place):
        inside = place == i
        count, good = int(inside.sum()), int(kept[inside].sum())
        low, high = wilson(good, count)
        mean = float(promise[inside].mean())
        found.append(Decile(i / DECILES, (i + 1) / DECILES, count, mean, good / count, low, high))
    return found


def busiest_window(runs: pl.DataFrame, failures: pl.DataFrame, length: int) -> tuple[int, int]:
    """Return the window [start, end) of `length` seconds in which failures hit most jobs.

    Without any such failure it is the window in which most runs start. Windows begin at multiples
    of a quarter of their length from the first start on.
    """
    starts = column(runs, "start")
    if len(starts) == 0:
        return 0, length
    first, last = int(starts.min()), int(column(runs, "end").max())
    if last - first <= length:
        return first, max(last, first + 1)
    hits = column(failures.filter(pl.col("job").is_not_null()), "time")
    moments = np.sort(hits if np.any((hits >= first) & (hits < last)) else starts)
    begins = np.arange(first, last - length + max(length // 4, 1), max(length // 4, 1))
    begins = np.minimum(begins, last - length)
    inside = np.searchsorted(moments, begins + length) - np.searchsorted(moments, begins)
    start = int(begins[np.argmax(inside)])
    return start, start + length


def amounts(table: pl.DataFrame, name: str) -> Floats:
    """Return a column of processors or processor-seconds as float64[n]; a null counts as 0."""
    return table[name].cast(pl.Float64).fill_null(0.0).to_numpy()


def held_by_row(runs: pl.DataFrame, nodes: int, rows: int, edges: Floats) -> Floats:
    """Return the processors that virtual machines hold on each row of nodes, mean within each bin.

    Parameters
    ----------
    runs : ``node,start,end,rate``, any order
    nodes, rows : node j is in row ``j * rows // nodes``
    edges : float64[bins + 1], s, of bins of equal width

    Returns
    -------
    float64[rows, bins] : exact time-weighted means; time and memory are linear in runs and cells
    """
    bins, first, last = len(edges) - 1, float(edges[0]), float(edges[-1])
    width = (last - first) / bins
    row = column(runs, "node") * rows // nodes
    rate = amounts(runs, "rate")
    changes, areas = np.zeros(rows * bins), np.zeros(rows * bins)
    for name, sign in (("start", 1.0), ("end", -1.0)):
        at = np.clip(column(runs, name).astype(np.float64), first, last)
        place = np.minimum(((at - first) / width).astype(np.int64), bins - 1)
        flat = row * bins + place
        left = first + (place + 1) * width - at
        changes += np.bincount(flat, sign * rate, rows * bins)
        areas += np.bincount(flat, sign * rate * left, rows * bins)
    steps = changes.reshape(rows, bins)
    level = np.cumsum(steps, axis=1) - steps + areas.reshape(rows, bins) / width
    return np.asarray(np.maximum(level, 0.0), dtype=np.float64)  # nothing below 0 by rounding


def typed(table: pl.DataFrame, texts: Collection[str], reals: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return a table as it is, one without rows with the types that it would have with rows: a CSV
    file without any has none.

    `texts` are columns of words, `reals` what the names of columns of real numbers begin with; all
    others are whole numbers.
    """
    if len(table):
        return table
    kinds = {
        name: pl.String if name in texts else pl.Float64 if name.startswith(reals) else pl.Int64
        for name in table.columns
    }
    return table.cast(kinds)  # type: ignore[arg-type]
