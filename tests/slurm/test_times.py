"""Slurm's dates and durations, with the hours that exist twice or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import UNKNOWN, UNLIMITED
from forestall.slurm.times import (
    TimeColumn,
    changes,
    elapsed_of,
    limit_of,
    localised,
    moments_of,
    settle,
)

BERLIN = "Europe/Berlin"


def unix(text: str) -> int:
    """Return Unix seconds of a date in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def moments(*texts: str, zone: str | None = BERLIN) -> TimeColumn:
    """Return the times of some texts."""
    return moments_of(pl.Series(list(texts), dtype=pl.String), zone)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("0", 0),
        ("1:30", 90),
        ("00:01:30", 90),
        ("10:00:00", 36_000),
        ("1-0", 86_400),
        ("2-12", 216_000),
        ("2-12:30", 217_800),
        ("1-00:00:01", 86_401),
    ],
)
def test_what_users_write(text: str, seconds: int) -> None:
    """A bare number is minutes, two parts are minutes and seconds."""
    assert limit_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "1-", "-5", "1:2:3:4", "1d", "9" * 40, "99999999-0", "١٢"]
)
def test_what_is_no_duration(text: str) -> None:
    assert limit_of(text) == (None if text else UNKNOWN)


def test_limits() -> None:
    """TimelimitRaw is in minutes, Timelimit in D-HH:MM:SS; words stay words."""
    assert limit_of("120", raw=True) == 7200
    assert limit_of("1-00:00:00") == 86_400
    assert limit_of("30:00") == 1800
    assert limit_of("UNLIMITED") == UNLIMITED
    assert limit_of("UNLIMITED", raw=True) == UNLIMITED
    assert [limit_of(word) for word in ("Partition_Limit", "", "INVALID", "N/A")] == [UNKNOWN] * 4
    assert limit_of("often") is None
    assert limit_of("1:00", raw=True) is None


def test_lengths() -> None:
    """A length of time may be seconds; a fraction is cut off."""
    told = ("00:01:29", "29:30", "1-02:03:04", "77", "00:00:01.250")
    assert [elapsed_of(word) for word in told] == [89, 1770, 93_784, 77, 1]
    assert elapsed_of("") == UNKNOWN
    assert elapsed_of("x") is None


def test_all_forms_in_one_column() -> None:
    """Seconds, dates with a zone and without, words for no time, and what is no time at all."""
    found = moments(
        "2024-07-01T12:00:00", "1719828000", "2024-07-01T12:00:00+02:00", "2024-07-01T10:00:00Z",
        "Unknown", "None", "", "N/A", "0", "1970-01-01T01:00:00", "banana", "2024-07-01 12:00:00",
        "2024-13-01T00:00:00",
    )  # fmt: skip
    noon = unix("2024-07-01T10:00:00")
    assert found.first.tolist() == [noon] * 4 + [NEVER] * 7 + [noon, NEVER]
    assert np.flatnonzero(found.bad).tolist() == [10, 12]
    assert np.flatnonzero(found.local).tolist() == [0, 11]
    assert not found.doubtful.any()


def test_without_a_zone_dates_are_utc() -> None:
    found = moments("2024-07-01T12:00:00", zone=None)
    assert found.first.tolist() == [unix("2024-07-01T12:00:00")]
    assert found.local.all()


def test_a_zone_that_is_none() -> None:
    for zone in ("Mars/Olympus", "../etc/passwd", ""):
        with pytest.raises(ParameterError, match="zone"):
            moments("2024-07-01T12:00:00", zone=zone)


def test_the_hour_that_exists_twice() -> None:
    """In Berlin the clock was set back from 03:00 to 02:00 on 2024-10-27, at 01:00 UTC."""
    found = moments("2024-10-27T01:59:59", "2024-10-27T02:00:00", "2024-10-27T02:59:59",
                    "2024-10-27T03:00:00")  # fmt: skip
    assert found.doubtful.tolist() == [False, True, True, False]
    change = unix("2024-10-27T01:00:00")
    assert (found.first - change).tolist() == [-3601, -3600, -1, 3600]
    assert (found.second - change).tolist() == [-3601, 0, 3599, 3600]


def test_the_hour_that_does_not_exist() -> None:
    """In Berlin the clock was set forward from 02:00 to 03:00 on 2024-03-31, at 01:00 UTC."""
    found = moments("2024-03-31T01:59:59", "2024-03-31T02:30:00", "2024-03-31T03:00:00")
    assert found.doubtful.tolist() == [False, True, False]
    change = unix("2024-03-31T01:00:00")
    assert (found.first - change).tolist() == [-1, 1800, 0]
    assert (found.second - change).tolist() == [-1, -1800, 0]


@given(
    st.lists(st.integers(0, 2**32), min_size=1, max_size=30),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC",
                     "Asia/Kolkata", "America/Sao_Paulo", "Africa/Casablanca"]),
)  # fmt: skip
def test_one_of_the_readings_is_what_was_meant(seconds: list[int], zone: str) -> None:
    """Times written on a zone's clock are found again, and only twofold ones are doubtful."""
    info = ZoneInfo(zone)
    local = [datetime.fromtimestamp(s, UTC).astimezone(info) for s in seconds]
    clock = np.array([int(one.replace(tzinfo=UTC).timestamp()) for one in local])
    first, second = localised(clock, zone)
    wanted = np.array(seconds)
    assert bool(((first == wanted) | (second == wanted)).all())
    twofold = [one.replace(fold=0).utcoffset() != one.replace(fold=1).utcoffset() for one in local]
    assert (first != second).tolist() == twofold


