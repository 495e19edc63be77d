"""Where compiled kernels are kept, and which of them are taken.

Numba notices a change of the file that a kernel stands in, not of its callees in other files: so
each module has a folder for what it reaches (`_reach`). They lie inside the package where that is
writable, else in the user's cache folder. `FORESTALL_KERNEL_CACHE` names another place. What lies
there is run, so a folder that others may write to is not taken; and a file that was damaged is made
anew.
"""

from __future__ import annotations

import os
import pickle
import stat
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile
from numba.core.utils import PYVERSION

PACKAGE: Final = Path(__file__).parents[1]
_SUM: Final = 4
_DAY: Final = 86_400.0
_MONTH: Final = 30 * _DAY
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


def _usable(folder: Path) -> bool:
    """Whether we can write there and, root aside, nobody else can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = folder.stat()
        if found.st_uid not in (os.geteuid(), 0):
            return False
        if found.st_mode & _OTHERS:
            folder.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


@cache
def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels, or None where there is none to write to that is
    ours alone: then each process compiles."""
    python = ".".join(map(str, PYVERSION))
    name = f"kernels-numba{numba.__version__}-numpy{np.__version__}-py{python}"
    chosen = os.environ.get("FORESTALL_KERNEL_CACHE")
    user = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "forestall"
    places = [Path(chosen)] if chosen else [PACKAGE / "__pycache__", user]
    return next((place / name for place in places if _usable(place / name)), None)


def tidy(folder: Path) -> None:
    """Remove kernels that were not loaded for a month, also those of other versions, and what Numba
    had half-written in processes that died, a day ago or more; `folder` was written to just now."""
    now = folder.stat().st_mtime
    for kept in folder.parent.glob("kernels-*"):
        found = kept.lstat()  # what others may write to could lead elsewhere
        alone = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
        for path in sorted(kept.rglob("*"), reverse=True) if alone else ():
            with suppress(OSError):
                if now - path.lstat().st_mtime > (_DAY if ".tmp." in path.name else _MONTH):
                    (path.rmdir if path.is_dir() else path.unlink)()


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc] # of a library without types
    """Numba's files of a kernel, each behind a checksum; one that does not fit it is absent."""

    @classmethod
    def like(cls, files: IndexDataCacheFile, base: str) -> Self:
        """Return the same files, checked; their names begin with `base`. The folder says for which
        sources they are: their times and sizes do not matter."""
        return cls(files._cache_path, base, None)

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled, where that can be: a full disk is no reason to fail, the next
        process compiles again."""
        with suppress(OSError):
            super().save(key, data)

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return zlib.crc32(data).to_bytes(_SUM) + data

    def _save_index(self, overloads: Any) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(self._dump((self._source_stamp, overloads)))

    def _load_index(self) -> Any:
        try:
            stamp, overloads = _checked(self._index_path)
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return _checked(self._data_path(name))


def _checked(path: str) -> Any:
    """Return what a file holds. Raises OSError, which for Numba is one that is not there."""
    stored = Path(path).read_bytes()
    if len(stored) < _SUM or zlib.crc32(stored[_SUM:]) != int.from_bytes(stored[:_SUM]):
        raise FileNotFoundError(f"{path} was damaged")
    with suppress(OSError):
        os.utime(path)  # somebody needs it: see `tidy`
    try:
        return pickle.loads(stored[_SUM:])
    except (AttributeError, ImportError):  # of types that had another name, or another place
        raise FileNotFoundError(f"{path} is of another version") from None
