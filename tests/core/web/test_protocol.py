"""Clients that send or take nothing lose their connection; others keep it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fastapi import FastAPI, Request

from forestall.core.web.protocol import HurriedProtocol
from forestall.core.web.server import Listening, SiteServer

HEAD = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n"


class Impatient(HurriedProtocol):
    patience = 0.5


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    app = FastAPI()

    @app.post("/")
    async def length(request: Request) -> int:
        return len(await request.body())

    server = SiteServer(app, Listening("127.0.0.1", 0), Impatient)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    thread.start()
    try:
        assert ready.wait(60)
        yield int(server.address.rpartition(":")[2])
    finally:
        server.stop()
        thread.join()


@pytest.mark.parametrize("sent", [b"", b"POST / HT", HEAD, HEAD + b"\r\n" + 99 * b"x"])
def test_who_does_not_go_on_is_cut_off(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
        link.sendall(sent)
        with suppress(ConnectionResetError):
            assert link.recv(1) == b""


def test_who_is_done_is_answered(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
        link.sendall(HEAD + b"connection: close\r\n\r\n" + 100 * b"x")
        told = b"".join(iter(lambda: link.recv(4096), b""))
    assert told.startswith(b"HTTP/1.1 200")
    assert told.endswith(b"100")
