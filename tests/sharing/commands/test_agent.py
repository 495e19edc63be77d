"""`forestall agent` as users run it: real processes, ended in every way."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from forestall.core.model.errors import InputError
from forestall.core.processes.lock import only_agent, only_agent_here
from forestall.core.processes.usage import GuestProcesses
from forestall.logs.metrics.read import read_metrics
from forestall.sharing.agent.guests import register_guest

AGENT = [sys.executable, "-m", "forestall", "agent"]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start agents, and end them."""
    begun: list[subprocess.Popen[str]] = []

    def one(*words: object, **more: Any) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        begun.append(
            subprocess.Popen(
                [*AGENT, *map(str, words), "--beside"], stdout=pipe, stderr=pipe, text=True, **more
            )
        )
        return begun[-1]

    yield one
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def call(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AGENT, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


def samples(folder: Path, agent: subprocess.Popen[Any], least: int = 2) -> dict[str, Any]:
    """Wait until an agent has taken so many samples, and return its status."""
    for _ in range(600):
        try:
            told: dict[str, Any] = json.loads((folder / "status.json").read_text())
            if told["pid"] == agent.pid and told["samples"] >= least:
                return told
        except (OSError, ValueError):
            pass
        time.sleep(0.05)
    raise AssertionError("the agent takes no samples")


def test_an_agent_killed_and_started_again_loses_and_doubles_nothing(
    start: Start, tmp_path: Path
) -> None:
    first = start("--folder", tmp_path, "--period", "1s", "--listen", "0")
    told = samples(tmp_path, first)
    assert told["period"] == 1
    second = call("--folder", tmp_path, "--no-listen")
    assert second.returncode == 2
    assert second.stderr == (
        f"forestall: {tmp_path}: another agent (process {first.pid}) uses this folder\n"
    )
    first.kill()
    out, _ = first.communicate()
    assert "watching this host every 1 s into" in out
    assert call("status", "--folder", tmp_path).returncode == 1

    again = start("--folder", tmp_path, "--period", "1s", "--listen", "0")
    samples(tmp_path, again)
    status = call("status", "--folder", tmp_path)
    assert (status.returncode, status.stderr) == (0, "")
    assert f"process {again.pid}, last sample" in status.stdout
    facts = json.loads(call("status", "--folder", tmp_path, "--json").stdout)
    assert facts["running"]
    assert facts["reliability"] is None
    again.send_signal(signal.SIGTERM)
    out, wrong = again.communicate(timeout=20)
    assert (again.returncode, wrong) == (0, "")
    assert out.splitlines()[-1].endswith("ended; all samples are on disk")
    metrics = read_metrics(tmp_path)
    assert len(metrics) >= 4
    assert not metrics.cleaning.remarks
    assert len(set(metrics.time.tolist())) == len(metrics)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_cleanly(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    agent = start("--folder", tmp_path, "--period", "60s", "--no-listen")
    assert agent.stdout is not None
    assert "watching" in agent.stdout.readline()
    agent.send_signal(number)
    _, wrong = agent.communicate(timeout=20)  # at once, not after a period
    assert (agent.returncode, wrong) == (0, "")


def test_what_it_serves_and_who_is_a_guest(start: Start, tmp_path: Path) -> None:
    spin = "import time; t = time.monotonic()\nwhile time.monotonic() < t + 60: pass"
    guest = subprocess.Popen([sys.executable, "-c", spin], start_new_session=True)
    try:
        register_guest(tmp_path, "spin", GuestProcesses.of(guest.pid))
        agent = start("--folder", tmp_path, "--period", "1s", "--listen", "127.0.0.1:0")
        assert agent.stdout is not None
        address = agent.stdout.readline().rsplit(" ", 1)[1].strip()
        told = samples(tmp_path, agent)
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
    finally:
        guest.kill()
        guest.wait()
    least = 0.1 / (os.cpu_count() or 1)  # of a processor that others use too
    assert told["guest_cpu"] > least
    found = {family.name: family.samples[0].value for family in families}
    assert found["forestall_host_guest_cpu_ratio"] > least
    assert found["forestall_host_samples"] >= 2
    taken = call("--folder", tmp_path / "other", "--listen", address, "--beside")
    assert taken.returncode == 2
    assert taken.stderr.startswith(f"forestall: --listen: cannot listen on {address}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--period", "0.1s"], "--period: '0.1s' is not allowed; expected a duration of at least"),
        (["--th1", "0.9"], "--th1: '0.9' is not allowed; expected Th1 <= Th2"),
        (["--listen", "here"], "--listen: 'here' is not allowed; expected an address"),
        (["--listen", "0", "--no-listen"], "--listen: '0' is not allowed; expected nothing with"),
        (["--folder", "/proc/none/x", "--no-listen"], "/proc/none/x: cannot be written to"),
        (["status", "--folder", "none"], "none/status.json: does not exist"),
        (["ad", "--folder", "none"], "none/status.json: does not exist"),
        (["--folder", "/etc/passwd"], "/etc/passwd: is a file; expected a folder for the agent"),
        (["status", "--folder", "/etc/passwd"], "/etc/passwd: is a file; expected the folder of"),
        (["condor", "--way", "command"], "--way: 'command' is not allowed; expected forestall on"),
        (["condor", "--every", "1d"], "--every: 86400 is not allowed; expected 1 to 600 s"),
        (["condor", "--submit", "--hours", "0"], "--hours: 0.0 is not allowed"),
        (["condor", "--way", "x"], "--way: 'x' is not allowed"),
        (["unit", "--period", "x"], "--period: 'x' is not allowed"),
    ],
)
def test_wrong_input_is_one_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from forestall.runs.commands.entry import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["agent", *words]) == 2
    wrong = capsys.readouterr().err
    assert wrong.startswith(f"forestall: {said}")
    assert wrong.count("\n") == 1


