"""Inverse Gaussian and Birnbaum-Saunders: closed forms, symmetry, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.reliability.fits.estimate import fit
from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.positive import POSITIVES

INVERSE, WEAR = POSITIVES
TIMES = st.lists(st.floats(0.01, 100.0), min_size=3, max_size=30)


@given(TIMES)
def test_the_closed_form(times: list[float]) -> None:
    """mean = mean of t, n / shape_scale = sum of 1 / t - 1 / mean (Chhikara and Folks 1989, 5)."""
    t = np.array(times)
    if np.ptp(t) < 1e-3 * t.mean():
        return
    found = INVERSE.closed(Batch.of(t))
    assert found is not None
    assert found[0, 0] == pytest.approx(t.mean(), rel=1e-12)
    assert found[0, 1] == pytest.approx(1 / np.mean(1 / t - 1 / t.mean()), rel=1e-6)


def test_nearly_equal_gaps_keep_their_digits() -> None:
    """Where 1 / t - 1 / mean has none left."""
    t = 1 + 1e-6 * np.array([-1.0, 0.0, 1.0])
    found = INVERSE.closed(Batch.of(t))
    assert found is not None
    assert found[0, 1] == pytest.approx(1.5e12, rel=1e-4)


def test_without_a_mean_the_fit_says_so() -> None:
    rng = np.random.default_rng(1)
    gaps = 1 / rng.standard_normal(400) ** 2  # first passage without drift: the mean is infinite
    stop = 4.0
    found = fit(np.minimum(gaps, stop), "inverse-gaussian", censored=gaps > stop)
    assert found.params["shape_scale"] == pytest.approx(1.0, rel=0.3)
    assert found.params["mean"] > 5
    heavy = 100 * rng.weibull(0.7, 2_000)
    censored = rng.random(2_000) < 0.4
    note = fit(heavy, "inverse-gaussian", censored=censored).notes
    assert note == ("no maximum: the mean grows without bound",)


@given(st.floats(0.05, 5.0), st.floats(0.1, 10.0), st.floats(0.01, 100.0))
def test_the_reciprocal_of_wear_is_wear(shape: float, scale: float, t: float) -> None:
    """1 / T is Birnbaum-Saunders with the same shape and the reciprocal scale."""
    here = WEAR.logcdf(np.float64(t), shape, scale)
    assert here == pytest.approx(float(WEAR.logsf(np.float64(1 / t), shape, 1 / scale)), rel=1e-9)


@pytest.mark.parametrize(("mean", "strength"), [(1.0, 1e-4), (1.0, 1e6), (5.0, 1.0)])
def test_quantiles_of_extreme_laws(mean: float, strength: float) -> None:
    shares = np.array([1e-12, 1e-3, 0.5, 0.9, 0.999])
    t = INVERSE.quantile(shares, mean, strength)
    assert (np.diff(t) > 0).all()
    assert np.exp(INVERSE.logcdf(t, mean, strength)) == pytest.approx(shares, rel=1e-8)
    assert INVERSE.quantile(np.array([0.0, 1.0]), mean, strength).tolist() == [0.0, np.inf]
    assert np.isnan(INVERSE.quantile(np.array([1.5]), mean, strength))


def test_wear_solves_its_equation() -> None:
    """shape^2 = s / b + b / r - 2 with s the mean and r the harmonic mean (Birnbaum, Saunders)."""
    t = np.random.default_rng(3).gamma(2.0, size=200)
    found = fit(t, "birnbaum-saunders")
    shape, scale = found.params.values()
    assert shape**2 == pytest.approx(t.mean() / scale + scale * np.mean(1 / t) - 2, rel=1e-8)
