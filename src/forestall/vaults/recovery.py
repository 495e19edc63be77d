"""Recovery: a checkpoint's files, made anew from any m pieces of each pack and checked chunk by
chunk; they appear under their folder all at once, or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.model.errors import InputError, UnwritableError
from forestall.vaults.chunks import NameOf
from forestall.vaults.fetching import Fetch
from forestall.vaults.keys import save_of
from forestall.vaults.manifests import Directory, Manifest, references_of
from forestall.vaults.pieces.codes import Data, give_back
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault
from forestall.vaults.sources import checked_entries, finish, make_folders

AHEAD: Final = 4
"""Packs that are fetched at once."""
_GIVE_BACK: Final = 64
"""Packs after which memory that is free is given back."""
_AT_ONCE: Final = 1000
"""Pieces of memory that the system takes at once (IOV_MAX is 1024)."""


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

    A recovery whose process was killed is gone on with: what it made is checked, not fetched again.
    Raises LostError where too few pieces are left, InputError for a folder that has something in
    it, UnwritableError where it cannot be written: then nothing is there.
    """
    manifest = vault.manifest(name)
    checked_entries(manifest.entries)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to}: expected an empty or new folder")
    beside = to.absolute().parent / f".{to.absolute().name}-{manifest.name}"
    told = RecoveryTold(size=manifest.size)
    with _only_one(beside) as begun:
        try:
            make_folders(beside, manifest.entries)
            manifest = _fill_or_follow(vault, manifest, beside, told, tell, begun)
            finish(beside, manifest.entries)
            if to.exists():
                to.rmdir()
            beside.rename(to)
        except BaseException as error:
            shutil.rmtree(beside, ignore_errors=True)
            if isinstance(error, OSError) and not isinstance(error, InputError):
                raise UnwritableError(to, error) from None
            raise
    return manifest


def _fill_or_follow(
    vault: Vault,
    manifest: Manifest,
    folder: Path,
    told: RecoveryTold,
    tell: Callable[[RecoveryTold], None],
    begun: bool,
) -> Manifest:
    """Fill the files; where chunks were moved meanwhile, go on with where they are now. Return the
    checkpoint as it was in the end."""
    while True:
        try:
            _fill(vault, manifest, folder, told, tell, begun)
            return manifest
        except LostError:
            now = vault.manifest(manifest.name)
            if now.move == manifest.move:
                raise
            manifest, begun, told.made = now, True, 0


@contextmanager
def _only_one(beside: Path) -> Iterator[bool]:
    """Make the folder that a recovery works in, for it alone; give whether one that died began it.

    Raises InputError where another one works in it, or where it may be somebody else's.
    """
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir(mode=0o755, exist_ok=True)  # nobody else's, whatever the mask
        handle = os.open(beside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise UnwritableError(beside, error) from None
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or found.st_mode & 0o002:
            raise InputError(f"{beside} may be another user's; remove it")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{beside}: another recovery is writing it") from None
        with os.scandir(handle) as inside:
            begun = any(inside)
        yield begun
    finally:
        os.close(handle)


def _fill(
    vault: Vault,
    manifest: Manifest,
    folder: Path,
    told: RecoveryTold,
    tell: Callable[[RecoveryTold], None],
    begun: bool,
) -> None:
    """Write all chunks to their places in the files; where that was `begun`, those that lack."""
    places = Places(vault, manifest, folder, fresh=not begun)

    def make(fetch: Fetch, need: Needed) -> tuple[Fetch, int]:
        chunks = fetch.wanted(np.unique(need.chunks[:, 0]).tolist())
        made = places.write(need.chunks, chunks)
        fetch.pieces.clear()  # of what is done nothing stays in memory
        return fetch, made

    def settle(most: int) -> None:
        while len(making) > most:
            fetch, made = making.popleft().result()
            told.made += made
            told.wrong.extend(fetch.wrong.values())
            tell(told)

    making: deque[Future[tuple[Fetch, int]]] = deque()
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers, thread_name_prefix="recovery") as pool, closing(places):
        wanted = needed(vault, manifest)
        if begun:
            wanted = places.lacking(wanted, vault.name_of, told)
        for fetch, need in ahead(vault, wanted):
            making.append(pool.submit(make, fetch, need))
            settle(workers)
        settle(0)


