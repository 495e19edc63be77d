"""Bodies of real processes: stopped while they make more, continued, lowered, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forestall.core.processes.priority import NICE, session_nice
from forestall.core.processes.processes import MARK, Process, descendants, is_there, look, marked
from forestall.sharing.guest.body import Body
from forestall.sharing.guest.cgroup import ControlGroup
from sharing.guest.managed import PYTHON, wait_for

FORKS = """
import os, sys, time
deep = int(sys.argv[1]) if len(sys.argv) > 1 else 0
while True:
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    time.sleep(0.002)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Give a marked process that makes another every 2 ms."""
    mark = f"test-{os.getpid()}-{tmp_path.name}"
    made = subprocess.Popen(
        [*PYTHON, "-c", FORKS], env=os.environ | {MARK: mark}, start_new_session=True
    )
    wait_for(lambda: len(descendants(made.pid)) > 3)
    yield mark, made
    for one in marked(mark):
        one.send(signal.SIGKILL)
    made.wait()


def below(made: subprocess.Popen[bytes]) -> list[Process]:
    first = look(made.pid)
    return [*([first] if first else []), *descendants(made.pid)]


def test_stops_all_of_what_keeps_forking(busy: tuple[str, subprocess.Popen[bytes]]) -> None:
    mark, made = busy
    body = Body(mark, 0)
    body.stop()
    members = below(made)
    assert len(members) > 3
    assert all(one.stopped for one in members)
    time.sleep(0.2)
    assert {one.pid for one in below(made)} == {one.pid for one in members}
    body.go()
    wait_for(lambda: not any(one.pid == members[-1].pid for one in below(made)))
    assert not any(one.stopped for one in below(made))


def test_kills_all_of_what_keeps_forking(busy: tuple[str, subprocess.Popen[bytes]]) -> None:
    mark, made = busy
    assert Body(mark, 0).kill() >= 4
    made.wait()
    assert marked(mark) == []


def test_what_the_guest_stopped_stays_so(busy: tuple[str, subprocess.Popen[bytes]]) -> None:
    mark, made = busy
    os.kill(made.pid, signal.SIGSTOP)
    wait_for(lambda: (one := look(made.pid)) is not None and one.stopped)
    body = Body(mark, 0)
    body.stop()
    body.go()
    time.sleep(0.05)
    held = look(made.pid)
    assert held is not None
    assert held.stopped


def test_lowers_every_thread_and_session(tmp_path: Path) -> None:
    mark = f"test-{os.getpid()}-{tmp_path.name}"
    script = (
        "import os, threading, time\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "if os.fork() == 0: os.setsid()\n"
        "time.sleep(60)"
    )
    made = subprocess.Popen(
        [*PYTHON, "-c", script], env=os.environ | {MARK: mark}, start_new_session=True
    )
    try:
        wait_for(lambda: len({one.session for one in marked(mark)}) == 2)
        wait_for(lambda: len(os.listdir(f"/proc/{made.pid}/task")) == 4)
        Body(mark, 0).set_level(NICE)
        members = marked(mark)
        for one in members:
            assert session_nice(one.pid) in (None, 19)
            for thread in one.threads():
                assert os.sched_getscheduler(thread) == os.SCHED_IDLE
                assert os.getpriority(os.PRIO_PROCESS, thread) == 19
        assert session_nice(os.getpid()) in (None, 0)
    finally:
        Body(mark, 0).kill()
        made.wait()


def test_signals_reach_nobody_else() -> None:
    made = subprocess.Popen([*PYTHON, "-c", "import time; time.sleep(60)"])
    seen = look(made.pid)
    assert seen is not None
    other = Process(seen.pid, seen.parent, seen.group, seen.session, "S", seen.started - 1)
    assert not other.send(signal.SIGKILL)
    assert not is_there(seen.pid, (seen.started - 1) / os.sysconf("SC_CLK_TCK"))
    assert made.poll() is None
    assert seen.send(signal.SIGKILL)
    made.wait()
    assert not seen.send(signal.SIGKILL)


def test_mark_is_whole(tmp_path: Path) -> None:
    made = subprocess.Popen(
        [*PYTHON, "-c", "import time; time.sleep(60)"],
        env=os.environ | {MARK: f"{tmp_path.name}-12", f"X{MARK}": f"{tmp_path.name}-1"},
    )
    try:
        wait_for(lambda: marked(f"{tmp_path.name}-12"))
        assert marked(f"{tmp_path.name}-1") == []
    finally:
        made.kill()
        made.wait()


def test_control_group_freezes_and_kills() -> None:
    group = ControlGroup.make(f"forestall-test-{os.getpid()}")
    if group is None:
        pytest.skip("this user may not make a control group of version 2 here")
    made = subprocess.Popen(
        [sys.executable, "-c", "import time\nwhile True: time.sleep(0.01)"],
        preexec_fn=group.join,  # noqa: PLW1509 - one thread
    )
    try:
        assert group.pids() == [made.pid]
        assert group.freeze(on=True)
        assert group.frozen()
        assert group.freeze(on=False)
        group.kill()
        assert made.wait(10) == -signal.SIGKILL
    finally:
        made.kill()
        made.wait()
        group.remove()
    assert not Path(group.path).exists()
