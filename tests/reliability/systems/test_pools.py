"""Pools with repair: the page's numbers, exact chains against simulation, counts by renewal."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from forestall.core.model.errors import ParameterError
from forestall.reliability.systems.pools import (
    Pool,
    failures_of_place,
    failures_of_pool,
    fewest,
    spares_of_pool,
)
from forestall.reliability.systems.systems import from_mttf

RATE = 6.5 / 1000
GOLDEN = {64: (8, 21, 4), 512: (35, 124, 13), 2048: (116, 447, 39)}


@pytest.mark.parametrize("nodes", GOLDEN)
def test_the_pages_numbers(nodes: int) -> None:
    bare, repaired = Pool(nodes, RATE), Pool(nodes, RATE, 2.0)
    found = (
        spares_of_pool(bare, 0.99, 7.0),
        spares_of_pool(bare, 0.99, 30.0),
        spares_of_pool(repaired, 0.99, 30.0),
    )
    assert found == GOLDEN[nodes]
    assert fewest(repaired.steady, 0.99) == GOLDEN[nodes][2]


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(0, 6), st.floats(0.001, 2.0), st.booleans())
def test_steady_state_by_linear_algebra(
    nodes: int, spares: int, load: float, spares_fail: bool
) -> None:
    pool = Pool(nodes, load, 1.0, spares_fail)
    size = nodes + spares + 1
    generator = np.zeros((size, size))
    for k in range(size):
        working = nodes + spares - k if spares_fail else min(nodes, nodes + spares - k)
        if k + 1 < size:
            generator[k, k + 1] = working * load
        if k:
            generator[k, k - 1] = k
        generator[k, k] = -generator[k].sum()
    equations = np.vstack([generator.T, np.ones(size)])
    share = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    assert pool.steady(spares) == pytest.approx(share[: spares + 1].sum(), rel=1e-6)
    one_moment = linalg.expm(generator * 3.0)[0]
    assert pool.at(spares, 3.0) == pytest.approx(one_moment[: spares + 1].sum(), rel=1e-8)
    inner = linalg.expm(generator[: spares + 1, : spares + 1] * 3.0)[0]
    assert pool.never_short(spares, 3.0) == pytest.approx(inner.sum(), rel=1e-8)
    # The bound errs towards more spares.
    if not spares_fail:
        assert pool.bound(spares, 3.0) <= pool.steady(spares) + 1e-12


@given(st.integers(1, 2000), st.integers(0, 40), st.floats(0.1, 60))
def test_without_repair_the_chain_is_poisson(nodes: int, spares: int, mission: float) -> None:
    pool = Pool(nodes, RATE)
    expected = stats.poisson.cdf(spares, nodes * RATE * mission)
    assert pool.never_short(spares, mission) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert pool.bound(spares, mission) == pytest.approx(expected, rel=1e-8, abs=1e-300)


def simulated(pool: Pool, spares: int, mission: float, seed: int) -> tuple[bool, bool]:
    """Return whether a pool is short at the end, and whether it ever was: nodes one by one."""
    rng = np.random.default_rng(seed)
    now, down, ever = 0.0, 0, False
    repairs: list[float] = []
    while True:
        working = min(pool.nodes, pool.nodes + spares - down)
        fails = now + rng.exponential(1 / (working * pool.rate))
        back = repairs[0] if repairs else math.inf
        now = min(fails, back)
        if now > mission:
            return down > spares, ever
        if fails < back:
            down += 1
            ever = ever or down > spares
            assert pool.repair is not None
            heapq.heappush(repairs, now + rng.exponential(pool.repair))
        else:
            heapq.heappop(repairs)
            down -= 1


def test_chain_against_simulation() -> None:
    pool, spares, mission, runs = Pool(64, RATE, 2.0), 2, 15.0, 4000
    found = np.array([simulated(pool, spares, mission, seed) for seed in range(runs)])
    for share, expected in zip(
        found.mean(axis=0), (1 - pool.at(spares, mission), 1 - pool.never_short(spares, mission)),
        strict=True,
    ):  # fmt: skip
        error = 4 * math.sqrt(expected * (1 - expected) / runs)
        assert share == pytest.approx(expected, abs=error)


def test_long_missions_reach_the_steady_state() -> None:
    pool = Pool(512, RATE, 2.0)
    assert pool.at(10, 1000.0) == pytest.approx(pool.steady(10), rel=1e-9)
    assert pool.at(10, 0.0) == 1.0
    assert Pool(512, 0.0, 2.0).never_short(0, 1e6) == 1.0
    assert Pool(512, RATE).steady(10) == 0.0


# Counts by renewal -------------------------------------------------------------------------------


def counted(law_shape: float, mean: float, time: float, runs: int) -> np.ndarray:  # type: ignore[type-arg]
    """Return how often one place fails in [0, time], `runs` times, by adding up lives."""
    rng = np.random.default_rng(3)
    law = from_mttf(mean, law_shape)
    count, passed = np.zeros(runs, dtype=int), law.draw(rng, runs)
    while bool((passed <= time).any()):
        count += passed <= time
        passed = np.where(passed <= time, passed + law.draw(rng, runs), passed)
    return count


@pytest.mark.parametrize("shape", [0.5, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("time", [10.0, 300.0])
def test_counts_of_a_place(shape: float, time: float) -> None:
    runs = 40_000
    drawn = np.bincount(counted(shape, 100.0, time, runs)) / runs
    found = failures_of_place(from_mttf(100.0, shape), time)
    assert found.sum() == pytest.approx(1.0)
    for k, share in enumerate(drawn.tolist()):
        error = 4.5 * math.sqrt(found[k] * (1 - found[k]) / runs) + 1e-4
        assert found[k] == pytest.approx(share, abs=error)


def test_counts_of_exponential_places_are_poisson() -> None:
    law = from_mttf(100.0)
    for age in ("new", "steady", 50.0):
        found = failures_of_place(law, 250.0, age)  # type: ignore[arg-type]
        expected = stats.poisson.pmf(np.arange(len(found)), 2.5)
        assert found == pytest.approx(expected, abs=1e-6)
    whole = failures_of_pool(from_mttf(1 / RATE), 512, 7.0)
    expected = stats.poisson.pmf(np.arange(len(whole)), 512 * 7.0 * RATE)
    assert whole == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("shape", [0.5, 0.8, 2.5])
def test_in_steady_state_failures_come_at_one_over_the_mean(shape: float) -> None:
    found = failures_of_place(from_mttf(100.0, shape), 180.0, "steady")
    assert found @ np.arange(len(found)) == pytest.approx(1.8, rel=2e-4)


def test_a_pool_is_the_sum_of_its_places() -> None:
    law = from_mttf(100.0, 0.6)
    one = failures_of_place(law, 40.0)
    three = np.convolve(np.convolve(one, one), one)
    found = failures_of_pool(law, 3, 40.0)
    assert found[: len(three)] == pytest.approx(three, abs=1e-12)
    assert found[len(three) :].max(initial=0.0) < 1e-12


def test_what_cannot_be() -> None:
    for bad in ((0, 1.0, 1.0), (1, -1.0, 1.0), (1, 1.0, 0.0), (1, math.nan, 1.0)):
        with pytest.raises(ParameterError):
            Pool(*bad)
    with pytest.raises(ParameterError, match="time"):
        failures_of_place(from_mttf(1.0), 0.0)


@given(st.integers(0, 500), st.integers(1, 600))
def test_fewest_is_the_first_that_reaches(answer: int, most: int) -> None:
    found = fewest(lambda spares: 0.95 if spares >= answer else 0.5, 0.9, most)
    assert found == (answer if answer <= most else None)
