"""What the page and the figures of a run of cycle sharing show, as plain numbers.

Tables are those of `jobs.csv`, `stays.csv`, `hosts.csv` and `availability.csv`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core._lazy import lazily
from forestall.core.figures import series
from forestall.core.figures.series import Floats, Ints
from forestall.core.kit.shares import DAY, FEWEST_UNITS
from forestall.core.proportions import wilson
from forestall.prediction.models.semi_markov.learning import MONDAY
from forestall.prediction.models.semi_markov.states import FAILING, NAMES

with lazily():
    from scipy import special

HOUR: Final = 3600
TEXTS: Final = ("outcome", "ended", "state", "name")
REALS: Final = ("speed", "work", "saved", "lost", "useful", "share", "chance", "promise")
LEFT: Final = ("contention", "thrashing", "away")
"""How a stay ended where the host left its guest."""
LASTING: Final = (1.0, 2.0, 4.0, 8.0, 24.0)
"""Hours for which the page tells how likely a host is to stay."""
TENTHS: Final = 10
FEW_LENGTHS: Final = 12
"""Run times up to which each is told by itself; more are put in classes of powers of two."""


def typed(table: pl.DataFrame) -> pl.DataFrame:
    """See `series.typed`."""
    return series.typed(table, TEXTS, REALS)


def reals(table: pl.DataFrame, name: str) -> Floats:
    """Return a column as float64[n]; a null counts as 0."""
    return table[name].cast(pl.Float64).fill_null(0.0).to_numpy()


def states_of(availability: pl.DataFrame) -> Ints:
    """Return the state of each row as a number, 0 (S1) to 4 (S5)."""
    numbers = {name: k for k, name in enumerate(NAMES)}
    return availability["state"].replace_strict(numbers, return_dtype=pl.Int64).to_numpy()


def span_of(jobs: pl.DataFrame, availability: pl.DataFrame, stays: pl.DataFrame) -> tuple[int, int]:
    """Return the first submission and the end of the hosts' table, at least a second apart."""
    start = int(series.column(jobs, "submit").min()) if len(jobs) else 0
    if not len(jobs) and len(availability):
        start = int(series.column(availability, "start").min())
    end = start + 1
    for table in (availability, stays):
        end = max(end, int(series.column(table, "end").max(initial=end)))
    return start, end


def levels(availability: pl.DataFrame, edges: Floats) -> Floats:
    """Return float64[5, bins]: how many hosts are in each state, mean within each bin."""
    state = states_of(availability)
    since, until = (series.column(availability, name) for name in ("start", "end"))
    return np.stack(
        [
            series.time_weighted(since[here], until[here], np.ones(int(here.sum()), int), edges)
            for here in (state == k for k in range(len(NAMES)))
        ]
    )


def guests(stays: pl.DataFrame, edges: Floats) -> Floats:
    """Return how many hosts have a guest, mean within each bin."""
    since, until = (series.column(stays, name) for name in ("start", "end"))
    return series.time_weighted(since, until, np.ones(len(stays), int), edges)


def origin_of(summary: object) -> int:
    """Return the Unix time of the jobs' time 0: as the summary says, else as the parameters do of
    traces without dates."""
    told = summary if isinstance(summary, dict) else {}
    given = told.get("origin")
    if isinstance(given, int | float) and not isinstance(given, bool):
        return int(given)
    warm_up = (told.get("parameters") or {}).get("warm_up", 0)
    return MONDAY + (int(warm_up) if isinstance(warm_up, int | float) else 0)


@dataclass(frozen=True)
class HourShares:
    """Days of one kind: the share of hosts in each state by hour of the day.

    Attributes
    ----------
    days : how many days there are
    share : float64[5, 24], mean over days; nan for an hour that no day has
    low, high : float64[24], 95 % interval of the share that is available (S1 or S2), days being
        drawn; nan with fewer than 3
    guests : float64[24], share of hosts with a guest
    """

    days: int
    share: Floats
    low: Floats
    high: Floats
    guests: Floats


