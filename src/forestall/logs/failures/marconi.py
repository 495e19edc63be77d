"""Restarts of Marconi100's nodes, from a table of one row for each node and day.

Borghesi et al., "M100 ExaData: a data collection campaign on the CINECA's Marconi100 Tier-0
supercomputer", Scientific Data 10, 2023. A failure is a restart: a boot time (`boot_max`) that
differs from the one that the node last reported, at that boot time (UTC). Why a node restarted is
not told: maintenance is among them, and days on which the whole machine restarted. Nodes are the
node numbers of the table in ascending order, those without restarts included, each in service from
its first day in the table to the end of its last.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.delimited import read_sheet
from forestall.core.model.units import EARLIEST, LATEST, SECONDS
from forestall.logs.failures.raw import (
    FailureFormat,
    Head,
    Options,
    RawFailures,
    Service,
    single_system,
)

with lazily():
    import polars as pl

REQUIRED = ("node", "day", "boot_max")
NEVER = -1


def looks_like(head: Head) -> bool:
    """Return whether the header has nodes, days and boot times."""
    return set(REQUIRED) <= set(head.columns)


def read(path: Path, options: Options) -> RawFailures:
    """Read the restarts; the rows may stand in any order."""
    single_system(options, "Marconi100's node table")
    sheet = read_sheet(path, REQUIRED, strict=options.strict)
    node = sheet.whole("node", low=0)
    boot = sheet.whole("boot_max", low=0, below=LATEST, blank=NEVER)
    day = sheet.frame["day"].str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32)
    sheet.refuse(
        "day",
        ~day.is_between(EARLIEST // 86_400, LATEST // 86_400).fill_null(False).to_numpy(),
        "a date such as 2020-05-15",
    )
    keep = np.flatnonzero(sheet.keep)
    numbers = np.unique(node[keep])
    cleaning = sheet.findings.cleaning(len(keep), "node days")
    told = keep[boot[keep] != NEVER]
    days = day.fill_null(0).to_numpy()
    order = told[np.lexsort((days[told], node[told]))]
    changed = np.zeros(len(order), dtype=np.bool_)
    same_node = node[order][1:] == node[order][:-1]
    changed[1:] = same_node & (boot[order][1:] != boot[order][:-1])
    back = np.zeros(len(order), dtype=np.bool_)
    back[1:] = same_node & (boot[order][1:] < boot[order][:-1])
    text = "restarts earlier than the one before"
    lines = (f"line {line}" for line in sheet.lines[order[back]])
    restart = order[changed]
    place = np.searchsorted(numbers, node).astype(np.int64)
    rows, begin = np.concatenate([keep, restart]), days.astype(np.int64) * SECONDS["d"]
    starts = np.concatenate([begin[keep], boot[restart]])
    ends = np.concatenate([begin[keep] + SECONDS["d"], boot[restart] + 1])
    return RawFailures(
        boot[restart],
        place[restart],
        len(numbers),
        names=tuple(str(number) for number in numbers),
        cleaning=cleaning.plus("boot_goes_back", text, "kept", lines),
        service=Service.seen(place[rows], starts, ends, len(numbers)),
    )


FORMAT = FailureFormat("m100", "Marconi100's node days: restarts", looks_like, read)
