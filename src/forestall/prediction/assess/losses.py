"""Node- and GPU-time that came to nothing, by cause, and capacity that no job was given.

What a stopped run loses depends on its checkpoints, of which accounting knows nothing. Two bounds
are told: all of the run (no checkpoints), and what lies on average after the last of checkpoints
that come every so often. All sums are whole seconds and exact: what was completed, what is still
running, what was lost and what is not told add up to all node-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.errors import ParameterError
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.node_events import NATURES, NodeEvents
from forestall.slurm.records.run_ends import CAUSES, CHUNK, LOST, Ends, cause

Short = npt.NDArray[np.int32]

DAY: Final = 86_400
CONTINUED_WITHIN: Final = DAY
"""A like job that is ready within so many seconds of a timeout looks like its continuation."""
LARGEST_TABLE: Final = 2**22
"""Pairs of codes are looked up in a table of so many at most, else by search."""
_EXACT: Final = 2**53
"""Whole numbers below this are exact as float64."""


@dataclass(frozen=True)
class CauseSum:
    """What runs of one cause took.

    Attributes
    ----------
    cause : one of `run_ends.CAUSES`
    runs : number of runs
    node_seconds, gpu_seconds : of whole runs
    node_seconds_after, gpu_seconds_after : of their parts after the last checkpoint
    """

    cause: str
    runs: int
    node_seconds: int
    node_seconds_after: int
    gpu_seconds: int
    gpu_seconds_after: int


@dataclass(frozen=True)
class Continued:
    """Runs that reached their limit, and how many look continued by a later one.

    Attributes
    ----------
    runs, node_seconds : of all runs that reached their limit
    looked_at : runs of which user, name and partition are told
    continued, node_seconds_continued : of those after which the same job ran again, or a job of the
        same user, name and partition was ready within a day
    """

    runs: int
    node_seconds: int
    looked_at: int
    continued: int
    node_seconds_continued: int


@dataclass(frozen=True)
class Losses:
    """Where the node-seconds of all runs went.

    Attributes
    ----------
    rows : one for each of `run_ends.CAUSES`, in order
    interval : s between checkpoints that the lower bound takes for granted
    runs : that started
    nodes_untold : runs that started on nobody knows how many nodes: they count 0
    gpus_told : runs that started of which the number of GPUs is told
    gpu_runs : runs that started with GPUs
    continued : of runs that reached their limit
    """

    rows: tuple[CauseSum, ...]
    interval: int
    runs: int
    nodes_untold: int
    gpus_told: int
    gpu_runs: int
    continued: Continued

    def of(self, name: str) -> CauseSum:
        """Return the sums of one cause."""
        return self.rows[cause(name)]

    def over(self, names: tuple[str, ...] = CAUSES) -> CauseSum:
        """Return the sums over several causes."""
        rows = [self.of(name) for name in names]
        return CauseSum(
            "",
            sum(row.runs for row in rows),
            sum(row.node_seconds for row in rows),
            sum(row.node_seconds_after for row in rows),
            sum(row.gpu_seconds for row in rows),
            sum(row.gpu_seconds_after for row in rows),
        )

    @property
    def lost(self) -> CauseSum:
        """The sums over all causes that take work away."""
        return self.over(LOST)

    @property
    def ends_told(self) -> bool:
        """Whether any run's end is told."""
        return self.of("unknown_end").runs < self.runs


