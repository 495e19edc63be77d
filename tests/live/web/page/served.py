"""The page over a desk of plain data, served on a free port by a thread of the test's process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from forestall.core.model.live.desk import Viewer
from forestall.core.web.server import Listening, SiteServer
from forestall.live.web.page.mount import mount_page
from live.web.page.told_desk import ToldDesk

TOKENS = {
    "token-of-ops": Viewer("ops", "operator"),
    "token-of-alice": Viewer("alice", "user"),
    "token-of-bob": Viewer("bob", "user"),
}


@dataclass(frozen=True)
class ServedDesk:
    """A desk, where its page is, and whose tokens count."""

    desk: ToldDesk
    address: str
    tokens: dict[str, Viewer]


@contextmanager
def served(nodes: int, jobs: int, port: int = 0) -> Iterator[ServedDesk]:
    """Serve until the end of the block; once in a process."""
    app, desk, tokens = FastAPI(docs_url=None, redoc_url=None), ToldDesk(nodes, jobs), dict(TOKENS)
    mount_page(app, desk, tokens.get, every=0.2)
    server = SiteServer(app, Listening("127.0.0.1", port))
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    thread.start()
    try:
        assert ready.wait(60)
        yield ServedDesk(desk, server.address, tokens)
    finally:
        server.stop()
        thread.join()
