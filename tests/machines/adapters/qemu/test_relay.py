"""The link that the mover holds: bytes both ways, and what breaks on one side breaks on both."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forestall.machines.adapters.qemu.relay import Relay

Ends = tuple[Relay, socket.socket, socket.socket]


@pytest.fixture(params=["unix", "tcp"])
def ends(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ends]:
    if request.param == "unix":
        door = socket.socket(socket.AF_UNIX)
        door.bind(str(tmp_path / "far"))
        uri = f"unix:{tmp_path / 'far'}"
    else:
        door = socket.create_server(("127.0.0.1", 0))
        uri = f"tcp:127.0.0.1:{door.getsockname()[1]}"
    door.listen()
    with door, Relay(str(tmp_path / "near"), uri) as relay, socket.socket(socket.AF_UNIX) as near:
        far, _ = door.accept()
        with far:
            near.connect(relay.uri.removeprefix("unix:"))
            near.settimeout(10)
            far.settimeout(10)
            yield relay, near, far


def test_bytes_pass_both_ways(ends: Ends) -> None:
    _, near, far = ends
    sent = bytes(range(256)) * 8192
    got = bytearray()

    def take() -> None:
        while data := far.recv(65536):
            got.extend(data)

    taking = threading.Thread(target=take)
    taking.start()
    near.sendall(sent)
    far.sendall(b"arrived")
    assert near.recv(100) == b"arrived"
    near.shutdown(socket.SHUT_WR)
    taking.join(10)
    assert bytes(got) == sent
    far.sendall(b"all of it")  # the way back stays open
    assert near.recv(100) == b"all of it"


def test_when_the_relay_goes_both_sides_see_it(ends: Ends) -> None:
    relay, near, far = ends
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    relay.__exit__()
    assert near.recv(1) == b""
    assert far.recv(1) == b""


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Relay(str(tmp_path / "near"), f"unix:{tmp_path / 'far'}")
    assert not (tmp_path / "near").exists()


def test_nobody_comes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        with Relay(str(tmp_path / "near"), f"tcp:127.0.0.1:{door.getsockname()[1]}"):
            far, _ = door.accept()
        with far:
            far.settimeout(10)
            assert far.recv(1) == b""
