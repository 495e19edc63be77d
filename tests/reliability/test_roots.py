"""Roots against SciPy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from forestall.reliability.roots import root


@given(st.floats(-50, 50), st.floats(0.1, 60), st.floats(0.1, 60), st.sampled_from([1, 3, 9]))
def test_roots_of_powers(at: float, below: float, above: float, power: int) -> None:
    def rising(x: float) -> float:
        return (x - at) ** power + math.expm1(min(x - at, 30.0)) / 10

    found = root(rising, at - below, at + above)
    assert found == pytest.approx(brentq(rising, at - below, at + above), rel=1e-9, abs=1e-9)
    assert root(lambda x: -rising(x), at - below, at + above) == pytest.approx(found, abs=1e-12)


def test_hard_roots() -> None:
    assert root(lambda x: x, -1.0, 2.0) == pytest.approx(0, abs=1e-14)
    assert root(lambda x: max(x - 1, -1e9), 0.0, 1.0) == 1.0
    assert root(lambda x: -1.0 if x < 0.3 else 1.0, 0.0, 1.0) == pytest.approx(0.3, rel=1e-12)
    calls = []
    root(lambda x: calls.append(x) or math.cos(x) - x, 0.0, 1.0)  # type: ignore[func-returns-value]
    assert len(calls) < 20
