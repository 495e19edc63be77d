"""What is asked of a fit, and how its numbers become JSON and text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.show import words
from forestall.reliability.report.fit.fit import finite, fit_gaps
from forestall.reliability.report.questions import FitQuestion

GAPS = np.random.default_rng(0).weibull(0.8, 60) * 10


def test_the_best_of_a_ranking_is_told_in_full() -> None:
    found = fit_gaps(GAPS, None, FitQuestion())
    assert found.ranking is not None
    assert found.best.fitted is found.ranking.best
    assert found.plain()["best"]["params"] == found.ranking.best.params


def test_one_family_has_no_ranking() -> None:
    found = fit_gaps(GAPS, np.arange(60) % 3 == 0, FitQuestion("gamma"))
    assert found.ranking is None
    assert found.sample.failures == 40
    assert found.plain()["family"] == "gamma"


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"level": 0.0}, "level"), ({"level": 1}, "level"), ({"draws": 18}, "draws")],
)
def test_what_cannot_be_asked(wrong: dict[str, float], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        FitQuestion(**wrong)  # type: ignore[arg-type]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_anything_becomes_valid_json(value: object) -> None:
    json.dumps(finite(value), allow_nan=False)


def test_numpy_values_become_plain_ones() -> None:
    plain = finite({"a": np.float64(np.nan), "b": np.array([1, 2]), "c": (np.inf, np.int64(3))})
    assert plain == {"a": None, "b": [1, 2], "c": [None, 3]}


@given(st.floats(min_value=1e-4, max_value=9.9e7))
def test_numbers_keep_their_digits(value: float) -> None:
    text = words.figure(value)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=5.1e-4)
    assert words.figure(-value) == f"-{text}"


def test_numbers_that_are_none() -> None:
    for value in (None, float("nan"), float("inf"), "x", True):
        assert words.figure(value) == "\N{EN DASH}"
    assert words.between((None, float("nan"))) == "\N{EN DASH}"
    assert words.between(None) == "\N{EN DASH}"
    assert words.between((1.0, float("nan"))) == "1.00 to \N{EN DASH}"
    assert words.figure(0) == "0"
    assert words.figure(1e12) == "1e+12"


def test_chances_are_never_0() -> None:
    assert words.chance(0.0) == "under 0.001"
    assert words.chance(0.0004) == "under 0.001"
    assert words.chance(0.049) == "0.049"
    assert words.chance(1.0) == "1"
    assert words.chance(0.9999) == "1"
    assert words.chance(None) == "\N{EN DASH}"
