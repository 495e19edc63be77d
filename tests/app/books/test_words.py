"""How numbers and names are written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.app.books import words
from forestall.app.books.facts import UNITS, Figure


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1234.5, "node_hours", "1,234 node-hours"),
        (0.9634, "ratio", "96.3 %"),
        (1.0, "ratio", "100 %"),
        (0.99999, "ratio", "99.999 %"),
        (0.00001, "ratio", "0.001 %"),
        (0.0, "ratio", "0 %"),
        (3600, "seconds", "1 h"),
        (51_234.0, "hours", "51,234 h"),
        (1, "nodes", "1 node"),
        (7, "count", "7"),
        (6.5, "per_1000_node_days", "6.50 per 1000 node-days"),
        (1234.4, "money", "1,234 EUR"),
        (None, "count", "-"),
        (math.nan, "days", "-"),
        (math.inf, "days", "no end"),
    ],
)
def test_values(value: float | None, unit: str, text: str) -> None:
    assert words.said(value, unit, "EUR") == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.0, 2.0, "1.00 to 2.00 per 1000 node-days"),
        (1.0, math.inf, "at least 1.00 per 1000 node-days"),
        (None, 2.0, "at most 2.00 per 1000 node-days"),
        (None, None, "-"),
    ],
)
def test_intervals(low: float | None, high: float | None, text: str) -> None:
    assert words.between(low, high, "per_1000_node_days") == text


def test_the_quiet_line() -> None:
    one = Figure("a", "A", 3600, "seconds", 1, low=60, high=7200)
    assert words.from_records(one) == "95 %: 1 min to 2 h; 1 record"
    assert words.from_records(Figure("a", "A", 1, "count", 2_000)) == "2,000 records"


@given(st.text(alphabet=st.characters(), max_size=400))
def test_names_become_one_line_that_can_be_printed(text: str) -> None:
    shown = words.clean(text)
    assert len(shown) <= words.LONGEST
    assert all(one.isprintable() or one == "\u00a0" for one in shown)
    shown.encode("utf-8")


@given(st.floats(allow_nan=True), st.sampled_from(sorted(UNITS)))
def test_every_value_can_be_written(value: float, unit: str) -> None:
    assert words.said(value, unit, "EUR").isprintable()


def test_names_that_play_tricks() -> None:
    assert words.clean("a\u202eb") == "a\\u202eb"
    assert words.clean("\x1b]0;x\x07") == "\\x1b]0;x\\x07"
    assert words.clean("\udc80") == "\\udc80"
    assert words.clean("Jürgen") == "Jürgen"
    assert words.clean("x" * 500) == "x" * 157 + "..."
