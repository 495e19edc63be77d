"""How fast are futures: made, quoted from, brought up to date?

`python -m benchmarks.futures`

5,000 running and waiting jobs on 10,000 nodes, 256 futures, EASY, one core. The yardstick is the
same future in plain Python with the same ideas (a sorted list of releases, one reservation), and of
quotes and updates playing all futures anew. CPU time, since other work may share the machine.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.common import line
from forestall.scheduling.futures.snapshot import (
    NEVER,
    Happened,
    QueueEvent,
    SchedulerRule,
    Snapshot,
)
from forestall.scheduling.simulation.futures.run import make_futures, quote_futures, update_futures

JOBS, NODES, FUTURES = 5000, 10_000, 256


def queue(rng: np.random.Generator, largest: int) -> Snapshot:
    """Return a full machine and a queue; sizes are powers of two up to `largest`, many small."""
    size = np.minimum(2 ** rng.geometric(0.3, JOBS) // 2, largest).astype(np.int64)
    limit = rng.integers(1, 48, JOBS) * 1800
    running = int(np.searchsorted(np.cumsum(size), NODES, side="right"))
    start = -(limit[:running] * rng.random(running)).astype(np.int64)
    submit = -np.arange(JOBS - running)[::-1]
    runs = size[:running], limit[:running], start
    waits = size[running:], limit[running:], submit
    snapshot = Snapshot.of(0, NODES, runs, waits)
    # What can start now does, in every future, since plans go by limits alone: it runs.
    first = make_futures(snapshot, limit[None].astype(np.float32), workers=1).start[0]
    return replace(snapshot, start=np.where(first <= 0, first, NEVER))


def draws(rng: np.random.Generator, snapshot: Snapshot) -> np.ndarray:
    """Return run times: even shares of the limit beyond what ran."""
    ran = np.where(snapshot.running, -np.minimum(snapshot.start, 0), 0)
    share = rng.random((FUTURES, len(snapshot)))
    return np.ceil(ran + share * (snapshot.limit - ran)).astype(np.float32)


def plain_easy(snapshot: Snapshot, run: np.ndarray) -> list[int]:
    """Return the starts of one future by EASY in plain Python."""
    size, limit = snapshot.size.tolist(), snapshot.limit.tolist()
    start, length = snapshot.start.tolist(), [min(a, b) for a, b in zip(run.tolist(), limit)]  # noqa: B905
    ends: list[tuple[int, int]] = []
    releases: list[tuple[int, int]] = []
    free = snapshot.nodes[0]
    for j, begun in enumerate(start):
        if begun < NEVER:
            free -= size[j]
            bisect.insort(ends, (max(0, begun + int(length[j])), j))
            bisect.insort(releases, (begun + limit[j], j))
    waiting = [j for j, begun in enumerate(start) if begun == NEVER]
    now = 0

    def begin(j: int) -> None:
        start[j] = now
        bisect.insort(ends, (now + int(length[j]), j))
        bisect.insort(releases, (now + limit[j], j))

    while True:
        while waiting and size[waiting[0]] <= free:
            free -= size[waiting[0]]
            begin(waiting.pop(0))
        if waiting and free:
            left, shadow, place = free, now, 0
            while left < size[waiting[0]]:
                left += size[releases[place][1]]
                shadow, place = max(releases[place][0], now + 1), place + 1
            while place < len(releases) and releases[place][0] <= shadow:
                left, place = left + size[releases[place][1]], place + 1
            extra, kept = left - size[waiting[0]], [waiting[0]]
            for j in waiting[1:]:
                in_time = now + limit[j] <= shadow
                if size[j] <= free and (in_time or size[j] <= extra):
                    free -= size[j]
                    extra -= 0 if in_time else size[j]
                    begin(j)
                else:
                    kept.append(j)
            waiting = kept
        if not ends:
            return start
        now = ends[0][0]
        while ends and ends[0][0] == now:
            j = ends.pop(0)[1]
            releases.remove((start[j] + limit[j], j))
            free += size[j]


def cpu(call: Callable[[], Any], rounds: int = 5) -> float:
    """Return the least CPU time of a call, s, after one to warm up."""
    call()
    best = np.inf
    for _ in range(rounds):
        begun = time.process_time()
        call()
        best = min(best, time.process_time() - begun)
    return float(best)


def updated(snapshot: Snapshot, run: np.ndarray, event: QueueEvent, own: np.ndarray) -> float:
    """Return the CPU time of an update, s; futures are used up, so each round makes them."""
    best = np.inf
    for _ in range(3):
        futures = make_futures(snapshot, run, workers=1)
        begun = time.process_time()
        update_futures(futures, event, own, workers=1)
        best = min(best, time.process_time() - begun)
    return float(best)


def main() -> None:
    """Print all comparisons for queues of small and of larger jobs."""
    for largest in (16, 64, 2048):
        rng = np.random.default_rng(1)
        snapshot = queue(rng, largest)
        run = draws(rng, snapshot)
        running = int(snapshot.running.sum())
        print(f"up to {largest} nodes a job: {running} run, {JOBS - running} wait")
        futures = make_futures(snapshot, run, workers=1)
        begun = time.process_time()
        starts = plain_easy(snapshot, run[0])
        plain = (time.process_time() - begun) * FUTURES
        assert starts == futures.start[0].tolist(), "the yardstick plays otherwise"
        made = cpu(lambda: make_futures(snapshot, run, workers=1), 3)  # noqa: B023
        line(f"make {FUTURES} futures", made, "plain Python", plain)
        own = np.full(FUTURES, 1800, np.float32)
        for size, limit in ((1, 3600), (16, 86_400), (512, 7200)):
            told = cpu(lambda: quote_futures(futures, size, limit, own, workers=1))  # noqa: B023
            line(f"quote {size} nodes, {limit // 3600} h", told, "make anew", made)
        column = int(np.argmin(futures.end[0]))
        events = {
            "submit, last in order": QueueEvent(Happened.SUBMITTED, 0, JOBS, 16, 3600),
            "cancel the last": QueueEvent(Happened.CANCELLED, 0, JOBS - 1),
            "a second passes": QueueEvent(Happened.TICK, 1),
            "a job ends as in one future": QueueEvent(
                Happened.ENDED, int(futures.end[0, column]), int(snapshot.job[column])
            ),
        }
        for what, event in events.items():
            line(f"update: {what}", updated(snapshot, run, event, own), "make anew", made)
    others()


def others() -> None:
    """Print how long rules with reservations take, as CPU time of all futures."""
    for largest in (16, 64, 2048):
        rng = np.random.default_rng(1)
        snapshot = queue(rng, largest)
        run = draws(rng, snapshot)[:8]
        easy = cpu(lambda: make_futures(snapshot, run, workers=1), 1)  # noqa: B023
        for name in ("priority", "conservative"):
            rule = SchedulerRule.named(name)
            run = run[:2] if name == "conservative" else run
            part = FUTURES / len(run)
            spent = cpu(lambda: make_futures(snapshot, run, rule, workers=1), 1) * part  # noqa: B023
            what = f"up to {largest} nodes, {name}, {FUTURES} futures"
            line(what, spent, "EASY", easy * FUTURES / 8)


if __name__ == "__main__":
    main()
