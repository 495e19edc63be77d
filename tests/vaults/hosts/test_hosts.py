"""What the vault asks of a storage host, asked of every kind there is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost, Stored
from forestall.vaults.hosts.places import host_at
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import save
from s3_server.server import s3_bucket, why_no_s3
from sftp_server.server import sftp_server, why_not
from vaults.storage.daemons import running

KINDS = ["folder", "memory", "fsspec", "served", "sftp", "s3"]
Make = Callable[[str], StorageHost]


@pytest.fixture(scope="module", params=KINDS)
def make(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Make]:
    """A way to make hosts of a kind, by names."""
    folder, kind = tmp_path_factory.mktemp("hosts"), request.param
    with ExitStack() as stack:
        if kind == "folder":
            yield lambda name: host_at(str(folder / name))
        elif kind == "memory":
            yield lambda name: host_at(f"memory://{name}")
        elif kind == "fsspec":
            yield lambda name: host_at(f"fsspec+memory://{folder}/{name}")
        elif kind == "served":
            served = stack.enter_context(running(folder))
            yield lambda name: served.client("one", f"/{name}")
        elif kind == "s3":
            if why_no_s3():
                pytest.skip(why_no_s3())
            url = stack.enter_context(s3_bucket())
            yield lambda name: host_at(f"{url}/{name}")
        else:
            if why_not():
                pytest.skip(why_not())
            (folder / "store").mkdir()
            home = folder / "home"
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("HOME", str(home))
            patch.delenv("SSH_AUTH_SOCK", raising=False)
            url = stack.enter_context(sftp_server(folder, home))
            yield lambda name: host_at(f"{url}{folder}/store/{name}")


def test_objects(make: Make) -> None:
    host = make("one")
    data = os.urandom(1_234_567)
    with pytest.raises(AbsentError):
        host.get("packs/s/a.0")
    assert list(host.keys("packs/")) == []
    host.put("packs/s/a.0", data)
    host.put("packs/s/b.0", b"")
    host.put("packs/t.1/c.0", b"c")
    host.put("manifests/m", b"m")
    assert host.get("packs/s/a.0") == data
    assert sorted(host.keys("packs/")) == [
        Stored("packs/s/a.0", len(data)), Stored("packs/s/b.0", 0), Stored("packs/t.1/c.0", 1),
    ]  # fmt: skip
    host.put("packs/s/b.0", b"new")
    assert host.get("packs/s/b.0") == b"new"
    host.delete("packs/s/a.0")
    host.delete("packs/s/a.0")
    with pytest.raises(AbsentError):
        host.get("packs/s/a.0")
    assert [one.key for one in host.keys("manifests/")] == ["manifests/m"]
    host.look()


@pytest.mark.parametrize("key", ["", "../x", "a/../../x", "/etc/passwd", "a//b", ".x", "a/.x"])
def test_no_key_leads_out(make: Make, key: str) -> None:
    host = make("keys")
    for ask in (lambda: host.put(key, b"x"), lambda: host.get(key), lambda: host.delete(key)):
        with pytest.raises(ParameterError):
            ask()


def test_threads(make: Make) -> None:
    """Eight at once, in folders that come and go."""
    host = make("threads")
    wrong: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(6):
                key = f"packs/s{turn % 2}/{number}.0"
                host.put(key, bytes([number]) * 1000)
                assert host.get(key) == bytes([number]) * 1000
                host.delete(key)
            host.put(f"packs/end/{number}.0", b"1")
        except Exception as error:  # told below
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert [one.key for one in sorted(host.keys("packs/"))] == [
        f"packs/end/{number}.0" for number in range(8)
    ]


def test_a_checkpoint(make: Make, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "state").write_bytes(os.urandom(200_000))
    there = [make(f"vault{k}") for k in range(5)]
    with Vault.open(there, begin=VaultRules()) as vault:
        made = save(vault, [tmp_path / "work"])
    with Vault.open(there[:3]) as vault:
        restore(vault, made.name, tmp_path / "again")
    found = list((tmp_path / "again").rglob("state"))
    assert found[0].read_bytes() == (tmp_path / "work" / "state").read_bytes()


def test_a_server_that_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error says so, lists are not taken for empty, and it is asked anew when it is back."""
    if why_not():
        pytest.skip(why_not())
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / "sshd").mkdir()
    with sftp_server(tmp_path / "sshd", home) as url:
        host = host_at(f"{url}{tmp_path}/store")
        host.put("packs/a", b"1")
        (home / ".ssh" / "known_hosts").write_text("")
        stranger = host_at(f"{url}{tmp_path}/store")
        with pytest.raises(HostError, match="not found in known_hosts"):
            stranger.put("packs/b", b"1")
    for ask in (lambda: list(host.keys("packs/")), lambda: host.get("packs/a")):
        with pytest.raises(HostError):
            ask()


def test_urls_that_are_none() -> None:
    for url in ("gopher://x", "fsspec+nothing://x", "file://host/x", "forestall://x", "http://x",
                "forestall://[x", ""):  # fmt: skip
        with pytest.raises(ParameterError):
            host_at(url)
    assert "secret" not in host_at("fsspec+memory://user:secret@host/x").name


def test_a_folder_in_pages_and_what_died(tmp_path: Path) -> None:
    host = FolderHost(tmp_path)
    for key in ("a/b/2", "a/b/1", "a/c", "a.x", "b"):
        host.put(key, b"1")
    every = [one.key for one in host.keys("")]
    assert every == ["a/b/1", "a/b/2", "a/c", "a.x", "b"]
    for number, key in enumerate(every):
        assert [one.key for one in host.keys("", key)] == every[number + 1 :]
    (tmp_path / "a" / ".half-x").write_bytes(b"1")
    assert [one.key for one in host.keys("")] == every
    assert host.sweep() == 1
    for key in every:
        host.delete(key)
    assert list(tmp_path.iterdir()) == []
