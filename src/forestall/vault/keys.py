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
from datetime import UTC, datetime
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
SAVE: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{10}")


def save_name(now: int, label: str, nonce: bytes) -> str:
    """Return the name of a save that begins at `now`, s since 1970."""
    told = f"{now} {label} {os.getpid()} {os.uname().nodename} ".encode() + nonce
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{moment}-{blake3(told).hexdigest()[:10]}"


def fragment_key(save: str, pack: bytes, place: int) -> str:
    """Return the key of a piece of a pack that a save wrote."""
    return f"{PACKS}{save}/{pack.hex()}.{place}"


def save_of(directory: str) -> str:
    """Return the save that wrote a directory."""
    return directory.partition(".")[0]
