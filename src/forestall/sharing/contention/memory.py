"""The experiment on memory: an owner's working set and a guest's, in a memory limit of their own.

The owner reads pages of a file at random, the guest holds memory that cannot be dropped. Where both
do not fit into the limit, the owner's pages go, and have to be read from the disk again: it
thrashes, whatever the guest's priority. The host itself is never short of memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from forestall.core.streams import stream
from forestall.sharing.contention.cgroup import MemoryGroup, memory_group
from forestall.sharing.contention.herd import ContentionError, Herd
from forestall.sharing.contention.plan import Guest
from forestall.sharing.contention.points import MemoryPoint

MB: Final = 2**20
LIMIT: Final = 160 * MB
OWNER: Final = 64 * MB
LEFT: Final = (32, 16, 8, 4, 2, 0, -2, -4, -8, -16)
"""MB that the guests' sizes shall leave free."""
QUICK: Final = (16, 4, 0, -8)
SETTLE: Final = 0.3
"""Seconds that the owner reads before it is measured, at most; less where no page is missing."""
WALKS: Final = 3
ALONE: Final = 3
"""Phases without a guest in each repeat, which all others are compared with."""
START: Final = 0.35
"""Seconds of a phase for the guest to start and end, and the owner to read its file, about."""
PATIENCE: Final = 30.0
IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs"})
NO_DISK: Final = "no folder for temporary files is on a disk"


@dataclass(frozen=True)
class MemoryMeasured:
    """What came out: the points, or in words why the part was left out.

    Attributes
    ----------
    points : none where it was left out
    why : "" where it was not
    limit, owner : of the control group, and of the owner's working set, bytes
    """

    points: tuple[MemoryPoint, ...]
    why: str = ""
    limit: int = LIMIT
    owner: int = OWNER


def takes(seconds: float, repeats: int, left: Sequence[int] = LEFT) -> float:
    """Return about how long the experiment takes, s."""
    return 1.0 + repeats * (ALONE + 2 * len(left)) * (seconds + SETTLE / 2 + START)


def measure_memory(
    *,
    cpus: Sequence[int],
    seconds: float = 0.5,
    repeats: int = 3,
    seed: int = 1,
    left: Sequence[int] = LEFT,
    progress: Callable[[int, int], None] | None = None,
) -> MemoryMeasured:
    """Return the owner's speed against the guest's size, at normal and lowest priority.

    Parameters
    ----------
    cpus : cores of the experiment; with more than one, owner and guest get one each
    seconds, repeats : of each point
    seed : of the order, and of the pages that the owner reads
    left : MB that the guests shall leave free, negative: short
    progress : called with phases done and phases in all

    At most 160 MB are used, and only where a memory control group can be made for them; without
    one `why` says so. No process and no file is left, however this ends.
    """
    folder = disk_folder()
    if folder is None:
        return MemoryMeasured((), NO_DISK)
    with (
        memory_group(LIMIT) as group,
        tempfile.TemporaryFile(dir=folder, prefix="forestall-") as file,
    ):
        if isinstance(group, str):
            return MemoryMeasured((), group)
        study = _Study(group, cpus, seconds, seed)
        try:
            return MemoryMeasured(tuple(study.run(file, repeats, left, progress)))
        except ContentionError as error:
            return MemoryMeasured((), str(error))


@dataclass(frozen=True)
class _Study:
    group: MemoryGroup
    cpus: Sequence[int]
    seconds: float
    seed: int

    def run(
        self,
        file: IO[bytes],
        repeats: int,
        left: Sequence[int],
        progress: Callable[[int, int], None] | None,
    ) -> list[MemoryPoint]:
        """Return all points, each repeat in an order of its own."""
        asked = {"kind": "memory-owner", "size": OWNER, "seed": self.seed}
        chance = stream(self.seed, "contention", "memory")
        found: list[MemoryPoint] = []
        with Herd(
            asked,
            cpus=self.cpus[:1],
            cgroup=self.group.entrance,
            descriptor=file.fileno(),
        ) as owner:
            with self._guest(0, "normal"):
                free = self._free()
            phases: list[tuple[Guest, int]] = [("none", 0)] * ALONE
            guests: tuple[Guest, ...] = ("normal", "lowest")
            phases += [(guest, max(0, int(free) - mb * MB)) for guest in guests for mb in left]
            for repeat in range(repeats):
                for k in chance.permutation(len(phases)):
                    found.append(self._phase(owner, repeat, *phases[int(k)]))
                    if progress is not None:
                        progress(len(found), repeats * len(phases))
        return found

    def _guest(self, size: int, guest: Guest) -> Herd:
        return Herd(
            {"kind": "memory-guest", "size": size},
            lowest=guest == "lowest",
            cpus=self.cpus[-1:],
            cgroup=self.group.entrance,
        )

    def _phase(self, owner: Herd, repeat: int, guest: Guest, size: int) -> MemoryPoint:
        if guest == "none":
            return self._walk(owner, repeat, guest, size)
        with self._guest(size, guest):
            return self._walk(owner, repeat, guest, size)

    def _walk(self, owner: Herd, repeat: int, guest: Guest, size: int) -> MemoryPoint:
        """Walk before the clock runs, until pages that fit are in memory."""
        owner.ask("refill", PATIENCE)
        for _ in range(WALKS):
            if not owner.ask(f"{SETTLE / WALKS:g}", PATIENCE)["faults"]:
                break
        free = self._free()
        told = owner.ask(f"{self.seconds:g}", PATIENCE + self.seconds)
        return MemoryPoint(
            repeat, guest, size, free, int(told["pages"]), told["seconds"], int(told["faults"])
        )

    def _free(self) -> float:
        """Return what the limit leaves beside the owner's set and all that cannot be dropped."""
        time.sleep(0.02)
        return self.group.limit - self.group.other - OWNER


def disk_folder(mounts: str | None = None, candidates: Sequence[Path] | None = None) -> Path | None:
    """Return a folder for temporary files whose pages come from a disk; None: there is none."""
    if mounts is None:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    kinds = {Path(where): kind for _, where, kind, *_ in map(str.split, mounts.splitlines())}
    tried = (Path(tempfile.gettempdir()), Path("/var/tmp")) if candidates is None else candidates
    for folder in tried:
        place = folder.resolve()
        mount = next((one for one in (place, *place.parents) if one in kinds), None)
        if place.is_dir() and kinds.get(mount or Path(), "") not in IN_MEMORY | {""}:
            return folder
    return None
