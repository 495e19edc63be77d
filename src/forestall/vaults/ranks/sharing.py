"""Checkpoints of all ranks of a program as one, in which chunks that several have stand once.

    1. each rank cuts what it has and names the chunks; lists of names go up the tree and are made
       one; the root leaves out what the vault has; decisions come down: who writes what
    2. each rank compresses and stores its share; where chunks came to lie goes up, and down to all
       who have them
    3. each rank tells its files by these places; the root writes the manifest, last of all

So a chunk is compressed and stored once, however many ranks have it, and no rank hears more than
the lists of its children.

Source: slides of Ren and Bagchi on FGCS, ongoing work: similar checkpoints of parallel processes,
aggregated in a tree.
"""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.files.documents import json_of
from forestall.core.files.records import LARGEST, held_to, record_of
from forestall.core.model.errors import InputError
from forestall.vaults.chunks import cut_stream
from forestall.vaults.known import KnownChunks
from forestall.vaults.layouts import StoreLayout
from forestall.vaults.leases import lease
from forestall.vaults.manifests import Manifest, only_used, references_of, runs_of
from forestall.vaults.ranks.members import Links
from forestall.vaults.ranks.names import NameList, merged
from forestall.vaults.ranks.states import Buffer
from forestall.vaults.ranks.tree import Message, Tree
from forestall.vaults.repository import Vault
from forestall.vaults.saving import (
    SaveSettings,
    copies_for,
    copies_left,
    in_turn,
    known_chunks,
    new_name,
    publish,
)
from forestall.vaults.trees.entries import SavedEntry
from forestall.vaults.writer import PackWriter, Writing

FANOUT: Final = 8
_FIGURES: Final = ("read", "new", "packed", "stored", "missing")
_NONE: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_PLACE: Final = np.uint64(32)
References = npt.NDArray[np.uint64]


class RankFile(NamedTuple):
    """A file of a rank: its path in the checkpoint, and what opens it; it is read twice."""

    path: str
    open: Callable[[], BinaryIO]


@dataclass(frozen=True)
class _Cut:
    """What a rank has: its files, its chunks in order as places in its list, and the list."""

    entries: tuple[SavedEntry, ...]
    sequence: npt.NDArray[np.int64]
    lengths: tuple[int, ...]
    names: NameList


