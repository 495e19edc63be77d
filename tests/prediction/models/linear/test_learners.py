"""Linear time series as predictors."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.linear.arma import Arma
from forestall.prediction.models.linear.counts import (
    TRANSFORMS,
    Binned,
    arma_ahead,
    counted,
    expected,
    levels,
    transformed,
    within,
)
from forestall.prediction.models.linear.learners import outcomes
from forestall.prediction.models.linear.pool import pooled
from forestall.prediction.models.linear.shares import Shares
from forestall.prediction.models.registry import new_learner

DAY = 86_400
NAMES = ("last", "bm", "ma", "ar", "arma")


def swelling(seed: int = 0, nodes: int = 12, days: int = 240) -> Observations:
    """Failures whose rate swells and ebbs slowly, on nodes that differ."""
    rng = np.random.default_rng(seed)
    level = np.zeros(days)
    for k in range(1, days):
        level[k] = 0.95 * level[k - 1] + rng.normal(0, 0.35)
    rates = np.exp(level)[:, None] * rng.gamma(0.7, 1, nodes) * 0.15
    day, node = np.nonzero(rng.random((days, nodes)) < -np.expm1(-rates))
    times = day * DAY + rng.integers(0, DAY, len(day))
    return Observations.of(Failures.build(times, node), begin=0, end=days * DAY, nodes=nodes)


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_later_changes_nothing(name: str) -> None:
    seen = swelling()
    made = new_learner(name)
    made.fit(seen.until(150 * DAY))
    times = np.arange(150 * DAY, 220 * DAY, 40_000)
    whole = made.chances(seen, times)
    cut = 185 * DAY + 12_345
    extra = Failures.build(cut + np.arange(200) * 700, np.arange(200) % 12)
    other = seen.until(cut).then(Observations.of(extra, begin=cut, end=seen.end, nodes=12))
    before = times <= cut
    assert np.array_equal(whole[before], made.chances(other, times)[before])
    assert not np.array_equal(whole, made.chances(other, times))
    assert np.array_equal(whole[before], made.chances(seen.until(cut), times[before]))
    for k in (0, 20):
        assert made.chances(seen, times[k : k + 1])[0] == pytest.approx(whole[k], rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_restored_it_answers_alike(name: str) -> None:
    seen = swelling()
    made = new_learner(name, horizons=(3600, DAY), bin=7200)
    made.fit(seen)
    values, arrays = made.state()
    again = type(made).from_state(json.loads(json.dumps(values)), arrays)
    assert np.array_equal(made.hazards(), again.hazards())
    assert again.settings == made.settings
    moved = again.moved(1_000_000)
    assert np.array_equal(moved.hazards(), made.hazards())


@pytest.mark.parametrize("name", NAMES)
def test_machines_with_little_history(name: str) -> None:
    for failures, nodes, end in (
        (Failures.build([], []), 3, 100 * DAY),
        (Failures.build([5], [0]), 1, 10),
        (Failures.build([5 * DAY], [0]), 1, 40 * DAY),
        (Failures.build([], []), 2, 0),
    ):
        made: Learner = new_learner(name)
        made.fit(Observations.of(failures, begin=0, end=end, nodes=nodes))
        table = made.chances(made.seen, np.array([end]))
        assert table.shape == (1, nodes, 4)
        assert np.all((table >= 0) & (table < 1))
        assert np.all(np.diff(table, axis=2) >= 0)
        made.update(end + 50, 0)
        assert np.all(np.isfinite(made.hazards()))


@pytest.mark.parametrize("name", NAMES)
def test_forecasts_beat_the_steady_rate_where_the_rate_swells(name: str) -> None:
    seen = swelling(3, nodes=20, days=400)
    end = 260 * DAY
    times = np.arange(end, seen.end - DAY, DAY)
    failed, _ = outcomes(seen, times, DAY)
    errors = {}
    for one in (name, "constant"):
        made = new_learner(one)
        made.fit(seen.until(end))
        errors[one] = float(((made.chances(seen, times)[:, :, 2] - failed) ** 2).mean())
    assert errors[name] < 0.97 * errors["constant"]


def test_horizons_beyond_all_bounds_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 100,000 bins"):
        new_learner("ar", horizons=[3600, 2**52])
    assert new_learner("ar", bin=60, horizons=[3600, 6_000_000]).horizons[-1] == 6_000_000


def test_nodes_out_of_service_get_no_share() -> None:
    seen = swelling()
    start, stop = np.zeros(12, dtype=np.int64), np.full(12, 240 * DAY)
    start[3], stop[4] = 100 * DAY, 50 * DAY
    log = replace(seen.failures, service_start=start, service_end=stop, service_new=start > 0)
    times = np.array([20 * DAY, 200 * DAY])
    _, shares = Shares(math.inf, 1.0).of(replace(seen, failures=log), times)
    assert shares[0].sum() - shares[0, 3] == pytest.approx(1.0)
    assert shares[1].sum() - shares[1, 4] == pytest.approx(1.0)


@pytest.mark.parametrize("half_life", [math.inf, 20.0])
def test_shares_are_those_of_a_slow_count(half_life: float) -> None:
    seen = swelling(5)
    times = np.array([0, 7 * DAY + 3, 100 * DAY])
    count, days, _ = Shares(half_life, 1.0).faded(seen, times)
    for k, t in enumerate(times.tolist()):
        for node in range(12):
            mine = seen.failures.time[(seen.failures.node == node) & (seen.failures.time < t)]
            assert count[k, node] == pytest.approx((0.5 ** ((t - mine) / DAY / half_life)).sum())
        grid = np.linspace(0, t / DAY, 20_001)
        area = np.trapezoid(0.5 ** ((t / DAY - grid) / half_life), grid)
        assert days[k] == pytest.approx(np.full(12, area), rel=1e-6)


def test_bins_hold_what_ended_before() -> None:
    seen = Observations.of(Failures.build([0, 9, 10, 25], [0] * 4), begin=0, end=40)
    assert counted(seen, 10, 29).tolist() == [2.0, 1.0]
    assert counted(seen, 10, 30).tolist() == [2.0, 1.0, 1.0]
    grid = Binned.of(seen, np.array([0, 15, 30]), 10)
    assert grid.place.tolist() == [0, 1, 3]
    assert grid.offset.tolist() == [0.0, 0.5, 0.0]


def test_sums_over_parts_of_bins() -> None:
    bins = np.array([[1.0, 2.0, 4.0, 8.0]])
    assert within(bins, np.array([0.5]), 2.0).tolist() == [0.5 + 2.0 + 2.0]
    assert within(bins, np.array([0.0]), 0.25).tolist() == [0.25]
    assert within(bins, np.array([0.0]), 4.0).tolist() == [15.0]


def test_levels_are_fading_means() -> None:
    series = np.random.default_rng(0).normal(0, 1, 50)
    found = levels(series, 7.0, 3.0)
    for k in range(51):
        weights = 0.5 ** (np.arange(k)[::-1] / 7.0)
        mean = (4 * 3.0 + weights @ series[:k]) / (4 + weights.sum())
        assert found[k] == pytest.approx(mean)
    assert levels(series[:0], 7.0, 3.0).tolist() == [3.0]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_give_their_means_back(transform: str) -> None:
    counts = np.random.default_rng(0).poisson(9.0, 40_000).astype(float)
    series = transformed(counts, transform)
    mean = expected(series.mean()[None], series.var()[None], transform)
    assert mean[0] == pytest.approx(9.0, rel=0.02)


def test_forecasts_from_all_moments_are_those_from_each() -> None:
    seen = swelling(7)
    model = Arma(np.array([0.5, 0.2]), np.array([0.3]), 1.0, 0.5)
    times = np.array([3 * DAY, 50 * DAY, 50 * DAY + 40_000])
    level = (20.0, 1.5)
    table = arma_ahead(model, Binned.of(seen, times, DAY), "none", np.array([1.0, 3.0]), level)
    for k, t in enumerate(times.tolist()):
        history = counted(seen, DAY, t)
        usual = levels(history, *level)
        forecast = usual[-1] + model.forecast(history - usual[:-1], 4)
        ahead = np.maximum(forecast, 0)[None]
        offset = np.array([t % DAY / DAY])
        assert table[k] == pytest.approx([within(ahead, offset, h)[0] for h in (1.0, 3.0)])


def test_pool_trusts_what_tells() -> None:
    rng = np.random.default_rng(0)
    steady = np.full(40_000, 0.05)
    true = rng.gamma(0.5, 0.1, 40_000)
    failed = rng.random(40_000) < -np.expm1(-true)
    u, v = pooled(steady, true, failed)
    assert u == pytest.approx(0.0, abs=0.1)
    assert v == pytest.approx(1.0, abs=0.1)
    u, v = pooled(steady, rng.permutation(true), failed)
    assert u == pytest.approx(1.0, abs=0.15)
    assert v == pytest.approx(0.0, abs=0.15)


def test_bad_settings_are_refused() -> None:
    for settings in ({"bin": 0}, {"order": 0}, {"horizons": (5, 3)}):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            new_learner("bm", **settings)
    with pytest.raises(ParameterError, match="transform"):
        new_learner("ar", transform="cube")
    with pytest.raises(ParameterError, match="level_days"):
        new_learner("ar", level_days=0.0)
