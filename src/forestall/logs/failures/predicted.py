"""The column `predicted` of our own failure log: when each failure was predicted to come."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.delimited import Int, TextColumns
from forestall.core.files.findings import Findings
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MAX_SECONDS, parse_time
from forestall.core.model.virtual import FAR

with lazily():
    import polars as pl


NAME: Final = "predicted"
WHOLE: Final = "a whole number, as the times are, or nothing"
DATE: Final = "a date such as 2003-07-18T16:00, as the times are, or nothing"
TEXT: Final = "rows with an unusable predicted time (taken as not foreseen)"


def predicted_times(sheet: TextColumns, *, dates: bool) -> Int:
    """Return the column, int64[n], s in the log's own count; `FAR` where blank or unusable.

    Unusable fields of rows that are still kept are noted; the rows stay, for the failures happened.
    A time after the failure is one that came too late, and one before the log's time 0 can be: a
    window may begin between prediction and failure.
    """
    seconds, bad = _dates(sheet) if dates else _numbers(sheet)
    column, expected = sheet.frame[NAME], DATE if dates else WHOLE
    unusable = bad & sheet.keep
    sheet.findings.fields(column, sheet.lines, unusable, expected, text=TEXT, action="changed")
    return np.where(bad, FAR, seconds)


def moved(predicted: Int, seconds: int) -> Int:
    """Return the times on a clock that shows `seconds` more; what was not foreseen stays so."""
    return np.where(predicted >= FAR, FAR, predicted + seconds)


def blanked(predicted: Int) -> pl.Series:
    """Return the times as a column of a table, null where a failure was not foreseen."""
    column = pl.Series(predicted)
    return column.set(column >= FAR, None)


def _numbers(sheet: TextColumns) -> tuple[Int, np.ndarray]:
    """Return the seconds, and which fields are bad, read as those of `time` are."""
    aside = TextColumns(sheet.frame, sheet.lines, sheet.names, Findings(""))
    seconds = aside.whole(NAME, low=1 - MAX_SECONDS, below=MAX_SECONDS, blank=FAR)
    return seconds, ~aside.keep


def _dates(sheet: TextColumns) -> tuple[Int, np.ndarray]:
    seconds = np.full(len(sheet), FAR, dtype=np.int64)
    bad = np.zeros(len(sheet), dtype=np.bool_)
    for row, text in enumerate(sheet.text(NAME)):
        if not text:
            continue
        try:
            seconds[row] = parse_time(text)
        except ParameterError:
            bad[row] = True
        else:  # seconds among dates: which time 0?
            bad[row] = text.lstrip("+-").isdigit() or abs(int(seconds[row])) >= MAX_SECONDS
    return seconds, bad
