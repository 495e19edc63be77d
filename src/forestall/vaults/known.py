"""The chunks that a vault has already, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.vaults.manifests import Directory
from forestall.vaults.packs import NAME

_PLACE: Final = 32
"""Bits of a reference that are a chunk's place in its directory; those above number it."""
MOST: Final = 4_000_000
"""Chunks that are remembered of earlier saves: 64 GiB, in half a gigabyte of memory."""


class KnownChunks:
    """Where chunks are: for each name a directory, by its number, and a place in that."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self.directories: list[str] = []
        self._losses: dict[int, npt.NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def begin(self, directory: str) -> int:
        """Return the number of a directory whose chunks will be added one by one."""
        self.directories.append(directory)
        return len(self.directories) - 1

    def learn(self, directory: Directory, usable: Mapping[bytes, int]) -> None:
        """Take in the chunks of a directory that are in these packs, given with how many hosts may
        be lost of each, as long as there is room."""
        if len(self) + len(directory.plain) > MOST:
            return
        base = self.begin(directory.name) << _PLACE
        each = [usable.get(pack.tobytes(), -1) for pack in directory.packs]
        self._losses[base >> _PLACE] = np.repeat(np.array(each, np.int64), directory.counts)
        raw, firsts = directory.chunks.tobytes(), directory.firsts().tolist()
        for number in range(len(directory.lengths)):
            if directory.packs[number].tobytes() in usable:
                for place in range(firsts[number], firsts[number + 1]):
                    name = raw[NAME * place : NAME * (place + 1)]
                    self._places.setdefault(name, base + place)

    def losses(self, runs: npt.NDArray[np.uint32], most: int) -> int:
        """Return how many hosts, any, may be lost of earlier packs that these runs of chunks are
        in; at `most`."""
        for directory, first, length in runs.tolist():
            if directory in self._losses:
                most = min(most, int(self._losses[directory][first : first + length].min()))
        return most

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """Return the references to chunks, None for those that are new."""
        return list(map(self._places.get, names))

    def add(self, names: Iterable[bytes], directory: int, first: int) -> None:
        """Remember chunks that follow one another in a directory."""
        self._places.update(zip(names, count((directory << _PLACE) + first)))
