"""MTTF, MTTR, availability and rates of groups: by hand, by scipy, and against what was put in."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.reliability.history.mean_times import availability, mean_time, rate_per_1000
from forestall.reliability.nodes.fleet import WatchedNodes, fleet_of_events
from forestall.reliability.nodes.node_times import (
    STEP,
    cause_groups,
    clock_groups,
    exposure_by_step,
    fleet_by_step,
    groups_of,
    law_of,
    local_clock,
    node_groups,
    node_times,
)
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT
from reliability.nodes.site_nodes import DAY, HOUR, OPEN, outages


def test_exact_intervals_are_those_of_chi_square() -> None:
    got = mean_time(100.0, 4, 0.9)
    assert got.value == 25
    assert got.low == pytest.approx(200 / scipy.stats.chi2.ppf(0.95, 10))
    assert got.high == pytest.approx(200 / scipy.stats.chi2.ppf(0.05, 8))
    none = mean_time(10.0, 0)
    assert (none.value, none.high) == (math.inf, math.inf)
    assert none.low == pytest.approx(10 / -math.log(0.025))
    rate = rate_per_1000(4, 2000.0, 0.9)
    assert rate.value == 2
    assert rate.high == pytest.approx(scipy.stats.chi2.ppf(0.95, 10) / 4)
    assert math.isnan(rate_per_1000(3, 0.0).value)


def test_availability_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(2000):
        up, down = rng.exponential(9, 8), rng.exponential(1, 8)
        got = availability(up.sum(), down.sum(), 8, 8, 0.9)
        inside += got.low <= 0.9 <= got.high
    assert inside / 2000 == pytest.approx(0.9, abs=0.02)
    assert math.isnan(availability(10.0, 0.0, 0, 0).low)


def made(
    rows: list[tuple[str, int, int, str]], names: tuple[str, ...], days: int = 10
) -> WatchedNodes:
    return fleet_of_events(outages(rows, (0, days * DAY)), 0, days * DAY, names=names)


def test_by_hand() -> None:
    rows = [
        ("a", DAY, DAY + 2 * HOUR, FAULT),
        ("a", 3 * DAY, 3 * DAY + 4 * HOUR, FAULT),
        ("b", 10 * DAY - 6 * HOUR, OPEN, FAULT),
        ("c", 0, 12 * HOUR, ADMINISTRATIVE),
    ]
    times = node_times(made(rows, ("a", "b", "c", "d")))
    up = 40 * 24 - 2 - 4 - 6 - 12
    assert times.node_days * 24 == pytest.approx(up)
    assert times.mttf == pytest.approx(mean_time(up, 3))
    assert times.mttf == times.mttf_events
    assert times.repairs is not None
    assert (times.repairs.ended, times.repairs.open, times.repairs.untold) == (2, 1, 0)
    assert times.repairs.mean.value == 6, "12 hours away, of which two outages ended"
    assert times.repairs.median.value == 4, "2, 4, and 6 hours that did not end: 2/3, 1/3"
    assert times.availability.value == pytest.approx(up / (up + 12))
    assert times.in_service == pytest.approx(up / (40 * 24))
    assert times.gaps is None, "three gaps are too few for a law"


def test_nothing_failed() -> None:
    times = node_times(made([], ("a", "b")))
    assert (times.failures, times.mttf.value, times.mttf.high) == (0, math.inf, math.inf)
    assert times.mttf.low == pytest.approx(480 / -math.log(0.025))
    assert times.rate.value == 0
    assert times.repairs is None
    assert math.isnan(times.availability.value)


def test_bursts_are_counted_both_ways() -> None:
    names = tuple(f"n{k}" for k in range(40))
    rows = [(name, 5 * DAY + 10 * k, 5 * DAY + HOUR, FAULT) for k, name in enumerate(names[:9])]
    rows.append(("n20", 8 * DAY, 8 * DAY + HOUR, FAULT))
    times = node_times(made(rows, names))
    assert (times.failures, times.events, times.in_bursts, times.bursts) == (10, 2, 9, 1)
    assert times.mttf.value * 5 == pytest.approx(times.mttf_events.value)


def test_the_law_that_was_put_in_is_found() -> None:
    rng = np.random.default_rng(8)
    rows, end = [], 400 * DAY
    names = tuple(f"n{k:02d}" for k in range(60))
    for name in names:
        now = 0.0
        while True:
            now += 40 * DAY * rng.weibull(0.7)
            away = 600 + 3 * HOUR * rng.lognormal(0, 1)
            if now >= end:
                break
            rows.append((name, int(now), int(now + away), FAULT))
            now += away
    times = node_times(made(rows, names, 400))
    law = times.gaps
    assert law is not None
    assert law.name in ("weibull", "gamma")
    assert law.shape is not None
    assert law.shape.low < 0.7 < law.shape.high
    mean = 40 * 24 * math.gamma(1 + 1 / 0.7)
    assert law.mean is not None
    assert law.mean.low < mean < law.mean.high
    assert times.mttf.value == pytest.approx(mean, rel=0.25)
    assert law.ended == len(rows)
    assert 55 <= law.censored <= 60, "a node that is still away at the end has none"
    assert times.repairs is not None
    assert times.repairs.law is not None
    assert times.repairs.law.name == "lognormal"


def test_laws_need_enough() -> None:
    few = np.arange(1.0, 10.0)
    assert law_of(few, np.zeros(9, dtype=bool)) is None
    assert law_of(np.ones(30), np.zeros(30, dtype=bool)) is None
    assert law_of(np.arange(1.0, 31.0), np.ones(30, dtype=bool)) is None


def test_rates_of_groups_by_hand() -> None:
    rows = [("a", DAY * (1 + k), DAY * (1 + k) + HOUR, FAULT) for k in range(6)]
    rows.append(("c", DAY, DAY + HOUR, FAULT))
    fleet = made(rows, ("a", "b", "c", "d"), 100)
    place = np.array([0, 0, 1, -1])
    groups = node_groups(fleet, "partition", place, ("gpu", "cpu"), np.random.default_rng(1))
    assert groups.rates.failures.tolist() == [6, 1]
    assert groups.rates.node_days == pytest.approx([200 - 6 / 24, 100 - 1 / 24])
    share = groups.rates.node_days[0] / groups.rates.node_days.sum()
    tail = float(scipy.stats.binom.sf(5, 7, share))
    assert groups.p_value[0] == pytest.approx(min(1, 2 * tail))
    assert groups.difference is not None
    assert 0.3 < groups.difference.p_value < 0.9


def test_like_groups_differ_as_rarely_as_they_should() -> None:
    rng = np.random.default_rng(5)
    days = np.full(12, 300.0)
    found, named = 0, 0
    for _ in range(200):
        count = rng.poisson(3.0, 12)
        groups = groups_of("x", [str(k) for k in range(12)], count, count, days, rng, draws=199)
        assert groups.difference is not None
        found += groups.difference.p_value <= 0.05
        named += bool(np.any(groups.q_value <= 0.05))
    assert found / 200 < 0.10
    assert named / 200 < 0.08
    empty = groups_of("x", ["a"], np.array([3]), np.array([3]), np.array([0.0]), rng)
    assert empty.difference is None
    assert np.isnan(empty.rates.rate).all()


def test_causes_are_those_of_the_record_that_tells() -> None:
    rows = [("a", DAY, DAY + HOUR, FAULT), ("b", 2 * DAY, 2 * DAY + HOUR, FAULT)]
    events = outages(rows, (0, 10 * DAY))
    fleet = fleet_of_events(events, 0, 10 * DAY, cause=Coded.of(["gpu", ""]))
    groups = cause_groups(fleet)
    assert groups is not None
    assert dict(zip(groups.rates.group, groups.rates.failures.tolist(), strict=True)) == {
        "": 1, "gpu": 1,
    }  # fmt: skip
    assert groups.rates.node_days.tolist() == [pytest.approx(20 - 2 / 24)] * 2
    assert cause_groups(made(rows, ())) is None


SPANS = st.lists(st.tuples(st.integers(0, 9 * STEP), st.integers(0, 9 * STEP)), max_size=6)


@given(SPANS, st.integers(-STEP, STEP))
def test_exposure_by_step_second_by_second(spans: list[tuple[int, int]], shift: int) -> None:
    begin = 100 * DAY + shift
    start = np.array([begin + min(pair) for pair in spans], dtype=np.int64)
    end = np.array([begin + max(pair) for pair in spans], dtype=np.int64)
    weight = np.arange(1, len(spans) + 1)
    clock = local_clock(begin, begin + 9 * STEP + 1)
    got = exposure_by_step(clock, start, end, weight)
    for k in range(len(clock.hour)):
        low = clock.begin + k * STEP
        inside = np.clip(end, low, low + STEP) - np.clip(start, low, low + STEP)
        assert got[k] == pytest.approx(float((inside * weight).sum()))


def test_the_clock_knows_hours_and_weekdays() -> None:
    noon = 1_704_110_400  # Monday 2024-01-01 12:00 UTC
    clock = local_clock(noon, noon + DAY)
    assert (clock.hour[0], clock.weekday[0]) == (12, 0)
    assert (clock.hour[-1], clock.weekday[-1]) == (11, 1)
    ahead = local_clock(noon, noon + DAY, lambda times: np.full(len(times), 13 * HOUR))
    assert (ahead.hour[0], ahead.weekday[0]) == (1, 1)


def test_failures_at_night_are_seen() -> None:
    rng = np.random.default_rng(6)
    names = tuple(f"n{k}" for k in range(20))
    begin, until = 1_704_067_200, 1_704_067_200 + 200 * DAY
    rows = []
    for name in names:
        for day in rng.choice(200, 20, replace=False).tolist():
            hour = 3 if rng.random() < 0.5 else int(rng.integers(24))
            when = begin + day * DAY + hour * HOUR + int(rng.integers(3500))
            rows.append((name, when, when + 60, FAULT))
    fleet = fleet_of_events(outages(rows, (begin, until)), begin, until, names=names)
    clock = local_clock(begin, until)
    exposure = fleet_by_step(fleet, clock)
    assert exposure.sum() / DAY == pytest.approx(fleet.node_days.sum())
    hours = clock_groups(
        clock, "hour", exposure, fleet.history.time, fleet.first, np.random.default_rng(1)
    )
    assert hours.difference is not None
    assert hours.difference.p_value < 0.01
    assert int(np.argmax(hours.rates.rate)) == 3
    apart = np.flatnonzero(hours.q_value <= 0.05)
    assert 3 in apart
    assert (hours.rates.rate[apart[apart != 3]] < hours.rate_all).all()
    days = clock_groups(
        clock, "weekday", exposure, fleet.history.time, fleet.first, np.random.default_rng(1)
    )
    assert days.difference is not None
    assert days.difference.p_value > 0.01
    assert days.rates.group[0] == "Monday"
    with pytest.raises(ParameterError, match="hour or weekday"):
        clock_groups(clock, "month", exposure, fleet.history.time, fleet.first,
                     np.random.default_rng(1))  # fmt: skip
