"""The files that are saved: found below the paths that people give, parents before what is in
them."""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core.model.errors import ParameterError, TraceError, of_system
from forestall.vaults.trees.attributes import Remarks, note, note_flags, saved_attributes
from forestall.vaults.trees.entries import Attributes, SavedEntry
from forestall.vaults.trees.folders import OpenFolder

GONE: Final = "left out: gone before it could be read"
TORN: Final = "changed while it was read"
_SOCKET: Final = "left out: a socket"
_OTHER: Final = "left out: neither file, folder, link nor device"
_STORE: Final = "left out: a storage host of this vault"
ANOTHER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
"""What the system says where something else, or nothing, has a name meanwhile."""
UNSURE: Final = frozenset({GONE, TORN})
"""Remarks on files whose content is not in a checkpoint as it was at any one moment."""
_KINDS: Final = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link",
                 stat.S_IFIFO: "fifo", stat.S_IFCHR: "char", stat.S_IFBLK: "block"}  # fmt: skip
_BLOCK: Final = 512
"""Bytes of which `stat` counts how many a file takes."""
_TICK: Final = 0.02
"""s within which two changes of a file may have the same time."""

Identity = tuple[int, int]
"""Device and number of a file: what it is, whatever it is called."""


class Source(NamedTuple):
    """Something to be saved: what it is, chunks of it not known yet; and where.

    Attributes
    ----------
    shown : its path as people would have it
    identity : of what has several names
    """

    entry: SavedEntry
    shown: str
    folder: OpenFolder
    where: str
    identity: Identity | None

    @property
    def path(self) -> Path:
        """Its path as people would have it."""
        return Path(self.shown)

    def open(self, remarks: Remarks) -> tuple[io.FileIO, SavedEntry, os.stat_result]:
        """Open a file; return it, its entry as it is now, and its state. Raises OSError."""
        file = io.FileIO(self.folder.open(self.where, os.O_RDONLY | os.O_NONBLOCK))
        try:
            handle = file.fileno()
            now = os.fstat(handle)
            if abs(time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns)) < _TICK * 1e9:
                time.sleep(_TICK)  # or a change that follows would have the same time
                now = os.fstat(handle)
            if not stat.S_ISREG(now.st_mode):
                raise FileNotFoundError(errno.ENOENT, "it is no file any more")
            attributes = saved_attributes(handle, self.entry.path, remarks)
            return file, _entry(self.entry.path, now, attributes), now
        except BaseException:
            file.close()
            raise


def is_unchanged(file: io.FileIO, before: os.stat_result) -> bool:
    """Whether a file that was read is as it was before."""
    return _state(os.fstat(file.fileno())) == _state(before)


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def identity(path: Path) -> Identity | None:
    """Return what a path leads to; None where nothing is there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_paths(paths: Sequence[Path], stores: frozenset[Identity] = frozenset()) -> list[str]:
    """Return the names under which paths shall be saved. Raises ParameterError where two have one
    name, or one lies in a storage host of `stores`; TraceError where one is not there."""
    names = [_name(path) for path in paths]
    for name, path in zip(names, paths, strict=True):
        if not name:
            raise ParameterError("paths", str(path), "a file or folder with a name")
        if names.count(name) > 1:
            raise ParameterError("paths", str(path), f"one path with the name {name}")
        with of_system(path, "cannot be saved"):
            path.stat()
            real = Path(os.path.realpath(path))
        if any(identity(above) in stores for above in (real, *real.parents) if stores):
            raise ParameterError("paths", str(path), "a path outside the storage hosts")
    return names


def _name(path: Path) -> str:
    """Return the last name of a path, of ``..`` that of the folder."""
    name = path.absolute().name
    return Path(os.path.realpath(path)).name if name == ".." else name


def sources(
    paths: Sequence[Path], remarks: Remarks, stores: frozenset[Identity] = frozenset()
) -> Iterator[Source]:
    """Yield what is below paths, each under its last name. A path that is a link is followed;
    links below it are saved as links. What is left out is noted in `remarks`.

    `stores` : storage hosts, which are left out. Raises as `check_paths` does, and TraceError where
    something cannot be read.
    """
    for name, path in zip(check_paths(paths, stores), paths, strict=True):
        real = Path(os.path.realpath(path))
        with of_system(path, "cannot be saved"):
            above = OpenFolder(real.parent)
        with above:
            yield from _below(above, real.name, name, path, remarks, stores)


def _below(
    above: OpenFolder,
    real: str,
    name: str,
    top: Path,
    remarks: Remarks,
    stores: frozenset[Identity],
) -> Iterator[Source]:
    """Yield what is at a name in a folder, and all below it."""
    left = [""]
    while left:
        rest = left.pop()
        path = f"{top}{rest}"
        try:
            seen = _look(above, real + rest, name + rest, path, remarks, stores)
        except OSError as error:
            if rest and error.errno in ANOTHER:
                note(remarks, GONE, name + rest)
                continue
            raise TraceError(path, f"cannot be saved: {error.strerror or error}") from None
        if seen is not None:
            source, inside = seen
            yield source
            left.extend(f"{rest}/{one}" for one in reversed(inside))


def _look(
    above: OpenFolder,
    where: str,
    name: str,
    path: str,
    remarks: Remarks,
    stores: frozenset[Identity],
) -> tuple[Source, list[str]] | None:
    """Return what is at a path, and the names in it; None where it is left out. Raises OSError."""
    found, inside, target = above.stat(where), [], ""
    kind = _KINDS.get(stat.S_IFMT(found.st_mode))
    attributes: Attributes = ()
    if kind == "folder":
        if (found.st_dev, found.st_ino) in stores:
            note(remarks, _STORE, name)
            return None
        handle = above.folder(where)
        try:
            found, inside = os.fstat(handle), sorted(os.listdir(handle))
            attributes = saved_attributes(handle, name, remarks)
            note_flags(handle, name, remarks)
        finally:
            os.close(handle)
    elif kind is None:
        note(remarks, _SOCKET if stat.S_ISSOCK(found.st_mode) else _OTHER, name)
        return None
    elif kind != "file":  # a file's attributes are read once it is open
        at = above.at(where)
        target = os.readlink(at.name, dir_fd=at.folder) if kind == "link" else ""
        attributes = saved_attributes(at, name, remarks)
    entry = _entry(name, found, attributes, target)
    several = kind != "folder" and found.st_nlink > 1
    identity = (found.st_dev, found.st_ino) if several else None
    return Source(entry, path, above, where, identity), inside


def _entry(
    name: str, found: os.stat_result, attributes: Attributes, target: str = ""
) -> SavedEntry:
    kind = _KINDS[stat.S_IFMT(found.st_mode)]
    size = found.st_size if kind == "file" else 0
    return SavedEntry(
        name, kind, stat.S_IMODE(found.st_mode), found.st_mtime_ns, size, target=target,
        owner=(found.st_uid, found.st_gid), attributes=attributes,
        device=found.st_rdev if kind in ("char", "block") else 0,
        sparse=size > 0 and found.st_blocks * _BLOCK < size,
    )  # fmt: skip
