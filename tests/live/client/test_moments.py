"""Moments as people say them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.live.client.moments import DAYS, parse_when, told_when

ZONE = ZoneInfo("Europe/Berlin")


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=ZONE).timestamp())  # type: ignore[arg-type]


NOW = at(2026, 11, 24, 10, 30)  # a Tuesday


@pytest.fixture(autouse=True)
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("tomorrow 8:00", at(2026, 11, 25, 8)),
        ("Tomorrow at 8:00", at(2026, 11, 25, 8)),
        ("tomorrow 8pm", at(2026, 11, 25, 20)),
        ("tomorrow 12am", at(2026, 11, 25, 0)),
        ("tomorrow", at(2026, 11, 26, 0)),
        ("8:00", at(2026, 11, 25, 8)),
        ("at 18:00", at(2026, 11, 24, 18)),
        ("18", None),
        ("6pm", at(2026, 11, 24, 18)),
        ("today 24:00", at(2026, 11, 25, 0)),
        ("tonight", at(2026, 11, 25, 0)),
        ("fri 18:00", at(2026, 11, 27, 18)),
        ("friday", at(2026, 11, 28, 0)),
        ("tue 9:00", at(2026, 12, 1, 9)),
        ("tue 11:00", at(2026, 11, 24, 11)),
        ("+6h", NOW + 21_600),
        ("in 90m", NOW + 5400),
        ("+1-12:00:00", NOW + 129_600),
        ("2026-11-30T12:00", at(2026, 11, 30, 12)),
        ("2026-11-30 12:00", at(2026, 11, 30, 12)),
        ("2026-11-30", at(2026, 12, 1)),
        ("2026-11-30T12:00Z", at(2026, 11, 30, 13)),
        ("2026-11-30T12:00+05:00", at(2026, 11, 30, 8)),
        (str(NOW + 7), NOW + 7),
        ("", None),
        ("soon", None),
        ("25:00", None),
        ("tomorrow 8:60", None),
        ("13pm", None),
        ("f 8:00", None),
        ("2026-13-01", None),
        ("yesterday 8:00", None),
        ("today 8:00", None),
        ("2026-11-24T10:30", None),
        ("+0h", None),
        ("99999999999999999999", None),
    ],
)
def test_what_people_say(said: str, meant: int | None) -> None:
    if meant is None:
        with pytest.raises(ParameterError, match=r"^by: "):
            parse_when(said, NOW)
    else:
        assert parse_when(said, NOW) == meant


def test_clocks_that_change_in_between() -> None:
    before = at(2026, 10, 24, 12)  # the night after has 25 hours
    assert parse_when("tomorrow 12:00", before) - before == 25 * 3600
    assert parse_when("+24h", before) - before == 24 * 3600


@given(st.text(max_size=40))
def test_any_text_is_a_later_moment_or_refused(text: str) -> None:
    try:
        found = parse_when(text, NOW)
    except ParameterError:
        found = NOW + 1
    assert found > NOW


@given(st.sampled_from(DAYS), st.integers(0, 23), st.integers(0, 59), st.integers(0, 10**7))
def test_a_day_of_the_week_is_within_the_next_seven(
    day: str, hour: int, minute: int, later: int
) -> None:
    found = parse_when(f"{day} {hour}:{minute:02}", NOW + later)
    told = datetime.fromtimestamp(found, ZONE)
    assert 0 < found - (NOW + later) <= 7 * 86_400 + 3600
    assert DAYS[told.weekday()] == day


def test_how_moments_are_shown() -> None:
    assert told_when(NOW, NOW) == "Tue 24 Nov 10:30"
    assert told_when(at(2028, 1, 1), NOW) == "Sat 01 Jan 2028 00:00"
    assert told_when(None, NOW) == "-"
