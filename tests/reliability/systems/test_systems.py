"""Series systems, k out of N and mean lives: the paper's numbers, and plain slow references."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import fit
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.systems import (
    Age,
    ComponentGroup,
    assumption,
    checked_age,
    counts_of,
    from_mttf,
    integral_to,
    k_out_of_n,
    log_survival,
    mean_life,
    series_mttf,
    series_sf,
)

BLADE, COMMODITY = 102_840.0, 35_388.8
SHAPES = st.sampled_from([0.3, 0.5, 0.7, 1.0, 1.8, 4.0])
LOGNORMAL = lifetime("lognormal", mu=5.0, sigma=1.4)


def integral(law: Lifetime, start: float, end: float) -> float:
    """Return the integral of the survival in pieces that no feature falls between."""
    cuts = [start, *[c for c in np.geomspace(1e-9, 1e9, 73) * law.mean() if start < c < end], end]
    return sum(
        integrate.quad(law.sf, a, b, epsabs=0, epsrel=1e-11)[0]
        for a, b in itertools.pairwise(cuts)
        if math.isfinite(b)
    )


# The paper's numbers -----------------------------------------------------------------------------


def test_the_node_of_table_2() -> None:
    parts = [67_640.0, 100_000.0, 400_000.0, 3_860_000.0, 1_400_000.0]
    node = series_mttf([ComponentGroup(1, from_mttf(mttf)) for mttf in parts])
    assert node.time == pytest.approx(COMMODITY, abs=0.05)
    assert node.assumes == "all nodes as new at time 0"


def test_scale_from_the_mean() -> None:
    law = from_mttf(BLADE, 0.7)
    assert law.params["scale"] == pytest.approx(BLADE / math.gamma(1 + 1 / 0.7))
    assert law.mean() == pytest.approx(BLADE)


@given(st.integers(1, 100_000), SHAPES)
def test_like_nodes_new_and_steady(count: int, shape: float) -> None:
    group = [ComponentGroup(count, from_mttf(BLADE, shape))]
    new, steady = series_mttf(group), series_mttf(group, "steady")
    assert new.time == pytest.approx(BLADE / count ** (1 / shape))
    assert steady.time == pytest.approx(BLADE / count)
    assert "renewed alone" in steady.assumes


def test_new_against_steady_as_the_page_has_it() -> None:
    group = [ComponentGroup(1000, from_mttf(24_000.0, 0.7))]
    assert series_mttf(group).time == pytest.approx(1.24, abs=0.005)
    assert series_mttf(group, "steady").time == pytest.approx(24.0)


def test_mixed_system_of_section_4() -> None:
    """Reliability of 256 commodity nodes at 100 h: 2.8 % (printed: 2.8). With 128 of them blades
    it is 7.5 %; the printed 6.6 % comes out with theta at shape 0.7 and the exponent 0.75."""
    old, new = from_mttf(COMMODITY, 0.75), from_mttf(BLADE, 0.75)
    assert 100 * series_sf([ComponentGroup(256, old)], 100.0) == pytest.approx(2.80, abs=0.005)
    both = [ComponentGroup(128, old), ComponentGroup(128, new)]
    assert 100 * series_sf(both, 100.0) == pytest.approx(7.49, abs=0.005)
    printed = [
        ComponentGroup(
            128, lifetime("weibull", shape=0.75, scale=from_mttf(m, 0.7).params["scale"])
        )
        for m in (COMMODITY, BLADE)
    ]
    assert 100 * series_sf(printed, 100.0) == pytest.approx(6.63, abs=0.005)


# Against references ------------------------------------------------------------------------------


def test_groups_of_unlike_shapes() -> None:
    groups = [ComponentGroup(40, from_mttf(500.0, 0.6)), ComponentGroup(3, from_mttf(80.0, 2.0))]

    def sf(t: float) -> float:
        return float(groups[0].lifetime.sf(t) ** 40 * groups[1].lifetime.sf(t) ** 3)

    for t in (0.01, 1.0, 20.0):
        assert series_sf(groups, t) == pytest.approx(sf(t))
    exact = sum(
        integrate.quad(sf, a, b, epsabs=0, epsrel=1e-11)[0]
        for a, b in itertools.pairwise([0, 1e-6, 1e-3, 0.1, 1, 5, 20, 100])
    )
    assert series_mttf(groups).time == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "law", [from_mttf(300.0, 0.4), from_mttf(300.0, 3.0), LOGNORMAL, from_mttf(300.0)]
)
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.7, 3.0])
def test_steady_survival(law: Lifetime, share: float) -> None:
    t = share * law.mean()
    gone = integral(law, 0.0, t)
    assert float(integral_to(law.sf, t)) == pytest.approx(gone, rel=1e-9)
    left = -math.log1p(-gone / law.mean())
    assert float(log_survival(law, t, "steady")) == pytest.approx(-left, rel=1e-7)


def test_steady_state_is_where_ages_lead() -> None:
    """Ages drawn from the equilibrium law survive, on average, as ``steady`` says."""
    law, rng = from_mttf(100.0, 0.6), np.random.default_rng(5)
    uniform = rng.random((2, 20_000))
    biased = np.sort(law.draw(rng, 400_000))  # length-biased lives, by their cumulated length
    passed = np.cumsum(biased)
    ages = uniform[1] * biased[np.searchsorted(passed, uniform[0] * passed[-1])]
    lasting = law.survival_from(ages, 30.0)
    error = 4 * lasting.std() / math.sqrt(len(ages))
    assert math.exp(float(log_survival(law, 30.0, "steady"))) == pytest.approx(
        lasting.mean(), abs=error + 0.002
    )


def test_given_ages() -> None:
    law = from_mttf(100.0, 0.6)
    group = ComponentGroup(3, law, (0.0, 10.0, 50.0))
    expected = np.prod([law.survival_from(age, 7.0) for age in group.age])  # type: ignore[union-attr]
    assert series_sf([group], 7.0) == pytest.approx(expected)
    one_age = ComponentGroup(3, law, 10.0)
    assert series_sf([one_age], 7.0) == pytest.approx(float(law.survival_from(10.0, 7.0)) ** 3)
    with pytest.raises(ParameterError, match="as many ages as nodes, 2"):
        ComponentGroup(2, law, (1.0, 2.0, 3.0))


def test_heavy_tails_have_no_steady_state() -> None:
    with pytest.raises(ParameterError, match="finite mean"):
        log_survival(lifetime("frechet", shape=0.8, scale=1.0), 1.0, "steady")


@pytest.mark.parametrize("age", [-1.0, math.nan, math.inf, "old", (), (1.0, -2.0)])
def test_ages_that_cannot_be(age: Age) -> None:
    with pytest.raises(ParameterError, match="ages"):
        checked_age(age)


def test_ages_in_words() -> None:
    assert assumption(checked_age(12)) == "all nodes 12 old"
    assert assumption((1.0, 2.0)) == "nodes of 2 given ages"
    assert assumption(36.0, "{:.0f} h".format) == "all nodes 36 h old"


@pytest.mark.parametrize(("mttf", "shape"), [(0.0, 1.0), (-1.0, 1.0), (math.inf, 1.0), (1.0, 0.0)])
def test_laws_that_cannot_be(mttf: float, shape: float) -> None:
    with pytest.raises(ParameterError):
        from_mttf(mttf, shape)


def test_a_shape_too_small_for_any_scale() -> None:
    with pytest.raises(ParameterError, match="shape"):
        from_mttf(100.0, 1e-4)


# k out of N --------------------------------------------------------------------------------------


def by_subsets(losses: list[float], spares: int) -> float:
    """Return the chance of at most `spares` losses by adding up every set of lost nodes."""
    total = 0.0
    for lost in itertools.product((False, True), repeat=len(losses)):
        if sum(lost) <= spares:
            total += math.prod(q if gone else 1 - q for q, gone in zip(losses, lost, strict=True))
    return total


@given(
    st.lists(st.tuples(st.integers(0, 4), SHAPES, st.floats(1.0, 200.0)), min_size=1, max_size=3),
    st.integers(0, 6),
    st.floats(0.1, 100.0),
)
def test_unlike_nodes_by_subsets(
    given_groups: list[tuple[int, float, float]], spares: int, t: float
) -> None:
    groups = [ComponentGroup(count, from_mttf(mttf, shape)) for count, shape, mttf in given_groups]
    losses = [float(g.lifetime.cdf(t)) for g in groups for _ in range(g.count)]
    assert k_out_of_n(groups, t, spares) == pytest.approx(by_subsets(losses, spares), abs=1e-12)


@given(st.integers(1, 400), st.integers(0, 12), SHAPES, st.floats(0.001, 300.0))
def test_like_nodes_are_binomial(count: int, spares: int, shape: float, t: float) -> None:
    law = from_mttf(100.0, shape)
    expected = stats.binom.cdf(spares, count, law.cdf(t))
    assert k_out_of_n([ComponentGroup(count, law)], t, spares) == pytest.approx(expected, rel=1e-9)
    counts = counts_of([(count, float(law.cdf(t)))], spares)
    assert counts.sum() == pytest.approx(expected, rel=1e-9, abs=1e-15)


@given(st.integers(2, 60), st.integers(0, 5), st.floats(0.1, 50.0))
def test_more_spares_and_less_time_never_hurt(count: int, spares: int, t: float) -> None:
    group = [ComponentGroup(count, from_mttf(100.0, 0.7))]
    assert k_out_of_n(group, t, spares) <= k_out_of_n(group, t, spares + 1) + 1e-15
    assert k_out_of_n(group, 2 * t, spares) <= k_out_of_n(group, t, spares) + 1e-15


def test_a_split_of_like_nodes_changes_nothing() -> None:
    law = from_mttf(BLADE, 0.7)
    whole = k_out_of_n([ComponentGroup(256, law)], 128.0, 3)
    parts = k_out_of_n([ComponentGroup(100, law), ComponentGroup(156, law)], 128.0, 3)
    aged = k_out_of_n([ComponentGroup(256, law, (0.0,) * 256)], 128.0, 3)
    assert parts == pytest.approx(whole)
    assert aged == pytest.approx(whole)


def test_mean_life_with_spares() -> None:
    """Of exponential nodes 1 / (rate k) adds up over the losses that are borne."""
    group = [ComponentGroup(10, from_mttf(100.0))]

    def log_sf(times: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log([k_out_of_n(group, float(t), 2) for t in times])

    expected = sum(100.0 / k for k in (10, 9, 8))
    assert mean_life(log_sf, series_mttf(group).time) == pytest.approx(expected, rel=1e-6)


def test_no_nodes_never_fail() -> None:
    assert series_mttf([ComponentGroup(0, from_mttf(1.0))]).time == math.inf
    assert series_sf([], [1.0, 2.0]).tolist() == [1.0, 1.0]


def test_mean_lives_of_heavy_tails() -> None:
    law = lifetime("lomax", shape=0.6, scale=1e6)
    assert series_mttf([ComponentGroup(1, law)]).time == math.inf
    assert series_mttf([ComponentGroup(2, law)]).time == pytest.approx(1e6 / 0.2, rel=1e-8)
    with pytest.raises(ParameterError, match="which Lomax"):
        series_mttf([ComponentGroup(2, law)], "steady")


def test_a_group_takes_something_fitted() -> None:
    fitted = fit([12.0, 40.0, 7.0, 90.0, 33.0])
    assert ComponentGroup(3, fitted).lifetime is fitted.lifetime  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a Lifetime, or something fitted"):
        ComponentGroup(3, 100.0)  # type: ignore[arg-type]
