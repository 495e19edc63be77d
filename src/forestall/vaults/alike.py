"""How alike files are, before anything is stored: what a vault would share, by size of chunks.

Each path stands for a rank of a program, or for a version of its checkpoint. A chunk that a path
had already is equal within it; one that an earlier path had, and this one had not, is equal across
paths; all others are stored.

Source: slides of Ren and Bagchi on FGCS, ongoing work: which applications it suits, by similarity
measured first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from forestall.core.model.errors import of_system
from forestall.vaults.chunks import KIB, WINDOW, Cutting, cut_stream
from forestall.vaults.libraries import zstandard
from forestall.vaults.trees.sources import check_paths, sources

CUTTINGS: Final = (
    *(Cutting("content", KIB << k) for k in (2, 4, 6, 8)),
    Cutting("blocks", 4 * KIB),
)
"""Content-defined chunks of 4, 16, 64 and 256 KiB, and pages."""
_LEVEL: Final = 1
_ALIKE, _SOME = 0.5, 0.9


@dataclass
class Sharing:
    """What sharing chunks cut in one way would save, bytes.

    Attributes
    ----------
    within, across : that are equal within a path, and across paths
    unique : that are left to be stored, and `stored` of these once compressed, chunk by chunk
    """

    cutting: Cutting
    within: int = 0
    across: int = 0
    unique: int = 0
    stored: int = 0


@dataclass(frozen=True)
class Similarity:
    """How alike paths are.

    Attributes
    ----------
    paths : how many
    size : their bytes
    each : bytes when each file is compressed by itself (zstd level 1)
    by_cutting : what sharing would save
    """

    paths: int
    size: int
    each: int
    by_cutting: tuple[Sharing, ...]

    @property
    def best(self) -> Sharing:
        """The way to cut that stores least."""
        return min(self.by_cutting, key=lambda one: one.stored)

    @property
    def ratio(self) -> float:
        """Bytes stored with the best way to cut, of those when each file is compressed by itself;
        1 where there are none."""
        return self.best.stored / self.each if self.each else 1.0

    @property
    def suits(self) -> str:
        """Whether sharing is worth it: ``well`` (at most half the bytes), ``somewhat`` (at most
        nine tenths), or ``hardly``."""
        return "well" if self.ratio <= _ALIKE else "somewhat" if self.ratio <= _SOME else "hardly"


def similarity(
    paths: Sequence[Path],
    cuttings: Sequence[Cutting] = CUTTINGS,
    *,
    tell: Callable[[int], None] = lambda read: None,
) -> Similarity:
    """Return how alike paths are; files and folders, of which nothing is kept but names of chunks.

    `tell` is told the bytes read so far, of all passes. Raises as `forestall.vaults.saving.save`.
    """
    check_paths(paths)
    found = [Sharing(one) for one in cuttings]
    everywhere: list[set[bytes]] = [set() for _ in cuttings]
    size = each = read = 0
    for path in paths:
        here: list[set[bytes]] = [set() for _ in cuttings]
        for source in sources([path], {}):
            if source.entry.kind != "file":
                continue
            length, small = _compressed(source.path)
            size, each, read = size + length, each + small, read + length
            for one, mine, known in zip(found, here, everywhere, strict=True):
                _cut(source.path, one, mine, known)
                read += length
                tell(read)
        for mine, known in zip(here, everywhere, strict=True):
            known |= mine
    return Similarity(len(paths), size, each, tuple(found))


def _cut(path: Path, into: Sharing, here: set[bytes], everywhere: set[bytes]) -> None:
    """Count the chunks of a file."""
    shrink = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=False, write_checksum=False)
    with of_system(path, "cannot be read"), path.open("rb") as file:
        for cuts in cut_stream(file, into.cutting):
            for name, data in zip(*cuts, strict=True):
                if name in here:
                    into.within += len(data)
                    continue
                here.add(name)
                if name in everywhere:
                    into.across += len(data)
                else:
                    into.unique += len(data)
                    into.stored += min(len(shrink.compress(data)), len(data))


def _compressed(path: Path) -> tuple[int, int]:
    """Return the bytes of a file, and of it compressed by itself."""
    size = small = 0
    with of_system(path, "cannot be read"), path.open("rb") as file:
        shrink = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
        while data := file.read(WINDOW):
            size += len(data)
            small += len(shrink.compress(data))
        small += len(shrink.flush())
    return size, small
