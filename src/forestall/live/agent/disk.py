"""How busy the disk below a folder is: the share of the time in which it has something to do."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

SPAN: Final = 60.0
"""s that are looked back at."""
_TICKS: Final = 9
"""The column of a disk's `stat` with the ms in which it had requests under way."""


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
