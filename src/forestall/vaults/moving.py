"""Chunks moved out of packs of which few are still needed, so that these can go.

A move writes the chunks into new packs, as a save does, then for each checkpoint that needs one of
them a manifest that says so, beside the one there is. Only once enough hosts have that, the older
one goes; with the next look nothing needs the old packs any more. Whenever a move ends half-way,
all that any manifest names is there, and the next collection finishes what it began or removes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.vaults import keys
from forestall.vaults.leases import check_lease, lease, leases
from forestall.vaults.manifests import Directory, Manifest, only_used, references_of, runs_of
from forestall.vaults.pieces.codes import Code, Data
from forestall.vaults.places import Needed
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import ahead, needed
from forestall.vaults.repository import Vault
from forestall.vaults.saving import confirm, copies_for, in_turn
from forestall.vaults.writer import PackWriter, Writing

_PLACE: Final = np.uint64(32)
_BELOW: Final = np.uint64(0xFFFFFFFF)


class SparsePack(NamedTuple):
    """A pack of which little is needed: its directory, its number and its first chunk there, and
    the places in it of the chunks that are."""

    directory: Directory
    number: int
    first: int
    places: npt.NDArray[np.int64]

    @property
    def key(self) -> str:
        """The pack as collections name it: SAVE/PACK."""
        name = self.directory.packs[self.number].tobytes().hex()
        return f"{keys.save_of(self.directory.name)}/{name}"


def sparse_packs(vault: Vault, manifests: Iterable[Manifest], share: float) -> Iterator[SparsePack]:
    """Yield the packs of which checkpoints need less than this share of what is stored."""
    found: dict[tuple[str, int], tuple[Needed, npt.NDArray[np.bool_]]] = {}
    for manifest in manifests:
        for need in needed(vault, manifest):
            key = need.directory.name, need.number
            if key not in found:
                count = int(need.directory.counts[need.number])
                found[key] = need, np.zeros(count, np.bool_)
            found[key][1][need.chunks[:, 0]] = True
    for (_, number), (need, used) in sorted(found.items(), key=lambda one: one[0]):
        stored = need.directory.stored[need.first : need.first + len(used)]
        if stored[used].sum(dtype=np.int64) < share * int(need.directory.lengths[number]):
            yield SparsePack(need.directory, number, need.first, np.flatnonzero(used))


@dataclass
class MoveTold:
    """What a move came to: chunks' bytes that were written anew, out of so many packs; and what was
    in the way, in words."""

    moved: int = 0
    packs: int = 0
    said: list[str] = field(default_factory=list)


def move(vault: Vault, sparse: Sequence[SparsePack]) -> MoveTold:
    """Write the chunks that are needed of packs into new ones, and the manifests that say so.

    Only one move is made at a time: where another one is under way, none is. Raises HostError where
    hosts do not take all that shall be written, LeaseLostError where it was presumed dead: what it
    wrote of manifests by then is right, and nothing was taken away.
    """
    told = MoveTold()
    before = (one for several in vault.moves(certain=True).values() for one in several)
    name = keys.move_name(vault.clock(), secrets.token_bytes(8), before)
    with lease(vault, name, "", max(copies_for(vault, one.directory.code) for one in sparse)):
        others = [one for one in leases(vault) if keys.is_move(one)]
        if others != [name]:
            told.said.append("another collection is moving chunks; packs stay as they are")
            return told
        there = vault.moves(certain=True)  # no other move is under way, from here on
        places = _Places(vault, name, told)
        places.write(sparse)
        for one, several in there.items():
            manifest = places.moved(vault.manifest_after(one, several))
            if manifest is not None:
                check_lease(vault, name)
                _put(vault, manifest)
        check_lease(vault, name)  # last of all: see `leases`
        settle(vault)
    return told


def settle(vault: Vault) -> None:
    """Take away the manifests of checkpoints that newer ones stand for, once enough hosts have
    these, and all that they name. No move may be under way."""
    for name, moves in vault.moves(certain=True).items():
        if len(moves) > 1:
            made = vault.manifest_after(name, moves)
            if made.move == moves[0]:
                _put(vault, made)
                for older in moves[1:]:
                    vault.pool.delete_everywhere(keys.manifest_key(name, older))


def _put(vault: Vault, manifest: Manifest) -> None:
    copies = copies_for(vault, manifest.code)
    vault.pool.put_everywhere(manifest.key, vault.envelope(manifest), copies)
    confirm(vault, manifest, copies)


class _Places:
    """Where chunks were and are now."""

    def __init__(self, vault: Vault, name: str, told: MoveTold) -> None:
        self._vault, self._name, self._told = vault, name, told
        self._directories: list[str] = []
        self._now: dict[str, dict[int, int]] = {}
        self._known: dict[tuple[Code, bytes], int] = {}

    def write(self, sparse: Sequence[SparsePack]) -> None:
        """Write the chunks anew. A pack that cannot be recovered stays."""
        with ExitStack() as stack:
            writers: dict[Code, PackWriter] = {}
            for one in sorted({pack.directory.code for pack in sparse}):
                made = self._writer(one, len(writers))
                writers[one] = stack.enter_context(closing(made))
            wanted = (Needed(one.directory, one.number, one.first, one.places[:, None])
                      for one in sparse)  # fmt: skip
            for fetch, need in ahead(self._vault, wanted):
                try:
                    chunks = fetch.wanted(need.chunks[:, 0].tolist())
                except LostError as error:
                    self._told.said.append(str(error))
                    continue
                self._add(writers[need.directory.code], need, chunks)
            for writer in writers.values():
                writer.finish()

    def _writer(self, code: Code, number: int) -> PackWriter:
        """Return what writes packs of a code; all their pieces must find a host, as those of the
        packs that go did or may have done."""
        vault = self._vault
        writing = Writing(
            code, code.pieces, copies_for(vault, code), "auto", in_turn(vault, code), vault.seal,
            vault.envelope,
        )  # fmt: skip
        return PackWriter(vault.pool, self._name, writing, within=f"{number}-")

    def _add(self, writer: PackWriter, need: Needed, chunks: dict[int, Data]) -> None:
        """Write chunks of a pack, those that another pack had, too, once."""
        code, raw = need.directory.code, need.directory.chunks[need.first :]
        names = {place: raw[place].tobytes() for place in chunks}
        new = {names[place]: bytes(data) for place, data in chunks.items()
               if (code, names[place]) not in self._known}  # fmt: skip
        left = iter(new)
        for part, first, count in writer.add(list(new.items())):
            if part not in self._directories:
                self._directories.append(part)
            base = (self._directories.index(part) << 32) + first
            self._known.update(((code, next(left)), base + k) for k in range(count))
        now = self._now.setdefault(need.directory.name, {})
        now.update((need.first + place, self._known[code, names[place]]) for place in chunks)
        self._told.moved += sum(map(len, new.values()))
        self._told.packs += 1

    def moved(self, manifest: Manifest) -> Manifest | None:
        """Return a checkpoint with its chunks where they are now; None where none was moved."""
        references = references_of(manifest.runs)
        which, inside = references >> _PLACE, references & _BELOW
        base, found = len(manifest.directories), False
        for number, name in enumerate(manifest.directories):
            now = self._now.get(name, {})
            here = np.flatnonzero(which == number)
            for at, place in zip(here.tolist(), inside[here].tolist(), strict=True):
                if place in now:
                    references[at] = now[place] + (base << 32)
                    found = True
        if not found:
            return None
        runs, names = only_used(runs_of(references), [*manifest.directories, *self._directories])
        return replace(manifest, runs=runs, directories=names, move=self._name)
