"""A manager that stands still, as by SIGSTOP or a hung disk, while keeper and guest do not."""

from __future__ import annotations

import fcntl
import signal
import time
from pathlib import Path

from forestall.core.processes.files import GuestState, StayRecord
from forestall.core.processes.processes import is_there, look
from sharing.guest.managed import SAVE, Managed, counted, counter, managed, stands, wait_for

UNTIL_ENOUGH = "n=0; while [ ! -e enough ]; do n=$((n+1)); echo $n >> counted; sleep 0.01; done"


def wait_for_record(one: Managed) -> StayRecord:
    """Return the record of a guest that runs, once its process is written down."""
    wait_for(lambda: one.record().pid)
    return one.record()


def test_stopped_manager_is_as_good_as_gone_and_comes_back(tmp_path: Path) -> None:
    with managed(tmp_path, silence=0.5) as one:
        manager = one.start("/bin/sh", "-c", UNTIL_ENOUGH)
        wait_for(lambda: counted(tmp_path))
        manager.send_signal(signal.SIGSTOP)
        record = one.wait_state(GuestState.UNWATCHED)
        assert is_there(record.pid, record.created)
        wait_for(lambda: stands(one))
        stood = len(counted(tmp_path))
        manager.send_signal(signal.SIGCONT)
        wait_for(lambda: len(counted(tmp_path)) > stood + 5)
        (tmp_path / "enough").touch()
        code, out = one.end()
        assert code == 0, out
        assert "stopped: its manager continues" in out
        assert one.record().attempts == 1
        assert counted(tmp_path) == list(range(1, len(counted(tmp_path)) + 1))


def test_a_stopped_manager_is_missed_as_soon_as_it_should(tmp_path: Path) -> None:
    """Not when the keeper happens to wake: looks at the guest are a second apart."""
    with managed(tmp_path, silence=0.3) as one:
        manager = one.start("/bin/sh", "-c", UNTIL_ENOUGH)
        wait_for(lambda: counted(tmp_path))
        late = []
        for _ in range(4):  # at any phase of the looks
            stood = len(counted(tmp_path))
            wait_for(lambda: len(counted(tmp_path)) > stood + 1)  # noqa: B023 - at once
            manager.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            one.wait_state(GuestState.UNWATCHED)
            late.append(time.monotonic() - began)
            manager.send_signal(signal.SIGCONT)
        assert min(late) < 0.5, late
        assert sorted(late)[1] < 0.7, late


def test_guest_that_finished_beside_a_stopped_manager(tmp_path: Path) -> None:
    """It is not run again, and its code is told."""
    with managed(tmp_path, silence=0.4) as one:
        manager = one.start("/bin/sh", "-c", f"{UNTIL_ENOUGH}; exit 3")
        wait_for(lambda: counted(tmp_path))
        keeper = look(wait_for_record(one).keeper)
        assert keeper is not None
        manager.send_signal(signal.SIGSTOP)
        keeper.send(signal.SIGSTOP)  # it finds both at once: silence, and an end
        (tmp_path / "enough").touch()
        first = one.record().pid
        wait_for(lambda: (process := look(first)) is None or not process.alive)
        time.sleep(0.5)
        keeper.send(signal.SIGCONT)
        one.wait_state(GuestState.FAILED)
        manager.send_signal(signal.SIGCONT)
        code, out = one.end()
        assert code == 3, out
        assert "failed: ended without a manager" in out
        record = one.record()
        assert (record.state, record.exit_code, record.attempts) == (GuestState.FAILED, 3, 1)


def test_checkpoint_that_was_made_without_the_manager_counts(tmp_path: Path) -> None:
    with managed(tmp_path, silence=0.3, grace=0.2, checkpoint=SAVE) as one:
        manager = one.start(*counter(tmp_path, 400))
        wait_for(lambda: len(counted(tmp_path)) > 10)
        manager.send_signal(signal.SIGSTOP)
        one.wait_state(GuestState.ENDED)
        saved = int((tmp_path / "saved").read_text())
        manager.send_signal(signal.SIGCONT)
        code, out = one.end()
        assert code == 0, out
        assert "resumed from its checkpoint" in out
        assert one.record().attempts == 2
        assert counted(tmp_path) == list(range(1, 401))
        assert saved > 10


def test_a_lock_in_the_hand_of_a_stopped_manager_keeps_nobody(tmp_path: Path) -> None:
    """The log is as a manager has it that is stopped, or hangs, while it writes a line."""
    with managed(tmp_path, silence=0.3, grace=0.2) as one:
        manager = one.start("/bin/sh", "-c", UNTIL_ENOUGH)
        wait_for(lambda: counted(tmp_path))
        with (one.files.place / "log.jsonl").open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            manager.send_signal(signal.SIGSTOP)
            one.wait_state(GuestState.ENDED)
            assert not one.processes()


def test_what_a_stopped_manager_had_in_hand_does_not_hide_the_end(tmp_path: Path) -> None:
    """It may have been stopped while it wrote the record, and then writes the one of before."""
    with managed(tmp_path, silence=0.3, grace=0.2) as one:
        manager = one.start("/bin/sh", "-c", f"trap 'exit 3' TERM; {UNTIL_ENOUGH}")
        wait_for(lambda: counted(tmp_path))
        before = wait_for_record(one)
        manager.send_signal(signal.SIGSTOP)
        keeper = look(before.keeper)
        wait_for(lambda: keeper is None or not keeper.alive or look(keeper.pid) is None)
        one.files.write(before)
        (tmp_path / "enough").touch()
        manager.send_signal(signal.SIGCONT)
        code, out = one.end()
        assert code == 0, out
        assert "waiting: ended without a manager; waits for the host to be free" in out
        assert "its keeper was killed" not in out
