"""What each command says of stores that are missing, emptied, foreign, short, doubled or slow, and
how it ends: a table of cells."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from core.commands.calls import Called, call

CODE = ("--data", 1, "--parity", 2)


class Site:
    """Three stores with a vault, two checkpoints in it, and commands on them."""

    def __init__(self, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.top, self.capsys = top, capsys
        self.stores = [str(top / name) for name in "abc"]
        self.state = top / "state"
        self.state.mkdir()
        (self.state / "field").write_bytes(np.random.default_rng(1).bytes(300_000))
        assert self("init").code == 0
        self.first = self.id()
        (self.state / "step").write_text("2\n")
        self.second = self.id()

    def __call__(self, *words: object) -> Called:
        named = [word for one in self.stores for word in ("--store", one)]
        return call(self.capsys, "checkpoint", *words, *named)

    def id(self) -> str:
        return str(self.json("save", self.state, *CODE)["id"])

    def json(self, *words: object, code: int = 0) -> dict[str, object]:
        done = self(*words, "--json")
        assert done.code == code, done
        made: dict[str, object] = json.loads(done.out)
        return made

    def restored(self) -> Called:
        done = self("restore", self.second, "--to", self.top / "back")
        back = self.top / "back" / "state"
        if done.code == 0:
            assert (back / "field").read_bytes() == (self.state / "field").read_bytes()
            assert (back / "step").read_text() == "2\n"
        return done

    @property
    def last(self) -> Path:
        """The third store, to which things happen."""
        return Path(self.stores[2])


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str],
         monkeypatch: pytest.MonkeyPatch) -> Site:  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    return Site(tmp_path, capsys)


def unmounted(site: Site) -> None:
    """An empty folder is where the disk was."""
    site.last.rename(site.top / "disk")
    site.last.mkdir()


def gone(site: Site) -> None:
    """Not even the folder is there."""
    shutil.rmtree(site.last)


def foreign(site: Site) -> None:
    """Another vault's disk is mounted there."""
    unmounted(site)
    assert call(site.capsys, "checkpoint", "init", "--store", site.last).code == 0


def swapped(site: Site) -> None:
    """An old disk is there, of a vault from before there were ids."""
    foreign(site)
    call(
        site.capsys, "checkpoint", "save", site.state, "--store", site.last, "--layout", "copies:1"
    )
    (site.last / "store").unlink()


class Cell(NamedTuple):
    """What happens to the third store, and what commands say of it; where `why` is given."""

    happens: Callable[[Site], None]
    why: str


AWAY = (
    Cell(unmounted, "it holds nothing of it (is its disk mounted?)"),
    Cell(gone, "it holds nothing of it (is its disk mounted?)"),
    Cell(foreign, "a store of another vault"),
    Cell(swapped, "what it holds is another's"),
)


@pytest.mark.parametrize("cell", AWAY, ids=lambda cell: cell.happens.__name__)
def test_a_store_that_is_not_there(cell: Cell, site: Site) -> None:
    """It gets nothing, is named by all commands, and no promise rests on it."""
    cell.happens(site)
    before = sorted(site.last.rglob("*")) if site.last.exists() else None

    saved = site("save", site.state, *CODE)
    assert saved.code == 1
    assert "it survives the loss of any one of 3 hosts." in saved.out
    assert "new 0 B" in saved.out
    for words, code in [
        (("save", site.state, *CODE), 1), (("list",), 0), (("verify",), 1), (("gc",), 0),
        (("repair",), 0), (("restore", "latest", "--to", site.top / "again"), 0),
    ]:  # fmt: skip
        done = site(*words)
        assert done.code == code, done
        named = [one for one in done.err.splitlines() if one.startswith("Done without ")]
        assert len(named) == 1, done
        assert f"file://{site.last}" in named[0]
        assert cell.why in named[0]
    (away,) = site.json("save", site.state, *CODE, code=1)["away"]
    assert away["store"] == f"file://{site.last}"
    assert cell.why in away["why"]
    assert site.json("list")["away"] == [away]
    assert (sorted(site.last.rglob("*")) if site.last.exists() else None) == before
    assert site.restored().code == 0

    strict = site("save", site.state, *CODE, "--distinct-hosts")
    assert (strict.code, strict.out) == (2, "")
    assert "2 of 3 pieces of a pack found a host, at least 3 must" in strict.err

    refused = site("init")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    if cell.happens in (unmounted, gone):
        assert "forestall checkpoint init --add --store" in refused.err
        assert site("init", "--add").code == 0
        assert site("repair").code == 0
        assert site("verify").code == 0
        assert "survives the loss of any 2 of 3 hosts" in site("save", site.state, *CODE).out
    else:
        assert site("init", "--add").code == 2


