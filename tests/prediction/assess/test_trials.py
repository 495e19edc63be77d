"""Trials with controls: pairs, how long they take, and what is found, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.trials import (
    ACT,
    CONTROL,
    OUT,
    days_needed,
    judge_trial,
    least_effect,
    pair_nodes,
    spread_of_nodes,
)


def failures(rng: np.random.Generator, nodes: int, days: int, rates: np.ndarray) -> np.ndarray:
    return rng.poisson(rates[:, None], (nodes, days)).astype(np.float64)


def test_what_varies_between_nodes_and_days_is_told_apart() -> None:
    rng = np.random.default_rng(1)
    rates = rng.gamma(4, 0.05, 4000)
    spread = spread_of_nodes(failures(rng, 4000, 60, rates))
    assert spread.mean == pytest.approx(0.2, rel=0.03)
    assert spread.between == pytest.approx(0.01, rel=0.1)
    assert spread.within == pytest.approx(0.2, rel=0.1)
    even = spread_of_nodes(failures(rng, 4000, 60, np.full(4000, 0.2)))
    assert even.between < 0.001


@given(st.integers(2, 60), st.integers(1, 30), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_pairs(nodes: int, wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    measure = rng.random(nodes).round(1)
    pairs = min(wanted, nodes // 2)
    arm, pair = pair_nodes(measure, pairs, rng)
    assert ((arm == ACT).sum(), (arm == CONTROL).sum()) == (pairs, pairs)
    assert ((pair >= 0) == (arm != OUT)).all()
    ranks = np.argsort(np.argsort(measure, kind="stable"), kind="stable")
    for k in range(pairs):
        mine = np.flatnonzero(pair == k)
        assert sorted(arm[mine].tolist()) == [CONTROL, ACT]
        assert len(set(measure[mine])) == 1 or abs(int(np.diff(ranks[mine])[0])) < nodes / 4 + 9
    with pytest.raises(ParameterError):
        pair_nodes(measure, nodes // 2 + 1, rng)


@pytest.mark.parametrize("effect", [0.3, 0.5])
def test_a_planned_trial_shows_its_effect_as_often_as_it_says(effect: float) -> None:
    rng = np.random.default_rng(7)
    shown, planned, false, rounds = 0, [], 0, 250
    for _ in range(rounds):
        rates = rng.gamma(4, 0.05, 80)
        before = failures(rng, 80, 40, rates)
        days = days_needed(spread_of_nodes(before), 40, effect)
        planned.append(days)
        if not math.isfinite(days):
            continue
        arm, pair = pair_nodes(before.mean(axis=1), 40, rng)
        length = math.ceil(days)
        acted = failures(rng, 80, length, rates * np.where(arm == ACT, 1 - effect, 1))
        alone = failures(rng, 80, length, rates)
        shown += judge_trial(acted.mean(axis=1), arm, pair, rng, draws=99).high < 0
        found = judge_trial(alone.mean(axis=1), arm, pair, rng, draws=99)
        false += found.high < 0 or found.low > 0
    assert shown / rounds == pytest.approx(0.8, abs=0.12)
    assert false / rounds < 0.09
    assert np.isfinite(planned).mean() > 0.9


def test_days_and_least_effect_are_each_others_inverse() -> None:
    spread = spread_of_nodes(failures(np.random.default_rng(3), 50, 30, np.full(50, 0.4)))
    days = days_needed(spread, 20, 0.25)
    assert least_effect(spread, 20, days) == pytest.approx(0.25)
    assert days_needed(spread, 20, 0.5) < days < days_needed(spread, 20, 0.25, power=0.95)
    assert days_needed(spread, 1, 0.25) == math.inf
    for wrong in (0.0, 1.0, 2.0):
        with pytest.raises(ParameterError):
            days_needed(spread, 20, wrong)
    with pytest.raises(ParameterError):
        spread_of_nodes(np.zeros((5, 1)))
    nothing = spread_of_nodes(np.zeros((5, 9)))
    assert days_needed(nothing, 2, 0.5) == least_effect(nothing, 2, 9) == math.inf


def test_results_are_those_of_scipy() -> None:
    rng = np.random.default_rng(5)
    measure = rng.random(40)
    arm = np.repeat([ACT, CONTROL], 20)
    pair = np.tile(np.arange(20), 2)
    found = judge_trial(measure, arm, pair, rng, draws=4000)
    theirs = ttest_1samp(measure[:20] - measure[20:], 0)
    low, high = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.05)
    assert found.effect == pytest.approx(1 - measure[:20].mean() / measure[20:].mean())
    loose = judge_trial(measure, arm, np.full(40, -1), rng, draws=4000)
    theirs = ttest_ind(measure[:20], measure[20:], equal_var=False)
    low, high = theirs.confidence_interval(0.95)
    assert (loose.low, loose.high) == pytest.approx((low, high))
    assert loose.p_value == pytest.approx(theirs.pvalue, abs=0.05)
    assert (found.paired, loose.paired, found.units, loose.units) == (True, False, 20, 40)


def test_arms_that_cannot_be_compared() -> None:
    rng = np.random.default_rng(1)
    measure = np.ones(8)
    arm = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    with pytest.raises(ParameterError, match="in each pair"):
        judge_trial(measure, arm, np.array([0, 1, 2, 3, 0, 1, 2, 4]), rng)
    with pytest.raises(ParameterError, match="at least 3"):
        judge_trial(measure[:4], arm[[0, 1, 4, 5]], np.full(4, -1), rng)
    same = judge_trial(np.zeros(8), arm, np.full(8, -1), rng, draws=9)
    assert (same.difference, same.effect, same.p_value) == (0, None, 1)
