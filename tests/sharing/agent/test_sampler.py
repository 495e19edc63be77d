"""Samples of this host, with real processes; and of made-up counters."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forestall.core.model.errors import MissingExtraError
from forestall.core.processes.usage import (
    TICKS,
    GuestProcesses,
    ProcessStat,
    WatchedProcesses,
    _group_memory,
    _growth,
    group_folder,
    members,
    read_stat,
    started_at,
)
from forestall.sharing.agent.guests import register_guest, registered_guests
from forestall.sharing.agent.sampler import Counters, Sampler, machine_counters

SPIN = "import time; t = time.monotonic()\nwhile time.monotonic() < t + 60: pass"


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start processes in groups of their own, and end them."""
    begun: list[subprocess.Popen[bytes]] = []

    def one(*words: str) -> subprocess.Popen[bytes]:
        begun.append(subprocess.Popen(words, start_new_session=True))
        return begun[-1]

    yield one
    for process in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def wall(self) -> float:
        return 1_700_000_000.9 + self.now

    def boot(self) -> float:
        return self.now

    monotonic = boot

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_sample_is_of_the_time_since_the_one_before() -> None:
    clock = FakeClock()
    told = iter(
        [
            Counters(100, 1000, 60, 100, 5000, 1.0),
            Counters(106, 1012, 25, 100, 11_000, 1.6),
            Counters(106, 1012, 25, 100, math.nan, 1.6),
        ]
    )
    sampler = Sampler(clock=clock, counters=lambda: next(told))
    clock.now += 6
    first = sampler.sample()
    # 6 of 12 s busy, 0.6 of them the sampler's own
    assert first[:7] == pytest.approx((1_700_001_006, 1006.0, 0.45, 0.0, 0.25, 1000.0, 0.1))
    second = sampler.sample()  # no time has passed: nothing can be said
    assert math.isnan(second.cpu)
    assert math.isnan(second.io)
    assert second.own_cpu == 0


def test_counters_of_this_machine() -> None:
    told = machine_counters()
    assert 0 < told.busy < told.total
    assert 0 < told.available < told.memory
    assert told.own > 0


