"""The storage daemon as its clients meet it: what was confirmed is there, and nobody else's."""

from __future__ import annotations

import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.processes.lock import only_agent
from forestall.core.web.server import Listening
from forestall.vaults.hosts.host import AbsentError, HostError, LoadedError, Stored
from forestall.vaults.hosts.served import ServedHost
from forestall.vaults.storage.seats import EACH, Seats
from forestall.vaults.storage.service import StorageOptions, serve_storage
from forestall.vaults.storage.shelves import BLOCK, BusyError, FullError, Quota, Shelves
from vaults.storage.daemons import MIB, Process, Running, running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("served")) as one:
        yield one


def test_objects_come_back(served: Running) -> None:
    host = served.client("ann")
    data = os.urandom(3 * MIB + 5)
    host.put("packs/one/a.0", data)
    host.put("packs/one/b.0", b"")
    host.put("packs/two/a.0", b"x")
    host.put("vault", b"rules")
    assert host.get("packs/one/a.0") == data
    assert host.get("packs/one/b.0") == b""
    assert list(host.keys("packs/")) == [
        Stored("packs/one/a.0", len(data)), Stored("packs/one/b.0", 0), Stored("packs/two/a.0", 1),
    ]  # fmt: skip
    host.put("vault", b"others")
    assert host.get("vault") == b"others"
    host.delete("packs/one/a.0")
    host.delete("packs/one/a.0")
    with pytest.raises(AbsentError, match=r"packs/one/a\.0 is not there"):
        host.get("packs/one/a.0")
    assert list(host.keys("nothing/")) == []


def test_no_client_meets_what_another_has(served: Running) -> None:
    ann, bob = served.client("annabel"), served.client("bob")
    ann.put("packs/s/a.0", b"hers")
    for ask in (lambda: bob.get("packs/s/a.0"), lambda: bob.get("../annabel/packs/s/a.0")):
        with pytest.raises((AbsentError, ParameterError)):
            ask()
    assert list(bob.keys("packs/")) == []
    bob.put("packs/s/a.0", b"his")
    bob.delete("packs/s/a.0")
    assert ann.get("packs/s/a.0") == b"hers"
    second = ServedHost(served.url, token=served.tokens.add("annabel", "user"))
    assert second.get("packs/s/a.0") == b"hers"
    second.close()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer fst_x", "Basic YTpi", "Bearer \xff"])
def test_nobody_without_a_token(served: Running, header: str) -> None:
    headers = {"authorization": header.encode("latin-1")} if header else {}
    for path in ("/v1/objects/vault", "/v1/objects", "/v1/state"):
        told = httpx.get(served.address + path, headers=headers, trust_env=False)
        assert told.status_code in (401, 429)
        assert set(told.json()) == {"detail"}


def test_a_token_that_is_revoked(served: Running) -> None:
    host = served.client("carl")
    host.put("a", b"1")
    served.tokens.revoke("carl")
    with pytest.raises(HostError, match="does not accept the token") as told:
        host.get("a")
    assert "fst_" not in str(told.value)


@pytest.mark.parametrize(
    "key", ["", "..", "a/../b", "/a", "a//b", "a/.b", "A", "a%2f..%2fb", "%C3%A9"]
)
def test_keys_that_are_none(served: Running, key: str) -> None:
    token = served.tokens.add("keys", "user")
    asking = HTTPConnection(served.address.removeprefix("http://"))
    asking.request("PUT", f"/v1/objects/{key}", b"x", {"Authorization": f"Bearer {token}"})
    assert asking.getresponse().status in (404, 405, 422)
    asking.close()
    assert not [one for one in served.daemon.shelves.of("keys").keys("") if one]


def test_pages(served: Running) -> None:
    host = served.client("pages")
    keys = [*sorted(f"p/{k % 7}/{k:03}" for k in range(24)), "p/9"]
    for key in keys:
        host.put(key, b"")
    token = served.tokens.add("pages", "user")
    found, after = [], ""
    while True:
        told = httpx.get(
            f"{served.address}/v1/objects", params={"prefix": "p/", "after": after, "limit": 6},
            headers={"Authorization": f"Bearer {token}"}, trust_env=False,
        ).json()  # fmt: skip
        found += [one["key"] for one in told["objects"]]
        assert len(told["objects"]) <= 6
        if told["next"] is None:
            break
        after = told["next"]
    assert found == keys
    assert [one.key for one in host.keys("p/")] == keys


def test_a_folder_of_its_own(served: Running) -> None:
    one, two = served.client("dora", "/one"), served.client("dora", "/two")
    one.put("packs/s/a.0", b"1")
    assert list(two.keys("packs/")) == []
    assert list(one.keys("packs/")) == [Stored("packs/s/a.0", 1)]
    assert one.name.endswith("/one")


