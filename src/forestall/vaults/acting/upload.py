"""An image on its way into the vault, while the program goes on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from forestall.core.model.errors import ForestallError
from forestall.vaults.collecting import collect, forget
from forestall.vaults.keys import order_of
from forestall.vaults.manifests import Manifest
from forestall.vaults.repository import Vault
from forestall.vaults.saving import SaveTold


class CancelledError(Exception):
    """A save that nobody waits for any more."""


class ImageSaving(NamedTuple):
    """How images are saved: the label of the checkpoints, and what makes one of a folder."""

    label: str
    save: Callable[[Vault, Path, Callable[[SaveTold], None]], Manifest]


class KeptNewest(NamedTuple):
    """How many checkpoints stay, and which of them this driver made, oldest first: names tell their
    age only where clocks agree."""

    most: int
    made: tuple[str, ...] = ()

    def outdated(self, there: Sequence[str], newest: str) -> list[str]:
        """Return those of the checkpoints that go, oldest first."""
        ours = [*self.made, newest]
        others = sorted((name for name in there if name not in ours), key=order_of)
        return [*others, *(name for name in ours if name in there)][: -self.most]


@dataclass(frozen=True)
class Image:
    """An image: where it lies, and what it has of the program.

    Attributes
    ----------
    folder : of the image
    ran : s that the program had run in all
    pause : s that it stood still for it
    """

    folder: Path
    ran: float
    pause: float


class Upload(threading.Thread):
    """Saves an image into the vault, then lets the checkpoints go that are too old.

    Attributes
    ----------
    made : the checkpoint; None where it was not made
    why : why not
    said : what was wrong with removing old ones
    overhead : s of the program's time that it took at most, as all processors would have
    """

    def __init__(
        self,
        vault: Vault,
        image: Image,
        saving: ImageSaving,
        keeping: KeptNewest,
        over: Callable[[], None],
    ) -> None:
        super().__init__(name="upload", daemon=True)
        self.image = image
        self.made: Manifest | None = None
        self.why = self.said = ""
        self.overhead = 0.0
        self._vault, self._saving, self._keeping, self._over = vault, saving, keeping, over
        self._cancelled = threading.Event()

    def run(self) -> None:
        """Save it; the end is told by `over`."""
        before = os.times()
        try:
            self.made = self._saving.save(self._vault, self.image.folder, self._tell)
        except CancelledError:
            self.why = "it was not waited for"
        except (ForestallError, OSError) as error:
            self.why = str(error)
        now = os.times()
        used = now.user + now.system - before.user - before.system
        self.overhead = used / len(os.sched_getaffinity(0))
        if self.made is not None:
            self._let_go(self.made.name)
        self._over()

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for it."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Give it up soon."""
        self._cancelled.set()

    def _tell(self, told: SaveTold) -> None:
        if self._cancelled.is_set():
            raise CancelledError

    def _let_go(self, made: str) -> None:
        try:
            vault = self._vault
            there = [one.name for one in vault.manifests(self._saving.label)]
            gone = self._keeping.outdated(there, made)
            for name in gone:
                forget(vault, name)
            if gone:
                collect(vault)
        except (ForestallError, OSError) as error:
            self.said = str(error)
