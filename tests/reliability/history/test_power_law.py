"""The power-law process: textbook estimates, likelihoods by brute force, coverage, goodness."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.logs import read_failures
from forestall.reliability.history.history import history
from forestall.reliability.history.observed import Observed
from forestall.reliability.history.power_law import power_law

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
GROWING = [0.2, 4.2, 4.5, 5.0, 5.4, 6.1, 7.9, 14.8, 19.2, 48.6, 85.8, 108.9, 127.2, 129.8, 150.1]
"""Failure times of a development programme, watched to 160."""


def draw(
    rng: np.random.Generator, shape: float, scale: float, start: np.ndarray, end: np.ndarray
) -> Observed:
    low, high = (start / scale) ** shape, (end / scale) ** shape
    counts = rng.poisson(high - low)
    system = np.repeat(np.arange(len(start)), counts)
    u = rng.random(len(system))
    times = scale * (low[system] + u * (high - low)[system]) ** (1 / shape)
    return Observed.of(times, start, end, system=system)


def brute(observed: Observed) -> tuple[float, float, float]:
    """Return shape, scale and log-likelihood by a general optimiser."""

    def loss(theta: np.ndarray) -> float:
        shape, scale = np.exp(theta)
        rate = math.log(shape) - math.log(scale) + (shape - 1) * np.log(observed.time / scale)
        windows = (observed.end / scale) ** shape - (observed.start / scale) ** shape
        return -float(rate.sum() - windows.sum())

    first = [0.0, math.log(observed.end.max() / len(observed.time) * observed.systems)]
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000}
    with np.errstate(all="ignore"):
        found = scipy.optimize.minimize(loss, first, method="Nelder-Mead", options=options)
    return float(np.exp(found.x[0])), float(np.exp(found.x[1])), -float(found.fun)


def test_one_system_has_the_textbook_estimates() -> None:
    n, end = len(GROWING), 160.0
    one = power_law(Observed.of(GROWING, 0, end))
    shape = n / sum(math.log(end / t) for t in GROWING)
    assert one.shape == pytest.approx(shape)
    assert one.scale == pytest.approx(end / n ** (1 / shape))
    assert one.shape_unbiased == pytest.approx((n - 1) / n * shape)
    low, high = one.ci(0.9, "exact")["shape"]
    assert low == pytest.approx(shape * scipy.stats.chi2.ppf(0.05, 2 * n) / (2 * n))
    assert high == pytest.approx(shape * scipy.stats.chi2.ppf(0.95, 2 * n) / (2 * n))
    assert one.expected(end) == pytest.approx(n)
    assert one.intensity(end) == pytest.approx(n * shape / end)
    assert one.expected(end, 40) == pytest.approx(n - n * (40 / end) ** shape)
    assert one.failures == n


def test_one_system_truncated_by_its_last_failure() -> None:
    n, end = len(GROWING), GROWING[-1]
    one = power_law(Observed.of(GROWING), truncation="failure")
    shape = n / sum(math.log(end / t) for t in GROWING)
    assert one.shape == pytest.approx(shape)
    assert one.scale == pytest.approx(end / n ** (1 / shape))
    assert one.shape_unbiased == pytest.approx((n - 2) / n * shape)
    low, high = one.ci(0.9, "exact")["shape"]
    assert low == pytest.approx(shape * scipy.stats.chi2.ppf(0.05, 2 * n - 2) / (2 * n))
    assert high == pytest.approx(shape * scipy.stats.chi2.ppf(0.95, 2 * n - 2) / (2 * n))
    assert (one.failures, one.last) == (n, 1)


@given(st.integers(0, 10_000), st.sampled_from([0.4, 1.0, 2.5]), st.booleans())
def test_pooled_windows_have_the_likeliest_parameters(seed: int, shape: float, late: bool) -> None:
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 50, 6) if late else np.zeros(6)
    observed = draw(rng, shape, 20.0, start, start + rng.uniform(50, 200, 6))
    if len(observed.time) < 5:
        return
    best_shape, best_scale, loglik = brute(observed)
    if best_shape < 0.01:  # later windows may fall faster than any power of age
        with pytest.raises(ParameterError, match="without a likeliest shape"):
            power_law(observed)
        return
    one = power_law(observed)
    assert one.loglik >= loglik - 1e-7 * abs(loglik)
    assert one.shape == pytest.approx(best_shape, rel=1e-4)
    assert one.scale == pytest.approx(best_scale, rel=1e-3)


def test_times_in_any_unit() -> None:
    rng = np.random.default_rng(3)
    start = np.array([0.0, 10.0, 30.0])
    observed = draw(rng, 1.7, 5.0, start, start + 40)
    one = power_law(observed)
    for unit in (1e-200, 1e200):
        other = power_law(
            Observed(observed.time * unit, observed.system, start * unit, observed.end * unit)
        )
        assert other.shape == pytest.approx(one.shape)
        assert other.scale / unit == pytest.approx(one.scale)
        assert other.ci()["scale"][0] / unit == pytest.approx(one.ci()["scale"][0])


def test_intervals_agree_with_each_other_and_with_the_information() -> None:
    rng = np.random.default_rng(4)
    start = rng.uniform(0, 100, 200)
    one = power_law(draw(rng, 1.3, 60.0, start, start + rng.uniform(100, 300, 200)))
    likelihood, fisher = one.ci(), one.ci(method="fisher")
    for name in ("shape", "scale"):
        assert likelihood[name] == pytest.approx(fisher[name], rel=0.02)
        assert likelihood[name][0] < one.params[name] < likelihood[name][1]
    # observed information by differences of the log-likelihood

    def loglik(shape: float, scale: float) -> float:
        used = one.used
        rate = math.log(shape / scale) + (shape - 1) * np.log(used.time / scale)
        windows = (used.end / scale) ** shape - (used.start / scale) ** shape
        return float(rate.sum() - windows.sum())

    h, at = (1e-3, 1e-2), (one.shape, one.scale)
    information = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            total = 0.0
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                step = [0.0, 0.0]
                step[i] += a * h[i]
                step[j] += b * h[j]
                total -= a * b * loglik(at[0] + step[0], at[1] + step[1])
            information[i, j] = total / (4 * h[i] * h[j])
    assert one.covariance == pytest.approx(np.linalg.inv(information), rel=2e-3)
    assert one.table()["parameter"].to_list() == ["shape", "scale"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("times", "start", "end"),
    [
        ([1.0, 9.0], 0.0, 10.0),
        ([1e-6, 2e-6], 0.0, 10.0),
        ([9.999, 9.9999], 0.0, 10.0),
        ([6.0, 9.0, 9.5], 5.0, 10.0),
        ([1e-300, 1e-299, 5e-299], 0.0, 6e-299),
    ],
)
def test_intervals_of_few_failures(times: list[float], start: float, end: float) -> None:
    one = power_law(Observed.of(times, start, end))
    for method in ("likelihood", "fisher"):
        for name, (low, high) in one.ci(method=method).items():  # type: ignore[arg-type]
            assert 0 <= low < one.params[name] < high


def test_intervals_cover() -> None:
    rng = np.random.default_rng(5)
    start, end = np.zeros(3), np.array([100.0, 150.0, 200.0])
    hits = {"shape": 0, "scale": 0}
    for _ in range(120):
        bounds = power_law(draw(rng, 0.8, 8.0, start, end)).ci(0.9)
        for name, value in (("shape", 0.8), ("scale", 8.0)):
            hits[name] += bounds[name][0] <= value <= bounds[name][1]
    assert 0.83 < hits["shape"] / 120 < 0.96
    assert 0.83 < hits["scale"] / 120 < 0.96


def test_the_bias_is_gone() -> None:
    rng = np.random.default_rng(6)
    shapes = []
    for _ in range(1500):
        times = np.cumsum(rng.exponential(size=6)) ** (1 / 1.5)
        one = power_law(Observed.of(times), truncation="failure")
        shapes.append((one.shape, one.shape_unbiased))
    plain, unbiased = np.mean(shapes, axis=0)
    assert plain > 2.0
    assert unbiased == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize("late", [False, True])
def test_goodness_is_even_under_the_process_and_small_against_others(late: bool) -> None:
    rng = np.random.default_rng(7)
    start = np.array([5.0, 20.0, 40.0]) * late
    p = []
    for _ in range(60):
        observed = draw(rng, 1.4, 12.0, start, start + 60)
        p.append(power_law(observed).goodness(rng, 99).p_value)
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.001
    humps = np.concatenate([rng.uniform(20, 30, 60), rng.uniform(90, 100, 60)])
    assert power_law(Observed.of(humps, 0, 100)).goodness(rng, 199).p_value == 1 / 200


def test_goodness_has_the_textbook_statistic_and_repeats() -> None:
    one = power_law(Observed.of(GROWING, 0, 160))
    n = len(GROWING)
    u = (np.array(GROWING) / 160) ** one.shape_unbiased
    even = (2 * np.arange(1, n + 1) - 1) / (2 * n)
    got = one.goodness(np.random.default_rng(1))
    assert got.statistic == pytest.approx(1 / (12 * n) + ((u - even) ** 2).sum())
    assert got == one.goodness(np.random.default_rng(1))
    assert got.draws == 999


def test_questions_without_an_answer() -> None:
    one = power_law(Observed.of(GROWING, 0, 160))
    pooled = power_law(Observed.of([1, 2, 3, 1], 0, [5, 9], system=[0, 0, 0, 1]))
    rng = np.random.default_rng(1)
    for call, message in (
        (lambda: power_law(Observed.of([3], 0, 5)), "failures: 1 .* at least 2"),
        (lambda: power_law(Observed.of([3], 3, 5)), "failures: 0"),
        (lambda: power_law(Observed.of([1, 2], -3, 5)), "start: -3.0 .* an age of at least 0"),
        (lambda: power_law(Observed.of([5, 5], 0, 5)), "without a likeliest shape"),
        (lambda: power_law(Observed.of([1, 2]), truncation="x"), "truncation: 'x'"),  # type: ignore[arg-type]
        (lambda: pooled.ci(method="exact"), "method: 'exact' .* likelihood or fisher"),
        (lambda: one.ci(method="x"), "method: 'x'"),  # type: ignore[arg-type]
        (lambda: one.ci(0), "level: 0"),
        (lambda: one.goodness(rng, 0), "draws: 0"),
        (lambda: power_law(Observed.of([1, 2]), truncation="failure").goodness(rng), "failures: 1"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


def test_failures_at_age_zero_are_left_out() -> None:
    one = power_law(Observed.of([0, *GROWING], 0, 160))
    assert one.shape == power_law(Observed.of(GROWING, 0, 160)).shape
    assert one.used.notes == ("1 failures at the start of a window left out",)


def test_systems_of_lanl(data: Path) -> None:
    fits = {}
    for system in (2, 19, 20):
        observed = history(read_failures(data / LANL, system=system)).observed()
        fits[system] = power_law(observed.aged())
    assert fits[2].shape == pytest.approx(0.8987, abs=1e-4)
    assert fits[20].shape == pytest.approx(0.6023, abs=1e-4)
    low, high = fits[19].ci()["shape"]
    assert (low, high) == (pytest.approx(0.9906, abs=1e-4), pytest.approx(1.0608, abs=1e-4))
    assert fits[20].goodness(np.random.default_rng(1), 99).p_value == 0.01
