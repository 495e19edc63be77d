"""`forestall checkpoint` as people and scripts use it."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest

from core.commands.calls import Called, call
from forestall.vaults import saving


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

    def begun(self) -> Shelf:
        """Return it with a vault on it."""
        assert self("init").code == 0
        return self

    def told(self, *words: object) -> dict[str, object]:
        done = self(*words, "--json")
        assert (done.code, done.err) == (0, ""), done
        found: dict[str, object] = json.loads(done.out)
        return found


@pytest.fixture
def shelf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shelf:
    return Shelf(tmp_path / "shelf", capsys).begun()


@pytest.fixture
def bare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shelf:
    """Storage hosts without a vault."""
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
    done = shelf("restore", saved["id"], "--to", tmp_path / "again", "--json")
    assert [one["store"] for one in json.loads(done.out)["away"]] == [
        f"file://{one}" for one in shelf.folders[1:3]
    ]
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
    assert shelf("init", "--add").code == 0
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


def test_an_encrypted_vault(bare: Shelf, state: Path, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    for path in (key, other):
        assert call(bare._capsys, "checkpoint", "key", path).code == 0
        assert path.stat().st_mode & 0o777 == 0o600
    assert call(bare._capsys, "checkpoint", "key", key).code == 2
    assert bare("init", "--key", key).code == 0
    saved = bare.told("save", state, "--key", key)
    for words in ([], ["--key", other]):
        done = bare("restore", saved["id"], "--to", tmp_path / "no", *words)
        assert (done.code, done.out, "key" in done.err) == (2, "", True)
    bare.told("restore", saved["id"], "--to", tmp_path / "again", "--key", key)
    assert same(state, tmp_path / "again" / "state")
    stored = [one.read_bytes() for one in bare.folders[0].rglob("*") if one.is_file()]
    assert not any(b"field.npy" in one or b"41\n" in one for one in stored)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["restore", "2020", "--to", "x"], "there is no vault on these storage hosts"),
        (["list"], "there is no vault on these storage hosts"),
        (["init", "--chunks", "content:17"], "a power of two"),
        (["init", "--key", "missing"], "missing: cannot be read"),
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
def test_wrong_input_is_one_line(words: list[str], why: str, bare: Shelf) -> None:
    done = bare(*words)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert done.err.count("\n") == 1
    assert not any(one.exists() for one in bare.folders)


def test_what_is_not_as_it_was_is_named(
    shelf: Shelf, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In text and in JSON, however odd its name; a file that never rests has an exit code."""
    names = [b"a\xff\n%d" % number for number in range(5)]
    for name in names:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.fsencode(os.path.relpath(state)) + b"/" + name)
    done = shelf("save", state)
    assert done.code == 0
    assert done.err == ("Left out: a socket: state/a\\xff\\n0, state/a\\xff\\n1, "
                        "state/a\\xff\\n2 and 2 more.\n")  # fmt: skip
    monkeypatch.setattr(saving, "is_unchanged", lambda file, before: False)
    done = shelf("save", state, "--json")
    told = json.loads(done.out)
    assert (done.code, told["complete"]) == (1, False)
    assert told["remarks"] == {
        "changed while it was read": ["state/field.npy", "state/step"],
        "left out: a socket": [f"state/a\\xff\n{number}" for number in range(5)],
    }
    assert done.err.startswith("Changed while it was read: state/field.npy, state/step.\n")
    done = shelf("restore", "latest", "--to", tmp_path / "again")
    assert (done.code, same(state / "step", tmp_path / "again" / "state" / "step")) == (0, True)
    assert "When it was saved: changed while it was read: state/field.npy, state/step." in done.err


def test_a_store_that_is_named_twice_or_is_none(shelf: Shelf, state: Path) -> None:
    done = shelf("save", state, only=[0, 0])
    assert (done.code, "each storage host once" in done.err) == (2, True)
    done = call(shelf._capsys, "checkpoint", "save", state, "--store", "ftp2://x")
    assert (done.code, done.err.count("\n")) == (2, 1)


