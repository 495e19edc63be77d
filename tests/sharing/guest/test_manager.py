"""Guests under managers, keepers and hooks that are real processes; only the load is told."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from forestall.core.processes.files import KEEPER_LOCK, GuestState, StayRecord, changed
from forestall.core.processes.processes import descendants, is_there, look
from sharing.guest.managed import PYTHON, SAVE, Managed, counted, counter, managed, stands, wait_for

FREEZES = pytest.mark.parametrize("cgroup", [True, False], ids=["cgroup", "signals"])


def names_below(pid: int) -> list[str]:
    """Return the names of the processes below one."""
    names = []
    for one in descendants(pid):
        with suppress(OSError):
            names.append(Path(f"/proc/{one.pid}/comm").read_text().strip())
    return names


def nothing_left(one: Managed) -> None:
    record = one.record()
    wait_for(lambda: not one.processes(), lambda: [look(p.pid) for p in one.processes()])
    wait_for(lambda: not one.files.held(KEEPER_LOCK))
    assert not (one.files.place.parent / f"{record.id}.json").exists()
    if record.cgroup:
        assert not Path(record.cgroup).exists()


class TestHost:
    @FREEZES
    def test_spike_stops_and_its_end_continues(self, tmp_path: Path, *, cgroup: bool) -> None:
        with managed(tmp_path, cgroup=cgroup, hold=60) as one:
            one.start(*counter(tmp_path, 150))
            wait_for(lambda: counted(tmp_path))
            one.host.set(0.61)
            record = one.wait_state(GuestState.STOPPED)
            assert record.why == "owner's load 61 % > 60 %"
            wait_for(lambda: stands(one))
            before = counted(tmp_path)
            time.sleep(0.1)
            assert counted(tmp_path) == before
            assert len(before) < 150
            one.host.set(0.6)
            assert one.wait_state(GuestState.LOWERED).why == "continued: owner's load 60 % > 20 %"
            one.host.set(0.1)
            code, out = one.end()
            assert code == 0, out
            assert counted(tmp_path) == list(range(1, 151))
            states = [state for state, _ in one.said() if state != "normal"]
            assert states == ["lowered", "stopped", "lowered", "finished"]
            nothing_left(one)

    def test_priority_follows_the_load(self, tmp_path: Path) -> None:
        with managed(tmp_path, cgroup=False) as one:
            one.host.set(0.1)
            one.start(*counter(tmp_path, 10_000))
            wait_for(lambda: counted(tmp_path))
            why = one.wait_state(GuestState.NORMAL).why if os.geteuid() == 0 else ""
            pid = one.record().pid
            if why:
                assert why == "owner's load 10 % <= 20 % for 0 s"
                wait_for(lambda: os.sched_getscheduler(pid) == os.SCHED_OTHER)
                wait_for(lambda: os.getpriority(os.PRIO_PROCESS, pid) == os.nice(0))
                one.host.set(0.21)
            one.wait_state(GuestState.LOWERED)
            wait_for(lambda: os.sched_getscheduler(pid) == os.SCHED_IDLE)
            assert os.getpriority(os.PRIO_PROCESS, pid) == 19

    def test_long_load_ends_it_after_its_checkpoint_and_it_goes_on_from_there(
        self, tmp_path: Path
    ) -> None:
        with managed(tmp_path, checkpoint=SAVE) as one:
            one.start(*counter(tmp_path, 150))
            wait_for(lambda: len(counted(tmp_path)) > 20)
            one.host.set(0.95)
            record = one.wait_state(GuestState.WAITING)
            assert record.checkpoint > 0
            saved = int((tmp_path / "saved").read_text())
            assert saved < 150
            nothing_left(one)
            one.host.set(0.1)
            code, out = one.end()
            assert code == 0, out
            assert counted(tmp_path) == list(range(1, 151))
            assert one.record().attempts == 2
            said = [f"{state}: {why}" for state, why in one.said()]
            assert (
                "ending: S3: owner's load 95 % > 60 % for longer than 0.4 s; ended after its"
                in (" ".join(said))
            )
            assert any("resumed from its checkpoint" in line for line in said)

    def test_short_of_memory_ends_it_at_once(self, tmp_path: Path) -> None:
        with managed(tmp_path, guest_memory=0.5, wait=False) as one:
            one.start(*counter(tmp_path, 10_000))
            wait_for(lambda: counted(tmp_path))
            one.host.set(0.1, 0.3)
            code, out = one.end()
            assert code == 75, out
            assert "S4: free memory 30.0 % < " in out
            assert one.state() is GuestState.ENDED
            nothing_left(one)

    def test_without_wait_a_busy_host_is_code_75(self, tmp_path: Path) -> None:
        with managed(tmp_path, wait=False) as one:
            one.host.set(0.9)
            one.start(*counter(tmp_path, 5))
            assert one.end()[0] == 75
            assert counted(tmp_path) == []

    def test_checkpoints_now_and_then(self, tmp_path: Path) -> None:
        with managed(tmp_path, checkpoint=SAVE, checkpoint_every=0.15) as one:
            one.start(*counter(tmp_path, 10_000))
            wait_for(lambda: sum("checkpoint made in" in why for _, why in one.said()) >= 2)
            saved = int((tmp_path / "saved").read_text())
            assert 0 < saved <= len(counted(tmp_path))
            assert one.record().checkpoint > 0
            assert one.state() in {GuestState.LOWERED, GuestState.NORMAL}

    @pytest.mark.parametrize(
        ("hook", "seconds", "told"),
        [
            ("sleep 60", 0.3, "no checkpoint: it took longer than 0 s, and was ended"),
            ("exit 3", 30.0, "no checkpoint: it ended with code 3"),
        ],
        ids=["hangs", "fails"],
    )
    def test_bad_hook_does_not_keep_it(
        self, tmp_path: Path, hook: str, seconds: float, told: str
    ) -> None:
        with managed(tmp_path, checkpoint=hook, checkpoint_timeout=seconds) as one:
            one.start(*counter(tmp_path, 50, 0.03))
            wait_for(lambda: counted(tmp_path))
            one.host.set(0.95)
            one.wait_state(GuestState.WAITING)
            assert ("ending", told) in one.said()
            assert one.record().checkpoint == 0
            nothing_left(one)
            one.host.set(0.1)
            assert one.end()[0] == 0
            assert counted(tmp_path) == list(range(1, 51))
            assert any("restarted from the beginning" in why for _, why in one.said())


class TestGoneManager:
    @FREEZES
    def test_guest_stands_until_a_new_one_comes(self, tmp_path: Path, *, cgroup: bool) -> None:
        with managed(tmp_path, cgroup=cgroup, checkpoint=SAVE) as one:
            command = counter(tmp_path, 150)
            first = one.start(*command)
            wait_for(lambda: len(counted(tmp_path)) > 10)
            pid = one.record().pid
            first.kill()
            first.communicate()
            record = one.wait_state(GuestState.UNWATCHED)
            assert record.why == "its manager is gone; ended in 30 s if none comes"
            wait_for(lambda: stands(one))
            assert len(counted(tmp_path)) < 150
            one.start(*command)
            code, out = one.end()
            assert code == 0, out
            assert counted(tmp_path) == list(range(1, 151))
            assert one.record().attempts == 1
            assert "adopted by a new manager" in out
            assert not is_there(pid, record.created)
            nothing_left(one)

    def test_none_comes_so_it_is_saved_and_ended(self, tmp_path: Path) -> None:
        with managed(tmp_path, checkpoint=SAVE, grace=0.3) as one:
            command = counter(tmp_path, 120)
            first = one.start(*command)
            wait_for(lambda: len(counted(tmp_path)) > 10)
            first.kill()
            first.communicate()
            record = one.wait_state(GuestState.ENDED)
            assert record.checkpoint > 0
            nothing_left(one)
            said = [state for state, _ in one.said()]
            assert [one for one in said if one != "normal"] == [
                "lowered", "unwatched", "ending", "ending", "ended",
            ]  # fmt: skip
            one.start(*command)
            assert one.end()[0] == 0
            assert counted(tmp_path) == list(range(1, 121))

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_told_to_end_it_saves_and_ends(self, tmp_path: Path, number: int) -> None:
        with managed(tmp_path, checkpoint=SAVE) as one:
            manager = one.start(*counter(tmp_path, 2000))
            wait_for(lambda: counted(tmp_path))
            manager.send_signal(number)
            code, out = one.end()
            assert code == 130
            assert f"its manager got {signal.Signals(number).name}; ended after its" in out
            assert "`forestall guest resume g` continues it" in out
            assert one.record().checkpoint > 0
            nothing_left(one)

    def test_more_hang_ups_still_wait_for_the_hook(self, tmp_path: Path) -> None:
        """Where a terminal goes, the kernel and the shell both send SIGHUP."""
        with managed(tmp_path, checkpoint="sleep 0.4; touch hooked") as one:
            manager = one.start(*counter(tmp_path, 2000))
            wait_for(lambda: counted(tmp_path))
            for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
                manager.send_signal(number)
                time.sleep(0.1)
            assert one.end()[0] == 130
            assert (tmp_path / "hooked").exists()
            assert one.record().checkpoint > 0

    def test_second_signal_does_not_wait_for_the_hook(self, tmp_path: Path) -> None:
        with managed(tmp_path, checkpoint="sleep 60", checkpoint_timeout=60) as one:
            manager = one.start(*counter(tmp_path, 2000))
            wait_for(lambda: counted(tmp_path))
            manager.send_signal(signal.SIGINT)
            one.wait_state(GuestState.ENDING)
            manager.send_signal(signal.SIGINT)
            code, out = one.end()
            assert code == 130
            assert "no checkpoint: it was not waited for" in out
            nothing_left(one)

    def test_second_manager_is_refused(self, tmp_path: Path) -> None:
        with managed(tmp_path) as one:
            command = counter(tmp_path, 2000)
            manager = one.start(*command)
            wait_for(lambda: counted(tmp_path))
            other = Managed(tmp_path)
            other.start(*command)
            code, out = other.end()
            assert code != 0
            assert f"another manager (process {manager.pid}) runs this guest" in out
            assert one.state() in {GuestState.LOWERED, GuestState.NORMAL}


HIDES = """
import os, sys, time
if os.fork():
    time.sleep(60)
