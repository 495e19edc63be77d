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

import os
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
SKEW: Final = timedelta(days=1)
"""Most that a clock is believed to be ahead."""
_MOMENT: Final = "%Y%m%dT%H%M%S%fZ"


def save_name(now: float, label: str, nonce: bytes, last: str = "") -> str:
    """Return the name of a save that begins at `now`, s since 1970. It sorts behind the `last` one,
    also where that was made by a machine whose clock is ahead."""
    moment = datetime.fromtimestamp(now, UTC)
    with suppress(ValueError):
        before = datetime.strptime(last.partition("-")[0], _MOMENT).replace(tzinfo=UTC)
        if moment <= before < moment + SKEW:
            moment = before + timedelta(microseconds=1)
    told = f"{now} {label} {os.getpid()} {os.uname().nodename} ".encode() + nonce
    return f"{moment.strftime(_MOMENT)}-{blake3(told).hexdigest()[:6]}"


def fragment_key(save: str, pack: bytes, place: int) -> str:
    """Return the key of a piece of a pack that a save wrote."""
    return f"{PACKS}{save}/{pack.hex()}.{place}"


def save_of(directory: str) -> str:
    """Return the save that wrote a directory."""
    return directory.partition(".")[0]
