"""Slurm's dates and durations as whole seconds, a column at a time.

Slurm writes dates on the clock of the machine's zone, without naming it. Where the clock is set
back an hour exists twice, and where it is set forward one does not exist: such a time has two
readings, and the length of the run can say which one is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.core.model.units import LATEST, MAX_SECONDS
from forestall.slurm.records.accounting import UNKNOWN, UNLIMITED

with lazily():
    import polars as pl


Long = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

NO_TIME: Final = frozenset(
    {"", "0", "unknown", "none", "n/a", "na", "(null)", "null", "never", "invalid", "not_set"}
)
"""Words that stand where there is no time, in small letters."""

DAY: Final = 86_400
HOUR: Final = 3600
_FIRST_DAY: Final = 2 * DAY
"""Times before this are a zero that went through a zone."""
_LIMITS: Final = {"unlimited": UNLIMITED, "infinite": UNLIMITED, "partition_limit": UNKNOWN}
_DURATION = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?(?:\.\d*)?")


def limit_of(text: str, *, raw: bool = False) -> int | None:
    """Return a time limit in seconds: UNLIMITED, UNKNOWN where it is not told, None where it cannot
    be read.

    Parameters
    ----------
    raw : whether it is minutes (TimelimitRaw) rather than ``D-HH:MM:SS`` (Timelimit); a bare
        number is minutes in both

    >>> [limit_of(text) for text in ("90", "1:30", "1:30:00", "2-12", "2-12:30")]
    [5400, 90, 5400, 216000, 217800]
    """
    lower = text.strip().lower()
    if lower in NO_TIME and lower != "0":
        return UNKNOWN
    if lower in _LIMITS:
        return _LIMITS[lower]
    if raw and not lower.isdecimal():
        return None
    return _seconds(lower, bare=60)


def elapsed_of(text: str) -> int | None:
    """Return a length of time that Slurm tells (``D-HH:MM:SS``, ``HH:MM:SS``, ``MM:SS``, seconds);
    UNKNOWN where there is none, None where it cannot be read."""
    lower = text.strip().lower()
    if lower in NO_TIME and lower != "0":
        return UNKNOWN
    return _seconds(lower, bare=1)


def _seconds(text: str, bare: int) -> int | None:
    match = _DURATION.fullmatch(text)
    if match is None or not text.isascii():
        return None
    days, first, second, third = match.groups()
    if days is not None:  # D-HH[:MM[:SS]]
        parts = (int(days), int(first), int(second or 0), int(third or 0))
    elif third is not None:  # HH:MM:SS
        parts = (0, int(first), int(second), int(third))
    elif second is not None:  # MM:SS
        parts = (0, 0, int(first), int(second))
    else:
        parts = (0, 0, 0, int(first) * bare)
    seconds = parts[0] * DAY + parts[1] * 3600 + parts[2] * 60 + parts[3]
    return seconds if seconds < MAX_SECONDS else None


@dataclass(frozen=True)
class TimeColumn:
    """A column of times.

    Attributes
    ----------
    first, second : int64[n], Unix seconds, `NEVER` where there is none; they differ where a local
        time has two readings
    bad : bool[n], what is no time and no word for none
    local : bool[n], dates without a zone
    """

    first: Long
    second: Long
    bad: Bool
    local: Bool

    @property
    def doubtful(self) -> Bool:
        """Which have two readings, bool[n]."""
        return np.asarray(self.first != self.second)

    @classmethod
    def none(cls, count: int) -> TimeColumn:
        """Return a column without any time."""
        never = np.full(count, NEVER)
        return cls(never, never, np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_))


def moments_of(column: pl.Series, zone: str | None = None) -> TimeColumn:
    """Return the times of a column of text: Unix seconds, dates with a zone, and dates without one,
    which are taken to be of `zone` (None: UTC)."""
    text = column.fill_null("")
    seconds = np.zeros(len(text), dtype=np.int64)
    done = np.zeros(len(text), dtype=np.bool_)
    local = np.zeros(len(text), dtype=np.bool_)
    dated = "-" in _first_filled(text)
    for as_date in (dated, not dated):
        if bool(done.all()):
            break
        open_ = np.flatnonzero(~done)
        rest = text if len(open_) == len(done) else text.gather(open_)
        if as_date:
            found = rest.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="ms", strict=False)
            found = found.dt.epoch("s")
        else:
            found = rest.cast(pl.Int64, strict=False)
        good = ~found.is_null().to_numpy()
        seconds[open_] = found.fill_null(0).to_numpy()
        done[open_] = good
        local[open_] = good & as_date
    bad = np.zeros(len(text), dtype=np.bool_)
    _rare(text, done, seconds, local, bad)
    local &= seconds >= _FIRST_DAY
    first, second = localised(seconds, zone) if zone is not None else (seconds, seconds)
    if zone is not None:
        first, second = np.where(local, first, seconds), np.where(local, second, seconds)
    none = ~done | (seconds < _FIRST_DAY)
    bad |= done & (seconds >= LATEST)
    return TimeColumn(np.where(none, NEVER, first), np.where(none, NEVER, second), bad, local)


def _first_filled(text: pl.Series) -> str:
    for word in text.head(1000).to_list():
        if word and word.lower() not in NO_TIME:
            return str(word)
    return ""


def _rare(text: pl.Series, done: Bool, seconds: Long, local: Bool, bad: Bool) -> None:
    """Read what is neither seconds nor a plain date, each word once, and note what is no time."""
    open_ = np.flatnonzero(~done)
    if not len(open_):
        return
    rest = text.gather(open_)
    words = rest.unique(maintain_order=True)
    code = rest.cast(pl.Enum(words)).to_physical().to_numpy()
    table = [(*(_moment(word) or (0, False)), _kind(word)) for word in words.to_list()]
    second, plain, kind = (np.array(part) for part in zip(*table, strict=True))
    seconds[open_], local[open_] = second[code], plain[code]
    done[open_], bad[open_] = kind[code] == "time", kind[code] == "bad"


def _kind(word: str) -> str:
    if word.strip().lower() in NO_TIME:
        return "none"
    return "bad" if _moment(word) is None else "time"


def _moment(word: str) -> tuple[int, bool] | None:
    """Return the seconds of a date in another of ISO's forms, and whether it has no zone."""
    try:
        moment = datetime.fromisoformat(word.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        return int(moment.replace(tzinfo=UTC).timestamp()), True
    return int(moment.timestamp()), False


def localised(clock: Long, zone: str) -> tuple[Long, Long]:
    """Return the two readings of times on the clock of a zone as Unix seconds; they are the same
    but in the hours that exist twice or not at all.

    Parameters
    ----------
    clock : int64[n], seconds since 1970-01-01 00:00 on that clock

    The first reading takes the offset from before the change, the second the one from after it.
    Raises ParameterError for an unknown zone.
    """
    if not len(clock):
        return clock, clock
    low, high = int(clock.min()), int(clock.max())
    years = range(max(low // (366 * DAY), 0), min(high // (365 * DAY), 330) + 2)
    change, offset = changes(zone, 1970 + years.start, 1970 + years.stop)
    before, after = change + offset[:-1], change + offset[1:]
    surely = np.searchsorted(np.maximum(before, after), clock, side="right")
    maybe = np.searchsorted(np.minimum(before, after), clock, side="right")
    return clock - offset[surely], clock - offset[maybe]


@lru_cache(maxsize=64)
def changes(zone: str, first: int, last: int) -> tuple[Long, Long]:
    """Return the times at which a zone's offset changes from `first` to before `last` (years), and
    the offsets before, between and after them, all in seconds."""
    try:
        info = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ParameterError("zone", zone, "a time zone such as Europe/Berlin or UTC") from None

    def offset(second: int) -> int:
        shift = datetime.fromtimestamp(second, UTC).astimezone(info).utcoffset()
        return int((shift or timedelta(0)).total_seconds())

    begin = int(datetime(max(first - 1, 1900), 1, 2, tzinfo=UTC).timestamp())
    end = int(datetime(min(last + 1, 2300), 1, 1, tzinfo=UTC).timestamp())
    at, found = [], [offset(begin)]
    for low in range(begin, end, DAY):
        if offset(low + DAY) == found[-1]:
            continue
        left, right = low, low + DAY
        while right - left > 1:
            middle = (left + right) // 2
            left, right = (middle, right) if offset(middle) == found[-1] else (left, middle)
        at.append(right)
        found.append(offset(right))
    return np.asarray(at, dtype=np.int64), np.asarray(found, dtype=np.int64)


@dataclass(frozen=True)
class Settled:
    """Starts and ends of runs with one reading each.

    Attributes
    ----------
    start, end : int64[n], `NEVER` where there is none
    settled : bool[n], runs with a doubtful time that the elapsed time settles
    guessed : bool[n], those that it does not: the reading before the change is taken
    moved : bool[n], runs whose end was moved by whole hours to fit the elapsed time
    unlike : bool[n], runs whose end minus start is otherwise not the elapsed time
    """

    start: Long
    end: Long
    settled: Bool
    guessed: Bool
    moved: Bool
    unlike: Bool


def settle(start: TimeColumn, end: TimeColumn, length: Long) -> Settled:
    """Return one reading of each start and end.

    Parameters
    ----------
    length : int64[n], seconds from start to end by the elapsed time and the time of suspension,
        UNKNOWN where they are not told

    Where dates without a zone are a whole number of hours (up to 26) too far from each
    other, zones were mixed or the clock was set in between: the elapsed time is trusted, and the
    end moved.
    """
    begin, finish = start.first.copy(), end.first.copy()
    both = (begin < NEVER) & (finish < NEVER)
    told = both & (length >= 0)
    doubtful = start.doubtful | end.doubtful
    fitting = np.zeros(len(begin), dtype=np.int64)
    rows = np.flatnonzero(doubtful & told)
    for first, last in _readings(start, end):
        fits = rows[last[rows] - first[rows] == length[rows]]
        fresh = fits[fitting[fits] == 0]
        begin[fresh], finish[fresh] = first[fresh], last[fresh]
        fitting[fits] += np.where(
            (first[fits] != begin[fits]) | (last[fits] != finish[fits]) | (fitting[fits] == 0), 1, 0
        )
    settled = fitting == 1
    # Without a length the reading that does not end before it starts is the better guess.
    rows = np.flatnonzero(doubtful & both & (fitting == 0))
    rows = rows[(finish[rows] < begin[rows]) & (end.second[rows] >= begin[rows])]
    finish[rows] = end.second[rows]
    gap = np.zeros(len(begin), dtype=np.int64)
    gap[told] = finish[told] - begin[told] - length[told]
    whole = (gap != 0) & (gap % HOUR == 0) & (np.abs(gap) <= 26 * 3600)
    moved = whole & (start.local | end.local)
    finish[moved] = begin[moved] + length[moved]
    unlike = (np.abs(gap) > 1) & ~moved
    return Settled(begin, finish, settled, doubtful & ~settled, moved, unlike)


def _readings(start: TimeColumn, end: TimeColumn) -> Iterator[tuple[Long, Long]]:
    for first in (start.first, start.second):
        for last in (end.first, end.second):
            yield first, last
