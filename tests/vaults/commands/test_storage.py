"""`forestall storage` as people use it: daemons that are processes, and checkpoints on them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from core.commands.calls import call
from forestall.core.web.server import Listening
from forestall.vaults.hosts.host import HostError
from vaults.storage.daemons import Process, running


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_a_checkpoint_on_daemons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three daemons; one is killed, with its disk: the checkpoint is there all the same."""
    daemons = [Process(tmp_path / f"d{k}") for k in range(3)]
    try:
        tokens = tmp_path / "config" / "forestall" / "storage-tokens"
        tokens.parent.mkdir(parents=True)
        tokens.write_text("".join(
            f"{one.url.partition('://')[2]} {one.told['token']}\n" for one in daemons
        ))  # fmt: skip
        tokens.chmod(0o600)
        places = [word for one in daemons for word in ("--store", one.url)]
        code = ("--data", 1, "--parity", 1)
        assert call(capsys, "checkpoint", "init", *places).code == 0
        (tmp_path / "state.bin").write_bytes(os.urandom(400_000))
        done = call(capsys, "checkpoint", "save", tmp_path / "state.bin", *places, *code)
        assert done.code == 0
        assert (
            "Pieces are on all hosts in turn: nothing is known about these hosts yet." in done.out
        )
        done = call(capsys, "checkpoint", "save", tmp_path / "state.bin", *places, *code)
        assert "Pieces are on forestall://" in done.out
        assert "of work; enough of them are up with" in done.out
        told = json.loads(call(capsys, "storage", "list", *places, *code, "--json").out)
        assert [one["state"] for one in told["hosts"]] == ["S0"] * 3
        assert all(one["limit"] == 16 and one["stored"] > 0 for one in told["hosts"])
        assert all(one["bandwidth"] > 0 for one in told["hosts"])
        daemons[0].kill()
        shutil.rmtree(tmp_path / "d0")
        done = call(capsys, "storage", "list", *places, *code)
        assert "S2" in done.out
        assert "refused" in done.err
        assert "* A checkpoint of 2 copies would go there: storing takes" in done.out
        done = call(capsys, "checkpoint", "restore", "latest", *places, "--to", tmp_path / "again")
        assert done.code == 0, done
        found = next((tmp_path / "again").rglob("state.bin"))
        assert found.read_bytes() == (tmp_path / "state.bin").read_bytes()
        assert not any(one.told["token"] in done.out + done.err for one in daemons)
    finally:
        for one in daemons:
            one.end()


@pytest.mark.parametrize(
    ("listening", "exposed"),
    [
        (Listening("127.0.0.1"), False), (Listening("127.8.0.1"), False),
        (Listening("localhost"), False), (Listening("::1"), False), (Listening("0.0.0.0"), True),
        (Listening("::"), True), (Listening("192.0.2.7"), True), (Listening("n1.example"), True),
        (Listening("0.0.0.0", port=None, path=Path("x")), False),
        (Listening("0.0.0.0", certificate=Path("c"), private_key=Path("k")), False),
    ],
)  # fmt: skip
def test_addresses_where_others_can_listen_in(listening: Listening, exposed: bool) -> None:
    assert listening.is_exposed == exposed


def test_a_daemon_that_others_can_listen_to_warns(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for host, warned in (("0.0.0.0", 1), ("127.0.0.1", 0)):
        daemon = Process(tmp_path / host, "--host", host)
        assert daemon.told["exposed"] == bool(warned)
        assert daemon.end() == 0
        said = capfd.readouterr().err
        assert said.count("whoever is on the network can read tokens") == warned


def test_a_daemon_whose_disk_was_unmounted(tmp_path: Path) -> None:
    """It does not go on on the disk below."""
    with running(tmp_path / "d") as daemon:
        client = daemon.client("one")
        client.put("packs/a", b"1")
        (tmp_path / "d").rename(tmp_path / "disk")
        (tmp_path / "d" / "clients").mkdir(parents=True)
        shutil.copy(tmp_path / "disk" / "tokens", tmp_path / "d")  # as with --tokens elsewhere
        client._patience = 0.0
        for ask in (lambda: client.put("packs/a", b"2"), lambda: client.get("packs/a"),
                    lambda: list(client.keys("packs/"))):  # fmt: skip
            with pytest.raises(HostError, match="is its disk mounted"):
                ask()
        assert not list((tmp_path / "d" / "clients").iterdir())
        shutil.rmtree(tmp_path / "d")
        (tmp_path / "disk").rename(tmp_path / "d")
        assert client.get("packs/a") == b"1"


def test_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "storage", "token", "add", "alice", tmp_path, "--json")
    token = json.loads(done.out)["token"]
    assert token.startswith("fst_")
    told = json.loads(call(capsys, "storage", "token", "list", tmp_path, "--json").out)["tokens"]
    assert [(one["name"], one["role"]) for one in told] == [("alice", "user")]
    assert token not in (tmp_path / "tokens").read_text()
    assert "1 token revoked" in call(capsys, "storage", "token", "revoke", "alice", tmp_path).out
    assert call(capsys, "storage", "token", "revoke", "alice", tmp_path).code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("serve", "D", "--quota", "much"), "--quota: 'much' is not allowed"),
        (("serve", "D", "--quota", "1"), "at least 4096 bytes"),
        (("serve", "D", "--clients", "0"), "clients"),
        (("serve", "D", "--tls-cert", "x"), "--tls-key"),
        (("list", "--store", "forestall://127.0.0.1:1"), "no token for the storage host"),
        (("list", "--store", "gopher://x"), "a folder, file://"),
        (("import", "x", "--store", "a", "--host", "n1"), "NAME=URL"),
        (("import", "x", "--store", "a"), "an agent's folder"),
        (("watch", "--store", "D", "--every", "0.1s"), "every"),
    ],
)
def test_bad_input(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [tmp_path / "d" if word == "D" else word for word in words]
    done = call(capsys, "storage", *given)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) <= 6


def test_watch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    done = call(capsys, "storage", "watch", "--store", tmp_path / "a", "--for", "0s")
    assert done.code == 0
    assert done.out.strip().endswith(f"file://{tmp_path / 'a'}: S0")
