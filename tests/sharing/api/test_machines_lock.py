"""Locks on a fleet: one command at a time, and one watch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from forestall.core.model.errors import TraceError
from forestall.machines.fleet.machines import alone, only_watch


def test_a_fleet_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    """Another process gets it only when this one has let go of it."""
    code = (
        "import sys; from pathlib import Path\n"
        "from forestall.machines.fleet.machines import alone\n"
        "print('asks', flush=True)\n"
        "with alone(Path(sys.argv[1])): print((Path(sys.argv[1]) / 'note').read_text())"
    )
    with alone(tmp_path):
        (tmp_path / "note").write_text("begun")
        other = subprocess.Popen(
            (sys.executable, "-c", code, str(tmp_path)), stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "asks\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.2)
        (tmp_path / "note").write_text("done")
    assert other.communicate(timeout=60)[0] == "done\n"
    with alone(tmp_path):
        pass


def test_processes_that_are_started_do_not_hold_it(tmp_path: Path) -> None:
    with alone(tmp_path):
        child = subprocess.Popen(("sleep", "60"), close_fds=False)
    try:
        with alone(tmp_path):
            assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_second_watch_is_refused(tmp_path: Path) -> None:
    refused = pytest.raises(TraceError, match="another watch runs")
    with only_watch(tmp_path), refused, only_watch(tmp_path):
        pass
    with only_watch(tmp_path), alone(tmp_path):
        pass


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with (
        pytest.raises(TraceError, match="no: cannot be opened: No such file"),
        alone(tmp_path / "no"),
    ):
        pass
