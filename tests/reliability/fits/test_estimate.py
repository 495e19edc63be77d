"""Fits against SciPy's on random and real gaps, and what a fitted object says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import forestall as fs
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.fits.sample import Sample

LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"

SCIPY: dict[str, Any] = {
    "exponential": (stats.expon, lambda p: {"scale": p["scale"]}),
    "weibull": (stats.weibull_min, lambda p: {"c": p["shape"], "scale": p["scale"]}),
    "rayleigh": (stats.rayleigh, lambda p: {"scale": p["scale"]}),
    "lognormal": (stats.lognorm, lambda p: {"s": p["sigma"], "scale": np.exp(p["mu"])}),
    "loglogistic": (stats.fisk, lambda p: {"c": p["shape"], "scale": p["scale"]}),
    "frechet": (stats.invweibull, lambda p: {"c": p["shape"], "scale": p["scale"]}),
    "gumbel": (stats.gumbel_r, lambda p: {"loc": p["location"], "scale": p["scale"]}),
}


def total(law: Any, sample: Sample) -> float:
    """Return SciPy's log-likelihood of a sample."""
    parts = law.logpdf(sample.exact), law.logsf(sample.right), law.logcdf(sample.left)
    return float(sum(part.sum() for part in parts))


def scipy_best(name: str, sample: Sample, start: Fitted) -> float:
    """Return the highest log-likelihood that SciPy gets to: its own fit, and a direct search from
    near our own answer."""
    rv = SCIPY[name][0]
    held = {} if name == "gumbel" else {"floc": 0}
    data = stats.CensoredData(uncensored=sample.exact, right=sample.right, left=sample.left)
    with np.errstate(all="ignore"):
        best = total(rv(*rv.fit(data, **held)), sample)
        family = start.family

        def loss(u: np.ndarray) -> float:
            shift = [kind in ("location", "logscale") for kind in family.kinds]
            theta = np.where(
                shift, start.lifetime.values + u * 0.1, start.lifetime.values * np.exp(u)
            )
            law = rv(**SCIPY[name][1](dict(zip(family.parameters, theta, strict=True))))
            return -total(law, sample)

        near = np.full(len(family.kinds), 0.05)
        ends = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 400}
        searched = optimize.minimize(loss, near, method="Nelder-Mead", options=ends)
    return max(best, -float(searched.fun))


def check(name: str, sample: Sample) -> None:
    ours = fit(sample, name)
    law = SCIPY[name][0](**SCIPY[name][1](ours.params))
    assert ours.converged
    assert ours.loglik == pytest.approx(total(law, sample), rel=1e-9)
    best = scipy_best(name, sample, ours)
    assert ours.loglik >= best - 1e-6 * abs(best)
    assert ours.loglik == pytest.approx(best, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize(("shape", "n", "share"), [(0.4, 30, 0.3), (0.9, 200, 0.0), (3.0, 80, 0.6)])
def test_random_gaps(name: str, shape: float, n: int, share: float) -> None:
    rng = np.random.default_rng(n)
    gaps, censored = 40 * rng.weibull(shape, n), rng.random(n) < share
    check(name, Sample.of(gaps, censored))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCIPY)
def test_zeros_and_ties(name: str) -> None:
    """Gaps as a clock with minutes writes them: many equal, some 0."""
    rng = np.random.default_rng(9)
    gaps = np.floor(20 * rng.weibull(0.7, 150))
    assert (gaps == 0).sum() > 5
    check(name, Sample.of(gaps, rng.random(150) < 0.2))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCIPY)
def test_real_gaps(name: str, data: Path) -> None:
    failures = fs.read_failures(data / LANL, system=20)
    gaps = np.diff(np.unique(failures.time)).astype(np.float64)
    censored = np.zeros(len(gaps), dtype=bool)
    censored[-1] = True
    check(name, Sample.of(gaps, censored))


def test_the_shape_of_the_lanl_system_is_that_of_the_literature(data: Path) -> None:
    """Weibull shapes of 0.6 to 0.8 between failures of system 20, far from exponential."""
    failures = fs.read_failures(data / LANL, system=20)
    gaps = np.diff(np.sort(failures.time))
    weibull, exponential = (
        fit(gaps, "weibull", zeros="drop"),
        fit(gaps, "exponential", zeros="drop"),
    )
    assert 0.6 < weibull.params["shape"] < 0.8
    assert weibull.aic < exponential.aic - 100


