"""ARMA models: likelihood, derivatives, fits, forecasts."""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import toeplitz

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.linear.arma import Arma, _Climb, _from_partial, fit_arma
from forestall.prediction.models.linear.starts import (
    burg,
    hannan_rissanen,
    inside,
    limited_orders,
    to_partial,
)

Floats = npt.NDArray[np.float64]


def autocovariances(ar: Floats, ma: Floats, lags: int) -> Floats:
    """Of innovations of variance 1, by a long moving average."""
    psi = np.zeros(6000)
    psi[0] = 1.0
    for k in range(1, len(psi)):
        psi[k] = ma[k - 1] if k <= len(ma) else 0.0
        psi[k] += sum(ar[j] * psi[k - 1 - j] for j in range(min(len(ar), k)))
    return np.array([psi[: len(psi) - k] @ psi[k:] for k in range(lags)])


def dense_likelihood(model: Arma, series: Floats) -> float:
    whole = toeplitz(autocovariances(model.ar, model.ma, len(series))) * model.variance
    seen = np.isfinite(series)
    matrix, away = whole[np.ix_(seen, seen)], series[seen] - model.mean
    _, determinant = np.linalg.slogdet(matrix)
    square = away @ np.linalg.solve(matrix, away)
    return float(-(determinant + square + seen.sum() * math.log(2 * math.pi)) / 2)


def random_model(seed: int, p: int, q: int, edge: float = 0.7) -> Arma:
    rng = np.random.default_rng([seed, p, q])
    ar = _from_partial(rng.uniform(-edge, edge, p))[0]
    ma = -_from_partial(rng.uniform(-edge, edge, q))[0]
    return Arma(ar, ma, 2.0, 1.5)


def drawn(model: Arma, n: int, seed: int) -> Floats:
    from scipy.signal import lfilter

    shocks = np.random.default_rng(seed).normal(0, math.sqrt(model.variance), n + 2000)
    series = lfilter(np.r_[1, model.ma], np.r_[1, -model.ar], shocks)[2000:]
    return np.asarray(series + model.mean)


ORDERS = [(0, 0), (1, 0), (0, 1), (2, 1), (1, 3), (4, 0), (0, 5), (3, 3)]


@pytest.mark.parametrize(("p", "q"), ORDERS)
def test_likelihood_is_that_of_the_dense_covariance(p: int, q: int) -> None:
    model = random_model(1, p, q)
    series = np.random.default_rng(2).normal(2, 2, 50)
    assert model.likelihood(series) == pytest.approx(dense_likelihood(model, series), abs=1e-8)
    series[[0, 7, 8, 9, 30, 49]] = np.nan
    assert model.likelihood(series) == pytest.approx(dense_likelihood(model, series), abs=1e-8)


def test_a_seasonal_gain_that_rests_before_it_moves_is_not_taken_for_steady() -> None:
    model = Arma(np.array([0.0, 0.0, 0.9]), np.zeros(0), 0.0, 1.0)
    series = np.random.default_rng(0).normal(0, 1, 40)
    assert model.likelihood(series) == pytest.approx(dense_likelihood(model, series), abs=1e-8)
    climb = _Climb(series, 3, 0)
    point = np.r_[np.arctanh(to_partial(model.ar)), 0.0]
    assert climb.linearised(point)[0] == pytest.approx(climb.value(point), abs=1e-12)


@pytest.mark.parametrize(("p", "q"), ORDERS)
def test_derivatives_are_those_of_differences(p: int, q: int) -> None:
    series = np.random.default_rng(3).normal(0, 1, 300)
    climb = _Climb(series, p, q)
    point = np.random.default_rng([4, p, q]).uniform(-0.9, 0.9, p + q + 1)
    value, gradient, information = climb.linearised(point)
    assert value == pytest.approx(climb.value(point), rel=1e-11)
    steps = np.eye(p + q + 1) * 1e-5
    slope = [(climb.value(point + s) - climb.value(point - s)) / 2e-5 for s in steps]
    assert gradient == pytest.approx(np.array(slope), abs=1e-7)
    assert information == pytest.approx(climb._differences(point)[2], abs=1e-5)