def test_quotas_count_every_object_once(tmp_path: Path) -> None:
    quota = Quota(10 * BLOCK, 6 * BLOCK, 4 * BLOCK)
    with running(tmp_path, quota=quota) as served:
        ann, bob = served.client("ann"), served.client("bob")
        ann.put("a", bytes(3 * BLOCK))
        ann.put("b", bytes(2 * BLOCK + 1))
        with pytest.raises(HostError, match="this client's 24576 bytes are used up"):
            ann.put("c", b"1")
        with pytest.raises(HostError, match="used up"):
            ann.put("a", b"1")  # the old one stays until the new one is there
        ann.delete("b")
        ann.put("a", b"1")
        assert served.daemon.shelves.used("ann") == BLOCK
        bob.put("a", bytes(4 * BLOCK))
        bob.put("b", bytes(2 * BLOCK))
        assert ann.look().stored == BLOCK
        ann.put("c", bytes(3 * BLOCK))
        with pytest.raises(HostError, match="all clients'"):
            ann.put("d", b"1")
        with pytest.raises(HostError, match="larger than"):
            bob.put("a", bytes(4 * BLOCK + 1))
        assert bob.get("a") == bytes(4 * BLOCK)
        token = served.tokens.add("ann", "user")
        reply = httpx.put(
            f"{served.address}/v1/objects/e", content=iter([bytes(BLOCK)] * 9), trust_env=False,
            headers={"Authorization": f"Bearer {token}"},
        )  # fmt: skip
        assert reply.status_code in (413, 507)
        assert served.daemon.shelves.total == 10 * BLOCK
    again = Shelves(tmp_path, quota)
    assert again.used("ann") == 4 * BLOCK
    assert again.total == 10 * BLOCK


def test_objects_that_two_write(tmp_path: Path) -> None:
    shelves = Shelves(tmp_path, Quota(100 * BLOCK, 100 * BLOCK, BLOCK))
    with shelves.changing("a", "x") as room, shelves.changing("b", "x"), shelves.changing("a", "y"):
        room.grow(5)
        with pytest.raises(BusyError, match="another request"), shelves.changing("a", "x"):
            pass
        assert shelves.used("a") == BLOCK
        with pytest.raises(FullError):
            room.grow(101 * BLOCK)
    assert shelves.total == 0


def test_beyond_its_clients_it_is_loaded(tmp_path: Path) -> None:
    with running(tmp_path, clients=2) as served:
        seats = served.daemon.seats
        waits: list[float] = []
        third = served.client("third", patience=3.0, sleep=waits.append)
        assert third.look().clients == 0
        assert seats.enter("one")
        assert seats.enter("two")
        with pytest.raises(LoadedError, match="the limit of clients"):
            third.put("a", b"1")
        assert waits == [1.0, 1.0, 1.0]
        told = third.look()
        assert (told.clients, told.limit) == (2, 2)
        seats.leave("two")
        third.put("a", b"1")


def test_seats() -> None:
    seats = Seats(2)
    assert all(seats.enter("a") for _ in range(EACH))
    assert not seats.enter("a")
    assert seats.enter("b")
    assert not seats.enter("c")
    seats.leave("b")
    assert seats.enter("c")
    assert seats.taken == 2
    with pytest.raises(ParameterError):
        Seats(0)


def test_what_is_half_sent_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, clients=1) as served:
        host = served.client("ann")
        host.put("a", b"whole")
        token = served.tokens.add("ann", "user")
        for sent in (b"", b"half"):
            with socket.create_connection(served.address.removeprefix("http://").split(":")) as one:
                one.sendall(
                    f"PUT /v1/objects/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                    "Content-Length: 9\r\n\r\n".encode()
                    + sent
                )
                time.sleep(0.05)
        end = time.monotonic() + 30
        while served.daemon.seats.taken and time.monotonic() < end:
            time.sleep(0.01)
        assert host.get("a") == b"whole"
        assert served.daemon.shelves.used("ann") == BLOCK
        assert [one.name for one in (tmp_path / "clients" / "ann").iterdir()] == ["a"]


def test_who_does_nothing_loses_the_connection(tmp_path: Path) -> None:
    """Before a request, within its body, and while an answer waits to be taken."""
    with running(tmp_path, clients=1, patience=0.2) as served:
        token = served.tokens.add("ann", "user")
        host = served.client("ann")
        host.put("big", bytes(8 * MIB))
        head = f"Host: x\r\nAuthorization: Bearer {token}\r\n"
        place = served.address.removeprefix("http://").split(":")
        put = f"PUT /v1/objects/a HTTP/1.1\r\n{head}Content-Length: 9\r\n\r\nx"
        for text in ("", "GET /v1", put, f"GET /v1/objects/big HTTP/1.1\r\n{head}\r\n"):
            with socket.create_connection(place) as one:
                one.sendall(text.encode())
                end = time.monotonic() + 30
                time.sleep(0.7)
                while served.daemon.seats.taken and time.monotonic() < end:
                    time.sleep(0.02)
                one.settimeout(10)
                with suppress(ConnectionResetError):
                    while one.recv(MIB):  # until it ends
                        pass
        host.put("a", b"1")


