"""What Slurm's controller says of this moment: ``squeue`` with priorities, and reservations."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from forestall._lazy import lazily
from forestall.adapters.slurm.times import moments_of
from forestall.model.site.hostlist import Hostlist
from forestall.model.site.job_records import NEVER
from forestall.model.site.present import PresentQueue, Reservation

with lazily():
    import polars as pl

_WORD: Final = re.compile(r"(\w+)=(\S*)")
_NONE: Final = ("(null)", "N/A", "")


def read_present(queue: str, reservations: str, asked: int) -> PresentQueue:
    """Return what `commands.queue` and `commands.reservations` printed when they were `asked`.

    Rows that are none of them are passed over: what is not known of a job is not used.
    """
    rows = [line.strip().split("|") for line in queue.splitlines()]
    rows = [row for row in rows if len(row) == 4 and row[0].isdigit() and row[1].isdigit()]
    return PresentQueue(
        asked=asked,
        job=np.array([row[0] for row in rows], np.int64),
        priority=np.array([row[1] for row in rows], np.int64),
        reason=tuple(row[3].strip() for row in rows),
        reservation=tuple("" if row[2] in _NONE else row[2] for row in rows),
        reservations=reservations_of(reservations),
    )


def reservations_of(text: str) -> tuple[Reservation, ...]:
    """Return the reservations of ``scontrol --oneliner show reservation``."""
    found = []
    for line in text.splitlines():
        told = dict(_WORD.findall(line))
        if "ReservationName" not in told or told.get("Nodes", "") in _NONE:
            continue
        times = moments_of(pl.Series([told.get("StartTime", ""), told.get("EndTime", "")]))
        start, end = times.first.tolist()
        if start < NEVER:
            names = tuple(Hostlist.parse(told["Nodes"]))
            flags = tuple(flag for flag in told.get("Flags", "").split(",") if flag)
            found.append(Reservation(told["ReservationName"], start, end, names, flags))
    return tuple(found)
