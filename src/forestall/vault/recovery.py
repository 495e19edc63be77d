"""Recovery: a checkpoint's files, made anew from any m pieces of each pack and checked chunk by
chunk; they appear under their folder all at once, or not at all."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.model.errors import InputError, UnwritableError
from forestall.vault.fetching import Fetch
from forestall.vault.keys import save_of
from forestall.vault.manifests import Directory, Manifest, references_of
from forestall.vault.pool import LostError
from forestall.vault.repository import Vault
from forestall.vault.sources import checked_entries, finish, make_folders

AHEAD: Final = 4
"""Packs that are fetched at once."""


@dataclass
class RecoveryTold:
    """How far a recovery is: bytes of files made, of all; and pieces that were lost or damaged and
    done without, in words."""

    made: int = 0
    size: int = 0
    wrong: list[str] = field(default_factory=list)


class Needed(NamedTuple):
    """A pack of a directory, and which of its chunks are needed where: rows (place in the pack,
    number among the checkpoint's chunks)."""

    directory: Directory
    number: int
    first: int
    chunks: npt.NDArray[np.int64]


def restore(
    vault: Vault,
    name: str,
    to: Path,
    *,
    tell: Callable[[RecoveryTold], None] = lambda told: None,
) -> Manifest:
    """Make a checkpoint's files below a folder that is empty or not there yet.

    Raises LostError where too few pieces are left, InputError for a folder that has something in
    it, UnwritableError where it cannot be written: then nothing is there.
    """
    manifest = vault.manifest(name)
    checked_entries(manifest.entries)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to}: expected a folder that is empty or not there yet")
    beside = to.absolute().parent / f".{to.absolute().name}-{manifest.name}"
    told = RecoveryTold(size=manifest.size)
    try:
        beside.mkdir(parents=True, exist_ok=False)
        make_folders(beside, manifest.entries)
        _fill(vault, manifest, beside, told, tell)
        finish(beside, manifest.entries)
        if to.exists():
            to.rmdir()
        beside.rename(to)
    except FileExistsError:
        raise InputError(f"{beside}: another recovery makes it, or one died; remove it") from None
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, InputError):
            raise UnwritableError(to, error) from None
        raise
    return manifest


def _fill(
    vault: Vault,
    manifest: Manifest,
    folder: Path,
    told: RecoveryTold,
    tell: Callable[[RecoveryTold], None],
) -> None:
    """Write all chunks to their places in the files."""
    places = Places(vault, manifest, folder)
    try:
        for fetch, need in ahead(vault, needed(vault, manifest)):
            rows = need.chunks
            chunks = fetch.wanted(frozenset(np.unique(rows[:, 0]).tolist()))
            for place, number in rows.tolist():
                places.write(number, chunks[place])
                told.made += len(chunks[place])
            told.wrong.extend(fetch.wrong.values())
            tell(told)
    finally:
        places.close()


def needed(vault: Vault, manifest: Manifest) -> Iterator[Needed]:
    """Yield the packs that a checkpoint needs, each once."""
    references = references_of(manifest.runs)
    if sum(one.count for one in manifest.entries) != len(references):
        raise LostError(f"the files of checkpoint {manifest.name} and its chunks do not agree")
    which = (references >> np.uint64(32)).astype(np.int64)
    inside = (references & np.uint64(0xFFFFFFFF)).astype(np.int64)
    order = np.lexsort((inside, which))
    for number, name in enumerate(manifest.directories):
        directory = vault.directory(name)
        here = order[np.searchsorted(which[order], number): np.searchsorted(
            which[order], number, side="right")]  # fmt: skip
        firsts = directory.firsts()
        if len(here) and inside[here].max() >= firsts[-1]:
            raise LostError(f"checkpoint {manifest.name} names chunks that {name} does not have")
        packs = np.searchsorted(firsts, inside[here], side="right") - 1
        for pack in np.unique(packs).tolist():
            numbers = here[packs == pack]
            rows = np.stack((inside[numbers] - firsts[pack], numbers), 1)
            yield Needed(directory, pack, int(firsts[pack]), rows)


def ahead(vault: Vault, wanted: Iterator[Needed]) -> Iterator[tuple[Fetch, Needed]]:
    """Yield packs in order, while the next ones are fetched already."""
    begun: deque[tuple[Fetch, Needed]] = deque()
    for one in wanted:
        fetch = Fetch(
            vault, save_of(one.directory.name), one.directory.code, one.directory.hosts,
            one.directory.pack(one.number, one.first),
        )  # fmt: skip
        fetch.begin()
        begun.append((fetch, one))
        if len(begun) > AHEAD:
            yield begun.popleft()
    yield from begun


class Places:
    """Where each chunk of a checkpoint goes: file and offset."""

    def __init__(self, vault: Vault, manifest: Manifest, folder: Path) -> None:
        files = [one for one in manifest.entries if one.count]
        self._paths = [folder / one.path for one in files]
        self._firsts = np.array([one.first for one in files], np.int64)
        self._sizes = np.array([one.size for one in files], np.int64)
        self._offsets = offsets_of(vault, manifest)
        self._open: dict[int, int] = {}

    def write(self, number: int, data: bytes) -> None:
        """Write a chunk. Raises LostError where it does not fit into its file."""
        file = int(np.searchsorted(self._firsts, number, side="right")) - 1
        at = int(self._offsets[number] - self._offsets[self._firsts[file]])
        if at + len(data) > self._sizes[file]:
            raise LostError(f"{self._paths[file].name} is said to be shorter than it is")
        if data.count(0) < len(data):  # the file is nothing but zeros yet
            os.pwrite(self._handle(file), data, at)

    def close(self) -> None:
        """Close all files."""
        for handle in self._open.values():
            os.close(handle)
        self._open = {}

    def _handle(self, file: int) -> int:
        if file not in self._open:
            if len(self._open) >= 64:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[file] = os.open(self._paths[file], os.O_WRONLY | os.O_NOFOLLOW)
        return self._open[file]


def offsets_of(vault: Vault, manifest: Manifest) -> npt.NDArray[np.int64]:
    """Return the bytes before each chunk, among all chunks of a checkpoint."""
    lengths = [
        vault.directory(manifest.directories[int(which)]).plain[int(first) : int(first + count)]
        for which, first, count in manifest.runs.astype(np.int64)
    ]
    if sum(map(len, lengths)) != int(manifest.runs[:, 2].sum(dtype=np.int64)):
        raise LostError(f"checkpoint {manifest.name} names chunks that are not there")
    found = np.concatenate(([0], *lengths)).astype(np.int64)
    return np.cumsum(found)
