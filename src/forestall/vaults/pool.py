"""The storage hosts of a vault, asked at once: each has threads of its own, so that a slow one
holds up nobody else's work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self, TypeVar

from forestall.model.errors import InputError, ParameterError
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost
from forestall.vaults.pieces.fragments import DamagedError, Fragment, fragment_of, sound

T = TypeVar("T")
TELLS: Final = 64 * 1024
"""Bytes from which on an object tells how fast a host is: smaller ones tell how far it is."""
THREADS: Final = 2
"""Requests that a host gets at once."""


class LostError(InputError):
    """Too little is left on the storage hosts that can be reached to recover what was asked for."""

    exit_code = 3


@dataclass
class HostNow:
    """What was seen of a host since the vault was opened: requests under way, bytes and seconds of
    those of some size that succeeded, and what was wrong with the last one that did not."""

    asked: int = 0
    moved: int = 0
    seconds: float = 0.0
    said: str = ""
    failed: int = 0

    @property
    def rate(self) -> float:
        """Bytes/s; a host that was never asked is taken for fast, so that it is tried."""
        return self.moved / self.seconds if self.moved and self.seconds else 1e12


@dataclass
class HostPool:
    """Hosts by number, in the order in which they were named.

    Attributes
    ----------
    hosts : at least one, each named once
    """

    hosts: Sequence[StorageHost]
    seen: list[HostNow] = field(init=False)
    _threads: list[ThreadPoolExecutor] = field(init=False)

    def __post_init__(self) -> None:
        names = [one.name for one in self.hosts]
        if not names:
            raise ParameterError("store", None, "at least one storage host")
        if len(set(names)) < len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise ParameterError("store", twice, "each storage host once")
        self.seen = [HostNow() for _ in names]
        self._threads = [
            ThreadPoolExecutor(THREADS, thread_name_prefix=f"store-{k}") for k in range(len(names))
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads and connections; what is under way is finished."""
        for one in self._threads:
            one.shutdown(wait=True, cancel_futures=True)
        for host in self.hosts:
            host.close()

    @cached_property
    def names(self) -> list[str]:
        """Names of the hosts."""
        return [one.name for one in self.hosts]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Numbers of the hosts by their names."""
        return {name: number for number, name in enumerate(self.names)}

    def put(self, number: int, key: str, parts: Sequence[bytes | memoryview]) -> Future[None]:
        """Begin to store an object on a host, given in parts that follow one another."""
        size = sum(map(len, parts))
        return self._ask(number, lambda host: host.put_parts(key, parts), lambda _: size)

    def get(self, number: int, key: str) -> Future[bytes]:
        """Begin to fetch an object from a host."""
        return self._ask(number, lambda host: host.get(key), len)

    def fragment(self, number: int, key: str, pack: bytes, place: int) -> Future[Fragment]:
        """Begin to fetch a piece of a pack from a host; the request ends with DamagedError where
        that is not what lies there."""
        return self._ask(
            number, lambda host: fragment_of(host.get(key), pack, place),
            lambda found: len(found.piece),
        )  # fmt: skip

    def each(self, ask: Callable[[StorageHost], T]) -> dict[int, T | HostError]:
        """Ask all hosts at once; return each one's answer, or what was wrong."""
        begun = {k: self._ask(k, ask, lambda _: 0) for k in range(len(self.hosts))}
        wait(begun.values())
        found: dict[int, T | HostError] = {}
        for number, one in begun.items():
            error = one.exception()
            if isinstance(error, HostError):
                found[number] = error
            else:
                found[number] = one.result()
        return found

    def keys(self, prefix: str) -> tuple[dict[str, dict[int, int]], dict[int, HostError]]:
        """Return the objects below a prefix: by key, the numbers of the hosts that have one and its
        size there; and what was wrong with hosts that did not answer."""
        told = self.each(lambda host: list(host.keys(prefix)))
        found: dict[str, dict[int, int]] = {}
        wrong: dict[int, HostError] = {}
        for number, answer in told.items():
            if isinstance(answer, HostError):
                wrong[number] = answer
                continue
            for one in answer:
                found.setdefault(one.key, {})[number] = one.size
        return found, wrong

    def put_everywhere(self, key: str, data: bytes, least: int) -> dict[int, HostError]:
        """Store an object on all hosts; return what was wrong with those that did not take it.

        Raises HostError where fewer than `least` took it.
        """
        told = self.each(lambda host: host.put(key, data))
        wrong = {number: one for number, one in told.items() if isinstance(one, HostError)}
        if len(self.hosts) - len(wrong) < least:
            raise next(iter(wrong.values()))
        return wrong

    def delete_everywhere(self, key: str) -> dict[int, HostError]:
        """Remove an object from all hosts; return what was wrong with those that did not."""
        told = self.each(lambda host: host.delete(key))
        return {number: one for number, one in told.items() if isinstance(one, HostError)}

    def read_any(self, key: str, parse: Callable[[bytes], T]) -> T:
        """Return an object that lies on all hosts alike, from the first copy that is whole.

        Raises LostError where no host has one.
        """
        for found in self.copies(key, parse):
            if not isinstance(found[1], InputError | DamagedError):
                return found[1]
        raise LostError(f"no reachable storage host has an intact copy of {key}")

    def copies(
        self, key: str, parse: Callable[[bytes], T]
    ) -> Iterator[tuple[int, T | HostError | DamagedError]]:
        """Yield each host's copy of an object, the fastest host's first."""
        for number in self.by_speed():
            try:
                stored = self.get(number, key).result()
                with sound():
                    found = parse(stored)
            except (HostError, DamagedError) as error:
                yield number, error
            else:
                yield number, found

    def by_speed(self) -> list[int]:
        """Return the hosts' numbers: those that answered last before those that did not, the fast
        ones first, less what they are busy with."""
        return sorted(range(len(self.hosts)), key=lambda number: (*self.expected(number), number))

    def expected(self, number: int) -> tuple[bool, float]:
        """Return whether a host did not answer last, and the seconds that a byte from it takes,
        with what it is asked for already."""
        seen = self.seen[number]
        return bool(seen.said), (1 + seen.asked) / seen.rate

    def _ask(
        self, number: int, ask: Callable[[StorageHost], T], size: Callable[[T], int]
    ) -> Future[T]:
        host, seen = self.hosts[number], self.seen[number]
        seen.asked += 1

        def work() -> T:
            begun = time.perf_counter()
            try:
                found = ask(host)
            except AbsentError:
                raise
            except HostError as error:
                seen.failed += 1
                seen.said = str(error)
                raise
            finally:
                seen.asked -= 1
            seen.said = ""
            if (moved := size(found)) >= TELLS:
                seen.moved += moved
                seen.seconds += time.perf_counter() - begun
            return found

        return self._threads[number].submit(work)
