"""Boosted trees: planted signals are found, none is invented, the future changes nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from forestall.core.model.errors import MissingExtraError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.models.boosted.boosted import Boosted
from forestall.prediction.models.boosted.rows import NEVER, decisions, spread
from forestall.prediction.models.features.features import features

pytest.importorskip("sklearn")
HOUR, DAY = 3600, 86_400
SMALL = {"trees": 30, "rows": 8000}
NODES, DAYS = 40, 240


@cache
def uneven(seed: int = 0, nodes: int = NODES, days: int = DAYS) -> Observations:
    """A tenth of the nodes fails every other day, in the rest nothing is told; every failure comes
    again half a day later, on the same node, one time in two."""
    rng = np.random.default_rng(seed)
    rate = np.where(np.arange(nodes) % 10 == 3, 0.5, 0.004)
    count = rng.poisson(rate * days)
    node = np.repeat(np.arange(nodes), count)
    time = rng.integers(0, days * DAY, len(node))
    again = rng.random(len(node)) < 0.5
    time = np.concatenate((time, time[again] + rng.integers(1, DAY, again.sum())))
    node = np.concatenate((node, node[again]))
    inside = time < days * DAY
    log = Failures.build(time[inside], node[inside])
    return Observations.of(log, begin=0, end=days * DAY, nodes=nodes)


@cache
def alike(seed: int, nodes: int = NODES, days: int = DAYS) -> Observations:
    """All nodes fail at the same constant rate."""
    rng = np.random.default_rng([seed, 7])
    time = rng.integers(0, days * DAY, 500)
    log = Failures.build(time, rng.integers(0, nodes, 500))
    return Observations.of(log, begin=0, end=days * DAY, nodes=nodes)


def failing(o: Observations, times: np.ndarray, horizon: int) -> np.ndarray:
    """bool[T, N]: whether each node fails within the horizon."""
    failed = np.zeros((len(times), o.nodes), dtype=bool)
    for t, n in zip(o.failures.time, o.failures.node, strict=True):
        failed[(times <= t) & (t < times + horizon), n] = True
    return failed


def area(scores: np.ndarray, failed: np.ndarray) -> float:
    one, none = scores[failed], np.sort(scores[~failed])
    below, upto = np.searchsorted(none, one, "left"), np.searchsorted(none, one, "right")
    return float((below + upto).mean() / 2 / len(none))


def skill(chance: np.ndarray, failed: np.ndarray, level: float) -> float:
    return float(1 - ((chance - failed) ** 2).mean() / ((level - failed) ** 2).mean())


@cache
def trained(seed: int = 0) -> Boosted:
    made = Boosted(**SMALL)
    made.learn(uneven(seed).until(160 * DAY))
    return made


LATER = np.arange(160, DAYS - 7) * DAY


def test_a_planted_signal_is_found_in_the_failures() -> None:
    o = uneven()
    chance = trained().chances(o, LATER)
    for k, horizon in enumerate(trained().horizons):
        failed = failing(o, LATER, horizon)
        assert area(chance[..., k], failed) > (0.9 if horizon <= DAY else 0.8)
        if horizon >= DAY:
            assert skill(chance[..., k], failed, failed.mean()) > 0.1
            assert chance[..., k].mean() == pytest.approx(failed.mean(), rel=0.3)


def test_a_planted_signal_is_found_in_a_metric() -> None:
    rng = np.random.default_rng(4)
    nodes, days = 20, 200
    time = np.sort(rng.choice(np.arange(5, days) * DAY, 150, replace=False)) + 10 * HOUR
    log = Failures.build(time, rng.integers(0, nodes, 150))
    at, node = np.tile(np.arange(0, days * DAY, 6 * HOUR), nodes), np.repeat(np.arange(nodes), 800)
    value = rng.normal(40, 1, (len(at), 1))
    for t, n in zip(log.time, log.node, strict=True):
        value[(node == n) & (at < t) & (at >= t - DAY), 0] += 15
    metrics = Metrics(at, node, value, ("heat",), nodes, period=6 * HOUR)
    o = Observations.of(log, begin=0, end=days * DAY, nodes=nodes, metrics=metrics)
    made = Boosted(**SMALL, horizons=[6 * HOUR, DAY])
    made.learn(o.until(130 * DAY))
    times = np.arange(130, days - 1) * DAY + 20 * HOUR
    chance = made.chances(o, times)
    assert area(chance[..., 1], failing(o, times, DAY)) > 0.9
    assert next(iter(made.importance())).startswith("heat:")


@pytest.mark.parametrize("seed", range(3))
def test_where_there_is_nothing_to_find_nothing_is_lost(seed: int) -> None:
    o = alike(seed)
    made = Boosted(**SMALL)
    made.learn(o.until(160 * DAY))
    chance = made.chances(o, LATER)
    for k, horizon in enumerate(made.horizons):
        failed = failing(o, LATER, horizon)
        level = failing(o, np.arange(150) * DAY, horizon).mean()
        assert -0.02 < skill(chance[..., k], failed, level) < 0.02


def test_probabilities_ascend_and_are_never_certain() -> None:
    chance = trained().chances(uneven(), LATER)
    assert chance.shape == (len(LATER), NODES, 4)
    assert (chance > 0).all()
    assert (chance < 1).all()
    assert (np.diff(chance, axis=-1) >= 0).all()


def test_answers_do_not_know_what_comes_later() -> None:
    o, cut = uneven(), int(LATER[30])
    other = o.until(cut).then(uneven(5).between(cut, o.end))
    wanted = trained().chances(o, LATER[:31])
    np.testing.assert_array_equal(trained().chances(other, LATER[:31]), wanted)
    np.testing.assert_array_equal(trained().chances(other, LATER)[:31], wanted)
    np.testing.assert_array_equal(trained().chances(o.until(cut), LATER[:31]), wanted)


def test_training_does_not_know_what_comes_later() -> None:
    o = uneven()
    other = o.until(160 * DAY).then(alike(1).between(160 * DAY, o.end))
    made = Boosted(**SMALL)
    made.learn(other.until(160 * DAY))
    np.testing.assert_array_equal(made.chances(o, LATER), trained().chances(o, LATER))


def test_clocks_do_not_matter() -> None:
    o = uneven()
    made = Boosted(**SMALL)
    made.learn(o.until(160 * DAY).moved(12_345))
    answer = made.chances(o.moved(12_345), LATER + 12_345)
    np.testing.assert_allclose(answer, trained().chances(o, LATER), rtol=1e-6)


def test_what_was_learnt_goes_through_json() -> None:
    values, arrays = trained().learnt()
    kept = json.loads(json.dumps({n: a.tolist() for n, a in arrays.items()}))
    again = Boosted(**json.loads(json.dumps(trained().settings)))
    again.restore(
        json.loads(json.dumps(values)), {n: np.asarray(a, arrays[n].dtype) for n, a in kept.items()}
    )
    o = uneven()
    np.testing.assert_array_equal(again.chances(o, LATER), trained().chances(o, LATER))
    assert again.importance() == trained().importance()


def test_asking_needs_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    values, arrays = trained().learnt()
    for name in [n for n in sys.modules if n.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    again = Boosted(**SMALL)
    again.restore(values, arrays)
    assert again.chances(uneven(), LATER[:1]).shape == (1, NODES, 4)
    with pytest.raises(MissingExtraError, match=r"pip install 'forestall\[learn\]'"):
        again.learn(uneven())


@pytest.mark.parametrize("number", [0, 1, 5])
def test_few_failures_leave_the_base_rate(number: int) -> None:
    log = Failures.build(np.arange(1, number + 1) * 15 * DAY, np.arange(number))
    o = Observations.of(log, begin=0, end=100 * DAY, nodes=10)
    made = Boosted(**SMALL)
    made.learn(o)
    chance = made.chances(o, np.array([50, 99]) * DAY)
    assert np.ptp(chance, axis=(0, 1)).max() == 0
    expected = (number + 0.5) / 1000
    assert expected / 3 < chance[0, 0, 2] < expected * 3
    assert made.importance() == {}


@pytest.mark.parametrize(("nodes", "span"), [(1, 1), (1, 0), (3, HOUR), (1, 400 * DAY)])
def test_short_windows_and_one_node(nodes: int, span: int) -> None:
    time = np.arange(0, span, 5 * DAY)
    log = Failures.build(time, np.zeros(len(time), dtype=int))
    o = Observations.of(log, begin=0, end=span, nodes=nodes)
    made = Boosted(**SMALL)
    made.learn(o)
    chance = made.chances(o, np.array([span]))
    assert chance.shape == (1, nodes, 4)
    assert ((chance >= 0) & (chance <= 1)).all()


def test_fitting_and_updating_through_the_predictor() -> None:
    made = Boosted(**SMALL)
    made.fit(uneven().until(160 * DAY))
    calm = int(np.argmin(made.failure_probability(np.arange(NODES), made.now, made.now + DAY)))
    before = made.failure_probability(np.array([calm]), made.now, made.now + DAY)[0]
    made.update(made.now + HOUR, calm)
    after = made.failure_probability(np.array([calm]), made.now + 1, made.now + DAY)[0]
    assert after > 2 * before


@pytest.mark.parametrize(
    ("name", "value"),
    [("trees", 0), ("leaves", 1), ("leaves", 32), ("rate", 0.0), ("ridge", -1.0), ("rows", 5),
     ("rows", 10**6 + 1), ("trees", 2001),
     ("calibration", "beta"), ("seed", -1), ("horizons", [])],
)  # fmt: skip
def test_settings_that_are_not_allowed(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        Boosted(**{name: value})


def test_moments_to_learn_from_and_what_each_stands_for() -> None:
    o = uneven()
    o = replace(o, failures=replace(o.failures, nodes=o.nodes))
    drawn = decisions(o, (HOUR, DAY), np.random.default_rng(0), begin=DAY, rows=3000, each=3)
    assert (np.diff(drawn.time) >= 0).all()
    assert drawn.time.min() >= DAY
    assert (drawn.time + HOUR <= o.end).all()
    by_node = {n: np.sort(o.failures.time[o.failures.node == n]) for n in range(NODES)}
    for t, n, ahead in zip(drawn.time[::37], drawn.node[::37], drawn.ahead[::37], strict=True):
        later = by_node[n][by_node[n] >= t]
        assert ahead == (later[0] - t if len(later) else NEVER)
    assert drawn.weight.sum() == pytest.approx(NODES * (DAYS - 1) * DAY, rel=0.01)
    within = failing(o, np.arange(DAY, o.end - DAY, HOUR), DAY).mean()
    chosen = drawn.within(DAY, o.end, 0, DAY)
    share = np.average(drawn.ahead[chosen] < DAY, weights=drawn.weight[chosen])
    assert share == pytest.approx(within, rel=0.05)
    late = drawn.within(100 * DAY, 120 * DAY, HOUR, DAY)
    assert drawn.time[late].min() >= 100 * DAY
    assert drawn.time[late].max() + DAY <= 120 * DAY
    assert drawn.ahead[late].min() >= HOUR


def test_spreading_covers_every_second_once() -> None:
    rng = np.random.default_rng(0)
    which, time = spread(np.array([5, 100, 50]), np.array([3, 0, 4]), 100, rng)
    assert sorted(time) == [5, 6, 7, 50, 51, 52, 53]
    assert sorted(which) == [0, 0, 0, 2, 2, 2, 2]
    assert len(spread(np.array([5]), np.array([0]), 3, rng)[0]) == 0


def test_what_is_asked_in_one_go_is_what_is_asked_in_parts() -> None:
    o = uneven()
    whole = trained().chances(o, LATER)
    parts = [trained().chances(o, LATER[k : k + 7]) for k in range(0, len(LATER), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert features(o, LATER).values.shape[0] == len(LATER)


def test_failures_at_one_hour_of_the_day_do_not_multiply() -> None:
    """All failures of few days come at midnight, and most of them on a few days: near midnight as
    many are foretold as came, not hundreds."""
    rng = np.random.default_rng(4)
    nodes, days = 4000, 40
    day = np.sort(rng.choice([5, 8, 9, 14, 20, 21, 22, 26, 29, 33, 34, 36, 38], 90))
    log = Failures.build(day * DAY, rng.choice(nodes, 90, replace=False))
    past = Observations.of(replace(log, nodes=nodes, span=days * DAY, origin=0), nodes=nodes)
    learner = Boosted()
    learner.learn(past)
    times = np.arange(5 * DAY, days * DAY, DAY) - HOUR // 4
    told = learner.chances(past, times)[..., 0].sum()
    assert 0.2 * 90 < told < 6 * 90
    night = learner.chances(past, times + 12 * HOUR)[..., 0].sum()
    assert night < 10
