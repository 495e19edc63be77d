"""Do failures come in bursts, and on several nodes at once?

Autocorrelation of gaps and of counts, the index of dispersion over window lengths, and clusters of
failures that follow each other closely, against what independent nodes would show by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammaincinv, ndtri

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.history.history import History
from forestall.reliability.history.rates import checked_level

with lazily():
    import polars as pl


CHANCE = 0.05
"""By default a gap is short where a Poisson process of the same rate has so few shorter ones."""


@dataclass(frozen=True)
class Autocorrelation:
    """Autocorrelation of a series.

    Attributes
    ----------
    lag : int64[m], 1 to m
    correlation : float64[m]
    band : of a series without correlation, each lag lies within +- `band` at `level`
    ljung_box, p_value : of all lags together: Ljung and Box, Biometrika 65 (1978)
    values : length of the series
    """

    lag: Ints
    correlation: Floats
    band: float
    level: float
    ljung_box: float
    p_value: float
    values: int

    def table(self) -> pl.DataFrame:
        """Return a Polars table ``lag,correlation,low,high``."""
        band = np.full(len(self.lag), self.band)
        columns = {"lag": self.lag, "correlation": self.correlation, "low": -band, "high": band}
        return pl.DataFrame(columns)


def autocorrelation(
    series: npt.ArrayLike, lags: int = 20, *, level: float = 0.95
) -> Autocorrelation:
    """Return the autocorrelation of gaps or counts at lags 1 to `lags` (fewer of a short series).

    Raises ParameterError for a series of fewer than 3 values, or of equal ones.
    """
    values = np.asarray(series, dtype=np.float64)
    n = len(values)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ParameterError(f"series[{bad[0]}]", float(values[bad[0]]), "a finite number")
    if n < 3 or bool(np.all(values == values[0])):
        raise ParameterError("series", f"{n} values", "at least 3 that are not all equal")
    if lags < 1:
        raise ParameterError("lags", lags, "at least 1")
    lag = np.arange(1, min(lags, n - 1) + 1)
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()  # so that squares neither vanish nor overflow
    size = 1 << (n + len(lag)).bit_length()
    spectrum = np.fft.rfft(centred, size)
    products = np.fft.irfft(np.abs(spectrum) ** 2, size)[: len(lag) + 1]
    correlation = products[1:] / products[0]
    statistic = n * (n + 2) * float((correlation**2 / (n - lag)).sum())
    band = float(ndtri(0.5 + checked_level(level) / 2)) / math.sqrt(n)
    p = float(gammaincc(len(lag) / 2, statistic / 2))
    return Autocorrelation(lag, correlation, band, level, statistic, p, n)


def counts_per_interval(time: npt.ArrayLike, start: float, end: float, width: float) -> Ints:
    """Return the failures in each whole interval of `width` from `start` on, up to `end`."""
    if not 0 < width <= end - start:
        raise ParameterError("width", width, f"a time above 0, at most the span {end - start:g}")
    intervals = int((end - start) // width)
    place = np.floor((np.asarray(time, dtype=np.float64) - start) / width).astype(np.int64)
    place = place[(place >= 0) & (place < intervals)]
    return np.bincount(place, minlength=intervals).astype(np.int64)


@dataclass(frozen=True)
class Dispersion:
    """Index of dispersion of counts (Fano factor) over window lengths.

    Attributes
    ----------
    width : float64[m], window lengths
    windows : int64[m], whole windows of that length
    fano : float64[m], variance over mean of the counts in them: about 1 for a Poisson process,
        above for bursts or a rate that changes, below for a regular process
    low, high : float64[m], where a Poisson process has it, at `level`
    """

    width: Floats
    windows: Ints
    fano: Floats
    low: Floats
    high: Floats
    level: float

    def table(self) -> pl.DataFrame:
        """Return a Polars table, a row a window length."""
        names = ("width", "windows", "fano", "low", "high")
        return pl.DataFrame({name: getattr(self, name) for name in names})


def dispersion(
    time: npt.ArrayLike,
    start: float,
    end: float,
    widths: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> Dispersion:
    """Return the Fano factor over window lengths (by default 20 from the mean gap to a tenth of the
    span, evenly in the logarithm). The band is Fisher's: (windows - 1) fano is chi-square.

    Raises ParameterError where there are fewer than 2 failures, or windows of a length.
    """
    times = np.asarray(time, dtype=np.float64)
    if len(times) < 2 or not end > start:
        raise ParameterError("failures", len(times), "at least 2 in a span above 0")
    span = end - start
    if widths is None:
        shortest = min(span / len(times), span / 20)
        lengths = np.geomspace(shortest, span / 10, 20)
    else:
        lengths = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    fano, windows = np.empty(len(lengths)), np.empty(len(lengths), dtype=np.int64)
    for k, width in enumerate(lengths.tolist()):
        if not width <= span / 2:
            raise ParameterError(f"widths[{k}]", width, f"at most half the span, {span / 2:g}")
        counts = counts_per_interval(times, start, end, width)
        mean = counts.mean()
        windows[k] = len(counts)
        fano[k] = counts.var(ddof=1) / mean if mean > 0 else np.nan
    tail, freedom = (1 - checked_level(level)) / 2, windows - 1
    low, high = (2 * gammaincinv(freedom / 2, t) / freedom for t in (tail, 1 - tail))
    return Dispersion(lengths, windows, fano, low, high, level)


@dataclass(frozen=True)
class BurstShare:
    """A share of the failures, beside what chance shows.

    `share` of all failures; `expected`, `low`, `high` the mean and the 95 % range over simulated
    logs; `p_value` the probability to see as much.
    """

    share: float
    expected: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class FailureBursts:
    """Clusters of failures that follow each other closely on a machine.

    Attributes
    ----------
    threshold : s, failures no further apart belong together
    first, size, nodes : int64[c], position of each burst's first failure in the history, its
        failures (2 or more), and on how many nodes
    duration : int64[c], s from its first failure to its last
    in_bursts : the share of failures in bursts
    on_several : the share in bursts on several nodes at once
    draws : simulated logs
    period : s within which simulated failures were moved, None: over the node's whole service
    """

    threshold: float
    first: Ints
    size: Ints
    nodes: Ints
    duration: Ints
    in_bursts: BurstShare
    on_several: BurstShare
    draws: int
    period: float | None

    def __len__(self) -> int:
        return len(self.first)

    def table(self) -> pl.DataFrame:
        """Return a Polars table, a row a burst."""
        names = ("first", "size", "nodes", "duration")
        return pl.DataFrame({name: getattr(self, name) for name in names})


def bursts(
    history: History,
    rng: np.random.Generator,
    *,
    threshold: float | None = None,
    period: float | None = None,
    draws: int = 999,
) -> FailureBursts:
    """Return the bursts of a machine, against independent nodes with the same failures each.

    Parameters
    ----------
    threshold : s; without one the gap below which a Poisson process of the machine's mean rate has
        1 of 20 of its gaps, -ln(0.95) / rate, but at least 1 s
    period : s; simulated failures of a node are spread evenly over its service. With a period, each
        stays in its own period (the first begins with the log's first failure), so that slow
        changes of rate are not taken for bursts
    draws : simulated logs, each with as many failures of each node as there were

    Raises ParameterError for fewer than 2 failures or a bad option.
    """
    if len(history) < 2:
        raise ParameterError("failures", len(history), "at least 2")
    if draws < 1:
        raise ParameterError("draws", draws, "at least 1")
    start, end = history.span
    if threshold is None:
        threshold = max(1.0, -math.log1p(-CHANCE) * (end - start) / len(history))
    for name, value in (("threshold", threshold), ("period", period)):
        if value is not None and not 0 <= value < math.inf:
            raise ParameterError(name, value, "a time of at least 0 s")
    time, node = history.time, history.node
    joined = np.diff(time) <= threshold
    starts = np.flatnonzero(~np.concatenate([[False], joined]))
    size = np.diff(np.append(starts, len(time)))
    label = np.repeat(np.arange(len(starts)), size)
    many = np.bincount(np.unique(label * len(history.start) + node) // len(history.start))
    real = size >= 2
    seen = np.array([size[real].sum(), size[real & (many >= 2)].sum()]) / len(time)
    chance = _by_chance(history, rng, threshold, period, draws)
    shares = []
    for observed, drawn in zip(seen.tolist(), chance, strict=True):
        low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
        above = int(np.count_nonzero(drawn >= observed - 1e-12))
        shares.append(
            BurstShare(observed, float(drawn.mean()), low, high, (above + 1) / (draws + 1))
        )
    ends = starts + size - 1
    return FailureBursts(
        threshold, starts[real], size[real], many[real], (time[ends] - time[starts])[real],
        shares[0], shares[1], draws, period,
    )  # fmt: skip


def _by_chance(
    history: History,
    rng: np.random.Generator,
    threshold: float,
    period: float | None,
    draws: int,
) -> tuple[Floats, Floats]:
    """Return the shares of failures in bursts, and in those on several nodes, of simulated logs."""
    node = history.node
    low = history.start[node].astype(np.float64)
    high = history.end[node].astype(np.float64)
    if period:
        origin = float(history.time[0])
        begin = origin + np.floor((history.time - origin) / period) * period
        low, high = np.maximum(low, begin), np.minimum(high, begin + period)
    n = len(node)
    rows = max(1, 1_000_000 // n)
    shares = np.empty((2, draws))
    for done in range(0, draws, rows):
        count = min(rows, draws - done)
        times = np.floor(low + rng.random((count, n)) * (high - low))  # the log's clock ticks too
        order = np.argsort(times, axis=1)
        times = np.take_along_axis(times, order, axis=1)
        joined = np.zeros((count, n), dtype=np.bool_)
        joined[:, 1:] = np.diff(times, axis=1) <= threshold
        starts = np.flatnonzero(~joined)
        size = np.diff(np.append(starts, count * n))
        where = node[order].ravel()
        several = np.maximum.reduceat(where, starts) != np.minimum.reduceat(where, starts)
        row = starts // n
        for k, mask in enumerate((size >= 2, several)):
            inside = np.bincount(row[mask], weights=size[mask], minlength=count)
            shares[k, done : done + count] = inside / n
    return shares[0], shares[1]
