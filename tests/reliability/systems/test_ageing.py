"""Node ages: the golden values, closed forms, and references by quadrature and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import gamma

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.ageing import (
    FailureClock,
    SystemLifetime,
    expected_failures,
    system_of,
)
from forestall.reliability.systems.equilibrium import Equilibrium, Integral
from forestall.reliability.systems.systems import from_mttf

LAWS = {
    "exponential": lifetime("exponential", scale=50.0),
    "weibull 0.5": lifetime("weibull", shape=0.5, scale=25.0),
    "weibull 2": lifetime("weibull", shape=2.0, scale=40.0),
    "lognormal": lifetime("lognormal", mu=3.0, sigma=1.3),
    "loglogistic": lifetime("loglogistic", shape=2.5, scale=30.0),
}
ALL = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def test_golden_new_and_steady() -> None:
    node = from_mttf(1000 * 24.0, 0.7)
    assert SystemLifetime(node, 1000).mean() == pytest.approx(1.24, abs=0.005)
    between = SystemLifetime(node, 1000, "steady").after_failure()
    assert between.mean() == pytest.approx(24.0, rel=1e-12)
    assert SystemLifetime(node, 1000, "steady").mean() == pytest.approx(24.0, rel=0.01)


@pytest.mark.parametrize("shape", [0.3, 0.5, 0.7, 1.0, 1.5, 3.0, 10.0])
@pytest.mark.parametrize("nodes", [1, 2, 7, 1000, 1_000_000])
def test_mean_of_all_ages(shape: float, nodes: int) -> None:
    law = from_mttf(1000.0, shape)
    new = SystemLifetime(law, nodes)
    assert new.mean() == pytest.approx(1000.0 * nodes ** (-1 / shape), rel=1e-12)
    assert new.integral.total == pytest.approx(new.mean(), rel=1e-12)
    between = SystemLifetime(law, nodes, "steady", renewed=1)
    assert between.integral.total == pytest.approx(1000.0 / nodes, rel=1e-11)
    steady = SystemLifetime(law, nodes, "steady")
    least, most = (1.0, math.inf) if shape < 1 else (0.0, 1.0 + 1e-12)
    assert least - 1e-9 <= steady.mean() * nodes / 1000 <= most


@ALL
def test_equilibrium_law_by_quadrature(law: Lifetime) -> None:
    one = Equilibrium(law)
    for t in (1e-4, 0.3, 20.0, 200.0):
        gone = integrate.quad(lambda s: float(law.sf(s)), 0, t, epsabs=0, epsrel=1e-11)[0]
        assert -math.expm1(float(one.log_sf(t))) == pytest.approx(gone / law.mean(), rel=1e-8)
    p = np.array([1e-9, 1e-3, 0.5, 0.99])
    assert -np.expm1(one.log_sf(one.quantile(p))) == pytest.approx(p, rel=1e-4)


def test_equilibrium_tail_does_not_lose_digits() -> None:
    law = lifetime("exponential", scale=2.0)
    weibull = lifetime("weibull", shape=1.0 + 1e-12, scale=2.0)
    t = np.array([1.0, 100.0, 600.0])
    assert Equilibrium(weibull).log_sf(t) == pytest.approx(Equilibrium(law).log_sf(t), rel=1e-9)
    heavy = lifetime("loglogistic", shape=1.5, scale=1.0)
    tail = integrate.quad(lambda y: math.exp(y) * float(heavy.sf(math.exp(y))), 20, 200)[0]
    assert float(Equilibrium(heavy).log_sf(math.exp(20.0))) == pytest.approx(
        math.log(tail / heavy.mean()), rel=1e-7
    )


@ALL
def test_integrals(law: Lifetime) -> None:
    integral = Integral(lambda t: -law.cumulative_hazard(t))
    assert integral.total == pytest.approx(law.mean(), rel=1e-6)
    for t in (1e-6, 1.0, 33.0, 150.0):
        area = integrate.quad(lambda s: float(law.sf(s)), 0, t, epsrel=1e-11)[0]
        weighted = integrate.quad(lambda s: s * float(law.sf(s)), 0, t, epsrel=1e-11)[0]
        found = integral.both_up_to(t)
        assert float(found[0]) == pytest.approx(area, rel=1e-9)
        assert float(found[1]) == pytest.approx(weighted, rel=1e-9)
        assert float(integral.beyond(t)) == pytest.approx(integral.total - area, rel=1e-7)


@ALL
@pytest.mark.parametrize("ages", ["new", "steady", 0.0, 30.0, (0.0, 10.0, 500.0)])
def test_draws_follow_the_law(law: Lifetime, ages: object) -> None:
    system = SystemLifetime(law, 3, ages)  # type: ignore[arg-type]
    for k, one in enumerate((system, system.after_failure())):
        drawn = one.draw(np.random.default_rng(7 + k), 20_000)
        assert stats.kstest(one.cdf(drawn), "uniform").pvalue > 1e-3
        p = np.array([0.001, 0.3, 0.9])
        assert one.cdf(one.quantile(p)) == pytest.approx(p, rel=1e-8)


@settings(max_examples=60)
@given(
    st.sampled_from(list(LAWS.values())),
    st.integers(1, 500),
    st.sampled_from(["new", "steady", 5.0]),
    st.floats(0.01, 60.0),
)
def test_hazard_is_the_slope(law: Lifetime, nodes: int, ages: object, t: float) -> None:
    system = SystemLifetime(law, nodes, ages).after_failure()  # type: ignore[arg-type]
    low, high = system.cumulative_hazard(np.array([t * (1 - 1e-5), t * (1 + 1e-5)]))
    assert (high - low) / (2e-5 * t) == pytest.approx(float(system.hazard(t)), rel=1e-4)


def test_given_ages_multiply() -> None:
    law = LAWS["weibull 0.5"]
    ages = (1.0, 20.0, 300.0)
    t = np.array([0.5, 7.0])
    each = np.prod([law.survival_from(age, t) for age in ages], axis=0)
    assert SystemLifetime(law, 3, ages).sf(t) == pytest.approx(each, rel=1e-12)
    alike = SystemLifetime(law, 1000, 20.0)
    assert alike.log_sf(t) == pytest.approx(1000 * np.log(law.survival_from(20.0, t)), rel=1e-10)
    assert float(SystemLifetime(law, 3, 0.0).sf(2.0)) == pytest.approx(
        float(SystemLifetime(law, 3).sf(2.0))
    )


def test_a_million_nodes_do_not_underflow() -> None:
    for shape in (0.3, 10.0):
        system = SystemLifetime(from_mttf(1e9, shape), 1_000_000)
        median = float(system.quantile(0.5))
        assert median > 0
        assert float(system.sf(median)) == pytest.approx(0.5, rel=1e-9)
        assert float(system.log_sf(1e9)) < -1e4


# How often one node fails ------------------------------------------------------------------------


def test_expected_failures_of_the_exponential() -> None:
    t = np.array([1e-6, 1.0, 49.0, 700.0])
    law = LAWS["exponential"]
    for ages in (0.0, 12.0, [0.0, 5.0, 80.0]):
        assert expected_failures(law, t, ages) == pytest.approx(t / 50, rel=1e-9)


def test_expected_failures_of_weibull_by_its_series() -> None:
    """Smith and Leadbetter's power series in t^shape."""
    shape, terms = 0.5, 60
    top = [gamma(k * shape + 1) / gamma(k + 1) for k in range(terms)]
    factor = [0.0] * terms
    for k in range(1, terms):
        factor[k] = top[k] - sum(factor[j] * top[k - j] for j in range(1, k))
    law = lifetime("weibull", shape=shape, scale=1.0)
    t = np.array([1e-5, 1e-3, 0.05, 0.4, 1.0])
    series = [
        sum((-1) ** (k - 1) * factor[k] * x ** (k * shape) / gamma(k * shape + 1)
            for k in range(1, terms))
        for x in t
    ]  # fmt: skip
    assert expected_failures(law, t) == pytest.approx(series, rel=2e-4)


