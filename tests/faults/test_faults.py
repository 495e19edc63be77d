"""Commands that write, times what can go wrong while they do: each cell is run.

Whatever happens, the exit code is one of those documented, there is at most one line on standard
error and no traceback, and what was to be written is wholly the old or wholly the new.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from faults.cells import Bench, Ran, fine, litter, mended
from faults.commands import LIKE, ROWS, Row
from forestall.runs.commands.application import app

AWAY = "{sandbox}/away/folder"
HARMLESS = {
    "no HOME, umask 077": {"umask": 0o077, "environment": {"HOME": None, "TMPDIR": AWAY}},
    "HOME away, umask 000": {"umask": 0, "environment": {"HOME": AWAY, "LC_ALL": "C"}},
}
"""Surroundings that change nothing of what is written; the current folder is removed, too."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)  # another user reads it, too
        made = Bench(folder)
        yield made
        made.close()


def one_line(done: Ran, code: int) -> None:
    assert done.code == code, done
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("forestall: ")


each_row = pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))


@each_row
def test_killed_at_every_moment(bench: Bench, row: Row, tmp_path: Path) -> None:
    """What is left reads as the old or the new, and the command does it again, without litter."""
    before, after, _, _ = bench.ends(row)
    bench.begin(row)
    done = bench.ran(bench.words(row), "copies", str(tmp_path))
    assert done.code == 0, done.err
    kinds = {}
    for moment in sorted(tmp_path.iterdir(), key=lambda path: int(path.name)):
        kinds.setdefault(tuple(Path(name).name[:5] for name in litter(moment)), moment.name)
        spare = tmp_path / "spare"
        shutil.copytree(moment, spare, copy_function=os.link)
        mended(spare)
        assert row.seen(spare) in (before, after, {}), moment.name
        shutil.rmtree(spare)
    for name in list(kinds.values())[1:3] if row.again or not row.old else ():
        bench.begin(row)
        shutil.rmtree(bench.target)
        shutil.copytree(tmp_path / name, bench.target)
        done = bench.ran(bench.words(row))
        assert done.code == 0 or not row.again, (name, done.err)
        if done.code == 0:
            assert litter(bench.target) == [], name
        assert row.seen(bench.target) == after


@each_row
def test_a_signal_in_the_middle(bench: Bench, row: Row) -> None:
    before, after, moments, _ = bench.ends(row)
    middle = (signal.SIGTERM, (moments + 1) // 2)
    for number, when in ((signal.SIGHUP, 1), middle, (signal.SIGTERM, moments)):
        bench.begin(row)
        done = bench.ran(bench.words(row), "signal", (number, when))
        one_line(done, 130)
        mended(bench.target)
        assert row.seen(bench.target) in (before, after, *([{}] if row.unfinished else []))


@each_row
def test_a_small_disk(bench: Bench, row: Row) -> None:
    before, _, _, size = bench.ends(row)
    if size < 2000:
        pytest.skip("too small for a limit; the next cell is for it")
    bench.begin(row)
    done = bench.ran(bench.words(row), "small disk", size // 2)
    one_line(done, 2)
    assert ": cannot be written: File too large" in done.err
    assert row.seen(bench.target) == ({} if row.unfinished else before)
    assert litter(bench.target) == []


@each_row
def test_a_disk_that_is_full_at_last(bench: Bench, row: Row) -> None:
    before, after, _, _ = bench.ends(row)
    bench.begin(row)
    done = bench.ran(bench.words(row), "full at last")
    one_line(done, 2)
    assert "cannot be written: No space left on device" in done.err
    assert row.seen(bench.target) in ((before, after) if row.adds else (before,))
    assert litter(bench.target) == []


@each_row
def test_a_folder_that_may_not_be_written_to(bench: Bench, row: Row) -> None:
    before, _, _, _ = bench.ends(row)
    bench.begin(row)
    for path in (bench.target, *bench.target.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = bench.ran(bench.words(row), "another user" if os.geteuid() == 0 else "none")
    one_line(done, 2)
    for path in (bench.target, *bench.target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert row.seen(bench.target) == before


@each_row
@pytest.mark.parametrize("out", [None, "/dev/full"])
def test_output_that_nobody_takes(bench: Bench, row: Row, out: str | None) -> None:
    """Where its reader went away a command ends without a word, as before `head`."""
    before, after, _, _ = bench.ends(row)
    bench.begin(row)
    done = bench.ran(bench.words(row), "stdout", out)
    if not row.prints:
        fine(row, done)
    elif out is None:
        assert (done.code, done.err) == (4, "")
    else:
        one_line(done, 4)
    assert litter(bench.target) == []
    assert row.seen(bench.target) in (before, after)


@each_row
def test_two_at_once(bench: Bench, row: Row) -> None:
    _, after, _, _ = bench.ends(row)
    bench.begin(row)
    done = bench.ran(bench.words(row), times=2)
    if done.code:
        one_line(done, 2)
    assert litter(bench.target) == []
    if row.again:
        assert row.seen(bench.target) == after


@each_row
@pytest.mark.parametrize("fault", HARMLESS)
def test_what_changes_nothing(bench: Bench, row: Row, fault: str) -> None:
    _, after, _, _ = bench.ends(row)
    bench.begin(row)
    done = bench.ran(bench.words(row), "surroundings", HARMLESS[fault])
    fine(row, done)
    assert row.seen(bench.target) == after
    assert litter(bench.target) == []


def walked(whole: typer.Typer) -> Iterator[tuple[str, Any]]:
    """Yield each command with its name; also groups, which may do something by themselves."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "plain"):  # its commands are the plain form with some of its options
            yield from walk(command.plain, path)
            return
        yield " ".join(path), command
        if getattr(command, "commands", None) is None:
            return
        context = command.make_context("x", [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))

    yield from walk(typer.main.get_command(whole), ())


def commands_that_write() -> set[str]:
    """Return the commands that take a place to write results to."""
    return {
        name
        for name, command in walked(app)
        if getattr(command, "commands", None) is None
        and any(one.name in ("out", "openmetrics") for one in command.params)
    }


def test_each_command_that_writes_has_a_row() -> None:
    known = {name for name in commands_that_write()
             if any(row.words.startswith(f"{name} ") for row in ROWS.values())}  # fmt: skip
    assert commands_that_write() - known == LIKE.keys()
    assert set(LIKE.values()) <= ROWS.keys()
