"""A snapshot of a machine and its queue, and what may happen to it: plain arrays, no clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.futures.state import Board, size_class

NEVER: Final = int(FAR)
"""The start of a job that waits, and of one that starts at no time."""
Runs = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SchedulerRule:
    """How the scheduler plans, anew at each event, in order of priority, by limits.

    Attributes
    ----------
    reserved : how many waiting jobs get a reservation
    tested : after how many waiting jobs that cannot start a pass gives up; Slurm's bf_max_job_test,
        passes repeated until nothing starts
    killed : whether a job ends at its limit
    """

    reserved: int = 1
    tested: int = NEVER
    killed: bool = True

    @classmethod
    def named(cls, name: str, depth: int = 100, *, killed: bool = True) -> SchedulerRule:
        """Return a rule by its name: easy, conservative, or priority (with `depth`)."""
        if depth < 1:
            raise ParameterError("depth", depth, "a whole number of at least 1")
        if name == "easy":
            return cls(killed=killed)
        if name == "conservative":
            return cls(NEVER, NEVER, killed)
        if name == "priority":
            return cls(depth, depth, killed)
        raise ParameterError("rule", name, ", ".join(RULES))


RULES: Final = ("easy", "conservative", "priority")


@dataclass(frozen=True)
class Drain:
    """Nodes that no job gets within [from, until), in one pool or (None) in each."""

    start: int
    until: int
    nodes: int
    pool: int | None = None


@dataclass(frozen=True)
class NodeHazard:
    """NodeHazard of nodes at random: per node and second, with a repair of so many seconds, drawn
    from the time `origin` on, by a stream of each future named by `seed`."""

    per_node_second: float
    repair: int
    origin: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.per_node_second < 1.0:
            raise ParameterError("per_node_second", self.per_node_second, "at least 0, below 1")
        if self.repair < 1:
            raise ParameterError("repair", self.repair, "at least 1 second")


@dataclass(frozen=True)
class Arrivals:
    """Jobs that join each future behind those that wait: int64[K, a] each, `run` float32[K, a];
    a `submit` of NEVER stands for none."""

    submit: Ints
    size: Ints
    limit: Ints
    run: Runs
    pool: Ints


@dataclass(frozen=True)
class Snapshot:
    """Who runs since when, and who waits in what order.

    Attributes
    ----------
    now : time, s
    nodes : nodes of each pool; partitions that share nodes are one pool
    job : int64[n], names of the jobs; they stand in order of priority, the first first
    size, limit : int64[n], nodes, and the seconds that a planner counts with
    start : int64[n], when a job started; NEVER: it waits
    ready : int64[n], when a job can first start
    pool : int64[n], which nodes it can have
    drains : nodes that are taken: maintenance, reservations, nodes that are down
    array, at_once : int64[n], the array of a task (-1: none), and how many of its tasks run at the
        same time at most (0: as many as fit); None: there are no arrays
    """

    now: int
    nodes: tuple[int, ...]
    job: Ints
    size: Ints
    limit: Ints
    start: Ints
    ready: Ints
    pool: Ints
    drains: tuple[Drain, ...] = ()
    array: Ints | None = None
    at_once: Ints | None = None

    def __post_init__(self) -> None:
        for name, none in (("array", -1), ("at_once", 0)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full(len(self.job), none, np.int64))
        for name in ("size", "limit", "start", "ready", "pool", "array", "at_once"):
            if len(getattr(self, name)) != len(self.job):
                raise ParameterError(name, len(getattr(self, name)), f"{len(self.job)} values")
        for name, least in (("size", 1), ("limit", 1)):
            low = int(getattr(self, name).min(initial=least))
            if low < least:
                raise ParameterError(name, low, f"at least {least}")
        if len(self.job) and not 0 <= int(self.pool.min()) <= int(self.pool.max()) < len(
            self.nodes
        ):
            raise ParameterError("pool", self.pool.tolist()[:5], f"0 to {len(self.nodes) - 1}")
        if bool(np.any(self.running & (self.start > self.now))):
            raise ParameterError("start", int(self.start[self.running].max()), "no later than now")
        for pool, most in enumerate(self.nodes):
            used = int(self.size[self.running & (self.pool == pool)].sum())
            if used > most:
                allowed = f"no more than the {most} nodes of pool {pool}"
                raise ParameterError("size", f"{used} nodes of running jobs", allowed)
        if len(np.unique(self.job)) != len(self.job):
            raise ParameterError("job", "a name twice", "a name of its own for each job")

    @classmethod
    def of(
        cls,
        now: int,
        nodes: int | tuple[int, ...],
        running: tuple[Ints, Ints, Ints],
        waiting: tuple[Ints, Ints, Ints],
        drains: tuple[Drain, ...] = (),
    ) -> Snapshot:
        """Return the snapshot of one pool: sizes, limits and starts of jobs that run, in order of
        start, and sizes, limits and submit times of those that wait, in order of priority."""
        size, limit, third = (
            np.concatenate([np.asarray(a, np.int64), np.asarray(b, np.int64)])
            for a, b in zip(running, waiting, strict=True)
        )
        runs = np.arange(len(size)) < len(running[0])
        return cls(
            now=now,
            nodes=(nodes,) if isinstance(nodes, int) else nodes,
            job=np.arange(len(size), dtype=np.int64),
            size=size,
            limit=limit,
            start=np.where(runs, third, NEVER),
            ready=third,
            pool=np.zeros(len(size), np.int64),
            drains=drains,
        )

    def __len__(self) -> int:
        return len(self.job)

    @property
    def running(self) -> npt.NDArray[np.bool_]:
        """Whether a job runs, bool[n]."""
        return np.asarray(self.start < NEVER)

    def column(self, job: int) -> int:
        """Return where a job stands. Raises ParameterError where it is not there."""
        found = np.flatnonzero(self.job == job)
        if len(found) == 0:
            raise ParameterError("job", job, "a job that runs or waits")
        return int(found[0])


class Happened(IntEnum):
    """What happened; a TICK is that time passed."""

    SUBMITTED = 0
    STARTED = 1
    ENDED = 2
    CANCELLED = 3
    TICK = 4


@dataclass(frozen=True)
class QueueEvent:
    """What happened at `time` to `job`; a submitted one has a size, a limit, when it can first
    start (None: at once), a pool, and a place in the order (None: the last)."""

    kind: Happened
    time: int
    job: int = -1
    size: int = 0
    limit: int = 0
    ready: int | None = None
    pool: int = 0
    place: int | None = None


def after(snapshot: Snapshot, event: QueueEvent) -> Snapshot:
    """Return the snapshot that an event leaves. Raises ParameterError for one that cannot be."""
    if event.time < snapshot.now:
        raise ParameterError(
            "time", event.time, f"at least {snapshot.now}, the time of the snapshot"
        )
    if event.kind == Happened.TICK:
        return replace(snapshot, now=event.time)
    if event.kind == Happened.SUBMITTED:
        place = len(snapshot) if event.place is None else event.place
        ready = event.time if event.ready is None else event.ready
        values = (event.job, event.size, event.limit, NEVER, ready, event.pool, -1, 0)
        columns: dict[str, Any] = {
            name: np.insert(getattr(snapshot, name), place, value)
            for name, value in zip(COLUMNS, values, strict=True)
        }
        return replace(snapshot, now=event.time, **columns)
    column = snapshot.column(event.job)
    if event.kind == Happened.STARTED:
        start = snapshot.start.copy()
        if start[column] != NEVER:
            raise ParameterError("job", event.job, "a job that waits")
        start[column] = event.time
        return replace(snapshot, now=event.time, start=start)
    rest: dict[str, Any] = {name: np.delete(getattr(snapshot, name), column) for name in COLUMNS}
    return replace(snapshot, now=event.time, **rest)


COLUMNS: Final = ("job", "size", "limit", "start", "ready", "pool", "array", "at_once")


def board_of(
    snapshot: Snapshot, pool: int, rule: SchedulerRule, failures: NodeHazard | None, *, kept: bool
) -> Board:
    """Return what the kernels read of one pool."""
    mine = snapshot.pool == pool
    size, limit, ready, start = (
        np.ascontiguousarray(one[mine])
        for one in (snapshot.size, snapshot.limit, snapshot.ready, snapshot.start)
    )
    edges = []
    for one in snapshot.drains:
        if one.pool in {None, pool} and one.until > max(one.start, snapshot.now) and one.nodes > 0:
            # What began before is still on: it is taken before anything is played.
            edges.append((one.start, one.nodes))
            if one.until < NEVER:
                edges.append((one.until, -one.nodes))
    edges.sort()
    times = np.array([time for time, _ in edges], np.int64)
    takes = np.array([take for _, take in edges], np.int64)
    hazard = np.zeros(4)
    if failures is not None:
        hazard[:] = (
            failures.per_node_second,
            failures.repair,
            failures.origin,
            failures.seed,
        )
    return Board(
        size=size,
        klass=size_class(size),
        limit=limit,
        ready=ready,
        start=start,
        by_ready=np.argsort(ready, kind="stable").astype(np.int64),
        edge_time=times,
        edge_take=takes,
        rule=np.array([rule.reserved, rule.tested, rule.killed, kept], np.int64),
        failures=hazard,
        **_arrays(snapshot, mine),
    )


def _arrays(snapshot: Snapshot, mine: Bools) -> dict[str, Ints]:
    """Return the fields of a board that are about arrays, for columns of one pool."""
    assert snapshot.array is not None
    assert snapshot.at_once is not None
    name, limit = snapshot.array[mine], snapshot.at_once[mine]
    limited = np.unique(name[(name >= 0) & (limit > 0)])
    place = np.minimum(np.searchsorted(limited, name), max(len(limited) - 1, 0))
    there = np.isin(name, limited)
    array = np.where(there, place, -1)
    at_once = np.zeros(len(limited), np.int64)
    np.maximum.at(at_once, array[there], limit[there])
    member = np.flatnonzero(there)[np.argsort(array[there], kind="stable")]
    first = np.searchsorted(array[member], np.arange(len(limited) + 1))
    return {"array": array, "at_once": at_once, "member": member, "first_member": first}


def with_arrivals(board: Board, arrivals: Arrivals, pool: int, k: int) -> Board:
    """Return the board of one future with the jobs that join it; those of other pools never do."""
    joins = np.where(arrivals.pool[k] == pool, arrivals.submit[k], NEVER)
    ready = np.concatenate([board.ready, joins])
    return board._replace(
        size=(size := np.concatenate([board.size, arrivals.size[k]])),
        klass=size_class(size),
        limit=np.concatenate([board.limit, arrivals.limit[k]]),
        ready=ready,
        start=np.concatenate([board.start, np.full(len(joins), NEVER)]),
        array=np.concatenate([board.array, np.full(len(joins), -1)]),
        by_ready=np.argsort(ready, kind="stable").astype(np.int64),
    )


def with_ready(board: Board, ready: Ints) -> Board:
    """Return the board of one future in which jobs can first start at other times."""
    return board._replace(ready=ready, by_ready=np.argsort(ready, kind="stable").astype(np.int64))


def whole_seconds(run: Runs, limit: Ints | np.int64, rule: SchedulerRule) -> Ints:
    """Return for how many seconds jobs run, at least 1, as the kernels count them."""
    whole = np.maximum(np.ceil(run).astype(np.int64), 1)
    return np.asarray(np.minimum(whole, limit) if rule.killed else whole)
