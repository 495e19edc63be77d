"""Combinations: no worse than their members, weights that tell members apart, nested files."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.registry import new_learner
from forestall.prediction.models.stacked import (
    Stacked,
    _HeldOut,
    combination,
    default_members,
    log_odds,
)

HOUR, DAY = 3600, 86_400
NODES, DAYS = 30, 300
FEW = ["constant", "rate", "recency"]


@cache
def machine(seed: int = 0, spread: float = 2.0) -> Observations:
    """Nodes whose rates differ."""
    rng = np.random.default_rng(seed)
    rate = 0.02 * np.exp(spread * rng.normal(size=NODES))
    count = rng.poisson(np.minimum(rate, 1.0) * DAYS)
    node = np.repeat(np.arange(NODES), count)
    log = Failures.build(rng.integers(0, DAYS * DAY, len(node)), node)
    return Observations.of(log, begin=0, end=DAYS * DAY, nodes=NODES)


LATER = np.arange(200, DAYS - 7) * DAY


@cache
def trained() -> Stacked:
    made = Stacked(members=FEW)
    made.learn(machine().until(200 * DAY))
    return made


def failing(o: Observations, times: np.ndarray, horizon: int) -> np.ndarray:
    failed = np.zeros((len(times), o.nodes), dtype=bool)
    for t, n in zip(o.failures.time, o.failures.node, strict=True):
        failed[(times <= t) & (t < times + horizon), n] = True
    return failed


def brier(made: Learner, k: int) -> float:
    chance = made.chances(machine(), LATER)[..., k]
    return float(((chance - failing(machine(), LATER, made.horizons[k])) ** 2).mean())


def test_it_is_as_good_as_the_best_member() -> None:
    for k in (2, 3):
        each = {}
        for name in FEW:
            member = new_learner(name)
            member.learn(machine().until(200 * DAY))
            each[name] = brier(member, k)
        assert brier(trained(), k) < 1.03 * min(each.values())
        assert brier(trained(), k) < each["constant"]


def test_where_nodes_differ_their_rates_weigh_most() -> None:
    weights = trained().weights()
    assert list(weights) == FEW
    assert all(w >= 0 for row in weights.values() for w in row)
    assert weights["rate"][2] > max(weights["constant"][2], weights["recency"][2])


def test_where_nodes_are_alike_nothing_is_lost() -> None:
    o = machine(3, 0.0)
    made = Stacked(members=FEW)
    made.learn(o.until(200 * DAY))
    for k in (2, 3):
        failed = failing(o, LATER, made.horizons[k])
        level = failing(o, np.arange(190) * DAY, made.horizons[k]).mean()
        loss = ((made.chances(o, LATER)[..., k] - failed) ** 2).mean()
        assert 1 - loss / ((level - failed) ** 2).mean() > -0.02


def test_probabilities_ascend() -> None:
    chance = trained().chances(machine(), LATER)
    assert chance.shape == (len(LATER), NODES, 4)
    assert (chance > 0).all()
    assert (chance < 1).all()
    assert (np.diff(chance, axis=-1) >= 0).all()


def test_what_comes_later_changes_nothing() -> None:
    o, cut = machine(), int(LATER[20])
    other = o.until(cut).then(machine(9).between(cut, o.end))
    wanted = trained().chances(o, LATER[:21])
    np.testing.assert_array_equal(trained().chances(other, LATER[:21]), wanted)
    again = Stacked(members=FEW)
    again.learn(machine().until(250 * DAY).until(200 * DAY))
    np.testing.assert_array_equal(again.chances(o, LATER), trained().chances(o, LATER))


def test_members_and_weights_go_through_json() -> None:
    values, arrays = trained().learnt()
    kept = json.loads(json.dumps({n: a.tolist() for n, a in arrays.items()}))
    again = Stacked(**json.loads(json.dumps(trained().settings)))
    again.restore(json.loads(json.dumps(values)), {n: np.asarray(a) for n, a in kept.items()})
    wanted = trained().chances(machine(), LATER)
    np.testing.assert_array_equal(again.chances(machine(), LATER), wanted)
    assert again.weights() == trained().weights()


def test_boosted_trees_as_a_member_go_through_json() -> None:
    pytest.importorskip("sklearn")
    made = Stacked(members=["rate", "boosted"], horizons=[6 * HOUR, DAY])
    made.learn(machine().until(200 * DAY))
    values, arrays = made.learnt()
    again = Stacked(**made.settings)
    again.restore(json.loads(json.dumps(values)), arrays)
    wanted = made.chances(machine(), LATER)
    np.testing.assert_array_equal(again.chances(machine(), LATER), wanted)


@pytest.mark.parametrize("number", [0, 1, 5])
def test_few_failures_leave_equal_weights(number: int) -> None:
    log = Failures.build(np.arange(1, number + 1) * 15 * DAY, np.arange(number))
    o = Observations.of(log, begin=0, end=100 * DAY, nodes=10)
    made = Stacked(members=["constant", "rate"])
    made.learn(o)
    chance = made.chances(o, np.array([50, 99]) * DAY)
    assert np.isfinite(chance).all()
    assert made.weights() == {"constant": [0.5] * 4, "rate": [0.5] * 4}
    assert chance[..., 2].max() < 0.1


@pytest.mark.parametrize("span", [0, 1, HOUR])
def test_short_windows(span: int) -> None:
    o = Observations.of(Failures.none(), begin=0, end=span, nodes=1)
    made = Stacked(members=["constant"])
    made.learn(o)
    assert made.chances(o, np.array([span])).shape == (1, 1, 4)


def test_members_that_need_more_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    from forestall.prediction.models.baselines.rate import Rate

    monkeypatch.setattr(Rate, "needs", frozenset({"failures", "metrics"}))
    made = Stacked(members=["constant", "rate"])
    made.learn(machine())
    assert list(made.weights()) == ["constant"]
    with pytest.raises(ParameterError, match=r"members: 'rate' .* needs only failures"):
        Stacked(members=["rate"]).learn(machine())


def test_default_members_are_the_baselines_and_what_can_be_trained() -> None:
    names = default_members()
    assert names[:5] == ["constant", "rate", "recency", "periodic", "renewal"]
    assert names[5:] in ([], ["boosted"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("members", ["nobody"]), ("members", ["stacked"]), ("members", []), ("ridge", -1.0),
     ("members", ["rate", "rate"]), ("calibration", "beta"), ("seed", -1), ("horizons", [2, 1])],
)  # fmt: skip
def test_settings_that_are_not_allowed(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        Stacked(**{name: value})


def test_log_odds_of_conditional_failure() -> None:
    chance = np.array([[0.1, 0.28, 0.28, 1.0]])
    odds = log_odds(chance)
    np.testing.assert_allclose(expit(odds[0, :2]), [0.1, 0.2])
    assert odds[0, 2] < -20
    assert np.isfinite(log_odds(np.array([0.0, 0.0, 1.0, 1.0]))).all()


def test_combination_finds_the_weights_it_was_drawn_with() -> None:
    rng = np.random.default_rng(1)
    odds = rng.normal(size=(3, 30_000))
    failed = rng.random(30_000) < expit(1.5 * odds[0] + 0.5 * odds[1] - 1.0 * odds[2] - 2)
    weights, shift = combination(odds, failed, np.ones(30_000), 0.0)
    np.testing.assert_allclose(weights, [1.5, 0.5, 0.0], atol=0.25)
    assert weights[2] == 0
    assert shift == pytest.approx(-2, abs=0.4)
    far, _ = combination(odds, failed, np.ones(30_000), 1e9)
    np.testing.assert_allclose(far, 1 / 3, atol=1e-3)


def test_held_out_moments_stand_for_all_of_the_time() -> None:
    o = replace(machine(), failures=machine().failures)
    begin, horizons = 200 * DAY, (HOUR, DAY)
    held = _HeldOut.of(o, begin, horizons, 0)
    assert held.times.min() >= begin
    assert (np.diff(held.times) >= 0).all()
    for k, (low, high) in enumerate(((0, HOUR), (HOUR, DAY))):
        chosen, failed, weight = held.rows(k)
        time, node = held.times[chosen // NODES], chosen % NODES
        assert (time + high <= o.end).all()
        for j in range(0, len(chosen), 9973):
            later = o.failures.time[(o.failures.node == node[j]) & (o.failures.time >= time[j])]
            assert len(later) == 0 or later[0] - time[j] >= low
            assert failed[j] == (len(later) > 0 and later[0] - time[j] < high)
        number = (o.failures.time >= begin).sum()
        assert weight[failed].sum() == pytest.approx(number, rel=0.2)
        assert weight.sum() == pytest.approx(NODES * 100 * DAY / (high - low), rel=0.1)


def test_one_member_keeps_its_order() -> None:
    made = Stacked(members=["rate"])
    made.learn(machine().until(200 * DAY))
    alone = new_learner("rate")
    alone.learn(machine().until(200 * DAY))
    one, two = (m.chances(machine(), LATER[:1])[0, :, 2] for m in (made, alone))
    order = np.argsort(two, kind="stable")
    assert (np.diff(one[order]) >= -1e-15).all()
    assert logit(one).std() > 0.1