def test_expected_failures_by_simulation() -> None:
    law, rng = LAWS["weibull 2"], np.random.default_rng(5)
    total = np.cumsum(law.draw(rng, (100_000, 12)), axis=1)
    for t in (5.0, 60.0, 150.0):
        counts = (total <= t).sum(axis=1)
        error = 4 * counts.std() / math.sqrt(len(counts))
        assert float(expected_failures(law, t)) == pytest.approx(counts.mean(), abs=error)


@ALL
def test_nodes_in_equilibrium_fail_at_a_constant_rate(law: Lifetime) -> None:
    """Ages of a machine long in use have the density sf / mean: those of the residual life."""
    ages = Equilibrium(law).quantile((np.arange(400) + 0.5) / 400)
    t = np.array([3.0, 40.0, 100.0])
    assert expected_failures(law, t, ages) == pytest.approx(t / law.mean(), rel=0.01)


def test_a_machine_settles() -> None:
    law = from_mttf(1000.0, 0.7)
    start, end = np.array([0.0, 100.0, 20_000.0]), np.array([10.0, 200.0, 21_000.0])
    seen = expected_failures(law, np.concatenate([start, end]))
    early, later, late = (end - start) / (500 * (seen[3:] - seen[:3]))
    assert early < later < late
    assert late == pytest.approx(1000 / 500, rel=0.01)


