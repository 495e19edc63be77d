"""A simulated controller served on a free port, in a thread of the test's process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from forestall.core.web.access import Access
from forestall.core.web.server import Listening, SiteServer
from forestall.core.web.tokens import TokenStore
from forestall.live.serving.service import LiveService, SimulatedOptions, simulated_service
from forestall.live.serving.settings import LiveSettings, ServeTable
from forestall.live.web.api.application import ApiSettings
from forestall.live.web.site import site

SCRIPT = "#!/bin/sh\nexec ./model\n"


class Served:
    """A running server, and clients of it."""

    def __init__(self, service: LiveService, tokens: TokenStore, address: str, path: Path) -> None:
        self.service, self.tokens, self.address, self.path = service, tokens, address, path
        self._clients: list[httpx.Client] = []
        self._named: dict[tuple[str, str], httpx.Client] = {}

    def client(self, token: str = "") -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        made = httpx.Client(base_url=self.address, headers=headers, timeout=120, trust_env=False)
        self._clients.append(made)
        return made

    def by(self, name: str, role: Any = "user") -> httpx.Client:
        """Return a client of a person with a token."""
        if (name, role) not in self._named:
            self._named[name, role] = self.client(self.tokens.add(name, role))
        return self._named[name, role]

    def local(self) -> httpx.Client:
        """Return a client over the socket."""
        transport = httpx.HTTPTransport(uds=str(self.path))
        made = httpx.Client(transport=transport, base_url="http://forestall", timeout=120)
        self._clients.append(made)
        return made

    def offers(self, who: httpx.Client, nodes: int = 2, seconds: int = 600) -> list[dict[str, Any]]:
        told = who.post("/api/v1/quotes", json={"nodes": nodes, "time": seconds})
        assert told.status_code == 200, told.text
        found: list[dict[str, Any]] = told.json()["offers"]
        return found

    def promise(self, who: httpx.Client, nodes: int = 2, seconds: int = 600) -> dict[str, Any]:
        """Ask, take the first offer, and return the promise; ask again, as the server says, where
        the fast clock left the offer behind."""
        for _ in range(5):
            offer = self.offers(who, nodes, seconds)[0]["id"]
            told = who.post("/api/v1/promises", json={"offer": offer, "job": {"script": SCRIPT}})
            if "ask again" not in told.text:
                break
        assert told.status_code == 201, told.text
        made: dict[str, Any] = told.json()
        return made

    def until(self, what: str, true: Callable[[], Any], seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"after {seconds} s not yet: {what}"
            time.sleep(0.05)

    def leave(self) -> None:
        for one in self._clients:
            one.close()


def settings_of(folder: Path, **more: Any) -> LiveSettings:
    table = replace(ServeTable(ledger=f"sqlite:///{folder}/ledger.db", rate=10_000), **more)
    return LiveSettings(table)


def service_of(
    folder: Path, told: list[str], *, nodes: int = 12, speed: float = 600.0
) -> LiveService:
    """Return a simulated service that stands still: its cycles are done by who calls `once`."""
    return simulated_service(settings_of(folder), SimulatedOptions(nodes, speed), told.append)


@contextmanager
def serving(
    folder: Path, *, speed: float = 600.0, nodes: int = 12, rate: int = 10_000
) -> Iterator[Served]:
    """Serve from a folder until the end of the block."""
    told: list[str] = []
    service = service_of(folder, told, nodes=nodes, speed=speed)
    tokens, path = TokenStore(folder / "tokens"), folder / "socket"
    app = site(service.desk, Access(tokens, ("root",)), ApiSettings(rate))
    server = SiteServer(app, Listening("127.0.0.1", 0, path))
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    served = Served(service, tokens, server.address, path)
    try:
        service.start()
        thread.start()
        assert ready.wait(60)
        yield served
    finally:
        served.leave()
        server.stop()
        thread.join()
        service.stop()
