"""The front door: an event log of any known form, detected from the content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core.files.findings import Findings, shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.ras import RasLog, Severity
from forestall.core.model.units import MAX_SECONDS, SECONDS, parse_time
from forestall.logs.failures.raw import Options, single_system
from forestall.logs.jobs.swf_rows import is_swf
from forestall.logs.ras.kinds import Templates, check_templates, grouped
from forestall.logs.ras.layouts import LAYOUTS, WORDS, Layout
from forestall.logs.ras.lines import Progress, read_layout
from forestall.logs.ras.records import RasColumns
from forestall.logs.ras.tables import DATABASE_TEXT, OWN_TEXT, header_of, read_parquet, read_table

TABLES: Final = {"csv": OWN_TEXT, "bluegene-ras": DATABASE_TEXT}
FORMATS: Final = {**TABLES, **{layout.name: layout.text for layout in LAYOUTS}}
"""Names of the forms that can be read, each with what it is. Parquet is told by itself."""


@reader
def read_ras(
    path: str | Path,
    *,
    format: str | None = None,
    system: str | int | None = None,
    start: str | int | None = None,
    days: float | None = None,
    severity: str | Severity | None = None,
    templates: Templates = "masked",
    year: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> RasLog:
    """Read an event log of any format in `FORMATS`.

    Parameters
    ----------
    path : the file, compressed or not; it is read in chunks, and only numbers stay in memory
    format : name of the format (default: detected)
    system : which system; no known format holds several
    start : time 0, as a date such as ``2005-06-05`` or in the log's own seconds; without it the
        first record of a log with dates, the log's own 0 of one that counts seconds
    days : length of the window [start, start + days)
    severity : minimum severity of records to read; the places of all records stay known
    templates : ``masked``: a kind is facility and message without numbers, addresses and paths;
        ``drain``: those grouped by Drain (extra ``templates``); ``none``: messages are ignored
    year : of the first line of a log whose times have none; without it such a log has no dates
    strict : whether a line that must be left out is an error
    progress : called with (done, of how many)

    Times are the log's as they stand, cut to whole seconds; those with a zone become UTC. Raises
    TraceError if the file cannot be used or nothing lies in the window, ParameterError for a bad
    parameter, MissingExtraError without drain3.
    """
    place = Path(path)
    check_templates(templates)
    _check_year(year)
    least = None if severity is None else severity_of(severity)
    single_system(Options(None if system is None else str(system)), "an event log")
    records = RasColumns(Findings(path, strict), templates, None if least is None else int(least))
    if is_parquet(place):
        read_parquet(place, records, progress)
    else:
        how = _form(place, format)
        if isinstance(how, Layout):
            read_layout(place, how, records, year=year, progress=progress)
        else:
            read_table(place, records, progress)
    log = _sorted(records, path)
    if templates == "drain":
        log = with_kinds(log, grouped(log.kinds))
    return _window(log, start, days, dated=records.dated)


@reader
def ras_format(path: str | Path) -> str | None:
    """Return the name of a log's form, None where it is none that is known."""
    place = Path(path)
    if is_parquet(place):
        return "parquet"
    try:
        how = _form(place, None)
    except TraceError:
        return None
    return how.name if isinstance(how, Layout) else how


def with_kinds(log: RasLog, kinds: list[str]) -> RasLog:
    """Return the log with its kinds renamed; those of one name become one."""
    names = tuple(dict.fromkeys(kinds))
    number = {name: k for k, name in enumerate(names)}
    table = np.fromiter((number[kind] for kind in kinds), np.int32, len(kinds))
    return replace(log, kind=table[log.kind], kinds=names)


def severity_of(severity: str | Severity) -> Severity:
    """Return the severity that a word names. Raises ParameterError."""
    if isinstance(severity, Severity):
        return severity
    found = WORDS.get(severity.strip().upper())
    if found is None or not severity.strip():
        names = ", ".join(one.name for one in Severity)
        raise ParameterError("severity", severity, f"one of {names}")
    return found


def _check_year(year: int | None) -> None:
    if year is not None and not 1970 <= year < 3000:
        raise ParameterError("year", year, "a year from 1970 on")


def _form(path: Path, name: str | None) -> Layout | str:
    """Return the layout of a log, or the name of the table that it is."""
    if name is not None:
        if name in TABLES:
            return name
        for layout in LAYOUTS:
            if layout.name == name:
                return layout
        raise ParameterError("format", name, f"one of {', '.join(FORMATS)}")
    lines = head_lines(path)
    table = header_of(lines)
    if table is not None:
        return table.name
    if is_swf(lines):
        raise TraceError(path, "is a job log (SWF); expected an event log")
    counts = [layout.matches(lines) for layout in LAYOUTS]
    if max(counts) > 0:
        return LAYOUTS[counts.index(max(counts))]
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise TraceError(path, "is empty; expected an event log")
    expected = f"expected one of {', '.join(FORMATS)}"
    raise TraceError(path, f"not an event log: the file starts with {shown(first)}; {expected}")


def _sorted(records: RasColumns, path: str | Path) -> RasLog:
    """Return the records in order of time."""
    cleaning = records.cleaning()
    columns: list[Any] = records.columns()
    if records.disorder:
        order = np.argsort(columns[0], kind="stable")
        columns = [column[order] if len(column) else column for column in columns]
    time, place, severity, kind, alert = columns
    return RasLog(
        time,
        place,
        severity,
        kind,
        places=records.places.names(),
        kinds=records.kinds.names(),
        alert=alert if records.labels else None,
        source=str(path),
        cleaning=cleaning,
    )


def _window(log: RasLog, start: str | int | None, days: float | None, *, dated: bool) -> RasLog:
    """Return the records in [start, start + days), with time 0 at `start`."""
    length: int | None = None
    if days is not None:
        if not 0 < days * SECONDS["d"] < MAX_SECONDS:  # also refuses nan
            raise ParameterError("days", days, "a finite number above 0")
        length = max(1, round(days * SECONDS["d"]))
    if len(log) == 0:
        return replace(log, span=length or 0)
    zero = int(log.time[0]) if dated else 0
    if start is not None:
        zero = parse_time(str(start), "from")
    first = int(np.searchsorted(log.time, zero))
    last = len(log) if length is None else int(np.searchsorted(log.time, zero + length))
    if first >= last:
        words = (str(np.datetime64(int(t), "s")) if dated else f"{t} s" for t in log.time[[0, -1]])
        raise TraceError(
            log.source, f"no records in that window; it has them from {' to '.join(words)}"
        )
    part = log if (first, last) == (0, len(log)) else log.take(np.arange(first, last))
    time = part.time - zero
    begin = 0 if start is not None else int(time[0])
    return replace(
        part,
        time=time,
        span=int(time[-1]) - begin + 1 if length is None else length,
        origin=zero if dated else None,
    )
