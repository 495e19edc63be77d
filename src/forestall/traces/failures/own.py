"""Our own failure log: CSV with ``time,node[,downtime][,kind][,detectability]``.

Every row is a failure. Times are whole seconds from the log's time 0, or ISO dates; nodes are
numbers from 0. A blank downtime or detectability is not known.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.model.errors import ParameterError
from forestall.model.units import MAX_SECONDS, parse_time
from forestall.traces.delimited import Int, Sheet, read_sheet
from forestall.traces.failures.raw import (
    MAX_NODES,
    Format,
    Head,
    Options,
    RawFailures,
    single_system,
)

REQUIRED = ("time", "node")
OPTIONAL = ("downtime", "kind", "detectability")


def looks_like(head: Head) -> bool:
    """Return whether the header starts with time and node, or has them among our columns only.

    A table of something else that has columns of these names as well must be named by `--format`.
    """
    names = head.columns
    ours = set(names) <= {*REQUIRED, *OPTIONAL}
    return set(names[:2]) == set(REQUIRED) or (ours and set(REQUIRED) <= set(names))


def read(path: Path, options: Options) -> RawFailures:
    """Read the log; rows with a bad field are left out and named."""
    single_system(options, "our own CSV")
    sheet = read_sheet(path, REQUIRED, OPTIONAL, strict=options.strict)
    calendar = _has_dates(sheet)
    time = _dates(sheet) if calendar else sheet.whole("time", low=0, below=MAX_SECONDS)
    node = sheet.whole("node", low=0, below=MAX_NODES)
    downtime = (
        sheet.whole("downtime", low=0, below=MAX_SECONDS, blank=-1)
        if sheet.has("downtime")
        else None
    )
    chance: npt.NDArray[np.float64] | None = None
    if sheet.has("detectability"):
        chance = sheet.real("detectability", low=0, high=1)
    keep = np.flatnonzero(sheet.keep)
    late = np.flatnonzero(np.diff(time[keep]) < 0) + 1
    text = "rows earlier than the row above them (sorted)"
    sheet.findings.note("unsorted", text, sheet.lines[keep][late])
    cleaning = sheet.findings.cleaning(len(keep), "failures")
    ignored = [name for name in sheet.names if name not in {*REQUIRED, *OPTIONAL}]
    kind = None
    if sheet.has("kind"):
        kind = sheet.frame["kind"].fill_null("")[keep].to_list()
    return RawFailures(
        time[keep],
        node[keep],
        int(node[keep].max()) + 1,
        downtime=None if downtime is None else downtime[keep],
        detectability=None if chance is None else chance[keep],
        kind=kind,
        repairs=False,
        calendar=calendar,
        cleaning=cleaning.plus(
            "ignored_columns", "columns that mean nothing here", "kept", ignored
        ),
    )


def _has_dates(sheet: Sheet) -> bool:
    """Return whether the first time is a date (a dash after its first sign, as no number has)."""
    first = next(iter(sheet.text("time")), "")
    return "-" in first[1:] and first[:4].isdigit()


def _dates(sheet: Sheet) -> Int:
    seconds = np.zeros(len(sheet), dtype=np.int64)
    bad = np.zeros(len(sheet), dtype=np.bool_)
    for row, text in enumerate(sheet.text("time")):
        try:
            seconds[row] = parse_time(text)
        except ParameterError:
            bad[row] = True
        else:
            bad[row] = text.lstrip("+-").isdigit()  # seconds among dates: which time 0?
    sheet.refuse("time", bad, "a date such as 2003-07-18T16:00, as in the first row")
    return seconds


FORMAT = Format("csv", "our own CSV: time,node[,downtime][,kind][,detectability]", looks_like, read)
