"""What becomes of gaps before a fit: censoring, zeros, tables, and everything that is no gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.sample import Sample
from forestall.reliability.lifetimes.registry import FAMILIES

GAPS = [3.0, 0.0, 7.0, 0.0, 5.0, 9.0]
OPEN = [False, False, False, False, True, False]


def test_gaps_are_sorted_by_what_is_known_of_them() -> None:
    sample = Sample.of(GAPS, OPEN)
    assert sample.exact.tolist() == [3, 7, 9]
    assert sample.right.tolist() == [5]
    assert sample.left.tolist() == [3, 3]
    assert (sample.zeros, sample.failures, len(sample)) == (2, 5, 6)
    assert sample.notes == ("2 gaps of 0 taken as ended by 3 (left-censored)",)
    assert (sample.shortest, sample.longest) == (3, 9)


@pytest.mark.parametrize(
    ("zeros", "family", "exact", "left", "note"),
    [
        ("auto", "exponential", 5, 0, "2 gaps of 0 taken as exact"),
        ("auto", "weibull", 3, 2, "2 gaps of 0 taken as ended by 2.5 (left-censored)"),
        ("auto", None, 3, 2, "2 gaps of 0 taken as ended by 2.5 (left-censored)"),
        ("censored", "exponential", 3, 2, "2 gaps of 0 taken as ended by 2.5 (left-censored)"),
        ("exact", None, 5, 0, "2 gaps of 0 taken as exact"),
        ("drop", "weibull", 3, 0, "2 gaps of 0 left out"),
    ],
)
def test_zeros_are_treated_and_told(
    zeros: str, family: str | None, exact: int, left: int, note: str
) -> None:
    chosen = None if family is None else FAMILIES[family]
    sample = Sample.of(GAPS, OPEN, zeros=zeros, resolution=2.5, family=chosen)
    assert (len(sample.exact), len(sample.left), sample.zeros) == (exact, left, 2)
    assert sample.notes == (note,)


def test_gaps_open_at_once_say_nothing_and_are_counted() -> None:
    sample = Sample.of([1.0, 0.0, 2.0], [0, 1, 0])
    assert (len(sample), sample.zeros) == (2, 0)
    assert sample.notes == ("1 gap of 0 censored at once: left out, says nothing",)


@pytest.mark.parametrize(
    "gaps",
    [
        [4, 1, 2],
        (4.0, 1.0, 2.0),
        np.array([4, 1, 2], dtype=np.int32),
        pl.Series([4, 1, 2]),
        pl.DataFrame({"gap": [4, 1, 2]}),
        pl.DataFrame({"gap": [4, 1, 2], "censored": [False, False, False]}),
    ],
)
def test_numbers_may_come_in_any_form(gaps: Any) -> None:
    sample = Sample.of(gaps)
    assert sample.exact.tolist() == [4, 1, 2]
    assert Sample.of(sample) is sample


def test_a_table_may_say_what_is_censored_and_an_argument_overrules_it() -> None:
    table = pl.DataFrame({"gap": [4.0, 1.0], "censored": [True, False]})
    assert Sample.of(table).right.tolist() == [4]
    assert Sample.of(table, [0, 1]).right.tolist() == [1]
    assert Sample.of(table.to_dict(as_series=False)["gap"], pl.Series([1, 0])).right.tolist() == [4]


@pytest.mark.parametrize(
    ("gaps", "censored", "message"),
    [
        ([1, float("nan")], None, "gaps[1]: nan is not allowed; expected a finite number"),
        ([1, 2, -3.5], None, "gaps[2]: -3.5 is not allowed"),
        ([float("inf")], None, "gaps[0]: inf is not allowed"),
        ([1, None], None, "gaps[1]: nan is not allowed"),
        (["a", "b"], None, "gaps: \"['a', 'b']\" is not allowed"),
        ([[1.0, 2.0]], None, "gaps: 'an array of shape (1, 2)' is not allowed"),
        (5.0, None, "gaps: 'an array of shape ()' is not allowed"),
        ([], None, "gaps: '0 gaps, none above 0' is not allowed"),
        ([0.0, 0.0], None, "gaps: '2 gaps, none above 0' is not allowed"),
        ([0.0], [1], "gaps: '1 gap, none above 0' is not allowed"),
        (pl.DataFrame({"x": [1]}), None, "gaps: ['x'] is not allowed; expected a table with"),
        ([1, 2], [0, 2], "censored[1]: 2.0 is not allowed"),
        ([1, 2], [True], "censored: 'an array of shape (1,)' is not allowed; expected 2 values"),
        ([1, 2], ["no", "yes"], "censored: \"['no', 'yes']\" is not allowed"),
    ],
)
def test_what_is_no_sample_is_said_in_one_line(gaps: Any, censored: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Sample.of(gaps, censored)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"zeros": "maybe"}, "zeros"),
        ({"resolution": 0.0}, "resolution"),
        ({"resolution": float("nan")}, "resolution"),
        ({"zeros": "exact", "family": FAMILIES["weibull"]}, "zeros"),
    ],
)
def test_options_that_cannot_be_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=f"^{named}: "):
        Sample.of(GAPS, OPEN, **options)


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.booleans()), min_size=1), st.integers(-290, 290))
def test_a_batch_is_free_of_the_unit(rows: list[tuple[float, bool]], power: int) -> None:
    gaps, censored = (np.array(column) for column in zip(*rows, strict=True))
    plain = Sample.of(gaps, censored)
    scaled = Sample.of(gaps * 10.0**power, censored)
    for part in ("exact", "right"):
        ours, theirs = getattr(scaled.batch, part), getattr(plain.batch, part)
        np.testing.assert_allclose(ours.time, theirs.time, rtol=1e-11)
        np.testing.assert_allclose(ours.log, theirs.log, atol=1e-11)
    if plain.failures:
        assert abs(float(plain.batch.exact.sum_log[0])) < 1e-10 * len(plain)


def test_zeros_that_became_censored_are_one_weighted_column() -> None:
    left = Sample.of([0.0] * 500 + [2.0, 3.0]).batch.left
    assert (len(left), left.count[0]) == (1, 500)
