"""Outliers in metrics: surprises beside plain counts, leaks found, what may be known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from forestall.core.files.held import Held
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.constant import Constant
from forestall.prediction.models.baselines.histories import fails_within
from forestall.prediction.models.outliers.outliers import Outlier, logistic, was_well
from forestall.prediction.models.outliers.score import (
    KNOTS,
    curves_of,
    reference_from,
    reference_of,
)

HOUR, DAY = 3600, 86_400
Floats = npt.NDArray[np.float64]


# ------------------------------------------------------------------------------------- surprises


@pytest.mark.parametrize("number", [25, 300, 20_000])
def test_a_surprise_is_the_share_of_samples_as_high(number: int) -> None:
    sample = np.random.default_rng(number).exponential(2.0, number)
    found = curves_of(sample[:, None])
    for x in np.quantile(sample, [0.05, 0.5, 0.9]).tolist():
        share = float((sample >= x).mean())
        assert found(np.array([[x]]))[0, 0] == pytest.approx(-np.log10(share), abs=1 / number**0.5)
    assert found(np.array([[-5.0], [sample.min()]]))[:, 0].tolist() == [0, 0]


def test_beyond_the_samples_the_tail_is_exponential() -> None:
    sample = np.random.default_rng(1).exponential(2.0, 50_000)
    found = curves_of(sample[:, None])
    for x in (15.0, 30.0, 60.0):
        assert found(np.array([[x]]))[0, 0] == pytest.approx(x / 2 * np.log10(np.e), rel=0.1)
    assert found(np.array([[1e9]]))[0, 0] == 300


def test_values_that_come_often_surprise_nobody() -> None:
    sample = np.append(np.zeros(900), np.linspace(1, 2, 100))
    found = curves_of(sample[:, None])(np.array([[0.0], [1.0], [2.0], [3.0]]))[:, 0]
    assert found[0] == 0
    assert found[1] == pytest.approx(1, abs=0.02)
    assert np.all(np.diff(found) > 0)
    level = curves_of(np.full((50, 1), 7.0))(np.array([[6.0], [7.0], [7.1]]))[:, 0]
    assert level.tolist() == [0, 0, 300]


def test_too_few_samples_tell_nothing() -> None:
    sample = np.full((100, 2), np.nan)
    sample[:19, 0], sample[:, 1] = np.arange(19), np.arange(100)
    curves = curves_of(sample)
    assert curves.value.shape == (2, KNOTS)
    assert curves(np.array([[1e6, np.nan]]))[0, 0] == 0
    assert np.isnan(curves(np.array([[1e6, np.nan]]))[0, 1])


@pytest.mark.parametrize("method", ["univariate", "mahalanobis"])
@pytest.mark.parametrize("side", ["high", "low", "both"])
def test_sides(method: Any, side: Any) -> None:
    samples = np.random.default_rng(2).normal(10, 1, (5000, 2))
    law = reference_of(samples, side, method, np.random.default_rng(3))
    up, down, middle = law.surprise(np.array([[16.0, 10.0], [10.0, 4.0], [10.0, 10.0]])).tolist()
    assert (up > 4) == (side in ("high", "both"))
    assert (down > 4) == (side in ("low", "both"))
    assert middle < 0.5
    again = reference_from(Held({}, law.arrays()), 2, side, method)
    assert np.array_equal(again.surprise(samples[:50]), law.surprise(samples[:50]))


def test_together_metrics_tell_what_each_does_not() -> None:
    rng = np.random.default_rng(4)
    load = rng.normal(0, 1, 5000)
    samples = np.stack((load, load + rng.normal(0, 0.1, 5000)), axis=1)
    odd = np.array([[1.0, -1.0]])  # neither is odd by itself
    found = [
        float(reference_of(samples, "both", method, rng).surprise(odd)[0])  # type: ignore[arg-type]
        for method in ("univariate", "mahalanobis")
    ]
    assert found[0] < 1
    assert found[1] > 10


def test_the_share_of_alarms_among_the_well_is_what_was_asked_for() -> None:
    samples = np.random.default_rng(5).gamma(2, 1, (40_000, 3))
    for method in ("univariate", "mahalanobis"):
        law = reference_of(samples[:20_000], "high", method, np.random.default_rng(6))  # type: ignore[arg-type]
        for share in (0.05, 0.001):
            found = float((law.surprise(samples[20_000:]) >= -np.log10(share)).mean())
            assert 0.3 * share < found < 2 * share


def test_a_sample_without_metrics_has_no_surprise() -> None:
    samples = np.random.default_rng(7).normal(0, 1, (100, 2))
    for method in ("univariate", "mahalanobis"):
        law = reference_of(samples, "high", method, np.random.default_rng(8))  # type: ignore[arg-type]
        found = law.surprise(np.array([[np.nan, np.nan], [np.nan, 9.0], [9.0, 9.0]]))
        assert np.isnan(found[0])
        assert found[1] > 3
        assert found[2] > 3


# ------------------------------------------------------------------------------------ well nodes


def test_who_was_well_beside_loops() -> None:
    rng = np.random.default_rng(9)
    log = Failures.build(rng.integers(0, 500, 30), rng.integers(0, 4, 30), rng.integers(-1, 40, 30))
    time, node = rng.integers(-20, 600, 400), rng.integers(0, 5, 400)
    for guard, until in ((25, 1000), (0, 1000), (60, 250)):
        found = was_well(log, time, node, guard, until)
        for t, n, well in zip(time.tolist(), node.tolist(), found.tolist(), strict=True):
            mine = [
                (f, max(d, 0))
                for f, k, d in zip(log.time, log.node, log.downtime, strict=True)
                if k == n and f < until
            ]
            failing = any(t <= f < t + guard for f, _ in mine)
            earlier = [(f, d) for f, d in mine if f < t]
            down = bool(earlier) and t < earlier[-1][0] + earlier[-1][1]
            assert well == (not failing and not down) or len({f for f, _ in mine}) < len(mine)


def test_without_failures_all_were_well() -> None:
    assert was_well(Failures.none(), np.array([1, 2]), np.array([0, 0]), 9, 9).all()


def test_the_logistic_is_a_penalised_maximum() -> None:
    rng = np.random.default_rng(10)
    x = rng.exponential(1, 20_000)
    failed = rng.random(20_000) < 1 / (1 + np.exp(4 - 1.5 * x))
    level, slope = logistic(x, failed, 1.0, 0.02)
    assert level == pytest.approx(-4, abs=0.15)
    assert slope == pytest.approx(1.5, abs=0.1)


def test_the_logistic_does_not_fall() -> None:
    x = np.linspace(0, 3, 3000)
    level, slope = logistic(x, x < 0.5, 1.0, 0.1)
    assert slope == 0
    assert 1 / (1 + np.exp(-level)) == pytest.approx(1 / 6, rel=0.01)
    level, slope = logistic(np.array([]), np.array([], dtype=bool), 1.0, 0.1)
    assert (1 / (1 + np.exp(-level)), slope) == (pytest.approx(0.1), 0)


# ----------------------------------------------------------------------------------- the learner


def leaking(seed: int = 1, nodes: int = 40, days: int = 60, leaks: bool = True) -> Observations:
    """Return nodes whose memory fills up in the last 12 hours before a failure, if it leaks."""
    rng, end = np.random.default_rng(seed), days * DAY
    time, node = rng.integers(2 * DAY, end, 150), rng.integers(0, nodes, 150)
    log = Failures.build(time, node, np.full(150, 600))
    moments = np.arange(0, end, HOUR)
    value = rng.beta(1, 12, (nodes, len(moments)))
    for t, n in zip(time.tolist(), node.tolist(), strict=True):
        if leaks:
            close = (moments < t) & (moments >= t - 12 * HOUR)
            value[n, close] = np.maximum(value[n, close], 0.97 - 0.5 * (t - moments[close]) / DAY)
    table = Metrics(
        np.tile(moments, nodes),
        np.repeat(np.arange(nodes), len(moments)),
        np.stack((value.ravel(), rng.normal(40, 3, value.size)), axis=1),
        ("memory_share", "temperature_c"),
        nodes,
        period=HOUR,
    )
    return Observations.of(log, begin=0, end=end, nodes=nodes, metrics=table)


def area(scores: Floats, failed: npt.NDArray[np.bool_]) -> float:
    ranks = stats.rankdata(scores)
    hits = int(failed.sum())
    return float((ranks[failed].sum() - hits * (hits + 1) / 2) / (hits * (~failed).sum()))


VARIANTS: list[dict[str, Any]] = [
    {},
    {"method": "mahalanobis"},
    {"window": 3 * DAY},
    {"metrics": ["memory_share"], "side": "both"},
]


@pytest.mark.parametrize("settings", VARIANTS)
def test_leaks_are_found_before_nodes_fail(settings: dict[str, Any]) -> None:
    seen, split = leaking(), 40 * DAY
    made, plain = Outlier(**settings), Constant()
    for one in (made, plain):
        one.fit(seen.until(split))
    times = np.arange(split, seen.end - 6 * HOUR, 2 * HOUR)
    failed = fails_within(seen.failures, times, seen.nodes, 6 * HOUR)
    scores = made.scores(seen, times)
    assert area(scores.ravel(), failed.ravel()) > 0.95
    said, level = (one.chances(seen, times)[..., 1] for one in (made, plain))
    assert area(said.ravel(), failed.ravel()) == pytest.approx(area(scores.ravel(), failed.ravel()))
    briers = [float(((chance - failed) ** 2).mean()) for chance in (said, level)]
    assert briers[0] < 0.75 * briers[1]
    assert said.mean() == pytest.approx(failed.mean(), rel=0.3)
    alarms = made.alarms(seen, times, 1e-3)
    assert alarms[failed].mean() > 0.5
    assert alarms[~failed].mean() < 0.03


def test_without_leaks_scores_tell_nothing() -> None:
    seen, split = leaking(leaks=False), 40 * DAY
    made = Outlier()
    made.fit(seen.until(split))
    times = np.arange(split, seen.end - DAY, 5 * HOUR)
    failed = fails_within(seen.failures, times, seen.nodes, DAY)
    assert area(made.scores(seen, times).ravel(), failed.ravel()) == pytest.approx(0.5, abs=0.06)
    said = made.chances(seen, times)[..., 2]
    assert said.std() < 0.3 * said.mean()


@pytest.mark.parametrize("settings", VARIANTS)
def test_another_future_changes_nothing(settings: dict[str, Any]) -> None:
    seen, time = leaking(), 45 * DAY + 100
    other = seen.until(time).then(leaking(2).between(time, 60 * DAY))
    made = Outlier(**settings)
    made.fit(seen.until(40 * DAY))
    times = np.array([40 * DAY, 43 * DAY + 7, time - 1, time])
    assert np.array_equal(made.scores(seen, times), made.scores(other, times), equal_nan=True)
    assert np.array_equal(made.chances(seen, times), made.chances(other, times))
    online = made.copy()
    online.observe(seen.between(40 * DAY, time))
    assert online.hazards() == pytest.approx(-np.log1p(-made.chances(seen, times)[-1]), rel=1e-9)


def test_the_latest_sample_counts_while_it_is_fresh() -> None:
    seen = leaking()
    made = Outlier(stale=2 * HOUR)
    made.fit(seen)
    assert seen.metrics is not None
    gone = seen.metrics.take((seen.metrics.node != 3) | (seen.metrics.time < 30 * DAY))
    spiked = replace(gone, value=gone.value.copy())
    last = int(np.flatnonzero((gone.node == 3) & (gone.time == 30 * DAY - HOUR))[0])
    spiked.value[last] = (5.0, 40.0)
    table = replace(seen, metrics=spiked)
    times = 30 * DAY - HOUR + np.array([0, 1, HOUR, 2 * HOUR, 2 * HOUR + 1])
    found = made.scores(table, times)[:, 3]
    assert found[0] < 4
    assert np.all(found[1:4] > 10)
    assert np.isnan(found[4])
    assert made.chances(table, times)[4, 3] == pytest.approx(made.without)


def test_laws_of_late_follow_the_machine() -> None:
    """All nodes get warmer: against the whole past that is odd, against the last days it is not."""
    seen = leaking(leaks=False)
    assert seen.metrics is not None
    warmer = seen.metrics.value.copy()
    warmer[:, 1] += seen.metrics.time / DAY
    seen = replace(seen, metrics=replace(seen.metrics, value=warmer))
    times = np.arange(55 * DAY, 60 * DAY, 7 * HOUR)
    found = []
    for window in (0, 2 * DAY):
        made = Outlier(window=window, metrics=["temperature_c"])
        made.fit(seen.until(40 * DAY))
        found.append(float(np.mean(made.alarms(seen, times, 0.01))))
    assert found[0] > 0.5
    assert found[1] < 0.1


def test_a_metric_that_is_not_there() -> None:
    with pytest.raises(ParameterError, match="memory_share, temperature_c"):
        Outlier(metrics=["fan"]).fit(leaking())


@pytest.mark.parametrize(
    "bad",
    [{"side": "up"}, {"method": "svm"}, {"window": -1}, {"window": 10**7}, {"guard": 0.5},
     {"stale": 10**9}, {"metrics": []}, {"seed": -1}],
)  # fmt: skip
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        Outlier(**bad)


def test_the_share_of_alarms_is_checked() -> None:
    made = Outlier()
    made.fit(leaking())
    with pytest.raises(ParameterError, match="share"):
        made.alarms(made.seen, np.array([0]), 0.0)
