"""The files of a checkpoint: found below the paths that are saved, and made anew below a folder."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from forestall.model.errors import InputError, ParameterError, of_system
from forestall.vaults.manifests import SavedEntry


class Source(NamedTuple):
    """Something to be saved: where it is, and what it is; chunks of it are not known yet."""

    path: Path
    entry: SavedEntry


def check_paths(paths: Sequence[Path]) -> list[str]:
    """Return the last names of paths that shall be saved. Raises ParameterError where two have one
    name, TraceError where one is not there."""
    names = [path.absolute().name for path in paths]
    for name, path in zip(names, paths, strict=True):
        if not name:
            raise ParameterError("paths", str(path), "a file or folder with a name")
        if names.count(name) > 1:
            raise ParameterError("paths", str(path), f"one path with the name {name}")
        with of_system(path, "cannot be saved"):
            path.lstat()
    return names


def sources(paths: Sequence[Path], skipped: Counter[str]) -> Iterator[Source]:
    """Yield what is below paths, each under its last name, parents before what is in them.

    What is neither file, folder nor link, or goes meanwhile, is counted in `skipped`. Raises as
    `check_paths` does, and TraceError where something cannot be read.
    """
    for name, path in zip(check_paths(paths), paths, strict=True):
        yield from _below(path, PurePosixPath(name), skipped)


def _below(path: Path, name: PurePosixPath, skipped: Counter[str]) -> Iterator[Source]:
    try:
        found = path.lstat()
        target = os.readlink(path) if stat.S_ISLNK(found.st_mode) else ""
    except FileNotFoundError:
        skipped["gone meanwhile"] += 1
        return
    mode, changed = stat.S_IMODE(found.st_mode), found.st_mtime_ns
    if stat.S_ISREG(found.st_mode):
        yield Source(path, SavedEntry(_text(name), "file", mode, changed, found.st_size))
    elif target:
        yield Source(path, SavedEntry(_text(name), "link", mode, changed, target=target))
    elif stat.S_ISDIR(found.st_mode):
        yield Source(path, SavedEntry(_text(name), "folder", mode, changed))
        with of_system(path, "cannot be saved"):
            inside = sorted(os.listdir(path))
        for one in inside:
            yield from _below(path / one, name / one, skipped)
    else:
        skipped["neither file, folder nor link"] += 1


def _text(name: PurePosixPath) -> str:
    """Return a name that JSON can hold; odd bytes come back as they were (`os.fsencode`)."""
    return str(name)


def checked_entries(entries: Sequence[SavedEntry]) -> None:
    """Raise InputError unless all paths lie below the folder that is restored to, each once, and
    each in a folder that is one."""
    kinds: dict[PurePosixPath, str] = {PurePosixPath(): "folder"}
    for one in entries:
        path = PurePosixPath(one.path)
        odd = (
            not one.path or path.is_absolute() or ".." in path.parts or "\0" in one.path
            or str(path) != one.path or one.kind not in ("file", "folder", "link")
        )  # fmt: skip
        if odd or path in kinds or (path.parent in kinds and kinds[path.parent] != "folder"):
            raise InputError(f"the checkpoint names {one.path!r}, which cannot be restored")
        kinds[path] = one.kind


def make_folders(folder: Path, entries: Sequence[SavedEntry]) -> None:
    """Make the folders below one that nobody else writes to, and its files, of their sizes; what is
    in them stays. Raises OSError."""
    for one in entries:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if one.kind == "folder":
            path.mkdir(exist_ok=True)
        elif one.kind == "file":
            with path.open("ab") as file:
                file.truncate(one.size)
        else:
            path.unlink(missing_ok=True)


def finish(folder: Path, entries: Sequence[SavedEntry]) -> None:
    """Make links, give all their rights and times, and wait for the disk. Links come last: nothing
    is ever written through one. Raises OSError."""
    for one in entries:
        if one.kind == "link":
            os.symlink(one.target, folder / one.path)
    for one in reversed(entries):  # what is in a folder before the folder
        path = folder / one.path
        if one.kind == "file":
            _flush(path)
        if one.kind != "link":
            path.chmod(one.mode & 0o777)
        os.utime(path, ns=(one.changed, one.changed), follow_symlinks=False)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
