"""Saving: files into the vault, as a checkpoint that is there when all of it is, and not before."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.vaults import keys
from forestall.vaults.chunks import WINDOW, Cuts, cut_file
from forestall.vaults.envelopes import content_of
from forestall.vaults.hosts.host import HostError
from forestall.vaults.known import KnownChunks
from forestall.vaults.layouts import StoreLayout
from forestall.vaults.leases import check_lease, doomed, lease
from forestall.vaults.libraries import blake3
from forestall.vaults.manifests import NOBODY, Directory, Manifest, only_used, runs_of
from forestall.vaults.packs import COMPRESSIONS, Compression
from forestall.vaults.pieces.codes import Code, Data
from forestall.vaults.pieces.fragments import DamagedError
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import needed
from forestall.vaults.repository import Vault
from forestall.vaults.stores.presence import SeenPacks, wanted_safety
from forestall.vaults.trees.attributes import Remarks, note, note_flags
from forestall.vaults.trees.entries import SavedEntry, checked_entries
from forestall.vaults.trees.sources import (
    ANOTHER,
    GONE,
    TORN,
    Identity,
    Source,
    identity,
    is_unchanged,
    sources,
)
from forestall.vaults.writer import PackWriter, Writing

TRIES: Final = 3
"""Times that a file is read which changes meanwhile."""
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
    """How far a save is: bytes read, of which new, and stored on all hosts; and what is not
    saved as it was."""

    read: int = 0
    new: int = 0
    stored: int = 0
    remarks: Remarks = field(default_factory=dict)


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

    pairs = zip(vault.pool.hosts, vault.pool.seen, strict=True)
    # Not of hosts that were set aside: a file system that hangs would hang this, too.
    folders = (host.folder for host, seen in pairs if host.folder and seen.aside is None)
    stores = frozenset(found for found in map(identity, folders) if found is not None)

    def feed(one: _Save) -> Iterator[SavedEntry]:
        links: dict[Identity, str] = {}
        for source in sources(paths, one.told.remarks, stores):
            if source.identity in links:
                target = links[source.identity]
                yield replace(source.entry, kind="hardlink", size=0, attributes=(), target=target)
                continue
            entry = one.file(source) if source.entry.kind == "file" else source.entry
            if entry is not None:
                if source.identity is not None:
                    links[source.identity] = entry.path
                yield entry

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
    copies = copies_for(vault, settings.code)
    with lease(vault, name, settings.label, copies) as held:

        def tell_alive(told: SaveTold) -> None:
            held.check()  # what is stored from now on would be of no use
            tell(told)

        writing = Writing(
            settings.code, min(settings.least, settings.code.pieces), copies, settings.compression,
            place or in_turn(vault, settings.code), vault.seal, vault.envelope,
        )  # fmt: skip
        with closing(PackWriter(vault.pool, name, writing)) as writer:
            one = _Save(vault, writer, known_chunks(vault, name, settings), tell_alive)
            entries = tuple(feed(one))
            checked_entries(entries)
            writer.finish()
        return publish(vault, one.manifest(name, settings, entries))


def new_name(vault: Vault, label: str) -> str:
    """Return the name of a save that begins now: behind those of all checkpoints there are."""
    before = vault.moves(certain=True)
    return keys.save_name(vault.clock(), vault.tag(label), secrets.token_bytes(8), before)


def publish(vault: Vault, made: Manifest) -> Manifest:
    """Write a checkpoint's manifest; return it once it is certain that it can be restored, with how
    many pieces of a pack are missing now.

    Raises LeaseLostError where the save was presumed dead meanwhile, InputError for entries that
    cannot be restored, LostError or HostError where what was stored is not there: then there is no
    checkpoint.
    """
    copies = copies_for(vault, made.code)
    _check_readable(vault, made)
    check_lease(vault, made.name)
    try:
        vault.pool.put_everywhere(made.key, vault.envelope(made), copies)
        missing = confirm(vault, made, copies)
        check_lease(vault, made.name)  # last of all: see `leases`
    except BaseException:
        vault.pool.delete_everywhere(made.key)
        with suppress(InputError):
            vault.forget(made.name)
        raise
    return replace(made, figures={**made.figures, "missing": missing})


def _check_readable(vault: Vault, made: Manifest) -> None:
    """Raise InputError for a checkpoint that could not be read back or restored."""
    try:
        again = Manifest.from_content(content_of(vault.envelope(made), vault.unseal))
    except DamagedError as error:
        raise InputError(f"not saved: its manifest could not be read back: {error}") from None
    checked_entries(again.entries)


def confirm(vault: Vault, made: Manifest, copies: int) -> int:
    """Read a manifest back from the hosts and look whether the pieces that it needs are there;
    return how many are missing of a pack, at most. What hosts have that do not answer counts as
    there.

    Raises HostError where fewer than `copies` hosts have the manifest, LostError where a pack has
    fewer pieces than a save must store.
    """
    expected = vault.envelope(made)
    answers = vault.pool.each(lambda host: host.get(made.key))
    wrong = {number: one for number, one in answers.items() if one != expected}
    if len(answers) - len(wrong) < copies:
        number, one = next(iter(wrong.items()))
        if isinstance(one, HostError):
            raise one
        raise HostError(vault.pool.names[number], f"has a damaged manifest of {made.name}")
    listed: dict[str, tuple[dict[str, dict[int, int]], dict[int, HostError]]] = {}
    most = 0
    for need in needed(vault, made):
        directory, save = need.directory, keys.save_of(need.directory.name)
        if save not in listed:
            listed[save] = vault.pool.keys(f"{keys.PACKS}{save}/")
        there, away = listed[save]
        unseen = {vault.pool.names[number] for number in away}
        pack, code = directory.packs[need.number].tobytes(), directory.code
        count = 0
        for place, host in enumerate(directory.placed[need.number].tolist()):
            at_home = host != NOBODY and directory.hosts[host] in unseen
            count += at_home or keys.fragment_key(save, pack, place) in there
        if count < code.data + min(code.parity, 1):
            raise LostError(
                f"not saved: {count} of the {code.pieces} pieces of pack {pack.hex()[:12]} are "
                f"there, {code.data + min(code.parity, 1)} must be"
            )
        most = max(most, code.pieces - count)
    return most


class _Save:
    """A save under way: chunks that are known, and chunks of its files so far, in order."""

    def __init__(self, vault: Vault, writer: PackWriter, known: KnownChunks, tell: Tell) -> None:
        self.told = SaveTold()
        self._vault, self._writer, self._known, self._tell = vault, writer, known, tell
        self._chunks = array("Q")
        self._parts: dict[str, int] = {}

    def file(self, source: Source) -> SavedEntry | None:
        """Take in a file; return its entry, None where it is gone. It is read anew where it changes
        meanwhile; where it does so each time, that is noted. Raises TraceError."""
        remarks, path = self.told.remarks, source.entry.path
        begin, read = len(self._chunks), self.told.read
        for _ in range(TRIES):
            del self._chunks[begin:]
            self.told.read = read
            try:
                file, entry, before = source.open(remarks)
                with file:
                    entry = self.take(file, entry)
                    if is_unchanged(file, before):
                        note_flags(file.fileno(), path, remarks)
                        return entry
            except OSError as error:
                if error.errno in ANOTHER:
                    note(remarks, GONE, path)
                    return None
                why = f"cannot be saved: {error.strerror or error}"
                raise TraceError(source.path, why) from None
        note(remarks, TORN, path)
        return entry

    def take(self, stream: BinaryIO, entry: SavedEntry) -> SavedEntry:
        """Take in a file; return its entry with its chunks, and the size that it was found to
        have."""
        first, size = len(self._chunks), 0
        cutting = self._vault.rules.cutting
        for cuts in cut_file(stream, entry.size, cutting, self._vault.name_of):
            found = self._known.find(cuts.names)
            if None in found:
                self._add_new(cuts, found)
                found = self._known.find(cuts.names)
            self._chunks.extend(one for one in found if one is not None)
            size += cuts.size
            self.told.read += cuts.size
            self.told.stored = self._writer.stored
            self._tell(self.told)
        count = len(self._chunks) - first
        return entry.with_chunks(size, first if count else 0, count)

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
        every = runs_of(np.frombuffer(self._chunks, np.uint64))
        runs, names = only_used(every, self._known.directories)
        writer, told = self._writer, self.told
        survives = self._known.losses(every, copies_left(self._vault, settings.code))
        told.stored = writer.stored
        self._tell(told)
        figures = {"read": told.read, "new": told.new, "packed": writer.kept,
                   "stored": writer.stored, "missing": writer.missing,
                   "survives": survives if writer.losses is None else
                   min(survives, writer.losses)}  # fmt: skip
        return Manifest(
            name, int(self._vault.clock()), settings.label, settings.code, names, runs, entries,
            figures, remarks={why: tuple(paths) for why, paths in told.remarks.items()},
        )  # fmt: skip


def known_chunks(vault: Vault, save: str, settings: SaveSettings) -> KnownChunks:
    """Return the chunks that a save with this name may refer to: those of the newest checkpoints
    of its label, and of saves that came to no end, in packs that are seen to be on the hosts and
    are as safe there as new ones were."""
    going, known = doomed(vault), KnownChunks()
    names: list[str] = []
    for one in reversed(vault.manifests(settings.label)[-BASES:]):
        names.extend(name for name in one.directories if name not in names)
    names.extend(name for name in _left_over(vault) if name not in names)
    names = [name for name in names if name not in going]
    directories: list[Directory] = []
    for name in names:
        with suppress(LostError):
            directories.append(vault.directory(name))
    if not directories:
        return known
    seed = int.from_bytes(blake3(save.encode()).digest()[:8], "big")
    seen = SeenPacks(vault.pool, directories, seed)
    wanted = wanted_safety(vault.pool, settings.code, strict=settings.strict)
    for directory in directories:
        known.learn(directory, seen.usable(directory, wanted, going))
    return known


def _left_over(vault: Vault) -> list[str]:
    """Return the directories of saves that died, and of those under way."""
    there, _ = vault.pool.keys(keys.DIRECTORIES)
    ended = set(vault.names())
    found = sorted(key.removeprefix(keys.DIRECTORIES) for key in there)
    return [name for name in found if keys.save_of(name) not in ended]


def in_turn(vault: Vault, code: Code) -> Placing:
    """Return the hosts of pieces where nobody chose them."""
    return StoreLayout("code", code, len(vault.pool.hosts)).place


def copies_left(vault: Vault, code: Code) -> int:
    """Return how many hosts, any, may be lost of those that answer, by what is on each of them."""
    answer = len(vault.pool.hosts) - len(vault.pool.away)
    return max(min(StoreLayout("code", code, len(vault.pool.hosts)).survives(), answer - 1), 0)


def copies_for(vault: Vault, code: Code) -> int:
    """Return on how many hosts a manifest must be, so that it outlives what the packs do: of those
    that answer, and on most of all."""
    answer = len(vault.pool.hosts) - len(vault.pool.away)
    return max(min(code.parity + 1, answer), vault.majority)
