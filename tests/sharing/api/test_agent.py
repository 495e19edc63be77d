"""The agent's settings, what it says of itself, and its unit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.processes.lock import only_agent
from forestall.prediction.availability.place import default_folder
from forestall.prediction.availability.status import write_status
from forestall.sharing.agent.sampler import machine_counters
from forestall.sharing.api.agent.agent import (
    AgentOptions,
    calibrated,
    facts,
    line,
    parse_memory_share,
    rows,
    trouble,
    unit_text,
)

STATUS: dict[str, Any] = {
    "version": "1", "host": "node7", "pid": 7, "started": 1000.0, "time": 2000, "period": 6,
    "state": "S2", "since": 1400, "cpu": 0.314, "guest_cpu": 0.0, "memory_free": 0.62, "io": None,
    "th1": 0.2, "th2": 0.6, "hold": 60, "guest_memory": 0.1, "reliability": None, "mttf": None,
    "learnt_days": 0.25, "samples": 166, "own_cpu": 0.0021, "own_memory": 43_200_000,
    "forecast_memory": 0,
}  # fmt: skip
KNOWN = STATUS | {
    "reliability": {"1h": 0.999, "2h": 0.95, "4h": 1.0, "8h": 0.0},
    "mttf": 7260,
    "learnt_days": 21.0,
    "guest_cpu": 0.5,
}


def test_what_is_not_said_is_the_models(tmp_path: Path) -> None:
    told = AgentOptions(tmp_path).settings()
    assert (told.period, told.th1, told.th2, told.hold) == (6, 0.2, 0.6, 60)
    assert (told.guest_memory, told.keep) == (0, 400)
    said = AgentOptions(tmp_path, "1m", "30%", "0.7", "2m", "10%", "30d").settings()
    assert (said.period, said.th1, said.th2, said.hold) == (60, 0.3, 0.7, 120)
    assert (said.guest_memory, said.keep) == (0.1, 30)


def test_thresholds_come_from_the_calibration_unless_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text('{"th1": 0.35, "th2": 0.75, "more": []}')
    told = AgentOptions(tmp_path).settings()
    assert (told.th1, told.th2) == (0.35, 0.75)
    told = AgentOptions(tmp_path, th2="0.5").settings()
    assert (told.th1, told.th2) == (0.35, 0.5)
    (tmp_path / "calibration.json").write_text("{")
    assert AgentOptions(tmp_path, th1="0.1", th2="0.5").settings().th2 == 0.5
    with pytest.raises(TraceError, match="not JSON"):
        AgentOptions(tmp_path, th1="0.1").settings()


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"th1": 0.2}', '{"th1": true, "th2": 1}', '{"th1": 0.2, "th2": 20}',
     '{"th1": 0.6, "th2": 0.2}', '{"th1": NaN, "th2": 0.2}'],
)  # fmt: skip
def test_a_calibration_without_thresholds_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "calibration.json").write_text(text)
    with pytest.raises(TraceError, match=r"calibration\.json"):
        calibrated(tmp_path)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("period", "0", "period"),
        ("period", "0.5s", "period"),
        ("th1", "0.7", "th1: '0.7' is not allowed; expected Th1 <= Th2"),
        ("th2", "0.1", "th2: '0.1' is not allowed; expected Th1 <= Th2"),
        ("th1", "20", "a share from 0 to 1"),
        ("th1", "nan", "a share"),
        ("hold", "-1", "hold"),
        ("guest_memory", "lots", "guest_memory"),
        ("guest_memory", "-5M", "guest_memory"),
        ("guest_memory", "9999T", "no more than the memory of this host"),
        ("keep", "1h", "at least 1d"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, option: str, value: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        AgentOptions(tmp_path, **{option: value}).settings()  # type: ignore[arg-type]


def test_memory_is_an_amount_or_a_share() -> None:
    whole = machine_counters().memory
    assert parse_memory_share("0.1", "x") == 0.1
    assert parse_memory_share("10%", "x") == pytest.approx(0.1)
    for text in ("64M", "64m", "64MB", "64MiB", "65536K", "0.0625G"):
        assert parse_memory_share(text, "x") == pytest.approx(2**26 / whole)


def test_the_folder_is_where_the_standard_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_folder() == Path("/state/forestall")
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_folder() == Path("/home/me/.local/state/forestall")


def test_the_unit_has_the_options_quoted() -> None:
    text = unit_text(["--folder", "/var/my agent", "--th1", "30%"])
    assert '"/var/my agent" --th1 30%%\n' in text
    assert "RestartPreventExitStatus=2" in text
    for part in ("[Unit]", "[Service]", "[Install]"):
        assert f"\n{part}\n" in text


def test_the_line_of_a_terminal() -> None:
    assert line(STATUS) == (
        "S2  load 31 %  memory free 62 %  stays: not known yet (0.2 of 1 day seen)"
    )
    assert line(KNOWN) == (
        "S2  load 31 %  guests 50 %  memory free 62 %  stays 1 h > 99 %, 2 h 95 %, 4 h 100 %, 8 h 0 %"  # noqa: E501
    )
    assert line(KNOWN | {"cpu": None}).startswith("S2  load not known")


def test_the_table(tmp_path: Path) -> None:
    told = dict(rows(tmp_path, KNOWN, 2003.0))
    assert told["state"] == "S2, available at lowest priority"
    assert told["since"] == "1970-01-01 00:23:20 UTC (10 min)"
    assert told["stays 1 h"] == "> 99 %"
    assert told["mean time to failure"] == "2.0 h"
    assert told["own cost"] == "0.21 % of one processor, 43 MB"
    assert told["agent"] == "not running"
    assert told["samples"] == "166 of 6 s since 1970-01-01 00:16:40 UTC"
    busy = dict(rows(tmp_path, KNOWN | {"cpu": 0.9}, 2003.0))
    assert busy["state"] == "S2, available at lowest priority, in a spike of its owner's load"
    young = dict(rows(tmp_path, STATUS, 2003.0))
    assert young["stays available"] == "not known yet: observed for less than a day"
    far = dict(rows(tmp_path, KNOWN | {"mttf": 10 * 365 * 86_400}, 2003.0))
    assert far["mean time to failure"] == "never seen to leave"
    late = dict(rows(tmp_path, KNOWN | {"samples_waiting": 5, "samples_lost": 2}, 2003.0))
    assert late["samples"].endswith(", 5 wait to be written, 2 lost")


def test_an_agent_that_does_not_run_or_hangs_is_told(tmp_path: Path) -> None:
    write_status(tmp_path, STATUS)
    assert "no agent is running here" in trouble(tmp_path, STATUS, 2003.0)
    with only_agent(tmp_path):
        assert trouble(tmp_path, STATUS, 2003.0) == ""
        assert "status is 61 s old" in trouble(tmp_path, STATUS, 2061.0)
        assert facts(tmp_path, 2003.0) == {**STATUS, "running": True, "age": 3.0}
        assert (
            f"process {os.getpid()}, last sample 3 s ago"
            == dict(rows(tmp_path, STATUS, 2003.0))["agent"]
        )
    assert not facts(tmp_path, 2003.0)["running"]
    assert json.loads((tmp_path / "status.json").read_text())["state"] == "S2"
