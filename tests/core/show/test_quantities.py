"""How numbers and names are written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.show import quantities as words
from forestall.core.show.clean import LONGEST, clean
from forestall.core.show.facts import UNITS, Fact


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
    one = Fact("a", "A", 3600, "seconds", 1, low=60, high=7200)
    assert words.from_records(one) == "95 %: 1 min to 2 h; 1 record"
    assert words.from_records(Fact("a", "A", 1, "count", 2_000)) == "2,000 records"


@given(st.text(alphabet=st.characters(), max_size=400))
def test_names_become_one_line_that_can_be_printed(text: str) -> None:
    shown = clean(text)
    assert len(shown) <= LONGEST
    assert all(one.isprintable() or one == "\u00a0" for one in shown)
    shown.encode("utf-8")


@given(st.floats(allow_nan=True), st.sampled_from(sorted(UNITS)))
def test_every_value_can_be_written(value: float, unit: str) -> None:
    assert words.said(value, unit, "EUR").isprintable()


def test_names_that_play_tricks() -> None:
    assert clean("a\u202eb") == "a\\u202eb"
    assert clean("\x1b]0;x\x07") == "\\x1b]0;x\\x07"
    assert clean("\udc80") == "\\udc80"
    assert clean("Jürgen") == "Jürgen"
    assert clean("x" * 500) == "x" * 157 + "..."


@pytest.mark.parametrize(
    ("value", "text"),
    [(164.2, "164 d"), (2.5, "2.50 d"), (1.5, "36 h"), (0.00133, "115 s"), (0.05, "72 min"),
     (0.0, "0 d"), (0, "0 d")],
)  # fmt: skip
def test_days_become_hours_where_they_are_few(value: float, text: str) -> None:
    assert words.said(value, "days") == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (11_952.0, 12_960.0, "seconds", "3.32 to 3.60 h"),
        (10_368.0, 10_800.0, "seconds", "2.88 to 3.00 h"),
        (49.2, 286.8, "seconds", "0.82 to 4.78 min"),
        (3564.0, 7140.0, "seconds", "59 to 119 min"),
        (60.0, 7200.0, "seconds", "1 min to 2 h"),
        (1.0, 1_000_000.0, "seconds", "1 s to 11.6 d"),
        (0.00057, 0.0041, "days", "0.82 to 5.90 min"),
        (118.0, 236.4, "days", "118 to 236 d"),
        (0.999, 0.9995, "ratio", "99.90 to 99.95 %"),
        (0.0, 0.05, "ratio", "0 to 5.0 %"),
        (0.0000031, 0.012, "ratio", "0.0003 to 1.2 %"),
        (0.715, 2.97, "per_1000_node_days", "0.71 to 2.97 per 1000 node-days"),
        (3, 120, "count", "3 to 120"),
        (2, 5000.5, "node_hours", "2 to 5,000 node-hours"),
        (-127.0, 2143.0, "node_hours", "-127 to 2,143 node-hours"),
        (0, 5481.2, "node_hours", "0 to 5,481 node-hours"),
    ],
)
def test_ends_have_one_unit_and_like_digits(low: float, high: float, unit: str, text: str) -> None:
    assert words.between(low, high, unit) == text


def test_columns_have_one_unit_and_like_digits() -> None:
    assert words.durations([121_680.0, 10_584.0, 5190.0]) == ["33.8 h", "2.9 h", "1.4 h"]
    assert words.durations([5718.0, 8172.0, 3600.0]) == ["1.59 h", "2.27 h", "1.00 h"]
    assert words.durations([86_400.0 * 3, math.nan]) == ["3 d", "-"]
    assert words.durations([math.inf, 0.0]) == ["no end", "0 s"]
    assert words.durations([]) == []
    assert words.fixed([2.43, 0.907, math.nan]) == ["2.43", "0.91", "-"]
    assert words.fixed([0.0, 0.0]) == ["0", "0"]
    assert words.at_level(0.95) == "95 %"
    assert words.at_level(0.999) == "99.9 %"


@given(st.lists(st.floats(0, 1e12), max_size=6))
def test_columns_lose_no_order(seconds: list[float]) -> None:
    told = words.durations(seconds)
    assert len(told) == len(seconds)
    units = {one.rpartition(" ")[2] for one in told}
    if len(units) == 1:
        values = [float(one.partition(" ")[0].replace(",", "")) for one in told]
        assert all(a <= b for (s, a), (t, b) in zip(
            sorted(zip(seconds, values, strict=True)),
            sorted(zip(seconds, values, strict=True))[1:], strict=False) if s < t)  # fmt: skip
