"""Hosts that people use: counts of unavailable times, habits, and samples that show them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.logs.generate.hosts import (
    AWAY,
    CONTENTION,
    ORIGIN,
    THRASHING,
    HostLoad,
    HostPlan,
    generate_hosts,
    host_load,
    host_plan,
)

TH1, TH2, NEED, HOLD = 0.2, 0.6, 0.1, 60


def unavailable(plan: HostPlan) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return begin, end and kind of each unavailable time, in order."""
    where = np.flatnonzero(plan.state >= CONTENTION)
    stop = np.append(plan.start[1:], plan.end)
    return plan.start[where], stop[where], plan.state[where].astype(np.int64)


def plain_states(load: HostLoad, end: int, period: int) -> np.ndarray:
    """Return the state at each moment of the grid: thresholds, and 60 s to hold for S3 and S5."""
    state = np.full(-(-end // period), AWAY)
    at = load.time // period
    state[at] = np.where(load.cpu <= TH1, 1, 2)
    state[at[load.cpu > TH2]] = CONTENTION
    state[at[load.memory_free < NEED]] = THRASHING
    edges = np.flatnonzero(np.diff(state)) + 1
    for run in np.split(np.arange(len(state)), edges):
        if state[run[0]] in (CONTENTION, AWAY) and len(run) * period <= HOLD:
            state[run] = 2
    return state


def episodes(state: np.ndarray) -> list[int]:
    """Return the kinds of the unavailable times: runs of one state from S3 on."""
    starts = np.flatnonzero(np.diff(state, prepend=1))
    return [int(kind) for kind in state[starts] if kind >= CONTENTION]


def test_three_months_have_the_published_counts() -> None:
    counts, shares = [], []
    for seed in range(3):
        for k in range(20):
            kind = unavailable(host_plan(k, 91, seed))[2]
            counts.append(len(kind))
            shares.append([np.mean(kind == state) for state in (CONTENTION, THRASHING, AWAY)])
    assert 405 <= min(counts) < max(counts) <= 453
    low, high = np.min(shares, axis=0), np.max(shares, axis=0)
    assert 0.69 <= low[0] < high[0] <= 0.79
    assert 0.19 <= low[1] < high[1] <= 0.30
    assert 0.0 <= low[2] < high[2] <= 0.03


@pytest.mark.parametrize("period", [6, 15, 60])
def test_the_samples_show_the_states(period: int) -> None:
    for k in range(3):
        plan = host_plan(k, 91, 4)
        load = host_load(k, 91, 4, period)
        found = episodes(plain_states(load, plan.end, period))
        told = unavailable(plan)[2].tolist()
        assert 405 <= len(found) <= 453
        assert found == told


def test_levels_stay_on_their_side_of_the_thresholds() -> None:
    plan, load = host_plan(0, 30, 1), host_load(0, 30, 1, 6)
    state = plan.state[np.searchsorted(plan.start, load.time, side="right") - 1]
    assert AWAY not in state
    assert load.cpu.min() >= 0
    assert load.cpu.max() <= 1
    assert load.cpu[state == 1].max() < TH1
    assert TH1 < load.cpu[state == 2].min() <= load.cpu[state == 2].max() < TH2
    assert load.cpu[state == CONTENTION].min() > TH2
    assert load.memory_free[state == THRASHING].max() < NEED < load.memory_free[state < 4].min()
    assert load.memory_free.min() > 0
    assert load.memory_free.max() < 1


def hit(plan: HostPlan, days: np.ndarray, hour: float, length: float) -> float:
    """Return on which share of the days the window holds no unavailable time."""
    begin, end, _ = unavailable(plan)
    start = (days * 24 + hour) * 3600
    return float(np.mean([not np.any((begin < a + length * 3600) & (end > a)) for a in start]))


def test_days_resemble_each_other() -> None:
    """What share of the first half's days a window was free tells that of the second half."""
    errors: dict[int, list[float]] = {0: [], 1: []}
    free = {0: [], 1: []}
    for k in range(8):
        plan = host_plan(k, 91, 2)
        for kind in (0, 1):
            days = np.array([day for day in range(91) if (day % 7 >= 5) == bool(kind)])
            half = len(days) // 2
            for length in (1, 3, 5, 10):
                for hour in range(0, 25 - length, 2):
                    past = hit(plan, days[:half], hour, length)
                    then = hit(plan, days[half:], hour, length)
                    errors[kind].append(abs(past - then) / then)
                    free[kind].append(then)
    for kind in (0, 1):
        assert np.mean(errors[kind]) < 0.10
        assert min(free[kind]) > 0
    assert np.mean(free[1]) > np.mean(free[0]) + 0.02  # weekends are quieter


def test_hours_of_the_day_differ_as_habits_say() -> None:
    begins = np.concatenate([unavailable(host_plan(k, 91, 5))[0] for k in range(10)])
    workday = begins[begins // 86_400 % 7 < 5] % 86_400 // 3600
    by_hour = np.bincount(workday, minlength=24)
    assert by_hour[2:6].sum() < 0.05 * by_hour.sum()
    assert by_hour[9:23].sum() > 0.85 * by_hour.sum()
    rates = [np.mean(begins // 86_400 % 7 == day) for day in range(7)]
    assert max(rates[5:]) < min(rates[:5])


def test_load_is_higher_by_day() -> None:
    load = host_load(0, 28, 3, 60)
    hour = load.time % 86_400 // 3600
    work = load.time // 86_400 % 7 < 5
    day, night = load.cpu[work & (hour >= 11) & (hour < 17)], load.cpu[work & (hour < 6)]
    assert day.mean() > 2 * night.mean()


def test_a_host_is_the_same_in_any_number() -> None:
    whole = generate_hosts(4, 5, 9, 60)
    assert (whole.names, whole.period, whole.origin) == (("cpu", "memory_free"), 60, ORIGIN)
    assert ORIGIN % 86_400 == 0
    assert (ORIGIN // 86_400 + 3) % 7 == 0  # a Monday
    first = whole.first()
    for k in range(4):
        alone = host_load(k, 5, 9, 60)
        part = slice(first[k], first[k + 1])
        assert whole.time[part].tolist() == alone.time.tolist()
        assert whole.column("cpu")[part].tolist() == alone.cpu.tolist()
        assert whole.column("memory_free")[part].tolist() == alone.memory_free.tolist()
    assert generate_hosts(2, 5, 9, 60).value.tobytes() == whole.value[: first[2]].tobytes()


def test_away_is_a_gap() -> None:
    for k in range(40):
        plan = host_plan(k, 60, 1)
        begin, end, kind = unavailable(plan)
        for a, b in zip(begin[kind == AWAY], end[kind == AWAY], strict=True):
            time = host_load(k, 60, 1, 6).time
            assert not np.any((time >= a) & (time < b))
            assert b - a >= 300
            return
    pytest.fail("no host was ever away")


@settings(max_examples=30)
@given(
    st.sampled_from([0.001, 0.3, 1, 8.5, 40]),
    st.integers(0, 50),
    st.integers(1, 5000),
    st.sampled_from([(0.2, 0.6, 0.1), (0.05, 0.85, 0.3), (0.5, 0.6, 0.02)]),
)
def test_any_plan_is_sound(
    days: float, seed: int, period: int, bounds: tuple[float, float, float]
) -> None:
    th1, th2, need = bounds
    options = {"th1": th1, "th2": th2, "guest_memory": need}
    plan = host_plan(1, days, seed, **options)
    assert plan.start[0] == 0
    assert bool(np.all(np.diff(plan.start) > 0))
    assert plan.start[-1] < plan.end
    there = plan.state != AWAY
    assert bool(np.all(np.isfinite(plan.cpu) == there))
    light = plan.state <= 2
    assert bool(np.all(plan.cpu[light] < th2))
    assert bool(np.all(plan.memory_free[there] > 0))
    begin, end, _ = unavailable(plan)
    assert bool(np.all(begin[1:] - end[:-1] >= 100))  # pauses between
    load = host_load(1, days, seed, period, **options)
    assert bool(np.all(np.isfinite(load.cpu)))
    if 1 in plan.state:
        assert load.cpu[0] < th1


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"count": 0}, "hosts"),
        ({"days": 0}, "days"),
        ({"days": float("nan")}, "days"),
        ({"period": 0}, "period"),
        ({"period": 1.5}, "period"),
        ({"count": 1000, "days": 1000}, "period"),
        ({"th1": 0.6}, "th2"),
        ({"th2": 0.95}, "th2"),
        ({"guest_memory": 0.9}, "guest-memory"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parameters(bad: dict[str, float], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        generate_hosts(**({"count": 1, "days": 1, "seed": 1, "period": 60} | bad))  # type: ignore[arg-type]


@pytest.mark.slow
def test_twenty_hosts_for_three_months_at_six_seconds() -> None:
    whole = generate_hosts(20, 90, 1, 6)
    assert len(whole) == pytest.approx(20 * 90 * 14_400, rel=0.01)
    assert whole.nodes == 20
