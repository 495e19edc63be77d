"""Storage daemons for tests: one in a thread of the test, or one that is a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forestall.core.web.access import Access
from forestall.core.web.protocol import HurriedProtocol
from forestall.core.web.server import Listening, SiteServer
from forestall.core.web.tokens import TokenStore
from forestall.vaults.hosts.disk import DiskWatch
from forestall.vaults.hosts.served import ServedHost
from forestall.vaults.storage.application import Daemon, new_daemon, storage
from forestall.vaults.storage.seats import Seats
from forestall.vaults.storage.shelves import Quota, Shelves

MIB = 2**20


class Running:
    """A daemon, and clients of it by name."""

    def __init__(self, daemon: Daemon, tokens: TokenStore, address: str) -> None:
        self.daemon, self.tokens, self.address = daemon, tokens, address
        self.url = address.replace("http", "forestall", 1)
        self._clients: list[ServedHost] = []

    def client(self, name: str, folder: str = "", **more: Any) -> ServedHost:
        made = ServedHost(self.url + folder, token=self.tokens.add(name, "user"), **more)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for one in self._clients:
            one.close()


@contextmanager
def running(
    folder: Path, *, clients: int = 8, quota: Quota | None = None, patience: float = 30.0
) -> Iterator[Running]:
    """Serve a folder until the end of the block."""
    quota = quota or Quota(64 * MIB, 32 * MIB, 8 * MIB)
    tokens = TokenStore(folder / "tokens")
    disk = DiskWatch(folder, time.monotonic)
    daemon = new_daemon(Shelves(folder, quota), Seats(clients), Access(tokens, ()), disk)
    kind = type("Hurried", (HurriedProtocol,), {"patience": patience})
    server = SiteServer(storage(daemon, quota.largest), Listening("127.0.0.1", 0, most=200), kind)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    made = Running(daemon, tokens, server.address)
    thread.start()
    try:
        assert ready.wait(60)
        yield made
    finally:
        made.close()
        server.stop()
        thread.join()


class Process:
    """A daemon that is a process: `forestall storage serve`."""

    def __init__(self, folder: Path, *words: str) -> None:
        command = [sys.executable, "-m", "forestall", "storage", "serve", str(folder), "--json"]
        self._process = subprocess.Popen(
            [*command, "--port", "0", *words], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        text = ""
        for line in self._process.stdout:
            text += line
            if line == "}\n":
                break
        self.told: dict[str, Any] = json.loads(text)
        self.url: str = self.told["url"]
        self.pid = self._process.pid

    def handles(self) -> int:
        """Files and connections that it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self) -> int:
        """Bytes of memory that it holds."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self._process.send_signal(how)
        code = self._process.wait(60)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code

    @property
    def alive(self) -> bool:
        return self._process.poll() is None
