"""Isotonic and Platt: against scikit-learn, smooth at the ends, always rising."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.calibrate import Isotonic, Platt, calibrator, from_state, isotonic


def drawn(seed: int, number: int = 4000, shift: float = -3.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=number)
    return scores, rng.random(number) < expit(2 * scores + shift), rng.uniform(0.1, 4, number)


@pytest.mark.parametrize("coarse", [False, True])
def test_pooling_is_scikit_learns(coarse: bool) -> None:
    reference = pytest.importorskip("sklearn.isotonic")
    scores, failed, weights = drawn(1)
    scores = np.round(scores, 1) if coarse else scores
    wanted = reference.IsotonicRegression().fit(scores, failed, weights).predict(scores)
    np.testing.assert_allclose(isotonic(scores, failed.astype(float), weights), wanted, atol=1e-12)


def test_pooling_by_hand() -> None:
    values = np.array([1.0, 3.0, 2.0, 4.0, 0.0])
    rising = isotonic(np.arange(5), values, np.array([1.0, 1, 3, 1, 1]))
    np.testing.assert_allclose(rising, [1, 2, 2, 2, 2][:1] + [13 / 6] * 4)
    np.testing.assert_allclose(isotonic(np.zeros(5), values), 2)
    assert isotonic(np.empty(0), np.empty(0)).shape == (0,)


def test_platt_is_the_likeliest_curve() -> None:
    scores, failed, weights = drawn(2)
    made = Platt.fit(scores, failed, weights)
    one, none = weights[failed].sum(), weights[~failed].sum()
    target = np.where(failed, (one + 1) / (one + 2), 1 / (none + 2))

    def loss(at: np.ndarray) -> float:
        z = at[0] * scores + at[1]
        return float((weights * (np.logaddexp(0, z) - target * z)).sum())

    best = minimize(loss, [1.0, 0.0], method="BFGS")
    assert loss(np.array([made.slope, made.shift])) <= best.fun + 1e-3
    assert made.slope == pytest.approx(2, abs=0.25)
    assert made.shift == pytest.approx(-3, abs=0.25)


def test_weights_are_repetitions() -> None:
    scores, failed, _ = drawn(3, 500)
    times = np.random.default_rng(0).integers(0, 4, 500)
    for kind in (Platt, Isotonic):
        one = kind.fit(scores, failed, times.astype(float))
        two = kind.fit(np.repeat(scores, times), np.repeat(failed, times))
        np.testing.assert_allclose(one(scores), two(scores), rtol=1e-6)


@pytest.mark.parametrize("method", ["isotonic", "platt", "auto"])
def test_probabilities_are_true_to_the_outcomes(method: str) -> None:
    scores, failed, _ = drawn(4, 40_000)
    made = calibrator(scores, failed, method=method)
    fresh, outcome, _ = drawn(5, 40_000)
    chance = made(fresh)
    assert chance.mean() == pytest.approx(outcome.mean(), rel=0.08)
    for low in (0.02, 0.1, 0.4):
        near = (chance > low) & (chance < 1.5 * low)
        assert outcome[near].mean() == pytest.approx(chance[near].mean(), rel=0.15)


def test_auto_takes_steps_only_where_they_pay() -> None:
    scores, failed, _ = drawn(6, 20_000)
    assert isinstance(calibrator(scores, failed), Platt)  # it is logistic
    bent = np.where(scores > 0, scores + 40, scores)
    assert isinstance(calibrator(bent, failed), Isotonic)
    assert isinstance(calibrator(bent, failed, failures=199), Platt)


outcomes = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.booleans(), st.floats(0, 1e3)), min_size=0, max_size=30
)


@given(outcomes)
@example([(0.0, True, 13.0), (1.401298464324817e-45, False, 11.0), (-323.0, False, 8.9375)])
def test_never_certain_and_never_falling(rows: list[tuple[float, bool, float]]) -> None:
    scores = np.array([r[0] for r in rows])
    failed = np.array([r[1] for r in rows], dtype=bool)
    weights = np.array([r[2] for r in rows])
    at = np.sort(np.concatenate((scores, [-1e9, -1.0, 0.0, 1.0, 1e9])))
    for kind in (Platt, Isotonic):
        made = kind.fit(scores, failed, weights)
        chance = made(at)
        assert np.isfinite(chance).all()
        assert (chance > 0).all()
        assert (chance < 1).all()
        assert (np.diff(chance) >= 0).all()
        again = from_state(json.loads(json.dumps(made.state)))
        np.testing.assert_array_equal(again(at), chance)


def test_scores_that_point_the_wrong_way_say_nothing() -> None:
    scores, failed, _ = drawn(7)
    for kind in (Platt, Isotonic):
        chance = kind.fit(-scores, failed)(scores)
        assert np.ptp(chance) < 0.01
        assert chance.mean() == pytest.approx(failed.mean(), rel=0.1)


def test_one_failure_is_no_certainty() -> None:
    scores, failed = np.arange(100.0), np.arange(100) == 99
    for kind in (Platt, Isotonic):
        chance = kind.fit(scores, failed)(scores)
        assert 0 < chance[0] < 0.02
        assert 0.01 < chance[-1] < 0.99


def test_what_is_not_allowed() -> None:
    with pytest.raises(ParameterError, match=r"calibration: 'beta' .* auto, isotonic, platt"):
        calibrator(np.zeros(2), np.zeros(2, dtype=bool), method="beta")
    with pytest.raises(ParameterError, match="scores: nan is not allowed; expected finite"):
        Platt.fit(np.array([0.0, np.nan]), np.zeros(2, dtype=bool))
