"""What of earlier packs lies on the hosts now, by what is seen there and not by what a save once
wrote: pieces are listed, their lengths compared, and a few of each host's read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from forestall.vaults import keys
from forestall.vaults.hosts.host import AbsentError, HostError
from forestall.vaults.layouts import losses
from forestall.vaults.manifests import NOBODY, Directory
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pieces.fragments import OVERHEAD, DamagedError, Fragment
from forestall.vaults.pool import HostPool

SAMPLE: Final = 2
"""Pieces of each host that a save reads, of those it relies on."""
AT_ONCE: Final = 8
"""Pieces in memory, where all of a host's are read since one of the sample was damaged."""


class _Piece(NamedTuple):
    key: str
    pack: bytes
    place: int
    size: int


@dataclass(frozen=True)
class WantedSafety:
    """What a pack must survive to be relied on.

    Attributes
    ----------
    whole : lost hosts, any, once all hosts are there
    now : as many as a pack survives that is written now, without the hosts that are away
    strict : whether all its pieces must be there
    """

    whole: int
    now: int
    strict: bool = False


def wanted_safety(pool: HostPool, code: Code, *, strict: bool) -> WantedSafety:
    """Return what packs of a code survive on these hosts."""
    count = len(pool.hosts)
    away = {number for number, seen in enumerate(pool.seen) if seen.said}
    worst = []
    for first in range(count):
        placed = [(first + k) % count for k in range(code.pieces)]
        spare = [k for k in range(count) if k not in placed and k not in away]
        here = [k if k not in away else (spare.pop() if spare else NOBODY) for k in placed]
        worst.append(losses(here, code.data))
    whole = min(losses([(first + k) % count for k in range(code.pieces)], code.data)
                for first in range(count))  # fmt: skip
    return WantedSafety(whole, min(worst), strict)


@dataclass
class SeenPacks:
    """The pieces of packs that are on hosts.

    Parameters
    ----------
    pool : the hosts that are looked at
    directories : of the packs
    seed : of the draw of pieces that are read
    """

    pool: HostPool
    directories: Sequence[Directory]
    seed: int
    _there: dict[str, dict[int, int]] = field(default_factory=dict)
    _copies: dict[str, int] = field(default_factory=dict)
    _away: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        pool = self.pool
        self._away = {one.store for one in pool.away}
        for save in sorted({keys.save_of(one.name) for one in self.directories}):
            there, wrong = pool.keys(f"{keys.PACKS}{save}/")
            self._there |= there
            self._away |= {pool.names[number] for number in wrong}
        copies, _ = pool.keys(keys.DIRECTORIES)
        for key, on in copies.items():
            usual = max(on.values(), key=list(on.values()).count)
            self._copies[key] = sum(size == usual for size in on.values())
        self._drop_short()
        self._drop_damaged()

    def usable(
        self, directory: Directory, wanted: WantedSafety, going: frozenset[str]
    ) -> dict[bytes, int]:
        """Return the packs of a directory that can be relied on and will stay, and for each how
        many hosts, any, may be lost by what is seen of it."""
        save, found = keys.save_of(directory.name), dict[bytes, int]()
        code, copies = directory.code, self._copies.get(keys.DIRECTORIES + directory.name, 0)
        least = code.pieces if wanted.strict else code.data + min(code.parity, 1)
        for number in range(len(directory.packs)):
            name = directory.packs[number].tobytes()
            hosts, away = self._hosts(directory, number)
            here = sum(one != NOBODY for one in hosts)
            if f"{save}/{name.hex()}" in going or here < least:
                continue
            now = min(losses(hosts, code.data), copies - 1)
            back = [far if one == NOBODY else one for one, far in zip(hosts, away, strict=True)]
            then = min(losses(back, code.data), copies + len(self._away) - 1)
            if now >= wanted.now or then >= wanted.whole:
                found[name] = now
        return found

    def _hosts(self, directory: Directory, number: int) -> tuple[list[int], list[int]]:
        """Return for each piece of a pack a host that has it, NOBODY where none does; and for each
        the number of the host that may, since it is away and is where the piece belongs."""
        numbers, save = self.pool.numbers, keys.save_of(directory.name)
        name = directory.packs[number].tobytes()
        hosts, away = [], []
        for place, home in enumerate(directory.placed[number].tolist()):
            on = self._there.get(keys.fragment_key(save, name, place), {})
            named = directory.hosts[home] if home != NOBODY else ""
            first = numbers.get(named)
            hosts.append(first if first in on else min(on, default=NOBODY))
            away.append(first if first is not None and named in self._away else NOBODY)
        return hosts, away

    def _pieces(self) -> Iterator[_Piece]:
        for directory in self.directories:
            save, code = keys.save_of(directory.name), directory.code
            for number, length in enumerate(directory.lengths.tolist()):
                name = directory.packs[number].tobytes()
                for place in range(code.pieces):
                    key = keys.fragment_key(save, name, place)
                    yield _Piece(key, name, place, OVERHEAD + code.piece_size(place, length))

    def _drop_short(self) -> None:
        """Leave out pieces that have another length than they were written with."""
        for piece in self._pieces():
            on = self._there.get(piece.key, {})
            for number in [host for host, size in on.items() if size != piece.size]:
                del on[number]

    def _drop_damaged(self) -> None:
        """Leave out pieces that are not what was stored: of each host a sample is read, and all of
        them where one of these is damaged."""
        chance = np.random.default_rng(self.seed)
        on_host: dict[int, list[_Piece]] = {}
        for piece in self._pieces():
            for number in self._there.get(piece.key, {}):
                on_host.setdefault(number, []).append(piece)
        drawn = {
            number: [pieces[k] for k in chance.permutation(len(pieces))[:SAMPLE].tolist()]
            for number, pieces in sorted(on_host.items())
        }
        begun = [(number, piece, self._fetch(number, piece))
                 for number, pieces in drawn.items() for piece in pieces]  # fmt: skip
        doubtful = {
            number for number, piece, one in begun if not self._is_whole(number, piece, one)
        }
        for number in sorted(doubtful):
            for at in range(0, len(on_host[number]), AT_ONCE):
                some = on_host[number][at : at + AT_ONCE]
                for piece, one in [(piece, self._fetch(number, piece)) for piece in some]:
                    self._is_whole(number, piece, one)

    def _fetch(self, number: int, piece: _Piece) -> Future[Fragment]:
        return self.pool.fragment(number, piece.key, piece.pack, piece.place)

    def _is_whole(self, number: int, piece: _Piece, fetched: Future[Fragment]) -> bool:
        """Whether a piece is what was stored; if not, it is left out. That of a host that does not
        answer is away."""
        try:
            fetched.result()
        except (AbsentError, DamagedError):
            self._there[piece.key].pop(number, None)
            return False
        except HostError:
            self._there[piece.key].pop(number, None)
            self._away.add(self.pool.names[number])
        return True