os.setsid()
if os.fork():
    os._exit(0)
os.execve("/bin/sh", ["sh", "-c", "echo $$ > fled.new; mv fled.new fled; sleep 60 & wait"], {})
"""
FLEES = """
import os, sys, time
if os.fork():
    time.sleep(float(sys.argv[1]))
    sys.exit(0)
os.setsid()
if os.fork():
    os._exit(0)
open("fled", "w").write(str(os.getpid()))
time.sleep(60)
"""


def test_guest_that_does_not_wait_goes_on_after_a_power_cut(tmp_path: Path) -> None:
    """That its host was away is no answer to whether that is free now."""
    with managed(tmp_path, wait=False) as one:
        command = ("/bin/sh", "-c", "exit 7")
        one.files.make()
        record = StayRecord(
            name="g", id="g-1", command=list(command), cwd=str(tmp_path), attempts=1
        )
        one.files.write(changed(record, state=GuestState.NORMAL, boot="another", pid=1, keeper=1))
        one.start(*command)
        code, out = one.end()
        assert code == 7, out
        assert one.record().attempts == 2


class TestNoOrphans:
    @FREEZES
    def test_fled_process_ends_with_the_guest(self, tmp_path: Path, *, cgroup: bool) -> None:
        with managed(tmp_path, cgroup=cgroup) as one:
            (tmp_path / "flees.py").write_text(FLEES)
            one.start(*PYTHON, "flees.py", "0.5")
            wait_for((tmp_path / "fled").exists)
            code, out = one.end()
            assert code == 0, out
            assert "finished with code 0" in out
            assert "1 process that it left ended with it" in out
            nothing_left(one)

    @FREEZES
    def test_keeper_killed_and_all_go_with_it(self, tmp_path: Path, *, cgroup: bool) -> None:
        with managed(tmp_path, cgroup=cgroup, wait=False) as one:
            (tmp_path / "flees.py").write_text(FLEES)
            one.start(*PYTHON, "flees.py", "60")
            wait_for((tmp_path / "fled").exists)
            wait_for(lambda: one.record().pid)
            assert len(one.processes()) >= 2
            os.kill(one.record().keeper, signal.SIGKILL)
            code, out = one.end()
            assert code == 75, out
            assert "its keeper was killed" in out
            nothing_left(one)

    @FREEZES
    def test_manager_and_keeper_killed_at_once(self, tmp_path: Path, *, cgroup: bool) -> None:
        with managed(tmp_path, cgroup=cgroup) as one:
            (tmp_path / "flees.py").write_text(FLEES)
            manager = one.start(*PYTHON, "flees.py", "60")
            wait_for((tmp_path / "fled").exists)
            wait_for(lambda: one.record().pid)
            manager.kill()
            os.kill(one.record().keeper, signal.SIGKILL)
            manager.communicate()
            nothing_left(one)
            wait_for(lambda: one.record().now() is GuestState.ENDED)

    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "managed"])
    def test_keeper_killed_and_nothing_to_know_them_by(
        self, tmp_path: Path, *, alone: bool
    ) -> None:
        """New sessions, an empty environment, no control group: they still come to the second."""
        with managed(tmp_path, cgroup=False, wait=False) as one:
            (tmp_path / "hides.py").write_text(HIDES)
            manager = one.start(*PYTHON, "hides.py")
            wait_for((tmp_path / "fled").exists)
            wait_for(lambda: one.record().pid)
            fled = int((tmp_path / "fled").read_text())
            below = [fled, *(child.pid for child in descendants(fled))]
            try:
                assert fled not in [process.pid for process in one.processes()]
                if alone:
                    manager.kill()
                os.kill(one.record().keeper, signal.SIGKILL)
                one.end()
                wait_for(lambda: not any((p := look(pid)) and p.alive for pid in below))
                wait_for(lambda: one.record().now() is GuestState.ENDED)
                nothing_left(one)
            finally:
                for pid in below:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def test_second_killed_and_replaced(self, tmp_path: Path) -> None:
        with managed(tmp_path, cgroup=False, wait=False) as one:
            (tmp_path / "flees.py").write_text(FLEES)
            one.start(*PYTHON, "flees.py", "60")
            wait_for((tmp_path / "fled").exists)
            wait_for(lambda: one.record().pid)
            keeper = look(one.record().keeper)
            assert keeper is not None
            os.kill(keeper.parent, signal.SIGKILL)
            wait_for(lambda: "forestall-sweep" in names_below(keeper.pid))
            assert len(one.processes()) >= 2
            keeper.send(signal.SIGKILL)
            code, out = one.end()
            assert code == 75, out
            nothing_left(one)

    def test_killed_keeper_means_another_start(self, tmp_path: Path) -> None:
        with managed(tmp_path) as one:
            one.start(*counter(tmp_path, 150))
            wait_for(lambda: len(counted(tmp_path)) > 10)
            os.kill(one.record().keeper, signal.SIGKILL)
            code, out = one.end()
            assert code == 0, out
            assert one.record().attempts == 2
            assert counted(tmp_path) == list(range(1, 151))
            nothing_left(one)


class TestEnds:
    @pytest.mark.parametrize(
        ("script", "code", "told"),
        [("exit 7", 7, "ended by itself with code 7"), ("kill -9 $$", 137, "with signal 9")],
    )
    def test_code_is_the_guests(self, tmp_path: Path, script: str, code: int, told: str) -> None:
        with managed(tmp_path) as one:
            one.start("/bin/sh", "-c", script)
            got, out = one.end()
            assert (got, one.state()) == (code, GuestState.FAILED)
            assert told in out

    def test_output_goes_to_files(self, tmp_path: Path) -> None:
        with managed(tmp_path) as one:
            one.start("/bin/sh", "-c", "echo out; echo err >&2; cat")
            assert one.end()[0] == 0
            assert (one.files.place / "stdout").read_text() == "out\n"
            assert (one.files.place / "stderr").read_text() == "err\n"

    def test_registered_while_it_runs(self, tmp_path: Path) -> None:
        with managed(tmp_path) as one:
            one.start(*counter(tmp_path, 2000))
            wait_for(lambda: counted(tmp_path))
            record = one.record()
            told = json.loads((one.files.place.parent / f"{record.id}.json").read_text())
            assert told["pid"] == record.keeper
            assert told["pgid"] == record.pid
            assert told["cgroup"] == record.cgroup
            assert is_there(told["pid"], told["created"])

    def test_full_disk_is_told_and_the_guest_goes_on(self, tmp_path: Path) -> None:
        with managed(tmp_path) as one:
            one.files.make()
            (one.files.place / "log.jsonl").symlink_to("/dev/full")
            one.start(*counter(tmp_path, 50))
            code, out = one.end()
            assert code == 0, out
            assert out.count("cannot be written: ") == 1
            assert "the guest continues" in out
            assert counted(tmp_path) == list(range(1, 51))


class TestTell:
    def test_command_hears_every_change_in_order(self, tmp_path: Path) -> None:
        tell = 'echo "$FORESTALL_GUEST_STATE" >> states; cat >> lines'
        with managed(tmp_path, tell=tell) as one:
            one.start(*counter(tmp_path, 20))
            assert one.end()[0] == 0
            states = [state for state, _ in one.said()]
            assert (tmp_path / "states").read_text().split() == states
            lines = (tmp_path / "lines").read_text().splitlines()
            assert [json.loads(line)["why"] for line in lines] == [why for _, why in one.said()]

    def test_socket_and_file(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
            heard.bind(str(tmp_path / "s"))
            with managed(tmp_path, tell=f"unix:{tmp_path / 's'}") as one:
                one.start("true")
                assert one.end()[0] == 0
            heard.settimeout(5)
            assert json.loads(heard.recv(4096))["state"] == "lowered"
        with managed(tmp_path, "h", tell=f"file:{tmp_path / 'told'}") as one:
            one.start("true")
            assert one.end()[0] == 0
        assert json.loads((tmp_path / "told").read_text().splitlines()[-1])["state"] == "finished"

    def test_what_goes_wrong_is_one_line(self, tmp_path: Path) -> None:
        with managed(tmp_path, tell=f"unix:{tmp_path / 'none'}") as one:
            one.start("true")
            code, out = one.end()
            assert code == 0
            assert out.count("No such file or directory; the guest continues") == 1
