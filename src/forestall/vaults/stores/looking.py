"""Looks at storage hosts, and measurements of the paths to them, written into the book."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from forestall.vaults.hosts.host import HostError, HostLook
from forestall.vaults.pool import HostPool
from forestall.vaults.stores.book import StoreBook

STALE: Final = 3600.0
"""s after which a path is measured again, if no save did."""
PROBE: Final = 2**20
"""Bytes that measure one."""
LEAST: Final = 256 * 1024
"""Bytes that say something of a path's bandwidth; fewer say how far it is."""


def look_around(pool: HostPool, book: StoreBook, now: int) -> dict[int, HostLook | HostError]:
    """Look at all hosts at once and write down what was seen; return it."""
    found = pool.each(lambda host: host.look())
    book.add_looks(
        (pool.names[number], now, one if isinstance(one, HostLook) else None)
        for number, one in found.items()
    )
    return found


def probe(pool: HostPool, book: StoreBook, now: float) -> None:
    """Send a megabyte to each host whose path was not measured lately; it is removed again."""
    data = secrets.token_bytes(PROBE)
    key = f"probes/{secrets.token_hex(8)}"
    for number, name in enumerate(pool.names):
        path = book.path_to(name)
        if (path is not None and now - path.at < STALE) or pool.seen[number].said:
            continue
        before = pool.seen[number].moved, pool.seen[number].seconds
        try:
            pool.put(number, key, [data]).result()
            pool.hosts[number].delete(key)
        except HostError:
            continue
        seen = pool.seen[number]
        book.add_transfer(name, now, seen.moved - before[0], seen.seconds - before[1])
        seen.moved, seen.seconds = before


def note_transfers(pool: HostPool, book: StoreBook, now: float) -> None:
    """Write down how fast what was moved since the pool was opened went."""
    for name, seen in zip(pool.names, pool.seen, strict=True):
        if seen.moved >= LEAST:
            book.add_transfer(name, now, seen.moved, seen.seconds)


def this_start() -> tuple[str, float]:
    """Return what tells this start of the machine from others, and for how many s it has run; where
    the system does not say, all starts are one."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    try:
        running = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return boot.read_text(encoding="ascii").strip(), running
    except (OSError, ValueError, IndexError):
        return "", 0.0
