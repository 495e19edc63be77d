"""Bursts: autocorrelation, dispersion and clusters against plain loops and known processes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.logs import read_failures
from forestall.reliability.history.history import History, history
from forestall.reliability.nodes.bursts import (
    autocorrelation,
    bursts,
    counts_per_interval,
    dispersion,
)

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"


def machine(time: np.ndarray, node: np.ndarray, nodes: int, end: int) -> History:
    built = replace(
        Failures.build(time, node),
        nodes=nodes,
        service_start=np.zeros(nodes, dtype=np.int64),
        service_end=np.full(nodes, end),
        service_new=np.ones(nodes, dtype=np.bool_),
    )
    return history(built)


def poisson(rng: np.random.Generator, count: int, nodes: int, end: int) -> History:
    return machine(rng.integers(0, end, count), rng.integers(0, nodes, count), nodes, end)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=60), st.integers(1, 70))
def test_autocorrelation_is_that_of_the_definition(values: list[int], lags: int) -> None:
    if len(set(values)) == 1:
        with pytest.raises(ParameterError, match="not all equal"):
            autocorrelation(values, lags)
        return
    one = autocorrelation(values, lags)
    x = np.array(values) - np.mean(values)
    n = len(x)
    want = [float((x[k:] * x[:-k]).sum() / (x**2).sum()) for k in range(1, min(lags, n - 1) + 1)]
    assert one.correlation == pytest.approx(want, abs=1e-10)
    q = n * (n + 2) * sum(r * r / (n - k) for k, r in enumerate(want, 1))
    assert one.ljung_box == pytest.approx(q, abs=1e-8)
    assert one.p_value == pytest.approx(scipy.stats.chi2.sf(q, len(want)), abs=1e-10)
    assert one.band == pytest.approx(scipy.stats.norm.ppf(0.975) / math.sqrt(n))


def test_autocorrelation_of_known_series() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=5000)
    p = [autocorrelation(part).p_value for part in rng.exponential(size=(200, 400))]
    assert np.mean(np.array(p) < 0.05) < 0.1
    series = np.empty(5000)
    series[0] = noise[0]
    for k in range(1, 5000):
        series[k] = 0.6 * series[k - 1] + noise[k]
    one = autocorrelation(series, 3)
    assert one.correlation == pytest.approx([0.6, 0.36, 0.216], abs=0.05)
    assert one.p_value < 1e-9
    assert autocorrelation(series * 1e-200).correlation[0] == pytest.approx(one.correlation[0])
    assert one.table().columns == ["lag", "correlation", "low", "high"]


@given(st.lists(st.integers(0, 99), min_size=2, max_size=50), st.sampled_from([1, 7, 10, 33]))
def test_counts_and_fano_are_those_of_a_plain_loop(times: list[int], width: int) -> None:
    counts = [sum(a <= t < a + width for t in times) for a in range(0, 100 - width + 1, width)]
    assert counts_per_interval(times, 0, 100, width).tolist() == counts
    one = dispersion(times, 0, 100, [width])
    assert one.windows.tolist() == [len(counts)]
    if sum(counts):
        assert one.fano[0] == pytest.approx(np.var(counts, ddof=1) / np.mean(counts))
    freedom = len(counts) - 1
    assert one.low[0] == pytest.approx(scipy.stats.chi2.ppf(0.025, freedom) / freedom)
    assert one.high[0] == pytest.approx(scipy.stats.chi2.ppf(0.975, freedom) / freedom)


def test_dispersion_tells_regular_poisson_and_bursty_processes() -> None:
    rng = np.random.default_rng(2)
    end = 1_000_000
    even = dispersion(rng.uniform(0, end, 5000), 0, end)
    assert np.mean((even.low <= even.fano) & (even.fano <= even.high)) > 0.8
    assert len(even.width) == 20
    assert even.width[-1] == pytest.approx(end / 10)
    regular = dispersion(np.arange(100, end, 200.0), 0, end)
    assert np.all(regular.fano[-10:] < regular.low[-10:])
    starts = rng.uniform(0, end - 50, 1000)
    bursty = dispersion((starts[:, None] + rng.uniform(0, 50, (1000, 5))).ravel(), 0, end)
    assert np.all(bursty.fano[3:] > bursty.high[3:])
    assert bursty.fano[10] == pytest.approx(5, rel=0.3)
    assert bursty.table().columns == ["width", "windows", "fano", "low", "high"]


def slow_bursts(built: History, threshold: float) -> list[tuple[int, int, int, int]]:
    """Return (first, size, nodes, duration) of each burst."""
    groups: list[list[int]] = []
    for k, time in enumerate(built.time.tolist()):
        if groups and time - built.time[groups[-1][-1]] <= threshold:
            groups[-1].append(k)
        else:
            groups.append([k])
    return [
        (g[0], len(g), len(set(built.node[g].tolist())), int(built.time[g[-1]] - built.time[g[0]]))
        for g in groups
        if len(g) > 1
    ]


@given(st.integers(0, 10_000), st.sampled_from([0, 3, 20]))
def test_bursts_are_those_of_a_plain_loop(seed: int, threshold: int) -> None:
    rng = np.random.default_rng(seed)
    built = poisson(rng, int(rng.integers(2, 40)), 4, 300)
    one = bursts(built, rng, threshold=threshold, draws=5)
    want = slow_bursts(built, threshold)
    assert one.table().rows() == want
    n = len(built)
    assert one.in_bursts.share == pytest.approx(sum(size for _, size, _, _ in want) / n)
    several = sum(size for _, size, nodes, _ in want if nodes > 1)
    assert one.on_several.share == pytest.approx(several / n)


def test_by_chance_is_what_independent_nodes_show() -> None:
    """The simulated shares are those of the same statistic of logs drawn one by one."""
    rng = np.random.default_rng(3)
    built = poisson(rng, 60, 5, 10_000)
    one = bursts(built, rng, threshold=40, draws=2000)
    drawn = []
    for _ in range(400):
        other = machine(rng.integers(0, 10_000, 60), built.node, 5, 10_000)
        found = slow_bursts(other, 40)
        several = sum(size for _, size, nodes, _ in found if nodes > 1)
        drawn.append((sum(size for _, size, _, _ in found) / 60, several / 60))
    means, spread = np.mean(drawn, axis=0), np.std(drawn, axis=0) / math.sqrt(400)
    assert one.in_bursts.expected == pytest.approx(means[0], abs=4 * spread[0])
    assert one.on_several.expected == pytest.approx(means[1], abs=4 * spread[1])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)[:, 0]
    assert (one.in_bursts.low, one.in_bursts.high) == (
        pytest.approx(low, abs=0.05),
        pytest.approx(high, abs=0.05),
    )


def test_p_values_of_independent_nodes_are_even() -> None:
    rng = np.random.default_rng(4)
    p = [bursts(poisson(rng, 200, 20, 10**6), rng, draws=99).on_several.p_value for _ in range(200)]
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.1
    assert 0.35 < np.mean(np.array(p) <= 0.5) < 0.65


def test_common_causes_are_seen() -> None:
    rng = np.random.default_rng(5)
    end = 10**7
    time, node = rng.integers(0, end, 300), rng.integers(0, 30, 300)
    struck = rng.integers(0, end, 20).repeat(6) + rng.integers(0, 60, 120)
    built = machine(
        np.concatenate([time, np.minimum(struck, end - 1)]),
        np.concatenate([node, rng.integers(0, 30, 120)]),
        30,
        end,
    )
    one = bursts(built, rng, draws=199)
    assert one.threshold == pytest.approx(-math.log(0.95) * end / 420)
    assert one.on_several.p_value == 1 / 200
    assert one.on_several.share > 0.25 > one.on_several.high
    again = bursts(built, np.random.default_rng(6), draws=50)
    assert again.in_bursts == bursts(built, np.random.default_rng(6), draws=50).in_bursts


def test_a_slow_change_of_rate_is_no_burst_within_periods() -> None:
    rng = np.random.default_rng(7)
    end = 10**7
    early = rng.integers(0, end // 20, 300)
    late = rng.integers(end // 20, end, 150)
    built = machine(np.concatenate([early, late]), rng.integers(0, 50, 450), 50, end)
    assert bursts(built, rng, draws=199).in_bursts.p_value == 1 / 200
    assert bursts(built, rng, draws=199, period=end / 100).in_bursts.p_value > 0.02


def test_questions_without_an_answer() -> None:
    rng = np.random.default_rng(8)
    built = poisson(rng, 5, 2, 100)
    for call, message in (
        (lambda: autocorrelation([1.0, 2.0]), "series: '2 values'"),
        (lambda: autocorrelation([1.0, math.nan, 2]), r"series\[1\]: nan"),
        (lambda: autocorrelation([1.0, 3, 2], 0), "lags: 0"),
        (lambda: autocorrelation([1.0, 3, 2], level=0), "level: 0"),
        (lambda: counts_per_interval([1], 0, 10, 0), "width: 0"),
        (lambda: dispersion([1], 0, 10), "failures: 1"),
        (lambda: dispersion([1, 2], 0, 10, [6]), r"widths\[0\]: 6.0 .* half the span, 5"),
        (lambda: bursts(built, rng, draws=0), "draws: 0"),
        (lambda: bursts(built, rng, threshold=-1), "threshold: -1"),
        (lambda: bursts(built, rng, period=math.inf), "period: inf"),
        (lambda: bursts(poisson(rng, 1, 1, 9), rng), "failures: 1"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


def test_systems_of_lanl(data: Path) -> None:
    want = {2: (513, 48, 0.3784), 19: (235, 4, 0.1516), 20: (300, 9, 0.3043)}
    for system, (count, most, share) in want.items():
        built = history(read_failures(data / LANL, system=system))
        one = bursts(built, np.random.default_rng(1), draws=99)
        assert (len(one), int(one.nodes.max())) == (count, most)
        assert one.on_several.share == pytest.approx(share, abs=1e-4)
        assert one.on_several.p_value == 0.01
        gaps = built.gaps("system")
        assert autocorrelation(gaps.length[~gaps.censored]).p_value < 0.01
        assert np.all(dispersion(built.time, *built.span).fano > 1)
