"""Futures that are brought up to date equal those made anew with the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures.futures import Futures, make, quote
from forestall.scheduling.futures.snapshot import (
    NEVER,
    Happened,
    NodeHazard,
    QueueEvent,
    SchedulerRule,
    Snapshot,
    after,
)
from forestall.scheduling.futures.updates import update
from scheduling.futures.cases import draws_of, snapshot_of
from scheduling.futures.plain import played

RULES = [
    SchedulerRule(),
    SchedulerRule(killed=False),
    SchedulerRule.named("conservative"),
    SchedulerRule.named("priority", 4),
]
K = 6


def redraw(job: np.ndarray, elapsed: np.ndarray, attempt: np.ndarray) -> np.ndarray:
    """Return run times that depend on the job and the attempt alone, beyond what ran."""
    more = [
        np.random.default_rng([int(one), int(time)]).integers(1, 30, K)
        for one, time in zip(job, attempt, strict=True)
    ]
    return (elapsed[:, None] + np.stack(more)).astype(np.float32)


def next_event(rng: np.random.Generator, futures: Futures, name: int) -> QueueEvent:
    """Return what happens next: mostly as some future has it, sometimes anything."""
    snapshot = futures.snapshot
    now = snapshot.now + int(rng.integers(0, 6)) * int(rng.random() < 0.6)
    what = rng.random()
    if what < 0.25 or len(snapshot) == 0:
        place = None if rng.random() < 0.7 else int(rng.integers(0, len(snapshot) + 1))
        size, limit = int(rng.integers(1, 22)), int(rng.integers(1, 60))
        return QueueEvent(Happened.SUBMITTED, now, name, size, limit, place=place)
    if what < 0.35:
        return QueueEvent(Happened.TICK, now)
    k = int(rng.integers(0, K))
    running = np.flatnonzero(snapshot.running)
    waiting = np.flatnonzero(~snapshot.running & (snapshot.ready <= now))
    if what < 0.45 and len(waiting):
        return QueueEvent(Happened.CANCELLED, now, int(snapshot.job[rng.choice(waiting)]))
    if what < 0.55 and len(running):
        return QueueEvent(Happened.ENDED, now, int(snapshot.job[rng.choice(running)]))
    return as_drawn(futures, k, now)


def as_drawn(futures: Futures, k: int, now: int) -> QueueEvent:
    """Return what one future has next."""
    snapshot = futures.snapshot
    at = np.where(snapshot.running, futures.end[k], futures.start[k])
    column = int(np.argmin(at))
    if at[column] == NEVER:
        return QueueEvent(Happened.TICK, now)
    kind = Happened.ENDED if snapshot.running[column] else Happened.STARTED
    time = max(int(at[column]), snapshot.now)
    used = snapshot.size[snapshot.running].sum() + snapshot.size[column]
    if kind == Happened.STARTED and used > snapshot.nodes[0]:
        return QueueEvent(Happened.TICK, now)
    return QueueEvent(kind, time, int(snapshot.job[column]))


@pytest.mark.parametrize("drains", [0, 2])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.reserved}-{rule.killed}")
def test_brought_up_to_date_is_made_anew(rule: SchedulerRule, drains: int) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        snapshot = snapshot_of(rng, jobs=25, drains=drains)
        futures = make(snapshot, draws_of(rng, snapshot, K), rule)
        for step in range(25):
            event = next_event(rng, futures, 500 + step)
            own = None
            if event.kind == Happened.SUBMITTED:
                own = np.ceil(rng.random(K) * event.limit).astype(np.float32)
            futures = update(futures, event, own, redraw)
            anew = make(futures.snapshot, futures.run, rule)
            told = seed, step, event
            assert futures.start.tolist() == anew.start.tolist(), told
            assert futures.end.tolist() == anew.end.tolist(), told
            ask = np.full(K, 9, np.float32)
            mine, theirs = quote(futures, 3, 12, ask), quote(anew, 3, 12, ask)
            assert mine.start.tolist() == theirs.start.tolist(), told


def test_a_job_that_outlived_its_draw_is_drawn_again_beyond_what_it_ran() -> None:
    snapshot = Snapshot.of(0, 4, ([4], [100], [0]), ([4], [50], [0]))
    run = np.array([[10, 5], [60, 5]], np.float32)

    def later(job: np.ndarray, elapsed: np.ndarray, attempt: np.ndarray) -> np.ndarray:
        assert (job.tolist(), elapsed.tolist(), attempt.tolist()) == ([0], [30], [1])
        return np.array([[44, 99]], np.float32)

    futures = update(make(snapshot, run), QueueEvent(Happened.TICK, 30), redraw=later)
    assert futures.end.tolist() == [[44, 49], [60, 65]]


def test_within_the_tolerance_nothing_is_played_again() -> None:
    snapshot = Snapshot.of(0, 4, ([2, 2], [100, 100], [0, 0]), ([4], [50], [0]))
    run = np.array([[12, 40, 5], [60, 40, 5]], np.float32)
    futures = update(make(snapshot, run), QueueEvent(Happened.ENDED, 10, 0), tolerance=3)
    assert futures.start[:, 1].tolist() == [40, 40]
    assert len(futures.snapshot) == 2


def test_with_failures_all_is_as_made_anew() -> None:
    rng = np.random.default_rng(0)
    snapshot = snapshot_of(rng, late=False)
    failures = NodeHazard(1e-4, 20, 900)
    futures = make(snapshot, draws_of(rng, snapshot, K), failures=failures)
    for event in (QueueEvent(Happened.TICK, 1010), QueueEvent(Happened.SUBMITTED, 1020, 90, 3, 9)):
        own = np.full(K, 4, np.float32) if event.kind == Happened.SUBMITTED else None
        futures = update(futures, event, own, redraw)
        anew = make(futures.snapshot, futures.run, failures=failures)
        assert futures.end.tolist() == anew.end.tolist()


def test_long_lives_keep_their_passes() -> None:
    """Passes that are past are dropped, so that a future can be kept for any time."""
    rng = np.random.default_rng(4)
    snapshot = snapshot_of(rng, jobs=10, late=False)
    futures = make(snapshot, draws_of(rng, snapshot, K))
    for step in range(300):
        if len(futures.snapshot) < 10:
            event = QueueEvent(Happened.SUBMITTED, futures.snapshot.now, 100 + step, 4, 20)
            futures = update(futures, event, np.full(K, 11, np.float32), redraw)
        else:
            event = as_drawn(futures, 0, futures.snapshot.now)
            futures = update(futures, event, None, redraw)
    snapshot = futures.snapshot
    ask = np.full(K, 5, np.float32)
    for k in range(K):
        event = QueueEvent(Happened.SUBMITTED, snapshot.now, 99_999, 7, 9)
        runs = np.append(futures.run[k], 5)
        start, _ = played(after(snapshot, event), runs, SchedulerRule())
        assert quote(futures, 7, 9, ask).start[k] == start[-1]


def test_events_that_cannot_be_are_refused() -> None:
    snapshot = Snapshot.of(10, 4, ([4], [100], [0]), ([4], [50], [0]))
    futures = make(snapshot, np.ones((2, 2), np.float32) * 20)
    with pytest.raises(ParameterError, match="at least 10"):
        update(futures, QueueEvent(Happened.TICK, 9))
    with pytest.raises(ParameterError, match="a job that runs or waits"):
        update(futures, QueueEvent(Happened.ENDED, 11, 77))
    with pytest.raises(ParameterError, match="2 draws"):
        update(futures, QueueEvent(Happened.SUBMITTED, 11, 77, 1, 1))
    with pytest.raises(ParameterError, match="a job that waits"):
        update(futures, QueueEvent(Happened.STARTED, 11, 0))