def test_changes_of_a_zone() -> None:
    at, offset = changes("Europe/Berlin", 2024, 2025)
    inside = [t for t in at.tolist() if unix("2024-01-01") <= t < unix("2025-01-01")]
    assert inside == [unix("2024-03-31T01:00:00"), unix("2024-10-27T01:00:00")]
    assert len(offset) == len(at) + 1
    assert set(offset.tolist()) == {3600, 7200}


def settled(begin: str, end: str, length: int, zone: str | None = BERLIN) -> tuple[int, ...]:
    """Return start and end of one run from the change on 2024-10-27, and what was found odd."""
    change = unix("2024-10-27T01:00:00")
    whole = settle(moments(begin, zone=zone), moments(end, zone=zone), np.array([length]))
    flags = (whole.settled, whole.guessed, whole.moved, whole.unlike)
    start, stop = int(whole.start[0]) - change, int(whole.end[0]) - change
    return start, stop, *(int(flag[0]) for flag in flags)


def test_the_elapsed_time_settles_a_doubtful_hour() -> None:
    """01:30 to 02:30 took one hour or two; 02:30 to 03:30 one or two as well."""
    assert settled("2024-10-27T01:30:00", "2024-10-27T02:30:00", 3600) == (-5400, -1800, 1, 0, 0, 0)
    assert settled("2024-10-27T01:30:00", "2024-10-27T02:30:00", 7200) == (-5400, 1800, 1, 0, 0, 0)
    assert settled("2024-10-27T02:30:00", "2024-10-27T03:30:00", 7200) == (-1800, 5400, 1, 0, 0, 0)
    assert settled("2024-10-27T02:30:00", "2024-10-27T03:30:00", 3600) == (1800, 5400, 1, 0, 0, 0)
    # Ends before it starts on the clock, yet ran 20 minutes.
    assert settled("2024-10-27T02:50:00", "2024-10-27T02:10:00", 1200) == (-600, 600, 1, 0, 0, 0)


def test_what_nothing_settles() -> None:
    """Both within the hour, or no elapsed time: the reading before the change."""
    assert settled("2024-10-27T02:10:00", "2024-10-27T02:20:00", 600) == (-3000, -2400, 0, 1, 0, 0)
    assert settled("2024-10-27T02:10:00", "2024-10-27T02:20:00", -1) == (-3000, -2400, 0, 1, 0, 0)
    # Without it only the later reading of the end is not before the start.
    assert settled("2024-10-27T02:50:00", "2024-10-27T02:10:00", -1) == (-600, 600, 0, 1, 0, 0)


def test_times_that_are_whole_hours_apart_from_the_elapsed_time() -> None:
    """Read as UTC, a run over the change seems an hour too short: its end is moved."""
    found = settled("2024-10-27T01:30:00", "2024-10-27T03:30:00", 3 * 3600, zone=None)
    assert found == (1800, 3 * 3600 + 1800, 0, 0, 1, 0)
    # Not by whole hours: noted and left.
    found = settled("2024-10-27T01:30:00", "2024-10-27T03:30:00", 7000, zone=None)
    assert found == (1800, 9000, 0, 0, 0, 1)
    # Seconds since 1970 know no zones.
    whole = settle(moments("1700000000"), moments("1700003600"), np.array([7200]))
    assert (whole.moved.tolist(), whole.unlike.tolist()) == ([False], [True])


def test_runs_without_start_or_end() -> None:
    whole = settle(moments("None", "1700000000"), moments("1700000000", "Unknown"),
                   np.array([0, 50]))  # fmt: skip
    assert whole.start.tolist() == [NEVER, 1_700_000_000]
    assert whole.end.tolist() == [1_700_000_000, NEVER]
    assert not (whole.settled | whole.guessed | whole.moved | whole.unlike).any()


@given(
    st.lists(
        st.tuples(st.integers(1_690_000_000, 1_740_000_000), st.integers(0, 400_000)),
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_runs_written_in_berlin_are_found_again(runs: list[tuple[int, int]]) -> None:
    """Whatever is not guessed is what it was, daylight saving or not."""
    info = ZoneInfo(BERLIN)

    def written(second: int) -> str:
        return datetime.fromtimestamp(second, info).strftime("%Y-%m-%dT%H:%M:%S")

    begin = moments(*(written(start) for start, _ in runs))
    end = moments(*(written(start + length) for start, length in runs))
    whole = settle(begin, end, np.array([length for _, length in runs]))
    sure = ~whole.guessed
    wanted = np.array([start for start, _ in runs])
    assert (whole.start[sure] == wanted[sure]).all()
    assert (whole.end - whole.start == [length for _, length in runs]).all()
    assert not whole.moved.any()
    assert not whole.unlike.any()
