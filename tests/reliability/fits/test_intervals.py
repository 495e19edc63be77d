"""Confidence intervals against their definitions, worked out another way."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.fits.intervals import METHODS, Method, confidence_intervals, deviance_cut
from forestall.reliability.lifetimes.registry import FAMILIES

Array = npt.NDArray[np.float64]

RNG = np.random.default_rng(1)
ENDED, STOPPED = 100 * RNG.weibull(0.7, 60), RNG.exponential(150.0, 60)
GAPS, CENSORED = np.minimum(ENDED, STOPPED), STOPPED < ENDED


def loglik(fitted: Fitted, *values: float) -> float:
    """Return the log-likelihood by the family's definition, in the gaps' own unit."""
    family, sample = fitted.family, fitted.sample
    with np.errstate(all="ignore"):
        parts = (
            family.logpdf(sample.exact, *values).sum(),
            family.logsf(sample.right, *values).sum(),
            family.logcdf(sample.left, *values).sum(),
        )
    return float(sum(parts))


def half_cut(fitted: Fitted, level: float) -> float:
    """Return how far the profile falls at the ends, from Student's t."""
    n, p = fitted.sample.failures, len(fitted.params)
    return n / 2 * math.log1p(stats.t(n - p).ppf((1 + level) / 2) ** 2 / (n - p))


def test_the_cut_is_that_of_chi_square_in_large_samples() -> None:
    for count, apart in ((20, 0.25), (200, 0.02), (20_000, 2e-4)):
        fitted = fit(RNG.weibull(0.7, count), "weibull")
        cut = deviance_cut(fitted, 0.95) ** 2
        assert 1 < cut / stats.chi2(1).ppf(0.95) < 1 + apart


def highest(objective: object, start: float) -> float:
    """Return the maximum of a function of the logarithm of one number."""
    found = optimize.minimize_scalar(
        lambda u: -objective(math.exp(u)),  # type: ignore[operator]
        bracket=(math.log(start) - 0.1, math.log(start) + 0.1),
        tol=1e-12,
    )
    return -float(found.fun)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("family", ["weibull", "loglogistic", "frechet", "gamma"])
def test_profile_falls_by_half_the_quantile_at_each_end(family: str, level: float) -> None:
    fitted = fit(GAPS, family, censored=CENSORED)
    found = confidence_intervals(fitted, level)
    wanted = fitted.loglik - half_cut(fitted, level)
    shape, scale = fitted.lifetime.values
    for end in found["shape"]:
        profile = highest(lambda s, end=end: loglik(fitted, end, s), scale)
        assert profile == pytest.approx(wanted, abs=1e-5)
    for end in found["scale"]:
        profile = highest(lambda k, end=end: loglik(fitted, k, end), shape)
        assert profile == pytest.approx(wanted, abs=1e-5)
    assert found["shape"][0] < shape < found["shape"][1]
    assert found["scale"][0] < scale < found["scale"][1]


@pytest.mark.parametrize("family", ["weibull", "gamma"])
def test_profile_of_the_mean(family: str) -> None:
    fitted = fit(GAPS, family, censored=CENSORED)
    found = confidence_intervals(fitted)["mean"]
    wanted = fitted.loglik - half_cut(fitted, 0.95)

    def scale(shape: float, mean: float) -> float:
        return mean / (special.gamma(1 + 1 / shape) if family == "weibull" else shape)

    for end in found:
        profile = highest(
            lambda k, end=end: loglik(fitted, k, scale(k, end)), fitted.params["shape"]
        )
        assert profile == pytest.approx(wanted, abs=1e-5)
    assert found[0] < fitted.mean() < found[1]


def test_profile_of_the_lognormal_without_censoring_is_known() -> None:
    # The deviance in mu is n log(1 + (mean - mu)^2 / sigma^2).
    fitted = fit(ENDED, "lognormal")
    mu, sigma = fitted.lifetime.values
    reach = sigma * stats.t(len(ENDED) - 2).ppf(0.95) / math.sqrt(len(ENDED) - 2)
    found = confidence_intervals(fitted, 0.9)["mu"]
    assert found == pytest.approx((mu - reach, mu + reach), rel=1e-6)


def test_exponential_is_exact_where_it_can_be() -> None:
    gaps = [3.0, 5.0, 11.0, 20.0]
    found = confidence_intervals(fit(gaps, "exponential"), 0.9)
    low, high = stats.chi2(8).ppf([0.05, 0.95])
    assert found["scale"] == pytest.approx((2 * 39 / high, 2 * 39 / low))
    assert found["mean"] == found["scale"]
    assert "exact chi-square interval" in found.notes
    # Ten nodes on test until the fourth failed: 39 + 6 * 20 of time on test.
    stopped = fit(gaps + [20.0] * 6, "exponential", censored=[0] * 4 + [1] * 6)
    found = confidence_intervals(stopped, 0.9)
    assert found["scale"] == pytest.approx((2 * 159 / high, 2 * 159 / low))
    # Stopped at a time of its own: no longer exact.
    later = fit(gaps + [21.0] * 6, "exponential", censored=[0] * 4 + [1] * 6)
    found = confidence_intervals(later, 0.9)
    assert found.notes == ()
    wanted = later.loglik - half_cut(later, 0.9)
    for end in found["scale"]:
        assert loglik(later, end) == pytest.approx(wanted, abs=1e-6)


