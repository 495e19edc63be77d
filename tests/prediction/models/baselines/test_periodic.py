"""The profile of the week, beside sums second by second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.periodic import CELLS, Periodic, _in_cells
from forestall.prediction.models.baselines.rate import Rate

HOUR, DAY = 3600, 86_400
WEEK = 7 * DAY
MONDAY = 1_136_160_000  # Monday 2006-01-02, 00:00
WEDNESDAY_NOON = MONDAY + 2 * DAY + 12 * HOUR


def office_hours(origin: int | None, start: int = 0, weeks: int = 60) -> Observations:
    """Return failures at 9 to 17 h of weekdays only, time 0 being `start` after a Monday."""
    rng = np.random.default_rng(1)
    day = rng.integers(0, 5, 6000) + 7 * rng.integers(0, weeks, 6000)
    time = day * DAY + rng.integers(9 * HOUR, 17 * HOUR, 6000) - start
    time, end = time[time >= 0], weeks * WEEK - start
    log = Failures.build(time, rng.integers(0, 20, len(time)))
    log = replace(log, origin=origin, span=end, nodes=20)
    return Observations.of(log, begin=0, end=end)


def test_cells_are_hours_of_weekdays_and_weekends() -> None:
    assert [CELLS[h] for h in (0, 23, 24, 119, 120, 143, 144, 167)] == [
        0, 23, 0, 23, 24, 47, 24, 47,
    ]  # fmt: skip


@pytest.mark.parametrize("time", [0, 1, 3599, 3600, 5 * DAY - 1, 5 * DAY + 1, 3 * WEEK + 7777])
def test_seconds_of_each_kind(time: int) -> None:
    seconds = np.arange(time)
    expected = np.bincount(CELLS[seconds % WEEK // HOUR], minlength=48)
    assert _in_cells(np.array([time]))[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("origin", "start"),
    [
        (None, 0),
        (MONDAY, 0),
        (WEDNESDAY_NOON, 2 * DAY + 12 * HOUR),
        (WEDNESDAY_NOON + WEEK, 216_000),
    ],
)
def test_the_profile_is_found_wherever_time_begins(origin: int | None, start: int) -> None:
    made = Periodic()
    made.fit(office_hours(origin, start))
    assert made.profile[CELLS].mean() == pytest.approx(1)
    # 40 of 168 hours
    assert made.profile[9:17] == pytest.approx(np.full(8, 168 / 40), rel=0.1)
    rest = np.delete(made.profile, range(9, 17))
    assert np.all(rest < 0.05)


def test_risks_follow_the_clock() -> None:
    made = Periodic()
    made.fit(office_hours(WEDNESDAY_NOON, 2 * DAY + 12 * HOUR))
    seen, rate = made.seen, Rate()
    rate.fit(seen)
    # from Wednesday noon: Thursday 10 h, Thursday 20 h, Saturday 10 h
    times = np.array([22 * HOUR, 32 * HOUR, 70 * HOUR]) + 20 * WEEK
    said = made.risks(seen, times, (HOUR, WEEK))
    level = rate.risks(seen, times, (HOUR, WEEK))
    assert said[0, :, 0] == pytest.approx(168 / 40 * level[0, :, 0], rel=0.1)
    assert np.all(said[1:, :, 0] < 0.05 * level[1:, :, 0])
    assert said[..., 1] == pytest.approx(level[..., 1], rel=1e-6)


def test_any_horizon_is_the_sum_over_its_seconds() -> None:
    made = Periodic(horizons=(100,))
    made.fit(office_hours(MONDAY))
    made.profile = np.random.default_rng(2).gamma(1, 1, 48)
    made.profile /= made.profile[CELLS].mean()
    start = 3 * WEEK + 5 * DAY - 7000
    for ahead in (1, 5000, 9000, 3 * DAY + 17):
        seconds = np.arange(start, start + ahead)
        grown = made.profile[CELLS[seconds % WEEK // HOUR]].sum()
        count = np.bincount(made.seen.failures.node[made.seen.failures.time < start], minlength=20)
        known = made.prior_seconds + start
        expected = 1 - (1 + grown / known) ** -(made.prior_failures + count)
        said = made.risks(made.seen, np.array([start]), (ahead,))[0, :, 0]
        assert said == pytest.approx(expected, rel=1e-9)


def test_without_a_pattern_the_profile_is_level() -> None:
    rng = np.random.default_rng(9)
    log = Failures.build(rng.integers(0, 40 * WEEK, 800), rng.integers(0, 9, 800))
    made = Periodic()
    made.fit(Observations.of(log, begin=0, end=40 * WEEK))
    assert made.profile == pytest.approx(np.ones(48), abs=0.15)
