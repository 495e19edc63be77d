"""A control group of our own, version 1 or 2, where one can be made: with a limit of memory that
binds the experiment's processes and nobody else, or with a share of the cores that keeps others
off."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PREFIX: Final = "forestall-"
MEMORY: Final = "memory"
CPU: Final = "cpu"
MOST_SHARES: Final = {1: ("cpu.shares", 262_144), 2: ("cpu.weight", 10_000)}
"""The largest share of the cores that a group can have, by version: 256 and 100 times the usual."""
ROOT: Final = Path("/")


@dataclass(frozen=True)
class CgroupPlaces:
    """Where control groups can be made.

    Attributes
    ----------
    version : 1 or 2
    folders : to try, nearest first
    """

    version: int
    folders: tuple[Path, ...]


def places(mounts: str, own: str, controller: str = MEMORY) -> CgroupPlaces | None:
    """Return where a control group may be made; None: the host has no such groups.

    Parameters
    ----------
    mounts : text of /proc/self/mounts
    own : text of /proc/self/cgroup
    controller : what the group shall limit
    """
    groups = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        groups[controllers] = path
    unified: Path | None = None
    for line in mounts.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and controller in options.split(","):
            path = next((p for names, p in groups.items() if controller in names.split(",")), "/")
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
    with _group(found, MEMORY, lambda group, version: _limit(group, version, limit)) as made:
        if isinstance(made, str) or found is None:
            yield str(made)
        else:
            yield MemoryGroup(made, found.version, limit)


@contextmanager
def core_group(where: CgroupPlaces | None = None) -> Iterator[Path | str]:
    """Give the entrance of a group to which the cores go before they go to anyone else, or in words
    why there is none.

    Among its own processes priorities count as ever: owner and guest in it are as on a core of
    their own. It is made as high in the tree as may be, as shares count among neighbours. It goes
    as a memory group does.
    """
    found = here(CPU) if where is None else where
    if found is not None:
        found = CgroupPlaces(found.version, found.folders[::-1])
    with _group(found, CPU, _first) as made:
        yield made if isinstance(made, str) else made / "cgroup.procs"


@contextmanager
def _group(
    found: CgroupPlaces | None, controller: str, set_up: Callable[[Path, int], None]
) -> Iterator[Path | str]:
    """Give the folder of a group, or in words why there is none."""
    none = f"this host has no {controller} control groups"
    made = none if found is None else _make(found, controller, set_up)
    try:
        yield made
    finally:
        if isinstance(made, Path):
            _remove(made)


def here(controller: str = MEMORY) -> CgroupPlaces | None:
    """Return the places of this process."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        return places(mounts, own, controller)
    except OSError:
        return None


def _make(found: CgroupPlaces, controller: str, set_up: Callable[[Path, int], None]) -> Path | str:
    why = "none of its groups may be written to without more rights"
    for folder in found.folders:
        if not os.access(folder, os.W_OK | os.X_OK):
            continue
        if found.version == 2 and not _controls(folder, controller):
            continue
        for left in folder.glob(f"{PREFIX}{controller}-*"):
            _clear(left)
        group = folder / f"{PREFIX}{controller}-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            why = f"{group}: {error.strerror}"
            continue
        try:
            set_up(group, found.version)
            return group
        except OSError as error:
            why = f"{group}: it cannot be set up: {error.strerror}"
            _remove(group)
    return f"no {controller} control group can be made: {why}"


def _controls(folder: Path, controller: str) -> bool:
    """Return whether groups within this one of version 2 can be given shares or limits."""
    with suppress(OSError):
        text = (folder / "cgroup.subtree_control").read_text(encoding="ascii")
        return controller in text.split()
    return False


def _first(group: Path, version: int) -> None:
    """Give the group the largest share of the cores that there is."""
    name, share = MOST_SHARES[version]
    (group / name).write_text(str(share), encoding="ascii")


def _limit(group: Path, version: int, limit: int) -> None:
    """Set the limit, and keep the group from swapping, which others would feel."""
    name, swap = ("memory.max", "memory.swap.max")
    if version == 1:
        name, swap = ("memory.limit_in_bytes", "memory.swappiness")
    (group / name).write_text(str(limit), encoding="ascii")
    with suppress(OSError):
        if (group / swap).exists():
            (group / swap).write_text("0", encoding="ascii")


def _clear(left: Path) -> None:
    """Remove a group whose maker is gone; that of a living one may be about to be used."""
    maker = left.name.rpartition("-")[2]
    if maker.isdigit() and not Path("/proc", maker).exists():
        with suppress(OSError):
            left.rmdir()


def _remove(group: Path) -> None:
    for _ in range(50):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:  # a process of it is on its way out
            time.sleep(0.02)
