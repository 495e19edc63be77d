"""Answers worked out beforehand are the answers at the moment, and never know what comes later."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.learner import cumulative
from forestall.prediction.models.registry import new_learner
from forestall.prediction.models.tabulated import Tabulated, moments, tabulate

HOUR, DAY = 3600, 86_400


def log(seed: int, count: int, begin: int, end: int, nodes: int = 6) -> Observations:
    rng = np.random.default_rng(seed)
    made = Failures.build(rng.integers(begin, end, count), rng.integers(0, nodes, count))
    return Observations.of(made, begin=begin, end=end, nodes=nodes)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(["rate", "recency", "renewal"]))
def test_a_table_says_what_the_learner_would(seed: int, name: str) -> None:
    learner = new_learner(name)
    learner.fit(log(seed, 30, -60 * DAY, 0))
    later = log(seed + 1, 5, 0, 3 * DAY)
    table = tabulate(learner, later, 6)
    nodes = np.arange(6)
    rng = np.random.default_rng(seed)
    for now in np.sort(rng.choice(table.times, 5)).tolist():
        online = learner.copy()
        if now > 0:
            online.observe(later.until(now))
        table.advance(now)
        end = now + int(rng.integers(1, 10 * DAY))
        expected = online.failure_probability(nodes, now, end)
        np.testing.assert_allclose(
            table.failure_probability(nodes, now, end), expected, rtol=1e-5, atol=1e-9
        )
        whole = -np.expm1(np.log1p(-table.failure_probability(nodes, now, end)).sum())
        np.testing.assert_allclose(table.partition_failure_probability(nodes, now, end), whole)


def test_what_comes_later_changes_nothing() -> None:
    learner = new_learner("rate")
    learner.fit(log(1, 30, -60 * DAY, 0))
    one, two = log(2, 8, 0, 4 * DAY), log(2, 8, 0, 4 * DAY)
    cut = int(one.failures.time[4])
    keep = one.failures.time < cut
    bent = Failures.build(
        np.concatenate((two.failures.time[keep], [cut + 50, cut + 60])),
        np.concatenate((two.failures.node[keep], [0, 0])),
    )
    changed = Observations.of(bent, begin=0, end=4 * DAY, nodes=6)
    first, second = tabulate(learner, one, 6), tabulate(learner, changed, 6)
    for table in (first, second):
        table.advance(cut)
    nodes = np.arange(6)
    np.testing.assert_array_equal(
        first.failure_probability(nodes, cut, cut + DAY),
        second.failure_probability(nodes, cut, cut + DAY),
    )


def test_windows_and_times() -> None:
    hazard = np.array([[[0.1, 0.3]], [[0.2, 0.2]]], dtype=np.float32)
    table = Tabulated(np.array([0, 100]), hazard, (10, 20))
    node = np.array([0])
    np.testing.assert_allclose(table.failure_probability(node, 0, 10), 1 - np.exp(-0.1), rtol=1e-6)
    np.testing.assert_allclose(table.failure_probability(node, 5, 15), 1 - np.exp(-0.15), rtol=1e-6)
    np.testing.assert_allclose(table.failure_probability(node, 0, 40), 1 - np.exp(-0.7), rtol=1e-6)
    assert table.failure_probability(node, 7, 7)[0] == 0
    np.testing.assert_allclose(
        table.time_to_failure(node), 10 + (np.log(2) - 0.1) / 0.02, rtol=1e-6
    )
    table.update(150, 0)
    assert table.time_to_failure(node)[0] == np.inf  # no hazard beyond the first horizon
    other = table.copy()
    other.advance(1000)
    np.testing.assert_allclose(table.failure_probability(node, 150, 155), 0)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6), nodes=st.sampled_from([1, 7, 8, 9, 16, 127, 128, 129, 300, 1000])
)
def test_the_answers_in_numpy(seed: int, nodes: int) -> None:
    """What is compiled is what NumPy makes of the same numbers; a sum to the last bit."""
    rng = np.random.default_rng(seed)
    horizons = (60, 600, 3600)
    hazard = np.cumsum(rng.exponential(0.01, (3, nodes, 3)), axis=2).astype(np.float32)
    table = Tabulated(np.array([0, 50, 5000]), hazard, horizons)
    now = int(rng.choice([0, 20, 60, 6000]))
    table.advance(now)
    row = {0: 0, 20: 0, 60: 1, 6000: 2}[now]
    start = now + int(rng.integers(0, 700))
    end = start + int(rng.integers(0, 8000))
    ahead = np.array([start, end]) - int(table.times[row])
    known = cumulative(hazard[row].astype(np.float64), horizons, ahead)
    within = known[:, 1] - known[:, 0]
    numbers = np.arange(nodes)
    np.testing.assert_array_equal(
        table.partition_failure_probability(numbers, start, end), -math.expm1(-within.sum())
    )
    np.testing.assert_allclose(
        table.failure_probability(numbers, start, end), -np.expm1(-within), rtol=1e-15
    )


def test_moments_are_bounded() -> None:
    later = log(3, 50, 0, 30 * DAY)
    fine = moments(later, 10)
    assert set((later.failures.time + 1).tolist()) <= set(fine.tolist())
    assert np.diff(fine).max() <= HOUR
    coarse = moments(later, 10**7)
    assert len(coarse) < 30
    assert coarse[0] == 0
    assert coarse[-1] >= 30 * DAY
