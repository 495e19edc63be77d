"""Names below an open folder, however deep they lie: the system takes a path of 4,096 bytes at
most, and a tree of files may have longer ones."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

_STEP: Final = 1000
"""Characters of a path, each of at most 4 bytes, that the system is given at once."""
_HANDLES: Final = 64
_ENTER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Place(NamedTuple):
    """What the system takes for a path: a name, and the open folder that it starts at."""

    name: str
    folder: int

    @property
    def path(self) -> str:
        """A path of the whole system that is as short, where a call takes no open folder."""
        return f"/proc/self/fd/{self.folder}/{self.name}"


class OpenFolder:
    """A folder whose inside is reached by paths of any length.

    Parameters
    ----------
    top : the folder; a link to one is followed

    Raises OSError where it is none.
    """

    def __init__(self, top: Path) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self.handle: Final = os.open(top, flags)
        self._below: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()
        os.close(self.handle)

    def at(self, path: str) -> Place:
        """Return the place of a path; of the folder itself where that is empty. It holds until the
        next call. Raises OSError."""
        if len(path) <= _STEP:
            return Place(path or ".", self.handle)
        if len(self._below) > _HANDLES:
            self._leave()
        folder, begin = self.handle, 0
        while len(path) - begin > _STEP:
            end = path.rfind("/", begin, begin + _STEP)
            if end < begin:  # a name that is too long: the system says so
                break
            if path[:end] not in self._below:
                self._below[path[:end]] = os.open(path[begin:end], _ENTER, dir_fd=folder)
            folder, begin = self._below[path[:end]], end + 1
        return Place(path[begin:], folder)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """Open what is at a path and no link. Raises OSError."""
        name, folder = self.at(path)
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)

    def folder(self, path: str) -> int:
        """Open a folder, to read it. Raises OSError."""
        return self.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def stat(self, path: str) -> os.stat_result:
        """Return what a path is; links are not followed. Raises OSError."""
        name, folder = self.at(path)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def remove(self, path: str) -> None:
        """Remove what is no folder, where it is there. Raises OSError."""
        name, folder = self.at(path)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)

    def clear(self) -> None:
        """Remove all that is in it, also from folders that let nobody write. Raises OSError."""
        folders, left = [], [""]
        while left:
            path = left.pop()
            if path:
                folders.append(path)
                name, folder = self.at(path)
                os.chmod(name, 0o700, dir_fd=folder)
            handle = self.folder(path)
            try:
                with os.scandir(handle) as inside:
                    entries = [(entry.name, entry.is_dir(follow_symlinks=False))
                               for entry in inside]  # fmt: skip
                for name, is_folder in entries:
                    if is_folder:
                        left.append(f"{path}/{name}" if path else name)
                    else:
                        os.unlink(name, dir_fd=handle)
            finally:
                os.close(handle)
        for path in reversed(folders):  # those in a folder come after it
            name, folder = self.at(path)
            os.rmdir(name, dir_fd=folder)

    def _leave(self) -> None:
        for handle in self._below.values():
            os.close(handle)
        self._below.clear()
