"""Times that are wrong by an hour, since a clock was set: found by what must hold.

In the hour that a clock repeats, and in dates without a zone, a job can seem to start before it was
submitted. Slurm gives ids in the order of submission, and no job starts before its own.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.job_records import NEVER

HOUR: Final = 3600
_TICKS: Final = 60
"""Seconds by which a start may lie before the submission without a clock having been set."""


def settle_by_ids(job: Ints, submit: Ints, places: Ints, shift: Ints) -> None:
    """Take the later reading of an ambiguous submission where the job with the id before it was
    submitted later than the earlier one; changes `submit`.

    Parameters
    ----------
    job, submit : int64[n]
    places, shift : rows whose submission may be so many seconds later
    """
    if not len(places):
        return
    order = np.argsort(job, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    for place, later in sorted(zip(places.tolist(), shift.tolist(), strict=True),
                               key=lambda one: rank[one[0]]):  # fmt: skip
        before = int(rank[place]) - 1
        last = int(submit[order[before]]) if before >= 0 else -1
        if submit[place] < last <= submit[place] + later:
            submit[place] += later


def moved_back(submit: Ints, eligible: Ints, start: Ints, local: Bools) -> npt.NDArray[np.int64]:
    """Move submissions back by an hour that lie up to an hour after the start, where dates have no
    zone, and what became eligible after its start likewise; return the rows of which a time was
    moved. Changes `submit` and `eligible`.

    The start stays as it is: it fits the end, and what others did on its nodes.
    """
    started = np.where(start < NEVER, start, 0)
    moved = np.zeros(len(start), dtype=np.bool_)
    for times in (submit, eligible):
        ahead = times - started
        wrong = local & (start < NEVER) & (times < NEVER) & (ahead > _TICKS) & (ahead <= HOUR)
        times[wrong] -= HOUR
        moved |= wrong
    return np.flatnonzero(moved)
