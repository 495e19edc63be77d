"""Event logs of lines, read in chunks: the text of one chunk is all that lies in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.packed import Noted, chunks_of_lines
from forestall.core.model.units import EARLIEST, LATEST
from forestall.logs.ras.layouts import BY_PRIORITY, Clock, Layout
from forestall.logs.ras.records import RasColumns

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

MEGABYTE = 1 << 20
LEAP_YEAR = 2000
LEAP_STEP = 4
"""Years that nobody told are leap years until all of the log is known: each has a 29th of
February."""
BAD_TIMES: Final = {
    "bad_time": ("records with an unusable time", "is not a date and time"),
    "leap_day": (
        "records of 29 February in a year without it (is the year of the first line right?)",
        "is in a year without that day; expected another year of the first line",
    ),
}
"""Times that cannot be: in words, and as an error says it of one."""
DAY = 86_400
FEBRUARY_29 = 59
"""Days of the year before it."""

_FORMS: dict[Clock, str] = {
    "bluegene": "%Y-%m-%d-%H.%M.%S",
    "mira": "%Y-%m-%d;%H:%M:%S",
    "iso": "%Y-%m-%dT%H:%M:%S",
    "yearless": "%Y %m %d %H:%M:%S",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HALF_A_YEAR = 6
_JANUARY_TO_DECEMBER = 11


def numbered_lines(
    path: Path, progress: Progress | None = None, noted: Noted | None = None
) -> Iterator[tuple[int, pl.Series]]:
    """Yield (number of the first line, lines) of a file, a chunk at a time.

    Tells the megabytes read of a file that is not packed.
    """
    whole = path.stat().st_size if path.is_file() else 0
    first, read = 1, 0
    for chunk in chunks_of_lines(path, noted=noted):
        read += len(chunk)
        text = chunk.decode()
        lines = pl.Series("lines", [text[:-1]]).str.split("\n").explode()
        yield first, lines
        first += len(lines)
        if progress is not None and read <= whole:
            progress(read // MEGABYTE, -(-whole // MEGABYTE))


@dataclass
class MissingYears:
    """The year of times that have none: the next one, `step` years later, begins where a month is
    followed by one half a year or more before it, such as December by January. A December after
    January is late, and of the year before; any other later month is of the same year."""

    year: int
    step: int = 1
    month: int = 0

    def of(self, months: Int) -> Int:
        """Return the year of each line, by its month, 1 to 12 (0: none)."""
        known = np.flatnonzero(months > 0)
        if len(known) == 0:
            return np.full(len(months), self.year)
        given = months[known]
        steps = np.diff(given, prepend=self.month or given[0])
        turns = (steps <= -_HALF_A_YEAR).astype(np.int64) - (steps == _JANUARY_TO_DECEMBER)
        years = np.full(len(months), self.year)
        years[known] = self.year + self.step * np.cumsum(turns)
        self.year, self.month = int(years[known[-1]]), int(given[-1])
        return years


def read_layout(
    path: Path,
    layout: Layout,
    records: RasColumns,
    *,
    year: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Add the records of a log of lines; those that are none of this form are noted."""
    years = MissingYears(LEAP_YEAR, LEAP_STEP) if year is None else MissingYears(year)
    records.dated = layout.clock != "yearless" or year is not None
    records.labels = "(?P<label>" in layout.pattern
    for first, lines in numbered_lines(path, progress, records.spoilt):
        _add_chunk(first, lines, layout, records, years)
    if not records.dated:
        records.change_times = years_in_a_row


def years_in_a_row(time: Int) -> Int:
    """Return times in leap years (2000, 2004, ...) as times in years one after the other.

    Of the four that the first may be it is the one in which the days of the log exist: those with
    a 29th of February are leap years, those that go from February on to March without it are not.
    """
    year = time.astype("datetime64[s]").astype("datetime64[Y]")
    into = time - year.astype("datetime64[s]").astype(np.int64)
    day = into // DAY
    turn = (year.astype(np.int64) + 1970 - LEAP_YEAR) // LEAP_STEP
    turns, place = np.unique(turn, return_inverse=True)
    leap = np.zeros(len(turns), dtype=np.bool_)
    np.logical_or.at(leap, place, day == FEBRUARY_29)
    before, after = np.zeros_like(leap), np.zeros_like(leap)
    np.logical_or.at(before, place, day < FEBRUARY_29)
    np.logical_or.at(after, place, day > FEBRUARY_29)
    bases = range(LEAP_YEAR, LEAP_YEAR + LEAP_STEP)

    def wrong(base: int) -> tuple[int, int]:
        is_leap = _is_leap(base + turns)
        return int((leap & ~is_leap).sum()), int((before & after & ~leap & is_leap).sum())

    base = min(bases, key=wrong)
    real = base + turn
    begin = (real - 1970).astype("datetime64[Y]").astype("datetime64[s]").astype(np.int64)
    return begin + into - DAY * ((day > FEBRUARY_29) & ~_is_leap(real))


