"""What a checkpoint is made of: a manifest, and the directories of the packs that it refers to.

A directory tells which packs a save wrote, on which hosts their pieces lie, and which chunks are in
them. A manifest tells the files, and for each the chunks it is made of, as places in directories:
its own and those of saves before it. So nothing is said twice, and a manifest of files that did not
change is small.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.files.records import refused
from forestall.vaults.envelopes import Content
from forestall.vaults.keys import manifest_key
from forestall.vaults.packs import NAME, Counts, PackedChunks
from forestall.vaults.pieces.codes import MOST, Code
from forestall.vaults.trees.entries import SavedEntry, entries_of, stored_entries

Bytes = npt.NDArray[np.uint8]
NOBODY: Final = 0xFFFF
"""In place of a host's number, for a piece that no host has."""
_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,99}")


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
        """Return the directory in an envelope. Raises ParameterError where it is none."""
        held = content.held
        code, hosts = _code(held), held.texts("hosts")
        lengths = held.array("lengths", np.uint32, None)
        plain = held.array("plain", np.uint32, None)
        made = cls(
            _checked_name(held, "name"), code, hosts,
            held.array("packs", np.uint8, len(lengths), NAME), lengths,
            held.array("counts", np.uint32, len(lengths)),
            held.array("placed", np.uint16, len(lengths), code.pieces),
            held.array("chunks", np.uint8, len(plain), NAME), plain,
            held.array("stored", np.uint32, len(plain)),
        )  # fmt: skip
        known = (made.placed < len(hosts)) | (made.placed == NOBODY)
        held.hold("hosts", len(set(hosts)) == len(hosts) < NOBODY, "hosts, each once")
        held.hold("placed", known.all(), f"numbers of {len(hosts)} hosts")
        chunks = int(made.counts.sum(dtype=np.int64))
        held.hold("counts", chunks == len(plain), f"{len(plain)} chunks in all")
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
    remarks : what is not in it as it was: paths, as they are shown, by why
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
    remarks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the manifest in an envelope. Raises ParameterError where it is none."""
        held = content.held
        names = held.texts("directories")
        runs = held.array("runs", np.uint32, None, 3)
        figures = held.part("figures")
        made = cls(
            held.text("name"), held.whole("at"), held.text("label"), _code(held),
            tuple(_directory("directories", one) for one in names), runs, entries_of(held),
            {one: figures.number(one) for one in figures.values},
            _checked_name(held, "move") if "move" in held.values else "",
            _remarks(held),
        )  # fmt: skip
        here = not len(runs) or runs[:, 0].max() < len(names)
        held.hold("runs", here, f"numbers of {len(names)} directories")
        chunks, told = int(runs[:, 2].sum(dtype=np.int64)), sum(one.count for one in made.entries)
        held.hold("entries", chunks == told, f"files of {chunks} chunks in all")
        return made

    def content(self) -> Content:
        """Return what goes into an envelope."""
        told: dict[str, Any] = {
            "name": self.name, "at": self.at, "label": self.label,
            "code": [self.code.data, self.code.parity], "directories": list(self.directories),
            "figures": dict(self.figures), "remarks": dict(self.remarks),
        }  # fmt: skip
        told["entries"], arrays = stored_entries(self.entries)
        if self.move:
            told["move"] = self.move
        return Content(told, {"runs": self.runs, **arrays})

    @property
    def key(self) -> str:
        """The key under which it lies on the hosts."""
        return manifest_key(self.name, self.move)

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(one.size for one in self.entries)


def _remarks(held: Held) -> dict[str, tuple[str, ...]]:
    remarks = held.part("remarks") if "remarks" in held.values else Held({})
    return {why: remarks.texts(why) for why in remarks.values}


def _code(held: Held) -> Code:
    return Code(*(Held({"code": one}).whole("code", 0, MOST) for one in held.listed("code", 2)))


def _checked_name(held: Held, name: str) -> str:
    """Return a value that is the name of a directory or move, and so part of keys."""
    return _directory(name, held.text(name))


def _directory(name: str, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise refused(name, value, "letters, digits, dots and hyphens")
    return value


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