def _damage(shelf: Shelf, name: str) -> None:
    for folder in shelf.folders:
        (folder / "manifests" / name).write_bytes(b"damaged")


def test_what_cannot_be_read_is_named(shelf: Shelf, state: Path, tmp_path: Path) -> None:
    """By each command that would have used it, in text and JSON, with an exit code of its own."""
    names = []
    for label in ("x", "y", "x"):
        (state / "step").write_text(f"{len(names)}")
        names.append(str(shelf.told("save", state, "--label", label)["id"]))
    _damage(shelf, names[2])
    why = "no reachable storage host has an intact copy of its manifest"
    unreadable = [{"id": names[2], "why": why}]
    for words, code in [
        (["list"], 5), (["list", "--label", "x"], 5), (["list", "--label", "y"], 0), (["stat"], 5),
        (["restore", "latest", "--to", tmp_path / "any"], 5),
        (["restore", "latest", "--to", tmp_path / "x", "--label", "x"], 5),
        (["restore", "latest", "--to", tmp_path / "y", "--label", "y"], 0),
    ]:  # fmt: skip
        done = shelf(*words)
        assert (done.code, names[2] in done.err) == (code, code == 5), words
        if words[0] == "restore":
            words[3] = f"{words[3]}-json"
        done = shelf(*words, "--json")
        told = json.loads(done.out)
        assert (done.code, told["unreadable"]) == (code, unreadable if code else []), words
        if words[0] == "list":
            assert names[2] not in [one["id"] for one in told["checkpoints"]]
    restored = {name: (tmp_path / name / "state/step").read_text() for name in ("any", "x", "y")}
    assert restored == {"any": "1", "x": "0", "y": "1"}
    for words in (["verify"], ["verify", "latest"], ["verify", "--label", "x"], ["repair"]):
        done = shelf(*words, "--json")
        told = json.loads(done.out)["checkpoints"]
        assert done.code == 3
        assert [one["name"] for one in told if not one["recoverable"]] == [names[2]], words
    assert shelf("verify", "--label", "y").code == 0
    direct = shelf("restore", names[2], "--to", tmp_path / "none")
    assert (direct.code, names[2] in direct.err) == (3, True)


def test_a_collection_does_not_guess_what_cannot_be_read(shelf: Shelf, state: Path) -> None:
    names = [str(shelf.told("save", state, "--label", "x")["id"]) for _ in range(3)]
    _damage(shelf, names[1])
    for words in ([], ["--keep-last", 1], ["--forget", names[0]]):
        done = shelf("gc", *words)
        assert (done.code, f"--forget {names[1]}" in done.err) == (5, True)
    left = shelf("list", "--json")
    assert [one["id"] for one in json.loads(left.out)["checkpoints"]] == [names[0], names[2]]
    assert shelf("gc", "--keep-last", 1, "--forget", names[1]).code == 0
    assert [one["id"] for one in shelf.told("list")["checkpoints"]] == [names[2]]  # type: ignore


def test_where_nothing_can_be_read(shelf: Shelf, state: Path, tmp_path: Path) -> None:
    name = str(shelf.told("save", state)["id"])
    _damage(shelf, name)
    assert (shelf("list").code, shelf("stat").code, shelf("verify").code) == (5, 5, 3)
    done = shelf("restore", "latest", "--to", tmp_path / "again")
    assert (done.code, name in done.err, (tmp_path / "again").exists()) == (3, True, False)
    done = shelf("restore", "latest", "--to", tmp_path / "again", "--label", "other")
    assert (done.code, "no checkpoint with the label 'other'" in done.err) == (2, True)
    done = shelf("restore", name, "--to", tmp_path / "again", "--label", "x")
    assert (done.code, "latest beside it" in done.err) == (2, True)
