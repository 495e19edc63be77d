"""Weibull and its kin: the shape's equation, closed forms, and numbers of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.lifetimes.weibull import EXPONENTIAL, RAYLEIGH, WEIBULL, WEIBULL3
from reliability.lifetimes.laws import batch_of_rows

TIMES = st.lists(st.floats(0.01, 100.0), min_size=3, max_size=30)


def test_mean_of_the_spec_page() -> None:
    """MTTF = theta Gamma(1 + 1 / beta), Hacker and Meglicki, Section 4."""
    law = lifetime("weibull", shape=0.5, scale=100.0)
    assert law.mean() == pytest.approx(200.0)
    assert law.cdf(100.0) == pytest.approx(1 - np.exp(-1))
    exponential = lifetime("exponential", scale=102_840.0)
    assert exponential.mean() == 102_840.0
    assert exponential.sf(102_840.0) == pytest.approx(np.exp(-1))


@given(TIMES, st.data())
def test_the_shape_solves_its_equation(times: list[float], data: st.DataObject) -> None:
    """Lawless (2003), Equation 5.2.4, solved by bisection."""
    t = np.array(times)
    censored = np.array(data.draw(st.lists(st.booleans(), min_size=len(t), max_size=len(t))))
    censored[:2] = False
    if np.ptp(np.log(t[~censored])) < 1e-3:
        return
    batch = Batch.of(t[~censored], t[censored])
    log, seen = np.log(t), np.log(t[~censored]).mean()

    def equation(shape: float) -> float:
        weight = np.exp(shape * (log - log.max()))
        return float(1 / shape + seen - np.sum(weight * log) / np.sum(weight))

    wanted = optimize.brentq(equation, 1e-6, 1e7, xtol=1e-14)
    found = WEIBULL.closed(batch)
    assert found is not None
    assert found[0, 0] == pytest.approx(wanted, rel=1e-8)
    scale = np.mean(np.exp(wanted * (log - log.max()))) * len(t) / np.sum(~censored)
    assert found[0, 1] == pytest.approx(np.exp(log.max()) * scale ** (1 / wanted), rel=1e-7)


def test_rows_are_solved_as_if_alone_and_a_large_sample_as_if_small() -> None:
    rng = np.random.default_rng(2)
    time, censored = rng.weibull(0.7, (6, 500)), rng.random((6, 500)) < 0.3
    together = WEIBULL.closed(batch_of_rows(time, censored))
    assert together is not None
    for row in range(6):
        alone = WEIBULL.closed(Batch.of(time[row, ~censored[row]], time[row, censored[row]]))
        np.testing.assert_allclose(together[row], alone[0], rtol=1e-10)  # type: ignore[index]
    t = rng.weibull(0.7, 40_000)
    large = WEIBULL.closed(Batch.of(t))
    assert large is not None
    _, gradient, _ = WEIBULL.derivatives(Batch.of(t), np.log(large))
    assert np.abs(gradient).max() < 1e-6


def test_equal_times_have_no_shape_and_left_censoring_no_direct_way() -> None:
    found = WEIBULL.closed(Batch.of(np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]])))
    assert found is not None
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    assert WEIBULL.closed(Batch.of(np.ones(2), None, np.ones(1))) is None
    assert EXPONENTIAL.closed(Batch.of(np.ones(2), None, np.ones(1))) is None


def test_closed_forms_of_one_parameter() -> None:
    batch = Batch.of(np.array([1.0, 2.0, 6.0]), np.array([3.0]))
    assert EXPONENTIAL.closed(batch)[0, 0] == pytest.approx(12 / 3)  # type: ignore[index]
    assert RAYLEIGH.closed(batch)[0, 0] == pytest.approx(np.sqrt(50 / 6))  # type: ignore[index]
    rows = batch_of_rows(np.array([[1.0, 5.0], [2.0, 4.0]]), np.array([[0, 1], [0, 0]]) > 0)
    np.testing.assert_allclose(EXPONENTIAL.closed(rows), [[6.0], [3.0]])


@given(st.floats(0.1, 20), st.floats(0.1, 20), st.floats(0, 5))
def test_a_location_shifts_the_law(shape: float, scale: float, location: float) -> None:
    t = np.linspace(0.01, 30, 50)
    plain = WEIBULL.logsf(t - location, shape, scale)
    np.testing.assert_array_equal(WEIBULL3.logsf(t, shape, scale, location), plain)
    assert WEIBULL3.mean(shape, scale, location) == location + WEIBULL.mean(shape, scale)
    assert WEIBULL3.irregular(Batch.of(t), np.array([shape, scale, location])) == (
        ("location",) if shape <= 2 or location == 0 else ()
    )
