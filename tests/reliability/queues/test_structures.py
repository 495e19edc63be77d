"""The search for queues against brute force: every structure, every assignment, every slot."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.queues import structures
from forestall.reliability.queues.job_mix import JobMix, best_limits, erlang_c, turnaround
from forestall.reliability.queues.queues import Queue
from forestall.reliability.queues.structures import Candidates, as_they_are, candidates_of, search
from forestall.reliability.systems.systems import from_mttf, log_survival

LAW = from_mttf(2e7, 0.75)
KINDS = st.lists(
    st.tuples(st.integers(1, 12), st.integers(60, 90_000), st.integers(1, 9)),
    min_size=1, max_size=6, unique_by=lambda kind: kind[:2],
)  # fmt: skip


def log_node(t: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return log_survival(LAW, t)


def mix_of(kinds: list[tuple[int, int, int]]) -> JobMix:
    nodes, runtime, weight = (np.array(column, dtype=float) for column in zip(*kinds, strict=True))
    return JobMix(nodes, runtime, weight)


def failure_of(nodes: float, limit: float) -> float:
    return -math.expm1(nodes * float(log_node(np.array(limit))))


def by_hand(
    mix: JobMix, chosen: list[tuple[float, float]], budget: int, shared: bool = False
) -> tuple[float, float]:
    """Return F_job and capacity of queues (nodes, limit): jobs one by one, slots one by one."""
    failure, busy = 0.0, [0.0] * len(chosen)
    for nodes, runtime, weight in zip(mix.nodes, mix.runtime, mix.weight, strict=True):
        fits = [
            (failure_of(*queue), queue, k)
            for k, queue in enumerate(chosen)
            if nodes <= queue[0] and runtime <= queue[1]
        ]
        if not fits:
            return math.inf, 0.0
        least, _, k = min(fits)
        failure += weight * least
        busy[k] += weight * runtime
    used = [k for k in range(len(chosen)) if busy[k] > 0]
    if shared:
        held = sum(chosen[k][0] * busy[k] for k in used)
        fits_all = max(chosen[k][0] for k in used) <= budget
        return failure, budget / held * mix.work if fits_all else 0.0
    slots = dict.fromkeys(used, 1)
    if sum(chosen[k][0] for k in used) > budget:
        return failure, 0.0
    while True:  # one more slot wherever the mix is held up, as long as there are nodes
        rate = min(slots[k] / busy[k] for k in used)
        held_up = [k for k in used if slots[k] / busy[k] <= rate * (1 + 1e-12)]
        cost = sum(chosen[k][0] for k in held_up)
        if sum(chosen[k][0] * slots[k] for k in used) + cost > budget:
            return failure, rate * mix.work
        for k in held_up:
            slots[k] += 1


@settings(max_examples=60)
@given(KINDS, st.integers(1, 40), st.integers(1, 3), st.booleans())
def test_all_structures_by_brute_force(
    kinds: list[tuple[int, int, int]], budget: int, most: int, shared: bool
) -> None:
    mix = mix_of(kinds)
    sizes, limits = np.unique(mix.nodes), np.unique(mix.runtime)
    corners = list(itertools.product(sizes.tolist(), limits.tolist()))
    found: list[tuple[float, float]] = []
    for count in range(1, most + 1):
        for chosen in itertools.combinations(corners, count):
            failure, capacity = by_hand(mix, list(chosen), budget, shared)
            if capacity > 0 and math.isfinite(failure):
                found.append((failure, capacity))
    candidates = Candidates(mix, log_node, sizes, limits)
    if not found:
        with pytest.raises(ParameterError, match="nodes"):
            search(candidates, budget, np.random.default_rng(1), queues=most, shared=shared)
        return
    curve = search(candidates, budget, np.random.default_rng(1), queues=most, shared=shared)
    assert curve.exact
    for failure, capacity in found:  # nothing beats the curve
        best = curve.best(capacity)
        assert best is not None
        assert best.failure <= failure * (1 + 1e-9)
    for one in curve.structures:  # and the curve is what it says
        chosen = [(q.nodes, q.limit) for q in one.queues]
        failure, capacity = by_hand(mix, chosen, budget, shared)  # type: ignore[arg-type]
        assert one.failure == pytest.approx(failure)
        assert one.capacity == pytest.approx(capacity)
        assert shared or sum(q.busy for q in one.queues) <= budget
        now, refused = as_they_are(mix, one.queues, one.failures, nodes=budget)
        assert refused == pytest.approx(0)
        assert (now.failure, now.capacity) == pytest.approx((one.failure, one.capacity))


@settings(max_examples=25)
@given(KINDS, st.integers(12, 60), st.integers(0, 5))
def test_climbing_finds_the_same(kinds: list[tuple[int, int, int]], budget: int, seed: int) -> None:
    """The search for large spaces, put to small ones, reaches the ends of the exact curve."""
    candidates = Candidates(
        mix_of(kinds), log_node,
        np.unique([k[0] for k in kinds]).astype(float),
        np.unique([k[1] for k in kinds]).astype(float),
    )  # fmt: skip
    exact = search(candidates, budget, np.random.default_rng(seed), queues=3)
    archive = structures._Archive(candidates, budget)
    structures._climb(archive, min(3, len(candidates)), np.random.default_rng(seed), None)
    points = {point[2] for point in archive.points}
    assert points
    lowest = min(archive.points)[0]
    assert lowest == pytest.approx(exact.structures[-1].failure, rel=0.02)
    assert archive.points[0][1] >= 0.9 * exact.structures[0].capacity
    for failure, capacity, _ in archive.points:  # never better than the exact one
        best = exact.best(capacity)
        assert best is not None
        assert best.failure <= failure * (1 + 1e-9)


def many_kinds(seed: int, count: int = 400) -> JobMix:
    rng = np.random.default_rng(seed)
    nodes = np.rint(2 ** (7 * rng.random(count)))
    return JobMix(nodes, np.exp(rng.normal(8.0, 1.5, count)), np.ones(count))


def test_a_large_search_is_sound_and_the_same_twice() -> None:
    candidates = candidates_of(many_kinds(1), log_node)
    told: list[tuple[int, int]] = []
    curves = [
        search(
            candidates, 600, np.random.default_rng(7), queues=4, demand=100.0,
            progress=lambda done, total: told.append((done, total)),
        )
        for _ in range(2)
    ]  # fmt: skip
    assert curves[0] == curves[1]
    assert not curves[0].exact
    assert told[-1][0] == told[-1][1]
    listed = curves[0].structures
    for better, worse in itertools.pairwise(listed):
        assert better.capacity > worse.capacity
        assert better.failure > worse.failure
    fewer = search(candidates, 600, np.random.default_rng(7), queues=2)
    assert listed[-1].failure <= fewer.structures[-1].failure
    assert listed[0].capacity >= 0.95 * fewer.structures[0].capacity
    for one in listed:
        assert one.failure >= candidates.mix.own_failure(log_node)
        assert one.capacity <= 600
        assert sum(one.shares) == pytest.approx(1)


def test_candidates_cover_the_mix() -> None:
    for seed in range(5):
        mix = many_kinds(seed)
        candidates = candidates_of(mix, log_node, sizes=8, limits=9)
        assert candidates.nodes.max() >= mix.nodes.max()
        assert candidates.limit.max() >= mix.runtime.max()
        assert len(np.unique(candidates.nodes)) <= 9
        assert len(np.unique(candidates.limit)) <= 10
        assert set(candidates.limit.tolist()) <= set(mix.runtime.tolist())
        queue = Queue("q", int(mix.nodes[0]) + 1, float(mix.runtime[1]) + 1.0)
        with_it = candidates_of(mix, log_node, sizes=8, limits=9, queues=[queue])
        nodes, limit = (with_it.nodes[with_it.starting([queue])[0]], with_it.limit)
        assert nodes <= queue.nodes
        assert mix.runtime[mix.runtime <= queue.limit].max() in limit


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(60, 90_000), st.integers(1, 9)), min_size=1, max_size=7),
    st.integers(1, 40), st.integers(1, 4),
)  # fmt: skip
def test_the_best_limits_of_all_partitions(
    kinds: list[tuple[int, int]], nodes: int, most: int
) -> None:
    """Queues of one size: every way to part the run times, job by job."""
    mix = mix_of([(nodes, time, weight) for time, weight in kinds])
    times = np.unique(mix.runtime)

    def failure(limits: tuple[float, ...]) -> float:
        return sum(
            weight * failure_of(nodes, min(limit for limit in limits if limit >= time))
            for time, weight in zip(mix.runtime, mix.weight, strict=True)
        )

    found = set(best_limits(mix, log_node, nodes, most).tolist())
    for count in range(1, min(most, len(times)) + 1):
        ways = [(*some, times[-1]) for some in itertools.combinations(times[:-1], count - 1)]
        least = min(failure(limits) for limits in ways)
        mine = [limits for limits in ways if set(limits) <= found]
        assert min(failure(limits) for limits in mine) == pytest.approx(least)


def test_a_log_of_one_long_job_and_many_short_ones_is_never_worse_than_its_queues() -> None:
    """The run times lie between the steps of any ladder: the queues there are cut at them."""
    rng = np.random.default_rng(5)
    short, long = rng.uniform(3700, 3800, 300), rng.uniform(15_000, 15_100, 40)
    nodes = rng.choice([1.0, 3.0, 7.0, 20.0], 340)
    mix = JobMix(nodes, np.concatenate((short, long)), np.ones(340))
    present = [Queue("short", 20, 3800.0, 12), Queue("long", 20, 15_100.0, 2)]
    failures = [failure_of(queue.nodes, queue.limit) for queue in present]
    for shared in (True, False):
        now, refused = as_they_are(mix, present, failures, nodes=280 if shared else math.inf)
        assert refused == pytest.approx(0)
        candidates = candidates_of(mix, log_node, sizes=3, limits=6, queues=present)
        curve = search(
            candidates, 280, np.random.default_rng(1), queues=2, shared=shared, present=present
        )
        best = curve.best(now.capacity)
        assert best is not None
        assert best.failure <= now.failure * (1 + 1e-12)


def test_jobs_larger_than_the_budget() -> None:
    mix = JobMix(np.array([10.0, 2.0]), np.array([100.0, 100.0]), np.ones(2))
    with pytest.raises(ParameterError, match="10 nodes"):
        search(candidates_of(mix, log_node), 9, np.random.default_rng(1))


def test_jobs_that_fit_no_queue_there_is() -> None:
    mix = mix_of([(4, 100, 1), (4, 5000, 3), (9, 100, 1)])
    found, refused = as_they_are(mix, [Queue("q", 4, 600.0, 2)], [0.1])
    assert refused == pytest.approx(0.8)
    assert found.failure == pytest.approx(0.1)
    assert found.capacity == pytest.approx(2 * 4)
    shared, _ = as_they_are(mix, [Queue("q", 4, 600.0, 20)], [0.1], nodes=8)
    assert shared.capacity == pytest.approx(8)
    with pytest.raises(ParameterError, match="fits some queue"):
        as_they_are(mix, [Queue("q", 1, 600.0)], [0.1])


def test_own_failures_do_not_depend_on_queues() -> None:
    mix = mix_of([(4, 1000, 1), (8, 50_000, 3)])
    expected = 0.25 * failure_of(4, 1000) + 0.75 * failure_of(8, 50_000)
    assert mix.own_failure(log_node) == pytest.approx(expected)


# Waiting -----------------------------------------------------------------------------------------


@given(st.integers(1, 30), st.floats(0.01, 0.99))
def test_erlang_c_from_its_definition(servers: int, busy: float) -> None:
    load = servers * busy
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) / (1 - busy)
    assert erlang_c(servers, load) == pytest.approx(last / (sum(terms) + last))


def test_turnaround_of_one_server() -> None:
    """One slot and constant run times: M/D/1, half of M/M/1's wait."""
    mix = JobMix(np.array([1.0]), np.array([100.0]), np.array([1.0]))
    place = np.zeros(1, dtype=np.int64)
    assert turnaround(mix, place, [1.0], 0.5) == pytest.approx(100 + 0.5 * 100)
    assert turnaround(mix, place, [1.0], 0.0) == pytest.approx(100)
    assert turnaround(mix, place, [1.0], 1.0) == math.inf


@pytest.mark.parametrize(
    ("nodes", "runtime", "weight", "named"),
    [
        ([0.0], [1.0], [1.0], "nodes"), ([1.0], [0.0], [1.0], "runtime"),
        ([1.0], [math.nan], [1.0], "runtime"), ([1.0], [1.0], [-1.0], "weight"),
        ([1.0], [1.0], [0.0], "weight"), ([1.0, 2.0], [1.0], [1.0], "jobs"), ([], [], [], "jobs"),
    ],
)  # fmt: skip
def test_mixes_that_cannot_be(
    nodes: list[float], runtime: list[float], weight: list[float], named: str
) -> None:
    with pytest.raises(ParameterError, match=named):
        JobMix(np.array(nodes), np.array(runtime), np.array(weight))


@pytest.mark.parametrize(("queues", "budget"), [(0, 10), (1, 0)])
def test_searches_that_cannot_be(queues: int, budget: int) -> None:
    mix = mix_of([(4, 100, 1)])
    with pytest.raises(ParameterError):
        search(candidates_of(mix, log_node), budget, np.random.default_rng(1), queues=queues)
