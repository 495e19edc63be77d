"""Gamma and its kin: equations of their maxima, limits, and who contains whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from forestall.reliability.fits.estimate import fit
from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.gamma import GAMMAS
from forestall.reliability.lifetimes.registry import FAMILIES

GAMMA, GENERALIZED, NAKAGAMI = GAMMAS
TIMES = st.lists(st.floats(0.01, 100.0), min_size=3, max_size=30)


@given(TIMES)
def test_the_shape_solves_its_equation(times: list[float]) -> None:
    """log a - psi(a) = log of the mean over the geometric mean (Lawless 2003, 5.3)."""
    t = np.array(times)
    if np.ptp(np.log(t)) < 0.1:
        return
    gap = np.log(t.mean()) - np.log(t).mean()
    wanted = optimize.brentq(lambda a: np.log(a) - special.digamma(a) - gap, 1e-4, 1e6)
    found = GAMMA.closed(Batch.of(t))
    assert found is not None
    assert found[0, 0] == pytest.approx(wanted, rel=1e-7)
    assert found[0].prod() == pytest.approx(t.mean(), rel=1e-12)
    squares = NAKAGAMI.closed(Batch.of(np.sqrt(t)))
    assert squares is not None
    assert squares[0] == pytest.approx([wanted, np.sqrt(t.mean())], rel=1e-7)


def test_special_cases() -> None:
    t = np.array([0.3, 1.0, 4.0])
    for family, theta, same, other in (
        ("gamma", (1.0, 2.0), "exponential", (2.0,)),
        ("generalized-gamma", (1.0, 0.7, 2.0), "weibull", (0.7, 2.0)),
        ("generalized-gamma", (3.0, 1.0, 2.0), "gamma", (3.0, 2.0)),
        ("generalized-gamma", (3.0, 2.0, 2.0), "nakagami", (3.0, 2.0 * np.sqrt(3.0))),
        ("nakagami", (1.0, 2.0), "rayleigh", (np.sqrt(2.0),)),
    ):
        here, there = FAMILIES[family], FAMILIES[same]
        for method in ("logpdf", "logsf", "logcdf"):
            expected = getattr(there, method)(t, *other)
            assert getattr(here, method)(t, *theta) == pytest.approx(expected, rel=1e-12)


def test_density_at_zero() -> None:
    zero = np.zeros(1)
    assert GAMMA.logpdf(zero, 0.5, 1.0) == np.inf
    assert GAMMA.logpdf(zero, 2.0, 1.0) == -np.inf
    assert GAMMA.logpdf(zero, 1.0, 4.0) == pytest.approx(-np.log(4.0))
    assert GENERALIZED.logpdf(zero, 0.5, 2.0, 3.0) == pytest.approx(
        GENERALIZED.logpdf(np.array([1e-12]), 0.5, 2.0, 3.0), rel=1e-9
    )


@pytest.mark.parametrize("censoring", [False, True])
def test_the_generalized_is_at_least_as_likely_as_what_it_contains(censoring: bool) -> None:
    rng = np.random.default_rng(4)
    for draw in (rng.weibull, lambda shape, n: rng.gamma(shape, size=n)):
        for shape in (0.4, 1.0, 3.0):
            gaps = draw(shape, 300)
            censored = rng.random(300) < 0.3 * censoring
            found = {
                name: fit(gaps, name, censored=censored)
                for name in ("generalized-gamma", "weibull", "gamma", "nakagami")
            }
            best = found.pop("generalized-gamma")
            assert best.converged
            assert best.loglik >= max(each.loglik for each in found.values()) - 1e-8


def test_towards_the_lognormal_it_stops_and_says_so() -> None:
    gaps = np.exp(np.random.default_rng(1).gumbel(size=400))  # logarithms skewed to the right
    found, limit = fit(gaps, "generalized-gamma"), fit(gaps, "lognormal")
    assert found.converged
    assert "lognormal" in found.notes[-1]
    assert found.params["shape"] == pytest.approx(1000.0)
    assert limit.loglik - 8 < found.loglik < limit.loglik
    assert np.isnan(list(found.standard_errors().values())).all()
    t = found.quantile(np.array([0.05, 0.5, 0.95]))
    assert limit.cdf(t) == pytest.approx([0.05, 0.5, 0.95], abs=0.01)


def test_widely_spread_logarithms_leave_a_scale_that_is_a_number() -> None:
    gaps = np.exp(8 * np.random.default_rng(2).gumbel(size=300))
    found = fit(gaps, "generalized-gamma")
    assert found.params["scale"] > 0
    assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3, rel=1e-6)
    assert any("lognormal" in note for note in found.notes)


def test_moments_of_large_shapes() -> None:
    """Stirling's series where the difference of two large logarithms would have no digits."""
    assert GENERALIZED.variance(1e6, 1.0, 1e-6) == pytest.approx(1e-6, rel=1e-6)
    assert GENERALIZED.mean(1e6, 1.0, 1e-6) == pytest.approx(1.0, rel=1e-12)
    assert NAKAGAMI.variance(1e8, 1.0) == pytest.approx(0.25e-8, rel=1e-4)
