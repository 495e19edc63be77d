"""Files appear whole or not at all, and stay: written beside their place, brought onto the disk,
renamed into it, and the name brought onto the disk, too.

What is beside carries the lock of its writer for as long as that lives. What has none was left by a
process that died; the next one to write the same file removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from forestall.core.model.errors import UnwritableError

NEW: Final = ".new-"
"""How the name of a folder in the making begins (`files.folders`)."""
_TAKEN: Final = frozenset({".prom"})
"""Collectors read whatever ends so in their folder, hidden or not."""
_MARK: Final = r"-[0-9a-f]{8}"
_BESIDE: Final = re.compile(rf"\..+{_MARK}(\.[^/]*)?")
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


@contextmanager
def atomic_path(
    path: str | Path,
    *,
    sync: bool = True,
    private: bool = False,
    new: bool = False,
    tidy: bool = True,
) -> Iterator[Path]:
    """Give a new empty file in the folder of `path`; on a clean exit it is renamed to `path`.

    On an error nothing is left behind and what stood at `path` stays. The temporary name keeps the
    suffixes of `path`, by which writers choose a format, but for those by which others take files
    (`_TAKEN`). Raises UnwritableError, which names `path`, where it cannot be written.

    Parameters
    ----------
    sync : wait until the file is on the disk, its name too; False for what its writer writes anew
        every few seconds. In a folder in the making nobody waits: that is done for all of it
    private : only its owner may read it
    new : nothing may stand at `path`; something there is an UnwritableError with EEXIST
    tidy : remove what writers that died left beside `path`; False where many files are written to
        one folder, which somebody else sweeps: it is listed for each of them

    >>> with atomic_path("jobs.csv") as beside:  # doctest: +SKIP
    ...     beside.write_text("job,submit\\n")
    """
    target = Path(path)
    sync = sync and not _in_the_making(target)
    try:
        _check_replaceable(target)
        if tidy and not _in_the_making(target):
            _tidied(str(target.parent), target.name)
        handle, beside = _begun(target, 0o600 if private else 0o666)
    except OSError as error:
        raise UnwritableError(target, error) from None
    try:
        yield beside
        if sync:
            flush(beside)
        _put(beside, target, new=new)
        if sync:
            flush(target.parent)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in {None, str(beside), beside}:
            raise UnwritableError(target, error) from None
        raise  # what has another name was not about this file
    finally:
        os.close(handle)


def is_beside(name: str) -> bool:
    """Return whether a file of this name may be one that was not put into its place yet."""
    return _BESIDE.fullmatch(name) is not None


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL or not path.is_dir():  # some file systems have no such thing
            raise
    finally:
        os.close(handle)


def held(path: Path, handle: int) -> bool:
    """Take the lock by which others see that who makes `path` lives; return False where one who
    tidied up took it for abandoned in the moment before."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # no locks here: then nobody tidies up either
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


@contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Say whether `path`, in the making, is ours and its maker is dead; hold it meanwhile."""
    handle = -1
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        found = os.fstat(handle)
        plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
        dead = plain and found.st_uid == os.geteuid()
        if dead:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        dead = False
    try:
        yield dead
    finally:
        if handle >= 0:
            os.close(handle)


def _in_the_making(target: Path) -> bool:
    return any(part.startswith(NEW) for part in target.parts[-3:-1])


def _check_replaceable(target: Path) -> None:
    """Raise OSError for a device, a pipe or a socket, which a rename would do away with."""
    with suppress(FileNotFoundError, NotADirectoryError):
        kind = os.stat(target).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise OSError(errno.EINVAL, "not a file", str(target))


def _ends(target: Path) -> tuple[str, str]:
    """Return how the names of files beside a place begin and end."""
    end = "" if target.suffix in _TAKEN else "".join(target.suffixes[-2:])
    return f".{target.name[:32]}", end


def _begun(target: Path, mode: int) -> tuple[int, Path]:
    """Return a new file beside a place, and a handle with its lock."""
    begin, end = _ends(target)
    while True:
        beside = target.with_name(f"{begin}-{secrets.token_hex(4)}{end}")
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            continue
        if held(beside, handle):
            return handle, beside
        os.close(handle)


def _put(beside: Path, target: Path, *, new: bool) -> None:
    if not new:
        os.replace(beside, target)
        return
    try:
        os.link(beside, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(beside)) from None
        os.replace(beside, target)
    else:
        os.unlink(beside)


@lru_cache(maxsize=4096)
def _tidied(folder: str, name: str) -> None:
    """Remove what processes that died left beside a place; once in a process is enough."""
    begin, end = _ends(Path(name))
    ours = re.compile(f"{re.escape(begin)}{_MARK}{re.escape(end)}")
    with suppress(OSError), os.scandir(folder) as found:
        for one in [entry.name for entry in found if ours.fullmatch(entry.name)]:
            path = Path(folder, one)
            with abandoned(path) as dead, suppress(OSError):
                if dead:
                    path.unlink()
