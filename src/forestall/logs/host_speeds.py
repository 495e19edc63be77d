"""Clock rate ratios of hosts: a CSV ``host,speed``, by names or numbers.

1 is a host on which a job takes its run time; on one of 2 it takes half of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.files.delimited import read_sheet
from forestall.core.files.findings import listed, shown
from forestall.core.files.guard import reader
from forestall.core.model.errors import TraceError

with lazily():
    import polars as pl

COLUMNS: Final = ("host", "speed")
LEAST, MOST = 0.001, 1000.0
"""Speeds beyond these are mistakes."""


@dataclass(frozen=True)
class Speeds:
    """Speeds by the names of hosts, and the file that they are from."""

    by_name: Mapping[str, float]
    source: str = "speeds"


@reader
def read_speeds(path: str | Path) -> Speeds:
    """Read a CSV ``host,speed``, packed or not; TraceError for the first row that cannot be."""
    sheet = read_sheet(path, COLUMNS, strict=True)
    speed = sheet.real("speed", low=LEAST, high=MOST)
    blank = [name == "" for name in sheet.text("host")]
    sheet.refuse("host", np.array(blank, dtype=np.bool_), "a host's name or number")
    sheet.refuse("speed", np.isnan(speed) & sheet.keep, f"a number from {LEAST:g} to {MOST:g}")
    sheet.findings.cleaning(len(sheet), "speeds")
    found: dict[str, float] = {}
    for name, value, line in zip(
        sheet.text("host"), speed.tolist(), sheet.lines.tolist(), strict=True
    ):
        if name in found:
            raise TraceError(path, f"{shown(name)} has a speed already", line=line, field="host")
        found[name] = value
    return Speeds(found, str(path))


def speed_array(speeds: Speeds | None, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return float64[hosts], the speeds of these hosts, 1 where none is told; TraceError for a
    speed of a host that is not there."""
    if speeds is None:
        return np.ones(len(names))
    known = frozenset(names)
    strange = [name for name in speeds.by_name if name not in known]
    if strange:
        there = listed([shown(name) for name in names], 5)
        which = listed([shown(name) for name in strange], 3)
        message = f"gives a speed for {which}; the hosts are {there}"
        raise TraceError(speeds.source, message, field="host")
    return np.array([speeds.by_name.get(name, 1.0) for name in names])


def write_speeds(names: Sequence[str], speed: npt.NDArray[np.float64], path: str | Path) -> None:
    """Write a CSV ``host,speed``; it appears whole or not at all."""
    table = pl.DataFrame({"host": list(names), "speed": speed})
    with atomic_path(path) as beside:
        harmless(table).write_csv(beside)
