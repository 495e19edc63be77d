"""Lists of chunks of several ranks made one, and who of those that have a chunk writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools
from forestall.vaults.packs import NAME
from forestall.vaults.ranks.states import Piece

Names = npt.NDArray[np.void]
_KIND = np.dtype((np.void, NAME))
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class NameList:
    """Chunks, each once.

    Attributes
    ----------
    names : shape (chunks,), 32 bytes each
    lengths : of each, bytes
    holders : of each, how many ranks have it
    """

    names: Names
    lengths: npt.NDArray[np.uint32]
    holders: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, names: bytes, lengths: Sequence[int]) -> tuple[Self, npt.NDArray[np.int64]]:
        """Return the chunks of one rank, named one behind the other, and of each its place in the
        list; in the order in which they first come."""
        every = np.frombuffer(names, _KIND)
        _, first, which = np.unique(every, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        chosen = first[order]
        found = cls(every[chosen], np.array(lengths, np.uint32)[chosen],
                    np.ones(len(chosen), np.uint32))  # fmt: skip
        return found, rank[which.reshape(-1)]

    def message(self) -> dict[str, Piece]:
        """Return it as it is sent."""
        return {"names": self.names.tobytes(), "lengths": self.lengths, "holders": self.holders}

    @classmethod
    def from_message(cls, told: dict[str, Any]) -> Self:
        """Return what was sent."""
        return cls(np.frombuffer(told["names"], _KIND), told["lengths"], told["holders"])


@dataclass(frozen=True)
class Merged:
    """Several lists as one.

    Attributes
    ----------
    whole : the one list, in the order of names
    places : of each list, the place of each of its chunks in it
    chosen : of each list, whether it is the one whose chunk would be written
    """

    whole: NameList
    places: tuple[npt.NDArray[np.int64], ...]
    chosen: tuple[Bools, ...]


def merged(lists: Sequence[NameList], place: int = 0) -> Merged:
    """Return lists as one; `place` is that of the tree where this is done.

    Of the lists that have a chunk one is chosen by chance that its name decides, in proportion to
    the ranks below it that have the chunk: each rank gets its share, and the same lists at the same
    place give the same choice.
    """
    names = np.concatenate([one.names for one in lists])
    holders = np.concatenate([one.holders for one in lists])
    lengths = np.concatenate([one.lengths for one in lists])
    source = np.repeat(np.arange(len(lists)), [len(one.names) for one in lists])
    found, first, which = np.unique(names, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    rank = (
        -np.log(_draw(names, source + np.int64(place << 32))) / holders
    )  # the least of such is each's share of the time
    order = np.lexsort((rank, which))
    best = np.zeros(len(names), np.bool_)
    best[order[np.flatnonzero(np.diff(which[order], prepend=-1))]] = True
    total = np.bincount(which, weights=holders, minlength=len(found)).astype(np.uint32)
    ends = np.cumsum([len(one.names) for one in lists])[:-1]
    return Merged(
        NameList(found, lengths[first], total),
        tuple(np.split(which, ends)), tuple(np.split(best, ends)),
    )  # fmt: skip


def _draw(names: Names, source: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return a number from 0 to 1 of each chunk in each list, made from its name: names are hashes,
    and so as good as drawn. Each place of the tree draws anew."""
    words = np.frombuffer(names.tobytes(), np.uint64).reshape(-1, NAME // 8)[:, 0]
    with np.errstate(over="ignore"):
        mixed = (words ^ (source.astype(np.uint64) + np.uint64(1)) * _MIX) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / float(1 << 53)
