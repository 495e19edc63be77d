"""LANL's release LA-UR-05-7318: failures of 23 systems, 1995 to 2005 (CFDR).

Schroeder and Gibson, "A large-scale study of failures in high-performance computing systems",
DSN 2006. Every record is a failure at its "Prob Started" (local time); the node is `nodenumz`, the
downtime the "Down Time" column (minutes; where blank, the time to "Prob Fixed"), the kind the
cause's column with its sub-cause. Exact duplicates are kept: nothing tells a repeated record from
two failures of one minute.

Times in service come from "node prod" and "node decom", months as text; see `service`. The log
begins with the first record of the file, of whatever system, and ends with the last (2005-09-09).
System 2's "5-Nov" lies after that end as November 2005; read as 5 November 2004 it is the very day
of the last failure of all 45 nodes concerned.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.delimited import Int, TextColumns, read_sheet
from forestall.core.files.findings import LineFinding, listed
from forestall.core.files.packed import head_text
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MAX_SECONDS
from forestall.logs.failures.raw import (
    MAX_NODES,
    FailureFormat,
    Head,
    Options,
    RawFailures,
    moments,
)
from forestall.logs.failures.service import stated_service

with lazily():
    import polars as pl

CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
PRODUCTION, RETIREMENT = "node prod", "node decom"
STARTED, FIXED = "Prob Started (mm/dd/yy hh:mm)", "Prob Fixed (mm/dd/yy hh:mm)"
REQUIRED = ("System", "nodes", "nodenumz", STARTED, FIXED, "Down Time", *CAUSES)
"""Columns of the release; the machine of system 17 is not described in it."""

OTHERS = (
    *("machine type", "procstot", "procsinnode", "nodenum", "node install", PRODUCTION),
    *(RETIREMENT, "fru type", "mem", "cputype", "memtype", "num intercon", "purpose"),
    "Same Event",
)
"""Read to tell exact repeats, two of them for the times in service."""

_PATTERN = "%m/%d/%Y %H:%M"


def looks_like(head: Head) -> bool:
    """Return whether the first or, under its title, the second line is the release's header."""
    return any(line.startswith("System,") and STARTED in line for line in head.lines[:2])


