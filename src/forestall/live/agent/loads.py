"""What the owner of a host is likely to use of it in the coming hours, from the agent's samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from forestall.model.arrays import Floats, Ints
from forestall.traces.metrics.day_samples import UNKNOWN, HostDays

DAY: Final = 86_400
GUESTS_RUN: Final = 2
"""States in which guests run: S1 and S2, 0 and 1."""
_SHARE: Final = 60_000
"""What a load of 1 is in a day file."""


class StepLoads:
    """The owner's loads in steps of `step` s, of the samples in which a guest could have run: only
    those tell what a guest will get while it runs."""

    def __init__(self, step: int) -> None:
        self.step = step
        self._parts: list[tuple[Ints, Floats]] = []

    def add(self, days: HostDays) -> None:
        """Take in samples, which may come twice."""
        load = days.raw[:, 0]
        usable = (days.state < GUESTS_RUN) & (load != UNKNOWN)
        place, which = np.unique(days.time[usable] // self.step, return_inverse=True)
        sums = np.bincount(which, load[usable], len(place))
        means = sums / np.maximum(np.bincount(which, minlength=len(place)), 1) / _SHARE
        self._parts.append((place, means))

    def grid(self) -> tuple[int, Floats]:
        """Return the first step, counted from 1970, and float64[n], the mean load of each; nan
        where there is none."""
        if not any(len(place) for place, _ in self._parts):
            return 0, np.empty(0)
        every = np.concatenate([place for place, _ in self._parts])
        first = int(every.min())
        load = np.full(int(every.max()) - first + 1, np.nan)
        for place, means in self._parts:
            load[place - first] = means
        return first, load


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
    known = load[~np.isnan(load)]
    if not len(known):
        return None
    steps = DAY // loads.step
    found = np.full((2, len(hours)), float(known.mean()))
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
