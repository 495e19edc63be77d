"""What the owner of a host is likely to use of it in the coming hours, from the agent's samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.logs.metrics.day_samples import UNKNOWN, HostDays

DAY: Final = 86_400
GUESTS_RUN: Final = 2
"""States in which guests run: S1 and S2, 0 and 1."""
AT_ONCE: Final = 4096
"""Samples that are held beside those that were read: an agent is to take no more than 60 MB."""
_SHARE: Final = 60_000
"""What a load of 1 is in a day file."""


class StepLoads:
    """The owner's loads in steps of `step` s, of the samples in which a guest could have run: only
    those tell what a guest will get while it runs."""

    def __init__(self, step: int, days: int = 90) -> None:
        self.step = step
        # Room for so many days, taken before anything is read: what is kept in between would hold
        # the memory of what was read.
        self._load = np.full(days * DAY // step, np.nan, dtype=np.float16)
        self._first: int | None = None

    def add(self, days: HostDays) -> None:
        """Take in samples, ascending from one call to the next; they may come twice."""
        if not len(days.time):
            return
        first, last = int(days.time[0]) // self.step, int(days.time[-1]) // self.step
        if self._first is None:
            self._first = first
        sums, counts = np.zeros(last - first + 1), np.zeros(last - first + 1, dtype=np.int64)
        for begin in range(0, len(days.time), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            load = days.raw[part, 0]
            usable = (days.state[part] < GUESTS_RUN) & (load != UNKNOWN)
            place = days.time[part][usable] // self.step - first
            np.add.at(sums, place, load[usable])
            np.add.at(counts, place, 1)
        there = last - self._first + 1
        if there > len(self._load):
            more = np.full(2 * there - len(self._load), np.nan, dtype=np.float16)
            self._load = np.concatenate((self._load, more))
        seen = np.flatnonzero(counts)
        seen = seen[seen + first >= self._first]  # a clock was set back: what came first counts
        self._load[seen + first - self._first] = sums[seen] / counts[seen] / _SHARE

    def grid(self) -> tuple[int, npt.NDArray[np.float16]]:
        """Return the first step, counted from 1970, and float16[n], the mean load of each; nan
        where there is none."""
        return self._first or 0, self._load


def mean_loads(
    loads: StepLoads,
    begins: Sequence[int] | Ints,
    from_low: Sequence[bool],
    hours: Sequence[int],
) -> Floats | None:
    """Return float64[2, hours], the mean load over the first so many hours of a day that begins in
    S1 and in S2: the mean over windows of the past that began so, or over all where none did.

    Parameters
    ----------
    begins : Unix s at which windows of a day began
    from_low : whether each began in S1

    A step in which the windows tell nothing counts as the mean of them; without windows, all that
    was seen counts. None where nothing was. The free time up to each horizon never falls.
    """  # fmt: skip
    first, load = loads.grid()
    there = ~np.isnan(load)
    if not there.any():
        return None
    steps = DAY // loads.step
    found = np.full((2, len(hours)), float(np.mean(load, where=there, dtype=np.float64)))
    starts = np.asarray(begins, dtype=np.int64) // loads.step - first
    low = np.asarray(from_low, dtype=np.bool_)
    for row, mine in enumerate((low, ~low)):
        chosen = starts[mine] if mine.any() else starts
        day = np.full((max(len(chosen), 1), steps), np.nan)
        for k, start in enumerate(chosen.tolist()):
            begin, end = max(start, 0), min(start + steps, len(load))
            if end > begin:
                day[k, begin - start : end - start] = load[begin:end]
        seen = (~np.isnan(day)).sum(axis=0)
        if not seen.any():
            continue
        means = np.nansum(day, axis=0) / np.maximum(seen, 1)
        means[seen == 0] = means[seen > 0].mean()
        risen = np.cumsum(means)
        for column, span in enumerate(hours):
            upto = span * 3600 // loads.step
            found[row, column] = risen[upto - 1] / upto
    np.clip(found, 0.0, 1.0, out=found)
    return found