def test_wald_of_the_exponential() -> None:
    found = confidence_intervals(fit(GAPS, "exponential", censored=CENSORED), 0.95, "wald")
    failures = int((~CENSORED).sum())
    scale, reach = GAPS.sum() / failures, stats.norm.ppf(0.975) / math.sqrt(failures)
    expected = (scale * math.exp(-reach), scale * math.exp(reach))
    assert found["scale"] == pytest.approx(expected, rel=1e-6)
    assert found["mean"] == pytest.approx(expected, rel=1e-6)


def test_wald_of_the_lognormal_mean() -> None:
    fitted = fit(ENDED, "lognormal")
    mu, sigma = fitted.lifetime.values
    reach = stats.norm.ppf(0.975) * math.sqrt((sigma**2 + sigma**4 / 2) / len(ENDED))
    mean = math.exp(mu + sigma**2 / 2)
    found = confidence_intervals(fitted, 0.95, "wald")["mean"]
    assert found == pytest.approx((mean * math.exp(-reach), mean * math.exp(reach)), rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=10)
@given(st.sampled_from([1e-280, 1 / 3600, 60.0, 1e280]), st.integers(0, 1000))
def test_intervals_are_in_the_unit_of_the_gaps(method: Method, factor: float, seed: int) -> None:
    gaps = np.random.default_rng(seed).weibull(0.8, 30)
    one = confidence_intervals(fit(gaps, "weibull"), 0.9, method, 30)
    other = confidence_intervals(fit(gaps * factor, "weibull"), 0.9, method, 30)
    assert other["shape"] == pytest.approx(one["shape"], rel=1e-6)
    for name in ("scale", "mean"):
        assert np.array(other[name]) / factor == pytest.approx(np.array(one[name]), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_higher_levels_hold_lower_ones(method: Method) -> None:
    fitted = fit(GAPS, "weibull", censored=CENSORED)
    found = [confidence_intervals(fitted, level, method, 199) for level in (0.5, 0.8, 0.95, 0.99)]
    for inner, outer in itertools.pairwise(found):
        for name, (low, high) in inner.items():
            assert outer[name][0] < low < high < outer[name][1]


def test_bootstrap_is_near_the_likelihood_and_the_seed_decides() -> None:
    rng = np.random.default_rng(3)
    ended, stopped = rng.gamma(2.0, 5.0, 400), rng.exponential(20.0, 400)
    fitted = fit(np.minimum(ended, stopped), "weibull", censored=stopped < ended)
    first = confidence_intervals(fitted, 0.9, "bootstrap", 999, 1)
    assert first == confidence_intervals(fitted, 0.9, "bootstrap", 999, 1)
    assert first != confidence_intervals(fitted, 0.9, "bootstrap", 999, 2)
    for name, ends in confidence_intervals(fitted, 0.9).items():
        width = ends[1] - ends[0]
        assert first[name] == pytest.approx(ends, abs=0.12 * width)


def test_open_ends_are_said_to_be_open() -> None:
    # A mean that is finite, and may as well not be.
    gaps = 10 * stats.fisk(1.2).rvs(size=15, random_state=np.random.default_rng(4))
    fitted = fit(gaps, "loglogistic")
    assert math.isfinite(fitted.mean())
    low, high = confidence_intervals(fitted)["mean"]
    assert 0 < low < fitted.mean()
    assert high == math.inf
    # Few gaps of a light tail do not rule out a limit of the family, the exponential.
    gaps = stats.lomax(4).rvs(size=80, random_state=np.random.default_rng(6))
    fitted = fit(gaps, "lomax")
    assert fitted.converged
    found = confidence_intervals(fitted)
    assert found["shape"][1] == math.inf
    assert 0 < found["shape"][0] < fitted.params["shape"]
    assert found["scale"][1] == math.inf
    assert math.isfinite(found["mean"][1])


def test_no_interval_is_nan_with_a_note() -> None:
    found = confidence_intervals(fit(stats.fisk(0.7).rvs(size=30, random_state=RNG), "loglogistic"))
    assert np.isnan(found["mean"]).all()
    assert any(note.startswith("mean:") for note in found.notes)
    assert np.isfinite(found["shape"]).all()


SAMPLES: dict[str, tuple[Array, Array | None]] = {
    "two": (np.array([1.0, 3.0]), None),
    "ordinary": (GAPS, CENSORED),
    "mostly censored": (GAPS, np.arange(60) >= 3),
    "ties": (np.ceil(GAPS / 20), None),
    "zeros": (np.floor(GAPS / 20), CENSORED),
}


SLOW = ("mostly censored", "zeros")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "sample", ["two", "ordinary", "ties", *(pytest.param(s, marks=pytest.mark.slow) for s in SLOW)]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_table_without_exceptions(
    family: str, sample: str, method: Method
) -> None:
    gaps, censored = SAMPLES[sample]
    fitted = fit(gaps, family, censored=censored, zeros="censored")
    found = confidence_intervals(fitted, 0.9, method, 20)
    assert list(found) == list(dict.fromkeys((*fitted.params, "mean")))
    estimates = {"mean": fitted.mean()} | fitted.params
    for name, (low, high) in found.items():
        if math.isnan(low) or math.isnan(high):
            assert math.isnan(low)
            assert math.isnan(high)
            assert found.notes
        elif method == "bootstrap":
            assert low <= high
        else:
            slack = 1e-6 * abs(estimates[name])
            assert low - slack <= estimates[name] <= high + slack


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"level": 1.0}, "level"),
        ({"level": math.nan}, "level"),
        ({"method": "guess"}, "method"),
        ({"method": "bootstrap", "draws": 0}, "draws"),
    ],
)
def test_bad_options(options: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        confidence_intervals(fit([1.0, 2.0, 4.0], "weibull"), **options)  # type: ignore[arg-type]
