"""The small ascent: bounds, ridges, several maxima."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import Batch, Derivatives
from forestall.reliability.lifetimes.climb import climb, climb_from

INFINITE = np.array([np.inf, np.inf])


def bowl(batch: Batch, at: Floats) -> Derivatives:
    """Return -(u - mean)^2 - (v - u)^4 / 4 - (v - u)^2: the mean of each row is at the top."""
    u, v = at.T
    mean, gap = batch.exact.sum / batch.exact.count, at[:, 1] - at[:, 0]
    value = -((u - mean) ** 2) - gap**4 / 4 - gap**2
    push, bend = gap**3 + 2 * gap, 3 * gap**2 + 2
    gradient = np.stack([-2 * (u - mean) + push, -push], axis=1)
    hessian = np.stack([-2 - bend, bend, bend, -bend], axis=1).reshape(-1, 2, 2)
    assert len(v) == len(batch)
    return value, gradient, hessian


def waves(batch: Batch, at: Floats) -> Derivatives:
    """Return cos(3 u) - u^2 / 20: many maxima, the highest at 0."""
    u = at[:, 0]
    value, slope = np.cos(3 * u) - u * u / 20, -3 * np.sin(3 * u) - u / 10
    return value, slope[:, None], (-9 * np.cos(3 * u) - 0.1)[:, None, None]


def test_each_row_has_its_own_maximum() -> None:
    batch = Batch.of(np.array([[1.0, 3.0], [50.0, 70.0], [5.0, 5.0]]))
    at, found = climb(
        bowl, batch, np.array([[9.0, -9.0], [0.0, 30.0], [5.0, 5.0]]), -INFINITE, INFINITE
    )
    assert found.all()
    assert at == pytest.approx(np.array([[2.0, 2.0], [60.0, 60.0], [5.0, 5.0]]), abs=1e-5)


def test_bounds_are_kept_and_reached() -> None:
    batch = Batch.of(np.array([[4.0, 6.0]]))
    at, found = climb(bowl, batch, np.zeros((1, 2)), -INFINITE, np.array([3.0, np.inf]))
    assert found.all()
    assert at[0, 0] == 3.0
    assert at[0, 1] == pytest.approx(3.0, abs=1e-6)


def test_rows_without_a_value_are_not_found() -> None:
    def broken(batch: Batch, at: Floats) -> Derivatives:
        value, gradient, hessian = bowl(batch, at)
        return np.where(batch.exact.sum > 10, np.nan, value), gradient, hessian

    batch = Batch.of(np.array([[1.0, 3.0], [50.0, 70.0]]))
    at, found = climb(broken, batch, np.ones((2, 2)), -INFINITE, INFINITE)
    assert found.tolist() == [True, False]
    assert at[0] == pytest.approx([2.0, 2.0], abs=1e-6)


def test_the_highest_of_several_maxima_for_few_gaps() -> None:
    starts = [np.array([[start]]) for start in (4.1, 2.0, 0.2, -2.2)]
    few, many = Batch.of(np.ones((1, 5))), Batch.of(np.ones((1, 500)))
    wide = np.array([np.inf])
    at, found = climb_from(waves, few, starts, -wide, wide)
    assert found.all()
    assert at[0, 0] == pytest.approx(0.0, abs=1e-6)
    at, found = climb_from(waves, many, starts, -wide, wide)
    assert found.all()
    assert at[0, 0] == pytest.approx(4.14, abs=0.1)  # the first will do
