"""Storage hosts in memory, with all that can go wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost, Stored, checked_key


class DiedError(Exception):
    """The process that writes is killed: what is not written yet never will be."""


class TestHost(StorageHost):
    """Objects in a dictionary.

    `on_write` is called before each put and delete, and may raise; `away` makes all requests fail;
    `room` is how many bytes fit, None without a limit
    """

    __test__ = False

    def __init__(self, name: str, on_write: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.objects: dict[str, bytes] = {}
        self.on_write = on_write
        self.away = False
        self.room: int | None = None

    def put(self, key: str, data: bytes) -> None:
        self._answer()
        self.on_write()
        held = sum(map(len, self.objects.values())) - len(self.objects.get(key, b""))
        if self.room is not None and held + len(data) > self.room:
            raise HostError(self.name, "No space left on device")
        self.objects[checked_key(key)] = bytes(data)

    def get(self, key: str) -> bytes:
        self._answer()
        if key not in self.objects:
            raise AbsentError(self.name, f"{key} is not there")
        return self.objects[key]

    def keys(self, prefix: str) -> Iterator[Stored]:
        self._answer()
        for key in sorted(self.objects):
            if key.startswith(prefix):
                yield Stored(key, len(self.objects[key]))

    def delete(self, key: str) -> None:
        self._answer()
        self.on_write()
        self.objects.pop(key, None)

    def _answer(self) -> None:
        if self.away:
            raise HostError(self.name, "Connection refused")


class Killer:
    """Kills whoever writes, at the write with this number, and all writes after it."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.count = at, 0

    def __call__(self) -> None:
        self.count += 1
        if self.at is not None and self.count > self.at:
            raise DiedError


def hosts(count: int, killer: Callable[[], None] = lambda: None) -> list[TestHost]:
    """Return so many hosts, all alive."""
    return [TestHost(f"host{k}", killer) for k in range(count)]
