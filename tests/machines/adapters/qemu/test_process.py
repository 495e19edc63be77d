"""Processes of a run: found again, told from others' and ended, with a stand-in for QEMU."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from forestall.machines.adapters.qemu.process import Run, end, launch
from forestall.vaults.adapters.qemu_guest import LOG, PID, PROGRAM, Guest, MachineError
from qemu_machines.guest import wait_for


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "001.a", "vm", "a")


def stand_in(run: Run, *words: str) -> subprocess.Popen[bytes]:
    """A process in the folder of a run, with its number written down."""
    run.folder.mkdir(exist_ok=True)
    process = subprocess.Popen(words or ("sleep", "60"), cwd=run.folder)
    (run.folder / PID).write_text(f"{process.pid}\n")
    return process


def test_without_a_process(run: Run) -> None:
    assert run.pid() == 0
    assert run.status() == ""
    end(run)


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "1", "99999999"])
def test_numbers_that_name_no_process_of_ours(run: Run, text: str) -> None:
    run.folder.mkdir()
    (run.folder / PID).write_text(text)
    assert not run.alive()
    end(run)


def test_a_process_elsewhere_is_never_touched(run: Run, tmp_path: Path) -> None:
    """Its number was that of a QEMU once."""
    run.folder.mkdir()
    with subprocess.Popen(("sleep", "60"), cwd=tmp_path) as other:
        (run.folder / PID).write_text(str(other.pid))
        assert not run.alive()
        end(run)
        assert other.poll() is None
        other.kill()


def test_sigterm_is_enough_for_most(run: Run) -> None:
    with stand_in(run) as process:
        assert run.pid() == process.pid
        end(run, ask=False)
        assert process.wait() == -signal.SIGTERM
    assert not run.alive()


def test_sigkill_for_those_that_do_not_listen(run: Run) -> None:
    deaf = "import signal, pathlib, time; signal.signal(15, signal.SIG_IGN);"
    deaf += "pathlib.Path('deaf').touch(); time.sleep(60)"
    with stand_in(run, "python3", "-c", deaf) as process:
        wait_for("it is deaf", (run.folder / "deaf").exists, 30)
        end(run, grace=0.3)
        assert process.wait() == -signal.SIGKILL


def test_what_qemu_complains_of(run: Run) -> None:
    run.folder.mkdir()
    assert run.complaint() == ""
    (run.folder / LOG).write_text(
        f"{PROGRAM}: warning: TCG doesn't support requested feature\n"
        f"{PROGRAM}: Size mismatch: pc.ram: 0x8000000 != 0x6000000: Invalid argument\n"
        f"{PROGRAM}: load of migration failed: Invalid argument\n"
    )
    assert run.complaint() == "Size mismatch: pc.ram: 0x8000000 != 0x6000000: Invalid argument"
    (run.folder / LOG).write_text(f"{PROGRAM}: terminating on signal 15 from pid 1 (kill)\n")
    assert run.complaint() == ""


def test_without_qemu(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="vm: qemu-system-x86_64 is not installed; on Debian"):
        launch(run, Guest("vm", "kernel"))


def test_a_wrapper_that_is_not_there(run: Run) -> None:
    with pytest.raises(MachineError, match="cannot run no-such-program"):
        launch(run, Guest("vm", "kernel"), wrapper=("no-such-program",))


def test_a_qemu_that_ends_at_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / PROGRAM
    fake.write_text(f"#!/bin/sh\necho '{PROGRAM}: could not load kernel' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MachineError, match="vm: QEMU does not start on a: could not load kernel"):
        launch(run, Guest("vm", "kernel"))
