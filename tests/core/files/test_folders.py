"""Folders whose files go together, killed at every moment, and what the next command does then."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from faults.moments import Moments, copies_to, held_in, in_child
from forestall.core.files.atomic import atomic_path
from forestall.core.files.folders import PLAN, WHOLE, filling, is_left_over, mend
from forestall.core.model.errors import TraceError

NAMES = ("a.csv", "gone.csv", "pictures/old.png", "summary.json")
OLD = {"a.csv": b"old", "gone.csv": b"old", "pictures/old.png": b"old", "summary.json": b"old"}
NEW = {"a.csv": b"new", "more.csv": b"new", "pictures/new.png": b"new", "summary.json": b"new"}
OTHERS = {"notes.txt": b"mine"}


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def fill(folder: Path, files: dict[str, bytes] = NEW) -> None:
    with filling(folder, NAMES) as fresh:
        for name, data in files.items():
            (fresh / name).parent.mkdir(exist_ok=True)
            with atomic_path(fresh / name) as beside:
                beside.write_bytes(data)


def seen(folder: Path) -> dict[str, bytes]:
    """Return what a reader finds: all but what is recognised as left over."""
    top = [path for path in folder.iterdir() if not is_left_over(path)] if folder.exists() else []
    return {
        name: data for name, data in held_in(folder).items() if folder / Path(name).parts[0] in top
    }


def test_a_kill_at_any_moment_leaves_all_old_or_all_new_files(tmp_path: Path) -> None:
    out, at = tmp_path / "in" / "out", tmp_path / "at"
    put(out, OLD | OTHERS)
    at.mkdir()

    def work() -> None:
        Moments(out.parent, copies_to(at, out.parent))
        fill(out)

    assert in_child(work) == 0
    assert held_in(out) == NEW | OTHERS
    kinds = set()
    for moment in sorted(at.iterdir(), key=lambda path: int(path.name)):
        place = moment / "out"
        before = seen(place)
        assert before in (OLD | OTHERS, NEW | OTHERS) or "summary.json" not in before
        whole = os.path.lexists(place / WHOLE / PLAN)
        mend(place)
        assert seen(place) == (NEW if whole or before == NEW | OTHERS else OLD) | OTHERS
        kinds.add((whole, before == OLD | OTHERS, before == NEW | OTHERS))
        fill(place)
        assert held_in(place) == NEW | OTHERS  # and no litter
    assert len(kinds) >= 4


def test_so_does_a_real_kill(tmp_path: Path) -> None:
    count = 0

    def work(number: int) -> None:
        def at(now: int) -> None:
            if now == number:
                os.kill(os.getpid(), signal.SIGKILL)

        Moments(out, at)
        fill(out)

    while True:
        count += 1
        out = tmp_path / f"{count}"
        put(out, OLD)
        code = in_child(partial(work, count))
        mend(out)
        assert seen(out) in (OLD, NEW)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        fill(out)
        assert held_in(out) == NEW
    assert count > 40


def test_mending_can_be_killed_too(tmp_path: Path) -> None:
    out, at = tmp_path / "in" / "out", tmp_path / "at"
    put(out, {name: OLD[name] for name in ("gone.csv", "pictures/old.png")})
    put(out / WHOLE, NEW)
    plan = {"last": "summary.json", "gone": ["gone.csv", "pictures/old.png"]}
    (out / WHOLE / PLAN).write_text(json.dumps(plan))
    at.mkdir()

    def work() -> None:
        Moments(out.parent, copies_to(at, out.parent))
        mend(out)

    assert in_child(work) == 0
    for place in (out, *(moment / "out" for moment in at.iterdir())):
        mend(place)
        assert held_in(place) == NEW


def test_an_interrupt_while_files_are_put_leaves_a_whole_folder(tmp_path: Path) -> None:
    ends = set()
    for number in range(1, 60):
        out = tmp_path / str(number)
        put(out, OLD)

        def work(out: Path = out, number: int = number) -> None:
            def at(now: int) -> None:
                if now == number:
                    raise KeyboardInterrupt

            Moments(out, at)
            with suppress(KeyboardInterrupt):
                fill(out)

        assert in_child(work) == 0
        left = held_in(out)
        if not any(is_left_over(out / Path(name).parts[0]) for name in left):
            assert left in (OLD, NEW)
            ends.add(left == NEW)
        mend(out)
        assert seen(out) in (OLD, NEW)
    assert ends == {True, False}


def test_what_a_living_process_makes_is_left_alone(tmp_path: Path) -> None:
    with filling(tmp_path, NAMES) as first:
        (first / "a.csv").write_text("first")
        with filling(tmp_path, NAMES) as second:
            (second / "summary.json").write_text("second")
        assert (first / "a.csv").read_text() == "first"
    assert held_in(tmp_path) == {"a.csv": b"first"}


def test_a_journal_of_somebody_else_is_not_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {f"{WHOLE}/{PLAN}": b'{"last": "x", "gone": ["notes.txt"]}'} | OTHERS)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(TraceError, match="left half-written, and cannot be put right: it is ano"):
        mend(tmp_path)
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("name", ["../mine", "/etc/mine", "a/../../mine"])
def test_a_journal_reaches_nothing_outside(name: str, tmp_path: Path) -> None:
    place = tmp_path / "out"
    put(tmp_path, {"mine": b"mine"})
    put(place, {f"{WHOLE}/{PLAN}": json.dumps({"last": "x", "gone": [name]}).encode()})
    with pytest.raises(TraceError, match=r"\.plan names "):
        mend(place)
    assert (tmp_path / "mine").exists()


def test_folders_that_were_made_go_again(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "c"
    with pytest.raises(ZeroDivisionError), filling(out, NAMES):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, OLD)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TraceError, match="cannot be written: No space left on device"):
        fill(tmp_path)
    assert held_in(tmp_path) == OLD


# --------------------------------------------------------------------------------------- one file


def test_what_a_dead_writer_left_goes_with_the_next_one_unless_somebody_else_sweeps(
    tmp_path: Path,
) -> None:
    litter = tmp_path / ".a.csv-0123abcd.csv"
    for tidy in (False, True):
        litter.touch()
        with atomic_path(tmp_path / "a.csv", tidy=tidy):
            pass
        assert litter.exists() is not tidy


def test_a_file_killed_at_any_moment_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    folder, at = tmp_path / "in", tmp_path / "at"
    put(folder, {"a.csv": b"old"})
    at.mkdir()

    def work() -> None:
        Moments(folder, copies_to(at, folder))
        with atomic_path(folder / "a.csv") as beside:
            beside.write_bytes(b"new")

    assert in_child(work) == 0
    assert len(list(at.iterdir())) == 4  # before, made, written, renamed; copies that differ
    for place in at.iterdir():
        assert (place / "a.csv").read_bytes() in (b"old", b"new")
        with atomic_path(place / "a.csv") as beside:
            beside.write_bytes(b"newer")
        assert held_in(place) == {"a.csv": b"newer"}


def test_a_file_that_a_living_process_makes_is_left_alone(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a.csv") as first:

        def work() -> None:  # another process, which has not looked yet
            with atomic_path(tmp_path / "a.csv") as second:
                second.write_text("second")

        assert in_child(work) == 0
        first.write_text("first")
    assert held_in(tmp_path) == {"a.csv": b"first"}


def test_private_files(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "key", private=True, new=True) as beside:
        beside.write_text("secret")
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with (
        pytest.raises(TraceError, match="key: cannot be written: File exists"),
        atomic_path(tmp_path / "key", private=True, new=True) as beside,
    ):
        beside.write_text("other")
    assert held_in(tmp_path) == {"key": b"secret"}


def test_a_pipe_is_not_done_away_with(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(TraceError, match="pipe: cannot be written: not a file"),
        atomic_path(tmp_path / "pipe"),
    ):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
