"""What the kernels of futures read and write: the snapshot, one future's work, and its passes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Ints
from forestall.prediction.models.foreseen_kernels import FAR

RAW, FIRST, RELEASES, EVENTS, POINTS, SEGMENTS, EDGE, READY, RUNNING, FAILED = range(10)
"""Places in `Work.at`: free nodes (below 0 where a drain takes more than is free), first position
that may wait, planned releases, events in the heap, check points, segments of the profile, next
edge of a drain, next job to become ready, running jobs, and failures drawn so far."""
RELEASED, EDGED, PENDING = range(10, 13)
"""Further ones, of the profile as far as it is written: releases and edges that it holds, and
reservations that end beyond it."""

CLASSES: Final = 24
"""Size classes; the last holds all that is larger."""
SHIFT: Final = 6
"""Blocks of 64 positions or passes."""
REPAIR: Final = np.int64(-1)
"""In the place of a job: the repair of a node."""
JOB_BITS: Final = 24
JOB_MASK: Final = (1 << JOB_BITS) - 1
LATEST: Final = np.int64(2**38)
"""No release is planned later."""
PASS_DATA: Final = 16
"""Passes for which room is kept beside those of starts, ends and drains."""


class Board(NamedTuple):
    """The same for all futures; columns are jobs in order of priority, then arrivals.

    size, limit : int64[n], nodes and seconds that a planner counts with
    klass : int64[n], size classes
    ready : int64[n], when a job can first start
    start : int64[n], of jobs that run in the snapshot, FAR of others
    by_ready : int64[n], columns in order of (ready, column)
    edge_time, edge_take : int64[e], when drains begin and end, in order of time, and how many nodes
        they take (negative: give back)
    rule : int64[4], jobs that get a reservation, jobs that are looked at in a pass, whether the
        limit ends a job, whether passes are kept
    failures : float64[4], failures per node-second, seconds of a repair, time that the failures are
        drawn from, and the seed
    array : int64[n], arrays of which only so many tasks run at once; -1 for other jobs
    at_once : int64[a], how many
    member, first_member : int64[m], the columns of each of these arrays in order, and int64[a + 1],
        where those of each begin
    """

    size: Ints
    klass: Ints
    limit: Ints
    ready: Ints
    start: Ints
    by_ready: Ints
    edge_time: Ints
    edge_take: Ints
    rule: Ints
    failures: npt.NDArray[np.float64]
    array: Ints
    at_once: Ints
    member: Ints
    first_member: Ints


RESERVED, TESTED, KILLED, KEPT = range(4)
HAZARD, REPAIRED, ORIGIN, SEED = range(4)


class Played(NamedTuple):
    """K futures: draws and what came of them.

    run : float32[K, n], seconds that a job runs
    start, end : int64[K, n]; FAR where never
    restarts : int32[K, n], how often a failure sent a job back
    since : int64[K], play from here on; what lies before is kept; FAR: leave all as it is
    """

    run: npt.NDArray[np.float32]
    start: Ints
    end: Ints
    restarts: npt.NDArray[np.int32]
    since: Ints


class Passes(NamedTuple):
    """What the last in order could have had after each pass of each future.

    number : int64[K], passes kept
    time : int64[K, p]; free : int32[K, p], nodes left
    peak : int64[K, p / 64, 3], of each block the most nodes left, the most of them that one can
        keep past `later`, and the longest time to there
    later : int64[K, p, c], times before which a job must end that takes more than `room`,
        int32[K, p, c]; FAR where there are none
    """

    number: Ints
    time: Ints
    free: npt.NDArray[np.int32]
    peak: Ints
    later: Ints
    room: npt.NDArray[np.int32]


class Work(NamedTuple):
    """Room for one future at a time.

    queue_size, queue_length : int64[n] by column, FAR where a job does not wait
    block_count : int64[n / 64], jobs that wait of each block
    cells, great_cells : int64[n / 64, CLASSES] and int64[n / 4096, CLASSES], the shortest limit of
        those that wait by size class, the power of two that is no larger; FAR where there are none
    releases : planned releases in order of (time, job), a number each
    event_time, event_job : a heap of real ends and repairs
    point_time, point_free : check points, see `plan_kernels`
    segment_time, segment_free : the profile of free nodes by limits
    pending_time, pending_size : ends of reservations beyond it, the next one last
    array_used, array_next : int64[a], tasks of an array that run or wait to, and the first place in
        `Board.member` of one that may have to be let in
    """

    at: Ints
    queue_size: Ints
    queue_length: Ints
    block_count: Ints
    cells: Ints
    great_cells: Ints
    releases: Ints
    event_time: Ints
    event_job: Ints
    point_time: Ints
    point_free: Ints
    segment_time: Ints
    segment_free: Ints
    pending_time: Ints
    pending_size: Ints
    array_used: Ints
    array_next: Ints


def size_class(size: Ints) -> Ints:
    """Return the size class of each number of nodes: 0 for 1, 1 for 2 and 3, 2 for 4 to 7, ..."""
    power = np.frexp(size.astype(np.float64))[1].astype(np.int64) - 1
    return np.asarray(np.clip(power, 0, CLASSES - 1))


def work_of(jobs: int, edges: int, repairs: int = 0, arrays: int = 0) -> Work:
    """Return room for one future of so many jobs, edges of drains and limited arrays; `repairs` at
    a time."""
    blocks = (jobs >> SHIFT) + 1
    great = (blocks >> SHIFT) + 1
    running = jobs + repairs + 1
    segments = running + 2 * jobs + edges + 4
    events, points = [running] * 2, [edges + 2] * 2
    lengths = (16, jobs, jobs, blocks, (blocks, CLASSES), (great, CLASSES), running, *events)
    shapes = (*lengths, *points, segments, segments, jobs + 1, jobs + 1, arrays, arrays)
    return Work(*(np.full(shape, FAR, np.int64) for shape in shapes))


def passes_of(futures: int, jobs: int, edges: int, *, kept: bool) -> Passes:
    """Return room for the passes of futures; of none where they are not `kept`."""
    most = 2 * jobs + edges + PASS_DATA if kept else 1
    later = 1 + edges
    return Passes(
        number=np.zeros(futures, np.int64),
        time=np.empty((futures, most), np.int64),
        free=np.empty((futures, most), np.int32),
        peak=np.empty((futures, (most >> SHIFT) + 1, 3), np.int64),
        later=np.empty((futures, most, later), np.int64),
        room=np.empty((futures, most, later), np.int32),
    )
