"""Lognormal, loglogistic, Frechet and Gumbel against SciPy, and their likelihoods by parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forestall.reliability.fits import newton
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.batch import Batch, Fittable
from forestall.reliability.lifetimes.location_scale import LOCATION_SCALES
from forestall.reliability.lifetimes.registry import FAMILIES
from forestall.reliability.lifetimes.weibull import WEIBULLS

MINE = [family.name for family in (*WEIBULLS, *LOCATION_SCALES)]
SHAPES = st.floats(0.2, 8.0)
SCALES = st.sampled_from([1e-200, 1e-3, 1.0, 42.0, 1e200])


def scipy_law(name: str, *theta: float) -> Any:
    """Return SciPy's law for our parameters."""
    make = {
        "exponential": lambda scale: stats.expon(scale=scale),
        "weibull": lambda shape, scale: stats.weibull_min(shape, scale=scale),
        "weibull-3p": lambda shape, scale, location: stats.weibull_min(shape, location, scale),
        "rayleigh": lambda scale: stats.rayleigh(scale=scale),
        "lognormal": lambda mu, sigma: stats.lognorm(sigma, scale=np.exp(mu)),
        "loglogistic": lambda shape, scale: stats.fisk(shape, scale=scale),
        "frechet": lambda shape, scale: stats.invweibull(shape, scale=scale),
        "gumbel": stats.gumbel_r,
    }
    return make[name](*theta)


def theta_of(family: Fittable, shape: float, scale: float) -> tuple[float, ...]:
    """Return parameters: shapes are `shape`, times are about `scale`."""
    values = {"shape": shape, "scale": scale, "location": 0.3 * scale, "logscale": np.log(scale)}
    return tuple(float(values[kind]) for kind in family.kinds)


@pytest.mark.parametrize("name", MINE)
@given(shape=SHAPES, scale=SCALES)
def test_functions_agree_with_scipy(name: str, shape: float, scale: float) -> None:
    family = FAMILIES[name]
    assert isinstance(family, Fittable)
    theta = theta_of(family, shape, scale)
    ours, theirs = Lifetime(family, theta), scipy_law(name, *theta)
    t = scale * np.array([0.31, 0.4, 0.9, 1.0, 1.7, 3.0])
    with np.errstate(all="ignore"):
        wanted = theirs.cdf(t), theirs.sf(t), theirs.pdf(t) * scale
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(ours.cdf(t), wanted[0], **close)
    np.testing.assert_allclose(ours.sf(t), wanted[1], **close)
    np.testing.assert_allclose(ours.pdf(t) * scale, wanted[2], **close)
    p = np.array([0.01, 0.3, 0.5, 0.99])
    np.testing.assert_allclose(ours.cdf(ours.quantile(p)), p, rtol=1e-6)


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("shape", [0.4, 1.5, 2.5, 6.0])
def test_moments_agree_with_scipy(name: str, shape: float) -> None:
    family = FAMILIES[name]
    assert isinstance(family, Fittable)
    theta = theta_of(family, shape, 3.0)
    ours, theirs = Lifetime(family, theta), scipy_law(name, *theta)
    heavy = name in ("loglogistic", "frechet")
    mean = np.inf if heavy and shape <= 1 else theirs.mean()
    variance = np.inf if heavy and shape <= 2 else theirs.var()
    assert ours.mean() == pytest.approx(mean, rel=1e-10)
    assert ours.variance() == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize("name", MINE)
def test_draws_follow_the_law(name: str) -> None:
    family = FAMILIES[name]
    assert isinstance(family, Fittable)
    law = Lifetime(family, theta_of(family, 1.7, 5.0))
    drawn = law.draw(np.random.default_rng(7), (2, 2_000))
    assert drawn.shape == (2, 2_000)
    assert stats.kstest(drawn.ravel(), law.cdf).pvalue > 0.001


@pytest.mark.parametrize("name", [n for n in MINE if n != "gumbel"])
def test_nothing_fails_before_time_0_and_nothing_outlasts_all(name: str) -> None:
    family = FAMILIES[name]
    assert isinstance(family, Fittable)
    law = Lifetime(family, theta_of(family, 1.7, 5.0))
    ends = np.array([-np.inf, -1.0, 0.0, np.inf])
    assert law.cdf(ends).tolist() == [0, 0, 0, 1]
    assert law.sf(ends).tolist() == [1, 1, 1, 0]
    assert law.pdf(ends)[[0, 1, 3]].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "shape", "density"),
    [("weibull", 0.5, np.inf), ("weibull", 1.0, 0.5), ("weibull", 2.0, 0.0),
     ("loglogistic", 0.5, np.inf), ("loglogistic", 1.0, 0.5), ("loglogistic", 2.0, 0.0),
     ("frechet", 0.5, 0.0), ("lognormal", 2.0, 0.0), ("exponential", 1.0, 0.5)],
)  # fmt: skip
def test_density_at_0_is_its_limit(name: str, shape: float, density: float) -> None:
    family = FAMILIES[name]
    assert isinstance(family, Fittable)
    law = Lifetime(family, theta_of(family, shape, 2.0))
    assert law.pdf(0.0) == density
    if density == 0.5:
        assert law.pdf(1e-12) == pytest.approx(density)


@pytest.mark.parametrize("name", MINE)
def test_likelihood_and_its_derivatives_by_parts(name: str) -> None:
    """Exact, right- and left-censored, three samples at once, one of them with weights."""
    family = FAMILIES[name]
    assert isinstance(family, Fittable)
    rng = np.random.default_rng(3)
    exact, right, left = 1 + rng.weibull(1.5, (3, 30)), rng.random((3, 8)), 1 + rng.random((3, 4))
    batch = Batch.of(exact, right, left)
    theta = np.tile(theta_of(family, 1.3, 1.4), (3, 1)) * np.array([[1.0], [1.1], [0.9]])
    value, gradient, hessian = (
        family.derivatives(batch, newton.unconstrained(family, theta)) or (np.empty(0),) * 3
    )
    plain = [
        sum(
            float(np.sum(term(times[row], *theta[row])))
            for term, times in (
                (family.logpdf, exact),
                (family.logsf, right),
                (family.logcdf, left),
            )
        )
        for row in range(3)
    ]
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    np.testing.assert_allclose(family.loglik(batch, theta), plain, rtol=1e-12)
    np.testing.assert_allclose(Fittable.loglik(family, batch, theta), plain, rtol=1e-12)
    rough = newton._differences(family, batch, newton.unconstrained(family, theta))
    np.testing.assert_allclose(gradient, rough[1], rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(hessian, rough[2], rtol=1e-5, atol=1e-4)