@settings(max_examples=30)
@given(st.integers(0, 1_000), st.sampled_from(sorted(SCIPY)), st.integers(-6, 6))
def test_the_unit_of_time_changes_nothing_but_the_scale(seed: int, name: str, power: int) -> None:
    rng = np.random.default_rng(seed)
    gaps, censored = rng.weibull(0.9, 40) + 0.01, rng.random(40) < 0.3
    unit = 10.0**power
    plain, scaled = (fit(g, name, censored=censored) for g in (gaps, gaps * unit))
    failures = int((~censored).sum())
    assert scaled.loglik == pytest.approx(plain.loglik - failures * np.log(unit), abs=1e-6)
    for (key, value), kind in zip(plain.params.items(), plain.family.kinds, strict=True):
        moved = {"scale": value * unit, "location": value * unit, "logscale": value + np.log(unit)}
        spread = 1e-3 * scaled.standard_errors()[key]
        assert scaled.params[key] == pytest.approx(moved.get(kind, value), abs=spread)


def test_a_fit_speaks_for_itself() -> None:
    found = fit([12.0, 40.0, 7.0, 90.0, 33.0, 0.0], censored=[0, 0, 0, 1, 0, 0])
    assert found.family.name == "weibull"
    assert list(found.params) == ["shape", "scale"]
    assert found.aic == pytest.approx(4 - 2 * found.loglik)
    assert found.bic == pytest.approx(2 * np.log(6) - 2 * found.loglik)
    assert found.aicc == pytest.approx(found.aic + 12 / 3)
    assert found.sf(20.0) == pytest.approx(1 - found.cdf(20.0))
    assert found.hazard(20.0) == pytest.approx(found.pdf(20.0) / found.sf(20.0))
    assert found.cumulative_hazard(20.0) == pytest.approx(-np.log(found.sf(20.0)))
    assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3)
    assert found.mean() == found.lifetime.mean()
    assert found.variance() == found.lifetime.variance()
    text = found.summary()
    assert "6 gaps, 5 ended, 1 censored" in text
    assert "1 gap of 0 taken as ended by 7" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    table = found.table
    assert table.columns == ["parameter", "value", "standard_error"]
    assert table["value"].to_list() == list(found.params.values())
    assert fit([1.0, 2.0]).aicc == float("inf")


def test_covariance_of_exponential_and_lognormal_is_the_textbooks() -> None:
    t = np.random.default_rng(4).lognormal(3, 0.8, 200)
    exponential = fit(t, "exponential")
    assert exponential.standard_errors()["scale"] == pytest.approx(t.mean() / np.sqrt(200))
    lognormal = fit(t, "lognormal")
    sigma = np.log(t).std()
    expected = np.diag([sigma**2 / 200, sigma**2 / 400])
    np.testing.assert_allclose(lognormal.covariance(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["weibull", "loglogistic", "frechet", "gumbel", "rayleigh"])
def test_covariance_is_the_inverse_of_the_curvature(name: str) -> None:
    rng = np.random.default_rng(6)
    sample = Sample.of(50 * rng.weibull(1.4, 300), rng.random(300) < 0.3)
    found = fit(sample, name)
    theta, p = np.array(found.lifetime.values), len(found.params)
    step = np.diag(1e-4 * np.abs(theta))

    def at(values: np.ndarray) -> float:
        law = SCIPY[name][0](**SCIPY[name][1](dict(zip(found.params, values, strict=True))))
        return total(law, sample)

    curvature = np.empty((p, p))
    for j in range(p):
        for k in range(p):
            a, b = step[j], step[k]
            mixed = at(theta + a + b) - at(theta + a - b) - at(theta - a + b) + at(theta - a - b)
            curvature[j, k] = -mixed / (4 * a[j] * b[k])
    np.testing.assert_allclose(found.covariance(), np.linalg.inv(curvature), rtol=1e-3)


def test_same_gaps_same_bytes() -> None:
    rng = np.random.default_rng(3)
    gaps, censored = rng.weibull(0.7, 5_000), rng.random(5_000) < 0.3
    for name in ("weibull", "loglogistic", "weibull-3p"):
        one, two = (fit(gaps.copy(), name, censored=censored.copy()) for _ in range(2))
        assert one.lifetime == two.lifetime
        assert one.loglik == two.loglik