def test_for_a_while_and_what_it_prints_for_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from forestall.runs.commands.entry import main

    place = str(tmp_path)
    words = ["agent", "--folder", place, "--period", "1s", "--no-listen", "--beside", "--for", "2s"]
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["agent", "ad", "--folder", place]) == 0
    assert "ForestallState = " in capsys.readouterr().out
    assert main(["agent", "condor", "--folder", place]) == 0
    assert place in capsys.readouterr().out
    assert main(["agent", "condor", "--submit"]) == 0
    assert "ank" in capsys.readouterr().out
    assert main(["agent", "unit", "--folder", place, "--no-listen"]) == 0
    assert f"agent --folder {place} --no-listen" in capsys.readouterr().out
    assert main(["traces", "info", place]) == 0
    assert "memory_free" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["status"], ["status", "--json"], ["ad"]])
@pytest.mark.parametrize(
    "text", ['{"state":"S1","time":"x","period":6}', '{"time":1e400}', "[", ""]
)
def test_a_damaged_status_is_one_line(
    command: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from forestall.runs.commands.entry import main

    (tmp_path / "status.json").write_text(text)
    assert main(["agent", *command, "--folder", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"forestall: {tmp_path}/status.json: ")
    assert told.err.count("\n") == 1


def test_a_second_agent_of_the_user_is_refused_unless_beside(tmp_path: Path) -> None:
    name = f"forestall-test-{os.getpid()}"  # not that of an agent of who runs the tests
    one, other = tmp_path / "one", tmp_path / "other"
    said = (
        f"{other}: another agent of yours \\(process {os.getpid()}\\) runs on this host in "
        f"{one}; use that one, or give beside"
    )
    with only_agent(one), only_agent_here(one, name=name):
        for _ in range(3):
            with pytest.raises(InputError, match=said), only_agent_here(other, name=name):
                pass
        with only_agent_here(other, name=name, beside=True):
            pass
        shutil.rmtree(one)  # it is at work all the same
        with pytest.raises(InputError, match=said), only_agent_here(other, name=name):
            pass
    with only_agent_here(other, name=name):  # it ended
        pass


def test_nothing_is_said_to_be_on_disk_that_was_removed(start: Start, tmp_path: Path) -> None:
    agent = start("--folder", tmp_path, "--period", "1s", "--no-listen")
    samples(tmp_path, agent)
    shutil.rmtree(tmp_path / "samples")
    agent.send_signal(signal.SIGTERM)
    out, wrong = agent.communicate(timeout=20)
    assert agent.returncode == 1
    assert "was removed while the agent ran" in out
    assert "on disk" not in out
    assert wrong.startswith("forestall: ")
    assert wrong.endswith(" could not be kept\n")


def test_an_agent_that_ends_before_its_first_sample_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from forestall.runs.commands.entry import main

    words = ["--folder", str(tmp_path), "--period", "1h", "--no-listen", "--beside", "--for", "1s"]
    assert main(["agent", *words]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("ended; no sample taken")


@pytest.mark.parametrize("where", ["pipe", "terminal", "both"])
def test_a_reader_that_went_away_does_not_end_it(tmp_path: Path, where: str) -> None:
    ours, theirs = os.pipe() if where == "pipe" else pty.openpty()
    if where != "pipe":
        os.set_blocking(ours, False)
    words = ["--folder", str(tmp_path), "--period", "1s", "--no-listen", "--beside"]
    agent = subprocess.Popen(
        [*AGENT, *words], stdout=theirs, stderr=theirs if where == "both" else subprocess.PIPE,
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        os.close(theirs)
        samples(tmp_path, agent, 1)
        os.close(ours)
        began = samples(tmp_path, agent, 3)["started"]  # on a terminal it prints each second
        shutil.rmtree(tmp_path / "samples")  # that is told, and the new file, too
        assert samples(tmp_path, agent, 5)["started"] == began
        agent.send_signal(signal.SIGTERM)
        _, wrong = agent.communicate(timeout=20)
    finally:
        if agent.poll() is None:
            agent.kill()
            agent.communicate()
    assert agent.returncode == 1  # for what was removed
    assert b"Traceback" not in (wrong or b"")
    assert len(read_metrics(tmp_path)) >= 2
