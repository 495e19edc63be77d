"""Time series and rules in one model."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.models.joined.joined import Joined, logistic
from forestall.prediction.models.joined.joined_kernels import follow_metric
from forestall.prediction.models.joined.metrics import MetricModel
from forestall.prediction.models.linear.learners import outcomes
from forestall.prediction.models.registry import new_learner

HOUR, DAY = 3600, 86_400


def heating(seed: int = 0, nodes: int = 15, days: int = 120) -> Observations:
    """Nodes whose temperature climbs for a day before most of their failures; the other metric says
    nothing, and has gaps."""
    rng = np.random.default_rng(seed)
    number = days * 24 // 2
    heat = rng.normal(0, 1, (nodes, number)) + 50
    noise = rng.normal(0, 1, (nodes, number))
    noise[rng.random(noise.shape) < 0.1] = np.nan
    times, places = [], []
    for node in range(nodes):
        for start in np.flatnonzero(rng.random(number - 14) < 0.01).tolist():
            heat[node, start : start + 12] += np.linspace(1, 8, 12)
            times.append((start + 12) * 2 * HOUR + int(rng.integers(0, 2 * HOUR)))
            places.append(node)
    when = np.tile(np.arange(number) * 2 * HOUR, nodes)
    value = np.stack([heat.ravel(), noise.ravel()], axis=1)
    metrics = Metrics(
        when, np.repeat(np.arange(nodes), number), value, ("temp_c", "noise"), nodes,
        period=2 * HOUR,
    )  # fmt: skip
    return Observations.of(
        Failures.build(times, places), begin=0, end=days * DAY, nodes=nodes, metrics=metrics
    )


@pytest.fixture(scope="module")
def trained() -> tuple[Joined, Observations]:
    seen = heating()
    made = Joined()
    made.fit(seen.until(80 * DAY))
    return made, seen


def test_metrics_that_tell_are_used(trained: tuple[Joined, Observations]) -> None:
    made, seen = trained
    times = np.arange(80 * DAY, 119 * DAY, HOUR)
    failed, _ = outcomes(seen, times, 6 * HOUR)
    chance = made.chances(seen, times)[:, :, 1]
    alone = Joined()
    alone.fit(replace(seen, metrics=None).until(80 * DAY))
    blind = alone.chances(seen, times)[:, :, 1]
    assert ((chance - failed) ** 2).mean() < 0.8 * ((blind - failed) ** 2).mean()
    assert chance.sum() == pytest.approx(failed.sum(), rel=0.2)


def test_what_comes_later_changes_nothing(trained: tuple[Joined, Observations]) -> None:
    made, seen = trained
    times = np.arange(80 * DAY, 119 * DAY, 3 * HOUR + 11)
    whole = made.chances(seen, times)
    cut = 100 * DAY + 7
    late = seen.between(cut, seen.end)
    assert late.metrics is not None
    changed = replace(
        late,
        failures=Failures.build(cut + np.arange(100) * 999, np.arange(100) % 15),
        metrics=replace(late.metrics, value=late.metrics.value * 2 + 5),
    )
    other = seen.until(cut).then(changed)
    before = times <= cut
    assert np.array_equal(whole[before], made.chances(other, times)[before])
    assert not np.array_equal(whole, made.chances(other, times))


def test_saved_and_restored_it_answers_alike(trained: tuple[Joined, Observations]) -> None:
    made, _ = trained
    values, arrays = made.state()
    again = Joined.from_state(json.loads(json.dumps(values)), arrays)
    assert np.array_equal(made.hazards(), again.hazards())


def test_without_metrics_or_failures() -> None:
    for failures, nodes, end in (
        (Failures.build([], []), 3, 10 * DAY),
        (Failures.build([5], [0]), 1, 10),
        (Failures.build([], []), 1, 0),
    ):
        made = Joined()
        made.fit(Observations.of(failures, begin=0, end=end, nodes=nodes))
        table = made.chances(made.seen, np.array([end]))
        assert np.all((table >= 0) & (table <= 1))
        assert np.all(np.diff(table, axis=2) >= 0)


def test_training_is_the_same_twice() -> None:
    seen = heating(2, nodes=5, days=60)
    tables = []
    for _ in range(2):
        made = Joined()
        made.fit(seen)
        tables.append(made.hazards())
    assert np.array_equal(*tables)


def test_metrics_are_forecast_as_by_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    node = np.repeat([0, 2], 30)
    value = rng.normal(5, 2, 60)
    value[[0, 7, 40]] = np.nan
    ar = np.array([0.4, -0.2, 0.1])
    scores, trends = np.zeros(60), np.zeros(60)
    follow_metric(node, value, ar, 0.3, 0.05, 1.5, np.zeros(3), scores, trends)
    for one in (0, 2):
        level = None
        past: list[float] = []
        for k in np.flatnonzero((node == one) & np.isfinite(value)).tolist():
            x = value[k]
            if level is None:
                level = quick = x
                power = 1.5**2
                assert scores[k] == trends[k] == 0
                continue
            error = x - level - sum(a * d for a, d in zip(ar, past[::-1], strict=False))
            scale = max(power, 1e-4 * 1.5**2) ** 0.5
            assert scores[k] == pytest.approx(error / scale)
            power += 0.05 * (min(max(error, -5 * scale), 5 * scale) ** 2 - power)
            past = [*past, x - level][-3:]
            level += 0.05 * (x - level)
            quick += 0.3 * (x - quick)
            assert trends[k] == pytest.approx((quick - level) / scale)
    assert scores[7] == scores[6]


def test_last_samples() -> None:
    metrics = heating(1, nodes=3, days=4).metrics
    assert metrics is not None
    model = MetricModel.learn(metrics)
    asked = np.array([0, 1, 2 * HOUR, 2 * HOUR + 1, 30 * DAY])
    found = model.latest(metrics, asked, np.full(5, 1))
    assert found.tolist() == [-1, 48, 48, 49, -1]


def test_autoregression_of_a_metric_is_found() -> None:
    rng = np.random.default_rng(0)
    series = np.zeros((20, 400))
    for k in range(1, 400):
        series[:, k] = 0.7 * series[:, k - 1] + rng.normal(0, 1, 20)
    when = np.tile(np.arange(400) * 60, 20)
    metrics = Metrics(when, np.repeat(np.arange(20), 400), series.reshape(-1, 1), ("x",), 20)
    assert MetricModel.learn(metrics).ar[0] == pytest.approx([0.65, 0.0, 0.0], abs=0.12)


def test_logistic_weights_are_those_of_the_posterior() -> None:
    rng = np.random.default_rng(0)
    design = np.column_stack((np.ones(4000), rng.normal(0, 1, (4000, 2))))
    true = np.array([-2.0, 1.0, 0.0])
    failed = rng.random(4000) < expit(design @ true)
    weight = np.ones(4000)
    prior = np.array([0.0, 0.0, 0.5])
    found = logistic(design, failed, weight, prior, 0.7)
    rigid = np.array([0.01, 1, 1]) / 0.49
    slope = design.T @ (failed - expit(design @ found)) - rigid * (found - prior)
    assert slope == pytest.approx(np.zeros(3), abs=1e-4)
    assert found == pytest.approx(true, abs=0.2)
    half = logistic(design[:10], failed[:10], weight[:10], prior, 1e-4)
    assert half[1:] == pytest.approx(prior[1:], abs=1e-3)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="width"):
        Joined(width=0)
    with pytest.raises(ParameterError, match="size"):
        new_learner("joined", rules={"size": 9})
