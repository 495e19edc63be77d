"""What is known of a queue: a few arrays of records, which all start as zeros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of, records
from forestall.site.learning.turnaround.kept import inside, taken

Array = npt.NDArray[Any]

WEEK: Final = 7 * 86_400
"""What a job without a requested time is taken to have requested, s."""
SIZES: Final = 160
"""Classes of sizes, four in each doubling: those up to 8 nodes have one each."""
ENDS: Final = 168
"""Classes of times until running jobs end, the same way: up to 2^41 s."""
SPELL: Final = 3600
"""The machine is taken to have as many nodes as were ever busy throughout so long, s: for moments,
records tell of more than there are."""
PLACED: Final = 150
"""Waiting jobs that are placed one by one, those that were submitted first; of the others only
their node-seconds count."""
PROFILE: Final = ENDS + PLACED + 4
"""Steps of the free nodes ahead, at most."""

BY_LIKE, BY_USER, BY_LIMIT = range(3)
"""How long a job is expected to run: as jobs like it did, as the user's jobs did, its limit."""
EXPECTATIONS: Final = 3

ABSENT, WAITS, RUNS = range(3)
"""States of a job."""

CLASSES: Final = ("user", "like", "part", "cell", "name")
"""Classes of a job: its user; the user's jobs of this size and limit; its partition; its size class
there; the user's jobs of this name. Row 0 of each is of jobs like which there was none."""

TOLD: Final = record_of("limit size user like part cell name")
"""What a job says of itself: s (0: none), nodes, and its classes."""

JOB: Final = np.dtype(
    [
        *record_of("limit size user like part cell name").descr,
        ("submit", np.int64),
        ("started", np.int64),  # its latest start
        ("state", np.int64),
        ("starts", np.int64),
        ("number", np.int64),  # of all jobs in order of submission
        ("before", np.int64),  # neighbours among the waiting jobs, 0 for none
        ("after", np.int64),
        ("place", np.int64),  # among the running ones
        ("expected", np.int64, (EXPECTATIONS,)),  # s
    ]
)
# Means are geometric, fading: of logarithms.
USER_SEEN: Final = record_of(
    "waiting running work submits submitted gap burst like starts wait mean_wait:f8"
    " runs turnaround run ratio:f8 mean_run:f8 slow_run:f8 mean_ratio:f8 used:f8"
)
"""work: node-seconds requested by jobs not done; submitted: when last; gap: s between the latest
two; burst: jobs since a pause; like: class of the last; used: fading share of limits, from 1/2."""
LIKE_SEEN: Final = record_of("waiting running started runs ended run mean_run:f8")
PART_SEEN: Final = record_of("waiting waiting_nodes running_nodes work starts mean_wait:f8")
CELL_SEEN: Final = record_of("starts started mean_wait:f8")
NAME_SEEN: Final = record_of("runs run")
QUEUE: Final = np.dtype(
    [
        *record_of("waiting running first last submits waiting_nodes").descr,
        ("work", np.int64, (EXPECTATIONS,)),  # node-seconds that wait
        ("busy", np.int64),  # nodes; the fewest in this spell, the most throughout an earlier one
        ("low", np.int64),
        ("most", np.int64),
        ("time", np.int64),  # of the latest event
        ("ends", np.int64, (EXPECTATIONS,)),  # sum over running nodes of when they should end
        ("starts", np.int64),
        ("wait", np.int64),
        ("mean_wait", np.float64),
        ("free", np.int64),  # slots
    ]
)


class QueueState(NamedTuple):
    """All of it; whole numbers are summed, so that no sum depends on its order.

    jobs : JOB[s], by slot; slot 0 is of the job that is asked about
    slots : int64[s], those that are free
    users, likes, parts, cells, names : the tables above
    queue : QUEUE[1]
    running : int64[s], slots
    sizes : int64[SIZES], waiting jobs by class of size
    ending : int64[EXPECTATIONS, ENDS, 2], nodes by class of when they end, and node-seconds until
        then
    time, free : int64[PROFILE], nodes free from then on, s from now
    """

    jobs: Array
    slots: Array
    users: Array
    likes: Array
    parts: Array
    cells: Array
    names: Array
    queue: Array
    running: Array
    sizes: Array
    ending: Array
    time: Array
    free: Array


TABLES: Final = {
    "users": USER_SEEN,
    "likes": LIKE_SEEN,
    "parts": PART_SEEN,
    "cells": CELL_SEEN,
    "names": NAME_SEEN,
}
"""The tables of classes, in the order of `CLASSES`."""


def new_queue(room: int, rows: tuple[int, int, int, int, int]) -> QueueState:
    """Return an empty queue with room for so many open jobs, and rows of each table of classes."""
    queue = records(1, QUEUE)
    queue["free"] = room
    users, likes, parts, cells, names = (
        records(count, kind) for count, kind in zip(rows, TABLES.values(), strict=True)
    )
    return QueueState(
        records(room + 1, JOB),
        np.arange(room, -1, -1, dtype=np.int64),
        users,
        likes,
        parts,
        cells,
        names,
        queue,
        np.zeros(room + 1, np.int64),
        np.zeros(SIZES, np.int64),
        np.zeros((EXPECTATIONS, ENDS, 2), np.int64),
        np.zeros(PROFILE, np.int64),
        np.zeros(PROFILE, np.int64),
    )


def grown(state: QueueState, room: int, rows: tuple[int, int, int, int, int]) -> QueueState:
    """Return the same with more room."""
    new = new_queue(room, rows)
    added = room + 1 - len(state.jobs)
    for name in ("jobs", *TABLES, "running", "sizes"):
        old = getattr(state, name)
        getattr(new, name)[: len(old)] = old
    # New slots lie under those that are free already: they are taken last.
    held = int(state.queue["free"][0])
    new.slots[added : added + held] = state.slots[:held]
    new.slots[:added] = np.arange(room, room - added, -1)
    new.queue[:] = state.queue
    new.queue["free"] += added
    return new


KEPT: Final = ("jobs", "slots", *TABLES, "queue", "running", "sizes")
"""What a queue is kept as; the rest is made anew whenever it is asked."""


def restored(arrays: Mapping[str, Array]) -> QueueState:
    """Return a queue from the arrays of one that was kept. Raises ValueError where they do not fit
    together."""
    jobs = taken(arrays, "jobs", JOB, (None,))
    count = len(jobs)
    tables = {name: taken(arrays, name, kind, (None,)) for name, kind in TABLES.items()}
    rows = [len(one) for one in tables.values()]
    users, likes, parts, cells, names = rows
    queue = taken(arrays, "queue", QUEUE, (1,))
    slots = taken(arrays, "slots", np.int64, (count,))
    running = taken(arrays, "running", np.int64, (count,))
    for column, bound in zip(CLASSES, rows, strict=True):
        inside(column, jobs[column], bound)
    for column in ("before", "after", "place"):
        inside(column, jobs[column], count)
    for name, places in (("slots", slots), ("running", running)):
        inside(name, places, count)
    for column in ("first", "last", "free", "running"):
        inside(column, queue[column], count)
    return new_queue(count - 1, (users, likes, parts, cells, names))._replace(
        jobs=jobs,
        slots=slots,
        queue=queue,
        running=running,
        sizes=taken(arrays, "sizes", np.int64, (SIZES,)),
        **tables,
    )
