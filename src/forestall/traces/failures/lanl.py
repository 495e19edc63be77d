"""LANL's release LA-UR-05-7318: failures of 23 systems, 1995 to 2005 (CFDR).

Schroeder and Gibson, "A large-scale study of failures in high-performance computing systems",
DSN 2006. Every record is a failure at its "Prob Started" (local time); the node is `nodenumz`, the
downtime the "Down Time" column (minutes), the kind the cause's column with its sub-cause. Exact
duplicates are kept: nothing tells a repeated record from two failures of one minute.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.model.errors import ParameterError
from forestall.model.units import MAX_SECONDS
from forestall.traces.delimited import Int, Sheet, read_sheet
from forestall.traces.failures.raw import MAX_NODES, Format, Head, Options, RawFailures, moments
from forestall.traces.findings import Finding, listed
from forestall.traces.packed import read_head, text_of

CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
STARTED, FIXED = "Prob Started (mm/dd/yy hh:mm)", "Prob Fixed (mm/dd/yy hh:mm)"
REQUIRED = ("System", "nodes", "nodenumz", STARTED, FIXED, "Down Time", *CAUSES)
"""Columns of the release; the machine of system 17 is not described in it."""

OTHERS = (
    *("machine type", "procstot", "procsinnode", "nodenum", "node install", "node prod"),
    *("node decom", "fru type", "mem", "cputype", "memtype", "num intercon", "purpose"),
    "Same Event",
)
"""Read only to tell exact repeats."""

_PATTERN = "%m/%d/%Y %H:%M"


def looks_like(head: Head) -> bool:
    """Return whether the first or, under its title, the second line is the release's header."""
    return any(line.startswith("System,") and STARTED in line for line in head.lines[:2])


def read(path: Path, options: Options) -> RawFailures:
    """Read the records of one system; `system` may be left out where the file holds just one."""
    titles = 0 if _first_line(path).startswith("System,") else 1
    sheet = read_sheet(path, REQUIRED, OTHERS, strict=options.strict, titles=titles)
    sheet = _system(sheet, options.system, path)
    time, dated = moments(sheet.text(STARTED), _PATTERN)
    sheet.refuse(STARTED, ~dated, "a date as mm/dd/yyyy hh:mm")
    minutes = sheet.whole("Down Time", low=0, below=MAX_SECONDS // 60, blank=-1)
    node = _nodes(sheet)
    _note_oddities(sheet, time, minutes)
    keep = np.flatnonzero(sheet.keep)
    machine = int(sheet.whole("nodes", below=MAX_NODES, blank=0)[keep].max(initial=0))
    beyond = keep[node[keep] >= machine] if machine else keep[:0]
    text = f"records of nodes beyond the {machine} that the system is said to have"
    sheet.findings.note("node_beyond_machine", text, sheet.lines[beyond])
    cleaning = sheet.findings.cleaning(len(keep), "failures")
    kind = _kinds(sheet)
    return RawFailures(
        time[keep],
        node[keep],
        max(machine, int(node[keep].max()) + 1),
        downtime=np.where(minutes < 0, -1, minutes * 60)[keep],
        kind=[kind[row] for row in keep.tolist()],
        cleaning=cleaning,
    )


def _first_line(path: Path) -> str:
    text = text_of(read_head(path)).lstrip()
    return text.split("\n", 1)[0]


def _system(sheet: Sheet, system: str | None, path: Path) -> Sheet:
    column = sheet.frame["System"].fill_null("")
    systems = sorted(set(column.to_list()), key=lambda s: (len(s), s))
    if system is None and len(systems) > 1:
        raise ParameterError("system", None, f"one of the log's systems {listed(systems)}")
    if system is not None and system not in systems:
        raise ParameterError("system", system, f"one of the log's systems {listed(systems)}")
    return sheet if system is None else sheet.where((column == system).to_numpy())


def _nodes(sheet: Sheet) -> Int:
    """Return the node numbers; a record that names no node is put on node 0, and noted."""
    node = sheet.whole("nodenumz", low=0, below=MAX_NODES, blank=-1)
    message = "is empty; expected a node number"
    found = (Finding(int(line), message, "nodenumz") for line in sheet.lines[node < 0])
    text = "records without a node (put on node 0)"
    sheet.findings.add("no_node", text, "changed", found)
    return np.maximum(node, 0)


def _note_oddities(sheet: Sheet, time: Int, minutes: Int) -> None:
    fixed, dated = moments(sheet.text(FIXED), _PATTERN)
    told = dated & (minutes >= 0)
    sheet.findings.note("no_downtime", "records without a down time", sheet.lines[minutes < 0])
    text = "records whose down time is not the time from start to fix"
    sheet.findings.note(
        "downtime_differs", text, sheet.lines[told & (fixed - time != minutes * 60)]
    )
    repeated = sheet.repeated()
    sheet.findings.note("duplicate", "exact repeats of an earlier record", sheet.lines[repeated])
    causes = sum((sheet.frame[name].fill_null("") != "").to_numpy().astype(int) for name in CAUSES)
    sheet.findings.note("no_cause", "records without a cause", sheet.lines[causes == 0])


def _kinds(sheet: Sheet) -> list[str]:
    """Return ``Hardware: CPU`` and the like; "" where no cause is given."""
    kinds = [""] * len(sheet)
    for name in CAUSES:
        for row, text in enumerate(sheet.text(name)):
            if text:
                kinds[row] = f"{name}: {text}"
    return kinds


FORMAT = Format("lanl", "LANL's release of failures 1995 to 2005", looks_like, read)
