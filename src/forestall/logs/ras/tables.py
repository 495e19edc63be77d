"""Event logs with columns: our own CSV or Parquet, and the RAS tables of Blue Gene/P and Q.

- ours: ``time,place,severity,kind[,alert][,message]``. Times are whole seconds from the log's time
  0, or ISO dates. Without a kind it is made of the message.
- Blue Gene's: the columns of the control system's database, such as RECID, MSG_ID, CATEGORY,
  COMPONENT, SEVERITY, EVENT_TIME, LOCATION, MESSAGE (Q: Mira) or with SUBCOMPONENT and ERRCODE in
  place of CATEGORY (P: Intrepid). The message id names the kind, so that texts are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.cells import read_back
from forestall.core.files.delimited import check_columns, csv_frame, header_names
from forestall.core.files.findings import shown
from forestall.core.files.parquet import check_sum
from forestall.core.files.pipes import readable
from forestall.core.model.errors import TraceError
from forestall.core.model.units import MAX_SECONDS
from forestall.logs.ras.lines import Progress, moments, numbered_lines
from forestall.logs.ras.records import RasColumns

with lazily():
    import polars as pl


OURS: Final = ("time", "place", "severity", "kind", "alert", "message")
ROWS: Final = 1_000_000
"""Rows of a Parquet file that are taken at a time."""
_TRUE: Final = ("1", "true", "yes", "t", "y")
_QUOTED: Final = r'"(?:[^"]|"")*"'
_FIELD: Final = rf'(?:{_QUOTED}|[^",]*)'
_SOUND: Final = rf"^{_FIELD}(?:,{_FIELD})*$"
_ISO: Final = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?"


@dataclass(frozen=True)
class Columns:
    """A table: which of its columns is what, by the names that the header has.

    Attributes
    ----------
    name, text : as `format` takes it; what it is, in a few words
    time, place : names of these columns
    severity, alert, message : the same, None where there is none
    kind : columns that make the kind
    database : whether times are written as the control system's database does
    """

    name: str
    text: str
    time: str
    place: str
    severity: str | None
    kind: tuple[str, ...]
    alert: str | None = None
    message: str | None = None
    database: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """All of these columns."""
        some = (self.time, self.place, self.severity, *self.kind, self.alert, self.message)
        return tuple(dict.fromkeys(one for one in some if one is not None))


OWN_TEXT: Final = "our own table: time,place,severity,kind[,alert][,message]"
DATABASE_TEXT: Final = "RAS table of Blue Gene/P or Q"


def columns_of(names: tuple[str, ...]) -> Columns | None:
    """Return what the columns of a header are; None where it is no event log."""
    own, database = own_columns(names), database_columns(names)
    return own if own is not None else database


def own_columns(names: tuple[str, ...]) -> Columns | None:
    """Return our own columns, where the header has them."""
    has = {name.lower(): name for name in reversed(names)}
    if not {"time", "place"} <= has.keys() or not {"kind", "message"} & has.keys():
        return None
    kind = (has["kind"],) if "kind" in has else ()
    message = None if kind else has.get("message")
    return Columns(
        "csv",
        OWN_TEXT,
        has["time"],
        has["place"],
        has.get("severity"),
        kind,
        has.get("alert"),
        message,
    )


def database_columns(names: tuple[str, ...]) -> Columns | None:
    """Return the columns of a RAS table of Blue Gene, where the header has them."""
    has = {name.upper(): name for name in reversed(names)}
    if not {"EVENT_TIME", "LOCATION", "SEVERITY"} <= has.keys():
        return None
    parts = ("CATEGORY", "COMPONENT", "SUBCOMPONENT", "ERRCODE", "MSG_ID")
    kind = tuple(has[one] for one in parts if one in has)
    message = None if kind else has.get("MESSAGE")
    if not kind and message is None:
        return None
    return Columns(
        "bluegene-ras",
        DATABASE_TEXT,
        has["EVENT_TIME"],
        has["LOCATION"],
        has["SEVERITY"],
        kind,
        message=message,
        database=True,
    )


def read_table(path: Path, records: RasColumns, progress: Progress | None = None) -> None:
    """Add the records of a comma-separated table, packed or not."""
    names: tuple[str, ...] = ()
    columns: Columns | None = None
    for first, lines in numbered_lines(path, progress, records.spoilt):
        numbers, rows = _filled(first, lines)
        if columns is None and len(rows):
            names = header_names(rows[0])
            columns = columns_of(names)
            if columns is None:
                check_columns(path, names, OURS[:4], int(numbers[0]))
                raise TraceError(path, f"not an event log: {shown(rows[0])}", line=int(numbers[0]))
            check_columns(path, names, columns.wanted, int(numbers[0]))
            records.labels = columns.alert is not None
            numbers, rows = numbers[1:], rows[1:]
        if columns is None or not len(rows):
            continue
        frame = _parsed(numbers, rows, names, columns, records)
        _add(frame, columns, records)


def read_parquet(path: Path, records: RasColumns, progress: Progress | None = None) -> None:
    """Add the records of a Parquet file with our columns."""
    check_sum(path)
    try:
        whole = pl.scan_parquet(readable(path), glob=False)
        names = tuple(whole.collect_schema().names())
        count = int(whole.select(pl.len()).collect().item())
    except (OSError, pl.exceptions.PolarsError) as error:
        said = (str(error).splitlines() or ["unknown"])[0]
        raise TraceError(path, f"not a Parquet file ({said})") from None
    columns = columns_of(names)
    if columns is None:
        check_columns(path, names, OURS[:4])
        raise TraceError(path, "not an event log")
    records.labels = columns.alert is not None
    for first in range(0, count, ROWS):
        part = whole.slice(first, ROWS).select(pl.col(columns.wanted).cast(pl.String)).collect()
        lines = pl.Series("line", np.arange(first + 1, first + 1 + len(part), dtype=np.int64))
        _add(part.with_columns(lines), columns, records)
        if progress is not None:
            progress(min(first + ROWS, count), count)


def _filled(first: int, lines: pl.Series) -> tuple[pl.Series, pl.Series]:
    numbers = pl.Series("line", np.arange(first, first + len(lines), dtype=np.int64))
    filled = lines.str.strip_chars() != ""
    return numbers.filter(filled), lines.filter(filled)


def _parsed(
    numbers: pl.Series,
    rows: pl.Series,
    names: tuple[str, ...],
    columns: Columns,
    records: RasColumns,
) -> pl.DataFrame:
    """Return the wanted columns of rows that have as many fields as the header."""
    # A quote within a field makes readers differ about where fields end: such rows are left out.
    sound = rows.str.contains(_SOUND)
    counts = rows.str.replace_all(_QUOTED, "").str.count_matches(",", literal=True) + 1
    good = sound & (counts == len(names))
    if not good.all():
        text, bad = "rows with a wrong number of fields", ~good
        what = f"has not {len(names)} fields, as the header has"
        records.refuse("malformed", text, numbers.filter(bad), rows.filter(bad), None, what)
        rows, numbers = rows.filter(good), numbers.filter(good)
    places = [f"c{k}" for k in range(len(names))]
    frame = csv_frame(
        "\n".join((",".join(places), *rows, "")).encode(),
        schema=dict.fromkeys(places, pl.String),
        columns=[names.index(name) for name in columns.wanted],
    )
    assert len(frame) == len(rows)
    fields = (
        pl.col(places[names.index(name)]).str.strip_chars().alias(name) for name in columns.wanted
    )
    return read_back(frame.select(fields)).with_columns(numbers)


def _add(frame: pl.DataFrame, columns: Columns, records: RasColumns) -> None:
    said = frame[columns.time].fill_null("")
    if records.count == 0 and len(frame):
        records.dated = columns.database or said.head(50).str.contains(_ISO).any()
    seconds = _times(said, columns, dated=records.dated)
    good = seconds.is_not_null()
    if not good.all():
        what = "is not a date and time" if records.dated else "is not a whole number of at least 0"
        records.refuse(
            "bad_time",
            "records with an unusable time",
            frame["line"].filter(~good),
            said.filter(~good),
            columns.time,
            what,
        )
        frame, seconds = frame.filter(good), seconds.drop_nulls()
    severity = pl.repeat(0, len(frame), dtype=pl.Int8, eager=True)
    if columns.severity is not None:
        severity = records.severities(frame[columns.severity], frame["line"])
    head = pl.repeat("", len(frame), dtype=pl.String, eager=True)
    if columns.kind:
        parts = [pl.col(name).fill_null("") for name in columns.kind]
        words = pl.concat_str(parts, separator=" ").str.replace_all("  +", " ").str.strip_chars()
        head = frame.select(words).to_series()
    gathered = {
        "line": frame["line"],
        "time": seconds,
        "place": frame[columns.place],
        "severity": severity,
        "head": head,
    }
    if columns.alert is not None:
        gathered["alert"] = frame[columns.alert].fill_null("").str.to_lowercase().is_in(list(_TRUE))
    if columns.message is not None:
        gathered["message"] = frame[columns.message]
    records.add(pl.DataFrame(gathered), masks=True)


def _times(said: pl.Series, columns: Columns, *, dated: bool) -> pl.Series:
    """Return seconds, null where the text is no time."""
    if not dated:
        real = said.cast(pl.Float64, strict=False)
        whole = real.is_finite() & (real == real.floor()) & (real >= 0) & (real < MAX_SECONDS)
        return real.set(~whole.fill_null(False), None).cast(pl.Int64)
    if not columns.database:
        said = said.str.replace(" ", "T", literal=True)
        short = said.str.len_bytes() == len("2005-06-03T15:42")
        said = said.zip_with(~short, said + ":00")
        return moments(said.str.slice(0, 19), "%Y-%m-%dT%H:%M:%S")
    # 2013-04-09 00:00:01.12, 2013-04-09;00:00:01 or, as DB2 writes, 2013-04-09-00.00.01.123456
    clock = said.str.slice(11, 8).str.replace_all(".", ":", literal=True)
    return moments(said.str.slice(0, 10) + "T" + clock, "%Y-%m-%dT%H:%M:%S")


def header_of(lines: Iterator[str] | tuple[str, ...]) -> Columns | None:
    """Return what the columns of the first filled line are, where it is a header."""
    first = next((line for line in lines if line.strip()), "")
    return columns_of(header_names(first)) if "," in first else None