class SharedSave:
    """A save of all ranks, one after the other: `write` on all, then `commit` on the root.

    Parameters
    ----------
    open_vault : opens the vault; the root's is opened first, and may begin it
    links : between ranks
    settings : of the save
    fanout : of the tree

    Attributes
    ----------
    figures : of this rank: bytes read, written before coding, and stored
    """

    def __init__(
        self,
        open_vault: Callable[[], Vault],
        links: Links,
        settings: SaveSettings | None = None,
        *,
        fanout: int = FANOUT,
    ) -> None:
        self._open, self._tree = open_vault, Tree(links, fanout)
        self.settings = settings or SaveSettings()
        self.figures: dict[str, int] = {}
        self._stack = ExitStack()
        self._known = KnownChunks()
        self._made: Manifest | None = None

    @property
    def is_root(self) -> bool:
        """Whether this rank writes the manifest."""
        return self._tree.parent is None

    @property
    def rank(self) -> int:
        """This rank."""
        return self._tree.links.rank

    def write(self, given: Sequence[RankFile]) -> None:
        """Store what the ranks have; all do so at once. Raises SharedSaveError on all where one
        could not."""
        try:
            self._begin()
            cut = self._cut(given)
            self._decided(cut)
            self._written(cut, given)
            self._told(cut)
        except BaseException:
            self.close()
            raise

    def commit(self, more: Mapping[str, bytes] | None = None) -> Manifest:
        """Write the manifest, with small files besides; the root does so. From then on the
        checkpoint is there."""
        assert self._made is not None, "write comes first, and only the root commits"
        with self._stack:
            vault, made = self._vault, self._made
            if more:
                made = self._with(made, more)
            return publish(vault, made)

    def close(self) -> None:
        """Let go of vault and lease; what was not committed is no checkpoint."""
        self._stack.close()

    # ------------------------------------------------------------------------------- turns

    def _begin(self) -> None:
        """Open the vault, the root first, and give the save its name."""

        def name(_: Message) -> Message:
            self._vault = self._stack.enter_context(self._open())
            made = new_name(self._vault, self.settings.label)
            self._stack.enter_context(lease(self._vault, made, self.settings.label))
            return {"name": made.encode()}

        told = self._tree.turn(lambda _: {}, name, self._alike)
        self.name = bytes(told["name"]).decode()

    def _cut(self, given: Sequence[RankFile]) -> _Cut | Exception:
        """Cut what this rank has; an error is kept until the others can be told."""
        try:
            if not self.is_root:
                self._vault = self._stack.enter_context(self._open())
            names, lengths, entries = bytearray(), array("Q"), []
            now = int(self._vault.clock() * 1e9)
            for one in given:
                first, size = len(lengths), 0
                with one.open() as stream:
                    for cuts in cut_stream(stream, self._vault.rules.cutting, self._vault.name_of):
                        names += b"".join(cuts.names)
                        lengths.extend(map(len, cuts.parts))
                        size += cuts.size
                entries.append(
                    SavedEntry(one.path, "file", 0o600, now, size, first, len(lengths) - first)
                )
            found, sequence = NameList.of(bytes(names), lengths)
            self.figures["read"] = sum(lengths)
            return _Cut(tuple(entries), sequence, tuple(lengths), found)
        except (InputError, OSError) as error:
            return error

    def _decided(self, cut: _Cut | Exception) -> None:
        """Find out which of its chunks this rank writes."""

        def up(got: Sequence[Message]) -> Message:
            if isinstance(cut, Exception):
                raise cut
            lists = [cut.names, *(NameList.from_message(one) for one in got)]
            self._merged = merged(lists, self.rank)
            return self._merged.whole.message()

        def top(_: Message) -> Message:
            self._known = known_chunks(self._vault, self.name, self.settings)
            raw = self._merged.whole.names.tobytes()
            size = 32
            found = self._known.find([raw[at : at + size] for at in range(0, len(raw), size)])
            self._refs = np.array([_NONE if one is None else one for one in found], np.uint64)
            return {"write": (self._refs == _NONE).astype(np.uint8)}

        def split(answer: Message) -> list[npt.NDArray[np.uint8]]:
            wanted = np.asarray(answer["write"], np.uint8)
            both = zip(self._merged.places, self._merged.chosen, strict=True)
            return [wanted[places] * chosen for places, chosen in both]

        answer = self._tree.turn(up, top, lambda told: [{"write": one} for one in split(told)[1:]])
        self._mine = split(answer)[0].astype(np.bool_)

    def _written(self, cut: _Cut | Exception, given: Sequence[RankFile]) -> None:
        """Store this rank's share, and find out where all its chunks are."""
        assert isinstance(cut, _Cut)

        def up(got: Sequence[Message]) -> Message:
            directories, refs, figures = self._store(cut, given)
            found = np.full(len(self._merged.whole.names), _NONE, np.uint64)
            self._take(found, 0, refs, 0)
            for number, one in enumerate(got, 1):
                self._take(found, number, np.asarray(one["refs"], np.uint64), len(directories))
                directories += held_to(list[str], json_of(bytes(one["directories"])))
                figures = _both(figures, np.asarray(one["figures"], np.int64))
            self._subtree = directories, found, figures
            return {"directories": json.dumps(directories).encode(), "refs": found,
                    "figures": figures}  # fmt: skip

        def top(_: Message) -> Message:
            directories, found, self._total = self._subtree
            shift = np.uint64(len(self._known.directories)) << _PLACE
            self._known.directories += directories
            new = self._refs == _NONE
            if (found[new] == _NONE).any():
                raise InputError("a chunk that a rank should have written is missing")
            self._refs[new] = found[new] + shift
            return {"refs": self._refs}

        def down(answer: Message) -> list[Message]:
            refs = np.asarray(answer["refs"], np.uint64)
            return [{"refs": refs[places]} for places in self._merged.places[1:]]

        answer = self._tree.turn(up, top, down)
        self._own = np.asarray(answer["refs"], np.uint64)[self._merged.places[0]]

    def _take(self, into: References, number: int, refs: References, shift: int) -> None:
        """Take in where the chunks of a list came to lie, of those that it was to write."""
        there = refs != _NONE
        places = self._merged.places[number][there]
        into[places] = refs[there] + (np.uint64(shift) << _PLACE)

    def _told(self, cut: _Cut | Exception) -> None:
        """Tell the root all files; there make the checkpoint of them, without writing it."""
        assert isinstance(cut, _Cut)

        def up(got: Sequence[Message]) -> Message:
            own = [asdict(one) for one in cut.entries]
            runs, count = [runs_of(self._own[cut.sequence])], len(cut.sequence)
            for one in got:
                told = [_entry(each) for each in json_of(bytes(one["entries"]))]
                own.extend(asdict(each) | {"first": each.first + count} for each in told)
                part = np.asarray(one["runs"], np.uint32).reshape(-1, 3)
                runs.append(part)
                count += int(part[:, 2].sum(dtype=np.int64))
            return {"entries": json.dumps(own).encode(), "runs": np.concatenate(runs)}

        def top(mine: Message) -> Message:
            entries = [_entry(one) for one in json_of(bytes(mine["entries"]))]
            runs = np.asarray(mine["runs"], np.uint32).reshape(-1, 3)
            self._made = self._manifest(entries, runs)
            return {}

        self._tree.turn(up, top, self._alike)
        if not self.is_root:
            self.close()

    def _alike(self, answer: Message) -> list[Message]:
        return [answer] * len(self._tree.children)

    # ------------------------------------------------------------------------------- parts

    def _store(
        self, cut: _Cut, given: Sequence[RankFile]
    ) -> tuple[list[str], References, npt.NDArray[np.int64]]:
        """Store this rank's share; return its directories, where the chunks of its list lie, and
        its figures."""
        rank = self.rank
        refs = np.full(len(cut.names.names), _NONE, np.uint64)
        left, number, new = self._mine.copy(), 0, 0
        raw = cut.names.names.tobytes()
        parts: dict[str, int] = {}
        with closing(self._writer(f"r{rank}-", rank)) as writer:
            for one, entry in zip(given, cut.entries, strict=True):
                with one.open() as stream:
                    for _ in range(entry.count):
                        place = int(cut.sequence[number])
                        data = stream.read(cut.lengths[number])
                        number += 1
                        if not left[place]:
                            continue
                        name = raw[32 * place : 32 * place + 32]
                        if self._vault.name_of(memoryview(data)) != name:
                            raise InputError(f"{one.path} was changed while it was saved")
                        ((part, first, _),) = writer.add([(name, data)])
                        refs[place] = (parts.setdefault(part, len(parts)) << 32) + first
                        left[place] = False
                        new += len(data)
            writer.finish()
            self.figures |= {"new": new, "packed": writer.kept, "stored": writer.stored}
            figures = [self.figures["read"], new, writer.kept, writer.stored, writer.missing]
        return list(parts), refs, np.array(figures, np.int64)

    def _writer(self, within: str, turn: int) -> PackWriter:
        """Return a writer whose packs begin with another host for each rank."""
        vault, settings = self._vault, self.settings
        place = in_turn(vault, settings.code)
        writing = Writing(
            settings.code, min(settings.least, settings.code.pieces),
            copies_for(vault, settings.code), settings.compression,
            lambda number: place(number + turn), vault.seal, vault.envelope,
        )  # fmt: skip
        return PackWriter(vault.pool, self.name, writing, within=within)

    def _manifest(self, entries: Sequence[SavedEntry], runs: npt.NDArray[np.uint32]) -> Manifest:
        """Return the checkpoint; only directories that it needs are in it."""
        vault, settings = self._vault, self.settings
        figures = dict(zip(_FIGURES, self._total.tolist(), strict=True))
        layout = StoreLayout("code", settings.code, len(vault.pool.hosts))
        left = min(layout.survives(int(figures["missing"])), copies_left(vault, settings.code))
        figures |= {"ranks": self._tree.links.size, "survives": self._known.losses(runs, left)}
        runs, names = only_used(runs, self._known.directories)
        return Manifest(
            self.name, int(vault.clock()), settings.label, settings.code, names, runs,
            tuple(entries), figures,
        )  # fmt: skip

    def _with(self, made: Manifest, more: Mapping[str, bytes]) -> Manifest:
        """Return the checkpoint with small files besides."""
        entries, found = list(made.entries), array("Q")
        count, parts = int(made.runs[:, 2].sum(dtype=np.int64)), list(made.directories)
        with closing(self._writer("more-", 0)) as writer:
            for path, data in more.items():
                first = len(found)
                for cuts in cut_stream(
                    io.BytesIO(data), self._vault.rules.cutting, self._vault.name_of
                ):
                    chunks = [(name, bytes(one)) for name, one in zip(*cuts, strict=True)]
                    for part, at, some in writer.add(chunks):
                        if part not in parts:
                            parts.append(part)
                        base = (parts.index(part) << 32) + at
                        found.extend(range(base, base + some))
                entries.append(SavedEntry(path, "file", 0o600, int(self._vault.clock() * 1e9),
                                     len(data), count + first, len(found) - first))  # fmt: skip
            writer.finish()
        every = np.concatenate((references_of(made.runs), np.frombuffer(found, np.uint64)))
        return replace(made, runs=runs_of(every), entries=tuple(entries), directories=tuple(parts))


def _both(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the figures of two shares: sums, and the most pieces that are missing of a pack."""
    found = one + other
    found[-1] = max(one[-1], other[-1])
    return found


def in_memory(path: str, data: Buffer) -> RankFile:
    """Return a file that is in memory."""
    return RankFile(path, lambda: io.BufferedReader(_View(data)))


class _View(io.RawIOBase):
    """Bytes in memory as a stream, without a copy of them."""

    def __init__(self, data: Buffer) -> None:
        super().__init__()
        self._data, self._at = data, 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, into: Any) -> int:
        """Give the next bytes."""
        count = min(len(into), len(self._data) - self._at)
        into[:count] = self._data[self._at : self._at + count].data
        self._at += count
        return count


def _entry(told: Any) -> SavedEntry:
    """Return an entry that a rank told; times before 1970 are below 0."""
    return record_of(SavedEntry, told, least=-LARGEST, name="entry")
