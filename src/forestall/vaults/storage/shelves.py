"""Shelves: a folder of objects for each client of a storage daemon, and how much is on it.

Below the daemon's folder an object is clients/NAME/KEY; what counts against a quota is its size in
whole blocks, so that many small ones are not for nothing.
"""

from __future__ import annotations

import errno
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ParameterError, of_system
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.hosts.host import HostError, checked_key

BLOCK: Final = 4096
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FullError(HostError):
    """There is no room for an object: a quota is used up, or the disk."""


class BusyError(HostError):
    """Another request of the same client writes the same object."""


@dataclass(frozen=True)
class Quota:
    """How much may lie on a daemon, bytes: in all, of one client, and in one object."""

    all: int
    each: int
    largest: int

    def __post_init__(self) -> None:
        for name, value in (("quota", self.all), ("client_quota", self.each),
                            ("largest", self.largest)):  # fmt: skip
            if value < BLOCK:
                raise ParameterError(name, value, f"at least {BLOCK} bytes")


class Room:
    """What an object under way has been promised, bytes; it grows as the object does."""

    def __init__(self, shelves: Shelves, client: str) -> None:
        self._shelves, self._client, self.size = shelves, client, 0

    def grow(self, size: int) -> None:
        """Ask for room for an object of so many bytes. Raises FullError."""
        wanted = blocks(size)
        if wanted > self.size:
            self._shelves.take(self._client, wanted - self.size)
            self.size = wanted


class Shelves:
    """The objects of all clients. Any thread may ask.

    What writers that died left half-written is removed first. Raises TraceError where the folder
    cannot be written to, HostError where what is in it cannot be read.
    """

    def __init__(self, folder: Path, quota: Quota) -> None:
        self.quota, self._folder = quota, folder / "clients"
        self._lock = threading.Lock()
        self._used: Counter[str] = Counter()
        self._hosts: dict[str, FolderHost] = {}
        self._written: set[tuple[str, str]] = set()
        self.swept = 0
        with of_system(self._folder, "cannot be written to"):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._folder.chmod(0o700)  # users of this machine are clients like any other
        self._place = self._where()
        for one in sorted(self._folder.iterdir()):
            host = self.of(one.name)
            self.swept += host.sweep()
            self._used[one.name] = sum(blocks(found.size) for found in host.keys(""))

    def of(self, client: str) -> FolderHost:
        """Return the objects of a client. Raises HostError once the folder is another one: its disk
        was unmounted."""
        if self._where() != self._place:
            raise HostError("daemon", "its folder is another one now: is its disk mounted?")
        with self._lock:
            if client not in self._hosts:
                self._hosts[client] = FolderHost(self._folder / client)
            return self._hosts[client]

    def _where(self) -> tuple[int, int]:
        """Return which folder it is. Raises HostError."""
        try:
            status = self._folder.stat()
        except OSError as error:
            raise HostError("daemon", error.strerror or str(error), error.errno or 0) from None
        return status.st_dev, status.st_ino

    def used(self, client: str) -> int:
        """Return how many bytes count for a client."""
        with self._lock:
            return self._used[client]

    @property
    def total(self) -> int:
        """How many bytes count for all."""
        with self._lock:
            return self._used.total()

    def take(self, client: str, size: int) -> None:
        """Count bytes for a client. Raises FullError where a quota is used up."""
        with self._lock:
            if self._used[client] + size > self.quota.each:
                raise FullError("quota", f"this client's {self.quota.each} bytes are used up")
            if self._used.total() + size > self.quota.all:
                raise FullError("quota", f"all clients' {self.quota.all} bytes are used up")
            self._used[client] += size

    @contextmanager
    def changing(self, client: str, key: str) -> Iterator[Room]:
        """Let nobody else change an object, and count it anew at the end, whatever happened to it.

        Raises BusyError where somebody does, ParameterError for what is no key.
        """
        which = client, checked_key(key)
        with self._lock:
            if which in self._written:
                raise BusyError("object", f"{key} is being written by another request")
            self._written.add(which)
        room, host = Room(self, client), self.of(client)
        before = 0
        try:
            before = blocks(host.size(key))
            yield room
        finally:
            after = blocks(host.size(key))
            with self._lock:
                self._written.discard(which)
                self._used[client] += after - before - room.size

    @staticmethod
    def is_full(error: HostError) -> bool:
        """Whether there was no room."""
        return isinstance(error, FullError) or error.number in _FULL


def blocks(size: int | None) -> int:
    """Return what an object of so many bytes counts for; None: there is none."""
    return 0 if size is None else max(-(-size // BLOCK), 1) * BLOCK
