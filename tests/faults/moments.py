"""Every moment at which a process can be killed while it writes: what its files are like then.

Whatever a process did to its files before it is killed stays, locks aside. So a copy of a folder
before each call that changes it is what a kill there leaves; one run gives all of them.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
     "os.chmod", "shutil.rmtree", "fsync"}
)  # fmt: skip
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Moments:
    """Calls `at` before each call below a folder that changes files, with its number from 1.

    There is no way to take an audit hook away: a process that ends soon is the place for one.
    """

    def __init__(self, folder: Path, at: Callable[[int], None]) -> None:
        self.count = 0
        self._below, self._at, self._busy = str(folder), at, False
        sys.addaudithook(self._heard)
        flush = os.fsync

        def fsync(handle: int) -> None:
            self._heard("fsync", (os.readlink(f"/proc/self/fd/{handle}"),))
            flush(handle)

        os.fsync = fsync

    def _heard(self, event: str, told: tuple[Any, ...]) -> None:
        if self._busy or not (event in CHANGES or (event == "open" and _writes(told[2]))):
            return
        if not any(str(one).startswith(self._below) for one in told[:2] if _is_path(one)):
            return
        self._busy = True
        try:
            self.count += 1
            self._at(self.count)
        finally:
            self._busy = False


def _writes(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & WRITES)


def _is_path(one: Any) -> bool:
    return isinstance(one, str | os.PathLike)


def copies_to(place: Path, folder: Path) -> Callable[[int], None]:
    """Return what copies a folder to PLACE/NUMBER, where it is not as it was in the copy before."""
    last: list[object] = []

    def copy(number: int) -> None:
        now = [
            (str(path), told.st_ino, told.st_size, told.st_mtime_ns)
            for path in folder.rglob("*")
            for told in [path.lstat()]
        ]
        if now == last:
            return
        last[:] = now
        shutil.copytree(folder, place / str(number), symlinks=True, ignore=_no_sockets)

    return copy


def _no_sockets(where: str, names: list[str]) -> list[str]:
    return [name for name in names if not os.path.lexists(os.path.join(where, name))]


def held_in(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder by their names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def in_child(work: Callable[[], object]) -> int:
    """Do something in a process of its own, and return how it ended: 0, or minus its signal."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
