"""A folder as a storage host: a disk of this machine, or a shared file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forestall.traces.files.atomic import atomic_path
from forestall.vault.hosts.host import AbsentError, HostError, StorageHost, Stored, checked_key


class FolderHost(StorageHost):
    """Objects are files; each appears by a rename, once it is on the disk.

    Parameters
    ----------
    folder : made with the first object
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"file://{folder.absolute()}"
        self._folder = folder

    def put(self, key: str, data: bytes) -> None:
        """Write an object beside its place, wait for the disk, and rename it."""
        path = self._path(key)
        with self._said():
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(path, sync=True) as beside:
                beside.write_bytes(data)
            _flush_folder(path.parent)

    def get(self, key: str) -> bytes:
        """Return an object."""
        with self._said():
            try:
                return self._path(key).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                raise AbsentError(self.name, f"{key} is not there") from None

    def keys(self, prefix: str) -> Iterator[Stored]:
        """Yield the objects below a folder; what is half-written has another name."""
        top = self._folder / checked_key(prefix.rstrip("/"))
        with self._said():
            for where, folders, names in os.walk(top, onerror=_raise):
                folders.sort()
                for name in sorted(names):
                    path = Path(where, name)
                    if not name.startswith("."):
                        with suppress(FileNotFoundError):  # it went meanwhile
                            key = path.relative_to(self._folder).as_posix()
                            yield Stored(key, path.stat().st_size)

    def delete(self, key: str) -> None:
        """Remove an object."""
        with self._said():
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / checked_key(key)

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HostError(self.name, error.strerror or str(error)) from None


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _flush_folder(folder: Path) -> None:
    """Wait until the names of a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
