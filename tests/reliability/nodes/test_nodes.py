"""Nodes against the fleet: exact p-values, false discoveries by simulation, shrunken rates."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.logs import read_failures
from forestall.reliability.history.history import History, history
from forestall.reliability.nodes import nodes
from forestall.reliability.nodes.nodes import (
    NodeReport,
    adjusted,
    negative_binomial,
    node_p_values,
    node_report,
    overdispersion,
)

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
DAY = 86_400
COUNTS = st.lists(st.integers(0, 30), min_size=2, max_size=12).filter(any)


def fleet(counts: np.ndarray, days: np.ndarray, seed: int = 1) -> History:
    """Return a history with these failures on these node-days."""
    rng = np.random.default_rng(seed)
    node = np.repeat(np.arange(len(counts)), counts)
    time = (rng.random(len(node)) * days[node] * DAY).astype(np.int64)
    built = replace(
        Failures.build(time, node),
        nodes=len(counts),
        service_start=np.zeros(len(counts), dtype=np.int64),
        service_end=(days * DAY).astype(np.int64),
        service_new=np.ones(len(counts), dtype=np.bool_),
    )
    return history(built)


@given(COUNTS, st.integers(0, 1000))
def test_p_values_are_the_exact_binomial_ones(counts: list[int], seed: int) -> None:
    exposure = np.random.default_rng(seed).uniform(1, 100, len(counts))
    total = sum(counts)
    p = {side: node_p_values(counts, exposure, side) for side in ("more", "fewer", "either")}  # type: ignore[arg-type]
    for k, count in enumerate(counts):
        law = scipy.stats.binom(total, exposure[k] / exposure.sum())
        assert p["more"][k] == pytest.approx(law.sf(count - 1), rel=1e-9, abs=1e-12)
        assert p["fewer"][k] == pytest.approx(law.cdf(count), rel=1e-9, abs=1e-12)
        assert p["either"][k] == min(1, 2 * min(p["more"][k], p["fewer"][k]))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_adjusted_p_values_are_those_of_scipy(p: list[float]) -> None:
    for control in ("bh", "by"):
        want = scipy.stats.false_discovery_control(p, method=control)
        assert adjusted(p, control) == pytest.approx(want)


def discoveries(
    rng: np.random.Generator, bad: int, control: str, logs: int = 400
) -> tuple[float, float]:
    """Return the mean share of false alarms among the flagged, and of bad nodes found."""
    nodes, false, found = 100, [], []
    for _ in range(logs):
        days = rng.uniform(50, 400, nodes)
        rate = np.full(nodes, 0.05)
        rate[:bad] *= 3
        counts = rng.poisson(rate * days)
        flagged = adjusted(node_p_values(counts, days), control) <= 0.1  # type: ignore[arg-type]
        false.append(flagged[bad:].sum() / max(1, flagged.sum()))
        found.append(flagged[:bad].mean() if bad else 0.0)
    return float(np.mean(false)), float(np.mean(found))


@pytest.mark.parametrize("control", ["bh", "by"])
def test_false_discoveries_are_as_rare_as_said(control: str) -> None:
    rng = np.random.default_rng(2)
    false, _ = discoveries(rng, 0, control)
    assert false <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 400)
    false, found = discoveries(rng, 10, control)
    assert false <= 0.1
    assert found > 0.6


def test_overdispersion_is_the_chi_square_of_dispersion() -> None:
    counts, days = np.array([4, 9, 3, 8, 20]), np.array([10.0, 20, 10, 20, 30])
    one = overdispersion(counts, days)
    want = scipy.stats.chisquare(counts, counts.sum() * days / days.sum())
    assert (one.statistic, one.p_value) == (pytest.approx(want[0]), pytest.approx(want[1]))
    assert (one.freedom, one.ratio) == (4, pytest.approx(one.statistic / 4))
    drawn = overdispersion(counts, days, np.random.default_rng(3), 4999)
    assert drawn.p_value == pytest.approx(want[1], abs=0.03)
    assert overdispersion([5], [1.0]).p_value == 1


def test_overdispersion_by_simulation_holds_where_few_failures_are_expected() -> None:
    rng = np.random.default_rng(4)
    days = np.array([1.0] * 60 + [400.0])
    p = [overdispersion(rng.poisson(0.02 * days), days, rng, 99).p_value for _ in range(200)]
    assert np.mean(np.array(p) <= 0.05) < 0.1


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_the_negative_binomial_is_the_likeliest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    days = rng.uniform(10, 500, 60)
    counts = rng.poisson(rng.gamma(1.5, 0.03, 60) * days)
    one = negative_binomial(counts, days)

    def loss(theta: np.ndarray) -> float:
        shape, mean = np.exp(theta)
        law = scipy.stats.nbinom(shape, shape / (shape + mean * days))
        return -float(law.logpmf(counts).sum())

    if math.isinf(one.shape):
        assert ((counts - one.rate * days) ** 2 - counts).sum() <= 0
        return
    at = np.log([one.shape, one.rate])
    assert one.loglik == pytest.approx(-loss(at))
    found = scipy.optimize.minimize(loss, at + 0.1, method="Nelder-Mead")
    assert one.loglik >= -found.fun - 1e-6
    assert one.loglik > one.loglik_poisson
    assert one.loglik_poisson == pytest.approx(
        scipy.stats.poisson(counts.sum() / days.sum() * days).logpmf(counts).sum()
    )
    tail = scipy.stats.nbinom(one.shape, one.shape / (one.shape + one.rate * days))
    assert one.tail(counts, days) == pytest.approx(tail.sf(counts - 1), rel=1e-7)
    assert one.tail(counts, days, "fewer") == pytest.approx(tail.cdf(counts), rel=1e-7)


def test_even_counts_have_no_spread() -> None:
    counts, days = np.array([5, 5, 5, 5]), np.full(4, 10.0)
    one = negative_binomial(counts, days)
    assert (one.shape, one.rate, one.variation) == (math.inf, 0.5, 0)
    assert one.loglik == one.loglik_poisson
    mean, low, high = one.posterior(counts, days)
    assert mean.tolist() == low.tolist() == high.tolist() == [0.5] * 4
    law = scipy.stats.poisson(5)
    assert one.tail(counts, days) == pytest.approx(np.full(4, law.sf(4)))
    assert one.tail(counts, days, "fewer") == pytest.approx(np.full(4, law.cdf(5)))


def test_the_posterior_is_bayes_rule() -> None:
    rng = np.random.default_rng(5)
    days = rng.uniform(10, 50, 200)
    counts = rng.poisson(rng.gamma(2, 0.05, 200) * days)
    one = negative_binomial(counts, days)
    mean, low, high = one.posterior(counts, days, 0.9)
    prior = scipy.stats.gamma(one.shape, scale=one.rate / one.shape)

    def density(rate: float, k: int) -> float:
        return float(prior.pdf(rate) * scipy.stats.poisson.pmf(counts[k], rate * days[k]))

    for k in range(3):
        total = scipy.integrate.quad(density, 0, 5, args=(k,), points=[mean[k]])[0]
        first = scipy.integrate.quad(lambda r, k=k: r * density(r, k), 0, 5, points=[mean[k]])[0]
        below = scipy.integrate.quad(density, 0, low[k], args=(k,))[0]
        above = scipy.integrate.quad(density, 0, high[k], args=(k,), points=[mean[k]])[0]
        assert mean[k] == pytest.approx(first / total, rel=1e-6)
        assert (below / total, above / total) == (pytest.approx(0.05), pytest.approx(0.95))


def test_shrunken_rates_are_nearer_to_the_truth_and_their_intervals_cover() -> None:
    rng = np.random.default_rng(6)
    days = rng.uniform(50, 400, 500)
    true = rng.gamma(2, 0.01, 500)
    counts = rng.poisson(true * days)
    report = node_report(fleet(counts, days))
    plain = counts / report.node_days * 1000
    shrunk = np.abs(report.rate_shrunk - 1000 * true)
    assert np.mean(shrunk**2) < 0.9 * np.mean((plain - 1000 * true) ** 2)
    inside = (report.low <= 1000 * true) & (1000 * true <= report.high)
    assert 0.92 < inside.mean() < 0.98


def flagged(report: NodeReport) -> tuple[int, ...]:
    """Return the numbers of the nodes that stand out, the clearest first."""
    order = np.lexsort((report.node, report.p_value))
    return tuple(report.node[order][report.flagged[order]].tolist())


def test_reports() -> None:
    rng = np.random.default_rng(7)
    days = np.full(50, 300.0)
    days[49] = 0
    counts = rng.poisson(6, 50)
    counts[3], counts[49] = 40, 0
    one = node_report(fleet(counts, days), rng=rng)
    assert len(one) == 49
    assert flagged(one) == (3,)
    assert one.expected.sum() == pytest.approx(counts.sum())
    assert (one.dispersion.draws, one.dispersion.p_value) == (999, 0.001)
    table = one.table()
    assert table["node"][0] == "3"
    assert table["flagged"].to_list() == [True] + [False] * 48
    assert table["rate_shrunk"].is_sorted(descending=True)
    spread = node_report(fleet(counts, days), against="fleet")
    assert np.all(spread.p_value[one.failures > 10] > one.p_value[one.failures > 10])
    fewer = node_report(fleet(counts, days), side="fewer", control="by")
    assert not fewer.flagged[3]


def test_questions_without_an_answer() -> None:
    built = fleet(np.array([3, 1]), np.array([5.0, 5.0]))
    for call, message in (
        (lambda: node_report(built, false_discovery_rate=0), "false_discovery_rate: 0"),
        (lambda: node_report(built, side="x"), "side: 'x'"),  # type: ignore[arg-type]
        (lambda: node_report(built, against="x"), "against: 'x'"),  # type: ignore[arg-type]
        (lambda: node_report(built, control="x"), "control: 'x'"),  # type: ignore[arg-type]
        (lambda: node_report(built, level=1.0), "level: 1.0"),
        (lambda: node_p_values([1, 2], [1.0]), "exposure: "),
        (lambda: node_p_values([1, 2], [1.0, 0.0]), "exposure: 0.0 .* finite times above 0"),
        (lambda: node_p_values([1, -2], [1.0, 1.0]), "count: -2.0"),
        (lambda: negative_binomial([0, 0], [1.0, 1.0]), "failures: 0"),
        (lambda: overdispersion([1, 0], [1, 1], np.random.default_rng(1), 0), "draws: 0"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


def test_systems_of_lanl(data: Path) -> None:
    two = node_report(history(read_failures(data / LANL, system=2)))
    assert flagged(two)[:5] == (1, 21, 8, 2, 4)
    assert (len(flagged(two)), two.dispersion.freedom) == (13, 48)
    assert two.dispersion.ratio == pytest.approx(46.744, abs=0.001)
    assert two.fleet.shape == pytest.approx(4.8177, abs=1e-3)
    nineteen = history(read_failures(data / LANL, system=19))
    chance = node_report(nineteen)
    assert (len(flagged(chance)), flagged(chance)[:4]) == (31, (0, 256, 512, 594))
    beyond = node_report(nineteen, against="fleet")
    assert flagged(beyond) == (0, 256, 512, 594)
    twenty = node_report(history(read_failures(data / LANL, system=20)))
    assert (len(flagged(twenty)), flagged(twenty)[0]) == (51, 0)
    assert twenty.fleet.shape == pytest.approx(0.7683, abs=1e-3)


def test_a_node_beyond_the_fleet_keeps_its_own_rate() -> None:
    rng = np.random.default_rng(9)
    counts = rng.poisson(12, 900)
    counts[7] = 60
    report = node_report(fleet(counts, np.full(900, 900.0)))
    assert np.flatnonzero(report.beyond).tolist() == [7]
    own = (report.rate[7], report.rate_low[7], report.rate_high[7])
    assert own[0] == pytest.approx(60 / 0.9)
    exact = scipy.stats.chi2.ppf([0.025, 0.975], [120, 122]) / 2 / 0.9
    assert own[1:] == pytest.approx(tuple(exact))
    assert (report.rate_shrunk[7], report.low[7], report.high[7]) == own
    others = ~report.beyond
    spread = (np.std(each[others]) for each in (report.rate_shrunk, report.rate))
    assert next(spread) < 0.5 * next(spread)
    assert report.table()["beyond"].to_list() == [True] + [False] * 899


def test_the_likeliest_negative_binomial() -> None:
    rng = np.random.default_rng(11)
    time = rng.uniform(10, 400, 300)
    counts = rng.poisson(rng.gamma(1.5, 0.02, 300) * time)
    found = negative_binomial(counts, time)

    def loss(theta: np.ndarray) -> float:
        k, m = np.exp(theta)
        return -float(scipy.stats.nbinom.logpmf(counts, k, k / (k + m * time)).sum())

    best = scipy.optimize.minimize(loss, np.log([1.0, 0.03]), method="Nelder-Mead", tol=1e-10)
    assert found.loglik == pytest.approx(-best.fun, rel=1e-9)
    assert (found.shape, found.rate) == pytest.approx(tuple(np.exp(best.x)), rel=1e-3)


def test_failures_dealt_one_by_one_are_those_of_the_multinomial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many nodes with few failures: the same law, drawn in another way."""
    share = np.random.default_rng(1).dirichlet(np.full(40, 3.0))
    rows, total = 20_000, 7
    many = nodes._distances(np.random.default_rng(2), total, share, rows)
    monkeypatch.setattr(nodes, "MANY", 1)
    one_by_one = nodes._distances(np.random.default_rng(3), total, share, rows)
    assert one_by_one.mean() == pytest.approx(many.mean(), rel=0.02)
    assert np.quantile(one_by_one, [0.1, 0.5, 0.9]) == pytest.approx(
        np.quantile(many, [0.1, 0.5, 0.9]), rel=0.03
    )


def test_a_node_far_beyond_all_others_takes_no_time() -> None:
    """One wrong number makes a fleet of a million."""
    count = np.zeros(1_000_000, dtype=np.int64)
    count[[3, 5, 771_833]] = 40, 19, 1
    found = overdispersion(count, np.ones(len(count)), np.random.default_rng(1))
    assert found.draws == 999
    assert found.p_value == 0.001
    count[:] = 1
    assert overdispersion(count, np.ones(len(count)), np.random.default_rng(1)).draws == 0