def test_killed_at_any_moment_nothing_confirmed_is_lost(tmp_path: Path) -> None:
    """Twice: a client writes and overwrites, the daemon is killed, and begun again."""
    chance, confirmed = random.Random(1), dict[str, bytes]()
    token = ""
    for turn in range(2):
        daemon = Process(tmp_path)
        token = daemon.told["token"] or token
        host = ServedHost(daemon.url, token=token)
        for key, data in confirmed.items():
            assert host.get(key) == data
        assert {one.key for one in host.keys("k/")} >= set(confirmed)
        doubt: dict[str, bytes] = {}
        stop = threading.Timer(0.3 + chance.random() * 0.3, daemon.kill)
        stop.start()
        with suppress(HostError):
            for count in range(10**6):
                key = f"k/{count % 5}"
                doubt = {key: chance.randbytes(chance.randrange(200_000))}
                host.put(key, doubt[key])
                confirmed |= doubt
        stop.join()
        assert not daemon.alive
        host.close()
        for key in doubt:  # this one was not confirmed: it may be there or not
            confirmed.pop(key, None)
        assert confirmed, turn
    (tmp_path / "clients" / "first" / "k" / ".k-left").write_bytes(b"half")
    daemon = Process(tmp_path)
    assert daemon.told["removed"] >= 1
    assert daemon.told["token"] is None
    host = ServedHost(daemon.url, token=token)
    assert all(host.get(key) == data for key, data in confirmed.items())
    host.close()
    assert daemon.end(signal.SIGHUP) == 0
    assert not list((tmp_path / "clients").rglob(".*"))


def test_one_daemon_for_a_folder(tmp_path: Path) -> None:
    told = pytest.raises(TraceError, match=r"another storage daemon \(process \d+\) uses")
    with only_agent(tmp_path, "storage daemon"), told:
        serve_storage(tmp_path, StorageOptions(port=0), lambda *_: None)


def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = certificate(tmp_path)
    daemon = Process(tmp_path / "d", "--tls-cert", str(made), "--tls-key", str(made))
    try:
        assert daemon.url.startswith("forestall+https://127.0.0.1:")
        stranger = ServedHost(daemon.url, token=daemon.told["token"])
        with pytest.raises(HostError, match=r"(?i)certificate"):
            stranger.put("a", b"1")
        monkeypatch.setenv("SSL_CERT_FILE", str(made))
        host = ServedHost(daemon.url, token=daemon.told["token"])
        host.put("a", bytes(MIB))
        assert host.get("a") == bytes(MIB)
        host.close()
        stranger.close()
    finally:
        daemon.end()


def test_certificates_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x.pem"
    path.write_text("nothing")
    with pytest.raises(ParameterError, match="tls_key"):
        Listening(certificate=path).check()
    with pytest.raises(TraceError, match="not a certificate"):
        Listening(certificate=path, private_key=path).check()


def certificate(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1 with its key, in one file."""
    path, key = folder / "host.pem", folder / "host.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", path],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + key.read_text())
    assert ssl.PEM_HEADER in path.read_text()
    return path


def test_urls_and_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("forestall://host", "forestall://u:secret@h:1", "forestall://h:1/a/b", "http://h:1",
                "forestall://h:99999", "forestall://h:1?x=1"):  # fmt: skip
        with pytest.raises(ParameterError) as told:
            ServedHost(url, token="t")
        assert "secret" not in str(told.value)
    monkeypatch.delenv("FORESTALL_STORAGE_TOKEN", raising=False)
    monkeypatch.setenv("FORESTALL_STORAGE_TOKENS", str(tmp_path / "tokens"))
    (tmp_path / "tokens").write_text("other:1 fst_o\n h:1  fst_a # mine\n")
    with pytest.raises(TraceError, match="chmod 600"):
        ServedHost("forestall://h:1")
    (tmp_path / "tokens").chmod(0o600)
    assert ServedHost("forestall://h:1").name == "forestall://h:1"
    with pytest.raises(InputError, match="no token for the storage host h:2") as wrong:
        ServedHost("forestall://h:2")
    assert "fst_" not in str(wrong.value)
    monkeypatch.setenv("FORESTALL_STORAGE_TOKEN", "fst_x")
    ServedHost("forestall://h:2")


def test_nobody_there_and_somebody_else() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    host = ServedHost(f"forestall://127.0.0.1:{port}", token="t")
    with pytest.raises(HostError, match=r"(?i)refused"):
        host.get("a")
