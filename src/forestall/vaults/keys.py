"""Names of the objects of a vault, alike on all of its hosts.

    vault                              what the vault is
    store                              which vault's it is, and which of its stores
    packs/SAVE/PACK.PLACE              a fragment
    directories/SAVE.PART              packs that a save wrote
    manifests/SAVE                     a checkpoint; it is there once this is
    manifests/SAVE.MOVE                the same one, some of whose chunks were moved to other packs
    forgotten/SAVE                     a checkpoint that is there no more, whoever still has a copy
    leases/SAVE                        a save is under way
    fences/SAVE                        a save that was presumed dead: it must not be completed
    sightings/SAVE.MACHINE             what a collection on a machine last saw of a lease
    collections/TIME-NONCE             what is about to be removed
    runs/NAME/history                  what became of a program that `forestall run` keeps
    runs/NAME/lease-ID                 it runs, or is about to

A save's name is its time, for people, digits by its label, and a sequence number: one more than the
greatest that it saw. Names sort by that number, not by clocks, which differ between machines; those
of older versions, which have none, come first. The name of a move of chunks, which writes packs and
directories as a save does, is made likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from forestall.vaults.libraries import blake3

VAULT: Final = "vault"
STORE: Final = "store"
PACKS: Final = "packs/"
DIRECTORIES: Final = "directories/"
MANIFESTS: Final = "manifests/"
FORGOTTEN: Final = "forgotten/"
LEASES: Final = "leases/"
FENCES: Final = "fences/"
SIGHTINGS: Final = "sightings/"
COLLECTIONS: Final = "collections/"
RUNS: Final = "runs/"
_SEQUENCE: Final = r"(?:-[0-9]{1,12})?"
SAVE: Final = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{6}" + _SEQUENCE)
_MOVE: Final = re.compile(r"[0-9]{8}T[0-9]{12}Z-m[0-9a-f]{6}" + _SEQUENCE)
TAG: Final = 3
"""Digits of a name that go by its label, so that few others are read in search of one."""


def save_name(now: float, tag: str, nonce: bytes, before: Iterable[str] = ()) -> str:
    """Return the name of a save that begins at `now`, s since 1970, and whose label has this tag.
    It sorts behind those `before`."""
    return _name(now, tag + blake3(nonce).hexdigest()[:TAG], before)


def move_name(now: float, nonce: bytes, before: Iterable[str] = ()) -> str:
    """Return the name of a move of chunks that begins now, behind those `before`."""
    return _name(now, "m" + blake3(nonce).hexdigest()[:6], before)


def _name(now: float, middle: str, before: Iterable[str]) -> str:
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return f"{moment}-{middle}-{1 + max(map(sequence_of, before), default=0)}"


def sequence_of(name: str) -> int:
    """Return the sequence number of a save or move; 0 where its name has none."""
    number = name.split("-")[2:]
    return int(number[0]) if number else 0


def order_of(name: str) -> tuple[int, str]:
    """Return what saves, or moves, sort by: what each saw of the others, then their names."""
    return sequence_of(name), name


def is_move(name: str) -> bool:
    """Whether a name is that of a move of chunks."""
    return _MOVE.fullmatch(name) is not None


def manifest_key(name: str, move: str = "") -> str:
    """Return the key of a manifest: of a checkpoint as it was saved, or as a move left it."""
    return f"{MANIFESTS}{name}.{move}" if move else MANIFESTS + name


def manifest_of(key: str) -> tuple[str, str] | None:
    """Return a checkpoint's name, and the move after which it is so, from the key of its manifest;
    None where it is none's."""
    name, dot, move = key.removeprefix(MANIFESTS).partition(".")
    known = SAVE.fullmatch(name) is not None and (is_move(move) if dot else True)
    return (name, move) if known else None


def tag_of(name: str) -> str:
    """Return the tag of the label of a save, from its name."""
    return name.split("-")[1][:TAG]


def fragment_key(save: str, pack: bytes, place: int) -> str:
    """Return the key of a piece of a pack that a save wrote."""
    return f"{PACKS}{save}/{pack.hex()}.{place}"


def save_of(directory: str) -> str:
    """Return the save that wrote a directory."""
    return directory.partition(".")[0]
