"""Commands that go on until they are ended, times what can go wrong meanwhile: each cell is run.

Whatever happens, the exit code is one of those documented, there is no traceback, and the command
can be started again on what it left.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from faults.cells import Bench, Ran
from faults.lasting import LASTING, Lasting
from faults.test_faults import HARMLESS, bench, one_line, walked
from forestall.runs.commands.application import app

__all__ = ["bench"]

EVICTED = 75
"""Exit code of what was ended and can go on."""

each_row = pytest.mark.parametrize("row", LASTING.values(), ids=list(LASTING))


def test_each_command_that_lasts_has_a_row() -> None:
    """Those whose help says what ends them."""
    found = {
        name
        for name, command in walked(app)
        if "Ctrl-C" in (command.help or "")
        or any("until Ctrl-C" in (getattr(one, "help", None) or "") for one in command.params)
    }
    assert {"agent", "serve", "storage serve", "storage watch"} <= found
    assert found - LASTING.keys() == {"calibrate"}  # it keeps all cores busy, and writes at its end


def begun(bench: Bench, row: Lasting) -> None:
    shutil.rmtree(bench.sandbox, ignore_errors=True)
    bench.target.mkdir(parents=True)
    row.given(bench.target)


def ran(
    bench: Bench, row: Lasting, fault: str = "none", value: object = None, times: int = 1
) -> Ran:
    words = row.words.replace("T/", f"{bench.target}/")
    done = bench.ran(words, fault, value, times, row.until)
    assert "Traceback" not in done.err, done.err
    return done


def again(bench: Bench, row: Lasting) -> None:
    """Assert that the command does its work on what is left there."""
    done = ran(bench, row)
    assert done.code == 0, done.err


def moments(bench: Bench, row: Lasting) -> int:
    known: dict[str, int] = bench.states
    if row.words not in known:
        begun(bench, row)
        done = ran(bench, row)
        assert done.code == 0, done.err
        assert row.told or done.err == "", done.err
        known[row.words] = done.moments
    return known[row.words]


@each_row
def test_killed_and_started_again(bench: Bench, row: Lasting, tmp_path: Path) -> None:
    moments(bench, row)
    begun(bench, row)
    assert ran(bench, row, "copies", str(tmp_path)).code == 0
    left = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    for one in left[1 :: max(1, len(left) // 3)]:
        shutil.rmtree(bench.target)
        shutil.copytree(one, bench.target, symlinks=True)
        again(bench, row)


@each_row
def test_a_signal_in_the_middle(bench: Bench, row: Lasting) -> None:
    whole = moments(bench, row)
    for number, when in ((signal.SIGHUP, 1), (signal.SIGTERM, (whole + 1) // 2)):
        begun(bench, row)
        done = ran(bench, row, "signal", (number, when))
        assert done.code in (0, EVICTED, 130), done
        if done.err and not row.told:
            one_line(done, 130)
        again(bench, row)


@each_row
@pytest.mark.parametrize("fault", ["small disk", "full at last"])
def test_a_full_disk(bench: Bench, row: Lasting, fault: str) -> None:
    begun(bench, row)
    done = ran(bench, row, fault, 400)
    assert done.code in ((0, row.full, 2) if fault == "small disk" else (row.full,)), done
    if done.code in (1, 2):
        one_line(done, done.code)
    again(bench, row)


@each_row
def test_a_folder_that_may_not_be_written_to(bench: Bench, row: Lasting) -> None:
    begun(bench, row)
    before = set(bench.target.iterdir())
    bench.target.chmod(0o555)
    done = ran(bench, row, "another user" if os.geteuid() == 0 else "none")
    one_line(done, 2)
    assert "Permission denied" in done.err
    assert set(bench.target.iterdir()) == before


@each_row
@pytest.mark.parametrize("out", [None, "/dev/full"])
def test_output_that_nobody_takes(bench: Bench, row: Lasting, out: str | None) -> None:
    begun(bench, row)
    done = ran(bench, row, "stdout", out)
    if not row.prints:
        assert done.code == 0, done
    elif out is None:
        assert (done.code, done.err) == (4, "")
    else:
        one_line(done, 4)
    again(bench, row)


@each_row
def test_two_at_once(bench: Bench, row: Lasting) -> None:
    begun(bench, row)
    done = ran(bench, row, times=2)
    if done.code:
        one_line(done, 2)
    again(bench, row)


@each_row
@pytest.mark.parametrize("fault", HARMLESS)
def test_what_changes_nothing(bench: Bench, row: Lasting, fault: str) -> None:
    begun(bench, row)
    done = ran(bench, row, "surroundings", HARMLESS[fault])
    if row.here:
        one_line(done, 2)
        assert "the current folder was removed" in done.err
    else:
        assert done.code == 0, done
