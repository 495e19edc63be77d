"""Event logs of lines, read in chunks: the text of one chunk is all that lies in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.model.units import EARLIEST, LATEST
from forestall.traces.files.packed import Noted, chunks_of_lines
from forestall.traces.ras.layouts import BY_PRIORITY, Clock, Layout
from forestall.traces.ras.records import RasColumns

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

MEGABYTE = 1 << 20
LEAP_YEAR = 2000
"""Stands for a year that nobody told: it has a 29th of February."""

_FORMS: dict[Clock, str] = {
    "bluegene": "%Y-%m-%d-%H.%M.%S",
    "mira": "%Y-%m-%d;%H:%M:%S",
    "iso": "%Y-%m-%dT%H:%M:%S",
    "yearless": "%Y %m %d %H:%M:%S",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HALF_A_YEAR = 6


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
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n")
        text = chunk.decode()
        lines = pl.Series("lines", [text[:-1]]).str.split("\n").explode()
        yield first, lines
        first += len(lines)
        if progress is not None and read <= whole:
            progress(read // MEGABYTE, -(-whole // MEGABYTE))


@dataclass
class MissingYears:
    """The year of times that have none: the next one begins where December is followed by
    January."""

    year: int
    month: int = 0

    def of(self, months: Int) -> Int:
        """Return the year of each line, by its month, 1 to 12 (0: none)."""
        known = np.flatnonzero(months > 0)
        if len(known) == 0:
            return np.full(len(months), self.year)
        given = months[known]
        steps = np.diff(given, prepend=self.month or given[0])
        turns = (steps <= -_HALF_A_YEAR).astype(np.int64) - (steps >= _HALF_A_YEAR)
        years = np.full(len(months), self.year)
        years[known] = self.year + np.cumsum(turns)
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
    years = MissingYears(LEAP_YEAR if year is None else year)
    records.dated = layout.clock != "yearless" or year is not None
    records.labels = "(?P<label>" in layout.pattern
    for first, lines in numbered_lines(path, progress, records.not_utf8):
        _add_chunk(first, lines, layout, records, years)


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
        text, what = "records with an unusable time", "is not a date and time"
        said = frame["time"].filter(~good)
        records.refuse("bad_time", text, numbers.filter(~good), said, "time", what)
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
