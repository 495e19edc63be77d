"""Futures equal a plain scheduler to the second, and give no node twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures.futures import Futures, make, quote
from forestall.scheduling.futures.snapshot import (
    NEVER,
    Arrivals,
    Drain,
    Happened,
    NodeHazard,
    QueueEvent,
    SchedulerRule,
    Snapshot,
    after,
)
from scheduling.futures.cases import draws_of, snapshot_of, with_arrays
from scheduling.futures.plain import played

RULES = [
    SchedulerRule(),
    SchedulerRule.named("conservative"),
    SchedulerRule.named("priority", 5),
    SchedulerRule(1, 4),
    SchedulerRule(2, NEVER),
]


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.reserved}-{rule.tested}")
def test_plays_like_the_plain_scheduler(rule: SchedulerRule, killed: bool) -> None:
    rule = SchedulerRule(rule.reserved, rule.tested, killed)
    for seed in range(16):
        rng = np.random.default_rng(seed)
        snapshot = snapshot_of(rng, drains=seed % 4, nodes=int(rng.integers(4, 40)))
        run = draws_of(rng, snapshot)
        futures = make(snapshot, run, rule)
        for k in range(len(run)):
            start, end = played(snapshot, run[k], rule)
            assert futures.start[k].tolist() == start, (seed, k)
            assert futures.end[k].tolist() == end, (seed, k)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.reserved}-{rule.tested}")
def test_arrays_run_no_more_tasks_at_once_than_their_limits(rule: SchedulerRule) -> None:
    for seed in range(24):
        rng = np.random.default_rng(seed)
        snapshot = with_arrays(rng, snapshot_of(rng, drains=seed % 2, nodes=30))
        run = draws_of(rng, snapshot)
        futures = make(snapshot, run, rule)
        for k in range(len(run)):
            start, end = played(snapshot, run[k], rule)
            assert futures.start[k].tolist() == start, (seed, k)
            assert futures.end[k].tolist() == end, (seed, k)
            for array, most in enumerate(most_at_once(snapshot)):
                mine = (snapshot.array == array) & (futures.start[k] < NEVER)
                began, over = futures.start[k][mine], futures.end[k][mine]
                busy = [int(np.sum((began <= t) & (over > t))) for t in began[began >= 1000]]
                assert max(busy, default=0) <= max(most, int(np.sum(mine & snapshot.running)))


def most_at_once(snapshot: Snapshot) -> list[int]:
    """Return the limit of each array; all jobs for none."""
    assert snapshot.array is not None
    assert snapshot.at_once is not None
    limits = [int(snapshot.at_once[snapshot.array == one].max(initial=0)) for one in range(3)]
    return [one or len(snapshot) for one in limits]


@pytest.mark.parametrize("failing", [False, True])
def test_a_long_array_takes_its_turns(failing: bool) -> None:
    """100 tasks of one node, three at once, 10 s each: waves of three, though 50 nodes are free."""
    tasks = np.ones(100, np.int64)
    base = Snapshot.of(0, 50, (tasks[:3], 10 * tasks[:3], 0 * tasks[:3]),
                       (tasks[3:], 10 * tasks[3:], 0 * tasks[3:]))  # fmt: skip
    snapshot = replace(base, array=np.zeros(100, np.int64), at_once=np.full(100, 3))
    failures = NodeHazard(1e-4, 5, 0) if failing else None
    futures = make(snapshot, np.full((2, 100), 10, np.float32), failures=failures)
    if not failing:
        assert futures.start[0].tolist() == [10 * (j // 3) for j in range(100)]
    assert most_used(futures, 0) <= 3
    assert quote(futures, 47, 10**6, np.ones(2, np.float32)).start.tolist() == [0, 0]


def test_long_queues_are_played_alike() -> None:
    rng = np.random.default_rng(5)
    snapshot = snapshot_of(rng, jobs=300, nodes=50, late=False)
    run = draws_of(rng, snapshot, 2)
    for rule in (RULES[0], RULES[2]):
        futures = make(snapshot, run, rule)
        for k in range(2):
            assert futures.start[k].tolist() == played(snapshot, run[k], rule)[0]


def most_used(futures: Futures, k: int, pool: int = 0) -> int:
    """Return the most nodes in use at any time of a future."""
    snapshot = futures.snapshot
    mine = (snapshot.pool == pool) & (futures.start[k] < NEVER)
    size, start, end = snapshot.size[mine], futures.start[k][mine], futures.end[k][mine]
    return max(
        (int(size[(start <= t) & (t < end)].sum()) for t in start[start >= snapshot.now]), default=0
    )


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(0, 3),
    st.sampled_from(RULES),
)
def test_no_node_is_given_twice_and_no_work_lost(
    seed: int, jobs: int, nodes: int, drains: int, rule: SchedulerRule
) -> None:
    rng = np.random.default_rng(seed)
    snapshot = snapshot_of(rng, jobs=jobs, nodes=nodes, drains=drains)
    run = draws_of(rng, snapshot)
    futures = make(snapshot, run, rule)
    fits = snapshot.size <= nodes
    for k in range(len(run)):
        assert most_used(futures, k) <= nodes
        # Each job that can run does, once, for its draw or its limit, and none before it is ready.
        assert bool(np.all((futures.start[k] < NEVER) == fits))
        ran = (futures.end[k] - futures.start[k])[fits & ~snapshot.running]
        drawn = np.minimum(run[k], snapshot.limit)[fits & ~snapshot.running]
        assert ran.tolist() == drawn.tolist()
        new = fits & ~snapshot.running
        assert bool(np.all(futures.start[k][new] >= np.maximum(snapshot.ready[new], snapshot.now)))


def test_nodes_in_a_drain_are_given_to_nobody() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        base = snapshot_of(rng, nodes=20)
        drain = Drain(1030, 1100, 12)
        snapshot = Snapshot(**{**vars(base), "drains": (drain,)})
        futures = make(snapshot, draws_of(rng, snapshot))
        for k in range(3):
            for j in np.flatnonzero(~base.running & (futures.start[k] < NEVER)):
                start = int(futures.start[k, j])
                if not 1030 <= start < 1100:
                    continue
                at = (futures.start[k] <= start) & (futures.end[k] > start)
                assert int(base.size[at].sum()) <= 20 - 12


def test_a_drain_without_end_leaves_large_jobs_waiting_for_ever() -> None:
    snapshot = Snapshot.of(0, 8, ([], [], []), ([6, 2], [10, 10], [0, 0]), (Drain(0, NEVER, 4),))
    futures = make(snapshot, np.full((1, 2), 5, np.float32))
    assert futures.start[0].tolist() == [NEVER, 0]
    assert quote(futures, 6, 10, np.full(1, 5, np.float32)).front() == []


@pytest.mark.parametrize("drains", [0, 2])
@pytest.mark.parametrize("rule", RULES[:3], ids=["easy", "conservative", "priority"])
def test_a_quote_is_what_playing_with_the_job_gives(rule: SchedulerRule, drains: int) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        snapshot = snapshot_of(rng, jobs=40, drains=drains)
        run = draws_of(rng, snapshot, 4)
        futures = make(snapshot, run, rule)
        size, limit = int(rng.integers(1, 22)), int(rng.integers(1, 80))
        own = np.ceil(rng.random(4) * limit).astype(np.float32)
        at = snapshot.now + int(rng.integers(0, 2)) * int(rng.integers(0, 80))
        told = quote(futures, size, limit, own, at=at)
        event = QueueEvent(Happened.SUBMITTED, snapshot.now, 999, size, limit, ready=at)
        again = make(after(snapshot, event), np.column_stack([run, own]), rule)
        assert told.start.tolist() == again.start[:, -1].tolist(), seed
        assert told.end.tolist() == again.end[:, -1].tolist(), seed


def test_pools_are_played_apart() -> None:
    rng = np.random.default_rng(3)
    one, two = snapshot_of(rng), snapshot_of(rng, nodes=11)
    both = Snapshot(
        now=1000,
        nodes=(20, 11),
        pool=np.repeat([0, 1], [len(one), len(two)]),
        job=np.arange(len(one) + len(two)),
        **{
            name: np.concatenate([getattr(one, name), getattr(two, name)])
            for name in ("size", "limit", "start", "ready")
        },
    )
    runs = draws_of(rng, one), draws_of(rng, two)
    whole = make(both, np.column_stack(runs))
    parts = [make(each, run) for each, run in zip((one, two), runs, strict=True)]
    assert whole.start.tolist() == np.column_stack([part.start for part in parts]).tolist()
    own = np.full(3, 7, np.float32)
    told = quote(whole, 4, 9, own, pool=1)
    assert told.start.tolist() == quote(parts[1], 4, 9, own).start.tolist()


def test_failures_send_jobs_back_and_all_still_end() -> None:
    rng = np.random.default_rng(1)
    snapshot = snapshot_of(rng, jobs=60, nodes=30, late=False)
    run = draws_of(rng, snapshot, 20)
    failures = NodeHazard(per_node_second=2e-4, repair=30, origin=900, seed=7)
    futures, without = make(snapshot, run, failures=failures), make(snapshot, run)
    assert int(futures.restarts.sum()) > 0
    fits = snapshot.size <= 30
    assert bool(np.all(futures.end[:, fits] < NEVER))
    assert futures.end[:, fits].mean() > without.end[:, fits].mean()
    again = make(snapshot, run, failures=failures)
    assert again.end.tolist() == futures.end.tolist()
    for k in range(20):
        assert most_used(futures, k) <= 30


def test_as_many_failures_as_the_hazard_says() -> None:
    """One job on all nodes for T seconds restarts as often as a Poisson process hits it: it is done
    when no failure comes for T seconds, after (exp(h T) - 1) failures on average."""
    snapshot = Snapshot.of(0, 10, ([], [], []), ([10], [10_000], [0]))
    run = np.full((4000, 1), 1000, np.float32)
    futures = make(snapshot, run, failures=NodeHazard(1e-4, 1, 0, seed=3))
    assert futures.restarts.mean() == pytest.approx(np.e - 1, abs=0.15)


def test_arrivals_join_behind_those_that_wait() -> None:
    rng = np.random.default_rng(2)
    snapshot = snapshot_of(rng, late=False)
    run = draws_of(rng, snapshot, 2)
    submit = np.array([[1005, 1010, NEVER], [1001, NEVER, NEVER]])
    size, limit = np.full((2, 3), 3), np.full((2, 3), 30)
    own = np.full((2, 3), 20, np.float32)
    arrivals = Arrivals(submit, size, limit, own, np.zeros((2, 3), np.int64))
    futures = make(snapshot, run, arrivals=arrivals)
    for k in range(2):
        joined, runs = snapshot, run[k].tolist()
        for n, time in enumerate(submit[k][submit[k] < NEVER].tolist()):
            event = QueueEvent(Happened.SUBMITTED, 1000, 900 + n, 3, 30, ready=time)
            joined, runs = after(joined, event), [*runs, 20]
        start, _ = played(joined, np.array(runs), SchedulerRule())
        assert futures.start[k].tolist() == start[: len(snapshot)]


def test_free_nodes_as_played_and_as_planned() -> None:
    snapshot = Snapshot.of(0, 10, ([4], [100], [0]), ([8], [50], [0]), (Drain(200, 300, 3),))
    futures = make(snapshot, np.array([[60, 20]], np.float32))
    times = np.array([0, 59, 60, 79, 80, 200, 300])
    assert futures.free(times).tolist() == [[6, 6, 2, 2, 10, 7, 10]]
    assert futures.free(times, planned=True).tolist() == [[6, 6, 0, 0, 0, 7, 10]]


def test_what_cannot_be_is_refused_with_what_was_allowed() -> None:
    snapshot = Snapshot.of(0, 10, ([4], [100], [0]), ([8], [50], [0]))
    futures = make(snapshot, np.array([[60, 20]], np.float32))
    own = np.full(1, 5, np.float32)
    with pytest.raises(ParameterError, match="size"):
        quote(futures, 0, 10, own)
    with pytest.raises(ParameterError, match="at least 0"):
        quote(futures, 1, 10, own, at=-1)
    with pytest.raises(ParameterError, match="K draws of 2 jobs"):
        make(snapshot, np.ones((3, 5), np.float32))
    with pytest.raises(ParameterError, match="10 nodes of pool 0"):
        Snapshot.of(0, 10, ([4, 7], [100, 1], [0, 0]), ([], [], []))
    with pytest.raises(ParameterError, match="easy, conservative, priority"):
        SchedulerRule.named("random")
