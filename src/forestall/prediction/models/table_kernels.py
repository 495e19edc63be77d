"""A table of a learner's answers as arrays: cumulative hazards over moments, nodes and horizons."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, inlined, kernel

PARTS: Final = 24
"""Equal parts of the window of a hazard that is told as a curve."""


class HazardTable(NamedTuple):
    """Cumulative hazards float32[moments, nodes, horizons] from each moment to each horizon; the
    moments int64[T], ascending, s; 0 and the horizons float64[H + 1], s; int64[1] the row that
    holds now; float64[nodes] room to add in; how long a failed node is expected to stay down, s."""

    hazard: npt.NDArray[np.float32]
    times: npt.NDArray[np.int64]
    horizons: npt.NDArray[np.float64]
    row: npt.NDArray[np.int64]
    room: npt.NDArray[np.float64]
    downtime: int


def table_of(
    hazard: npt.NDArray[Any], times: npt.NDArray[Any], horizons: tuple[int, ...], downtime: int
) -> HazardTable:
    """Return a table at its first moment."""
    return HazardTable(
        np.require(hazard, np.float32, ["C", "W"]),
        np.require(times, np.int64, ["C", "W"]),
        np.array([0, *horizons], dtype=np.float64),
        np.zeros(1, dtype=np.int64),
        np.zeros(hazard.shape[1]),
        downtime,
    )


@kernel
def move_on(table, now):
    """Go on to the row that holds at `now`: row k does so from times[k] to before times[k + 1]."""
    row = table.row[0]
    while row + 1 < len(table.times) and table.times[row + 1] <= now:
        row += 1
    table.row[0] = row


@kernel
def place(table, time):
    """Return the horizon at or after a time, and how far the way there from the one before it is
    gone; beyond the last horizon the hazard goes on as just before it."""
    at = table.horizons
    ahead = time - table.times[table.row[0]]
    # Few horizons: a walk is quicker than bisection.
    right = 1
    while right + 1 < len(at) and at[right] < ahead:
        right += 1
    return right, (ahead - at[right - 1]) / (at[right] - at[right - 1])


@kernel
def places(table, start, end):
    """Return `place` of both ends of a window."""
    left, gone = place(table, start)
    right, far = place(table, max(start, end))
    return left, gone, right, far


@inlined
def hazard_until(table, node, right, share):
    """Return a node's cumulative hazard up to a place between two horizons."""
    # `right` counts horizons from 1, and the hazard at 0 is 0: it is not stored.
    known = table.hazard[table.row[0], node]
    before = np.float64(known[right - 2]) if right > 1 else 0.0
    return before + share * (np.float64(known[right - 1]) - before)


@kernel
def hazard_within(table, node, window):
    """Return the hazard that a node gathers within a window, as `places` returns it."""
    until_start = hazard_until(table, node, window[0], window[1])
    return hazard_until(table, node, window[2], window[3]) - until_start


@kernel
def risk(hazard):
    """Return the probability of a failure under so much cumulative hazard."""
    return -math.expm1(-hazard)


@kernel
def total(values):
    """Return the sum of the values, added in pairs of halves as NumPy does: the error of a sum of n
    grows with log n only."""
    count = len(values)
    if count < 8:
        summed = 0.0
        for i in range(count):
            summed += values[i]
        return summed
    if count > 128:
        half = count // 2 - (count // 2) % 8
        return total(values[:half]) + total(values[half:])
    # Eight sums side by side, and the blocks of 128 above, are NumPy's own order of adding: the
    # compiled path and the one in Python give the same bits.
    a, b, c, d = values[0], values[1], values[2], values[3]
    e, f, g, h = values[4], values[5], values[6], values[7]
    for i in range(8, count - count % 8, 8):
        a, b, c, d = a + values[i], b + values[i + 1], c + values[i + 2], d + values[i + 3]
        e, f, g, h = e + values[i + 4], f + values[i + 5], g + values[i + 6], h + values[i + 7]
    summed = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(count - count % 8, count):
        summed += values[i]
    return summed


@entry
def risk_of_each(table, nodes, start, end, answer):
    """Write the probability that each of the nodes fails in [start, end) into `answer`."""
    window = places(table, start, end)
    for i in range(len(nodes)):
        answer[i] = risk(hazard_within(table, nodes[i], window))


@entry
def risk_of_any(table, nodes, start, end, room):
    """Return the probability that any of the nodes fails in [start, end); `room` is float64 for as
    many."""
    window = places(table, start, end)
    # Nodes fail independently: their hazards add up, and one exp is enough.
    for i in range(len(nodes)):
        room[i] = hazard_within(table, nodes[i], window)
    return risk(total(room[: len(nodes)]))


@entry
def advance(table, now):
    """Let the present moment be `now`."""
    move_on(table, now)
