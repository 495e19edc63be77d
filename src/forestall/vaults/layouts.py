"""Layouts: into how many pieces a pack goes, how many of them are enough, and on which hosts they
lie. Erasure code, plain copies and the ring differ in nothing else.

Source: page "Cycle sharing", Checkpoint repository; Hacker and Meglicki, HPDC 2007, Section 7.1
(the ring).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

from forestall.core.model.errors import ParameterError
from forestall.vaults.manifests import NOBODY
from forestall.vaults.pieces.codes import Code

Kind = Literal["code", "copies", "ring"]
RING: Final = 3
"""Copies on a ring: a node's own, and one on each of its two neighbours."""
_EXPECTED: Final = "code, copies:N or ring:K, such as copies:3"


@dataclass(frozen=True)
class StoreLayout:
    """How the pieces of a checkpoint lie on storage hosts.

    Attributes
    ----------
    kind : ``code``, ``copies`` or ``ring``
    code : m + k
    hosts : how many there are
    home : on the ring the host of the machine that saves, from 0
    """

    kind: Kind
    code: Code
    hosts: int
    home: int = 0

    @classmethod
    def named(cls, text: str, hosts: int, coded: Code) -> Self:
        """Return a layout on so many hosts from text: ``code`` (then it is `coded`), ``copies:N``,
        or ``ring:K``, where the K-th host, from 1, is one's own. Raises ParameterError."""
        kind, colon, number = text.partition(":")
        if kind == "code" and not colon:
            return cls("code", coded, hosts)
        if kind not in ("copies", "ring") or not number.isdecimal() or int(number) < 1:
            raise ParameterError("layout", text, _EXPECTED)
        if kind == "copies":
            return cls("copies", Code(1, int(number) - 1), hosts)
        if int(number) > hosts:
            raise ParameterError("layout", text, f"one of {hosts} storage hosts")
        return cls("ring", Code(1, min(RING, hosts) - 1), hosts, int(number) - 1)

    @property
    def place(self) -> Callable[[int], tuple[int, ...]]:
        """From a pack's number to the hosts of its pieces: on the ring one's own and its
        neighbours, else hosts in turn, so that each gets as many."""
        if self.kind == "ring":
            ring = (self.home, *neighbours(self.home, self.hosts))
            return lambda number: ring
        count, pieces = self.hosts, self.code.pieces
        return lambda number: tuple((number + k) % count for k in range(pieces))

    def survives(self, missing: int = 0) -> int:
        """Return how many hosts, any, may be lost, where so many pieces of a pack found none."""
        pieces, hosts = self.code.pieces, self.hosts
        placed = [k % hosts for k in range(pieces)]
        return losses(placed, self.code.data + missing)


def losses(hosts: Sequence[int], data: int) -> int:
    """Return how many hosts, any, may be lost so that `data` pieces are left; -1 where fewer are
    there. `hosts` : the number of the host of each piece, NOBODY where none has it."""
    held = Counter(one for one in hosts if one != NOBODY)
    left, count = held.total() - data, 0
    if left < 0:
        return -1
    for number in sorted(held.values(), reverse=True):
        left -= number
        if left < 0:
            break
        count += 1
    return count


def told_code(data: int, parity: int) -> str:
    """Return m + k in words: ``3 + 2``, or ``3 copies``."""
    if data > 1:
        return f"{data} + {parity}"
    return "1 copy" if parity == 0 else f"{parity + 1} copies"


def neighbours(rank: int, size: int) -> tuple[int, ...]:
    """Return the neighbours of a rank on the ring: two, one, or none.

    >>> neighbours(0, 4), neighbours(0, 2), neighbours(0, 1)
    ((1, 3), (1,), ())
    """
    return tuple(sorted({(rank + 1) % size, (rank - 1) % size} - {rank}))
