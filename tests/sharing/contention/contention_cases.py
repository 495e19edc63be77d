"""Made-up measurements with known curves, and processes to look for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from forestall.sharing.contention.memory import MB, OWNER
from forestall.sharing.contention.plan import Guest
from forestall.sharing.contention.points import MemoryPoint, Point

Loss = Callable[[float, Guest], float]


def points(
    loss: Loss,
    loads: Sequence[float] = (0.2, 0.4, 0.6, 0.8, 1.0),
    groups: Iterable[int] = (1,),
    wobble: Sequence[float] = (0.0,),
) -> list[Point]:
    """Return what would be measured of one core in 2 s, where a guest takes `loss(load, guest)`,
    and as much more as `wobble` says in each repeat."""
    found = []
    for repeat, more in enumerate(wobble):
        for group in groups:
            for load in loads:
                for guest in ("none", "normal", "lowest"):
                    lost = 0.0 if guest == "none" else loss(load, guest) + more
                    own = 2 * load * (1 - lost)
                    row = (repeat, group, load, guest, 1.0, 2.0, own, 1.0, 1, 0.01)
                    found.append(Point(*row))  # type: ignore[arg-type]
    return found


def linear(load: float, guest: Guest) -> float:
    """Lose half of the load in per cent at normal priority, a hundredth at lowest."""
    return load / 2 if guest == "normal" else load / 100


def memory_points(needed: float = 0.0) -> list[MemoryPoint]:
    """Return an owner that loses 10 % of its speed for each MB of free memory below `needed` MB."""
    found = []
    for guest in ("none", "normal", "lowest"):
        for left in (0,) if guest == "none" else (8, 4, 0, -4):
            lost = 0.0 if guest == "none" else max(0.0, 0.1 * (needed - left))
            size = 0 if guest == "none" else OWNER - left * MB
            speed = round(1000 * (1 - lost))
            found.append(MemoryPoint(0, guest, size, left * MB, speed, 1.0, 0))  # type: ignore[arg-type]
    return found


def alive(pid: int) -> bool:
    """Return whether a process is there and no mere remainder."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def all_gone(pids: Iterable[int], patience: float = 10.0) -> bool:
    """Return whether all of the processes end soon."""
    end = time.monotonic() + patience
    left = list(pids)
    while left and time.monotonic() < end:
        left = [pid for pid in left if alive(pid)]
        time.sleep(0.02)
    return not left


def children_of(pid: int) -> list[int]:
    """Return all descendants of a process."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="utf-8")
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]
