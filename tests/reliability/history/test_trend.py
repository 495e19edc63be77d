"""Tests of trend against plain formulas and SciPy, their levels by simulation; rate over age."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.logs import read_failures
from forestall.reliability.history.history import history
from forestall.reliability.history.observed import Observed
from forestall.reliability.history.trend import (
    FEWER,
    MORE,
    NONE,
    Trend,
    kendall_score,
    laplace,
    lewis_robinson,
    mann,
    mil_hdbk_189,
    rate_over_age,
    trend_tests,
)

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
WORSE = [15, 42, 74, 98, 116, 131, 144, 155, 165, 173]
"""Failure times of a system that gets worse; watched to 180."""


def test_laplace_by_hand() -> None:
    one = laplace(Observed.of(WORSE, 0, 180))
    n = len(WORSE)
    z = (np.mean(WORSE) - 90) / (180 * math.sqrt(1 / (12 * n)))
    assert one.statistic == pytest.approx(z)
    assert one.p_value == pytest.approx(2 * scipy.stats.norm.sf(abs(z)))
    assert (one.failures, one.systems) == (10, 1)
    cut = laplace(Observed.of(WORSE), truncation="failure")
    z = (np.mean(WORSE[:-1]) - 173 / 2) / (173 * math.sqrt(1 / (12 * (n - 1))))
    assert cut.statistic == pytest.approx(z)


def test_mil_hdbk_by_hand() -> None:
    one = mil_hdbk_189(Observed.of(WORSE, 0, 180))
    statistic = 2 * sum(math.log(180 / t) for t in WORSE)
    assert one.statistic == pytest.approx(statistic)
    law = scipy.stats.chi2(20)
    assert one.p_value == pytest.approx(2 * min(law.cdf(statistic), law.sf(statistic)))
    cut = mil_hdbk_189(Observed.of(WORSE), truncation="failure")
    statistic = 2 * sum(math.log(173 / t) for t in WORSE[:-1])
    assert cut.statistic == pytest.approx(statistic)
    law = scipy.stats.chi2(18)
    assert cut.p_value == pytest.approx(2 * min(law.cdf(statistic), law.sf(statistic)))


def test_lewis_robinson_is_laplace_by_the_spread_of_gaps() -> None:
    one = lewis_robinson(Observed.of(WORSE, 0, 180))
    gaps = np.diff(WORSE)
    variation = gaps.std(ddof=1) / gaps.mean()
    assert one.statistic == pytest.approx(laplace(Observed.of(WORSE, 0, 180)).statistic / variation)


def test_mann_is_kendall_of_gaps_against_order() -> None:
    gaps = np.diff(WORSE)
    one = mann(Observed.of(WORSE, 0, 180))
    exact = scipy.stats.kendalltau(np.arange(len(gaps)), gaps, method="exact")
    assert one.p_value == pytest.approx(exact.pvalue)
    assert one.statistic < 0
    assert one.direction == MORE


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60))
def test_kendalls_score_is_that_of_all_pairs(values: list[int]) -> None:
    score, variance, ties = kendall_score(np.array(values, dtype=np.float64))
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    assert score == sum((b > a) - (b < a) for a, b in pairs)
    assert ties == (len(set(values)) < len(values))
    if len(set(values)) > 1 and len(values) > 2:  # SciPy divides by n - 2
        want = scipy.stats.kendalltau(np.arange(len(values)), values, method="asymptotic")
        p = 2 * scipy.stats.norm.sf(abs(score) / math.sqrt(variance))
        assert p == pytest.approx(want.pvalue)
    elif len(set(values)) == 1:
        assert (score, variance) == (0, 0)


@pytest.mark.parametrize("test", [laplace, mil_hdbk_189, mann, lewis_robinson])
def test_directions_in_words(test: Callable[..., Trend]) -> None:
    sooner = np.cumsum(np.linspace(12, 1, 12) ** 2)
    later = sooner[-1] + 30 - sooner[::-1]
    assert test(Observed.of(sooner, 0, sooner[-1] + 1)).direction == MORE
    assert test(Observed.of(later, 0, sooner[-1] + 30)).direction == FEWER
    even = np.cumsum([11, 3, 20, 7, 14, 9, 2, 21, 8, 12, 6])
    assert test(Observed.of(even, 0, 118)).direction == NONE


def test_units_and_origins_change_nothing() -> None:
    one = trend_tests(Observed.of(WORSE, 0, 180))
    other = trend_tests(Observed.of(np.array(WORSE) * 3600.0 - 7e5, -7e5, 180 * 3600 - 7e5))
    for a, b in zip(one, other, strict=True):
        assert (a.statistic, a.p_value) == (pytest.approx(b.statistic), pytest.approx(b.p_value))
    assert [t.test for t in one] == ["laplace", "mil-hdbk-189", "lewis-robinson", "mann"]
    assert one["mann"].direction == MORE
    assert one.table()["test"].to_list()[0] == "laplace"


def poisson_nodes(rng: np.random.Generator, rates: np.ndarray, shape: float = 1.0) -> Observed:
    """Return systems over windows of their own, with rates of a power of age."""
    start = rng.uniform(0, 300, len(rates))
    end = start + rng.uniform(100, 700, len(rates))
    times, system = [], []
    for k, (a, b) in enumerate(zip(start, end, strict=True)):
        count = rng.poisson(rates[k] * (b - a))
        times.append(a + (b - a) * rng.random(count) ** (1 / shape))
        system.append(np.full(count, k))
    return Observed.of(np.concatenate(times), start, end, system=np.concatenate(system))


@pytest.mark.parametrize("pooling", ["own", "total"])
def test_levels_of_pooled_tests(pooling: str) -> None:
    """Without a trend, p-values are even; rates that differ by node hurt only "total"."""
    rng = np.random.default_rng(5)
    unlike = rng.gamma(1, 0.03, 12) + 0.01
    rates = unlike if pooling == "own" else np.full(12, 0.04)
    logs = [poisson_nodes(rng, rates) for _ in range(300)]
    for name in ("laplace", "mil-hdbk-189", "lewis-robinson", "mann"):
        p = [trend_tests(one, pooling=pooling)[name].p_value for one in logs]  # type: ignore[arg-type]
        assert scipy.stats.kstest(p, "uniform").pvalue > 0.001, name


def test_pooled_tests_see_what_each_node_alone_does_not() -> None:
    rng = np.random.default_rng(6)
    rising = poisson_nodes(rng, np.full(60, 0.02), shape=1.5)
    assert all(test.direction == MORE for test in list(trend_tests(rising))[:3])
    falling = poisson_nodes(rng, np.full(60, 0.02), shape=0.6)
    assert all(test.direction == FEWER for test in list(trend_tests(falling))[:3])


def test_nodes_that_come_late_are_no_trend_of_the_total() -> None:
    rng = np.random.default_rng(7)
    start = np.repeat([0.0, 900.0], [5, 50])
    times = [rng.uniform(a, 1000, rng.poisson(0.05 * (1000 - a))) for a in start]
    system = np.repeat(np.arange(55), [len(t) for t in times])
    one = Observed.of(np.concatenate(times), start, 1000, system=system)
    assert laplace(one, pooling="total").direction == NONE
    plain = Observed.of(one.time, 0, 1000)
    assert laplace(plain).p_value < 1e-6


def test_renewals_with_spread_fool_laplace_but_not_the_others() -> None:
    """Bursty gaps without a trend: Laplace cries wolf far too often."""
    rng = np.random.default_rng(8)
    said = {"laplace": 0, "lewis-robinson": 0, "mann": 0}
    for _ in range(200):
        times = np.cumsum(rng.weibull(0.5, 400))
        one = trend_tests(Observed.of(times), truncation="failure")
        for name in said:
            said[name] += one[name].p_value < 0.05
    assert said["laplace"] > 60
    assert said["lewis-robinson"] < 22
    assert said["mann"] < 22


def test_failures_at_the_start_of_a_window_say_nothing() -> None:
    one = mil_hdbk_189(Observed.of([0, *WORSE], 0, 180))
    assert one.statistic == mil_hdbk_189(Observed.of(WORSE, 0, 180)).statistic
    assert one.notes == ("1 failures at the start of a window left out",)


def test_too_few_failures_are_said_test_by_test() -> None:
    tests = trend_tests(Observed.of([3, 4], 0, 10))
    assert [math.isnan(test.p_value) for test in tests] == [False, False, True, True]
    assert "at least 3" in tests["lewis-robinson"].notes[0]
    assert tests["mann"].direction == NONE
    with pytest.raises(ParameterError, match="pooling: 'x'"):
        trend_tests(Observed.of([3, 4], 0, 10), pooling="x")  # type: ignore[arg-type]


def test_questions_without_an_answer() -> None:
    none = Observed.of([], 0, 10)
    one = Observed.of([3, 4, 5], 0, 10)
    for call, message in (
        (lambda: laplace(none), "failures: 0 .* at least 1"),
        (lambda: laplace(Observed.of([5]), truncation="failure"), "at least 1 inside"),
        (lambda: lewis_robinson(Observed.of([1, 2], 0, 10)), "at least 3"),
        (lambda: lewis_robinson(one), "all equal"),
        (lambda: mann(one), "not all gaps alike"),
        (lambda: mann(one, pooling="some"), "pooling: 'some'"),  # type: ignore[arg-type]
        (lambda: laplace(one, pooling="some"), "pooling: 'some'"),  # type: ignore[arg-type]
        (lambda: laplace(one, truncation="never"), "truncation: 'never'"),  # type: ignore[arg-type]
        (lambda: laplace(one, level=2), "level: 2"),
        (lambda: Observed.of([3, math.nan]), r"times\[1\]: nan"),
        (lambda: Observed.of([3, 11], 0, 10), "times: 11.0 .* the window 0 to 10 of system 0"),
        (lambda: Observed.of([3], 5, 4), r"end\[0\]: 4.0 .* at least the start, 5"),
        (lambda: Observed.of([3], system=[-1]), "system: "),
        (lambda: Observed.of([3], [0, 0], 9, system=[2]), "system: 2 .* numbers below 2"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


@given(st.integers(0, 10_000))
def test_time_on_test_is_the_sum_over_nodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 10, 5).astype(float)
    end = start + rng.integers(0, 10, 5)
    one = Observed(np.empty(0), np.empty(0, dtype=np.int64), start, end)
    until = rng.uniform(0, 25, 7)
    want = [np.clip(t - start, 0, end - start).sum() for t in until]
    assert one.time_on_test(until) == pytest.approx(want)


def test_rate_over_age() -> None:
    rng = np.random.default_rng(9)
    many = poisson_nodes(rng, np.full(400, 0.05))
    one = rate_over_age(many, width=50)
    assert one.failures.sum() == len(many.time)
    assert one.exposure.sum() == pytest.approx(many.span.sum())
    inside = (one.low <= 0.05) & (one.high >= 0.05)
    assert inside.mean() >= 0.8
    assert one.smooth[:150] == pytest.approx(np.full(150, 0.05), rel=0.15)
    assert np.all((one.smooth_low < one.smooth) & (one.smooth < one.smooth_high))
    assert one.table(1.0)["rate"].to_list() == pytest.approx((one.rate * 1000).tolist())
    falling = rate_over_age(poisson_nodes(rng, np.full(400, 0.05), shape=0.5))
    assert falling.rate[0] > 3 * falling.rate[15]
    for options in ({"width": 0}, {"bandwidth": math.inf}, {"width": 1e-9}):
        with pytest.raises(ParameterError):
            rate_over_age(many, **options)
    with pytest.raises(ParameterError, match="no time under watch"):
        rate_over_age(Observed.of([3], 3, 3))


def test_systems_of_lanl(data: Path) -> None:
    two = history(read_failures(data / LANL, system=2)).observed()
    tests = trend_tests(two)
    assert [test.direction for test in tests] == [FEWER] * 4
    assert tests["laplace"].statistic == pytest.approx(-24.372, abs=0.001)
    assert tests["mil-hdbk-189"].statistic == pytest.approx(15890.76, abs=0.01)
    assert tests["lewis-robinson"].statistic == pytest.approx(-15.496, abs=0.001)
    assert tests["mann"].statistic == pytest.approx(26.339, abs=0.001)
    nineteen = history(read_failures(data / LANL, system=19)).observed()
    assert [test.direction for test in trend_tests(nineteen)] == [NONE] * 4
    twenty = history(read_failures(data / LANL, system=20)).observed()
    assert [test.direction for test in trend_tests(twenty, pooling="total")] == [FEWER] * 4
