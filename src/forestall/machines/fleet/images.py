"""Images of machines' memory in a vault: chunks, compression, pieces on storage hosts."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from forestall.core._lazy import lazily
from forestall.core.model.errors import of_system
from forestall.machines.acting.hosts.images import FolderImages

with lazily():
    from forestall.vaults.api import opened

_CHUNKS: Final = "blocks:64"
_KEPT: Final = 2
"""Checkpoints of a machine that stay in the vault."""


class VaultImages:
    """Keeps images in a vault; the folder is where hosts write and read them.

    Parameters
    ----------
    folder : that all hosts share
    stores : URLs of the vault's storage hosts
    key : file with the key of an encrypted vault; None: it is not encrypted
    """

    def __init__(self, folder: Path, stores: Sequence[str], key: Path | None = None) -> None:
        self._folder, self._files = folder.resolve(), FolderImages(folder)
        self._vault = opened.OpenVault(list(stores), key)
        self._stores = len(stores)

    def room(self, machine: str, number: int) -> Path:
        """Return where a host is to write a new image."""
        return self._files.room(machine, number)

    def keep(self, machine: str, image: Path) -> str:
        """Save an image in the vault, and return the checkpoint's id; the file goes."""
        place = image.with_suffix(".saving")
        memory = place / "memory.img"
        with of_system(image, "cannot be saved"):
            place.mkdir()
            image.rename(memory)
        parity = (self._stores - 1) // 2
        told = self._vault.save(
            memory, label=machine, data=self._stores - parity, parity=parity, chunks=_CHUNKS
        )
        shutil.rmtree(place, ignore_errors=True)
        return str(told["id"])

    def forget(self, machine: str, keep: str) -> None:
        """Remove a machine's older checkpoints."""
        told = [str(one["id"]) for one in self._vault.list(machine)]
        if old := [one for one in told[:-_KEPT] if one != keep]:
            self._vault.collect(*old)
        self._files.forget(machine, "")
        for place in (self._folder / machine).glob("restored.*"):
            shutil.rmtree(place, ignore_errors=True)

    def bring(self, machine: str, name: str) -> Path:
        """Restore an image to the folder, and return its path. Raises ForestallError."""
        to = self._folder / machine / f"restored.{name}"
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(to)
        self._vault.restore(name, to)
        return next(path for path in sorted(to.rglob("memory.img")))
