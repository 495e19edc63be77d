"""Net benefit: single thresholds, acting at random, the knee, and what a threshold is worth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.benefit import (
    Occasions,
    at_random,
    chosen_on_past,
    fair_threshold,
    in_words,
    net_benefit,
    of_periods,
    of_probabilities,
    perfect,
    unrelated,
    worth,
)
from forestall.prediction.assess.figures_benefit import plot_benefit
from prediction.assess.test_attribution import attributed


def occasions_of(rows: list[tuple[float, float, float]]) -> Occasions:
    value, gain, cost = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Occasions(value, gain, cost, gain > 0, np.arange(len(value)))


rows_drawn = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.2, 0.3]), st.sampled_from([0.0, 0.0, 5.0, 9.0]),
        st.sampled_from([0.0, 1.0, 2.5]),
    ),
    max_size=14,
)  # fmt: skip


@given(rows_drawn)
@settings(max_examples=200, deadline=None)
def test_every_threshold_as_it_is_defined(rows: list[tuple[float, float, float]]) -> None:
    occasions = occasions_of(rows)
    curve = net_benefit(occasions)
    assert curve.threshold.tolist() == [np.inf, *sorted({row[0] for row in rows}, reverse=True)]
    for k, threshold in enumerate(curve.threshold):
        acted = [row for row in rows if row[0] >= threshold]
        assert curve.acted[k] == len(acted)
        assert curve.hits[k] == sum(row[1] > 0 for row in acted)
        assert curve.net[k] == pytest.approx(sum(row[1] - row[2] for row in acted))
    best = curve.best()
    assert curve.net[best] == curve.net.max() >= 0
    knee = curve.knee()
    assert (knee is None) == (curve.net.max() <= 0)
    if knee is not None:
        assert curve.net[knee] >= 0.8 * curve.net.max()
        assert np.all(curve.net[:knee] < 0.8 * curve.net.max())
    share, ideal = perfect(occasions)
    for at, net in zip(curve.share, curve.net, strict=True):
        assert net <= np.interp(at, share, ideal) + 1e-9  # nobody beats it at any share
    assert len(share) - 1 <= int(occasions.hit.sum())


def test_acting_at_random_on_all_orders() -> None:
    rows = [(0.3, 9.0, 1.0), (0.2, 0.0, 1.0), (0.1, 5.0, 2.0), (0.0, 0.0, 0.5)]
    occasions = occasions_of(rows)
    band = at_random(occasions, np.random.default_rng(1), draws=4000, points=5)
    for k in range(5):
        sums = [sum(occasions.net[list(some)]) for some in combinations(range(4), k)]
        assert band.mean[k] == pytest.approx(np.mean(sums))
        assert band.drawn_mean[k] == pytest.approx(np.mean(sums), abs=0.2)
        assert band.low[k] == pytest.approx(np.quantile(sums, 0.05, method="lower"), abs=1e-9)
    assert band.low[-1] == band.high[-1] == pytest.approx(occasions.net.sum())


def test_periods_cost_the_rest_of_a_reboot() -> None:
    jobs = [(40, 400, True, [0, 1]), (500, 560, False, [0])]
    found = attributed(jobs, [(0, 5, 0.2), (1, 5, 0.1), (0, 450, 0.3)], nodes=2, close=1000)
    occasions = of_periods(found, reboot=90, scale=0.5, action_cost=2.0)
    assert occasions.value.tolist() == [0.2, 0.3, 0.1]
    assert occasions.gain.tolist() == [0.5 * 2 * 360 / 3600, 0, 0]
    assert occasions.cost.tolist() == pytest.approx([50 / 3600 + 2, 2, 50 / 3600 + 2])
    assert occasions.hit.tolist() == [True, False, False]
    with pytest.raises(ParameterError, match="action-cost"):
        of_periods(found, action_cost=-1)


def test_a_cost_of_acting_bends_the_curve_down() -> None:
    rng = np.random.default_rng(5)
    gain = np.where(rng.random(500) < 0.2, rng.exponential(10, 500), 0.0)
    value = gain + rng.normal(0, 6, 500)
    free = Occasions(value, gain, np.zeros(500), gain > 0, np.arange(500))
    assert np.all(np.diff(net_benefit(free).net) >= 0)
    dear = net_benefit(Occasions(value, gain, np.full(500, 2.5), gain > 0, np.arange(500)))
    assert dear.net[-1] < 0 < dear.net.max()
    assert dear.share[dear.best()] < 0.5


def test_a_failure_is_saved_once() -> None:
    found = of_probabilities(
        [0.1, 0.6, 0.4, 0.9, 0.6], [True, True, True, False, True], cost=1.0,
        loss=[10, 10, 10, 3, 8], event=[4, 4, 7, -1, 4], effect=0.5,
    )  # fmt: skip
    assert found.gain.tolist() == [0, 5, 5, 0, 0]
    alone = of_probabilities([0.1, 0.6], [True, True], cost=1.0, loss=10.0)
    assert alone.gain.tolist() == [10, 10]


def test_the_best_threshold_of_honest_probabilities_is_fair() -> None:
    rng = np.random.default_rng(2)
    chance = rng.random(200_000)
    failed = rng.random(200_000) < chance
    curve = net_benefit(of_probabilities(chance, failed, cost=3.0, loss=12.0, effect=0.8))
    assert curve.threshold[curve.best()] == pytest.approx(fair_threshold(3, 12, 0.8), abs=0.03)
    assert fair_threshold(3, 0) == np.inf


def test_what_a_threshold_is_worth() -> None:
    rng = np.random.default_rng(3)
    rows = [(0.9, 20.0, 1.0), (0.8, 0.0, 1.0), (0.1, 10.0, 1.0)] * 50
    found = worth(occasions_of(rows), 0.5, 730.5 / 2, rng)
    assert (found.acted, found.needless, found.missed) == (100, 50, 50)
    assert found.net == 50 * 18
    assert found.per_month == 2 * found.net
    assert found.low < found.per_month < found.high
    # each of 150 groups brings 19, -1 or 0: the interval is that of the sum of 150 such
    sd = 2 * np.sqrt(150) * np.std([19, -1, 0])
    assert found.half_width == pytest.approx(1.96 * sd, rel=0.1)
    said = in_words(found, action="drain")
    assert said.startswith("act when p ≥ 0.5: saves 1,800 ± ")
    assert said.endswith(" node-hours a month, 50 needless drains")
    never = worth(occasions_of(rows), np.inf, 100, rng)
    assert in_words(never).startswith("never act")
    assert (never.acted, never.net, never.low, never.high) == (0, 0, 0, 0)


def test_groups_widen_the_interval() -> None:
    rng = np.random.default_rng(4)
    net = np.repeat(rng.choice([0.0, 30.0], 40), 25)
    apart = Occasions(np.ones(1000), net, np.ones(1000), net > 0, np.arange(1000))
    together = Occasions(np.ones(1000), net, np.ones(1000), net > 0, np.repeat(np.arange(40), 25))
    narrow, wide = (worth(one, 0.5, 100, np.random.default_rng(1)) for one in (apart, together))
    assert wide.half_width > 3 * narrow.half_width


def test_chosen_on_the_past() -> None:
    past = occasions_of([(0.9, 5.0, 1.0), (0.5, 0.0, 1.0), (0.4, 0.0, 1.0)])
    later = occasions_of([(0.95, 0.0, 1.0), (0.9, 8.0, 1.0), (0.6, 9.0, 1.0)])
    found = chosen_on_past(past, later, 10.0, np.random.default_rng(1))
    assert (found.threshold, found.acted, found.needless, found.net) == (0.9, 2, 1, 6.0)
    hopeless = occasions_of([(0.9, 0.0, 1.0)])
    assert chosen_on_past(hopeless, later, 10.0, np.random.default_rng(1)).acted == 0


def test_hard_cases() -> None:
    none = occasions_of([])
    curve = net_benefit(none)
    assert (curve.net.tolist(), curve.share.tolist(), curve.knee()) == ([0.0], [0.0], None)
    assert at_random(none, np.random.default_rng(1), draws=3).mean.tolist() == [0.0] * 101
    assert worth(none, 0.5, 1.0, np.random.default_rng(1)).per_month == 0
    equal = net_benefit(occasions_of([(0.5, 1.0, 0.0), (0.5, 0.0, 0.0)]))
    assert equal.acted.tolist() == [0, 2]
    with pytest.raises(ParameterError, match="nan"):
        occasions_of([(float("nan"), 0.0, 0.0)])
    with pytest.raises(ParameterError, match="hours"):
        worth(none, 0.5, 0.0, np.random.default_rng(1))


def test_attribution_alone_bends_the_curve() -> None:
    """Where high values answer for more work, but not for more of it lost, nothing is told."""
    rng = np.random.default_rng(8)
    value = rng.random(2000)
    potential = np.where(rng.random(2000) < value, rng.exponential(10, 2000), 0.0)
    lost = rng.random(2000) < 0.3
    gain = np.where(lost, potential, 0.0)
    none = np.zeros(2000)
    blind = Occasions(value, gain, none, gain > 0, np.arange(2000), potential)
    curve = net_benefit(blind)
    random = at_random(blind, rng, draws=200)
    same = unrelated(blind, rng, draws=400)
    at = np.interp(same.share, curve.share, curve.net)
    assert at[30] > random.high[30]  # it looks useful beside acting at random
    assert np.mean((at >= same.low - 1e-9) & (at <= same.high + 1e-9)) > 0.7
    assert same.mean[-1] == pytest.approx(gain.sum())
    assert same.drawn_mean == pytest.approx(same.mean, rel=0.05, abs=0.01 * gain.sum())
    knows = np.where(rng.random(2000) < value**3, potential, 0.0)
    told = Occasions(value, knows, none, knows > 0, np.arange(2000), potential)
    curve, same = net_benefit(told), unrelated(told, rng, draws=400)
    assert np.interp(same.share, curve.share, curve.net)[30] > same.high[30]
    with pytest.raises(ParameterError, match="potential"):
        unrelated(occasions_of([(0.5, 1.0, 0.0)]), rng)


def test_nothing_hangs_on_any_occasion() -> None:
    zero = np.zeros(3)
    empty = Occasions(np.arange(3.0), zero, zero + 1, zero > 0, np.arange(3), zero)
    band = unrelated(empty, np.random.default_rng(1), draws=5, points=4)
    assert band.mean.tolist() == band.low.tolist() == [0, -1, -2, -3]


def test_the_curve_has_the_name_of_its_predictor() -> None:
    occasions = occasions_of([(0.1, 0.0, 1.0), (0.2, 5.0, 1.0), (0.3, 9.0, 1.0)])
    band = at_random(occasions, np.random.default_rng(1), draws=20)
    for named, label in (({"name": "recency"}, "recency"), ({}, "predictor")):
        axes = plot_benefit(net_benefit(occasions), band, perfect(occasions), **named).axes[0]
        assert label in [line.get_label() for line in axes.lines]
