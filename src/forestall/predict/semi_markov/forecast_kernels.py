"""What one host did in windows of its past, and what that says of the coming one.

The same as `learning.masses` and `SemiMarkov.reliability_of_each` for the two states in which a
guest can run, without tables of every stay. Stays are short against the horizon, so that the
recursion has few terms: for one host it is quicker than the inversion of a power series.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall._compile import entry, kernel

RUNNING: Final = 2
"""States in which a guest can run: S1 and S2, 0 and 1."""
OTHER: Final = 0
FAILED: Final = 1


BLOCK: Final = 8
"""Steps of the recursion that are taken together; see `pull`."""


class ForecastRoom(NamedTuple):
    """Scratch arrays for n steps and w windows: int64[2, 2, n + 1] moves after so many steps, from
    each state to the other and to a failing one; int64[2, n + 1] stays seen for so many; int64[2,
    n + 1] and float64[2, n + 1] the steps after which moves to the other state were seen, and their
    masses; float64[2, n + 9] chances of a first failure at each step as far as they are summed, and
    float64[2, 2 n + 10] the finished ones, after n + 1 zeros; float64[n] sums of shares, and
    int64[n] of the samples that they are of; int64[w] states that windows begin in."""

    moves: npt.NDArray[np.int64]
    present: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    onward: npt.NDArray[np.float64]
    fails: npt.NDArray[np.float64]
    done: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    samples: npt.NDArray[np.int64]
    began: npt.NDArray[np.int64]


class PastArrays(NamedTuple):
    """What was seen of hosts: int64[hosts + 1] the first run of each; int64[r] starts and int8[r]
    states of the runs; float64[hosts, steps] shares given, and int32[hosts, steps] samples that
    they are of."""

    first: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    state: npt.NDArray[np.int8]
    given: npt.NDArray[np.float64]
    seen: npt.NDArray[np.int32]


def new_room(steps: int, windows: int) -> ForecastRoom:
    """Return room for windows of so many steps."""
    shape: Any = (RUNNING, steps + 1)
    return ForecastRoom(
        np.zeros((RUNNING, *shape), dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape),
        np.zeros((RUNNING, steps + 1 + BLOCK)),
        np.zeros((RUNNING, 2 * (steps + 1) + BLOCK)),
        np.zeros(steps),
        np.zeros(steps, dtype=np.int64),
        np.zeros(windows, dtype=np.int64),
    )


@kernel
def run_at(starts, known, sample):
    """Return the run, of the first `known`, that a sample lies in."""
    # Starts ascend: the last run that begins no later than the sample.
    low, high = 0, known - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if starts[middle] <= sample:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def count_stays(starts, states, known, samples, begin, stop, room, run):
    """Count the stays of one window, which begins within a run, until its first failure; return
    which states were seen, one bit each."""
    begun, seen = begin, 0
    # Only until the first failure: what comes after it is another life. The first stay counts from
    # the window's begin on.
    while states[run] < RUNNING:
        state = states[run]
        seen |= 1 << state
        end = starts[run + 1] if run + 1 < known else samples
        # Cut off by the window: seen for so long, without a move.
        if end >= stop:
            room.present[state, stop - 1 - begun] += 1
            break
        room.present[state, end - begun] += 1
        room.moves[state, FAILED if states[run + 1] >= RUNNING else OTHER, end - begun] += 1
        run, begun = run + 1, end
    return seen


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
    fails[:] = 0.0
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
                count += 1
            alive *= 1 - left / at_risk
        at_risk -= present[m]
    return count


@kernel
def pull(room, state, count, low):
    """Add to the first failures from a state, at the BLOCK steps from `low` on, what those from the
    other state before `low` make of them; the latter are zeros where they are not known yet."""
    sums, other = room.fails[state, low:], room.done[1 - state]
    steps, masses = room.steps[state], room.onward[state]
    base = room.present.shape[1] + low
    # A sum for each step, written out so that all stay in registers. The longest lag first: each
    # goes on in the order of the steps that it comes from, as if they were taken one by one.
    a, b, c, d = sums[0], sums[1], sums[2], sums[3]
    e, f, g, h = sums[4], sums[5], sums[6], sums[7]
    for k in range(count - 1, -1, -1):
        mass, m = masses[k], np.uint64(base - steps[k])
        a += mass * other[m]
        b += mass * other[m + np.uint64(1)]
        c += mass * other[m + np.uint64(2)]
        d += mass * other[m + np.uint64(3)]
        e += mass * other[m + np.uint64(4)]
        f += mass * other[m + np.uint64(5)]
        g += mass * other[m + np.uint64(6)]
        h += mass * other[m + np.uint64(7)]
    sums[0], sums[1], sums[2], sums[3] = a, b, c, d
    sums[4], sums[5], sums[6], sums[7] = e, f, g, h


@kernel
def spread(room, state, count, chance, step, high):
    """Add what a first failure `step` steps from the other state makes of those from this one, up
    to the end of its block."""
    fails, steps, masses = room.fails[state], room.steps[state], room.onward[state]
    for k in range(count):
        place = step + steps[k]
        if place >= high:
            break
        fails[place] += masses[k] * chance


@kernel
def up_to(steps, count, known, high):
    """Return how many of the first `count` lags, `known` at least, are less than `high`."""
    while known < count and steps[known] < high:
        known += 1
    return known


@kernel
def chances(room, out):
    """Write the chance to be there still by each step, float64[2, n + 1], by the recursion."""
    fails, done = room.fails, room.done
    terms = out.shape[1]
    count0, count1 = weigh(room, 0), weigh(room, 1)
    done[:] = 0.0
    low0, low1, failed0, failed1 = 1.0, 1.0, 0.0, 0.0
    known0, known1 = 0, 0
    # F_i(m) = direct failures + sum over k of mass_i(k) F_j(m - k): what comes from before a block
    # for all of its steps at once, then step by step within it.
    for low in range(0, terms, BLOCK):
        high = min(low + BLOCK, terms)
        known0 = up_to(room.steps[0], count0, known0, high)
        known1 = up_to(room.steps[1], count1, known1, high)
        pull(room, 0, known0, low)
        pull(room, 1, known1, low)
        for m in range(low, high):
            # At step m all that contributes to F(m) has been added: a move takes at least a step.
            from0, from1 = fails[0, m], fails[1, m]
            if from1 > 0:
                spread(room, 0, known0, from1, m, high)
            if from0 > 0:
                spread(room, 1, known1, from0, m, high)
            done[0, terms + m], done[1, terms + m] = from0, from1
            failed0 += from0
            failed1 += from1
            # Rounding must not let the chance rise again, or fall below 0.
            low0 = min(low0, max(0.0, 1 - failed0))
            low1 = min(low1, max(0.0, 1 - failed1))
            out[0, m], out[1, m] = low0, low1


@kernel
def mean_share(given, seen, begins, room, state, before, out):
    """Write the mean share in each step of the windows that begin in a state (-1: of all)."""
    sums, many = room.sums, room.samples
    sums[:], many[:] = 0.0, 0
    for w in range(len(begins)):
        if state < 0 or room.began[w] == state:
            mine, samples = given[begins[w] :], seen[begins[w] :]
            for j in range(len(out)):
                sums[j] += mine[j]
                many[j] += samples[j]
    some = False
    for j in range(len(out)):
        some = some or many[j] == 0
        out[j] = sums[j] / many[j] if many[j] > 0 else 0.0
    if some:
        fill_gaps(given, seen, room, before, out)


@kernel
def fill_gaps(given, seen, room, before, out):
    """Write the mean of the rest into steps in which nothing was seen."""
    sums, samples = room.sums, room.samples
    total, many = 0.0, np.int64(0)
    for j in range(len(out)):
        total += sums[j]
        many += samples[j]
    # No window says anything: all of the past does.
    if many == 0:
        for j in range(before):
            total += given[j]
            many += seen[j]
    rest = total / many if many > 0 else 1.0
    for j in range(len(out)):
        if samples[j] == 0:
            out[j] = rest


@kernel
def mean_shares(given, seen, begins, room, before, by_state, out):
    """Write the mean shares of the windows that begin in S1, and of those that begin in S2; of all
    windows, where `by_state` is false."""
    windows = len(begins)
    many0, many1 = 0, 0
    for w in range(windows if by_state else 0):
        many0 += room.began[w] == 0
        many1 += room.began[w] == 1
    # Where no window begins in a state, all of them stand for it: often those of the other one.
    mean_share(given, seen, begins, room, 0 if many0 > 0 else -1, before, out[0])
    if many0 in (0, windows) and many1 in (0, windows):
        for j in range(out.shape[1]):
            out[1, j] = out[0, j]
    else:
        mean_share(given, seen, begins, room, 1 if many1 > 0 else -1, before, out[1])


@kernel
def one_host(pasts, host, samples, begins, room, by_state, share, alive):
    """Write what is foretold of a host; return whether both states were seen in the windows (else
    `alive` is not written)."""
    first, last = pasts.first[host], pasts.first[host + 1]
    starts, states = pasts.start[first:last], pasts.state[first:last]
    given, seen = pasts.given[host], pasts.seen[host]
    steps = share.shape[1]
    known = np.searchsorted(starts, samples)
    room.moves[:], room.present[:] = 0, 0
    both = 0
    for w in range(len(begins)):
        # A move at the last step shows in the sample after it.
        stop = min(begins[w] + steps + 1, samples)
        run = run_at(starts, known, begins[w])
        room.began[w] = states[run]
        both |= count_stays(starts, states, known, samples, begins[w], stop, room, run)
    mean_shares(given, seen, begins, room, samples, by_state, share)
    # Both bits, S1 and S2.
    if both != 3:
        return False
    chances(room, alive)
    return True


@entry
def foresee(pasts, samples, begins, room, by_state, share, alive, sure):
    """Write what is foretold of hosts for n steps.

    Parameters
    ----------
    pasts : `PastArrays`
    samples : that began before the window to come
    begins : int64[w], the samples with which windows begin
    room : see `new_room`
    by_state : whether shares are those of the windows that began in the same state
    share : float64[hosts, 2, n], alive : float64[hosts, 2, n + 1], written
    sure : bool[hosts], written: whether both states were seen in the windows of a host; where not,
        its `alive` is not written
    """
    for host in range(len(sure)):
        sure[host] = one_host(
            pasts, host, samples, begins, room, by_state, share[host], alive[host]
        )


@entry
def differences(reliability, mean, out):
    """Write the sums over hosts of (reliability - mean)^2, float64[2, n + 1]."""
    out[:] = 0.0
    for host in range(len(reliability)):
        for state in range(RUNNING):
            mine, centre, target = reliability[host, state], mean[state], out[state]
            for m in range(len(mine)):
                apart = mine[m] - centre[m]
                target[m] += apart * apart


@entry
def draw_together(reliability, mean, weight):
    """Draw chances to their mean: each keeps the weight float64[2] of its state."""
    for host in range(len(reliability)):
        for state in range(RUNNING):
            mine, centre, w = reliability[host, state], mean[state], weight[state]
            for m in range(len(mine)):
                mine[m] = w * mine[m] + (1 - w) * centre[m]


@entry
def accumulate(full, share, reliability, between, fresh, curves):
    """Write the work of hosts up to each step, and the chances to be there in each step, the means
    of those at its ends: `between`, float64[hosts, 2, n].

    Parameters
    ----------
    full : float64[hosts], work of a step on a host that nobody else uses
    share : float64[hosts, 2, n]; reliability : float64[hosts, 2, n + 1]
    fresh : float64[n], how much of a step the present load tells
    curves : `work`, `sure`, `present_work` and `present_sure` of `HostCurves`, written
    """
    work, sure, present_work, present_sure = curves
    for host in range(len(full)):
        for state in range(RUNNING):
            mine, chance = share[host, state], between[host, state]
            first, then = reliability[host, state], reliability[host, state, 1:]
            for j in range(len(chance)):
                chance[j] = (first[j] + then[j]) / 2
            mine_work, mine_sure = work[host, state, 1:], sure[host, state, 1:]
            mine_present, told = present_sure[host, state, 1:], present_work[host, 1:]
            usual, weighed, present, present_weighed = 0.0, 0.0, 0.0, 0.0
            for j in range(len(fresh)):
                step = full[host] * (1 - fresh[j]) * mine[j]
                new = full[host] * fresh[j]
                usual += step
                weighed += step * chance[j]
                present += new
                present_weighed += new * chance[j]
                mine_work[j], mine_sure[j] = usual, weighed
                told[j], mine_present[j] = present, present_weighed
