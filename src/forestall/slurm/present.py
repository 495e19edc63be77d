"""What Slurm's controller says of this moment: ``squeue`` with priorities, and reservations."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Ints
from forestall.core.model.hostlist import Hostlist
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.present import PresentQueue, Reservation
from forestall.slurm.records.task_lists import JobId
from forestall.slurm.times import moments_of

with lazily():
    import polars as pl

_WORD: Final = re.compile(r"(\w+)=(\S*)")
_NONE: Final = ("(null)", "N/A", "")


def read_present(queue: str, reservations: str, asked: int) -> PresentQueue:
    """Return what `commands.queue` and `commands.reservations` printed when they were `asked`.

    Rows that are none of them are passed over: what is not known of a job is not used.
    """
    rows = [line.strip().split("|") for line in queue.splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[0].isdigit() and row[1].isdigit()]
    return PresentQueue(
        asked=asked,
        job=np.array([row[0] for row in rows], np.int64),
        tasks=np.array([_tasks(row[3]) for row in rows], np.int64),
        priority=np.array([row[1] for row in rows], np.int64),
        reason=tuple(row[4].strip() for row in rows),
        reservation=tuple("" if row[2] in _NONE else row[2] for row in rows),
        reservations=reservations_of(reservations),
    )


def arrays_at_limit(present: PresentQueue) -> Ints:
    """Return the arrays that run as many tasks as they may: those that wait then are not among the
    jobs that sacct shows of a time."""
    return present.job[np.array([why == "JobArrayTaskLimit" for why in present.reason], np.bool_)]


def _tasks(job: str) -> int:
    """Return how many jobs an id as users see it stands for."""
    named = JobId.parse(job)
    return 1 if named is None or named.tasks is None else max(len(named.tasks), 1)


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
