"""What a checkpoint is made of: a manifest, and the directories of the packs that it refers to.

A directory tells which packs a save wrote, on which hosts their pieces lie, and which chunks are in
them. A manifest tells the files, and for each the chunks it is made of, as places in directories:
its own and those of saves before it. So nothing is said twice, and a manifest of files that did not
change is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from forestall.vaults.codes import Code
from forestall.vaults.envelopes import Content
from forestall.vaults.fragments import DamagedError
from forestall.vaults.keys import manifest_key
from forestall.vaults.packs import NAME, Counts, PackedChunks

Bytes = npt.NDArray[np.uint8]
NOBODY: Final = 0xFFFF
"""In place of a host's number, for a piece that no host has."""


class WrittenPack(NamedTuple):
    """A pack as a directory has it: name, chunks, length of what is stored, and for each place of
    its code the number of the host that has the piece, among the directory's hosts."""

    name: bytes
    chunks: PackedChunks
    length: int
    hosts: tuple[int, ...]


@dataclass(frozen=True)
class Directory:
    """Packs that a save wrote, in order.

    Attributes
    ----------
    name : ``SAVE.PART``
    code : of its packs
    hosts : names of hosts
    packs : shape (packs, 32): their names
    lengths, counts : of each pack: bytes stored, and number of chunks
    placed : shape (packs, m + k): numbers of hosts
    chunks : shape (chunks, 32): names
    plain, stored : of each chunk: its length, and bytes in its pack
    """

    name: str
    code: Code
    hosts: tuple[str, ...]
    packs: Bytes
    lengths: Counts
    counts: Counts
    placed: npt.NDArray[np.uint16]
    chunks: Bytes
    plain: Counts
    stored: Counts

    @classmethod
    def of(cls, name: str, code: Code, hosts: Sequence[str], packs: Sequence[WrittenPack]) -> Self:
        """Return the directory of packs."""
        return cls(
            name, code, tuple(hosts),
            _names(pack.name for pack in packs),
            np.array([pack.length for pack in packs], np.uint32),
            np.array([len(pack.chunks.plain) for pack in packs], np.uint32),
            np.array([pack.hosts for pack in packs], np.uint16).reshape(-1, code.pieces),
            _names(pack.chunks.names for pack in packs),
            np.concatenate([pack.chunks.plain for pack in packs]),
            np.concatenate([pack.chunks.stored for pack in packs]),
        )  # fmt: skip

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the directory in an envelope. Raises DamagedError where it is none."""
        try:
            told, arrays = content
            code = Code(*map(int, told["code"]))
            made = cls(
                str(told["name"]), code, tuple(map(str, told["hosts"])),
                *(arrays[one] for one in _ARRAYS),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedError(f"it is no directory: {error}") from None
        count, chunks = len(made.lengths), len(made.plain)
        shapes = {
            "packs": (count, NAME), "counts": (count,), "placed": (count, code.pieces),
            "chunks": (chunks, NAME), "stored": (chunks,),
        }  # fmt: skip
        if any(getattr(made, name).shape != shape for name, shape in shapes.items()):
            raise DamagedError("the arrays of a directory do not fit together")
        known = (made.placed < len(made.hosts)) | (made.placed == NOBODY)
        if int(made.counts.sum()) != chunks or not known.all():
            raise DamagedError("a directory names what it does not have")
        return made

    def content(self) -> Content:
        """Return what goes into an envelope."""
        told = {"name": self.name, "code": [self.code.data, self.code.parity],
                "hosts": list(self.hosts)}  # fmt: skip
        return Content(told, {one: getattr(self, one) for one in _ARRAYS})

    def firsts(self) -> npt.NDArray[np.int64]:
        """Return the place of each pack's first chunk, and behind them the number of chunks."""
        return np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))

    def pack(self, number: int, first: int) -> WrittenPack:
        """Return a pack, of which the `first` chunk has that place."""
        span = slice(first, first + int(self.counts[number]))
        chunks = PackedChunks(self.chunks[span].tobytes(), self.plain[span], self.stored[span])
        name = self.packs[number].tobytes()
        hosts = tuple(self.placed[number].tolist())
        return WrittenPack(name, chunks, int(self.lengths[number]), hosts)


_ARRAYS: Final = ("packs", "lengths", "counts", "placed", "chunks", "plain", "stored")