def needed(vault: Vault, manifest: Manifest) -> Iterator[Needed]:
    """Yield the packs that a checkpoint needs, each once."""
    references = references_of(manifest.runs)
    if sum(one.count for one in manifest.entries) != len(references):
        raise LostError(f"the files of checkpoint {manifest.name} and its chunks do not agree")
    order = np.argsort(references, kind="stable")
    firsts_of = np.arange(len(manifest.directories) + 1, dtype=np.uint64) << np.uint64(32)
    ends = np.searchsorted(references, firsts_of, sorter=order)
    for number, name in enumerate(manifest.directories):
        directory = vault.directory(name)
        here = order[ends[number] : ends[number + 1]]
        inside = (references[here] & np.uint64(0xFFFFFFFF)).astype(np.int64)
        firsts = directory.firsts()
        if len(here) and inside[-1] >= firsts[-1]:
            raise LostError(f"checkpoint {manifest.name} names chunks that {name} does not have")
        packs, begins = np.unique(
            np.searchsorted(firsts, inside, side="right") - 1, return_index=True
        )
        begins = np.append(begins, len(here))
        for k, pack in enumerate(packs.tolist()):
            span = slice(begins[k], begins[k + 1])
            rows = np.stack((inside[span] - firsts[pack], here[span]), 1)
            yield Needed(directory, pack, int(firsts[pack]), rows)


def ahead(vault: Vault, wanted: Iterator[Needed]) -> Iterator[tuple[Fetch, Needed]]:
    """Yield packs in order, while the next ones are fetched already."""
    begun: deque[tuple[Fetch, Needed]] = deque()
    for count, one in enumerate(wanted, 1):
        if count % _GIVE_BACK == 0:
            give_back()
        fetch = Fetch(
            vault, save_of(one.directory.name), one.directory.code, one.directory.hosts,
            one.directory.pack(one.number, one.first),
        )  # fmt: skip
        fetch.begin()
        begun.append((fetch, one))
        if len(begun) > AHEAD:
            yield begun.popleft()
    yield from begun


def _is_blank(data: Data) -> bool:
    """Whether a chunk is zeros; of others the first bytes tell."""
    return not bytes(data[:64]).strip(b"\0") and not bytes(data).strip(b"\0")


class Places:
    """Where each chunk of a checkpoint goes: file and offset; `fresh`: there are only zeros yet."""

    def __init__(self, vault: Vault, manifest: Manifest, folder: Path, *, fresh: bool) -> None:
        self._fresh = fresh
        files = [one for one in manifest.entries if one.count]
        self._name = manifest.name
        self._lock = threading.Lock()
        self._paths = [folder / one.path for one in files]
        self._firsts = np.array([one.first for one in files], np.int64)
        self._sizes = np.array([one.size for one in files], np.int64)
        self._offsets = offsets_of(vault, manifest)
        self._open: dict[int, int] = {}

    def lacking(
        self, wanted: Iterator[Needed], name_of: NameOf, told: RecoveryTold
    ) -> Iterator[Needed]:
        """Yield what of this is not there yet."""
        for need in wanted:
            names, lack = need.directory.chunks, np.ones(len(need.chunks), bool)
            for row, (place, number) in enumerate(need.chunks.tolist()):
                found = self._read(number)
                if name_of(memoryview(found)) == names[need.first + place].tobytes():
                    lack[row] = False
                    told.made += len(found)
            if lack.any():
                yield need._replace(chunks=need.chunks[lack])

    def _read(self, number: int) -> bytes:
        file = int(np.searchsorted(self._firsts, number, side="right")) - 1
        at, end = self._offsets[number : number + 2] - self._offsets[self._firsts[file]]
        with self._lock:
            return os.pread(self._handle(file), int(end - at), int(at))

    def write(self, rows: npt.NDArray[np.int64], chunks: Mapping[int, Data]) -> int:
        """Write the chunks of a pack: rows (place in the pack, number among the checkpoint's
        chunks); return their bytes. Any thread may. Raises LostError where they do not fit."""
        rows = rows[np.argsort(rows[:, 1])]
        numbers = rows[:, 1]
        files = np.searchsorted(self._firsts, numbers, side="right") - 1
        begins = self._offsets[self._firsts[files]]
        at, ends = self._offsets[numbers] - begins, self._offsets[numbers + 1] - begins
        if (ends > self._sizes[files]).any():
            raise LostError(f"checkpoint {self._name} has files that are longer than stated")
        data = [chunks[place] for place in rows[:, 0].tolist()]
        # Zeros are left out where there are some, so that files stay as sparse as they were.
        blank = np.array([self._fresh and _is_blank(one) for one in data])
        apart = (np.diff(numbers) != 1) | (np.diff(files) != 0) | blank[1:] | blank[:-1]
        for run in np.split(np.arange(len(rows)), np.flatnonzero(apart) + 1):
            if not blank[run[0]]:
                self._put(int(files[run[0]]), [data[k] for k in run], int(at[run[0]]))
        return int((ends - at).sum())

    def _put(self, file: int, data: list[Data], at: int) -> None:
        with self._lock:
            handle = os.dup(self._handle(file))
        try:
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
        finally:
            os.close(handle)

    def close(self) -> None:
        """Close all files."""
        for handle in self._open.values():
            os.close(handle)
        self._open = {}

    def _handle(self, file: int) -> int:
        if file not in self._open:
            if len(self._open) >= 64:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[file] = os.open(self._paths[file], os.O_RDWR | os.O_NOFOLLOW)
        return self._open[file]


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
