"""Forecasts of one series by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.linear.arma import fit_arma
from forestall.prediction.models.linear.forecasts import MODELS, best_window, forecast


def test_last_repeats_the_window_before() -> None:
    history = np.arange(10.0)
    assert forecast("last", history, 3).tolist() == [7.0, 8.0, 9.0]
    assert forecast("last", history[:2], 5).tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]


def slow_window(values: list[float], longest: int) -> int:
    longest = max(1, min(longest, len(values) - 1))
    errors = []
    for n in range(1, longest + 1):
        targets = range(longest, len(values))
        errors.append(sum((values[t] - np.mean(values[t - n : t])) ** 2 for t in targets))
    return int(np.argmin(np.round(errors, 12))) + 1 if len(values) > 1 else 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 10))
def test_window_of_least_error(values: list[int], longest: int) -> None:
    found = best_window(np.array(values, dtype=float), longest)
    assert found == slow_window([float(v) for v in values], longest)
    answer = forecast("bm", np.array(values, dtype=float), 4, longest)
    assert answer == pytest.approx(np.full(4, np.mean(values[-found:])))


def test_arma_models_are_the_fits() -> None:
    series = np.random.default_rng(0).normal(0, 1, 300).cumsum() * 0.1
    assert np.array_equal(forecast("ma", series, 5, 3), fit_arma(series, 0, 3).forecast(series, 5))
    assert np.array_equal(
        forecast("arma", series, 5, 2), fit_arma(series, 2, 2).forecast(series, 5)
    )
    exact = fit_arma(series, 4, 0).forecast(series, 5)
    assert forecast("ar", series, 5, 4) == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize("model", MODELS)
@given(
    history=st.lists(
        st.one_of(st.sampled_from([1.0, 2.0, 3.0]), st.just(np.nan)), min_size=1, max_size=60
    )
)
def test_any_sequence_of_states_is_forecast(model: str, history: list[float]) -> None:
    values = np.array(history)
    if np.isnan(values).all():
        with pytest.raises(ParameterError, match="none observed"):
            forecast(model, values, 3)
        return
    answer = forecast(model, values, 7, 3)
    assert answer.shape == (7,)
    assert np.all(np.isfinite(answer))
    assert np.all(np.abs(answer) < 20)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="arima"):
        forecast("arima", np.ones(3), 1)
    with pytest.raises(ParameterError, match="steps"):
        forecast("ar", np.ones(3), 0)
    with pytest.raises(ParameterError, match="order"):
        forecast("ar", np.ones(3), 1, 0)
