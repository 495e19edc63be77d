"""Saving: files into the vault, as a checkpoint that is there when all of it is, and not before."""

from __future__ import annotations

import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from forestall.model.errors import ParameterError, of_system
from forestall.vaults import keys
from forestall.vaults.chunks import WINDOW, Cuts, cut_stream
from forestall.vaults.known import KnownChunks
from forestall.vaults.layouts import StoreLayout
from forestall.vaults.leases import check_lease, doomed, lease, living
from forestall.vaults.manifests import NOBODY, Directory, Manifest, SavedEntry, only_used, runs_of
from forestall.vaults.packs import COMPRESSIONS, Compression
from forestall.vaults.pieces.codes import Code, Data
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault
from forestall.vaults.sources import sources
from forestall.vaults.writer import PackWriter, Writing

BASES: Final = 8
"""Checkpoints of a label whose chunks a save knows, the newest ones."""


@dataclass(frozen=True)
class SaveSettings:
    """How files are saved.

    Parameters
    ----------
    label : versions of one thing have one label, and share chunks
    code : m data and k parity pieces
    compression : of chunks, see `packs.Compression`
    strict : raise where a piece finds no host; else at least m pieces and, where k > 0, one more
        must be stored, and the checkpoint tells what it survives
    """

    label: str = ""
    code: Code = field(default_factory=Code)
    compression: Compression = "auto"
    strict: bool = False

    def __post_init__(self) -> None:
        if self.compression not in COMPRESSIONS:
            raise ParameterError("compression", self.compression, " or ".join(COMPRESSIONS))
        if len(self.label) > 200 or not self.label.isprintable():
            raise ParameterError("label", self.label, "at most 200 printable characters")

    @property
    def least(self) -> int:
        """Pieces of a pack that must be stored."""
        return self.code.pieces if self.strict else self.code.data + min(self.code.parity, 1)


@dataclass
class SaveTold:
    """How far a save is: bytes read, of which new, and stored on all hosts; files; what was left
    out, by why."""

    read: int = 0
    new: int = 0
    stored: int = 0
    files: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


Tell = Callable[[SaveTold], None]
Placing = Callable[[int], tuple[int, ...]]


def save(
    vault: Vault,
    paths: Sequence[Path],
    settings: SaveSettings | None = None,
    *,
    tell: Tell = lambda told: None,
    place: Placing | None = None,
) -> Manifest:
    """Save files and folders; return the checkpoint.

    Parameters
    ----------
    tell : is told how far it is, every few megabytes
    place : from a pack's number to the hosts of its pieces; in turn by default

    Raises HostError where too few storage hosts take what they get, TraceError for a file that
    cannot be read; then there is no checkpoint, and what was stored of it serves the next try.
    """

    def feed(one: _Save) -> Iterator[SavedEntry]:
        for source in sources(paths, one.told.skipped):
            if source.entry.kind == "file":
                with of_system(source.path, "cannot be saved"), open(source.path, "rb") as file:
                    yield one.take(file, source.entry)
            else:
                yield source.entry

    return _saved(vault, settings or SaveSettings(), tell, place, feed)


def save_stream(
    vault: Vault,
    stream: BinaryIO,
    name: str,
    settings: SaveSettings | None = None,
    *,
    tell: Tell = lambda told: None,
    place: Placing | None = None,
) -> Manifest:
    """Save what a stream gives as one file; as `save` does."""

    def feed(one: _Save) -> Iterator[SavedEntry]:
        now = int(vault.clock() * 1e9)
        yield one.take(stream, SavedEntry(name, "file", 0o600, now))

    return _saved(vault, settings or SaveSettings(), tell, place, feed)


def _saved(
    vault: Vault,
    settings: SaveSettings,
    tell: Tell,
    place: Placing | None,
    feed: Callable[[_Save], Iterator[SavedEntry]],
) -> Manifest:
    name = new_name(vault, settings.label)
    with lease(vault, name, settings.label):
        writing = Writing(
            settings.code, min(settings.least, settings.code.pieces),
            copies_for(vault, settings.code), settings.compression,
            place or in_turn(vault, settings.code), vault.seal, vault.envelope,
        )  # fmt: skip
        with closing(PackWriter(vault.pool, name, writing)) as writer:
            one = _Save(vault, writer, known_chunks(vault, settings.label), tell)
            entries = tuple(feed(one))
            writer.finish()
        made = one.manifest(name, settings, entries)
        check_lease(vault, name)
        vault.pool.put_everywhere(made.key, vault.envelope(made), writing.copies)
        still_there(vault, made)
    return made


def new_name(vault: Vault, label: str) -> str:
    """Return the name of a save that begins now: behind those of all checkpoints there are."""
    last = (vault.names() or [""])[-1]
    return keys.save_name(vault.clock(), vault.tag(label), secrets.token_bytes(8), last)


