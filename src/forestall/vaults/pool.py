"""The storage hosts of a vault, asked at once: each has threads of its own, so that a slow one
holds up nobody else's work; one that does not go on is set aside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Final, NamedTuple, Self, TypeVar

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost
from forestall.vaults.hosts.progress import SILENCE, RequestProgress
from forestall.vaults.hosts.requests import HostRequests
from forestall.vaults.pieces.fragments import DamagedError, Fragment, fragment_of, sound

T = TypeVar("T")
Check = Callable[[StorageHost], None]
AGAIN: Final = 600.0
"""s after which a host that was too slow is asked again: few commands take as long."""
GRACE: Final = 2.0
"""s that requests have at the end which nobody waits for, such as pieces asked for twice."""
TICK: Final = 0.25
"""s between two looks at whether requests go on."""
TELLS: Final = 64 * 1024
"""Bytes from which on an object tells how fast a host is: smaller ones tell how far it is."""
THREADS: Final = 2
"""Requests that a host gets at once."""


class LostError(InputError):
    """Too little is left on the storage hosts that can be reached to recover what was asked for."""

    exit_code = 3


class UnreadableError(InputError):
    """A checkpoint whose manifest or directories cannot be read from any host that answers."""

    exit_code = 5


@dataclass
class HostNow:
    """What was seen of a host since the vault was opened: requests under way, bytes and seconds of
    those of some size that succeeded, and what was wrong with the last one that did not.

    `aside` : why it gets no requests, up to `until` on the monotonic clock; `check` is made before
    its next request, and raises HostError where it shall get none
    """

    asked: int = 0
    moved: int = 0
    seconds: float = 0.0
    said: str = ""
    failed: int = 0
    aside: HostError | None = None
    until: float = 0.0
    check: Check | None = None

    @property
    def rate(self) -> float:
        """Bytes/s; a host that was never asked is taken for fast, so that it is tried."""
        return self.moved / self.seconds if self.moved and self.seconds else 1e12


class StoreAway(NamedTuple):
    """A storage host that a command had to do without, and why."""

    store: str
    why: str


@dataclass
class HostPool:
    """Hosts by number, in the order in which they were named.

    Attributes
    ----------
    hosts : at least one, each named once
    check : of a host that was too slow, before it gets requests again
    """

    hosts: Sequence[StorageHost]
    seen: list[HostNow] = field(init=False)
    check: Check | None = None
    _requests: list[HostRequests] = field(init=False)

    def __post_init__(self) -> None:
        names = [one.name for one in self.hosts]
        if not names:
            raise ParameterError("store", None, "at least one storage host")
        if len(set(names)) < len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise ParameterError("store", twice, "each storage host once")
        self.seen = [HostNow() for _ in names]
        self._requests = [HostRequests(f"store-{k}", THREADS) for k in range(len(names))]
        self._lock, self._busy, self._over = threading.Lock(), threading.Event(), threading.Event()
        self._watch: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads and connections. What is under way has a moment to come to its end: by
        now nobody waits for it."""
        wait([future for one in self._requests for future in one.cancel()], GRACE)
        self._over.set()
        self._busy.set()
        for host, seen, one in zip(self.hosts, self.seen, self._requests, strict=True):
            hangs = not one.is_idle or 0 < seen.until < inf  # then closing may hang, too
            one.end()
            if not hangs:
                host.close()

    def set_aside(self, number: int, error: HostError, seconds: float = inf) -> None:
        """Give a host no requests for so many s; those under way end with an error."""
        seen = self.seen[number]
        seen.aside, seen.said = error, str(error)
        seen.until = time.monotonic() + seconds
        self._requests[number].give_up(error)

    def admit(self, number: int) -> None:
        """Give a host requests again."""
        seen = self.seen[number]
        seen.aside, seen.check, seen.said, seen.until = None, None, "", 0.0

    @property
    def away(self) -> list[StoreAway]:
        """The hosts that did not do what they were last asked, or were set aside."""
        return [
            StoreAway(name, seen.said.removeprefix(f"{name}: "))
            for name, seen in zip(self.names, self.seen, strict=True)
            if seen.said
        ]

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

    def each(
        self, ask: Callable[[StorageHost], T], silence: float = SILENCE
    ) -> dict[int, T | HostError]:
        """Ask all hosts at once; return each one's answer, or what was wrong. A host is set aside
        that does not go on for `silence` s."""
        begun = {k: self._ask(k, ask, lambda _: 0, silence) for k in range(len(self.hosts))}
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
        self,
        number: int,
        ask: Callable[[StorageHost], T],
        size: Callable[[T], int],
        silence: float = SILENCE,
    ) -> Future[T]:
        host, seen = self.hosts[number], self.seen[number]
        if seen.aside is not None:
            if time.monotonic() < seen.until:
                refused: Future[T] = Future()
                refused.set_exception(seen.aside)
                return refused
            seen.aside, seen.check = None, self.check
        seen.asked += 1

        def work() -> T:
            begun = time.perf_counter()
            try:
                if seen.check is not None:
                    seen.check(host)
                    seen.check = None
                made = ask(host)
            except AbsentError:
                raise
            except HostError as error:
                seen.failed += 1
                seen.said = str(error)
                raise
            if seen.aside is None:
                seen.said = ""
            if (moved := size(made)) >= TELLS:
                seen.moved += moved
                seen.seconds += time.perf_counter() - begun
            return made

        future = self._requests[number].submit(work, RequestProgress(silence))
        future.add_done_callback(lambda _: _ended(seen))
        self._look_after()
        return future

    def _look_after(self) -> None:
        """Have requests looked at, from now on until none is under way."""
        self._busy.set()
        if self._watch is None:
            with self._lock:
                if self._watch is None:
                    self._watch = threading.Thread(target=self._looking, name="stores", daemon=True)
                    self._watch.start()

    def _looking(self) -> None:
        last = time.monotonic()
        while not self._over.is_set():
            if all(one.is_idle for one in self._requests):
                self._busy.clear()
                if all(one.is_idle for one in self._requests):
                    self._busy.wait()
                last = time.monotonic()
            self._over.wait(TICK)
            now = time.monotonic()
            for number, one in enumerate(self._requests):
                if now - last > 8 * TICK:  # this process was stopped, and let go on
                    one.restart()
                elif (progress := one.late(now)) is not None:
                    why = f"set aside: it was silent or nearly so for {progress.silence:g} s"
                    self.set_aside(number, HostError(self.names[number], why), AGAIN)
            last = now


def _ended(seen: HostNow) -> None:
    seen.asked -= 1
