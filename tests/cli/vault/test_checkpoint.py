"""`forestall checkpoint` as people and scripts use it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cli.calls import Called, call


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "field.npy").write_bytes(np.arange(50_000.0).tobytes())
    (folder / "step").write_text("41\n")
    return folder


class Shelf:
    """Folders as storage hosts, and commands on them."""

    def __init__(self, top: Path, capsys: pytest.CaptureFixture[str], count: int = 5) -> None:
        self.folders = [top / f"host{k}" for k in range(count)]
        self._capsys = capsys

    def __call__(self, *words: object, only: list[int] | None = None) -> Called:
        chosen = [self.folders[k] for k in only or range(len(self.folders))]
        stores = [one for folder in chosen for one in ("--store", folder)]
        return call(self._capsys, "checkpoint", *words, *stores)

    def told(self, *words: object) -> dict[str, object]:
        done = self(*words, "--json")
        assert (done.code, done.err) == (0, ""), done
        found: dict[str, object] = json.loads(done.out)
        return found


@pytest.fixture
def shelf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shelf:
    return Shelf(tmp_path / "shelf", capsys)


def same(one: Path, other: Path) -> bool:
    names = {path.relative_to(one) for path in one.rglob("*")}
    return names == {path.relative_to(other) for path in other.rglob("*")} and all(
        (one / name).read_bytes() == (other / name).read_bytes()
        for name in names
        if (one / name).is_file()
    )


def test_scripts_save_and_restore(shelf: Shelf, state: Path, tmp_path: Path) -> None:
    """The words that others script against."""
    saved = shelf.told("save", state, "--data", 3, "--parity", 2)
    for folder in shelf.folders[1:3]:
        shutil.rmtree(folder)
    shelf.told("restore", saved["id"], "--to", tmp_path / "again")
    assert same(state, tmp_path / "again" / "state")
    shutil.rmtree(shelf.folders[4])
    for json_too in (["--json"], []):
        done = shelf("restore", saved["id"], "--to", tmp_path / "lost", *json_too)
        assert (done.code, done.out) == (3, "")
        assert ", 3 are needed" in done.err
        assert done.err.count("\n") == 1
    assert not (tmp_path / "lost").exists()


def test_people_save_and_restore(shelf: Shelf, state: Path, tmp_path: Path) -> None:
    done = shelf("save", state, "--label", "solver")
    assert done.code == 0
    assert "it survives the loss of any 2 of 5 hosts." in done.out
    assert "2 files, 400 kB" in done.out
    (state / "step").write_text("42\n")
    again = shelf("save", state, "--label", "solver")
    assert "new 3 B" in again.out
    listed = shelf("list", "--label", "solver").out.splitlines()
    assert len(listed) == 3
    assert max(map(len, listed)) <= 100
    assert listed[1] < listed[2]
    assert shelf("list", "--label", "other").out.count("\n") == 1
    done = shelf("restore", "latest", "--to", tmp_path / "again")
    assert done.out.startswith(f"In {tmp_path / 'again'}: 2 files")
    assert (tmp_path / "again" / "state" / "step").read_text() == "42\n"
    there = shelf("restore", "latest", "--to", tmp_path / "again")
    assert (there.code, "expected an empty or new folder" in there.err) == (2, True)


def test_verify_repair_and_what_is_left(shelf: Shelf, state: Path) -> None:
    shelf("save", state)
    sound = shelf("verify", "--deep")
    assert sound.code == 0
    assert "any 2 pieces of a pack" in sound.out
    shutil.rmtree(shelf.folders[0])
    hurt = shelf("verify")
    assert (hurt.code, "any 1 piece of a pack" in hurt.out) == (1, True)
    mended = shelf("repair")
    assert (mended.code, "Objects rebuilt" in mended.out) == (0, True)
    assert shelf("verify").code == 0
    for folder in shelf.folders[:3]:
        shutil.rmtree(folder / "packs")
    lost = shelf("verify")
    assert (lost.code, "it is lost: too few are left" in lost.out) == (3, True)
    assert shelf("repair").code == 3
    assert "1 checkpoint, 400 kB in all" in shelf("stat").out


def test_a_collection_keeps_what_is_asked_for(shelf: Shelf, state: Path) -> None:
    names = []
    for step in range(4):
        (state / "field.npy").write_bytes(np.random.default_rng(step).bytes(100_000))
        names.append(shelf.told("save", state, "--label", "x")["id"])
    told = shelf.told("gc", "--keep-last", 2)
    assert told["forgotten"] == names[:2]
    assert isinstance(told["removed"], int)
    assert told["removed"] > 0
    checkpoints = shelf.told("list")["checkpoints"]
    assert isinstance(checkpoints, list)
    assert [one["id"] for one in checkpoints] == names[2:]
    assert f"Forgotten: {names[2]}" in shelf("gc", "--forget", names[2]).out
    assert shelf.told("gc")["removed"] == 0


def test_an_encrypted_vault(shelf: Shelf, state: Path, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    for path in (key, other):
        assert call(shelf._capsys, "checkpoint", "key", path).code == 0
        assert path.stat().st_mode & 0o777 == 0o600
    assert call(shelf._capsys, "checkpoint", "key", key).code == 2
    saved = shelf.told("save", state, "--key", key)
    for words in ([], ["--key", other]):
        done = shelf("restore", saved["id"], "--to", tmp_path / "no", *words)
        assert (done.code, done.out, "key" in done.err) == (2, "", True)
    shelf.told("restore", saved["id"], "--to", tmp_path / "again", "--key", key)
    assert same(state, tmp_path / "again" / "state")
    stored = [one.read_bytes() for one in shelf.folders[0].rglob("*") if one.is_file()]
    assert not any(b"field.npy" in one or b"41\n" in one for one in stored)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["restore", "2020", "--to", "x"], "there is no vault on these storage hosts"),
        (["list"], "there is no vault on these storage hosts"),
        (["save", "missing"], "missing: cannot be saved: No such file or directory"),
        (["save", ".", "--data", "0"], "--data"),
        (["save", ".", "--data", "30", "--parity", "9"], "at most 32 pieces in all"),
        (["save", ".", "--chunks", "content:17"], "a power of two"),
        (["save", ".", "--chunks", "17"], "content:KIB or blocks:KIB"),
        (["save", ".", "--key", "missing"], "missing: cannot be read"),
        (["gc", "--keep-last", "0"], "at least 1"),
        (["gc", "--keep-within", "7d"], "--keep-last beside it"),
        (["gc", "--repack", "1.5"], "a share from 0 to 1"),
    ],
)
def test_wrong_input_is_one_line(words: list[str], why: str, shelf: Shelf) -> None:
    done = shelf(*words)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert done.err.count("\n") == 1
    assert not any(one.exists() for one in shelf.folders)


def test_a_store_that_is_named_twice_or_is_none(shelf: Shelf, state: Path) -> None:
    done = shelf("save", state, only=[0, 0])
    assert (done.code, "each storage host once" in done.err) == (2, True)
    done = call(shelf._capsys, "checkpoint", "save", state, "--store", "ftp2://x")
    assert (done.code, done.err.count("\n")) == (2, 1)
