from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.site.learning.waits.bound import (
    interval,
    least_values,
    lower_bound,
    lower_ranks,
    rank_table,
    upper_bound,
    upper_ranks,
)
from reference.plain_waits import exact_rank

SHARES = st.integers(1, 99).map(lambda share: Fraction(share, 100))


def test_59_values_are_the_least_for_95_and_95() -> None:
    assert least_values(0.95, 0.95) == 59
    assert upper_ranks([58, 59, 92, 93, 123, 124]).tolist() == [0, 59, 92, 92, 122, 122]


@pytest.mark.parametrize(
    ("quantile", "confidence", "least"),
    [(0.5, 0.95, 5), (0.9, 0.9, 22), (0.99, 0.95, 299), (0.5, 0.5, 1), (0.5, 0.75, 2)],
)
def test_least_values(quantile: float, confidence: float, least: int) -> None:
    assert least_values(quantile, confidence) == least
    assert upper_ranks(least, quantile, confidence) > 0
    assert upper_ranks(least - 1, quantile, confidence) == 0


@given(st.integers(0, 130), SHARES, SHARES)
def test_ranks_are_those_of_the_plain_exact_sum(n: int, q: Fraction, c: Fraction) -> None:
    assert upper_ranks(n, float(q), float(c)) == exact_rank(n, q, c)


@given(st.integers(1, 40), SHARES, SHARES)
def test_a_lower_rank_is_the_largest_that_is_sure_enough(n: int, q: Fraction, c: Fraction) -> None:
    rank = int(lower_ranks(n, float(q), float(c)))
    # X_(k) is at or below the quantile where at least k values are.
    sure = [
        k
        for k in range(1, n + 1)
        if sum(math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1)) >= c
    ]
    assert rank == max(sure, default=0)


def test_the_table_is_the_ranks_of_all_counts() -> None:
    table = rank_table(300)
    assert table.dtype == np.int32
    assert table.tolist() == upper_ranks(np.arange(301)).tolist()


def test_bounds_of_values() -> None:
    values = np.arange(1, 94)[::-1]  # 93 of them: the 92nd
    assert upper_bound(values) == 92
    assert upper_bound(values[:58]) == math.inf
    assert lower_bound(values, 0.05) == 2
    assert lower_bound([3.0, 4.0], 0.05) == -math.inf
    # 1 - 2 P(Bin(10, 1/2) <= 1) = 0.9785; with <= 2 it would be 0.891.
    assert interval(np.arange(1, 11), 0.5, 0.95) == (2, 9)


def test_the_bound_is_above_the_quantile_as_often_as_it_says() -> None:
    values = np.random.default_rng(1).exponential(size=(4000, 100))
    rank = int(upper_ranks(100))
    above = np.mean(np.sort(values, axis=1)[:, rank - 1] >= -math.log(0.05))
    assert 0.95 <= above <= 0.98  # exact: 0.9629


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, math.nan, True])
def test_bad_parameters(bad: float) -> None:
    with pytest.raises(ParameterError, match="quantile"):
        upper_ranks(10, bad, 0.95)
    with pytest.raises(ParameterError, match="confidence"):
        least_values(0.95, bad)
    with pytest.raises(ParameterError, match="counts"):
        upper_ranks([-1])
    with pytest.raises(ParameterError, match="counts"):
        upper_ranks([1.5])
