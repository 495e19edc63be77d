"""Where the memory of machines is kept between a checkpoint and a restart."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Protocol

from forestall.core.files.atomic import flush
from forestall.core.model.errors import of_system


class Images(Protocol):
    """Keeps images of machines' memory. Raises ForestallError."""

    def room(self, machine: str, number: int) -> Path:
        """Return where a host is to write a new image; all hosts reach that path."""
        ...

    def keep(self, machine: str, image: Path) -> str:
        """Keep an image that was written, and return its name."""
        ...

    def forget(self, machine: str, keep: str) -> None:
        """Remove the images of a machine that are older than this one."""
        ...

    def bring(self, machine: str, name: str) -> Path:
        """Return the path of an image that was kept; all hosts reach it."""
        ...


class FolderImages:
    """Images in a folder that all hosts share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def room(self, machine: str, number: int) -> Path:
        """Return a path that is not there yet."""
        place = self._folder / machine
        with of_system(place, "cannot be written"):
            place.mkdir(parents=True, exist_ok=True)
        path = place / f"{number:06d}.new"
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return path

    def keep(self, machine: str, image: Path) -> str:
        """Keep an image; it is on the disk when this returns."""
        kept = image.with_suffix(".img")
        with of_system(image, "cannot be saved"):
            flush(image)
            image.rename(kept)
            flush(kept.parent)
        return kept.name

    def forget(self, machine: str, keep: str) -> None:
        """Remove all images of a machine but one."""
        for path in (self._folder / machine).glob("*"):
            if path.name != keep:
                with contextlib.suppress(OSError):
                    path.unlink()

    def bring(self, machine: str, name: str) -> Path:
        """Return where an image is."""
        return self._folder / machine / name
