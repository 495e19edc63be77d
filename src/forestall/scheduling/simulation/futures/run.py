"""Futures on all cores: each worker plays a range of them; the bytes do not depend on how many."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures import futures as engine
from forestall.scheduling.futures import updates
from forestall.scheduling.futures.futures import EASY, FutureQuote, Futures, Redraw, Spread
from forestall.scheduling.futures.snapshot import (
    Arrivals,
    NodeHazard,
    QueueEvent,
    Runs,
    SchedulerRule,
    Snapshot,
)

RANGE: Final = 8
"""Futures that a worker takes at a time."""


def spread_over(workers: int | None) -> Spread:
    """Return what spreads futures over threads (None: one for each core); kernels let them run at
    the same time. Raises ParameterError."""
    if workers is not None and workers < 1:
        raise ParameterError("workers", workers, "a whole number of at least 1")
    cores = workers or len(os.sched_getaffinity(0))

    def spread(function: Callable[[int, int], None], count: int) -> None:
        firsts = range(0, count, RANGE)
        if cores == 1 or len(firsts) <= 1:
            function(0, count)
            return
        with ThreadPoolExecutor(min(cores, len(firsts))) as pool:
            # The list raises what a worker raised.
            list(pool.map(lambda first: function(first, min(first + RANGE, count)), firsts))

    return spread


def make_futures(
    snapshot: Snapshot,
    run: Runs,
    rule: SchedulerRule = EASY,
    *,
    failures: NodeHazard | None = None,
    arrivals: Arrivals | None = None,
    ready: Ints | None = None,
    workers: int | None = None,
) -> Futures:
    """Play the scheduler forward to the end of all jobs, once for each draw of their run times.

    Parameters
    ----------
    snapshot : who runs since when, who waits in what order, and what is drained
    run : float32[K, n], seconds that each job runs in each future: of jobs that run already the
        whole run time
    rule : EASY backfilling, or another (`SchedulerRule.named`)
    failures, arrivals : nodes that fail at random, and jobs that join; None: none
    ready : int64[K, n], when each job can first start in each future; None: as the snapshot says
    workers : threads (None: one for each core); the result is the same with any number
    """
    return engine.make(snapshot, run, rule, failures, arrivals, spread_over(workers), ready)


def quote_futures(
    futures: Futures,
    size: int,
    limit: int,
    run: Runs,
    *,
    pool: int = 0,
    at: int | None = None,
    workers: int | None = None,
) -> FutureQuote:
    """Return when one more job, last in order, would start and end in each future.

    `run` is float32[K], how long it runs in each; `at` when it is submitted (None: now).
    """
    spread = spread_over(workers)
    return engine.quote(futures, size, limit, run, pool=pool, at=at, spread=spread)


def update_futures(
    futures: Futures,
    event: QueueEvent,
    run: Runs | None = None,
    redraw: Redraw | None = None,
    *,
    tolerance: int = 0,
    workers: int | None = None,
) -> Futures:
    """Return the futures after an event; those given are used up. See `futures.updates`."""
    return updates.update(futures, event, run, redraw, tolerance, spread_over(workers))
