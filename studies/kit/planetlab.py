"""PlanetLab's slices: the CPU of virtual machines, days that lie weeks apart."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

import forestall as fs
from studies.kit.files import found_in
from studies.kit.means import Floats

PLANETLAB: Final = "planetlab-cpu"
SLICE_PERIOD: Final = 300
SLICE_DAYS: Final = 4
"""A sample, s; weekdays on which a slice must have been seen, all that most have."""

Slices = dict[str, list[tuple[int, Floats]]]


@lru_cache(maxsize=1)
def weekday_slices(data: Path) -> Slices:
    """Return the slices that were seen on enough weekdays, in order of their names: for each such
    day its midnight, Unix s, and the load, shares.

    Raises TraceError where there are none below `data`.
    """
    folder = found_in(data, PLANETLAB)
    rows: Slices = defaultdict(list)
    for path in sorted(folder.glob("planetlab_*.csv.gz")):
        midnight = int(
            datetime.strptime(path.name[10:18], "%Y%m%d").replace(tzinfo=UTC).timestamp()
        )
        if fs.hosts.weekend(np.array([midnight]))[0]:
            continue
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            next(lines, None)
            for name, *values in lines:
                rows[name].append((midnight, np.array(values, dtype=np.float64) / 100))
    often = {name: rows[name] for name in sorted(rows) if len(rows[name]) >= SLICE_DAYS}
    if not often:
        raise fs.errors.TraceError(folder, f"holds no slice that was seen on {SLICE_DAYS} weekdays")
    return often
