"""Weibull with a location: proper maxima where there are, no spikes where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.solve import solve
from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.registry import FAMILIES


def drawn(seed: int, shape: float, n: int, location: float = 30.0) -> np.ndarray:
    return location + 50 * np.random.default_rng(seed).weibull(shape, n)


@pytest.mark.parametrize("shape", [1.3, 1.6, 2.5, 6.0])
@pytest.mark.parametrize("n", [25, 200, 1_000])
def test_a_proper_maximum_is_no_worse_than_scipys(shape: float, n: int) -> None:
    t = drawn(n, shape, n)
    ours = fit(t, "weibull-3p")
    theirs = stats.weibull_min.fit(t)
    reached = float(stats.weibull_min.logpdf(t, *theirs).sum())
    if theirs[0] > 1 and theirs[1] >= 0:
        assert ours.loglik >= reached - 1e-6 * abs(reached)
    again = stats.weibull_min.logpdf(t, ours.params["shape"], ours.params["location"],
                                     ours.params["scale"]).sum()  # fmt: skip
    assert ours.loglik == pytest.approx(float(again), rel=1e-12)
    assert 0 <= ours.params["location"] < t.min()
    assert ours.converged


def test_a_proper_maximum_under_censoring_is_level_in_all_directions() -> None:
    t = drawn(4, 2.5, 400)
    censored = np.random.default_rng(5).random(400) < 0.3
    t[censored] *= 0.8
    found = fit(t, "weibull-3p", censored=censored)
    theta = np.array(list(found.params.values()))
    assert found.standard_errors()["location"] > 0

    def loglik(theta: np.ndarray) -> float:
        law = stats.weibull_min(theta[0], theta[2], theta[1])
        return float(law.logpdf(t[~censored]).sum() + law.logsf(t[censored]).sum())

    slope = optimize.approx_fprime(theta, loglik, 1e-6 * theta)
    errors = np.array(list(found.standard_errors().values()))
    assert np.abs(slope * errors).max() < 0.01
    assert found.loglik == pytest.approx(loglik(theta), rel=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.4, 0.7, 0.95]), st.integers(3, 60))
def test_a_shape_below_1_makes_no_spike(seed: int, shape: float, n: int) -> None:
    """However near the smallest gap is to its location, the likelihood stays that of a law whose
    location is no nearer to it than the next gap is, unless the maximum is a proper one."""
    t = drawn(seed, shape, n, location=0.0 if seed % 2 else 5.0)
    found = fit(t, "weibull-3p")
    first, second = np.sort(t)[:2]
    location = found.params["location"]
    assert np.isfinite(found.loglik)
    assert found.loglik >= fit(t, "weibull").loglik - 1e-9 * abs(found.loglik)
    assert 0 <= location < first
    if location > 0 and found.params["shape"] < 1:
        assert first - location >= 0.999 * (second - first)
        assert "bound" in found.notes[-1]
    if location == 0:
        assert "that of weibull" in found.notes[-1]


def test_a_location_is_found_although_the_shape_is_below_1() -> None:
    found = fit(drawn(1, 0.7, 2_000, location=300.0), "weibull-3p")
    assert found.params["location"] == pytest.approx(300, abs=0.1)
    assert found.params["shape"] == pytest.approx(0.7, abs=0.05)
    assert np.isnan(found.standard_errors()["location"])
    assert 0.005 < found.standard_errors()["shape"] < 0.05


def test_zeros_keep_the_location_at_0() -> None:
    found = fit(np.concatenate([np.zeros(5), drawn(1, 0.7, 200, 0.0)]), "weibull-3p")
    assert found.params["location"] < np.inf
    assert found.loglik < fit(drawn(1, 0.7, 200, 0.0), "weibull-3p").loglik + 1


def test_two_different_gaps_are_too_few_for_a_location() -> None:
    found = fit([3.0, 7.0, 7.0], "weibull-3p")
    assert found.params["location"] == 0
    assert found.loglik == pytest.approx(fit([3.0, 7.0, 7.0], "weibull").loglik)


@pytest.mark.parametrize(("shape", "location"), [(0.7, 0.0), (1.8, 0.4), (3.0, 0.0)])
def test_rows_are_fitted_as_if_alone_and_near_a_start_as_without(
    shape: float, location: float
) -> None:
    time = location + np.random.default_rng(8).weibull(shape, (60, 150))
    family = FAMILIES["weibull-3p"]
    together = solve(family, Batch.of(time))
    for row in (0, 31, 59):
        alone = solve(family, Batch.of(time[row]))
        np.testing.assert_allclose(together.loglik[row], alone.loglik[0], rtol=1e-10)
    start = np.array([shape, 1.0, location])
    near = solve(family, Batch.of(time), start)
    same = np.isclose(near.loglik, together.loglik, rtol=1e-9)
    assert same.mean() > 0.9
