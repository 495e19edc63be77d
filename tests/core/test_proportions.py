from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from forestall.core.proportions import wilson, wilson_bounds


def test_wilson_interval() -> None:
    low, high = wilson(9, 10)  # Wilson 1927, as tabulated
    assert (low, high) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_wilson_interval_holds_the_share(count: int, share: float) -> None:
    good = round(share * count)
    low, high = wilson(good, count)
    assert 0 <= low <= good / count <= high <= 1


def test_wilson_is_that_of_scipy() -> None:
    for held, made in ((0, 5), (3, 10), (5, 5), (950, 1000)):
        theirs = binomtest(held, made).proportion_ci(0.9, method="wilson")
        assert wilson(held, made, 0.9) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_as_statsmodels_has_it() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for count, of in ((0, 5), (3, 10), (10, 10), (250, 1000)):
        expected = proportion.proportion_confint(count, of, 0.05, "wilson")
        assert wilson(count, of) == pytest.approx(expected, abs=1e-12)


def test_intervals_are_wider_where_fates_are_shared() -> None:
    assert wilson(8, 10, shared=0.5) == wilson(8, 10)
    # Half as many as there are: (0.8 + z2/10 +- z sqrt(0.8 * 0.2 / 5 + z2 / 100)) / (1 + z2/5)
    assert wilson(8, 10, shared=2.0) == pytest.approx((0.3755, 0.9638), abs=1e-4)


def test_many_shares_at_once_are_each_as_alone() -> None:
    hit, of = np.array([0, 3, 7, 0]), np.array([5, 10, 7, 0])
    low, high = wilson_bounds(hit, of, 0.9)
    alone = [wilson(*pair, 0.9) for pair in zip(hit.tolist(), of.tolist(), strict=True)]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == alone
    assert (low[0], high[2]) == (0.0, 1.0)  # exactly
