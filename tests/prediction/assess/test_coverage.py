from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.proportions import wilson
from forestall.prediction.assess.coverage import (
    DAY,
    WEEK,
    Outcomes,
    blocks_of,
    coverage,
    held_share,
    in_burst,
    longest_run,
    quantile_loss,
    shares,
)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def outcomes(bound: list[float], wait: list[int], over: list[bool]) -> Outcomes:
    when = np.arange(len(bound)) * 100
    return Outcomes(np.asarray(bound, float), np.asarray(wait), np.asarray(over, bool), when)


def test_counts_by_hand() -> None:
    some = outcomes(
        # held, missed, held to the second, no bound, withdrawn within it, waits beyond it, missed
        [100, 100, 60, math.inf, 100, 100, 10],
        [50, 130, 60, 5, 40, 200, 120],
        [True, True, True, True, False, False, True],
    )
    found = coverage(some, rng(), nominal=0.5)
    assert (found.jobs, found.unbounded, found.undecided) == (7, 1, 1)
    assert (found.held.made, found.held.held) == (5, 2)
    assert found.held.share == 0.4
    assert found.longest == 2
    assert found.median_bound == 100
    assert found.mean_bound == 74
    assert found.median_wait == 120
    assert found.median_ratio == pytest.approx(0.634615, abs=1e-6)  # of 100/130, 1, 0.5, 10/120
    # 0.5 x (50 + 30 + 0 + 100 + 110) / 5
    assert found.loss == pytest.approx(29)
    assert found.constant == 120
    assert found.constant_loss == pytest.approx(0.5 * (70 + 10 + 60 + 80 + 0) / 5)
    assert found.skill == pytest.approx(1 - 29 / 22)


def test_nothing_to_judge() -> None:
    found = coverage(outcomes([math.inf], [5], [True]), rng())
    assert found.unbounded == 1
    assert found.held.made == 0
    assert math.isnan(found.held.share)
    assert math.isnan(found.held.low)
    assert math.isnan(found.held.high)
    assert math.isnan(found.loss)
    assert math.isnan(found.skill)
    assert not found.short
    empty = coverage(outcomes([], [], []), rng())
    assert empty.jobs == 0
    assert empty.longest == 0


def test_bursts_widen_the_interval() -> None:
    # 40 weeks of 100 jobs, all of every fifth week missed: 40 facts, not 4,000.
    when = np.repeat(np.arange(40) * WEEK, 100)
    held = np.repeat(np.arange(40) % 5 > 0, 100)
    found = held_share(held, when, rng())
    assert found.share == 0.8
    assert found.blocks == 40
    assert found.block == WEEK
    assert found.low == pytest.approx(0.8 - 1.96 * 0.4 / math.sqrt(40), abs=0.03)
    assert found.naive_low > 0.785
    assert 25 < found.worth < 60
    assert not found.short_of(0.9)
    assert found.short_of(0.95)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    # Weeks whose share is 0.99 or 0.75: 0.942 over all. Wilson's hold it far too seldom.
    inside, naive = 0, 0
    for seed in range(150):
        draw = rng(seed)
        week = np.where(draw.random(60) < 0.8, 0.99, 0.75)
        held = draw.random((60, 50)) < week[:, None]
        found = held_share(held.ravel(), np.repeat(np.arange(60) * WEEK, 50), draw, draws=300)
        inside += found.low <= 0.942 <= found.high
        naive += found.naive_low <= 0.942 <= found.naive_high
    assert inside >= 0.88 * 150
    assert naive < 0.75 * 150


def test_days_where_weeks_are_few_and_the_naive_interval_where_days_are() -> None:
    days = np.arange(30) * DAY
    held = np.arange(30) % 3 > 0
    assert held_share(held, days, rng()).block == DAY
    few = held_share(held[:5], days[:5], rng())
    assert (few.low, few.high) == (few.naive_low, few.naive_high)
    assert held_share(held, days, rng(), block=3600).block == 3600


def test_all_held_is_still_not_certain() -> None:
    found = held_share(np.ones(40, bool), np.arange(40) * WEEK, rng())
    assert found.low == pytest.approx(wilson(40, 40)[0])
    assert found.high == 1


def test_groups_are_those_taken_alone() -> None:
    draw = rng(3)
    when = np.sort(draw.integers(0, 30 * WEEK, 3000))
    group = draw.integers(0, 3, 3000)
    held = draw.random(3000) < 0.9
    together = shares(held, when, group, 4, rng())
    assert [one.made for one in together] == [*np.bincount(group).tolist(), 0]
    for each, found in enumerate(together[:3]):
        mine = group == each
        assert found.held == int(held[mine].sum())
        assert found.blocks == len(np.unique((when[mine] - when[0]) // WEEK))
    assert math.isnan(together[3].share)


def test_blocks_by_hand() -> None:
    when = np.array([5, 5, 14, 15, 25])
    made, held = blocks_of(np.array([1, 0, 1, 1, 0], bool), when, np.array([0, 1, 0, 0, 1]), 2, 10)
    assert made.tolist() == [[2, 1, 0], [1, 0, 1]]
    assert held.tolist() == [[2, 1, 0], [0, 0, 0]]


@given(st.lists(st.booleans(), max_size=40))
def test_longest_run(flags: list[bool]) -> None:
    words = "".join("x" if flag else " " for flag in flags).split()
    assert longest_run(np.asarray(flags, bool)) == max(map(len, words), default=0)


def test_bursts_by_hand() -> None:
    user = np.array([0, 1, 0, -1, -1, 0, 1])
    when = np.array([0, 10, 60, 61, 62, 121, 300])
    assert in_burst(user, when).tolist() == [False, False, True, False, False, False, False]
    assert in_burst(user, when, 61).tolist() == [False, False, True, False, False, True, False]
    assert in_burst(np.empty(0, int), np.empty(0, int)).tolist() == []


def test_the_true_quantile_loses_least() -> None:
    waits = rng().exponential(100, 20_000)
    tried = {share: np.quantile(waits, share) for share in (0.9, 0.93, 0.95, 0.97, 0.99)}
    losses = {s: quantile_loss(np.full(1, bound), waits, 0.95) for s, bound in tried.items()}
    assert min(losses, key=lambda share: losses[share]) == 0.95


def test_the_same_seed_gives_the_same_interval() -> None:
    when, held = np.arange(40) * WEEK, np.arange(40) % 7 > 0
    assert held_share(held, when, rng(5)) == held_share(held, when, rng(5))


def test_bad_parameters() -> None:
    some = outcomes([1.0], [1], [True])
    with pytest.raises(ParameterError, match="nominal"):
        coverage(some, rng(), nominal=1.0)
    with pytest.raises(ParameterError, match="level"):
        coverage(some, rng(), level=0.0)
    with pytest.raises(ParameterError, match="block"):
        coverage(some, rng(), block=0)
    with pytest.raises(ParameterError, match="draws"):
        coverage(some, rng(), draws=0)
    with pytest.raises(ParameterError, match="when"):
        Outcomes(np.ones(2), np.ones(2, int), np.ones(2, bool), np.array([2, 1]))
    with pytest.raises(ParameterError, match="bound"):
        Outcomes(np.ones(1), np.ones(2, int), np.ones(2, bool), np.array([1, 2]))
