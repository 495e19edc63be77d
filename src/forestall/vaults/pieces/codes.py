"""Redundancy: from a pack to m + k pieces of which any m give it back.

`Code(3, 2)` is a Reed-Solomon code (ISA-L, by pyeclib); m = 1 are plain copies. A neighbour ring
is m = 1 and k = 2, with the hosts chosen so: a node and its two neighbours.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.vaults.libraries import ECDriver, ECDriverError
from forestall.vaults.pieces.coders import HEAD, KIND, Coder, Data, Parts

__all__ = ["MOST", "Code", "Data", "Parts", "give_back", "keep_buffers"]

MOST: Final = 32
"""Pieces that a code has at most."""
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8  # of mallopt(3)
_ARENAS: Final = 1
_KEPT: Final = 1 << 30


@dataclass(frozen=True, order=True)
class Code:
    """How many pieces carry the data, and how many may be lost.

    Parameters
    ----------
    data : m, any so many pieces are enough
    parity : k, so many may be lost
    """

    data: int = 3
    parity: int = 2

    def __post_init__(self) -> None:
        if self.data < 1:
            raise ParameterError("data", self.data, "at least 1")
        if self.parity < 0:
            raise ParameterError("parity", self.parity, "at least 0")
        if self.pieces > MOST:
            raise ParameterError("data", self.data, f"at most {MOST} pieces in all")

    @property
    def pieces(self) -> int:
        """m + k."""
        return self.data + self.parity

    def encode(self, pack: bytes) -> list[Parts]:
        """Return the pieces of a pack, in order, each in parts that follow one another; some are
        views of the pack."""
        if self.data == 1:
            return [(pack,)] * self.pieces
        if self.parity == 0:
            return [(one,) for one in _cut(pack, self.data)]
        return _coder(self.data, self.parity).pieces(pack)

    def piece_size(self, place: int, length: int) -> int:
        """Return how many bytes a piece has of a pack of `length` bytes, at least 1."""
        size = -(-length // self.data)
        if self.data > 1 and self.parity:
            return HEAD + size  # pieces of data are filled up, so that parity fits
        return max(min(size, length - place * size), 0) if self.parity == 0 else length

    def decode(self, pieces: Mapping[int, Data], length: int) -> list[Data]:
        """Return the pack of `length` bytes, as parts that follow one another, from at least m of
        its pieces, by their places; parts of these where they carry the data.

        Raises ValueError where these are no pieces of one pack.
        """
        assert len(pieces) >= self.data
        chosen = sorted(pieces)[: self.data]
        if self.data == 1 or self.parity == 0:
            found = [pieces[k] for k in chosen]
        elif chosen == list(range(self.data)) and _is_plain(self):
            found = _first([memoryview(pieces[k])[HEAD:] for k in chosen], length)
        else:
            found = [_decoded(self, [pieces[k] for k in chosen])]
        if sum(map(len, found)) != length:
            raise ValueError(f"not the {length} bytes that were expected")
        return found

    def ways(self, places: set[int]) -> list[tuple[int, ...]]:
        """Return the sets of m of these pieces, all of data before those that need decoding."""
        return sorted(combinations(sorted(places), self.data))


def _first(parts: list[memoryview], length: int) -> list[Data]:
    """Return the first `length` bytes of parts: a pack's last pieces are filled up with zeros."""
    found: list[Data] = []
    for one in parts:
        found.append(one[:length])
        length -= len(found[-1])
    return found


@cache
def keep_buffers() -> None:
    """Keep large buffers in the process once they are free, in few places: asked for anew from the
    system each time, their pages would cost several times what the code does; and kept by each
    thread for itself, they would add up. Comes before the threads do."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(_MMAP_THRESHOLD, _KEPT)
            libc.mallopt(_TRIM_THRESHOLD, _KEPT)
            libc.mallopt(_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Give memory that is free between buffers back to the system: buffers of many sizes that come
    and go leave ever more of it."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)


def _decoded(code: Code, pieces: list[Data]) -> bytes:
    try:
        return bytes(_driver(code.data, code.parity).decode([bytes(one) for one in pieces]))
    except ECDriverError as error:
        raise ValueError(str(error)) from None


def _cut(pack: bytes, parts: int) -> list[memoryview]:
    size, whole = -(-len(pack) // parts), memoryview(pack)
    return [whole[k * size : (k + 1) * size] for k in range(parts)]


@cache
def _is_plain(code: Code) -> bool:
    """Whether the pieces of data are the pack as it is, behind heads of the library."""
    probe = bytes(range(251))
    pieces = _driver(code.data, code.parity).encode(probe)
    return b"".join(one[HEAD:] for one in pieces[: code.data])[: len(probe)] == probe


@cache
def _driver(data: int, parity: int) -> ECDriver:
    """Return the library's coder."""
    keep_buffers()
    return ECDriver(k=data, m=parity, ec_type=KIND)


@cache
def _coder(data: int, parity: int) -> Coder:
    """Return what makes pieces; its tables are made once."""
    return Coder(_driver(data, parity), data, parity)
