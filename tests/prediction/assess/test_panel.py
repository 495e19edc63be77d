"""Panels of nodes by moments, against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forestall.prediction.assess import panel
from forestall.prediction.assess.roc import area


@given(seed=st.integers(0, 10**6))
def test_time_to_next_and_service(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, count = 4, int(rng.integers(0, 12))
    time, node = np.sort(rng.integers(0, 50, count)), rng.integers(0, nodes, count)
    moments = np.unique(rng.integers(0, 60, 8))
    found = panel.time_to_next(time, node, nodes, moments)
    start, end = rng.integers(0, 30, nodes), rng.integers(20, 60, nodes)
    there = panel.in_service(start, end, moments, found, 5)
    for row, moment in enumerate(moments.tolist()):
        for one in range(nodes):
            later = [t for t, n in zip(time.tolist(), node.tolist(), strict=True)
                     if n == one and t >= moment]  # fmt: skip
            assert found[row, one] == (min(later) - moment if later else panel.NEVER)
            lasts = moment + 5 if found[row, one] >= 5 else moment + found[row, one] + 1
            assert there[row, one] == (start[one] <= moment and lasts <= end[one])


def panel_of(seed: int, signal: float) -> tuple[np.ndarray, panel.Decisions]:
    rng = np.random.default_rng(seed)
    moments = np.arange(0, 20 * panel.WEEK, 86_400)
    ahead = np.where(rng.random((len(moments), 30)) < 0.05, 100, panel.NEVER)
    counts = np.ones(ahead.shape, dtype=np.bool_)
    made = panel.Decisions.of(ahead, counts, moments, 86_400)
    scores = rng.normal(size=len(made.failed)) + signal * made.failed
    return scores, made


def test_blocks_are_weeks() -> None:
    _, made = panel_of(1, 0)
    assert made.blocks == 20
    assert np.bincount(made.block).tolist() == [7 * 30] * 20
    assert abs(made.failed.mean() - 0.05) < 0.02


def test_an_interval_holds_the_area_it_is_of() -> None:
    """With a known effect the interval holds the true area in about nine of ten samples."""
    rng = np.random.default_rng(0)
    truth = 0.7602499  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt 2)
    held = 0
    for seed in range(1000, 1080):
        scores, made = panel_of(seed, 1.0)
        weights = panel.week_weights(made.blocks, 200, rng)
        exact = area(scores, made.failed)
        found = panel.area(scores, made, exact, weights, 0.9)
        assert found.value == exact
        assert abs(np.nanmean(found.draws) - exact) < 0.01
        held += found.low <= truth <= found.high
    assert 61 <= held <= 80  # binomial(80, .9): fewer than 61 four times in ten thousand


def test_skill_and_share_against_plain_sums() -> None:
    scores, made = panel_of(3, 0.0)
    probability = 1 / (1 + np.exp(-scores))
    constant = np.full(len(scores), made.failed.mean())
    weights = panel.week_weights(made.blocks, 50, np.random.default_rng(1))
    found = panel.skill(probability, constant, made, weights, 0.9)
    brier = np.mean((probability - made.failed) ** 2)
    assert np.isclose(found.value, 1 - brier / np.mean((constant - made.failed) ** 2))
    k = 7
    rows = np.concatenate([np.flatnonzero(made.block == b) for b in range(made.blocks)
                           for _ in range(int(weights[k, b]))])  # fmt: skip
    redrawn = np.mean((probability[rows] - made.failed[rows]) ** 2)
    reference = np.mean((constant[rows] - made.failed[rows]) ** 2)
    assert np.isclose(found.draws[k], 1 - redrawn / reference)
    hit = (scores > 1).astype(float)
    part = panel.share(hit[made.failed], made.block[made.failed], weights, 0.9)
    assert np.isclose(part.value, hit[made.failed].mean())
    assert part.low <= part.value <= part.high


def test_a_constant_score_recalls_no_more_than_chance() -> None:
    scores = np.ones(1000)
    hits = panel.hits_at(scores, scores[:10], 0.05)
    np.testing.assert_allclose(hits, 0.05)


@given(seed=st.integers(0, 10**6), part=st.floats(0.01, 0.5))
def test_hits_fill_the_share(seed: int, part: float) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, 200).astype(float)
    assert np.isclose(panel.hits_at(scores, scores, part).mean(), part)


def test_nothing_to_estimate() -> None:
    assert np.isnan(panel.estimate(np.nan, np.array([1.0, 2.0]), 0.9, 5).low)
    assert np.isnan(panel.estimate(1.0, np.full(10, np.nan), 0.9, 5).high)
    assert panel.alarm_threshold(np.empty(0), 0.05) == np.inf
    empty = panel.share(np.empty(0), np.empty(0, np.int64), np.ones((5, 3)), 0.9)
    assert np.isnan(empty.value)


def test_differences_come_from_the_same_weeks() -> None:
    one = panel.RedrawnEstimate(0.5, 0.4, 0.6, np.array([0.4, 0.5, 0.6] * 10), 9)
    two = panel.RedrawnEstimate(0.4, 0.3, 0.5, np.array([0.3, 0.4, 0.5] * 10), 9)
    difference = one.over(two)
    assert np.isclose(difference.low, 0.1)
    assert np.isclose(difference.high, 0.1)