def by_hour(
    availability: pl.DataFrame, stays: pl.DataFrame, hosts: int, origin: int
) -> tuple[HourShares, HourShares]:
    """Return what hosts are by hour of the day, on weekdays and on weekends.

    Only whole hours within what the table holds count. `origin` is the Unix time of time 0.
    """
    since = series.column(availability, "start")
    until = series.column(availability, "end")
    begin = -(-(int(since.min()) + origin) // HOUR) if len(since) else 0
    end = (int(until.max()) + origin) // HOUR if len(until) else 0
    edges = np.arange(begin, max(end, begin) + 1, dtype=np.float64) * HOUR - origin
    if len(edges) < 2:
        none = np.full(24, np.nan)
        empty = HourShares(0, np.full((len(NAMES), 24), np.nan), none, none, none)
        return empty, empty
    share = levels(availability, edges) / max(hosts, 1)
    busy = guests(stays, edges) / max(hosts, 1)
    hours = np.arange(begin, end)
    free = (hours // 24 - MONDAY // DAY) % 7 >= 5
    return _by_hour(hours[~free], share[:, ~free], busy[~free]), _by_hour(
        hours[free], share[:, free], busy[free]
    )


def _by_hour(hours: Ints, share: Floats, busy: Floats) -> HourShares:
    of = hours % 24
    count = np.bincount(of, minlength=24).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack([np.bincount(of, row, 24) / count for row in share])
        held = np.bincount(of, busy, 24) / count
        free = share[:2].sum(axis=0)
        spread = np.bincount(of, free**2, 24) / count - means[:2].sum(axis=0) ** 2
        half = special.stdtrit(np.maximum(count - 1, 1), 0.975) * np.sqrt(
            np.maximum(spread, 0.0) / np.maximum(count - 1, 1)
        )
    half[count < 3] = np.nan
    middle = means[:2].sum(axis=0)
    return HourShares(
        len(np.unique(hours // 24)),
        means,
        np.maximum(middle - half, 0.0),
        np.minimum(middle + half, 1.0),
        held,
    )


@dataclass(frozen=True)
class Lasting:
    """How likely a host that is available at some moment stays so for `hours` more, and the 95 %
    interval where hosts are drawn; `low` and `high` are None with fewer than 3 hosts."""

    hours: float
    share: float
    low: float | None
    high: float | None


def lasting(availability: pl.DataFrame, hours: tuple[float, ...] = LASTING) -> list[Lasting]:
    """Return how likely an available host stays available, a moment of the run being drawn.

    Moments so late that the run ends before the time is up do not count; lengths that leave no
    moment are left out.
    """
    spans = available_spans(availability)
    if not len(spans[0]):
        return []
    host, since, until = spans
    last = int(series.column(availability, "end").max())
    names, of = np.unique(host, return_inverse=True)
    found = []
    for length in hours:
        wide = int(length * HOUR)
        asked = np.maximum(np.minimum(until, last - wide) - since, 0)
        kept = np.maximum(np.minimum(until - wide, last - wide) - since, 0)
        n, y = (np.bincount(of, x, len(names)).astype(np.float64) for x in (asked, kept))
        told = ratio(y, n, fewest=3)
        if told is not None:
            found.append(Lasting(length, *told))
    return found


def available_spans(availability: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Return (host, since, until) of the times that hosts were in S1 or S2 without a break."""
    numbered = availability.select("host", "start", "end").with_columns(
        free=pl.Series(states_of(availability) < FAILING[0])
    )
    merged = (
        numbered.sort("host", "start")
        .with_columns(run=(pl.col("free") != pl.col("free").shift(1).over("host")).fill_null(True))
        .with_columns(pl.col("run").cum_sum())
        .filter("free")
        .group_by("run", maintain_order=True)
        .agg(pl.col("host").first(), pl.col("start").first(), pl.col("end").last())
    )
    host, since, until = (series.column(merged, name) for name in ("host", "start", "end"))
    return host, since, until


def ratio(
    y: npt.NDArray[np.float64], n: npt.NDArray[np.float64], fewest: int = FEWEST_UNITS
) -> tuple[float, float | None, float | None] | None:
    """Return sum(y) / sum(n) with its 95 % interval (Student's t) where units, such as days or
    hosts, are drawn: a ratio estimator (Kish, Survey Sampling, 1965). None where sum(n) is 0; the
    ends are None with fewer than `fewest` units that count."""
    kept = n > 0
    y, n = y[kept], n[kept]
    if not len(n):
        return None
    share = float(y.sum() / n.sum())
    units = len(n)
    if units < max(fewest, 2):
        return share, None, None
    spread = float(np.sum((y - share * n) ** 2)) * units / (units - 1) / float(n.sum()) ** 2
    half = float(special.stdtrit(units - 1, 0.975)) * sqrt(spread)
    return share, share - half, share + half


@dataclass(frozen=True)
class Mean:
    """A mean over jobs, its 95 % interval, and what was drawn for it: "days", or "jobs" where there
    are fewer than 20 days. The ends are None with a single job, or where all values are alike, so
    that nothing tells the spread."""

    value: float
    low: float | None
    high: float | None
    over: str


def mean_of(jobs: pl.DataFrame, value: pl.Expr) -> Mean | None:
    """Return the mean of a value of jobs; those where it is null do not count. None without any."""
    table = jobs.select("submit", v=value.cast(pl.Float64)).drop_nulls()
    days = (
        table.group_by(pl.col("submit") // DAY).agg(n=pl.len(), y=pl.col("v").sum()).sort("submit")
    )
    n, y = reals(days, "n"), reals(days, "y")
    over = "days" if len(days) >= FEWEST_UNITS else "jobs"
    told = ratio(y, n) if over == "days" else ratio(reals(table, "v"), np.ones(len(table)), 2)
    if told is not None and table["v"].min() == table["v"].max():
        told = (told[0], None, None)
    return None if told is None else Mean(*told, over)


@dataclass(frozen=True)
class LengthClass:
    """Jobs of one run time, or of a class of run times: `low` to `high` s, the `count` of them, the
    `completed` of them, makespans and failures (`Mean` or None), and the number unscheduled."""

    low: int
    high: int
    count: int
    completed: int
    makespan: Mean | None
    stretch: Mean | None
    failures: Mean | None
    unscheduled: int
    quantiles: tuple[float, ...]
    """5, 25, 50, 75 and 95 % of makespans, s; empty without any."""


QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def by_length(jobs: pl.DataFrame) -> list[LengthClass]:
    """Return the jobs by run time: each by itself where they are few, else doubling classes of
    hours (to 0.5 h, to 1 h, to 2 h and so on)."""
    if jobs.is_empty():
        return []
    runtime = series.column(jobs, "runtime")
    if len(np.unique(runtime)) > FEW_LENGTHS:
        key = np.ceil(np.log2(np.maximum(runtime, 60) / HOUR) - 1e-12).astype(np.int64)
        ends = {int(k): (HOUR * 2.0 ** (k - 1), HOUR * 2.0**k) for k in np.unique(key)}
    else:
        key = runtime
        ends = {int(k): (float(k), float(k)) for k in np.unique(key)}
    told = jobs.with_columns(key=pl.Series(key))
    return [
        _length_class(told.filter(pl.col("key") == k), round(low), round(high))
        for k, (low, high) in sorted(ends.items())
    ]


def _length_class(jobs: pl.DataFrame, low: int, high: int) -> LengthClass:
    made = jobs.filter(pl.col("outcome") == "completed")
    makespan = pl.col("makespan")
    spread = reals(made, "makespan")
    return LengthClass(
        low,
        high,
        len(jobs),
        len(made),
        mean_of(made, makespan),
        mean_of(made, makespan / pl.col("runtime")),
        mean_of(jobs, pl.col("failures")),
        int((jobs["outcome"] == "unscheduled").sum()),
        tuple(np.quantile(spread, QUANTILES).tolist()) if len(spread) else (),
    )


FATES: Final = ("straight", "after", "unscheduled", "unfinished")


def with_fates(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs with a column `fate`: ``straight`` (completed on its first host), ``after``
    (completed after hosts had left it), ``unscheduled``, ``unfinished``."""
    completed = pl.when(pl.col("failures").cast(pl.Int64) > 0).then(pl.lit("after"))
    fate = pl.when(pl.col("outcome") == "completed").then(completed.otherwise(pl.lit("straight")))
    return jobs.with_columns(fate=fate.otherwise("outcome"))


def host_hours(
    availability: pl.DataFrame, stays: pl.DataFrame, start: int, end: int
) -> dict[str, float]:
    """Return host time in s within [start, end) by what hosts were: ``S1``, ``S2`` (without a
    guest), ``S3``, ``S4``, ``S5``, and ``guest``."""
    edges = np.array([start, end], dtype=np.float64)
    time = levels(availability, edges)[:, 0] * (end - start)
    found = dict(zip(NAMES, time.tolist(), strict=True))
    held = float(guests(stays, edges)[0]) * (end - start)
    free = found["S1"] + found["S2"]
    rest = max(1 - held / free, 0.0) if free else 0.0
    return {"guest": held} | found | {"S1": found["S1"] * rest, "S2": found["S2"] * rest}


def stay_ends(stays: pl.DataFrame) -> pl.DataFrame:
    """Return ``ended,stays,time,lost``: how stays ended, the time that they took, and the work lost
    at their ends, s."""
    taken = pl.col("end").cast(pl.Float64) - pl.col("start").cast(pl.Float64)
    return stays.group_by("ended").agg(
        stays=pl.len(), time=taken.sum(), lost=pl.col("lost").cast(pl.Float64).sum()
    )


@dataclass(frozen=True)
class Promised:
    """Stays of which a probability to end on their hosts between `low` and `high` was said: how
    many, what was said on average, the share that did, and its 95 % interval (Wilson's)."""

    low: float
    high: float
    stays: int
    said: float
    kept: float
    kept_low: float
    kept_high: float


def promised(stays: pl.DataFrame, column: str) -> list[Promised]:
    """Return by tenths of probability what was said of stays in a column, ``chance`` (foreseen) or
    ``promise`` (corrected by the record), and what came of it; empty where nothing was said. Stays
    that the end of the traces cut off do not count."""
    if column not in stays.columns:
        return []
    told = stays.filter(pl.col("ended") != "unfinished").select(
        said=pl.col(column).cast(pl.Float64), kept=pl.col("ended") == "completed"
    )
    told = told.drop_nulls()
    place = np.clip((told["said"].to_numpy() * TENTHS + 1e-9).astype(np.int64), 0, TENTHS - 1)
    found = []
    for k in np.unique(place).tolist():
        mine = told.filter(pl.Series(place == k))
        count, good = len(mine), int(mine["kept"].sum())
        said = float(mine["said"].to_numpy().mean())
        low, high = wilson(good, count)
        found.append(Promised(k / TENTHS, (k + 1) / TENTHS, count, said, good / count, low, high))
    return found


def brier(stays: pl.DataFrame, column: str) -> float | None:
    """Return the mean squared distance of what was said to what came; None where nothing was."""
    if column not in stays.columns:
        return None
    told = stays.filter((pl.col("ended") != "unfinished") & pl.col(column).is_not_null())
    if told.is_empty():
        return None
    kept = (told["ended"] == "completed").to_numpy().astype(np.float64)
    return float(np.mean((reals(told, column) - kept) ** 2))
