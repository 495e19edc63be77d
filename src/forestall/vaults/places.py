"""Where each chunk of a checkpoint goes: a file, and a place in it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.vaults.chunks import NameOf
from forestall.vaults.manifests import Directory, Manifest
from forestall.vaults.pieces.codes import Data
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault
from forestall.vaults.trees.restored import RestoredTree

_AT_ONCE: Final = 1000
"""Pieces of memory that the system takes at once (IOV_MAX is 1024)."""
_HANDLES: Final = 64
_BLOCK: Final = 4096
"""Bytes of a file that are on the disk or not, together."""
_HEAD: Final = 64


class Needed(NamedTuple):
    """A pack of a directory, and which of its chunks are needed where: rows (place in the pack,
    number among the checkpoint's chunks)."""

    directory: Directory
    number: int
    first: int
    chunks: npt.NDArray[np.int64]


class FilePart(NamedTuple):
    """Bytes of a file, and their place in it."""

    at: int
    data: Data


class Places:
    """The files of a checkpoint while they are filled.

    Parameters
    ----------
    fresh : nothing was written to them yet, so that zeros may be left out

    Raises LostError where files and their chunks do not agree.
    """

    def __init__(
        self, vault: Vault, manifest: Manifest, tree: RestoredTree, *, fresh: bool
    ) -> None:
        self._tree, self._fresh, self._name = tree, fresh, manifest.name
        self._files = [entry for entry in manifest.entries if entry.count]
        self._left = [entry.count for entry in self._files]
        self._firsts = np.array([entry.first for entry in self._files], np.int64)
        self._offsets = offsets_of(vault, manifest)
        ends = self._firsts + np.array(self._left, np.int64)
        sizes = np.array([entry.size for entry in self._files], np.int64)
        if (self._offsets[ends] - self._offsets[self._firsts] != sizes).any() or any(
            entry.size for entry in manifest.entries if not entry.count
        ):
            raise LostError(f"checkpoint {manifest.name} has files of another size than stated")
        self._lock = threading.Lock()
        self._open: dict[int, int] = {}

    def lacking(self, wanted: Iterator[Needed], name_of: NameOf) -> Iterator[tuple[Needed, int]]:
        """Yield what of this is not there yet, and the bytes that are."""
        for need in wanted:
            names, lack, there = need.directory.chunks, np.ones(len(need.chunks), bool), 0
            for row, (place, number) in enumerate(need.chunks.tolist()):
                found = self._read(number)
                if name_of(memoryview(found)) == names[need.first + place].tobytes():
                    lack[row] = False
                    there += len(found)
                    self._count(self._file(number), 1)
            yield need._replace(chunks=need.chunks[lack]), there

    def write(self, rows: npt.NDArray[np.int64], chunks: Mapping[int, Data]) -> int:
        """Write the chunks of a pack: rows (place in the pack, number among the checkpoint's
        chunks); return their bytes. Any thread may."""
        if not len(rows):
            return 0
        rows = rows[np.argsort(rows[:, 1])]
        numbers = rows[:, 1]
        files = np.searchsorted(self._firsts, numbers, side="right") - 1
        at = self._offsets[numbers] - self._offsets[self._firsts[files]]
        parts = [FilePart(*one) for one in zip(
            at.tolist(), [chunks[place] for place in rows[:, 0].tolist()], strict=True
        )]  # fmt: skip
        begins = np.concatenate(([0], np.flatnonzero(np.diff(files)) + 1, [len(files)])).tolist()
        for begin, end in pairwise(begins):
            self._write(int(files[begin]), parts[begin:end])
        return sum(len(part.data) for part in parts)

    def close(self) -> None:
        """Close all files."""
        for handle in self._open.values():
            os.close(handle)
        self._open = {}

    def _file(self, number: int) -> int:
        return int(np.searchsorted(self._firsts, number, side="right")) - 1

    def _read(self, number: int) -> bytes:
        file = self._file(number)
        at, end = self._offsets[number : number + 2] - self._offsets[self._firsts[file]]
        with self._lock:
            return os.pread(self._handle(file), int(end - at), int(at))

    def _write(self, file: int, parts: Sequence[FilePart]) -> None:
        """Write parts of a file. One of which all are there is opened once, and done with."""
        entry, chunks = self._files[file], len(parts)
        whole = self._fresh and chunks == entry.count
        with self._lock:
            handle = self._tree.open(entry) if whole else os.dup(self._handle(file))
        try:
            if self._fresh:  # zeros are left out, so that files stay as sparse as they were
                parts = [one for part in parts for one in _filled(part, fine=entry.sparse)]
            for run in _runs(parts):
                _put(handle, [part.data for part in run], run[0].at)
            if whole:
                if not parts or parts[-1].at + len(parts[-1].data) < entry.size:
                    os.ftruncate(handle, entry.size)
                self._tree.give(handle, entry)
        finally:
            os.close(handle)
        if not whole:
            self._count(file, chunks)

    def _count(self, file: int, chunks: int) -> None:
        """Count chunks of a file that are there; give it all else once it is whole."""
        with self._lock:
            self._left[file] -= chunks
            if not self._left[file]:
                handle = os.dup(self._handle(file))
                try:
                    self._tree.give(handle, self._files[file])
                finally:
                    os.close(handle)

    def _handle(self, file: int) -> int:
        if file not in self._open:
            if len(self._open) >= _HANDLES:
                os.close(self._open.pop(next(iter(self._open))))
            entry = self._files[file]
            handle = self._open[file] = self._tree.open(entry)
            os.ftruncate(handle, entry.size)
        return self._open[file]


def _runs(parts: Sequence[FilePart]) -> Iterator[Sequence[FilePart]]:
    """Yield parts that follow one another without a gap."""
    first = 0
    for k in range(1, len(parts) + 1):
        before = parts[k - 1]
        if k == len(parts) or parts[k].at != before.at + len(before.data):
            yield parts[first:k]
            first = k


def _filled(part: FilePart, *, fine: bool) -> Iterator[FilePart]:
    """Yield what of a part is to be written: all but zeros; where it is `fine`, block by block."""
    at, data = part
    if not bytes(data[:_HEAD]).strip(b"\0") and not bytes(data).strip(b"\0"):
        return
    if not fine:
        yield part
        return
    edges = [0, *range(-at % _BLOCK or _BLOCK, len(data), _BLOCK), len(data)]
    begin = None
    for low, high in pairwise(edges):
        blank = not bytes(data[low:high]).strip(b"\0")
        if blank and begin is not None:
            yield FilePart(at + begin, data[begin:low])
            begin = None
        elif not blank and begin is None:
            begin = low
    if begin is not None:
        yield FilePart(at + begin, data[begin:])


def _put(handle: int, data: list[Data], at: int) -> None:
    while data:
        count = os.pwritev(handle, data[:_AT_ONCE], at)
        at += count
        whole = 0
        while whole < len(data) and count >= len(data[whole]):
            count -= len(data[whole])
            whole += 1
        data = data[whole:]
        if count:
            data[0] = memoryview(data[0])[count:]


def offsets_of(vault: Vault, manifest: Manifest) -> npt.NDArray[np.int64]:
    """Return the bytes before each chunk, among all chunks of a checkpoint."""
    lengths = [
        vault.directory(manifest.directories[int(which)]).plain[int(first) : int(first + count)]
        for which, first, count in manifest.runs.astype(np.int64)
    ]
    if sum(map(len, lengths)) != int(manifest.runs[:, 2].sum(dtype=np.int64)):
        raise LostError(f"checkpoint {manifest.name} names chunks that are missing")
    found = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    if lengths:
        np.cumsum(np.concatenate(lengths), dtype=np.int64, out=found[1:])
    return found
