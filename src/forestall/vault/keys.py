"""Names of the objects of a vault, alike on all of its hosts.

    vault                              what the vault is
    packs/SAVE/PACK.PLACE              a fragment
    directories/SAVE.PART              packs that a save wrote
    manifests/SAVE                     a checkpoint; it is there once this is
    forgotten/SAVE                     a checkpoint that is there no more, whoever still has a copy
    leases/SAVE                        a save is under way
    collections/TIME                   what is about to be removed
    runs/NAME/history                  what became of a program that `forestall run` keeps
    runs/NAME/lease-ID                 it runs, or is about to

A save's name begins with its time, so that names sort by age.
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


def tag_of(name: str) -> str:
    """Return the tag of the label of a save, from its name."""
    return name.rpartition("-")[2][:TAG]


def fragment_key(save: str, pack: bytes, place: int) -> str:
    """Return the key of a piece of a pack that a save wrote."""
    return f"{PACKS}{save}/{pack.hex()}.{place}"


def save_of(directory: str) -> str:
    """Return the save that wrote a directory."""
    return directory.partition(".")[0]