@given(st.integers(0, 10_000), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_the_fit_is_a_summit(seed: int, p: int, q: int, gaps: bool) -> None:
    model = random_model(seed, p, q, 0.9)
    series = drawn(model, 150, seed)
    if gaps:
        series[np.random.default_rng(seed).random(150) < 0.2] = np.nan
    fitted = fit_arma(series, p, q)
    assert fitted.loglik >= model.likelihood(series) - 1e-6
    assert fitted.loglik == pytest.approx(fitted.likelihood(series), abs=1e-6)
    for roots in fitted.roots():
        assert np.all(np.abs(roots) > 1 - 1e-6)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        near = Arma(
            fitted.ar + rng.normal(0, 0.01, p),
            fitted.ma + rng.normal(0, 0.01, q),
            fitted.mean + rng.normal(0, 0.01),
            fitted.variance * math.exp(rng.normal(0, 0.01)),
        )
        if all(np.all(np.abs(r) > 1) for r in near.roots()):
            assert near.likelihood(series) <= fitted.loglik + 1e-4


@pytest.mark.parametrize(("p", "q"), [(1, 0), (0, 1), (1, 1), (2, 1), (3, 0), (0, 3)])
@pytest.mark.parametrize("gaps", [False, True])
def test_no_worse_than_statsmodels(p: int, q: int, gaps: bool) -> None:
    arima = pytest.importorskip("statsmodels.tsa.arima.model")
    series = drawn(random_model(5, p, q), 200, 6)
    if gaps:
        series[20:30] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = arima.ARIMA(series, order=(p, 0, q)).fit()
    ours = fit_arma(series, p, q)
    assert ours.loglik >= theirs.llf - 1e-4
    if ours.loglik <= theirs.llf + 1e-4:  # the same summit
        assert np.r_[ours.ar, ours.ma] == pytest.approx(theirs.params[1:-1], abs=0.01)
        assert ours.mean == pytest.approx(theirs.params[0], abs=0.01)
        assert ours.variance == pytest.approx(theirs.params[-1], rel=0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = theirs.get_forecast(8)
            means, spread = told.predicted_mean, told.se_mean
        assert ours.forecast(series, 8) == pytest.approx(means, abs=0.02)
        assert ours.spread(8) == pytest.approx(spread, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_order_eight_beats_the_truth_from_every_start(seed: int) -> None:
    model = random_model(seed, 8, 8)
    series = drawn(model, 10_000, seed)
    fitted = fit_arma(series, 8, 8)
    gain = fitted.loglik - model.likelihood(series)
    assert 0 < gain < 35  # half a chi-squared with 18 degrees of freedom


def test_forecasts_are_conditional_means() -> None:
    model = random_model(7, 2, 2)
    series = drawn(model, 40, 8)
    series[[3, 20, 39]] = np.nan
    whole = toeplitz(autocovariances(model.ar, model.ma, 45))
    seen = np.flatnonzero(np.isfinite(series))
    cross = whole[40:, :][:, seen]
    means = model.mean + cross @ np.linalg.solve(
        whole[np.ix_(seen, seen)], series[seen] - model.mean
    )
    assert model.forecast(series, 5) == pytest.approx(means, abs=1e-9)
    assert model.forecast([], 3) == pytest.approx([2.0, 2.0, 2.0])
    assert model.spread(60)[-1] ** 2 == pytest.approx(1.5 * whole[0, 0], rel=1e-3)


def test_states_before_a_moment_ignore_what_comes_after() -> None:
    model = random_model(9, 3, 2)
    series = drawn(model, 100, 1)
    other = series.copy()
    other[60:] = -50.0
    assert np.array_equal(model.filtered(series).states[:61], model.filtered(other).states[:61])


@pytest.mark.parametrize(
    "series",
    [
        np.ones(20),
        np.array([1.0]),
        np.array([3.0, 1.0, 2.0]),
        np.array([np.nan, 4.0, np.nan]),
        np.arange(100.0),
        np.tile([1.0, 5.0], 60),
        np.arange(200.0) % 7,
        np.sin(np.arange(150.0)),
        np.r_[np.zeros(80), 1.0],
        np.random.default_rng(0).normal(0, 1, 120).cumsum(),
        np.diff(np.random.default_rng(1).normal(0, 1, 120)),
        np.random.default_rng(2).normal(1e6, 1e-3, 90),
    ],
)
@pytest.mark.parametrize(("p", "q"), [(0, 0), (2, 2), (8, 0), (0, 8)])
def test_hard_series(series: Floats, p: int, q: int) -> None:
    fitted = fit_arma(series, p, q)
    assert (len(fitted.ar), len(fitted.ma)) == (p, q)
    forecast = fitted.forecast(series, 5)
    assert np.all(np.isfinite(forecast))
    wide = np.nanmax(series) - np.nanmin(series) + 1
    assert np.all(np.abs(forecast - np.nanmean(series)) < 10 * wide)


def test_a_constant_series_has_no_variance() -> None:
    fitted = fit_arma(np.full(30, 7.0), 2, 1)
    assert (fitted.mean, fitted.variance, fitted.loglik) == (7.0, 0.0, math.inf)
    assert fitted.likelihood(np.full(4, 7.0)) == math.inf
    assert fitted.likelihood(np.full(4, 8.0)) == -math.inf


def test_near_unit_root_is_found() -> None:
    model = Arma(np.array([0.999]), np.zeros(0), 0.0, 1.0)
    series = drawn(model, 4000, 3)
    assert fit_arma(series, 1, 0).ar[0] == pytest.approx(0.999, abs=0.003)


def test_cancelling_roots_are_worth_nothing_but_do_no_harm() -> None:
    series = np.random.default_rng(11).normal(0, 1, 500)
    plain, more = fit_arma(series, 0, 0), fit_arma(series, 1, 1)
    assert plain.loglik - 1e-6 <= more.loglik < plain.loglik + 8


def test_scale_and_shift_do_not_matter() -> None:
    series = drawn(random_model(3, 2, 1), 300, 1)
    one, two = fit_arma(series, 2, 1), fit_arma(1000 * series - 5, 2, 1)
    assert two.ar == pytest.approx(one.ar, abs=1e-5)
    assert two.mean == pytest.approx(1000 * one.mean - 5, abs=1e-2)
    assert two.loglik == pytest.approx(one.loglik - 300 * math.log(1000), abs=1e-6)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="p: -1"):
        fit_arma([1.0, 2.0], -1, 0)
    with pytest.raises(ParameterError, match="none observed"):
        fit_arma([np.nan], 1, 0)
    with pytest.raises(ParameterError, match="series"):
        fit_arma([1.0, np.inf], 1, 0)
    with pytest.raises(ParameterError, match="stationary"):
        Arma(np.array([1.5]), np.zeros(0), 0.0, 1.0).likelihood([1.0, 2.0])


def test_orders_that_few_values_bear() -> None:
    assert limited_orders(8, 8, 3) == (0, 0)
    assert limited_orders(8, 8, 34) == (8, 8)
    assert limited_orders(2, 1, 6) == (1, 1)
    assert limited_orders(0, 4, 6) == (0, 2)


def test_starts() -> None:
    model = random_model(13, 3, 0)
    series = drawn(model, 50_000, 2) - model.mean
    assert burg(series, 3)[1] == pytest.approx(model.ar, abs=0.03)
    both = random_model(14, 1, 1)
    ar, ma = hannan_rissanen(drawn(both, 50_000, 2) - both.mean, 1, 1, 30)
    assert np.r_[ar, ma] == pytest.approx(np.r_[both.ar, both.ma], abs=0.05)


@given(st.lists(st.floats(-0.95, 0.95), min_size=0, max_size=6))
def test_partial_autocorrelations_go_back_and_forth(partial: list[float]) -> None:
    ar, slopes = _from_partial(np.array(partial))
    assert to_partial(ar) == pytest.approx(np.array(partial), abs=1e-6)
    for k in range(len(partial)):
        step = np.zeros(len(partial))
        step[k] = 1e-6
        rise = (_from_partial(partial + step)[0] - _from_partial(partial - step)[0]) / 2e-6
        assert slopes[:, k] == pytest.approx(rise, abs=1e-6)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=5))
def test_roots_are_turned_in(ar: list[float]) -> None:
    turned = inside(np.array(ar))
    assert np.all(np.abs(np.roots(np.r_[1.0, -turned])) < 0.98 + 1e-2)