def test_a_guests_load_is_not_the_owners(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    spinning = start(sys.executable, "-c", SPIN)
    alone = Sampler()
    told = Sampler(lambda: [GuestProcesses.of(spinning.pid)])
    time.sleep(1.0)
    without, seen = alone.sample(), told.sample()
    one = 1 / os.cpu_count() if os.cpu_count() else 1.0
    used = _cpu(spinning.pid)
    assert used > 0.1  # on a crowded machine the spinning process gets less than a processor
    assert seen.guest_cpu == pytest.approx(
        without.cpu + without.guest_cpu - seen.cpu, abs=0.25 * one
    )
    assert 0.05 * one < seen.guest_cpu <= 1.1 * one
    assert without.guest_cpu == 0


def _cpu(pid: int) -> float:
    stat = read_stat(pid)
    assert stat is not None
    return stat.used / TICKS


def test_children_that_came_and_went_are_counted(
    start: Callable[..., subprocess.Popen[bytes]],
) -> None:
    burn = "t=0; while [ $t -lt 30000 ]; do t=$((t+1)); done"
    shell = start("sh", "-c", f"for i in 1 2 3 4; do sh -c '{burn}; exit 0'; done; sleep 60; :")
    guest, watched = GuestProcesses.of(shell.pid), WatchedProcesses()
    since = guest.created
    total = watched.look([guest], since).cpu
    for _ in range(300):
        time.sleep(0.05)
        total += watched.look([guest], since).cpu
        stat = read_stat(shell.pid)
        assert stat is not None
        if any(b"sleep" in name for name in _names(shell.pid)):
            break
    stat = read_stat(shell.pid)
    assert stat is not None
    assert stat.waited > 0
    assert total == pytest.approx((stat.used + stat.waited) / TICKS, abs=0.021)


def _names(parent: int) -> list[bytes]:
    names = []
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            names.append(Path(f"/proc/{pid}/comm").read_bytes())
    return names


def test_a_process_that_left_its_group_stays_a_guests(
    start: Callable[..., subprocess.Popen[bytes]],
) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-c', {SPIN!r}], start_new_session=True)\n"
        "print(p.pid, flush=True)\ntime.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        guest, watched = GuestProcesses.of(process.pid), WatchedProcesses()
        watched.look([guest], guest.created)
        process.kill()
        process.wait()
        time.sleep(0.3)
        before = _cpu(child)
        assert watched.look([guest], guest.created).cpu > 0.05
        time.sleep(0.3)
        used = watched.look([guest], guest.created).cpu
        assert used == pytest.approx(_cpu(child) - before, abs=0.06)
        assert used > 0.02
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_the_memory_of_guests_counts_as_free(
    start: Callable[..., subprocess.Popen[bytes]],
) -> None:
    size = 40 << 20
    holder = start(sys.executable, "-c", f"import time; b = bytearray({size}); time.sleep(60)")
    watched, memory = WatchedProcesses(), 0
    for _ in range(200):
        memory = watched.look([GuestProcesses.of(holder.pid)], 0.0).memory
        if memory > size:
            break
        time.sleep(0.02)
    assert size < memory < 2 * size


def stat(parent: int, group: int, used: int, waited: int = 0, started: int = 100) -> ProcessStat:
    return ProcessStat(parent, group, used, waited, started)


def test_members_are_the_group_and_all_descendants() -> None:
    guest = GuestProcesses(10, 100 / TICKS)
    everyone = {
        1: stat(0, 1, 0, started=0),
        10: stat(1, 10, 0),
        11: stat(10, 99, 0, started=120),  # a child in another group, and its child
        12: stat(11, 99, 0, started=130),
        13: stat(1, 10, 0, started=140),  # left to init, still in the group
        20: stat(1, 20, 0, started=90),
    }
    assert set(members(guest, everyone, {})) == {10, 11, 12, 13}


def test_a_number_that_was_given_again_is_no_guest() -> None:
    guest = GuestProcesses(10, 100 / TICKS)
    everyone = {10: stat(1, 10, 5, started=500), 11: stat(10, 10, 5, started=501)}
    assert members(guest, everyone, {}) == {}
    assert members(guest, everyone, {11: stat(10, 10, 1, started=300)}) == {}


def test_what_was_counted_while_a_child_lived_is_not_counted_again() -> None:
    before = {10: stat(1, 10, 5), 11: stat(10, 10, 7), 12: stat(11, 10, 2)}
    # 11 (7, then 3 more) and 12 (2) ended; 10 waited for 11, which had waited for 12
    assert _growth({10: stat(1, 10, 6, waited=12)}, before, 0.0) == 1 + 3
    # nobody waited for them: nothing is taken off
    assert _growth({10: stat(1, 10, 6)}, before, 0.0) == 1
    # a new process counts from its start, an old one that joined from now on
    now = {10: stat(1, 10, 5), 20: stat(1, 10, 9, started=900), 21: stat(1, 10, 50, started=1)}
    assert _growth(now, before, 800 / TICKS) == 9


def test_the_start_of_a_process_is_after_the_machines() -> None:
    assert 0 <= started_at(os.getpid()) <= time.clock_gettime(time.CLOCK_BOOTTIME)
    with pytest.raises(ProcessLookupError):
        started_at(2**22 + 1)


@pytest.mark.parametrize("name", [None, "", "/", "//", "/../../etc", "/no/such/group"])
def test_no_control_group(name: str | None) -> None:
    assert group_folder(name) is None


def test_a_control_group_of_its_own(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    root = next(
        (
            Path(place)
            for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
            if os.path.exists(f"{place}/cgroup.controllers")
        ),
        None,
    )
    if root is None:
        pytest.skip("no control groups, version 2, here")
    folder = root / f"forestall-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        spinning = start(sys.executable, "-c", SPIN)
        (folder / "cgroup.procs").write_text(f"{spinning.pid}\n")
        guest = GuestProcesses(spinning.pid, started_at(spinning.pid), f"/{folder.name}")
        watched = WatchedProcesses()
        watched.look([guest], time.clock_gettime(time.CLOCK_BOOTTIME))
        before = _cpu(spinning.pid)
        time.sleep(0.5)
        used, memory = watched.look([guest], 0.0)
        assert memory > 1e6  # with and without a memory controller
        assert used == pytest.approx(_cpu(spinning.pid) - before, abs=0.06)
        assert used > 0.05
        spinning.kill()
        spinning.wait()
    finally:
        for _ in range(100):
            try:
                folder.rmdir()
                break
            except OSError:
                time.sleep(0.02)


def test_memory_of_a_group_without_a_controller_is_that_of_its_processes(
    tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    hold = "import time; x = bytearray(b'x') * 50_000_000; print(flush=True); time.sleep(60)"
    (tmp_path / "below").mkdir()
    for folder in (tmp_path, tmp_path / "below"):
        one = start(sys.executable, "-c", hold)
        (folder / "cgroup.procs").write_text(f"{one.pid}\n{2**22 + 1}\n")  # and one that ended
    for _ in range(200):
        if (held := _group_memory(tmp_path)) > 100_000_000:
            break
        time.sleep(0.05)
    assert 100_000_000 < held < 160_000_000
    (tmp_path / "memory.stat").write_text("anon 12345\nfile 9\n")
    assert _group_memory(tmp_path) == 12345


def test_guests_are_registered_in_the_folder(tmp_path: Path) -> None:
    assert registered_guests(tmp_path) == []
    guest = GuestProcesses(os.getpid(), 12.5, "/a", 7)
    path = register_guest(tmp_path, "one", guest)
    assert set(json.loads(path.read_text())) == {"pid", "pgid", "cgroup", "created"}
    for name, text in {
        "torn": '{"pid": 1, "crea', "list": "[]", "none": '{"pid": null, "created": 1}',
        "word": '{"pid": 5, "created": "x"}', "zero": '{"pid": 0, "created": 1}',
    }.items():  # fmt: skip
        (path.parent / f"{name}.json").write_text(text)
    (path.parent / "other.txt").write_text("{}")
    assert registered_guests(tmp_path) == [guest]


def test_without_psutil_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(MissingExtraError, match=r"forestall\[live\]"):
        Sampler()
