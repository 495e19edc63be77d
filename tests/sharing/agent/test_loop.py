"""The agent on a made-up host: clocks that jump, suspended time, late samples, restarts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.logs.metrics.read import read_metrics
from forestall.prediction.availability.status import read_status, write_status
from forestall.sharing.agent.loop import SOON, boot_id
from sharing.agent.worlds import NOON, World, agent_in, run


def times(folder: Path) -> list[int]:
    metrics = read_metrics(folder)
    assert metrics.origin is not None
    return (metrics.time + metrics.origin).tolist()


def test_samples_come_at_a_steady_period_and_are_on_disk(tmp_path: Path) -> None:
    world = World(boot=1001.5)
    agent = agent_in(tmp_path, world)
    run(agent, world, 61)
    # due at 1002, 1008, ..., 1062 of boot time; NOON is boot 1001.5
    wanted = [NOON + 6 * k for k in range(11)]
    assert times(tmp_path) == pytest.approx(wanted, abs=1)
    metrics = read_metrics(tmp_path)
    assert metrics.time.tolist() == [6 * k for k in range(11)]
    assert metrics.column("cpu") == pytest.approx([0.1] * 11, abs=1e-4)
    assert metrics.column("memory_free").tolist() == [0.5] * 11
    assert not metrics.cleaning.remarks
    status = read_status(tmp_path)
    assert (status["state"], status["samples"], status["pid"]) == ("S1", 11, os.getpid())
    assert status["since"] == pytest.approx(NOON, abs=1)
    assert (status["reliability"], status["mttf"], status["learnt_days"]) == (None, None, 0.0)
    assert (status["cpu"], status["period"], status["hold"]) == (pytest.approx(0.1), 6, 60)


@given(
    jumps=st.lists(
        st.tuples(st.integers(0, 230), st.sampled_from([-90_000, -3600, -30, 30, 3600, 90_000])),
        max_size=4,
    ),
    start=st.floats(1000, 1006),
)
@settings(max_examples=30)
def test_a_clock_that_is_set_loses_and_doubles_nothing(
    jumps: list[tuple[int, int]], start: float, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("set")
    world, told = World(boot=start), []
    for at, by in jumps:
        world.plans.append((start + at, lambda by=by: world.set_clock(by)))  # type: ignore[misc]
    world.plans.sort(key=lambda plan: plan[0])
    run(agent_in(folder, world, told=told), world, 240)
    metrics = read_metrics(folder)
    assert metrics.time.tolist() == [6 * k for k in range(len(metrics))]
    first = (start // 6 + 1) * 6
    too_soon = first - start < SOON * 6  # of less than that nothing can be told
    assert len(metrics) == int((start + 240) // 6) - int(start // 6) - too_soon
    # all lie where the clock, as it was in the end, puts them
    assert metrics.origin == pytest.approx(NOON + sum(by for _, by in jumps), abs=8)
    assert set(metrics.cleaning.counts()) <= {"clock_set"}


def test_a_clock_that_is_set_is_told(tmp_path: Path) -> None:
    world, told = World(), []
    world.plans = [(1020.0, lambda: world.set_clock(3600))]
    run(agent_in(tmp_path, world, told=told), world, 60)
    assert told == [
        "S1: load 10 %, memory free 50 %",
        "the clock was set by +3,600 s; no sample is lost",
    ]


def test_suspended_time_is_a_gap_and_s5(tmp_path: Path) -> None:
    world, told = World(), []
    world.plans = [(1033.0, lambda: world.suspend(7200))]
    run(agent_in(tmp_path, world, told=told), world, 7300)
    steps = read_metrics(tmp_path).time
    gaps = [int(b - a) for a, b in pairwise(steps) if b - a != 6]
    assert gaps == [7200]
    assert told == [
        "S1: load 10 %, memory free 50 %",
        "no sample for 120 min: S5",
        "S5 -> S1: load 10 %, memory free 50 %",
    ]


def test_late_samples_do_not_come_in_bunches(tmp_path: Path) -> None:
    world = World()
    world.plans = [(1020.0, lambda: world._pass(20.5))]  # the host is too busy to run the agent
    run(agent_in(tmp_path, world), world, 60)
    assert read_metrics(tmp_path).time.tolist() == [0, 6, 12, 36, 42, 48, 54]


def test_states_change_as_the_load_does(tmp_path: Path) -> None:
    world, told = World(), []
    world.load = lambda now: 0.9 if 1030 <= now < 1130 else 0.05
    world.free = lambda now: 0.05 if now >= 1150 else 0.5
    seen: list[str] = []

    def hook(status: Mapping[str, Any]) -> None:
        seen.append(status["state"])

    run(agent_in(tmp_path, world, told=told, guest_memory=0.1, hooks=(hook,)), world, 180)
    assert [line.partition(":")[0] for line in told] == [
        "S1", "S1 -> S2", "S2 -> S3", "S3 -> S1", "S1 -> S4",
    ]  # fmt: skip
    assert seen.count("S2") == 10  # a heavy load of 60 s, the hold time, is not yet S3
    status = read_status(tmp_path)
    assert (status["state"], status["memory_free"]) == ("S4", 0.05)


def test_the_agent_started_again_goes_on_in_the_same_file(tmp_path: Path) -> None:
    world = World()
    run(agent_in(tmp_path, world), world, 60)
    world._pass(30)
    run(agent_in(tmp_path, world), world, 60)
    metrics = read_metrics(tmp_path)
    assert len(metrics) == 20
    assert sorted(set((metrics.time[1:] - metrics.time[:-1]).tolist())) == [6, 36]
    assert not metrics.cleaning.remarks


def test_the_machine_started_again_goes_on_in_the_same_file(tmp_path: Path) -> None:
    world = World()
    run(agent_in(tmp_path, world), world, 60)
    later = World(boot=10.0, wall=world.wall() + 300)
    run(agent_in(tmp_path, later, boot=b"c" * 16), later, 60)
    metrics = read_metrics(tmp_path)
    assert len(metrics) == 20
    assert not metrics.cleaning.remarks
    assert max((metrics.time[1:] - metrics.time[:-1]).tolist()) == pytest.approx(306, abs=6)


def test_a_hook_that_fails_is_told_once(tmp_path: Path) -> None:
    def hook(status: Mapping[str, Any]) -> None:
        raise TraceError("condor.ad", "cannot be written: No space left on device")

    world, told = World(), []
    run(agent_in(tmp_path, world, told=told, hooks=(hook,)), world, 60)
    assert told[1:] == ["condor.ad: cannot be written: No space left on device"]
    assert len(read_metrics(tmp_path)) == 10


def test_the_boot_is_the_same_until_the_machine_starts_anew() -> None:
    assert len(boot_id()) == 16
    assert boot_id() == boot_id()


def test_a_status_is_valid_json_whatever_is_not_known(tmp_path: Path) -> None:
    write_status(tmp_path, {"state": "S1", "time": 1, "period": 6, "cpu": float("nan")})
    assert json.loads((tmp_path / "status.json").read_text())["cpu"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


STATUS: dict[str, Any] = {
    "version": "1", "host": "node7", "pid": 7, "started": 1.5, "time": 2, "period": 6.0,
    "state": "S1", "since": 1.5, "cpu": 0.1, "guest_cpu": None, "memory_free": 1, "th1": 0.2,
    "th2": 0.6, "hold": 60, "guest_memory": 0.0, "reliability": {"1h": 1.0}, "mttf": None,
    "learnt_days": 0.0, "samples": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\xff", "not JSON"),
        ("[]", "expected an object"),
        ("{}", "time is missing"),
        ('{"state": "S1", "time": 1, "period": 6}', "since is missing"),
    ],
)
def test_a_status_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "status.json").write_text(text, encoding="latin-1")
    with pytest.raises(TraceError, match=said) as told:
        read_status(tmp_path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("key", sorted(STATUS.keys() - {"version"}))
def test_a_status_with_a_value_of_another_kind_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "status.json"
    path.write_text(json.dumps(STATUS))
    assert read_status(tmp_path) == STATUS
    number = isinstance(STATUS[key], int | float) or key in ("guest_cpu", "mttf")
    said = rf"status\.json: ({key}: .* is not allowed|not JSON \('{key}': a whole number)"
    for value in ("[]", "true", '{"1h": "x"}', '"x"' if key != "host" else "7",
                  *(("1e400", "NaN", "-1", "1" + "0" * 400) if number else ())):  # fmt: skip
        kept = {name: one for name, one in STATUS.items() if name != key}
        path.write_text(f'{json.dumps(kept)[:-1]}, "{key}": {value}}}')
        with pytest.raises(TraceError, match=said) as told:
            read_status(tmp_path)
        assert "\n" not in str(told.value)
        assert len(str(told.value)) < 300 + len(str(path))


def test_a_file_for_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="file: is a file; expected the folder of an agent"):
        read_status(tmp_path / "file")
