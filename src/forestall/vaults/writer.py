"""Chunks on their way to the hosts: gathered into packs, compressed and coded by several workers,
and stored, with a bound on what is under way at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from forestall.vaults.hosts.host import HostError
from forestall.vaults.keys import DIRECTORIES, fragment_key
from forestall.vaults.layouts import losses
from forestall.vaults.manifests import NOBODY, Directory, WrittenPack
from forestall.vaults.packs import PACK, Compression, pack_of
from forestall.vaults.pieces.codes import Code, Data
from forestall.vaults.pieces.fragments import stored_parts
from forestall.vaults.pool import HostPool

IN_PART: Final = 64
"""Packs of a directory."""
WORKERS: Final = 16
"""Most packs that are worked on at once: each takes about 25 MiB."""


@dataclass(frozen=True)
class Writing:
    """How packs are written.

    Attributes
    ----------
    code : m + k
    least, copies : pieces of a pack, and copies of a directory, that must be stored
    compression : of chunks
    place : from a pack's number to the hosts, by number, of its pieces; a host may have several
    seal : encrypts
    envelope : makes the object of a directory
    """

    code: Code
    least: int
    copies: int
    compression: Compression
    place: Callable[[int], tuple[int, ...]]
    seal: Callable[[bytes], bytes]
    envelope: Callable[[Directory], bytes]


class ChunkRun(NamedTuple):
    """Chunks that follow one another in a directory: its name, the first one's place, how many."""

    part: str
    first: int
    chunks: int


@dataclass
class PackWriter:
    """Writes the new chunks of one save.

    Attributes
    ----------
    within : begins the names of its directories, where a save has several writers
    stored : bytes on all hosts, of packs that are done; `kept` of their packs, before coding
    missing : pieces that no host took, at most, of one pack
    losses : hosts, any, that may be lost of each pack; None where there is no pack
    """

    pool: HostPool
    save: str
    how: Writing
    tell: Callable[[int], None] = lambda stored: None
    within: str = ""
    stored: int = 0
    kept: int = 0
    missing: int = 0
    losses: int | None = None
    parts: list[str] = field(default_factory=list)
    _chunks: list[tuple[bytes, Data]] = field(default_factory=list)
    _size: int = 0
    _packs: int = 0
    _in_part: int = 0
    _under_way: deque[Future[WrittenPack]] = field(default_factory=deque)
    _done: list[WrittenPack] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = min(2 * (os.cpu_count() or 1), WORKERS)  # half of them wait for hosts
        self._workers = ThreadPoolExecutor(count, thread_name_prefix="pack")
        self._most = count + 1

    def add(self, chunks: Sequence[tuple[bytes, Data]]) -> list[ChunkRun]:
        """Take chunks, by name and bytes; return where they will be, in order."""
        found, at = [], 0
        while at < len(chunks):
            first = at
            while at < len(chunks) and self._size < PACK:
                self._size += len(chunks[at][1])
                at += 1
            self._chunks += chunks[first:at]
            part = f"{self.save}.{self.within}{self._packs // IN_PART}"
            found.append(ChunkRun(part, self._in_part, at - first))
            self._in_part += at - first
            if self._size >= PACK:
                self._close_pack()
        return found

    def finish(self) -> None:
        """Wait until all is stored, with the directories. Raises HostError where too little of a
        pack could be."""
        if self._chunks:
            self._close_pack()
        self._settle(0)
        self._close_part()

    def close(self) -> None:
        """End the workers; what is under way is finished."""
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _close_pack(self) -> None:
        chunks, number = self._chunks, self._packs
        self._chunks, self._size = [], 0
        self._packs += 1
        self._under_way.append(self._workers.submit(self._write, chunks, number))
        if self._packs % IN_PART == 0:
            self._in_part = 0
        self._settle(self._most)

    def _settle(self, most: int) -> None:
        """Wait until at most so many packs are under way."""
        while len(self._under_way) > most or (self._under_way and self._under_way[0].done()):
            one = self._under_way.popleft().result()
            self._done.append(one)
            here = sum(number != NOBODY for number in one.hosts)
            self.missing = max(self.missing, self.how.code.pieces - here)
            lost = losses(one.hosts, self.how.code.data)
            self.losses = lost if self.losses is None else min(self.losses, lost)
            self.kept += one.length
            self.stored += here * -(-one.length // self.how.code.data)
            self.tell(self.stored)
            if len(self._done) == IN_PART:
                self._close_part()

    def _close_part(self) -> None:
        if not self._done:
            return
        name = f"{self.save}.{self.within}{len(self.parts)}"
        made = Directory.of(name, self.how.code, self.pool.names, self._done)
        self.pool.put_everywhere(DIRECTORIES + name, self.how.envelope(made), self.how.copies)
        self.parts.append(name)
        self._done = []

    def _write(self, chunks: list[tuple[bytes, Data]], number: int) -> WrittenPack:
        how = self.how
        pack = pack_of(chunks, compression=how.compression, seal=how.seal)
        chunks.clear()
        pieces = how.code.encode(pack.stored)
        length = len(pack.stored)
        hosts = list(how.place(number))
        spare = [k for k in self.pool.by_speed() if k not in hosts]
        begun = {}
        for place, piece in enumerate(pieces):
            data = stored_parts(how.code, place, length, pack.name, piece)
            begun[place] = (self._put(hosts[place], pack.name, place, data), data)
        wrong: list[HostError] = []
        for place, (one, data) in begun.items():
            while (error := _failed(one)) is not None:
                wrong.append(error)
                if not spare:
                    hosts[place] = NOBODY
                    break
                hosts[place] = spare.pop(0)
                one = self._put(hosts[place], pack.name, place, data)
        if sum(one != NOBODY for one in hosts) < how.least:
            here = sum(one != NOBODY for one in hosts)
            why = str(wrong[-1]).removeprefix(f"{wrong[-1].host}: ")
            raise HostError(
                wrong[-1].host, f"{why}; {here} of {len(hosts)} pieces of a pack found a host, at "
                f"least {how.least} must", wrong[-1].number,
            )  # fmt: skip
        return WrittenPack(pack.name, pack.chunks, length, tuple(hosts))

    def _put(self, host: int, pack: bytes, place: int, data: Sequence[Data]) -> Future[None]:
        return self.pool.put(host, fragment_key(self.save, pack, place), data)


def _failed(one: Future[None]) -> HostError | None:
    """Return what was wrong with a request; an error of another kind is raised."""
    wait([one])
    error = one.exception()
    if error is not None and not isinstance(error, HostError):
        raise error
    return error
