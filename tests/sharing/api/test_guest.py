"""Guests by the Python interface: names, records that go on, and the real host's load."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.processes.files import GuestFiles, GuestState, StayRecord, changed
from forestall.core.processes.processes import marked
from forestall.core.processes.usage import GuestProcesses
from forestall.sharing.agent.guests import register_guest
from forestall.sharing.api.guest.guest import (
    change_report,
    guest_changes,
    guest_report,
    guests,
    resume_guest,
    run_guest,
    stop_guest,
    thresholds,
)
from forestall.sharing.guest.eyes import HostEyes
from forestall.sharing.guest.settings import GuestSettings
from sharing.guest.managed import PYTHON, HostFile, managed, wait_for

QUICK = GuestSettings(every=0.05, calm=0.0)


@pytest.fixture
def host(tmp_path: Path) -> HostFile:
    made = HostFile(tmp_path / "host")
    made.set(0.1)
    return made


class TestThresholds:
    def test_given_calibrated_and_the_models(self, tmp_path: Path) -> None:
        assert thresholds(tmp_path, None, None) == (0.0, 0.6)
        (tmp_path / "calibration.json").write_text('{"th1": 0.3, "th2": 0.7}')
        assert thresholds(tmp_path, None, None) == (0.3, 0.7)
        assert thresholds(tmp_path, "10%", None) == (0.1, 0.7)
        with pytest.raises(ParameterError, match="th2"):
            thresholds(tmp_path, None, "0.2")


class TestNames:
    def test_by_the_command(self, tmp_path: Path, host: HostFile) -> None:
        for _ in range(2):
            assert run_guest(["true"], QUICK, folder=tmp_path / "f", eyes=host) == 0
        found, troubles = guests(tmp_path / "f")
        assert [one["guest"] for one in found] == ["true-1", "true-2"]
        assert troubles == []
        told = guest_report(found).sections[0]
        assert told.tables[0].rows[0][:4] == ("true-1", "finished", "-", "1")
        changes = guest_changes(tmp_path / "f", "true-1")
        assert changes[-1]["state"] == "finished"
        told = change_report(changes, "true-1").sections[0]
        assert told.tables[0].heads == ("Time", "State", "Host", "Load", "Why")
        assert len(told.tables[0].rows) == len(changes)

    def test_program_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="CMD: 'no-such'"):
            run_guest(["no-such"], QUICK, folder=tmp_path)
        assert not (tmp_path / "guests").exists()


class TestGoesOn:
    def test_what_has_not_finished(self, tmp_path: Path, host: HostFile) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        left = StayRecord(name="g", id="g-1", command=["sh", "-c", "exit 4"], cwd=str(tmp_path))
        left = changed(left, state=GuestState.ENDED, checkpoint=5.0, attempts=3, boot="older")
        files.write(changed(left, settings=QUICK.to_json()))
        with pytest.raises(TraceError, match="runs another command; continue it with"):
            run_guest(["true"], QUICK, folder=tmp_path, name="g", eyes=host)
        assert resume_guest(tmp_path, "g", eyes=host) == 4
        record = files.read()
        assert record is not None
        assert (record.state, record.attempts, record.exit_code) == (GuestState.FAILED, 4, 4)
        with pytest.raises(ParameterError, match="this one has failed with code 4"):
            resume_guest(tmp_path, "g", eyes=host)

    def test_resume_command_only_after_a_checkpoint(self, tmp_path: Path, host: HostFile) -> None:
        settings = GuestSettings(every=0.05, calm=0.0, checkpoint="true", resume="echo resumed $"
                                 "FORESTALL_GUEST_CHECKPOINT")  # fmt: skip
        for made in (0.0, 5.0):
            files = GuestFiles(tmp_path, f"g{made:.0f}")
            files.make()
            left = StayRecord(name=files.name, id="g-1", command=["echo", "begun"], cwd="/")
            files.write(changed(left, state=GuestState.ENDED, checkpoint=made))
            assert run_guest([], settings, folder=tmp_path, name=files.name, eyes=host) == 0
        assert (tmp_path / "guests" / "g0" / "stdout").read_text() == "begun\n"
        assert (tmp_path / "guests" / "g5" / "stdout").read_text() == "resumed 1\n"

    def test_fresh(self, tmp_path: Path, host: HostFile) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        files.write(StayRecord(name="g", id="g-1", command=["false"], cwd="/", checkpoint=5.0))
        assert run_guest(["true"], QUICK, folder=tmp_path, name="g", fresh=True, eyes=host) == 0
        record = files.read()
        assert record is not None
        assert (record.attempts, record.checkpoint, record.id != "g-1") == (1, 0.0, True)

    def test_program_that_went_away(self, tmp_path: Path, host: HostFile) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        left = StayRecord(name="g", id="g-1", command=["/no/such"], cwd="/", state=GuestState.ENDED)
        files.write(left)
        said: list[str] = []
        code = run_guest([], QUICK, folder=tmp_path, name="g", eyes=host, say=said.append)
        assert code == 2
        assert said[-1].endswith("failed: cannot be started: /no/such: No such file or directory")


class TestStop:
    def test_with_and_without_its_manager(self, tmp_path: Path) -> None:
        with managed(tmp_path, checkpoint="true") as one:
            manager = one.start("sleep", "60")
            wait_for(one.processes)
            assert stop_guest(one.files.folder, "g").state is GuestState.ENDED
            assert one.end()[0] == 130
            assert not one.processes()
            manager = one.start("sleep", "60")
            wait_for(one.processes)
            manager.kill()
            manager.communicate()
            one.wait_state(GuestState.UNWATCHED)
            record = stop_guest(one.files.folder, "g")
            assert (record.state, record.attempts) == (GuestState.ENDED, 2)
            assert record.checkpoint > 0
            assert not one.processes()
            assert stop_guest(one.files.folder, "g").state is GuestState.ENDED  # nothing to do

    def test_of_a_damaged_record(self, tmp_path: Path) -> None:
        """With its manager, and without: what keeps the guest knows it."""
        with managed(tmp_path, checkpoint="true") as one:
            for alone in (False, True):
                manager = one.start("sleep", "60")
                wait_for(one.processes)
                mark = one.record().id
                if alone:
                    manager.kill()
                    manager.communicate()
                    one.wait_state(GuestState.UNWATCHED)
                (one.files.place / "state.json").write_text("{")
                record = stop_guest(one.files.folder, "g")
                assert (record.state, record.command) == (GuestState.ENDED, ["sleep", "60"])
                assert record.checkpoint > 0
                if not alone:
                    assert one.end()[0] == 130
                assert marked(mark) == []

    def test_of_damaged_settings(self, tmp_path: Path) -> None:
        with managed(tmp_path) as one:
            manager = one.start("sleep", "60")
            wait_for(one.processes)
            manager.kill()
            manager.communicate()
            one.wait_state(GuestState.UNWATCHED)
            one.files.write(changed(one.record(), settings={"every": "x"}))
            assert stop_guest(one.files.folder, "g").state is GuestState.ENDED
            assert not one.processes()

    def test_of_a_manager_that_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("forestall.sharing.api.guest.guest._HEARS", 0.5)
        with managed(tmp_path, checkpoint="true") as one:
            manager = one.start("sleep", "60")
            wait_for(one.processes)
            manager.send_signal(signal.SIGSTOP)
            record = stop_guest(one.files.folder, "g")
            assert record.state is GuestState.ENDED
            assert record.checkpoint > 0
            assert one.end()[0] == -signal.SIGKILL
            assert not one.processes()


class TestEyes:
    def test_a_guests_load_is_not_the_owners(self, tmp_path: Path) -> None:
        pytest.importorskip("psutil")
        import subprocess

        made = subprocess.Popen([*PYTHON, "-c", "while True: pass"], start_new_session=True)
        try:
            register_guest(tmp_path, "g-1", GuestProcesses.of(made.pid))
            eyes = HostEyes(tmp_path)
            time.sleep(0.5)
            sight = eyes.look()
        finally:
            made.kill()
            made.wait()
        assert sight.guest_load > 0.05 / (os.cpu_count() or 1)
        assert 0 <= sight.load <= 1 - sight.guest_load + 0.05
        assert 0 < sight.available < 1

    def test_a_real_host_from_start_to_end(self, tmp_path: Path) -> None:
        """Whatever else runs here: a load cannot be above 1, so the guest is never stopped."""
        pytest.importorskip("psutil")
        settings = GuestSettings(th1=1.0, th2=1.0, every=0.2, calm=0.0)
        words = [*PYTHON, "-c", "print(sum(range(10**6)))"]
        assert run_guest(words, settings, folder=tmp_path, name="g") == 0
        assert (tmp_path / "guests" / "g" / "stdout").read_text() == "499999500000\n"
        first = guest_changes(tmp_path, "g")[0]
        assert 0 <= first["load"] <= 1
        assert 0 < first["free_memory"] < 1


def test_runs_beside_other_threads(tmp_path: Path, host: HostFile) -> None:
    """Signals are the main thread's matter; a guest can still be run from another."""
    codes: list[int] = []
    thread = threading.Thread(
        target=lambda: codes.append(run_guest(["true"], QUICK, folder=tmp_path, eyes=host))
    )
    thread.start()
    thread.join(20)
    assert codes == [0]