def after_checkpoint(seconds: Ints, interval: int) -> Ints:
    """Return what runs of so many seconds lose when they are stopped, s, int64[n].

    A run that is shorter than `interval` has no checkpoint and loses all. A longer one loses half
    an interval (rounded down), the mean where it can be stopped at any moment between two.
    Raises ParameterError for an interval below 1 s.
    """
    _check(interval)
    return np.where(seconds < interval, seconds, interval // 2)


def _check(interval: int) -> None:
    if interval < 1:
        raise ParameterError("checkpoint_interval", interval, "at least 1 s")


def exact_sums(code: npt.NDArray[np.integer], value: Ints, count: int) -> Ints:
    """Return the sums of whole numbers >= 0 by code, exact, int64[count]."""
    if not len(value):
        return np.zeros(count, dtype=np.int64)
    most = int(value.max())
    if most < _EXACT // len(value):
        return np.bincount(code, weights=value, minlength=count).astype(np.int64)
    low = np.bincount(code, weights=value & 0xFFFFFF, minlength=count).astype(np.int64)
    return low + (exact_sums(code, value >> 24, count) << 24)


def losses(records: Accounting, interval: int, ends: Ends | None = None) -> Losses:
    """Return what was lost, by cause.

    Parameters
    ----------
    interval : s between checkpoints that the lower bound takes for granted, at least 1
    ends : how these runs ended, where that is known already

    Raises ParameterError for an interval below 1 s.
    """
    _check(interval)
    found = Ends.of(records) if ends is None else ends
    why, count = found.causes, len(CAUSES)
    # Rows: node-seconds of whole runs and after the last checkpoint, and GPU-seconds likewise.
    sums = np.zeros((4, count), dtype=np.int64)
    for low in range(0, len(records), CHUNK):
        rows = slice(low, low + CHUNK)
        seconds = found.elapsed[rows]
        after = after_checkpoint(seconds, interval)
        for place, width in enumerate((records.nodes[rows], records.gpus[rows])):
            if width.max(initial=0) <= 0:
                continue
            wide = np.maximum(width, 0).astype(np.int64)
            sums[2 * place] += exact_sums(why[rows], wide * seconds, count)
            sums[2 * place + 1] += exact_sums(why[rows], wide * after, count)
    runs = np.bincount(why, minlength=count)
    # What was kept loses nothing; what is not told is not told either way.
    sums[1::2, np.isin(CAUSES, LOST, invert=True)] = 0
    table = tuple(
        CauseSum(name, int(runs[k]), *(int(one[k]) for one in sums))
        for k, name in enumerate(CAUSES)
    )
    started = why != cause("never_started")
    return Losses(
        table,
        interval,
        int(started.sum()),
        int((started & (records.nodes < 0)).sum()),
        int((started & (records.gpus >= 0)).sum()),
        int((started & (records.gpus > 0)).sum()),
        continued_timeouts(records, found),
    )


def continued_timeouts(records: Accounting, ends: Ends) -> Continued:
    """Return how many runs that reached their limit look continued.

    A run looks continued where the same job runs again, or where a run of the same user, job name
    and partition is ready (submitted and eligible) within a day of its end. Jobs that share their
    name with others look continued although they are not: the number is an upper bound.
    """
    timed = np.flatnonzero(ends.causes == cause("timeout"))
    units = np.maximum(records.nodes[timed], 0).astype(np.int64) * ends.elapsed[timed]
    keys = (records.user, records.name, records.partition)
    told = np.ones(len(timed), dtype=np.bool_)
    for column in keys:
        told &= column.code[timed] >= 0
    on = np.zeros(len(timed), dtype=np.bool_)
    if told.any():
        on[told] = _comes_again(records, timed[told])
    on |= ends.again[timed]
    return Continued(
        len(timed), int(units.sum()), int(told.sum()), int(on.sum()), int(units[on].sum())
    )


def _comes_again(records: Accounting, rows: Ints) -> Bools:
    """Return which of these runs are followed by a like one within a day of their end."""
    place = _alike(records, rows)
    end = records.end[rows]
    # One number for like jobs and time; times later than all ends stay within their jobs' part.
    zero = int(min(records.submit.min(), end.min()))
    span = int(end.max()) + CONTINUED_WITHIN - zero + 2
    line = np.empty(int(np.count_nonzero(place >= 0)), dtype=np.int64)
    filled = 0
    for low in range(0, len(place), CHUNK):
        like = low + np.flatnonzero(place[low : low + CHUNK] >= 0)
        ready = np.maximum(records.submit[like], records.eligible[like])
        filled, begin = filled + len(like), filled
        line[begin:filled] = place[like] * np.int64(span) + np.minimum(ready - zero, span - 1)
    line.sort()
    at = place[rows].astype(np.int64) * span + (end - zero)
    # Questions in order find their answers close together.
    order = np.argsort(at)
    first, last = np.empty_like(at), np.empty_like(at)
    first[order] = np.searchsorted(line, at[order], "left")
    last[order] = np.searchsorted(line, at[order] + CONTINUED_WITHIN, "right")
    # A run that took no time is ready when it ends, and would follow itself.
    itself = np.maximum(records.submit[rows], records.eligible[rows]) >= end
    return np.asarray(last - first > itself)


def _alike(records: Accounting, rows: Ints) -> Short:
    """Return a number for the user, name and partition of each run, int32[n]; -1 for those that
    none of these rows has."""
    user, partition, name = records.user, records.partition, records.name
    owner = _pairs(user.code, partition.code, (len(user.words), len(partition.words)), rows)
    return _pairs(owner, name.code, (int(owner.max(initial=-1)) + 1, len(name.words)), rows)


def _pairs(one: Short, other: Short, sizes: tuple[int, int], rows: Ints) -> Short:
    """Return a number for each pair of codes (from 0, below `sizes`), int32[n]; -1 for pairs that
    none of these rows has, and where one of the two is negative."""
    wide = sizes[1]
    wanted = np.unique(one[rows] * np.int64(wide) + other[rows])
    table = None
    if sizes[0] * wide <= LARGEST_TABLE:
        table = np.full(sizes[0] * wide + 1, -1, dtype=np.int32)
        table[wanted] = np.arange(len(wanted), dtype=np.int32)
    first = np.zeros(sizes[0] + 1, dtype=np.bool_)
    second = np.zeros(wide + 1, dtype=np.bool_)
    first[one[rows]], second[other[rows]] = True, True
    found = np.full(len(one), -1, dtype=np.int32)
    for low in range(0, len(one), CHUNK):
        left, right = one[low : low + CHUNK], other[low : low + CHUNK]
        # Codes of -1 take the last place, which stands for none.
        there = first[left] & second[right]
        key = left * np.int64(wide) + right
        if table is not None:
            found[low : low + CHUNK] = table[np.where(there, key, -1)]
            continue
        some = np.flatnonzero(there)
        place = np.minimum(np.searchsorted(wanted, key[some]), len(wanted) - 1)
        hit = wanted[place] == key[some]
        found[low + some[hit]] = place[hit]
    return found


@dataclass(frozen=True)
class Capacity:
    """What became of the nodes' time in a window, node-seconds.

    Attributes
    ----------
    nodes, seconds : of the machine and of the window
    used : time that runs held nodes
    down : time in outages by nature; a node that is out for several reasons counts for the first of
        `NATURES`
    outages : how many there were
    """

    nodes: int
    seconds: int
    used: int
    down: dict[str, int]
    outages: int

    @property
    def total(self) -> int:
        """All of the nodes' time."""
        return self.nodes * self.seconds

    @property
    def ungiven(self) -> int:
        """Time that no run held; below 0 where runs share nodes."""
        return self.total - self.used

    @property
    def idle(self) -> tuple[int, int]:
        """The least and the most time in which nodes were idle: runs can hold nodes that are being
        drained, so that time in outages and time held can overlap."""
        least = max(self.ungiven - sum(self.down.values()), 0)
        return least, max(self.ungiven, 0)


def held(records: Accounting, begin: int, until: int) -> int:
    """Return the node-seconds that runs held nodes within [begin, until)."""
    last, total = min(until, records.until), 0
    for low in range(0, len(records), CHUNK):
        rows = slice(low, low + CHUNK)
        start = np.clip(records.start[rows], begin, until)
        seconds = np.maximum(np.minimum(records.end[rows], last) - start, 0)
        total += int((np.maximum(records.nodes[rows], 0) * seconds).sum())
    return total


def capacity(
    records: Accounting, nodes: int, events: NodeEvents | None, begin: int, until: int
) -> Capacity:
    """Return what became of the time of `nodes` nodes in [begin, until), without outages where
    `events` is None."""
    used = held(records, begin, until)
    if events is None:
        return Capacity(nodes, until - begin, used, {}, 0)
    return Capacity(nodes, until - begin, used, downtime(events, begin, until), len(events))


def downtime(events: NodeEvents, begin: int, until: int) -> dict[str, int]:
    """Return node-seconds in outages within [begin, until) by nature; overlaps count once, for the
    first of `NATURES`."""
    found: dict[str, int] = {}
    before = 0
    for place, nature in enumerate(NATURES):
        upto = covered(events.take(events.nature <= place), begin, until)
        found[nature] = upto - before
        before = upto
    return found


def covered(events: NodeEvents, begin: int, until: int) -> int:
    """Return the node-seconds within [begin, until) in which nodes were in any outage."""
    if not len(events) or until <= begin:
        return 0
    # Each node has a stretch of its own on one line, so that all are merged in one pass.
    shift = events.node * (until - begin + 1)
    start = np.clip(events.begin, begin, until) - begin + shift
    end = np.clip(events.end, begin, until) - begin + shift
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    seen = np.concatenate(([np.int64(-1)], end[:-1]))
    return int(np.maximum(end - np.maximum(start, seen), 0).sum())
