"""Predicted failures as arrays: sorted by (time, node), perhaps repeated for ever."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import kernel

FAR: Final = np.int64(2**60)
"""Later than any time that can occur, s."""

FORESEEN: Final = np.dtype([("time", "i8"), ("until", "i8"), ("node", "i8"), ("probability", "f8")])
"""A predicted failure: when, when the node would be back, which node, and how probable."""


class Foreseen(NamedTuple):
    """Predicted failures, FORESEEN[n] by (time, node); the repeat period in seconds (0: the log is
    not repeated); the longest outage in seconds."""

    failures: npt.NDArray[Any]
    period: int
    longest: int


@kernel
def first_from(foreseen, time):
    """Return the smallest running number whose failure time is >= `time`; it may be past the
    last."""
    failures, period = foreseen.failures, foreseen.period
    count = len(failures)
    if count == 0:
        return 0
    # Running numbers go through the log, then through its first copy, and so on: the copy by
    # division, the place in it by bisection.
    copy = 0
    if period > 0 and time > failures[0].time:
        copy = (time - failures[0].time) // period
    target = time - copy * period
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if failures[middle].time < target:
            low = middle + 1
        else:
            high = middle
    return copy * count + low


@kernel
def shift_of(foreseen, number):
    """Return (index, seconds to add) of a running number; index -1 where the log has no more."""
    count = len(foreseen.failures)
    if number < count:
        return number, 0
    if foreseen.period == 0 or count == 0:
        return -1, 0
    return number % count, (number // count) * foreseen.period


@kernel
def next_recovery(foreseen, now, lower):
    """Return the earliest end >= `lower` of a predicted outage that begins at or after `now`, or
    FAR."""
    # Ends are not in order where downtimes differ: none that begins before `lower` - longest can be
    # late enough, and none that begins after the best so far can be earlier.
    best = FAR
    number = first_from(foreseen, max(now, lower - foreseen.longest))
    while True:
        index, shift = shift_of(foreseen, number)
        # Failures come in order of time, and none ends before it begins.
        if index < 0 or foreseen.failures[index].time + shift >= best:
            return best
        until = foreseen.failures[index].until + shift
        if lower <= until < best:
            best = until
        number += 1
