"""What is sampled of a storage host: how busy its disk is, the share of the time in which it has
something to do, and what its storage daemon says in its folder."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core.files.documents import json_of

SPAN: Final = 60.0
"""s that are looked back at."""
_TICKS: Final = 9
"""The column of a disk's `stat` with the ms in which it had requests under way."""


STATE: Final = "state.json"
"""The file in which a storage daemon says each few seconds how it is."""
FRESH: Final = 60.0
"""s after which that counts no more."""


class StorageSample(NamedTuple):
    """What is seen of a storage daemon; nan where it is not known."""

    disk: float = math.nan
    clients: float = math.nan
    stored: float = math.nan


def busy_ms(folder: Path) -> float:
    """Return for how many ms the disk of a folder has been busy since the machine began; nan where
    that is not told (network and overlay file systems)."""
    try:
        number = os.stat(folder).st_dev
        place = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat"
        return float(Path(place).read_text(encoding="ascii").split()[_TICKS])
    except (OSError, ValueError, IndexError):
        return math.nan


class DiskWatch:
    """The utilisation of a disk over the last minute, or since the last look.

    Parameters
    ----------
    folder : on the disk
    clock : s; it never goes back
    busy : returns for how many ms it has been busy
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float],
        busy: Callable[[Path], float] = busy_ms,
    ) -> None:
        self._folder, self._clock, self._busy = folder, clock, busy
        self._marks: deque[tuple[float, float]] = deque([(clock(), busy(folder))])

    def utilisation(self) -> float:
        """Return the share of the last minute, 0 to 1; nan where it is not known."""
        now, ticks = self._clock(), self._busy(self._folder)
        while len(self._marks) > 1 and now - self._marks[1][0] >= SPAN:
            self._marks.popleft()
        then, before = self._marks[0]
        if now - self._marks[-1][0] >= 1.0:
            self._marks.append((now, ticks))
        if now <= then or math.isnan(ticks) or math.isnan(before):
            return math.nan
        return min(max((ticks - before) / 1000 / (now - then), 0.0), 1.0)


class StorageEye:
    """Samples a storage daemon: its disk since the last sample, and what it says of itself.

    Parameters
    ----------
    folder : of the daemon
    clock : s; it never goes back
    wall : s since 1970
    """

    def __init__(self, folder: Path, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._folder, self._clock, self._wall = folder, clock, wall
        self._last = clock(), busy_ms(folder)

    def __call__(self) -> StorageSample:
        """Return a sample of the time since the last one."""
        (then, before), now = self._last, (self._clock(), busy_ms(self._folder))
        self._last = now
        disk = math.nan
        if now[0] > then and not math.isnan(now[1] - before):
            disk = min(max((now[1] - before) / 1000 / (now[0] - then), 0.0), 1.0)
        return StorageSample(disk, *self._said())

    def _said(self) -> tuple[float, float]:
        """Return clients and bytes, as the daemon says."""
        try:
            told = json_of((self._folder / STATE).read_bytes())
            if abs(self._wall() - float(told["at"])) <= FRESH:
                return float(told["clients"]), float(told["bytes"])
        except (OSError, ValueError, TypeError, LookupError, OverflowError):
            pass
        return math.nan, math.nan
