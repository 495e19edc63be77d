"""Packs back from the hosts: any m pieces are enough, the fastest hosts' first, and where one lets
wait for it another is asked beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Final

from forestall.vaults import keys
from forestall.vaults.hosts.host import AbsentError, HostError
from forestall.vaults.manifests import NOBODY, WrittenPack
from forestall.vaults.packs import name_of, opened
from forestall.vaults.pieces.codes import Code, Data
from forestall.vaults.pieces.fragments import DamagedError, Fragment
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault

HEDGE: Final = 1.0
"""s after which a piece that has not come is asked for elsewhere, too."""
DECODED: Final = 1e8
"""Bytes/s at which a pack counts as made from pieces that are not all its data: for one of parity a
host must be that much faster. It is quicker, but takes the processor from all else."""


@dataclass
class Fetch:
    """A pack on its way. Pieces that are damaged or lost are told in `wrong`, by place.

    Parameters
    ----------
    save : which wrote it
    """

    vault: Vault
    save: str
    code: Code
    hosts: tuple[str, ...]
    pack: WrittenPack
    wrong: dict[int, str] = field(default_factory=dict)
    pieces: dict[int, Fragment] = field(default_factory=dict)
    _found: dict[int, int] = field(default_factory=dict)
    _asked: dict[Future[Fragment], tuple[int, int]] = field(default_factory=dict)
    _tried: set[tuple[int, int]] = field(default_factory=set)

    def begin(self) -> None:
        """Ask the fastest hosts for m pieces."""
        for _ in range(self.code.data):
            self._ask_one()

    def wanted(self, wanted: Sequence[int] | None = None) -> dict[int, Data]:
        """Wait for the pack; return its chunks, or those that are wanted, by their places in it.

        Raises LostError where too few pieces are left.
        """
        while True:
            self._gather(self.code.data)
            for chosen in self.code.ways(set(self.pieces)):
                found = self._opened(chosen, wanted)
                if found is not None:
                    return found
            # Pieces that each are whole and together are not: one is of another make.
            self._gather(len(self.pieces) + 1)

    def all_pieces(self) -> None:
        """Fetch all pieces that there are, whatever is wrong with the others."""
        while self._ask_one() or self._asked:
            while self._ask_one():
                pass
            self._take(wait(self._asked, return_when=FIRST_COMPLETED).done)

    def _opened(
        self, chosen: tuple[int, ...], wanted: Sequence[int] | None
    ) -> dict[int, Data] | None:
        """Return chunks from these pieces; None where they are not what their names say, and these
        tell as much as the pack's would."""
        try:
            body, vault = self._decoded(chosen), self.vault
            return dict(opened(self.pack.chunks, body, vault.name_of, vault.unsealing, wanted))
        except ValueError:
            return None

    def body(self) -> list[Data] | None:
        """Return what is stored of the pack, in parts, from any pieces that fit together; None
        where that is not what its name says."""
        for way in self.code.ways(set(self.pieces)):
            try:
                body = self._decoded(way)
            except ValueError:
                continue
            if name_of(self.pack.chunks, body) == self.pack.name:
                return body
        return None

    def _decoded(self, chosen: tuple[int, ...]) -> list[Data]:
        """Return what these pieces make together. Raises ValueError where they cannot."""
        return self.code.decode({k: self.pieces[k].piece for k in chosen}, self.pack.length)

    def _gather(self, count: int) -> None:
        """Wait until so many pieces are there, asking for others as some do not come."""
        while len(self.pieces) < count:
            while len(self.pieces) + len(self._asked) < count and self._ask_one():
                pass
            if not self._asked:
                left = len(self.pieces)
                told = "; ".join(f"piece {k}: {why}" for k, why in sorted(self.wrong.items()))
                raise LostError(
                    f"{left} of the {self.code.pieces} pieces of pack {self.pack.name.hex()[:12]} "
                    f"are intact, {self.code.data} are needed ({told or 'no others'})"
                )
            done, waits = wait(self._asked, HEDGE, FIRST_COMPLETED)
            self._take(done)
            if not done and waits:
                self._ask_one()  # a hedge

    def _take(self, done: set[Future[Fragment]]) -> None:
        for one in done:
            place, host = self._asked.pop(one)
            try:
                self.pieces[place] = one.result()
                self._found[place] = host
                self.wrong.pop(place, None)
            except AbsentError:
                self.wrong.setdefault(place, f"not on {self.vault.pool.hosts[host].name}")
            except (HostError, DamagedError) as error:
                told = str(error) if isinstance(error, HostError) else (
                    f"{self.vault.pool.hosts[host].name}: {error}")  # fmt: skip
                self.wrong[place] = told

    def _ask_one(self) -> bool:
        """Ask for a piece that is neither there nor under way, of the fastest host that has one."""
        under_way = {place for place, _ in self._asked.values()}
        best = None
        expected = [self.vault.pool.expected(k) for k in range(len(self.vault.pool.hosts))]
        for place, host in self._candidates():
            if place in self.pieces or place in under_way or (place, host) in self._tried:
                continue
            away, each = expected[host]
            each += 0 if place < self.code.data else self.code.data / DECODED
            rank = (host != self.home(place), away, each, place, host)
            if best is None or rank < best[0]:
                best = rank, place, host
        if best is None:
            return False
        _, place, host = best
        self._tried.add((place, host))
        key = keys.fragment_key(self.save, self.pack.name, place)
        asked = self.vault.pool.fragment(host, key, self.pack.name, place)
        self._asked[asked] = place, host
        return True

    def _candidates(self) -> Iterator[tuple[int, int]]:
        """Yield where pieces may be: at home; else anywhere, since hosts are known by their names
        and a repair may have put one elsewhere."""
        for place in range(self.code.pieces):
            for host in range(len(self.vault.pool.hosts)):
                yield place, host

    def found_on(self) -> set[int]:
        """Return the numbers of the hosts that had a piece of the pack."""
        return set(self._found.values())

    def home(self, place: int) -> int | None:
        """Return the number of the host to which a piece belongs, None where it is not among the
        vault's now."""
        number = self.pack.hosts[place]
        if number == NOBODY or number >= len(self.hosts):
            return None
        return self.vault.pool.numbers.get(self.hosts[number])
