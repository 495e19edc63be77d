"""The distribution of one job's turnaround: latest values of like jobs, blended from narrow classes
to wide ones, waits and run times added."""

from __future__ import annotations

import math

from forestall.core._compile import kernel
from forestall.prediction.models.ordered_kernels import below
from forestall.site.learning.turnaround.book_state import LEVELS, POINTS

_FAR_AWAY = 12.0
"""Deadlines are no farther beyond the longest turnaround than its e^12-fold."""


@kernel
def take_in(own, value):
    """Add a value to a class; the oldest falls out where it is full."""
    ring, ordered = own.ring, own.ordered
    depth, held, head = len(ring), own.held, own.head
    # The same values stand twice: in the ring by age, in `ordered` by size, so that the oldest is
    # known and quantiles are read off.
    if held == depth:
        for i in range(below(ordered, 0, held, ring[head]), held - 1):
            ordered[i] = ordered[i + 1]
        held -= 1
    put(ordered, held, value)
    ring[head] = value
    own.held = held + 1
    own.head = (head + 1) % depth


@kernel
def put(ordered, held, value):
    """Put a value in its place among the first `held`, which ascend."""
    at = below(ordered, 0, held, value)
    for i in range(held, at, -1):
        ordered[i] = ordered[i - 1]
    ordered[at] = value


@kernel
def points_of(held, ordered, sample, count):
    """Write the values of a class, or `POINTS` quantiles of them, and how many they are."""
    if held <= POINTS:
        for i in range(held):
            sample[i] = ordered[i]
    else:
        # Quantiles in the middle of POINTS equal parts.
        for i in range(POINTS):
            sample[i] = ordered[(2 * i + 1) * held // (2 * POINTS)]
    count[0] = min(held, POINTS)
    count[1] = held


@kernel
def blend(samples, counts, shrink, out):
    """Write `POINTS` quantiles of the mixture of samples, narrow before wide; return whether there
    was any. A sample of n jobs has n / (n + shrink) of the weight that is left.

    samples : float64[LEVELS, POINTS], ascending; counts : float64[LEVELS, 4], points and jobs of
        each, and room for two numbers
    """
    left, last = 1.0, -1
    # Narrow classes first: each takes its share of the weight that is left, by how many jobs it
    # rests on.
    for k in range(LEVELS):
        counts[k, 2], counts[k, 3] = 0.0, 0.0
        if counts[k, 1] > 0:
            weight = left * counts[k, 1] / (counts[k, 1] + shrink)
            left -= weight
            counts[k, 2] = weight / counts[k, 0]
            last = k
    if last < 0:
        return False
    # What nobody took goes to the widest, so that the weights add up to 1.
    counts[last, 2] += left / counts[last, 0]
    reached, made = 0.0, 0
    # Merge the ascending samples, and write a quantile each time the weight passes its middle.
    while made < POINTS:
        least, which = math.inf, -1
        for k in range(LEVELS):
            at = int(counts[k, 3])
            if counts[k, 1] > 0 and at < counts[k, 0] and samples[k, at] < least:
                least, which = samples[k, at], k
        # All taken: rounding alone kept the weight below 1.
        if which < 0:
            least = out[made - 1] if made > 0 else 0.0
            reached = 2.0
        else:
            counts[which, 3] += 1.0
            reached += counts[which, 2]
        while made < POINTS and (made + 0.5) / POINTS <= reached:
            out[made] = least
            made += 1
    return True


@kernel
def stair(grid, row, scale, more, time):
    """Return the probability of wait + scale * run time + more <= time; `row` of the grid has the
    probabilities of run times."""
    waits, runs, reached = grid[0], grid[1], grid[row]
    # Waits ascend, so what is left for the run falls: j only goes down, and both loops together are
    # O(POINTS).
    j, total, part_of = POINTS + 1, 0.0, 1.0 / scale
    for i in range(POINTS):
        left = (time - waits[i] - more) * part_of
        if left < 0:
            break
        while runs[j] > left:
            j -= 1
        if j == POINTS + 1:
            total += reached[j]
        else:
            part = (left - runs[j]) / (runs[j + 1] - runs[j])
            total += reached[j] + part * (reached[j + 1] - reached[j])
    return total / POINTS


@kernel
def law_below(grid, top, time):
    """Return the probability of a turnaround of at most `time`, by the plain law."""
    chance = stair(grid, 2, 1.0, 0.0, time)
    # Those stopped once and run again: reckoned as two runs and one wait more.
    if top[3] > 0:
        chance += top[3] * stair(grid, 3, 2.0, top[2], time)
    return chance


@kernel
def score_of(grid, top, time):
    """Return where a turnaround lies in the law: its probability, and beyond the longest one the
    logarithm of how many times as long it is more."""
    if time > top[0]:
        return top[1] + math.log(time / top[0])
    return law_below(grid, top, time)


@kernel
def middle_score(grid, top, time):
    """Return the score of a turnaround that is known: the middle of those of all times within its
    second. Where many take exactly as long, they lie in the middle of the jump."""
    score = score_of(grid, top, time)
    return 0.5 * (score + score_of(grid, top, time - 1.0)) if time >= 1 else 0.5 * score


@kernel
def time_of(grid, top, score):
    """Return the least whole seconds, at least 1, with no lower score; int64."""
    if score > top[1]:
        return math.ceil(top[0] * math.exp(min(score - top[1], _FAR_AWAY)))
    # Bisection over whole seconds: the law rises.
    low, high = 0, int(top[0])
    while high - low > 1:
        middle = (low + high) // 2
        if law_below(grid, top, float(middle)) >= score:
            high = middle
        else:
            low = middle
    return high


@kernel
def close_law(grid, top, rate, again, wait):
    """Complete a grid of waits and run times: probabilities, longest turnaround.

    rate : failures a second that stop the job; again : share of those that are run again, after
    `wait` seconds more
    """
    runs, reached, stopped = grid[1], grid[2], grid[3]
    # Run times move up by a place, for a first step at 0 and a last one beyond the longest.
    for j in range(POINTS, 0, -1):
        runs[j] = runs[j - 1]
    runs[0] = 0.0
    runs[POINTS + 1] = math.floor(1.1 * runs[POINTS]) + 1.0
    reached[0], stopped[0] = 0.0, 0.0
    total, lost = 0.0, 0.0
    for j in range(1, POINTS + 1):
        # A run of t seconds ends undisturbed with probability exp(-rate t).
        kept = math.exp(-rate * runs[j]) / POINTS
        reached[j] = total + 0.5 * kept
        total += kept
        gone = 1.0 / POINTS - kept
        stopped[j] = lost + 0.5 * gone
        lost += gone
    reached[POINTS + 1], stopped[POINTS + 1] = total, lost
    longest = grid[0, POINTS - 1] + runs[POINTS + 1]
    # Where next to nothing is lost, second runs would only lengthen the search.
    share = again if lost > 1e-9 else 0.0
    if share > 0:
        longest += runs[POINTS + 1] + wait
    top[0] = math.ceil(longest)
    top[2], top[3] = wait, share
    top[1] = total + share * lost


@kernel
def wait_of(waits, level):
    """Return a quantile of the wait, s, of `POINTS` in the middles of equal parts: straight between
    them."""
    place = min(max(level * POINTS - 0.5, 0.0), POINTS - 1.0)
    at = min(int(place), POINTS - 2)
    return waits[at] + (place - at) * (waits[at + 1] - waits[at])
