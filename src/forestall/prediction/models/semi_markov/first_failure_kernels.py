"""When a host that was seen to stay for so long in S1 and S2 first fails: the recursion.

With the masses of the moves between two states and to failing ones, F_i(m), the chance that a host
in state i first fails after m steps, is that of failing directly, and of moving to the other state
after k steps and failing from there m - k steps later. The other state's chances of 8 steps are
added to at once, those of before first: each sum in the order of the steps that it comes from.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import LANES, add_shifted, inlined, kernel

RUNNING: Final = 2
"""States in which a guest can run: S1 and S2, 0 and 1."""
OTHER: Final = 0
FAILED: Final = 1


class ForecastRoom(NamedTuple):
    """Scratch arrays for n steps: int64[2, 2, n + 1] moves after so many steps, from
    each state to the other and to a failing one; int64[2, n + 1] stays seen for so many; int64[2,
    n + 1] and float64[2, n + 1] the steps after which moves to the other state were seen, and their
    masses, and float64[2, 8] the masses of moves after 0 to 7 steps; float64[2, n + 9] chances of a
    first failure at each step as far as they are summed, and float64[2, 2 n + 10] the finished
    ones, after n + 1 zeros."""

    moves: npt.NDArray[np.int64]
    present: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    onward: npt.NDArray[np.float64]
    near: npt.NDArray[np.float64]
    fails: npt.NDArray[np.float64]
    done: npt.NDArray[np.float64]


def new_room(steps: int) -> ForecastRoom:
    """Return room for windows of so many steps."""
    shape: Any = (RUNNING, steps + 1)
    return ForecastRoom(
        np.zeros((RUNNING, *shape), dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape),
        np.zeros((RUNNING, LANES)),
        np.zeros((RUNNING, steps + 1 + LANES)),
        np.zeros((RUNNING, 2 * (steps + 1) + LANES)),
    )


@kernel
def weigh(room, state):
    """Write the masses of the moves out of a state: to the other one, and, as what is known so far
    of first failures, to failing ones. Return after how many different steps the former came."""
    moved, failed, present = (
        room.moves[state, OTHER],
        room.moves[state, FAILED],
        room.present[state],
    )
    fails, steps, onward = room.fails[state], room.steps[state], room.onward[state]
    # Kaplan and Meier with two ways to leave (competing risks): a move's mass is the share still
    # there before the step times the share of those at risk that makes it.
    at_risk, alive, count = 0, 1.0, 0
    for m in range(len(present)):
        at_risk += present[m]
    fails[:], room.near[state] = 0.0, 0.0
    for m in range(len(present)):
        # Every stay is one that was seen for so long; most steps end none.
        if present[m] == 0:
            continue
        left = moved[m] + failed[m]
        if left > 0:
            each = alive / at_risk
            fails[m] = each * failed[m]
            if moved[m] > 0:
                steps[count], onward[count] = m, each * moved[m]
                if m < LANES:
                    room.near[state, m] = onward[count]
                count += 1
            alive *= 1 - left / at_risk
        at_risk -= present[m]
    return count


@kernel
def up_to(steps, count, known, high):
    """Return how many of the first `count` lags, `known` at least, are less than `high`."""
    while known < count and steps[known] < high:
        known += 1
    return known


@inlined
def finish(room, low, first):
    """Add to the first failures at the LANES steps from `low` on what those among them make of each
    other: a move takes at least a step. Write them where the finished ones are, from `first` on."""
    one, other, done_one, done_other = (
        *(room.fails[0, low:], room.fails[1, low:]),
        *(room.done[0, first:], room.done[1, first:]),
    )
    # Written out so that all stay in registers; each sum in the order of the steps it comes from.
    _, p1, p2, p3, p4, p5, p6, p7 = eight(room.near[0])
    _, q1, q2, q3, q4, q5, q6, q7 = eight(room.near[1])
    a0, a1, a2, a3, a4, a5, a6, a7 = eight(one)
    b0, b1, b2, b3, b4, b5, b6, b7 = eight(other)
    a1, b1 = a1 + p1 * b0, b1 + q1 * a0
    a2, b2 = a2 + p2 * b0 + p1 * b1, b2 + q2 * a0 + q1 * a1
    a3, b3 = a3 + p3 * b0 + p2 * b1 + p1 * b2, b3 + q3 * a0 + q2 * a1 + q1 * a2
    a4 = a4 + p4 * b0 + p3 * b1 + p2 * b2 + p1 * b3
    b4 = b4 + q4 * a0 + q3 * a1 + q2 * a2 + q1 * a3
    a5 = a5 + p5 * b0 + p4 * b1 + p3 * b2 + p2 * b3 + p1 * b4
    b5 = b5 + q5 * a0 + q4 * a1 + q3 * a2 + q2 * a3 + q1 * a4
    a6 = a6 + p6 * b0 + p5 * b1 + p4 * b2 + p3 * b3 + p2 * b4 + p1 * b5
    b6 = b6 + q6 * a0 + q5 * a1 + q4 * a2 + q3 * a3 + q2 * a4 + q1 * a5
    a7 = a7 + p7 * b0 + p6 * b1 + p5 * b2 + p4 * b3 + p3 * b4 + p2 * b5 + p1 * b6
    b7 = b7 + q7 * a0 + q6 * a1 + q5 * a2 + q4 * a3 + q3 * a4 + q2 * a5 + q1 * a6
    put_eight(done_one, (a0, a1, a2, a3, a4, a5, a6, a7))
    put_eight(done_other, (b0, b1, b2, b3, b4, b5, b6, b7))


@inlined
def eight(values):
    """Return the first eight values."""
    return (
        *(values[0], values[1], values[2], values[3]),
        *(values[4], values[5], values[6], values[7]),
    )


@inlined
def put_eight(values, new):
    """Write the first eight values."""
    values[0], values[1], values[2], values[3] = new[0], new[1], new[2], new[3]
    values[4], values[5], values[6], values[7] = new[4], new[5], new[6], new[7]


@kernel
def chances(room, out):
    """Write the chance to be there still by each step, float64[2, n + 1], by the recursion."""
    fails, done = room.fails, room.done
    terms = out.shape[1]
    count0, count1 = weigh(room, 0), weigh(room, 1)
    done[:] = 0.0  # what is not known yet is added as that
    known0, known1 = 0, 0
    for low in range(0, terms, LANES):
        first, high = terms + low, min(low + LANES, terms)
        known0 = up_to(room.steps[0], count0, known0, high)
        known1 = up_to(room.steps[1], count1, known1, high)
        add_shifted(fails[0], low, done[1], first, room.steps[0], room.onward[0], known0)
        add_shifted(fails[1], low, done[0], first, room.steps[1], room.onward[1], known1)
        finish(room, low, first)
    failed0, failed1 = 0.0, 0.0
    for m in range(terms):
        failed0 += done[0, terms + m]
        failed1 += done[1, terms + m]
        # Rounding must not let the chance fall below 0; it lets no sum of chances fall.
        out[0, m], out[1, m] = max(0.0, 1 - failed0), max(0.0, 1 - failed1)
