"""Columns of times as whole seconds, and where time 0 of a trace lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import EARLIEST, LATEST, MAX_SECONDS, SECONDS, parse_time

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

UNIX_FROM = 100_000_000
"""Bare numbers of seconds from here on (March 1973) count from 1970; smaller ones from a trace's
own 0 (to the third year)."""

EXPECTED = "a date such as 2003-07-18T16:00:00, or seconds"
_PATTERNS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d")


@dataclass(frozen=True)
class Times:
    """A column of times.

    Attributes
    ----------
    second : int64[n], whole seconds (fractions cut off), 0 where not good
    good : bool[n], which could be read
    calendar : whether they are Unix seconds rather than a trace's own
    """

    second: Int
    good: Bool
    calendar: bool


@dataclass(frozen=True)
class Window:
    """[zero, stop) in the source's own seconds, and the Unix seconds of zero where it has dates."""

    zero: int
    stop: int
    origin: int | None


def times_of(column: pl.Series) -> Times:
    """Return the times of a column: dates, numbers of seconds, or text of either.

    Numbers are taken to be Unix seconds where most of them are from `UNIX_FROM` on. Where the
    first filled field of a column of text is a date, all must be, and else none.
    """
    if column.dtype in (pl.Date, pl.Datetime):
        stamps = column.cast(pl.Datetime("us")).dt.epoch("us")
        good = ~stamps.is_null().to_numpy()
        second = stamps.fill_null(0).to_numpy().astype(np.int64) // 1_000_000
        return _checked(np.where(good, second, 0), good, True)
    if column.dtype.is_integer():
        good = ~column.is_null().to_numpy()
        bounded = column.cast(pl.Int64, strict=False).fill_null(0).to_numpy()
        return _checked(bounded, good, _mostly_unix(bounded, good))
    if column.dtype.is_numeric():
        return _numbers(column.cast(pl.Float64).fill_null(np.nan).to_numpy())
    text = column.cast(pl.String).str.strip_chars()
    filled = text.filter(text.fill_null("") != "")
    first = filled[0] if len(filled) else ""
    if "-" in first[1:] and first[:4].isdigit():
        return _dates(text)
    return _numbers(text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy())


def window_from(
    source: str | Path,
    first: int,
    last: int,
    calendar: bool,
    *,
    start: str | int | None,
    days: float | None,
    what: str,
) -> Window:
    """Return the window that `start` and `days` choose of a trace with times from first to last.

    Time 0 is `start`; without one it is the first time of a trace with dates, and the own 0 of one
    that counts seconds. Raises ParameterError for a bad one, TraceError where nothing lies in it.
    """
    zero = first if calendar else 0
    if start is not None:
        zero = parse_time(str(start), "from")
        if abs(zero) >= MAX_SECONDS // 2:
            allowed = "a time within a thousand years of the log's epoch"
            raise ParameterError("from", start, allowed)
    stop = 2 * MAX_SECONDS
    if days is not None:
        if not 0 < days * SECONDS["d"] < MAX_SECONDS:  # also refuses nan
            raise ParameterError("days", days, "a finite number above 0")
        stop = zero + max(1, round(days * SECONDS["d"]))
    if last < zero or (first >= stop):
        said = [spoken(moment, calendar) for moment in (zero, first, last)]
        raise TraceError(source, f"no {what} from {said[0]}; there are some from {said[1]} to "
                         f"{said[2]}")  # fmt: skip
    return Window(zero, stop, zero if calendar else None)


def spoken(time: int, calendar: bool) -> str:
    """Return a time as a message says it."""
    return str(np.datetime64(time, "s")) if calendar else f"{time} s"


def _numbers(value: npt.NDArray[np.float64]) -> Times:
    good = np.isfinite(value)
    second = np.floor(np.where(good, np.clip(value, -MAX_SECONDS, MAX_SECONDS), 0))
    whole = second.astype(np.int64)
    return _checked(whole, good, _mostly_unix(whole, good))


def _mostly_unix(second: Int, good: Bool) -> bool:
    return 2 * int(np.count_nonzero(good & (second >= UNIX_FROM))) > int(np.count_nonzero(good))


def _dates(text: pl.Series) -> Times:
    """Return dates in ISO's forms; the rare ones (with zones) are read one by one, each once."""
    stamps = pl.Series([None] * len(text), dtype=pl.Datetime("us"))
    for pattern in _PATTERNS:
        stamps = stamps.zip_with(
            stamps.is_not_null(), text.str.to_datetime(pattern, time_unit="us", strict=False)
        )
        if not stamps.has_nulls():
            break
    second = stamps.dt.epoch("us").fill_null(0).to_numpy().astype(np.int64) // 1_000_000
    good = ~stamps.is_null().to_numpy()
    known: dict[str, int | None] = {}
    for row in np.flatnonzero(~good).tolist():
        said = text[row] or ""
        if said not in known:
            known[said] = _moment(said)
        found = known[said]
        good[row], second[row] = found is not None, found or 0
    return _checked(second, good, True)


def _moment(text: str) -> int | None:
    if text.lstrip("+-").replace(".", "").isdigit():  # seconds among dates: which time 0?
        return None
    try:
        return parse_time(text)
    except ParameterError:
        return None


def _checked(second: Int, good: Bool, calendar: bool) -> Times:
    low, high = (EARLIEST, LATEST) if calendar else (1 - MAX_SECONDS, MAX_SECONDS)
    fair = good & (second >= low) & (second < high)
    return Times(np.where(fair, second, 0), fair, calendar)
