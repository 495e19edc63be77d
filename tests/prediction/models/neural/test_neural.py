"""The network on times between failures: its slopes, its law, its forecasts, what it may know."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize, stats

import forestall as fs
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import previous
from forestall.prediction.models.neural import network
from forestall.prediction.models.neural.accuracy import accuracy
from forestall.prediction.models.neural.neural import Neural

HOUR, DAY = 3600, 86_400


def log_of(*gaps: list[int]) -> Failures:
    """Return nodes that fail after each of their gaps, s."""
    time = [int(t) for mine in gaps for t in np.cumsum(mine)]
    return Failures.build(time, [n for n, mine in enumerate(gaps) for _ in mine])


# ---------------------------------------------------------------------------------- the network


def test_the_inputs_are_the_last_gaps_latest_first() -> None:
    log = log_of([100, 200, 400, 800], [50])
    mean, spread = math.log(400), math.log(2)
    rows = network.inputs_after(log, 2, mean, spread, np.arange(5))
    # in order of time: node 1 at 50; node 0 at 100, 300, 700, 1500
    assert rows == pytest.approx(
        np.array([[0, 0, 0, 0], [0, 0, 0, 0], [-1, 0, 0.5, 0], [0, -1, 1, 0], [1, 0, 1, 0]])
    )
    some = network.inputs_after(log, 2, mean, spread, np.array([4, 2]))
    assert np.array_equal(some, rows[[4, 2]])


def test_gaps_below_a_minute_are_a_minute() -> None:
    gaps = network.log_gaps(log_of([10, 5, 0, 600]))
    assert np.isnan(gaps[0])
    assert gaps[1:] == pytest.approx(np.log([60, 60, 600]))


def test_samples_are_all_gaps_ended_or_cut() -> None:
    log = log_of([1000, 2000], [7000], [])
    samples = network.samples_of(
        log, np.array([0, 500, 9000]), np.array([10_000, 7000, 10_000]), 8, 0.0, 1.0
    )
    found = sorted(
        zip(
            np.exp(samples.length).round().astype(int).tolist(), samples.ended.tolist(), strict=True
        )
    )
    # node 1 goes out of service as it fails: nothing is under way then
    assert found == [(1000, False), (1000, True), (2000, True), (6500, True), (7000, False)]
    first = samples.inputs[:, -1] == 1
    assert sorted(np.exp(samples.length[first]).round().astype(int)) == [1000, 1000, 6500]


def test_the_slope_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(40, 5))
    samples = network.GapSamples(inputs, rng.normal(1, 1, 40), rng.random(40) < 0.7)
    weights = rng.normal(0, 0.5, 5 * 3 + 3 + 3 * 2 + 2)

    def value(at: npt.NDArray[np.float64]) -> float:
        return network.loss(at, samples, 0.5, 3, 2.0)[0]

    slope = network.loss(weights, samples, 0.5, 3, 2.0)[1]
    assert slope == pytest.approx(optimize.approx_fprime(weights, value, 1e-7), rel=1e-4, abs=1e-4)


def test_the_loss_is_the_likelihood() -> None:
    """Minus the log density of log gaps, and of what was cut the log survival."""
    rng = np.random.default_rng(2)
    samples = network.GapSamples(
        rng.normal(size=(30, 4)), rng.normal(8, 2, 30), rng.random(30) < 0.5
    )
    weights = rng.normal(0, 0.3, 4 * 2 + 2 + 2 * 2 + 2)
    inner, inner_bias, outer, outer_bias = network._apart(weights, 4, 2)
    net = network.Network(8.0, 1.0, inner, inner_bias, outer, outer_bias)
    location, scale = net.law(samples.inputs)
    law = stats.weibull_min(1 / scale, scale=np.exp(location))
    length = np.exp(samples.length)
    told = np.where(samples.ended, law.logpdf(length) + samples.length, law.logsf(length)).sum()
    assert network.loss(weights, samples, 8.0, 2, 0.0)[0] == pytest.approx(-told)


def test_the_lowest_point_is_found() -> None:
    rng = np.random.default_rng(6)
    samples = network.GapSamples(
        rng.normal(size=(300, 6)), rng.normal(8, 2, 300), rng.random(300) < 0.8
    )
    start = rng.normal(0, 0.3, 6 * 4 + 4 + 4 * 2 + 2)

    def goal(at: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        return network.loss(at, samples, 8.0, 4, 5.0)

    theirs = optimize.minimize(goal, start, jac=True, method="L-BFGS-B").fun
    found = network.lowest(goal, start, 2000)
    assert goal(found)[0] < theirs + 0.01 * abs(theirs)
    assert goal(found)[0] < goal(start)[0]
    valley = network.lowest(
        lambda at: (float(optimize.rosen(at)), optimize.rosen_der(at)), np.zeros(5)
    )
    assert valley == pytest.approx(np.ones(5), abs=1e-3)


def test_thinned_samples_are_spread_evenly() -> None:
    samples = network.GapSamples(np.zeros((1000, 3)), np.arange(1000.0), np.ones(1000, dtype=bool))
    assert len(samples.thinned(100).length) == 100
    assert samples.thinned(100).length[[0, -1]].tolist() == [0, 999]
    assert samples.thinned(5000) is samples


# ----------------------------------------------------------------------------------- the learner


def with_memory(nodes: int, days: int, seed: int = 1, pull: float = 0.9) -> Observations:
    """Return nodes whose next gap is like their last one: log gaps are autoregressive."""
    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(nodes):
        level, mine, total = rng.normal(0, 1), [], 0.0
        while total < days * DAY:
            level = pull * level + math.sqrt(1 - pull**2) * rng.normal()
            mine.append(int(math.exp(math.log(3 * DAY) + 1.2 * level) * rng.weibull(3.0)) + 60)
            total += mine[-1]
        gaps.append(mine)
    return Observations.of(log_of(*gaps), begin=0, end=days * DAY, nodes=nodes)


def test_it_finds_that_gaps_are_like_those_before() -> None:
    seen = with_memory(60, 400)
    made = Neural()
    made.fit(seen.until(250 * DAY))
    log, forecast = seen.failures, made.forecasts(seen)
    late = log.time >= 250 * DAY
    gap = log.time - log.time[previous(log)]
    there = late & ~np.isnan(forecast)
    found = stats.spearmanr(forecast[there], gap[there]).statistic
    assert found > 0.6
    level = np.full(there.sum(), np.median(gap[~late & (previous(log) >= 0)]))
    assert made.accuracy(seen, 250 * DAY, 400 * DAY).ratio > 1.2 * accuracy(gap[there], level).ratio


def test_without_memory_it_finds_the_law_of_the_gaps() -> None:
    rng = np.random.default_rng(3)
    gaps = [(rng.weibull(0.7, 80) * 10 * DAY + 60).astype(int).tolist() for _ in range(60)]
    made = Neural()
    made.fit(Observations.of(log_of(*gaps), begin=0, end=400 * DAY, nodes=60))
    net = made.network
    told = network.inputs_after(
        made.seen.failures, net.order, net.mean, net.spread, np.arange(len(made.seen.failures))
    )
    location, scale = net.law(told)
    assert np.median(1 / scale) == pytest.approx(0.7, rel=0.05)
    assert np.exp(np.median(location)) == pytest.approx(10 * DAY, rel=0.1)
    assert 1 / np.quantile(scale, [0.1, 0.9]) == pytest.approx(0.7, rel=0.15)


def test_chances_are_those_of_the_conditional_law() -> None:
    seen = with_memory(10, 100)
    made = Neural()
    made.fit(seen)
    time = 77 * DAY + 5
    age, location, power = made._laws(seen, np.array([time]))
    said = made.risks(seen, np.array([time]), (HOUR, 5 * DAY))[0]
    for node in range(10):
        law = stats.weibull_min(power[0, node], scale=math.exp(location[0, node]))
        mine = seen.failures.time[(seen.failures.node == node) & (seen.failures.time < time)]
        assert age[0, node] == time - mine[-1]
        for k, ahead in enumerate((HOUR, 5 * DAY)):
            expected = 1 - law.sf(age[0, node] + ahead) / law.sf(age[0, node])
            assert said[node, k] == pytest.approx(expected, rel=1e-6)


def test_time_to_failure_is_the_median_of_the_conditional_law() -> None:
    made = Neural()
    made.fit(with_memory(10, 100))
    ahead = made.time_to_failure(np.arange(10))
    for node, seconds in enumerate(ahead.tolist()):
        risk = made.risks(made.seen, np.array([made.now]), (max(round(seconds), 1),))[0, node, 0]
        assert risk == pytest.approx(0.5, abs=0.01)


def test_gaps_that_were_cut_are_not_taken_for_short_ones() -> None:
    """Nodes with exponential gaps of 100 days, seen for 60: most gaps are cut."""
    rng = np.random.default_rng(5)
    gaps = [rng.exponential(100 * DAY, 40).astype(int).tolist() for _ in range(500)]
    late = [[g - 1000 * DAY for g in np.cumsum(mine)] for mine in gaps]
    time = [t for mine in late for t in mine if 0 <= t < 60 * DAY]
    node = [n for n, mine in enumerate(late) for t in mine if 0 <= t < 60 * DAY]
    made = Neural()
    made.fit(Observations.of(Failures.build(time, node), begin=0, end=60 * DAY, nodes=500))
    said = made.risks(made.seen, np.array([60 * DAY]), (10 * DAY,))[0, :, 0]
    assert said.mean() == pytest.approx(1 - math.exp(-0.1), rel=0.15)


def test_the_seed_is_all_that_training_depends_on() -> None:
    seen = with_memory(20, 60)
    said = []
    for seed in (0, 0, 1):
        made = Neural(seed=seed)
        made.fit(seen)
        said.append(made.hazards())
    assert np.array_equal(said[0], said[1])
    assert not np.array_equal(said[0], said[2])


@pytest.mark.parametrize(
    "bad",
    [{"order": 0}, {"units": 65}, {"decay": 0.0}, {"decay": math.nan}, {"most": 5}, {"seed": -1}],
)
def test_settings_are_checked(bad: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        Neural(**bad)  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------- accuracy


def test_accuracy_by_hand() -> None:
    found = accuracy([10.0, 10.0, 10.0, 10.0], [10.0, 5.0, 40.0, math.nan])
    assert (found.failures, found.foreseen) == (4, 3)
    assert found.plain == pytest.approx((1 + 0.5 - 2) / 3)
    assert found.floored == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.ratio == pytest.approx((1 + 0.5 + 0.25) / 3)
    assert found.early == pytest.approx(0.75)
    assert found.late == pytest.approx(1 / 3)
    assert found.unforeseen == pytest.approx(0.25)
    assert found.within_half == pytest.approx(2 / 3)


def test_accuracy_at_its_ends() -> None:
    assert accuracy([0.0], [0.0]).ratio == 1
    assert accuracy([0.0], [0.0]).plain == 1
    assert accuracy([0.0], [5.0]).floored == 0
    assert accuracy([], []).failures == 0
    assert accuracy([3.0], [math.nan]).unforeseen == 1
    assert math.isnan(accuracy([3.0], [9.0]).early)


@pytest.mark.parametrize(("gap", "said"), [([1.0], [1.0, 2.0]), ([-1.0], [1.0]), ([1.0], [-1.0])])
def test_bad_forecasts(gap: list[float], said: list[float]) -> None:
    with pytest.raises(ParameterError):
        accuracy(gap, said)


def test_the_papers_years_of_system_20(data: Path) -> None:
    """Trained on September 2003 to August 2004, asked of the year after that.

    The paper says 76.5 %, and 3.7 % of failures missed, without saying of what. By no definition
    here is a forecast of single gaps so good, though better than the median gap of the year.
    """
    log = fs.read_failures(
        data / "lanl-failures-1996-2005" / "LA-UR-05-7318-failure-data-1996-2005.csv.gz",
        system=20,
    )
    assert log.origin is not None
    # Unix seconds of 2003-09-01, 2004-09-01 and 2005-09-01
    first, split, last = (t - log.origin for t in (1_062_374_400, 1_093_996_800, 1_125_532_800))
    seen = Observations.of(log, begin=0, end=last)
    made = Neural()
    made.fit(seen.between(first, split))
    found = made.accuracy(seen, split, last)
    assert (made.trained, found.failures) == (451, 307)
    assert found.unforeseen < 0.037
    assert 0.28 < found.floored < 0.45
    assert 0.36 < found.ratio < 0.50
    before = previous(log)
    gap = np.where(before >= 0, log.time - log.time[before], 0)
    year = (log.time >= first) & (log.time < split) & (before >= 0)
    asked = (log.time >= split) & (log.time < last) & (before >= 0)
    assert found.ratio > accuracy(gap[asked], np.full(asked.sum(), np.median(gap[year]))).ratio