def read(path: Path, options: Options) -> RawFailures:
    """Read the records of one system; `system` may be left out where the file holds just one."""
    titles = 0 if _first_line(path).startswith("System,") else 1
    sheet = read_sheet(path, REQUIRED, OTHERS, strict=options.strict, titles=titles)
    log = _log(sheet)
    sheet = _system(sheet, options.system, path)
    time, dated = moments(sheet.text(STARTED), _PATTERN)
    sheet.refuse(STARTED, ~dated, "a date as mm/dd/yyyy hh:mm")
    minutes = sheet.whole("Down Time", low=0, below=MAX_SECONDS // 60, blank=-1)
    node = _nodes(sheet)
    minutes = _down(sheet, time, minutes)
    keep = np.flatnonzero(sheet.keep)
    machine = int(sheet.whole("nodes", below=MAX_NODES, blank=0)[keep].max(initial=0))
    beyond = keep[node[keep] >= machine] if machine else keep[:0]
    text = f"records of nodes beyond the {machine} stated for the system"
    sheet.findings.note("node_beyond_machine", text, sheet.lines[beyond])
    cleaning = sheet.findings.cleaning(len(keep), "failures")
    kind = _kinds(sheet)
    count = max(machine, int(node[keep].max()) + 1)
    stated = (_texts(sheet, PRODUCTION, keep), _texts(sheet, RETIREMENT, keep))
    return RawFailures(
        time[keep],
        node[keep],
        count,
        downtime=np.where(minutes < 0, -1, minutes * 60)[keep],
        kind=[kind[row] for row in keep.tolist()],
        cleaning=cleaning,
        aside=_unsorted(sheet.lines[keep], time[keep]),
        service=stated_service(*stated, time[keep], node[keep], (count, machine), log),
    )


def _unsorted(lines: Int, time: Int) -> Cleaning:
    """Return a remark on the records that are earlier than the one above them."""
    late = np.flatnonzero(np.diff(time) < 0) + 1
    text = "records earlier than the record above them (sorted)"
    return Cleaning().plus("unsorted", text, "changed", (f"line {line}" for line in lines[late]))


def _log(sheet: TextColumns) -> tuple[int, int]:
    """Return the first second of the file's records and the one past the last."""
    moments = sheet.frame[STARTED].str.to_datetime(_PATTERN, time_unit="ms", strict=False)
    first, last = (pl.Series([m]).dt.epoch("s")[0] for m in (moments.min(), moments.max()))
    return first or 0, (last or 0) + 1


def _texts(sheet: TextColumns, name: str, keep: Int) -> list[str]:
    if not sheet.has(name):
        return [""] * len(keep)
    column = sheet.text(name)
    return [column[row] for row in keep.tolist()]


def _first_line(path: Path) -> str:
    return head_text(path).lstrip().split("\n", 1)[0]


def _system(sheet: TextColumns, system: str | None, path: Path) -> TextColumns:
    column = sheet.frame["System"].fill_null("")
    systems = sorted(set(column.to_list()), key=lambda s: (len(s), s))
    if system is None and len(systems) > 1:
        raise ParameterError("system", None, f"one of the log's systems {listed(systems)}")
    if system is not None and system not in systems:
        raise ParameterError("system", system, f"one of the log's systems {listed(systems)}")
    return sheet if system is None else sheet.where((column == system).to_numpy())


def _nodes(sheet: TextColumns) -> Int:
    """Return the node numbers; a record that names no node is put on node 0, and noted."""
    node = sheet.whole("nodenumz", low=0, below=MAX_NODES, blank=-1)
    message = "is empty; expected a node number"
    found = (LineFinding(int(line), message, "nodenumz") for line in sheet.lines[node < 0])
    text = "records without a node (assigned to node 0)"
    sheet.findings.add("no_node", text, "changed", found)
    return np.maximum(node, 0)


def _down(sheet: TextColumns, time: Int, minutes: Int) -> Int:
    """Return the minutes down, those that are missing from when the problem was fixed, and note
    what is odd about the records."""
    fixed, dated = moments(sheet.text(FIXED), _PATTERN)
    told = dated & (minutes >= 0)
    filled = dated & (minutes < 0) & (fixed >= time)
    text = "records without a down time (taken from start to fix)"
    found = (LineFinding(int(n), "is empty", "Down Time") for n in sheet.lines[filled])
    sheet.findings.add("downtime_from_fix", text, "changed", found)
    never = (minutes < 0) & ~filled
    sheet.findings.note("no_downtime", "records without a down time", sheet.lines[never])
    text = "records whose down time is not the time from start to fix"
    sheet.findings.note(
        "downtime_differs", text, sheet.lines[told & (fixed - time != minutes * 60)]
    )
    repeated = sheet.repeated()
    sheet.findings.note("duplicate", "exact repeats of an earlier record", sheet.lines[repeated])
    causes = sum((sheet.frame[name].fill_null("") != "").to_numpy().astype(int) for name in CAUSES)
    sheet.findings.note("no_cause", "records without a cause", sheet.lines[causes == 0])
    return np.where(filled, (fixed - time) // 60, minutes)


def _kinds(sheet: TextColumns) -> list[str]:
    """Return ``Hardware: CPU`` and the like; "" where no cause is given."""
    kinds = [""] * len(sheet)
    for name in CAUSES:
        for row, text in enumerate(sheet.text(name)):
            if text:
                kinds[row] = f"{name}: {text}"
    return kinds


FORMAT = FailureFormat("lanl", "LANL's release of failures 1995 to 2005", looks_like, read)