def _is_leap(year: Int) -> npt.NDArray[np.bool_]:
    return np.asarray((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))


def _add_chunk(
    first: int, lines: pl.Series, layout: Layout, records: RasColumns, years: MissingYears
) -> None:
    numbers = pl.Series("line", np.arange(first, first + len(lines), dtype=np.int64))
    frame = lines.str.extract_groups(layout.whole).struct.unnest()
    matched = frame["time"].is_not_null()
    if not matched.all():
        wanted = ~matched & (lines.str.strip_chars() != "")
        if layout.skip:
            wanted &= ~lines.str.contains(layout.skip)
        what = f"is not a record of {layout.text}"
        text = "malformed lines"
        records.refuse("malformed", text, numbers.filter(wanted), lines.filter(wanted), None, what)
        frame, numbers = frame.filter(matched), numbers.filter(matched)
    seconds = _seconds(frame, layout.clock, years)
    good = seconds.is_not_null()
    if not good.all():
        leap = frame["time"].str.starts_with("Feb 29 ")
        for kind, (text, what) in BAD_TIMES.items():
            bad = ~good & (leap if kind == "leap_day" else ~leap)
            if bad.any():
                said = frame["time"].filter(bad)
                records.refuse(kind, text, numbers.filter(bad), said, "time", what)
        frame, numbers, seconds = frame.filter(good), numbers.filter(good), seconds.drop_nulls()
    columns = {
        "line": numbers,
        "time": seconds,
        "place": frame["place"],
        "severity": _severity(frame, numbers, records),
        "head": frame.select(pl.concat_str(list(layout.prefix), separator=" ")).to_series()
        if layout.prefix
        else pl.repeat("", len(frame), dtype=pl.String, eager=True),
    }
    if records.labels:
        columns["alert"] = frame["label"] != "-"
    if "message" in frame.columns:
        columns["message"] = frame["message"]
    records.add(pl.DataFrame(columns), masks=layout.masks)


def _severity(frame: pl.DataFrame, numbers: pl.Series, records: RasColumns) -> pl.Series:
    if "severity" in frame.columns:
        return records.severities(frame["severity"], numbers)
    if "priority" in frame.columns:
        level = frame["priority"].cast(pl.Int32) % len(BY_PRIORITY)
        codes = [int(one) for one in BY_PRIORITY]
        return level.replace_strict(
            list(range(len(codes))), codes, default=0, return_dtype=pl.Int8
        ).fill_null(0)
    return pl.repeat(0, len(frame), dtype=pl.Int8, eager=True)


def _seconds(frame: pl.DataFrame, clock: Clock, years: MissingYears) -> pl.Series:
    """Return Unix seconds, null where the text is no time."""
    text = frame["time"]
    if clock == "unix":
        return dated(text.cast(pl.Int64, strict=False))
    if clock == "iso":
        text = text.str.replace(" ", "T", literal=True)
    if clock == "yearless":
        return _yearless(text, years)
    seconds = moments(text, _FORMS[clock])
    if "zone" in frame.columns:
        sign = pl.when(pl.col("zone").str.starts_with("-")).then(-1).otherwise(1)
        digits = pl.col("zone").str.replace_all(r"[^0-9]", "")
        hours = digits.str.slice(0, 2).cast(pl.Int64, strict=False)
        minutes = digits.str.slice(2, 2).cast(pl.Int64, strict=False)
        ahead = (sign * (hours * 3600 + minutes * 60)).fill_null(0)
        seconds = seconds - frame.select(ahead).to_series()
    return seconds


def moments(text: pl.Series, form: str) -> pl.Series:
    """Return Unix seconds of times written in a form, taken as they stand; null where not."""
    if len(text) == 0:
        return pl.Series([], dtype=pl.Int64)
    return dated(text.str.to_datetime(form, time_unit="ms", strict=False).dt.epoch("s"))


def dated(seconds: pl.Series) -> pl.Series:
    """Return Unix seconds, null where they are of no time that records are of."""
    return seconds.set(~seconds.is_between(EARLIEST, LATEST), None)


def _yearless(text: pl.Series, years: MissingYears) -> pl.Series:
    names = text.str.slice(0, 3)
    month = names.replace_strict(
        list(_MONTHS), list(range(1, 13)), default=0, return_dtype=pl.Int64
    )
    table = pl.DataFrame(
        {
            "year": pl.Series(years.of(month.to_numpy())).cast(pl.String),
            "month": month.cast(pl.String).str.zfill(2),
            "day": text.str.slice(4, text.str.len_bytes() - 13).str.strip_chars().str.zfill(2),
            "clock": text.str.tail(8),
        }
    )
    whole = table.select(pl.concat_str(pl.all(), separator=" ")).to_series()
    return moments(whole, _FORMS["yearless"])
