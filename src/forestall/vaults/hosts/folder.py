"""A folder as a storage host: a disk of this machine, or a shared file system."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from forestall.core.files.atomic import atomic_path, flush
from forestall.core.model.errors import UnwritableError
from forestall.vaults.hosts.host import (
    AbsentError,
    HostError,
    HostLook,
    StorageHost,
    Stored,
    checked_key,
)
from forestall.vaults.hosts.progress import ENTRY, progress_here

TRIES: Final = 8
"""Times that the folder of an object is made: another process may remove it while it is empty."""
_PART: Final = 2**20
"""Bytes that are read or written at once."""


class FolderHost(StorageHost):
    """Objects are files; each appears by a rename, once it is on the disk.

    Parameters
    ----------
    folder : made with the first object
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"file://{folder.absolute()}"
        self.folder = self._folder = folder
        self._held: tuple[str, str, bytes] | None = None

    def place(self) -> str:
        """Return the number of its file system, and of the folder there."""
        with self._said(), suppress(FileNotFoundError):
            status = self._folder.stat()
            return f"{status.st_dev}:{status.st_ino}"
        return ""

    def hold(self, key: str, stored: bytes) -> None:
        """From now on be the folder with this object in it."""
        self._held = self.place(), key, stored

    def put(self, key: str, data: bytes) -> None:
        """Write an object beside its place, wait for the disk, and rename it."""
        self.put_parts(key, [data])

    def put_parts(self, key: str, parts: Sequence[bytes | memoryview]) -> None:
        """Write an object beside its place, wait for the disk, and rename it."""
        with self.writing(key) as file:
            for part in parts:
                view = memoryview(part).cast("B")
                for at in range(0, len(view), _PART):
                    file.write(view[at : at + _PART])
                    progress_here().add(min(_PART, len(view) - at))
            progress_here().expect(sum(map(len, parts)))  # until all is on the disk

    def get(self, key: str) -> bytes:
        """Return an object."""
        with self.reading(key) as file, self._said():
            parts = []
            while part := file.read(_PART):
                progress_here().add(len(part))
                parts.append(part)
            return b"".join(parts)

    @contextmanager
    def writing(self, key: str) -> Iterator[BinaryIO]:
        """Give a file to write an object into; on a clean exit it is there, on the disk, and on an
        error nothing is left of it."""
        path = self._path(key)
        with self._said(), ExitStack() as stack:
            self._check()
            beside = self._beside(path, stack)
            with open(beside, "wb") as file:
                yield file

    @contextmanager
    def reading(self, key: str) -> Iterator[BinaryIO]:
        """Give the file of an object. Raises AbsentError where there is none."""
        with self._said():
            self._check()
            try:
                file = open(self._path(key), "rb")  # noqa: SIM115
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise AbsentError(self.name, f"{key} is not there") from None
        with file:
            yield file

    def size(self, key: str) -> int | None:
        """Return how many bytes an object has; None where there is none."""
        with self._said():
            try:
                found = self._path(key).stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
        return found.st_size

    def keys(self, prefix: str, after: str = "") -> Iterator[Stored]:
        """Yield the objects below a folder, by the parts of their keys, those that come after one;
        what is half-written has another name."""
        inside = tuple(part for part in prefix.split("/") if part)
        if inside:
            checked_key("/".join(inside))
        passed = tuple(after.split("/")) if after else ()
        with self._said():
            self._check()
            yield from self._below(inside, passed)

    def delete(self, key: str) -> None:
        """Remove an object, and the folders that it leaves empty."""
        path = self._path(key)
        with self._said():
            self._check()
            with suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()
            for folder in path.parents:
                if folder == self._folder or not _removed(folder):
                    break

    def look(self) -> HostLook:
        """Return how full its disk is; the folder must be there."""
        with self._said():
            self._check()
            os.scandir(self._folder).close()
            found = os.statvfs(self._folder)
        size = float(found.f_blocks * found.f_frsize)
        return HostLook(stored=size - found.f_bavail * found.f_frsize, quota=size)

    def sweep(self, before: float = math.inf) -> int:
        """Remove what is half-written since before a moment, s since 1970: its writer died. Return
        how many. Nobody may have been writing since."""
        count = 0
        with self._said():
            self._check()
            for where, _, names in os.walk(self._folder):
                progress_here().add(ENTRY)
                for name in names:
                    progress_here().add(ENTRY)
                    if name.startswith("."):
                        with suppress(FileNotFoundError):
                            path = os.path.join(where, name)
                            if os.stat(path).st_mtime < before:
                                os.unlink(path)
                                count += 1
        return count

    def _below(self, inside: tuple[str, ...], passed: tuple[str, ...]) -> Iterator[Stored]:
        """Yield the objects in a folder and in those in it, by name."""
        try:
            with os.scandir(self._folder.joinpath(*inside)) as found:
                names = sorted((one.name, one.is_dir(follow_symlinks=False)) for one in found)
        except (FileNotFoundError, NotADirectoryError):
            return
        depth = len(inside)
        for name, is_folder in names:
            here = (*inside, name)
            progress_here().add(ENTRY)
            if name.startswith(".") or here < passed[: depth + 1]:
                continue
            if is_folder:
                yield from self._below(here, passed)
            elif here > passed:
                with suppress(FileNotFoundError):  # it went meanwhile
                    path = self._folder.joinpath(*here)
                    yield Stored("/".join(here), path.stat().st_size)

    def _beside(self, path: Path, stack: ExitStack) -> Path:
        """Return a file beside the place of an object, made with its folder."""
        for _ in range(TRIES - 1):
            with suppress(UnwritableError, FileNotFoundError):
                _make_folder(path.parent)
                return stack.enter_context(atomic_path(path, tidy=False))
        _make_folder(path.parent)
        return stack.enter_context(atomic_path(path, tidy=False))

    def _check(self) -> None:
        """Raise HostError where another folder has come to be in its place, or none is there."""
        if self._held is None or self._held[0] == (now := self.place()):
            return
        _, key, stored = self._held
        with suppress(OSError):
            if (self._folder / key).read_bytes() == stored:  # mounted anew
                self._held = now, key, stored
                return
        raise HostError(self.name, "this is no longer the store that it was: is its disk mounted?")

    def _path(self, key: str) -> Path:
        return self._folder / checked_key(key)

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            told = error.strerror or str(error)
            raise HostError(self.name, told, error.errno or 0) from None


def _make_folder(folder: Path) -> None:
    """Make a folder; its name, and those of folders made for it, are on the disk."""
    new = []
    while not folder.is_dir():
        new.append(folder)
        folder = folder.parent
    for one in reversed(new):
        one.mkdir(exist_ok=True)
        flush(one.parent)


def _removed(folder: Path) -> bool:
    """Remove a folder if it is empty; return whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