@dataclass(frozen=True)
class SavedEntry:
    """A file, folder or link of a checkpoint.

    Attributes
    ----------
    path : below the folder that it is restored to, parts joined by slashes
    kind : ``file``, ``folder`` or ``link``
    mode : rights; `changed` : ns since 1970
    size, first, count : of a file: bytes, and its chunks among the checkpoint's
    target : of a link
    """

    path: str
    kind: str
    mode: int
    changed: int
    size: int = 0
    first: int = 0
    count: int = 0
    target: str = ""


@dataclass(frozen=True)
class Manifest:
    """A checkpoint.

    Attributes
    ----------
    name : of the checkpoint
    at : when it was complete, s since 1970
    label : versions of one thing have one label
    code : of what was written for it
    directories : names of those that its chunks are in
    runs : shape (runs, 3): numbers of directories, first chunk there, how many from there on
    entries : files, folders and links
    figures : bytes read, new, stored; and what else is counted
    move : after which it is so, where chunks of it were moved since it was saved
    """

    name: str
    at: int
    label: str
    code: Code
    directories: tuple[str, ...]
    runs: npt.NDArray[np.uint32]
    entries: tuple[SavedEntry, ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    move: str = ""

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the manifest in an envelope. Raises DamagedError where it is none."""
        try:
            told, arrays = content
            made = cls(
                str(told["name"]), int(told["at"]), str(told["label"]),
                Code(*map(int, told["code"])), tuple(map(str, told["directories"])),
                arrays["runs"], tuple(SavedEntry(**one) for one in told["entries"]),
                {str(name): float(value) for name, value in told["figures"].items()},
                str(told.get("move", "")),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedError(f"it is no manifest: {error}") from None
        if made.runs.ndim != 2 or made.runs.shape[1] != 3:
            raise DamagedError("the runs of a manifest are none")
        if len(made.runs) and made.runs[:, 0].max() >= len(made.directories):
            raise DamagedError("a manifest names what it does not have")
        return made

    def content(self) -> Content:
        """Return what goes into an envelope."""
        told: dict[str, Any] = {
            "name": self.name, "at": self.at, "label": self.label,
            "code": [self.code.data, self.code.parity], "directories": list(self.directories),
            "entries": [asdict(one) for one in self.entries], "figures": dict(self.figures),
        }  # fmt: skip
        if self.move:
            told["move"] = self.move
        return Content(told, {"runs": self.runs})

    @property
    def key(self) -> str:
        """The key under which it lies on the hosts."""
        return manifest_key(self.name, self.move)

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(one.size for one in self.entries)


def runs_of(references: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """Return chunks, each as 2^32 times its directory's number and its place there, as runs of such
    that follow one another."""
    if not len(references):
        return np.zeros((0, 3), np.uint32)
    begins = np.concatenate(([0], np.flatnonzero(np.diff(references) != 1) + 1))
    counts = np.diff(np.concatenate((begins, [len(references)])))
    first = references[begins]
    return np.stack([first >> np.uint64(32), first & np.uint64(0xFFFFFFFF), counts], 1).astype(
        np.uint32
    )


def only_used(
    runs: npt.NDArray[np.uint32], directories: Sequence[str]
) -> tuple[npt.NDArray[np.uint32], tuple[str, ...]]:
    """Return runs, and the directories that they need, numbered anew."""
    used, renamed = np.unique(runs[:, 0], return_inverse=True)
    found = runs.copy()
    found[:, 0] = renamed.reshape(-1)
    return found, tuple(directories[k] for k in used.tolist())


def references_of(runs: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return the chunks of runs one by one, as `runs_of` takes them."""
    if not len(runs):
        return np.zeros(0, np.uint64)
    counts = runs[:, 2].astype(np.int64)
    first = (runs[:, 0].astype(np.uint64) << np.uint64(32)) + runs[:, 1]
    before = np.concatenate(([0], np.cumsum(counts)[:-1]))
    steps = np.arange(counts.sum()) - np.repeat(before, counts)
    found: npt.NDArray[np.uint64] = np.repeat(first, counts) + steps.astype(np.uint64)
    return found


def _names(names: Iterable[bytes]) -> Bytes:
    return np.frombuffer(b"".join(names), np.uint8).reshape(-1, NAME)
