"""Alarms that a predictor raised: CSV with ``time,node[,score][,until]``.

Every row is an alarm. Times are whole seconds on the failure log's clock, or ISO dates; nodes are
numbers or names as in the failure log, blank, ``*`` or ``all`` for the whole machine. An alarm
speaks of the time up to `until`, or, where that is blank, of the horizon at which it is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.delimited import Int, TextColumns, read_sheet
from forestall.core.files.guard import reader
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import MAX_SECONDS, parse_time
from forestall.logs.failures.raw import MAX_NODES

with lazily():
    import polars as pl

REQUIRED: Final = ("time", "node")
OPTIONAL: Final = ("score", "until")
WHOLE: Final = -1
MACHINE: Final = ("", "*", "all", "ALL")
"""How a file says that an alarm is about the whole machine."""


@dataclass(frozen=True)
class Alarms:
    """Alarms in order of (time, node).

    Attributes
    ----------
    time : int64[n], s, on the failure log's clock
    node : int64[n], node number, -1: the whole machine
    score : float64[n], nan where blank; None where the file has none
    until : int64[n], s, -1 where blank; None where the file has none
    source, cleaning : where they came from; what was left out or odd
    others : names of nodes that the failure log lacks; their numbers follow its own
    """

    time: Int
    node: Int
    score: npt.NDArray[np.float64] | None = None
    until: Int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)
    others: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.time)


@reader
def read_alarms(
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    origin: int | None = None,
    strict: bool = False,
) -> Alarms:
    """Read alarms.

    Parameters
    ----------
    path : the file; it may be packed (.gz, .xz, .zst)
    names : names of the nodes by number, where the failure log has names; a node with another name
        is one that never failed, and gets the next number
    origin : Unix seconds of the failure log's time 0, where it has dates: then dates are read
    strict : whether a row that must be left out is an error

    Raises TraceError if the file cannot be used. A file with no row but its header is a
    predictor that never raised an alarm.
    """
    sheet = read_sheet(path, REQUIRED, OPTIONAL, strict=strict)
    time = _times(sheet, "time", origin)
    until = _times(sheet, "until", origin, blank=True) if sheet.has("until") else None
    node, others = _nodes(sheet, names)
    score = sheet.real("score", low=-np.inf, high=np.inf) if sheet.has("score") else None
    if until is not None:
        known = until != WHOLE
        sheet.refuse("until", known & (until < time), "a time not before the alarm's")
    keep = np.flatnonzero(sheet.keep)
    keep = keep[np.lexsort((node[keep], time[keep]))]
    cleaning = Cleaning()
    if len(sheet):
        cleaning = sheet.findings.cleaning(len(keep), "alarms")
    text = "nodes that the failure log does not name"
    cleaning = cleaning.plus("unknown_node", text, "kept", others)
    ignored = [name for name in sheet.names if name not in {*REQUIRED, *OPTIONAL}]
    return Alarms(
        time[keep],
        node[keep],
        None if score is None else score[keep],
        None if until is None else until[keep],
        str(path),
        cleaning.plus("ignored_columns", "unknown columns (ignored)", "kept", ignored),
        others,
    )


def _times(sheet: TextColumns, name: str, origin: int | None, *, blank: bool = False) -> Int:
    """Return a column of times; the first filled field says whether it holds dates."""
    first = next((text for text in sheet.text(name) if text), "")
    if "-" not in first[1:] or not first[:4].isdigit():
        low = -MAX_SECONDS if name == "time" else 0
        return sheet.whole(name, low=low, below=MAX_SECONDS, blank=WHOLE if blank else None)
    if origin is None:
        said = "is a date, but the failure log has none; expected seconds on its clock"
        line = int(sheet.lines[0]) if len(sheet) else None
        raise TraceError(sheet.findings.source, said, line=line, field=name)
    return _dates(sheet, name, blank=blank, origin=origin)


def _dates(sheet: TextColumns, name: str, *, blank: bool, origin: int) -> Int:
    """Return a column of dates as seconds since the log's time 0, -1 where blank."""
    seconds = np.full(len(sheet), WHOLE, dtype=np.int64)
    bad = np.zeros(len(sheet), dtype=np.bool_)
    known: dict[str, int | None] = {}
    for row, text in enumerate(sheet.text(name)):
        if not text:
            bad[row] = not blank
            continue
        if text not in known:
            try:
                known[text] = None if text.lstrip("+-").isdigit() else parse_time(text) - origin
            except ParameterError:
                known[text] = None
        value = known[text]
        bad[row] = value is None
        seconds[row] = WHOLE if value is None else value
    sheet.refuse(name, bad, "a date such as 2003-07-18T16:00, as in the first row")
    return seconds


def _nodes(sheet: TextColumns, names: Sequence[str] | None) -> tuple[Int, tuple[str, ...]]:
    """Return node numbers of a column of numbers or names, and the names that the log lacks."""
    column = sheet.frame["node"].fill_null("")
    machine = column.is_in(list(MACHINE)).to_numpy()
    number = column.cast(pl.Int64, strict=False).fill_null(WHOLE).to_numpy().astype(np.int64)
    good = (number >= 0) & (number < MAX_NODES)
    others: tuple[str, ...] = ()
    if names is not None:
        known = {name: place for place, name in reversed(list(enumerate(names)))}
        good &= number < len(names)
        strange = column.filter(pl.Series(~good & ~machine)).unique(maintain_order=True).to_list()
        others = tuple(name for name in strange if name not in known)
        known |= {name: len(names) + place for place, name in enumerate(others)}
        named = column.replace_strict(
            list(known), list(known.values()), default=WHOLE, return_dtype=pl.Int64
        ).to_numpy()
        number, good = np.where(named >= 0, named, number), good | (named >= 0)
    sheet.refuse("node", ~(good | machine), "a node number, or blank or * for the whole machine")
    return np.where(machine | ~good, WHOLE, number), others
