"""Real load processes: what they use, their priority, and that none is ever left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forestall.sharing.contention.herd import SPIN, ContentionError, Herd, Load
from sharing.contention.contention_cases import alive, all_gone, children_of

CORE = min(os.sched_getaffinity(0))


def test_processes_run_in_a_session_of_their_own_and_end_with_the_block() -> None:
    with Herd.of([SPIN, Load(0.001, 0.05)], cpus=[CORE]) as herd:
        pids = [herd.leader, *herd.pids]
        assert len(set(pids)) == 3
        assert all(alive(pid) for pid in pids)
        assert {os.getsid(pid) for pid in pids} == {herd.leader}
        assert herd.leader != os.getsid(0)
        assert all(os.sched_getaffinity(pid) == {CORE} for pid in pids)
    assert all_gone(pids)


def test_the_lowest_priority_is_that_of_all_its_processes() -> None:
    with Herd.of([SPIN], lowest=True, cpus=[CORE]) as herd:
        assert herd.told["nice"]
        assert os.getpriority(os.PRIO_PROCESS, herd.pids[0]) == 19
        if herd.told["idle"]:
            assert os.sched_getscheduler(herd.pids[0]) == os.SCHED_IDLE
        if herd.told["autogroup"]:
            text = Path(f"/proc/{herd.pids[0]}/autogroup").read_text(encoding="ascii")
            assert text.split()[-1] == "19"
    with Herd.of([SPIN], cpus=[CORE]) as herd:
        assert os.getpriority(os.PRIO_PROCESS, herd.pids[0]) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_paused_herd_uses_nothing() -> None:
    with Herd.of([SPIN], cpus=[CORE]) as herd:
        time.sleep(0.2)
        herd.pause()
        time.sleep(0.05)
        first = herd.cpu_time()
        assert first > 0
        time.sleep(0.1)
        assert herd.cpu_time() == first
        herd.go_on()
        end = time.monotonic() + 10
        while herd.cpu_time() == first and time.monotonic() < end:
            time.sleep(0.01)
        assert herd.cpu_time() > first
        herd.pause()
        pids = [herd.leader, *herd.pids]
    assert all_gone(pids)  # stopped ones, too


def test_a_process_that_ends_before_its_time_is_an_error() -> None:
    with Herd.of([SPIN], cpus=[CORE]) as herd:
        os.kill(herd.pids[0], signal.SIGKILL)
        os.kill(herd.leader, signal.SIGKILL)
        all_gone([herd.leader, *herd.pids])
        with pytest.raises(ContentionError, match="ended early"):
            herd.ask("1", 1.0)
    with pytest.raises(ContentionError, match="ended early"):
        Herd.of([SPIN], cgroup=Path("/proc/away/cgroup.procs"))


PROGRAM = """
import sys, time
from forestall.sharing.contention.herd import SPIN, Herd, Load
with Herd.of([SPIN, Load(0.001, 0.01)], cpus=[CORE]) as herd, Herd.of([SPIN], lowest=True) as low:
    low.pause()
    print(herd.leader, *herd.pids, low.leader, *low.pids, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_the_one_that_started_them(how: signal.Signals) -> None:
    script = PROGRAM.replace("CORE", str(CORE))
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            pids = [int(part) for part in process.stdout.readline().split()]
            assert len(pids) == 5
            assert set(children_of(process.pid)) == set(pids)
        finally:
            process.send_signal(how)
        process.wait(timeout=20)
    assert all_gone(pids)


def test_an_owner_runs_commands_and_thinks_between(tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", "echo x >> seen"]
    asked = {"kind": "commands", "folder": str(tmp_path), "burst": 0.0, "command": words}
    with Herd(asked, cpus=[CORE]) as owner:
        told = owner.ask(json.dumps([0.0, 0.02, 0.0]), 30)
        assert (tmp_path / "seen").read_text() == "x\n" * 3
        assert len(told["spent"]) == len(told["used"]) == 3
        assert told["seconds"] >= sum(told["spent"]) + 0.02
        assert all(one >= 0 for one in told["used"])
    spin = asked | {"burst": 0.01, "command": None}
    with Herd(spin, cpus=[CORE]) as owner:
        told = owner.ask(json.dumps([0.0, 0.0]), 30)
        assert min(told["used"]) >= 0.01
        assert min(told["spent"]) >= 0.01


def test_a_command_that_fails_ends_the_owner(tmp_path: Path) -> None:
    asked = {"kind": "commands", "folder": str(tmp_path), "burst": 0.0, "command": ["/bin/false"]}
    with Herd(asked) as owner, pytest.raises(ContentionError, match="ended early"):
        owner.ask("[0.0]", 30)
