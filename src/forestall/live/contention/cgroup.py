"""A memory control group of our own, version 1 or 2, where one can be made: for a limit that
binds the experiment's processes and nobody else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PREFIX: Final = "forestall-memory-"
ROOT: Final = Path("/")


@dataclass(frozen=True)
class CgroupPlaces:
    """Where control groups with a memory limit can be made.

    Attributes
    ----------
    version : 1 or 2
    folders : to try, nearest first
    """

    version: int
    folders: tuple[Path, ...]


def places(mounts: str, own: str) -> CgroupPlaces | None:
    """Return where a memory control group may be made; None: the host has no such groups.

    Parameters
    ----------
    mounts : text of /proc/self/mounts
    own : text of /proc/self/cgroup
    """
    groups = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        groups[controllers] = path
    unified: Path | None = None
    for line in mounts.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and "memory" in options.split(","):
            path = next((p for names, p in groups.items() if "memory" in names.split(",")), "/")
            return CgroupPlaces(1, _upwards(Path(where), path))
        if kind == "cgroup2":
            unified = Path(where)
    if unified is None or "" not in groups:
        return None
    return CgroupPlaces(2, _upwards(unified, groups[""]))


def _upwards(mount: Path, path: str) -> tuple[Path, ...]:
    """Return the group and all above it, up to the mount."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return tuple(mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1))


@dataclass(frozen=True)
class MemoryGroup:
    """A group with a limit; `other` is the memory in it that is not pages of files, bytes."""

    folder: Path
    version: int
    limit: int

    @property
    def entrance(self) -> Path:
        """The file that takes a process's number into the group."""
        return self.folder / "cgroup.procs"

    @property
    def other(self) -> float:
        """Bytes in use that cannot be dropped: what is not pages of files."""
        current = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        used = int((self.folder / current).read_text(encoding="ascii"))
        return used - _stat(self.folder)["file" if self.version == 2 else "cache"]


def _stat(folder: Path) -> Mapping[str, int]:
    lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines)}


@contextmanager
def memory_group(limit: int, where: CgroupPlaces | None = None) -> Iterator[MemoryGroup | str]:
    """Give a group with a limit of so many bytes, or in words why there is none.

    It goes when the block is left; its processes must be gone then. Groups that a process left
    which was killed go at the next call.
    """
    found = here() if where is None else where
    made = "this host has no memory control groups" if found is None else _make(found, limit)
    try:
        yield made
    finally:
        if isinstance(made, MemoryGroup):
            _remove(made.folder)


def here() -> CgroupPlaces | None:
    """Return the places of this process."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
        return places(mounts, Path("/proc/self/cgroup").read_text(encoding="utf-8"))
    except OSError:
        return None


def _make(found: CgroupPlaces, limit: int) -> MemoryGroup | str:
    why = "none of its groups may be written to without more rights"
    for folder in found.folders:
        if not os.access(folder, os.W_OK | os.X_OK):
            continue
        if found.version == 2 and not _controls(folder):
            continue
        for left in folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                left.rmdir()
        group = folder / f"{PREFIX}{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            why = f"{group}: {error.strerror}"
            continue
        try:
            _limit(group, found.version, limit)
            return MemoryGroup(group, found.version, limit)
        except OSError as error:
            why = f"{group}: the limit cannot be set: {error.strerror}"
            _remove(group)
    return f"no memory control group can be made: {why}"


def _controls(folder: Path) -> bool:
    """Return whether groups within this one of version 2 can have a memory limit."""
    with suppress(OSError):
        text = (folder / "cgroup.subtree_control").read_text(encoding="ascii")
        return "memory" in text.split()
    return False


def _limit(group: Path, version: int, limit: int) -> None:
    """Set the limit, and keep the group from swapping, which others would feel."""
    name, swap = ("memory.max", "memory.swap.max")
    if version == 1:
        name, swap = ("memory.limit_in_bytes", "memory.swappiness")
    (group / name).write_text(str(limit), encoding="ascii")
    with suppress(OSError):
        if (group / swap).exists():
            (group / swap).write_text("0", encoding="ascii")


def _remove(group: Path) -> None:
    for _ in range(50):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:  # a process of it is on its way out
            time.sleep(0.02)
