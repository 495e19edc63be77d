"""Random snapshots with draws of run times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forestall.scheduling.futures.snapshot import Drain, Snapshot


def snapshot_of(
    rng: np.random.Generator, *, jobs: int = 30, nodes: int = 20, drains: int = 0, late: bool = True
) -> Snapshot:
    """Return a snapshot in which some jobs run; with `late` ones, some become ready later."""
    now = 1000
    size = rng.integers(1, rng.integers(2, nodes + 2), jobs)
    limit = rng.integers(1, 60, jobs)
    fits = np.cumsum(size) <= nodes
    start = now - rng.integers(0, 40, jobs)
    ready = now + (rng.integers(-50, 60, jobs) if late else -rng.integers(0, 50, jobs))
    taken = []
    for _ in range(drains):
        begin = int(now + rng.integers(-20, 100))
        taken.append(
            Drain(begin, begin + int(rng.integers(1, 60)), int(rng.integers(1, nodes + 1)))
        )
    running = size[fits], limit[fits], start[fits]
    waiting = size[~fits], limit[~fits], ready[~fits]
    return Snapshot.of(now, nodes, running, waiting, tuple(taken))


def with_arrays(rng: np.random.Generator, snapshot: Snapshot, arrays: int = 3) -> Snapshot:
    """Return a snapshot of which most jobs are tasks of arrays; one of these has no limit."""
    array = rng.integers(-1, arrays, len(snapshot))
    most = np.append(rng.integers(1, 5, arrays), 0)
    most[0] = 0
    return replace(snapshot, array=array, at_once=most[array])


def draws_of(
    rng: np.random.Generator, snapshot: Snapshot, futures: int = 3, most: float = 1.2
) -> np.ndarray:
    """Return float32[K, n] whole seconds; of running jobs no less than they ran."""
    run = np.ceil(rng.random((futures, len(snapshot))) * snapshot.limit * most)
    run = np.where(rng.random(run.shape) < 0.1, snapshot.limit, run)
    ran = np.where(snapshot.running, snapshot.now - snapshot.start, 0)
    return np.maximum(np.maximum(run, ran), 1).astype(np.float32)
