"""Where compiled kernels are kept, and which of them are taken.

Numba notices a change of the file that a kernel stands in, not of its callees in other files. So
the cache lives in a folder whose name is a hash of every kernel source; inside the package where
that is writable, else in the user's cache folder. `FORESTALL_KERNEL_CACHE` names another place.
What lies there is run, so a folder that others may write to is not taken; and a file that was
damaged is made anew.
"""

from __future__ import annotations

import hashlib
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

PACKAGE: Final = Path(__file__).parent
_SUM: Final = 4
_DAY: Final = 86_400.0
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


def _source_hash() -> str:
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    patterns = ("*_kernels.py", "*state.py", "policies.py")  # the last: what kernels call policies
    for path in sorted(path for pattern in patterns for path in PACKAGE.rglob(pattern)):
        digest.update(path.read_bytes())
    for name in ("_compile.py", "_kept.py"):
        digest.update((PACKAGE / name).read_bytes())
    return digest.hexdigest()[:16]


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
    name = f"kernels-{_source_hash()}"
    chosen = os.environ.get("FORESTALL_KERNEL_CACHE")
    user = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "forestall"
    places = [Path(chosen)] if chosen else [PACKAGE / "__pycache__", user]
    folder = next((place / name for place in places if _usable(place / name)), None)
    if folder is not None:
        _tidy(folder)
    return folder


def _tidy(folder: Path) -> None:
    """Remove what Numba had half-written in processes that died, a day ago or more; the folder was
    written to just now."""
    with suppress(OSError):
        now = folder.stat().st_mtime
        for path in folder.glob("*.tmp.*"):
            if now - path.stat().st_mtime > _DAY:
                path.unlink(missing_ok=True)


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc] # of a library without types
    """Numba's files of a kernel, each behind a checksum; one that does not fit it is absent."""

    @classmethod
    def like(cls, files: IndexDataCacheFile, base: str) -> Self:
        """Return the same files, checked; their names begin with `base`."""
        return cls(files._cache_path, base, files._source_stamp)

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
    return pickle.loads(stored[_SUM:])
