"""Incomplete gamma functions against SciPy's, and their slopes against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from forestall.reliability.lifetimes.incomplete import (
    log_lower,
    log_upper,
    log_weight,
    lower_terms,
    upper_terms,
)

SHAPES = [0.01, 0.3, 1.0, 2.5, 17.0, 99.0, 101.0, 3e3, 1e5]


def points(a: float) -> np.ndarray:
    around = a + np.sqrt(a) * np.linspace(-7.5, 7.5, 31)
    x = np.concatenate([np.logspace(-6, 2, 41), a * np.linspace(0.2, 4, 31), around])
    return np.sort(x[x > 0])


@pytest.mark.parametrize("a", SHAPES)
def test_values_are_scipys(a: float) -> None:
    x = points(a)
    for own, known in ((log_upper, special.gammaincc), (log_lower, special.gammainc)):
        expected = known(a, x)
        fine = expected > 1e-290
        assert np.exp(own(a, x)[fine]) == pytest.approx(expected[fine], rel=3e-11)


@pytest.mark.parametrize("a", [0.3, 2.5, 40.0])
def test_far_tails(a: float) -> None:
    """Where Q and P are below 1e-1000, by quadrature of what is left of the leading factor."""
    x = 3_000.0
    rest, _ = integrate.quad(lambda u: np.exp((a - 1) * np.log1p(u / x) - u), 0, 60)
    expected = (a - 1) * np.log(x) - x - special.gammaln(a) + np.log(rest)
    assert log_upper(a, x) == pytest.approx(expected, rel=1e-12)
    tiny = 1e-290
    assert log_lower(a, tiny) == pytest.approx(a * np.log(tiny) - special.gammaln(a + 1), rel=1e-13)


@pytest.mark.parametrize("a", SHAPES)
def test_slopes_are_those_of_the_values(a: float) -> None:
    x, step = points(a), 1e-3 * min(a, 10 * np.sqrt(a))
    for own, terms in ((log_upper, upper_terms), (log_lower, lower_terms)):
        value, slope, bend = terms(a, x)
        assert value == pytest.approx(own(a, x), rel=1e-9, abs=1e-13)
        far, near, after, beyond = (own(a + k * step, x) for k in (-2, -1, 1, 2))
        with np.errstate(invalid="ignore"):
            expected = (8 * (after - near) - (beyond - far)) / (12 * step)
        scale = 1e-7 + np.abs(expected)
        assert np.nanmax(np.abs(slope - expected) / scale) < 2e-4
        after, near = (terms(a + k * step, x)[1] for k in (1, -1))
        expected = (after - near) / (2 * step)
        assert np.max(np.abs(bend - expected) / (1e-6 + np.abs(expected))) < 2e-3


@given(
    st.lists(st.floats(0.02, 500.0), min_size=1, max_size=6),
    st.lists(st.floats(0.0, 1e4), min_size=1, max_size=6),
)
def test_elements_do_not_depend_on_their_neighbours(a: list[float], x: list[float]) -> None:
    """Depths are chosen for the hardest element of a chunk: no other may change by it."""
    shapes, at = np.array(a)[:, None], np.array(x)
    whole = log_upper(shapes, at)
    assert whole.shape == (len(a), len(x))
    for i, shape in enumerate(a):
        for j, point in enumerate(x):
            assert whole[i, j] == pytest.approx(
                float(log_upper(shape, point)), rel=1e-11, abs=1e-13
            )


def test_ends_and_nonsense() -> None:
    ends = np.array([0.0, np.inf, np.nan])
    upper, lower = log_upper(2.0, ends), log_lower(2.0, ends)
    assert upper[0] == 0
    assert upper[1] == -np.inf
    assert lower[0] == -np.inf
    assert lower[1] == 0
    assert np.isnan(upper[2])
    assert np.isnan(log_upper(-1.0, 2.0))


@pytest.mark.parametrize("a", [0.5, 15.9, 16.1, 1e6])
def test_weight(a: float) -> None:
    x = a * np.array([0.3, 1.0, 1.7])
    expected = a * np.log(x) - x - special.gammaln(a)
    assert log_weight(a, x) == pytest.approx(expected, rel=1e-9, abs=2e-15 * a * np.log(a + 2))