def test_clock_and_its_inverse() -> None:
    system = SystemLifetime(from_mttf(1000.0, 0.5), 100, 0.0)
    clock = FailureClock(system, 300.0)
    t = np.array([1e-9, 1e-3, 1.0, 250.0, 1000.0])
    assert clock.time_of(clock.failures(t)) == pytest.approx(t, rel=1e-6)
    assert float(clock.failures(1.0)) == pytest.approx(
        100 * float(expected_failures(system.lifetime, 1.0)), rel=1e-3
    )
    assert float(clock.failures(0.0)) == 0.0


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given_"),
    [
        ("nodes", {"nodes": 0}),
        ("nodes", {"nodes": 2.5}),
        ("ages", {"ages": "old"}),
        ("ages", {"ages": -1.0}),
        ("ages", {"ages": (1.0, 2.0), "nodes": 3}),
        ("mttf", {"mttf": None}),
        ("mttf", {"mttf": -5.0}),
        ("mttf", {"mttf": "soon"}),
        ("mttf", {"lifetime": LAWS["lognormal"]}),
        ("shape", {"shape": 0.0}),
        ("lifetime", {"mttf": None, "lifetime": lifetime("gumbel", location=1.0, scale=1.0)}),
    ],
)
def test_what_cannot_be(name: str, given_: dict[str, object]) -> None:
    whole = {"mttf": 10.0, "shape": 1.0, "nodes": 2, "lifetime": None, "ages": "new", **given_}
    with pytest.raises(ParameterError) as caught:
        system_of(**whole)  # type: ignore[arg-type]
    assert caught.value.name == name


def test_no_steady_state_without_a_mean() -> None:
    with pytest.raises(ParameterError, match="finite mean"):
        SystemLifetime(lifetime("loglogistic", shape=0.9, scale=1.0), 2, "steady")


@pytest.mark.parametrize(("shape", "ages"), [(0.5, "new"), (1.0, 3e5), (1.5, "steady")])
def test_heavy_tails_have_no_mean(shape: float, ages: float | str) -> None:
    law = lifetime("lomax", shape=shape, scale=1e6)
    assert SystemLifetime(law, 1, ages).mean() == math.inf  # type: ignore[arg-type]


def test_a_mean_that_hardly_exists() -> None:
    law = lifetime("lomax", shape=1.05, scale=1e6)
    assert SystemLifetime(law, 1, 3e5).mean() == pytest.approx(1.3e6 / 0.05, rel=1e-6)


def test_nothing_fails_before_the_horizon() -> None:
    law = lifetime("pareto", shape=1.5, scale=1e6)
    system = SystemLifetime(law, 4, 1e5)
    assert float(FailureClock(system, 1e5).failures(1e5)) < 1e-50
    assert expected_failures(law, [0.0, 1e6]).tolist() == [0.0, 0.0]
