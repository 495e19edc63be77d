"""A storage daemon from its settings: what it is made of, and where it listens."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import of_system
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import parse_size
from forestall.core.processes.lock import only_agent
from forestall.core.web.access import Access
from forestall.core.web.server import Listening, SiteServer
from forestall.core.web.tokens import TokenStore
from forestall.vaults.hosts.disk import STATE, DiskWatch
from forestall.vaults.storage.application import Daemon, new_daemon, storage
from forestall.vaults.storage.seats import EACH, Seats
from forestall.vaults.storage.shelves import Quota, Shelves

LIMITS: Final = "Limits"
PLACES: Final = "Address"
EVERY: Final = 10.0
"""s between two times that the daemon says how it is."""
FIRST: Final = "first"
"""The name of the client whose token is made where there is none."""


@dataclass(frozen=True)
class StorageOptions(Declared):
    """What a storage daemon is told."""

    port: Annotated[
        Annotated[int, Field(ge=0, le=65_535)],
        Setting("Port; 0: any free one", shown="PORT", group=PLACES),
    ] = 9140
    host: Annotated[str, Setting("Address to listen on", shown="HOST", group=PLACES)] = "127.0.0.1"
    tls_cert: Annotated[
        Path | None,
        Setting("TLS certificate, for forestall+https://", shown="FILE", group=PLACES),
    ] = None
    tls_key: Annotated[
        Path | None, Setting("Private key of the TLS certificate", shown="FILE", group=PLACES)
    ] = None
    clients: Annotated[
        Annotated[int, Field(ge=1, le=10_000)],
        Setting(
            "Maximum number of clients served at once; others are told that the host is busy",
            group=LIMITS,
        ),
    ] = 16
    quota: Annotated[str, Setting("Storage limit for all clients", shown="SIZE", group=LIMITS)] = (
        "50GiB"
    )
    client_quota: Annotated[
        str | None,
        Setting(
            "Storage limit per client (default: the limit for all)", shown="SIZE", group=LIMITS
        ),
    ] = None
    max_object: Annotated[str, Setting("Size limit of an object", shown="SIZE", group=LIMITS)] = (
        "1GiB"
    )
    tokens: Annotated[
        Path | None, Setting("File of the tokens (default: DIR/tokens)", shown="FILE")
    ] = None

    def limits(self) -> Quota:
        """Return the quota. Raises ParameterError."""
        whole = parse_size(self.quota, "quota")
        each = whole if self.client_quota is None else parse_size(self.client_quota, "client_quota")
        return Quota(whole, each, parse_size(self.max_object, "max_object"))

    def tokens_of(self, folder: Path) -> TokenStore:
        """Return the tokens of the daemon of a folder."""
        return TokenStore(self.tokens or folder / "tokens")


def serve_storage(
    folder: Path, options: StorageOptions, ready: Callable[[str, str, int, bool], None]
) -> None:
    """Serve a folder until SIGTERM, SIGINT or SIGHUP.

    `ready` is told the URL, the first client's token where this made one, how many half-written
    objects were removed, and whether others can listen in. Raises InputError where another daemon
    serves the folder, where it cannot be written to, or where the address is taken.
    """
    quota, seats = options.limits(), Seats(options.clients)
    with of_system(folder, "cannot be written to"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with only_agent(folder, "storage daemon"):
        shelves, known = Shelves(folder, quota), options.tokens_of(folder)
        where = Listening(
            options.host, options.port, certificate=options.tls_cert, private_key=options.tls_key,
            most=2 * EACH * options.clients + 64,
        )  # fmt: skip
        daemon = new_daemon(shelves, seats, Access(known, ()), DiskWatch(folder, time.monotonic))
        server = SiteServer(storage(daemon, quota.largest), where)
        token = "" if known.all() else known.add(FIRST, "user")
        url = server.address.replace("http://", "forestall://").replace("https", "forestall+https")
        with _telling(folder, daemon):
            server.run(lambda: ready(url, token, shelves.swept, where.is_exposed))


@contextmanager
def _telling(folder: Path, daemon: Daemon) -> Iterator[None]:
    """Write each few seconds how the daemon is, for the host agent on this machine."""
    over = threading.Event()

    def tell() -> None:
        while True:
            told = {"at": time.time(), "clients": daemon.seats.taken,
                    "limit": daemon.seats.limit, "bytes": daemon.shelves.total}  # fmt: skip
            with suppress(OSError), atomic_path(folder / STATE, sync=False) as beside:
                beside.write_text(json.dumps(told) + "\n", encoding="ascii")
            if over.wait(EVERY):
                return

    thread = threading.Thread(target=tell, name="state", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