class _Save:
    """A save under way: chunks that are known, and chunks of its files so far, in order."""

    def __init__(self, vault: Vault, writer: PackWriter, known: KnownChunks, tell: Tell) -> None:
        self.told = SaveTold()
        self._vault, self._writer, self._known, self._tell = vault, writer, known, tell
        self._chunks = array("Q")
        self._parts: dict[str, int] = {}

    def take(self, stream: BinaryIO, entry: SavedEntry) -> SavedEntry:
        """Take in a file; return its entry with its chunks, and the size that it was found to
        have."""
        first, size = len(self._chunks), 0
        for cuts in cut_stream(stream, self._vault.rules.cutting, self._vault.name_of):
            found = self._known.find(cuts.names)
            if None in found:
                self._add_new(cuts, found)
                found = self._known.find(cuts.names)
            self._chunks.extend(one for one in found if one is not None)
            size += cuts.size
            self.told.read += cuts.size
            self.told.stored = self._writer.stored
            self._tell(self.told)
        self.told.files += 1
        return replace(entry, size=size, first=first, count=len(self._chunks) - first)

    def _add_new(self, cuts: Cuts, found: Sequence[int | None]) -> None:
        """Store the chunks of which none was found."""
        new: dict[bytes, Data] = {
            name: data
            for name, data, known in zip(cuts.names, cuts.parts, found, strict=True)
            if known is None
        }
        size = sum(map(len, new.values()))
        self.told.new += size
        if size < WINDOW // 2:  # the rest of the buffer need not stay in memory
            new = {name: bytes(data) for name, data in new.items()}
        names = iter(new)
        for part, first, chunks in self._writer.add(list(new.items())):
            if part not in self._parts:
                self._parts[part] = self._known.begin(part)
            self._known.add(islice(names, chunks), self._parts[part], first)

    def manifest(
        self, name: str, settings: SaveSettings, entries: tuple[SavedEntry, ...]
    ) -> Manifest:
        """Return the checkpoint."""
        runs, names = only_used(
            runs_of(np.frombuffer(self._chunks, np.uint64)), self._known.directories
        )
        writer, told = self._writer, self.told
        told.stored = writer.stored
        self._tell(told)
        figures = {"read": told.read, "new": told.new, "packed": writer.kept,
                   "stored": writer.stored, "missing": writer.missing}  # fmt: skip
        figures |= {f"skipped {why}": count for why, count in sorted(told.skipped.items())}
        return Manifest(
            name, int(self._vault.clock()), settings.label, settings.code, names, runs, entries,
            figures,
        )  # fmt: skip


def known_chunks(vault: Vault, label: str) -> KnownChunks:
    """Return the chunks that a save with a label may refer to: those of the newest checkpoints, and
    of saves of it that came to no end, in packs of which all pieces are there that were stored."""
    going, alive, known = doomed(vault), living(vault), KnownChunks()
    names: list[str] = []
    for one in reversed(vault.manifests(label)[-BASES:]):
        names.extend(name for name in one.directories if name not in names)
    names.extend(name for name in _left_over(vault, alive) if name not in names)
    if not names:
        return known
    there: dict[str, dict[int, int]] = {}
    for save in {keys.save_of(name) for name in names}:
        there |= vault.pool.keys(f"{keys.PACKS}{save}/")[0]
    for name in names:
        try:
            directory = vault.directory(name)
        except LostError:
            continue
        known.learn(directory, _whole(directory, there, going))
    return known


def _left_over(vault: Vault, alive: dict[str, bool]) -> list[str]:
    """Return the directories of saves that died."""
    there, _ = vault.pool.keys(keys.DIRECTORIES)
    ended = set(vault.names())
    found = sorted(key.removeprefix(keys.DIRECTORIES) for key in there)
    return [name for name in found if keys.save_of(name) not in ended
            and not alive.get(keys.save_of(name), False)]  # fmt: skip


def _whole(
    directory: Directory, there: dict[str, dict[int, int]], going: frozenset[str]
) -> frozenset[bytes]:
    """Return the packs of a directory that nothing is missing of and that will stay."""
    save, found = keys.save_of(directory.name), set()
    for pack, placed in zip(directory.packs, directory.placed.tolist(), strict=True):
        name = pack.tobytes()
        wanted = [keys.fragment_key(save, name, k) for k, host in enumerate(placed)
                  if host != NOBODY]  # fmt: skip
        if all(key in there for key in wanted) and f"{save}/{name.hex()}" not in going:
            found.add(name)
    return frozenset(found)


def still_there(vault: Vault, made: Manifest) -> None:
    """Take a checkpoint back where the save was taken for dead while it was written."""
    try:
        check_lease(vault, made.name)
    except BaseException:
        vault.pool.delete_everywhere(made.key)
        raise


def in_turn(vault: Vault, code: Code) -> Placing:
    """Return the hosts of pieces where nobody chose them."""
    return StoreLayout("code", code, len(vault.pool.hosts)).place


def copies_for(vault: Vault, code: Code) -> int:
    """Return on how many hosts a manifest must be, so that it outlives what the packs do."""
    return min(max(vault.majority, code.parity + 1), len(vault.pool.hosts))
