"""Names of the objects of a vault, alike on all of its hosts.

    vault                              what the vault is
    packs/SAVE/PACK.PLACE              a fragment
    directories/SAVE.PART              packs that a save wrote
    manifests/SAVE                     a checkpoint; it is there once this is
    manifests/SAVE.MOVE                the same one, some of whose chunks were moved to other packs
    forgotten/SAVE                     a checkpoint that is there no more, whoever still has a copy
    leases/SAVE                        a save is under way
    collections/TIME                   what is about to be removed
    runs/NAME/history                  what became of a program that `forestall run` keeps
    runs/NAME/lease-ID                 it runs, or is about to

A save's name begins with its time, so that names sort by age; that of a move of chunks, too, which
writes packs and directories as a save does.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from blake3 import blake3

VAULT: Final = "vault"
PACKS: Final = "packs/"
DIRECTORIES: Final = "directories/"
MANIFESTS: Final = "manifests/"
FORGOTTEN: Final = "forgotten/"
LEASES: Final = "leases/"
COLLECTIONS: Final = "collections/"
RUNS: Final = "runs/"
SAVE: Final = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{6}")
_MOVE: Final = re.compile(r"\d{8}T\d{12}Z-m[0-9a-f]{6}")
TAG: Final = 3
"""Digits of a name that go by its label, so that few others are read in search of one."""
SKEW: Final = timedelta(days=1)
"""Most that a clock is believed to be ahead."""
_MOMENT: Final = "%Y%m%dT%H%M%S%fZ"


def save_name(now: float, tag: str, nonce: bytes, last: str = "") -> str:
    """Return the name of a save that begins at `now`, s since 1970, and whose label has this tag.
    It sorts behind the `last` one, also where that was made by a machine whose clock is ahead."""
    moment = datetime.fromtimestamp(now, UTC)
    with suppress(ValueError):
        before = datetime.strptime(last.partition("-")[0], _MOMENT).replace(tzinfo=UTC)
        if moment <= before < moment + SKEW:
            # Two machines that do so at once must not come to one name.
            moment = before + timedelta(microseconds=1 + int.from_bytes(nonce[:2], "big"))
    return f"{moment.strftime(_MOMENT)}-{tag}{blake3(nonce).hexdigest()[:TAG]}"


def move_name(now: float, nonce: bytes, last: str = "") -> str:
    """Return the name of a move of chunks that begins now, behind the `last` one there was."""
    moment, _, rest = save_name(now, "", nonce, last).partition("-")
    return f"{moment}-m{rest}{blake3(nonce).hexdigest()[TAG:6]}"


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
    return name.rpartition("-")[2][:TAG]


def fragment_key(save: str, pack: bytes, place: int) -> str:
    """Return the key of a piece of a pack that a save wrote."""
    return f"{PACKS}{save}/{pack.hex()}.{place}"


def save_of(directory: str) -> str:
    """Return the save that wrote a directory."""
    return directory.partition(".")[0]
