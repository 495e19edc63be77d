"""Futures of a snapshot: played for K draws of run times, quoted from, and brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures import play_kernels as kernels
from forestall.scheduling.futures.snapshot import (
    NEVER,
    Arrivals,
    Happened,
    NodeHazard,
    QueueEvent,
    Runs,
    SchedulerRule,
    Snapshot,
    after,
    board_of,
    whole_seconds,
    with_arrivals,
    with_ready,
)
from forestall.scheduling.futures.state import Board, Passes, Played, passes_of, work_of

Spread = Callable[[Callable[[int, int], None], int], None]
"""Calls a function for ranges [first, last) that make up so many futures, in any order."""
Redraw = Callable[[Ints, Ints, Ints], Runs]
"""Draws run times anew: names of jobs, seconds that each ran already, and which attempt this is,
int64[m] each, to float32[m, K] that are longer."""

EASY = SchedulerRule()


def one_after_another(function: Callable[[int, int], None], count: int) -> None:
    """Spread over nothing: one range."""
    function(0, count)


@dataclass(frozen=True)
class Futures:
    """K futures of a snapshot; times in seconds on its clock, NEVER for what does not happen.

    Attributes
    ----------
    snapshot, rule, failures, arrivals : what they were made of
    run : float32[K, n], seconds that each job runs
    start, end : int64[K, n], when each job starts and ends
    restarts : int32[K, n], how often a failure sent it back
    attempt : int64[n], how often a job outlived its draws
    passes : of each pool, what the last in order could have had; none are kept where the rule is
        not EASY, or with failures or arrivals
    joined : of arrivals, when each starts and ends
    ready : int64[K, n], when each job can first start there; None: as the snapshot says
    """

    snapshot: Snapshot
    rule: SchedulerRule
    run: Runs
    start: Ints
    end: Ints
    restarts: npt.NDArray[np.int32]
    attempt: Ints
    passes: tuple[Passes, ...]
    failures: NodeHazard | None = None
    arrivals: Arrivals | None = None
    joined: FutureQuote | None = None
    ready: Ints | None = None

    def __len__(self) -> int:
        return len(self.run)

    @property
    def kept(self) -> bool:
        """Whether passes are kept, so that a quote needs no play."""
        return self.ready is None and keeps(self.rule, self.failures, self.arrivals)

    def column(self, job: int) -> FutureQuote:
        """Return when a job starts and ends."""
        place = self.snapshot.column(job)
        return FutureQuote(self.start[:, place], self.end[:, place])

    def free(self, times: Ints, pool: int = 0, *, planned: bool = False) -> Ints:
        """Return the free nodes of a pool, int64[K, len(times)]; `planned` by limits, without
        arrivals, else as the futures are played. Nodes under repair are not taken off."""
        mine = self.snapshot.pool == pool
        size, start = self.snapshot.size[mine], self.start[:, mine]
        end = self.end[:, mine]
        if planned:
            over = np.minimum(start, NEVER - self.snapshot.limit[mine]) + self.snapshot.limit[mine]
            end = np.maximum(over, self.snapshot.now + 1)
        free = np.empty((len(self), len(times)), np.int64)
        for k in range(len(self)):
            taken = _cumulated(start[k], size, times) - _cumulated(end[k], size, times)
            if not planned and self.arrivals is not None and self.joined is not None:
                own = self.arrivals.pool[k] == pool
                sizes, joined = self.arrivals.size[k, own], self.joined
                taken += _cumulated(joined.start[k, own], sizes, times)
                taken -= _cumulated(joined.end[k, own], sizes, times)
            free[k] = self.snapshot.nodes[pool] - taken
        for one in self.snapshot.drains:
            if one.pool in {None, pool}:
                free -= np.where((times >= one.start) & (times < one.until), one.nodes, 0)
        return np.maximum(free, 0)


def _cumulated(at: Ints, size: Ints, times: Ints) -> Ints:
    """Return the nodes of all that happened up to each time."""
    order = np.argsort(at)
    total = np.concatenate([[0], np.cumsum(size[order])])
    return np.asarray(total[np.searchsorted(at[order], times, side="right")])


@dataclass(frozen=True)
class FutureQuote:
    """When a job starts and ends in each future: int64[K], NEVER where it does not."""

    start: Ints
    end: Ints

    def by(self, deadline: int) -> float:
        """Return the share of futures in which it is done by a deadline."""
        return float(np.mean(self.end <= deadline))

    def ends(self, levels: Floats) -> Ints:
        """Return the deadlines that are kept in these shares of futures."""
        return quantiles(self.end, levels)

    def starts(self, levels: Floats) -> Ints:
        """Return the times by which it has started in these shares of futures."""
        return quantiles(self.start, levels)

    def front(self) -> list[tuple[int, float]]:
        """Return the offers of which none is better: deadlines, earliest first, each with the share
        of futures in which it is kept."""
        times, counts = np.unique(self.end[self.end < NEVER], return_counts=True)
        shares = np.cumsum(counts) / len(self.end)
        return list(zip(times.tolist(), shares.tolist(), strict=True))


def quantiles(values: Ints, levels: Floats) -> Ints:
    """Return the least values that are not passed in these shares of futures: of int64[K, ...],
    int64[len(levels), ...]."""
    place = np.ceil(np.asarray(levels, np.float64) * len(values) - 1e-9).astype(np.int64) - 1
    return np.asarray(np.sort(values, axis=0)[np.clip(place, 0, len(values) - 1)])


def keeps(rule: SchedulerRule, failures: NodeHazard | None, arrivals: Arrivals | None) -> bool:
    """Return whether what is left after each pass tells when one more job would start: where it
    changes nothing before it starts."""
    return (rule.reserved, rule.tested) == (1, NEVER) and failures is None and arrivals is None


def make(
    snapshot: Snapshot,
    run: Runs,
    rule: SchedulerRule = EASY,
    failures: NodeHazard | None = None,
    arrivals: Arrivals | None = None,
    spread: Spread = one_after_another,
    ready: Ints | None = None,
) -> Futures:
    """Play a snapshot forward for each draw.

    `run` is float32[K, n], how long each job runs: of running ones the whole run time. Jobs that
    should have ended before now end now. `ready` is int64[K, n], where it differs from future to
    future when a job can first start. Raises ParameterError where draws do not fit.
    """
    if run.ndim != 2 or run.shape[1] != len(snapshot):
        raise ParameterError("run", str(run.shape), f"K draws of {len(snapshot)} jobs")
    if not bool(np.all(run >= 0)):
        raise ParameterError("run", float(np.nanmin(run, initial=0)), "at least 0 seconds")
    if arrivals is not None and len(arrivals.submit) != len(run):
        raise ParameterError("arrivals", len(arrivals.submit), f"those of {len(run)} futures")
    if ready is not None and ready.shape != run.shape:
        raise ParameterError("ready", str(ready.shape), f"a time for each of {run.shape}")
    count = len(run)
    start = np.broadcast_to(snapshot.start, run.shape).copy()
    ends = snapshot.start + whole_seconds(run, snapshot.limit, rule)
    end = np.where(snapshot.running, np.maximum(ends, snapshot.now), NEVER)
    kept = ready is None and keeps(rule, failures, arrivals)
    passes = tuple(
        passes_of(count, int(np.sum(snapshot.pool == pool)), 2 * len(snapshot.drains), kept=kept)
        for pool in range(len(snapshot.nodes))
    )
    futures = Futures(
        snapshot=snapshot,
        rule=rule,
        run=np.ascontiguousarray(run, np.float32),
        start=start,
        end=end,
        restarts=np.zeros(run.shape, np.int32),
        attempt=np.zeros(len(snapshot), np.int64),
        passes=passes,
        failures=failures,
        arrivals=arrivals,
        joined=None if arrivals is None else _nobody(arrivals),
        ready=ready,
    )
    since = np.full((len(snapshot.nodes), count), snapshot.now, np.int64)
    play_since(futures, since, spread)
    return futures


def play_since(futures: Futures, since: Ints, spread: Spread) -> None:
    """Play the futures of each pool from `since`, int64[pools, K], on, in their own arrays."""
    snapshot = futures.snapshot
    for pool in range(len(snapshot.nodes)):
        if bool(np.all(since[pool] == NEVER)):
            continue
        mine = np.flatnonzero(snapshot.pool == pool)
        board = board_of(snapshot, pool, futures.rule, futures.failures, kept=futures.kept)
        whole = Played(futures.run, futures.start, futures.end, futures.restarts, since[pool])
        if len(mine) == len(snapshot):
            run_pool(futures, pool, board, whole, spread)
            continue
        part = Played(
            run=np.ascontiguousarray(futures.run[:, mine]),
            start=np.ascontiguousarray(futures.start[:, mine]),
            end=np.ascontiguousarray(futures.end[:, mine]),
            restarts=np.ascontiguousarray(futures.restarts[:, mine]),
            since=since[pool],
        )
        run_pool(futures, pool, board, part, spread)
        futures.start[:, mine], futures.end[:, mine] = part.start, part.end
        futures.restarts[:, mine] = part.restarts


def run_pool(futures: Futures, pool: int, board: Board, played: Played, spread: Spread) -> None:
    """Play one pool, each range of futures with room of its own."""
    nodes, arrivals, passes = futures.snapshot.nodes[pool], futures.arrivals, futures.passes[pool]
    repairs = nodes if futures.failures is not None else 0
    joined = played if arrivals is None else _joined(played, arrivals)
    ready = futures.ready
    if ready is not None:
        ready = np.ascontiguousarray(ready[:, futures.snapshot.pool == pool])

    def some(first: int, last: int) -> None:
        work = work_of(joined.run.shape[1], len(board.edge_time), repairs, len(board.at_once))
        if arrivals is None and ready is None:
            kernels.play(work, board, joined, passes, nodes, first, last)
            return
        for k in range(first, last):
            own = board if ready is None else with_ready(board, ready[k])
            own = own if arrivals is None else with_arrivals(own, arrivals, pool, k)
            kernels.play(work, own, joined, passes, nodes, k, k + 1)

    spread(some, len(played.since))
    if arrivals is not None:
        own_jobs = played.start.shape[1]
        played.start[:] = joined.start[:, :own_jobs]
        played.end[:] = joined.end[:, :own_jobs]
        played.restarts[:] = joined.restarts[:, :own_jobs]
        if futures.joined is not None:
            own = arrivals.pool == pool
            futures.joined.start[own] = joined.start[:, own_jobs:][own]
            futures.joined.end[own] = joined.end[:, own_jobs:][own]


def _nobody(arrivals: Arrivals) -> FutureQuote:
    """Return starts and ends of arrivals before any is played."""
    never = np.full(arrivals.submit.shape, NEVER, np.int64)
    return FutureQuote(never, never.copy())


def _joined(played: Played, arrivals: Arrivals) -> Played:
    """Return the futures with columns for the jobs that join them."""
    more = arrivals.submit.shape
    never = np.full(more, NEVER, np.int64)
    return Played(
        run=np.concatenate([played.run, arrivals.run], axis=1),
        start=np.concatenate([played.start, never], axis=1),
        end=np.concatenate([played.end, never], axis=1),
        restarts=np.concatenate([played.restarts, np.zeros(more, np.int32)], axis=1),
        since=played.since,
    )


def quote(
    futures: Futures,
    size: int,
    limit: int,
    run: Runs,
    *,
    pool: int = 0,
    at: int | None = None,
    spread: Spread = one_after_another,
) -> FutureQuote:
    """Return when one more job, last in order, would start and end in each future.

    `run` is float32[K], how long it runs; `at` when it is submitted (None: now). It is what playing
    the futures anew with the job would give: read from the passes where they are kept, else played.
    """
    now = futures.snapshot.now if at is None else at
    if len(run) != len(futures):
        raise ParameterError("run", len(run), f"{len(futures)} draws, one for each future")
    if now < futures.snapshot.now:
        raise ParameterError("at", now, f"at least {futures.snapshot.now}, the time of the futures")
    if size < 1:
        raise ParameterError("size", size, "a whole number of at least 1")
    if limit < 1:
        raise ParameterError("limit", limit, "at least 1 second")
    if not futures.kept:
        return _quote_played(futures, (size, limit, pool), run, now, spread)
    start = first_fits(futures, size, limit, pool, now)
    whole = whole_seconds(run, np.int64(limit), futures.rule)
    return FutureQuote(start, np.where(start < NEVER, start + whole, NEVER))


def first_fits(futures: Futures, size: int, limit: int, pool: int, now: int) -> Ints:
    """Return when a job that is last in order would start, int64[K], by the passes kept."""
    start = np.empty(len(futures), np.int64)
    asked = np.array([size, limit], np.int64)
    kernels.first_fits(futures.passes[pool], now, asked, start, 0, len(futures))
    return start


def _quote_played(
    futures: Futures, asked: tuple[int, int, int], run: Runs, now: int, spread: Spread
) -> FutureQuote:
    size, limit, pool = asked
    snapshot = futures.snapshot
    name = int(snapshot.job.max(initial=0)) + 1
    event = QueueEvent(Happened.SUBMITTED, snapshot.now, name, size, limit, now, pool)
    runs = np.concatenate([futures.run, run[:, None].astype(np.float32)], axis=1)
    ready = futures.ready
    if ready is not None:
        ready = np.concatenate([ready, np.full((len(runs), 1), now)], axis=1)
    more = make(
        after(snapshot, event),
        runs,
        futures.rule,
        futures.failures,
        futures.arrivals,
        spread,
        ready,
    )
    return FutureQuote(more.start[:, -1], more.end[:, -1])