def test_a_disk_that_is_mounted_again(site: Site) -> None:
    """What is there is known again, whatever its path was meanwhile."""
    unmounted(site)
    assert site("save", site.state, *CODE).code == 1
    site.last.rmdir()
    (site.top / "disk").rename(site.last)
    done = site("save", site.state, *CODE)
    assert (done.code, done.err) == (0, "")
    assert "new 0 B" in done.out


def test_all_stores_without_a_vault_say_how_to_create_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("x")
    stores = ("--store", tmp_path / "a b", "--store", tmp_path / "c")
    for words in (("save", tmp_path / "x"), ("list",), ("verify",), ("gc",), ("stat",), ("repair",),
                  ("restore", "latest", "--to", tmp_path / "y")):  # fmt: skip
        done = call(capsys, "checkpoint", *words, *stores)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        wanted = f"forestall checkpoint init --store '{tmp_path / 'a b'}' --store {tmp_path / 'c'}"
        assert done.err.strip().endswith(wanted)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x"]
    done = call(capsys, "checkpoint", "save", tmp_path / "x", *stores, "--init", "--data", 1,
                "--parity", 1)  # fmt: skip
    assert (done.code, done.err) == (0, "")


# --------------------------------------------------------------------------------- what is there


def emptied(site: Site) -> None:
    """All pieces of two stores were removed, and what names the stores was not."""
    for one in site.stores[1:]:
        shutil.rmtree(Path(one) / "packs")


def shortened(site: Site) -> None:
    """Every piece of two stores was cut, as by a disk that was full."""
    for one in site.stores[1:]:
        for path in (Path(one) / "packs").rglob("*.[0-9]*"):
            os.truncate(path, path.stat().st_size - 1)


def rotten(site: Site) -> None:
    """A byte of every piece of two stores was changed; lengths are as they were."""
    for one in site.stores[1:]:
        for path in (Path(one) / "packs").rglob("*.[0-9]*"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)


def without_directories(site: Site) -> None:
    """What says where chunks are is left on one store only."""
    for one in site.stores[1:]:
        shutil.rmtree(Path(one) / "directories")


@pytest.mark.parametrize("happens", [emptied, shortened, rotten, without_directories])
def test_pieces_known_from_earlier_saves_are_looked_at(
    happens: Callable[[Site], None], site: Site
) -> None:
    """What is missing, short or damaged is stored again, and then survives what is said."""
    happens(site)
    assert site("verify").code == 1
    done = site.json("save", site.state, *CODE)
    assert done["new"] == 300_002
    assert done["survives"] == 2
    site.second = str(done["id"])
    assert site("verify", site.second).code == 0
    for one in site.stores[:2]:
        shutil.rmtree(one)
    assert site.restored().code == 0


def test_packs_that_were_coded_for_less_are_stored_again(site: Site) -> None:
    alone = ("--data", 1, "--parity", 0)
    for code, new in ((alone, 300_002), (CODE, 300_002), (CODE, 0)):
        assert site.json("save", site.state, *code, "--label", "x")["new"] == new


# ------------------------------------------------------------------------------- one place twice


@contextmanager
def a_link(site: Site) -> Iterator[str]:
    """A symbolic link to a store."""
    (site.top / "link").symlink_to(site.stores[0])
    yield str(site.top / "link")


@contextmanager
def a_bind_mount(site: Site) -> Iterator[str]:
    """A store's folder, mounted elsewhere, too."""
    there = site.top / "bound"
    there.mkdir()
    if os.system(f"mount --bind {site.stores[0]} {there} 2>/dev/null"):
        pytest.skip("this user may not mount")
    try:
        yield str(there)
    finally:
        os.system(f"umount {there}")


@contextmanager
def a_copy(site: Site) -> Iterator[str]:
    """A disk that was copied, with its id."""
    shutil.copytree(site.stores[0], site.top / "copy")
    yield str(site.top / "copy")


@contextmanager
def another_spelling(site: Site) -> Iterator[str]:
    """The same path by a detour."""
    yield f"{site.stores[1]}/../{Path(site.stores[0]).name}"


@pytest.mark.parametrize("twice", [a_link, a_bind_mount, a_copy, another_spelling])
def test_two_names_of_one_place(twice: Callable[[Site], Iterator[str]], site: Site) -> None:
    with twice(site) as name:  # type: ignore[attr-defined]
        site.stores.append(name)
        for words in (("save", site.state, *CODE), ("list",), ("verify",), ("gc",), ("init",)):
            done = site(*words)
            assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
            assert f"each storage host once: file://{site.stores[0]} is the same" in done.err
            assert name in done.err


