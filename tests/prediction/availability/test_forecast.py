"""What the agent learns from its own day files."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.processes.usage import read_stat
from forestall.logs.metrics.day_files import DaySample, SegmentHeader, day_files_in, encode
from forestall.logs.metrics.day_samples import UNKNOWN, HostDays, host_days
from forestall.prediction.availability.forecast import (
    FAR,
    coarse_states,
    forecast,
    learned,
    past_states,
)
from forestall.prediction.availability.loads import StepLoads, mean_loads
from forestall.prediction.models.semi_markov.learning import DAY, MONDAY, HostHistory
from forestall.prediction.models.semi_markov.states import host_states, stays
from forestall.sharing.agent.forecaster import HORIZONS, Forecast, Forecaster

HEAD = SegmentHeader("node7", b"b" * 16, 1, 60.0, 0.2, 0.6, 60, 0.0)


@given(
    seen=st.lists(st.sampled_from([0.1, 0.3, 0.9, None, None]), min_size=1, max_size=80),
    period=st.sampled_from([6, 20, 60]),
    hold=st.sampled_from([0, 30, 60, 100]),
    phase=st.integers(0, 59),
)
def test_coarse_states_are_the_worst_of_what_a_monitor_saw(
    seen: list[float | None], period: int, hold: int, phase: int
) -> None:
    load = np.array([np.nan if x is None else x for x in seen])
    at = np.flatnonzero(~np.isnan(load))
    if len(at) == 0:
        return
    load = load[at[0] : at[-1] + 1]
    told = host_states(load, period=period, hold=hold, causal=True)
    time_ = 6_000_000 + phase + period * np.arange(len(load))
    there = ~np.isnan(load)
    days = HostDays(
        "a", time_[there], np.empty((0, 4), dtype=np.uint16), told[there], float(period)
    )
    begin, coarse = coarse_states(days, hold)
    wanted = np.full(len(coarse), -1)
    for moment, state, came in zip(time_.tolist(), told.tolist(), there.tolist(), strict=True):
        if not came and state != 4:
            continue
        # S5 lasts until the next sample comes
        last = moment + period - 1 if state == 4 else moment
        for place in range((moment - begin) // 60, min((last - begin) // 60 + 1, len(coarse))):
            wanted[place] = max(wanted[place], state)
    for k in range(1, len(wanted)):
        if wanted[k] < 0:
            wanted[k] = told[there][np.searchsorted(time_[there], begin + 60 * k) - 1]
    assert begin % 60 == 0
    assert coarse.tolist() == wanted.tolist()


def test_a_host_that_leaves_at_the_same_time_each_day() -> None:
    # 28 days: away from 12:00 to 13:00, else S1
    day = np.zeros(1440, dtype=np.int8)
    day[720:780] = 4
    history = HostHistory(stays(np.tile(day, 28), 60), MONDAY)
    now = MONDAY + 28 * DAY + 9 * 3600
    told = forecast(history, now)
    assert told["reliability"]["S1"] == dict(
        zip(HORIZONS, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0), strict=True)
    )
    # alive for 3 h of the coming day, and then gone for certain
    assert told["mttf"]["S1"] == pytest.approx(3 * 3600, abs=60)


def test_a_state_that_was_never_seen_is_taken_for_the_other() -> None:
    day = np.zeros(1440, dtype=np.int8)
    day[720:780] = 4
    for low in (0, 1):
        history = HostHistory(stays(np.tile(np.maximum(day, low), 28), 60), MONDAY)
        told = forecast(history, MONDAY + 28 * DAY + 9 * 3600)
        assert told["reliability"]["S1"] == told["reliability"]["S2"]
        assert told["mttf"]["S1"] == told["mttf"]["S2"]
        assert told["reliability"]["S2"]["4h"] == 0


def test_a_host_that_never_leaves() -> None:
    told = forecast(
        HostHistory(stays(np.zeros(2 * 1440, dtype=np.int8), 60), MONDAY), MONDAY + 2 * DAY
    )
    assert set(told["reliability"]["S1"].values()) == {1.0}
    assert told["mttf"] == {"S1": FAR, "S2": FAR}


@given(seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_chances_never_rise_with_the_horizon(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = np.repeat(rng.choice(5, 400, p=[0.6, 0.3, 0.04, 0.03, 0.03]), rng.integers(1, 40, 400))
    history = HostHistory(stays(states.astype(np.int8), 60), MONDAY)
    told = forecast(history, history.end)
    for name in ("S1", "S2"):
        chances = list(told["reliability"][name].values())
        assert chances == sorted(chances, reverse=True)
        assert all(0 <= p <= 1 for p in chances)
        assert 0 <= told["mttf"][name] <= FAR


def filled(folder: Path, days: float, now: int) -> None:
    """Write the past days of a host: S3 in the sample after each full hour."""
    samples = folder / "samples"
    samples.mkdir(parents=True)
    begin = now - int(days * DAY)
    parts: dict[str, list[bytes]] = {}
    for at in range(begin, now, 60):
        name = str(np.datetime64(at, "s"))[:10]
        state = 2 if at % 3600 < 60 else 0
        one = DaySample(at, float(at - begin), 0.1, 0.5, 0, 0, state)
        parts.setdefault(name, [HEAD.encode()]).append(encode(one, HEAD.seed))
    for name, some in parts.items():
        (samples / f"{name}.fsd").write_bytes(b"".join(some))


def test_less_than_a_day_says_nothing_yet(tmp_path: Path) -> None:
    now = 1_700_000_000
    assert learned(tmp_path, "node7", 60, now) == {
        "made": now, "learnt_days": 0.0, "reliability": None, "mttf": None, "load": None,
    }  # fmt: skip
    filled(tmp_path, 0.9, now)
    told = learned(tmp_path, "node7", 60, now)
    assert (told["learnt_days"], told["reliability"]) == (pytest.approx(0.9, abs=0.01), None)
    assert learned(tmp_path, "other", 60, now)["learnt_days"] == 0


def test_the_owners_load_by_the_hour_of_the_day() -> None:
    # 28 days: an owner at 40 % from 10:00 to 12:00 (S2), else at 10 %; every seventh step unknown
    at = MONDAY + 60 * np.arange(28 * 1440)
    hour = at % DAY // 3600
    load = np.where((hour >= 10) & (hour < 12), 0.4, 0.1)
    raw = np.zeros((len(at), 7), dtype=np.uint16)
    raw[:, 0] = np.where(np.arange(len(at)) % 7 == 0, UNKNOWN, np.round(60_000 * load))
    state = (load > 0.2).astype(np.int8)
    loads = StepLoads(60)
    days = HostDays("a", at, raw, state, 60.0)
    loads.add(days)
    loads.add(days)  # files are read a few at a time, and may tell of a sample twice
    history = HostHistory(stays(state, 60), MONDAY)
    told = forecast(history, MONDAY + 28 * DAY + 9 * 3600, loads)["load"]["S1"]
    wanted = {"1h": 0.1, "2h": 0.25, "4h": 0.25, "8h": 0.175, "16h": 0.1375, "24h": 0.125}
    assert told == pytest.approx(wanted, abs=1e-3)
    free = [int(h[:-1]) * (1 - mean) for h, mean in told.items()]
    assert free == sorted(free)


def test_without_days_behind_it_the_load_is_the_mean_of_all() -> None:
    assert mean_loads(StepLoads(60), [], [], (1, 2)) is None
    loads = StepLoads(60)
    raw = np.full((100, 7), 15_000, dtype=np.uint16)
    times = MONDAY + 60 * np.arange(100)
    states = np.where(np.arange(100) < 50, 0, 2).astype(np.int8)
    raw[50:, 0] = 60_000  # S3: no guest runs then
    loads.add(HostDays("a", times, raw, states, 60.0))
    assert mean_loads(loads, [], [], (1, 24)).tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_the_process_that_learns(tmp_path: Path) -> None:
    now = int(time.time())
    filled(tmp_path, 3, now)
    told: list[str] = []
    maker = Forecaster(tmp_path, "node7", 60, tell=told.append)
    assert maker.look(0.0).reliability is None
    (helper,) = maker.helpers()
    assert read_stat(helper.pid) is not None
    for _ in range(600):
        if maker.look(1.0).reliability is not None or told:
            break
        time.sleep(0.05)
    assert told == []
    found = maker.latest
    assert found.learnt_days == pytest.approx(3, abs=0.01)
    chances = found.chances("S1")
    assert chances is not None
    assert list(chances) == list(HORIZONS)
    assert chances["2h"] == 0  # it never stays through a full hour
    assert 0 <= (found.mean_time("S1") or 0) <= 3600
    assert found.chances("S4") == dict.fromkeys(HORIZONS, 0.0)
    assert found.mean_time("S5") == 0
    assert found.loads("S1") == pytest.approx(dict.fromkeys(HORIZONS, 0.1), abs=1e-4)
    assert found.loads("S3") is None
    assert found.memory > 0
    assert maker.helpers() == ()
    maker.look(2.0)  # not before an hour
    assert maker.helpers() == ()
    maker.look(3601.0)
    assert len(maker.helpers()) == 1
    pid = maker.helpers()[0].pid
    maker.close()
    assert not os.path.exists(f"/proc/{pid}")


def test_a_process_that_fails_is_told(tmp_path: Path) -> None:
    filled(tmp_path, 2, int(time.time()))
    told: list[str] = []
    maker = Forecaster(tmp_path, "node7", float("nan"), tell=told.append)
    maker._words = (*maker._words[:-1], "no number")
    maker.look(0.0)
    for _ in range(600):
        maker.look(1.0)
        if told:
            break
        time.sleep(0.05)
    assert len(told) == 1
    assert "no forecast" in told[0]
    assert "ValueError" in told[0]


def test_no_process_before_a_second_day_began(tmp_path: Path) -> None:
    maker = Forecaster(tmp_path, "node7", 60, tell=print)
    assert maker.look(0.0) == Forecast(0, 0.0, None, None)
    assert maker.helpers() == ()
    assert json.dumps(maker.latest.chances("S1")) == "null"


def test_files_read_a_few_at_a_time_are_one_past(tmp_path: Path) -> None:
    """Nine days with gaps over midnight, and one day missing, in batches of four files."""
    rng = np.random.default_rng(4)
    (tmp_path / "samples").mkdir()
    for day in (0, 1, 2, 3, 4, 6, 7, 8):
        begin = 1_700_006_400 + day * DAY
        parts = [HEAD.encode()]
        for minute in range(rng.integers(0, 30), 1440 - rng.integers(0, 30)):
            if rng.random() < 0.9:
                boot = float(day * DAY + 60 * minute)
                state = int(rng.integers(0, 4))
                one = DaySample(begin + 60 * minute, boot, 0.1, 0.5, 0, 0, state)
                parts.append(encode(one, HEAD.seed))
        name = str(np.datetime64(begin, "s"))[:10]
        (tmp_path / "samples" / f"{name}.fsd").write_bytes(b"".join(parts))
    files = day_files_in(tmp_path)
    assert len(files) == 8
    hosts, _ = host_days(files, tmp_path)
    begin, states = past_states(files, tmp_path, "node7", 60)
    whole = coarse_states(hosts[0], 60)
    assert begin == whole[0]
    assert np.array_equal(states, whole[1])
