"""Recovery: a checkpoint's files, made anew from any m pieces of each pack and checked chunk by
chunk; they appear under their folder all at once, or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from forestall.core.files.atomic import flush
from forestall.core.model.errors import InputError, UnwritableError
from forestall.vaults.fetching import Fetch
from forestall.vaults.keys import save_of
from forestall.vaults.manifests import Manifest, references_of
from forestall.vaults.pieces.codes import give_back
from forestall.vaults.places import Needed, Places
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault
from forestall.vaults.trees.attributes import Remarks
from forestall.vaults.trees.entries import checked_entries
from forestall.vaults.trees.folders import OpenFolder
from forestall.vaults.trees.restored import RestoredTree

AHEAD: Final = 4
"""Packs that are fetched at once."""
_GIVE_BACK: Final = 64
"""Packs after which memory that is free is given back."""
_NAMED: Final = 40
"""Characters of a folder's name that the one beside it has, too: names have 255 bytes at most."""


@dataclass
class RecoveryTold:
    """How far a recovery is: bytes of files made, of all; pieces that were lost or damaged and done
    without, in words; and in the end what could not be given back, paths by why."""

    made: int = 0
    size: int = 0
    wrong: list[str] = field(default_factory=list)
    remarks: Remarks = field(default_factory=dict)


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
    _check_target(to)
    to = Path(os.path.realpath(to))
    beside = to.parent / f".{to.name[:_NAMED]}-{manifest.name}"
    told = RecoveryTold(size=manifest.size)
    with _only_one(beside) as begun:
        tree = RestoredTree(beside, manifest.entries)
        try:
            with tree:
                manifest = _fill_or_follow(vault, manifest, tree, told, tell, begun)
                tree.finish()
                told.remarks = tree.remarks
            _put_in_place(beside, to)
        except BaseException as error:
            _clear(beside)
            if isinstance(error, OSError) and not isinstance(error, InputError):
                raise UnwritableError(to, error) from None
            raise
    tell(told)
    return manifest


def _check_target(to: Path) -> None:
    """Raise InputError unless a folder can come to be here."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to}: expected an empty or new folder")
    if to.is_dir() and os.path.ismount(to):
        raise InputError(f"{to}: expected a folder in this file system, not its top")


def _put_in_place(beside: Path, to: Path) -> None:
    """Give the folder its name, and the rights of an empty one that was there. Raises OSError."""
    if to.exists():
        found = to.stat()
        beside.chmod(stat.S_IMODE(found.st_mode))
        with suppress(PermissionError):
            os.chown(beside, found.st_uid, found.st_gid)
        to.rmdir()
    beside.rename(to)
    flush(to.parent)


def _clear(beside: Path) -> None:
    """Remove what a recovery has made so far, as far as that can be done."""
    with suppress(OSError):
        with OpenFolder(beside) as folder:
            folder.clear()
        beside.rmdir()


def _fill_or_follow(
    vault: Vault,
    manifest: Manifest,
    tree: RestoredTree,
    told: RecoveryTold,
    tell: Callable[[RecoveryTold], None],
    begun: bool,
) -> Manifest:
    """Fill the files; where chunks were moved meanwhile, go on with where they are now. Return the
    checkpoint as it was in the end."""
    while True:
        tree.make_folders(fresh=not begun)
        try:
            _fill(vault, manifest, tree, told, tell, begun)
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
    tree: RestoredTree,
    told: RecoveryTold,
    tell: Callable[[RecoveryTold], None],
    begun: bool,
) -> None:
    """Write all chunks to their places in the files; where that was `begun`, those that lack."""
    places = Places(vault, manifest, tree, fresh=not begun)

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
            wanted = _lacking(places, wanted, vault, told)
        for fetch, need in ahead(vault, wanted):
            making.append(pool.submit(make, fetch, need))
            settle(workers)
        settle(0)


def _lacking(
    places: Places, wanted: Iterator[Needed], vault: Vault, told: RecoveryTold
) -> Iterator[Needed]:
    """Yield what is not there yet."""
    for need, there in places.lacking(wanted, vault.name_of):
        told.made += there
        if len(need.chunks):
            yield need


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