def test_a_new_vault_on_two_names_of_one_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b").symlink_to(tmp_path / "a")
    done = call(capsys, "checkpoint", "init", "--store", tmp_path / "a", "--store", tmp_path / "b")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "each storage host once" in done.err
    assert not list((tmp_path / "a").rglob("*"))


def test_stores_of_two_vaults(site: Site) -> None:
    assert call(site.capsys, "checkpoint", "init", "--store", site.top / "z").code == 0
    site.stores = [site.stores[0], str(site.top / "z")]
    done = site("list")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "stores of several vaults" in done.err


# ----------------------------------------------------------------------------- from before ids


def test_a_vault_from_before_ids_is_used_and_adopted(site: Site) -> None:
    for one in site.stores:
        (Path(one) / "store").unlink()
    done = site("save", site.state, *CODE)
    assert done.code == 0
    assert "new 0 B" in done.out
    assert f"Give it one: forestall checkpoint init --store {site.stores[0]}" in done.err
    assert site.restored().code == 0
    unmounted(site)
    assert site("save", site.state, *CODE).code == 1, "a folder without anything is no store"
    site.last.rmdir()
    kept = site.stores
    site.stores = kept[:2]
    assert [one["state"] for one in site.json("init")["stores"]] == ["adopted"] * 2
    (site.top / "disk").rename(kept[2])
    site.stores = kept
    done = site("save", site.state, *CODE)  # it was away as the others got ids, and holds the same
    assert (done.code, done.err) == (0, "")
    assert [one["state"] for one in site.json("init")["stores"]] == ["there", "there", "adopted"]
    assert [one["state"] for one in site.json("init")["stores"]] == ["there"] * 3


# ---------------------------------------------------------------------------------- slow hosts


def hung_folder(site: Site) -> Iterator[str]:
    """A folder whose files cannot be opened, as on a file server that is gone."""
    (site.last / "store").unlink()
    os.mkfifo(site.last / "store")
    yield str(site.last)


def _served(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    made, _ = listening.accept()
                except OSError:
                    return
                kept.append(made)
                threading.Thread(target=answer, args=(made,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        for one in kept:
            one.close()


def _nothing(peer: socket.socket) -> None:
    """Accept, and never answer."""


def _drops(peer: socket.socket) -> None:
    """Answer a byte at a time."""
    try:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(100_000):
            peer.sendall(bytes([byte]))
            time.sleep(0.1)
    except OSError:
        return


def silent_daemon(site: Site) -> Iterator[str]:
    """A storage daemon that accepts and never answers."""
    for address in _served(_nothing):
        yield f"forestall://{address}"


def dribbling_daemon(site: Site) -> Iterator[str]:
    """A storage daemon that sends a byte now and then."""
    for address in _served(_drops):
        yield f"forestall://{address}"


def silent_sftp(site: Site) -> Iterator[str]:
    """An SSH server that accepts and never answers."""
    pytest.importorskip("paramiko")
    for address in _served(_nothing):
        yield f"sftp://nobody@{address}/store"


def silent_s3(site: Site) -> Iterator[str]:
    """An object store that accepts and never answers."""
    for address in _served(_nothing):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
            for name, value in (("ALLOW_HTTP", "true"), ("REGION", "us-east-1"),
                                ("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x")):  # fmt: skip
                patch.setenv(f"AWS_{name}", value)
            yield "s3://checkpoints/one"


EVERY = (
    (("list",), 0), (("verify", "SECOND"), 1), (("gc",), 0), (("repair", "SECOND"), 0),
    (("stat",), 0),
)  # fmt: skip
PATIENCE = 1.5
"""s; on a loaded machine a folder may take a part of it."""


@pytest.mark.parametrize(
    ("slow", "commands"),
    [(hung_folder, ()), (silent_daemon, EVERY), (dribbling_daemon, ()), (silent_sftp, ()),
     (silent_s3, ())],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_a_slow_host_is_set_aside(
    slow: Callable[[Site], Iterator[str]],
    commands: tuple[tuple[tuple[str, ...], int], ...],
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It costs its silence once, is named, and every command does without it."""
    monkeypatch.setenv("FORESTALL_STORAGE_TOKEN", "fst_x")
    monkeypatch.setattr("forestall.vaults.stores.identity.FIRST", PATIENCE)
    with contextmanager(slow)(site) as url:
        site.stores[2] = url
        for words, code in [
            (("save", site.state, *CODE), 1),
            (("restore", site.second, "--to", site.top / "back"), 0),
            *commands,
        ]:
            done = site(*(site.second if word == "SECOND" else word for word in words))
            assert done.code == code, done
            assert done.err.count("set aside: it was silent or nearly so for 1.5 s") == 1, done
            assert url in done.err
