"""An image on its way into the vault, while the program goes on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forestall.model.errors import ForestallError
from forestall.vault.collecting import Retention, collect, forget, outdated
from forestall.vault.manifests import Manifest
from forestall.vault.repository import Vault
from forestall.vault.saving import SaveSettings, SaveTold, save


class CancelledError(Exception):
    """A save that nobody waits for any more."""


@dataclass(frozen=True)
class Image:
    """An image: where it lies, and what it has of the program.

    Attributes
    ----------
    folder : of the image
    ran : s that the program had run in all
    pause : s that it stood still for it
    size : bytes
    """

    folder: Path
    ran: float
    pause: float
    size: int


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
        self, vault: Vault, image: Image, settings: SaveSettings, keep: int,
        over: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(name="upload", daemon=True)
        self.image = image
        self.made: Manifest | None = None
        self.why = self.said = ""
        self.overhead = 0.0
        self._vault, self._settings, self._keep, self._over = vault, settings, keep, over
        self._cancelled = threading.Event()

    def run(self) -> None:
        """Save it; the end is told by `over`."""
        before = os.times()
        try:
            self.made = save(self._vault, [self.image.folder], self._settings, tell=self._tell)
        except CancelledError:
            self.why = "it was not waited for"
        except (ForestallError, OSError) as error:
            self.why = str(error)
        now = os.times()
        used = now.user + now.system - before.user - before.system
        self.overhead = used / len(os.sched_getaffinity(0))
        if self.made is not None:
            self._let_go()
        self._over()

    def cancel(self) -> None:
        """Give it up soon."""
        self._cancelled.set()

    def _tell(self, told: SaveTold) -> None:
        if self._cancelled.is_set():
            raise CancelledError

    def _let_go(self) -> None:
        try:
            vault, label = self._vault, self._settings.label
            gone = outdated(vault.manifests(label), Retention(self._keep), vault.clock() + 1)
            for one in gone:
                forget(vault, one.name)
            if gone:
                collect(vault)
        except (ForestallError, OSError) as error:
            self.said = str(error)
