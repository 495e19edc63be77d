"""How long a job would wait if jobs were started in order: a conservative fit of those that wait
into the nodes that running ones leave.

Jobs are placed one after the other where they first fit for as long as they are expected to run,
without moving those before them (conservative backfilling: Feitelson and Weil, "Utilization and
predictability in scheduling the IBM SP2 with backfilling", IPPS 1998). The machine is taken to have
the most nodes that were ever busy throughout an hour. Running jobs whose ends fall into one class
of times, a quarter of a doubling, end together at their mean; of a long queue only the first are
placed, and the others add their node-seconds.
"""

from __future__ import annotations

import math

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.site.learning.turnaround.queue_state import ENDS, EXPECTATIONS, PLACED, WAITS, WEEK

SOON = 60
"""A job that outlasts what was expected runs on for so long at least, s."""


@kernel
def class_of(number, classes):
    """Return the class of a whole number >= 0: four in each doubling, the last for all beyond.

    0 to 7 have one each; then 8 and 9, 10 and 11, 12 and 13, 14 and 15, 16 to 19, ...
    """
    if number < 8:
        return number
    _, bits = math.frexp(float(number))
    return min(4 * (bits - 2) + ((number >> (bits - 3)) & 3), classes - 1)


@kernel
def requested(limit):
    """Return the time that a job requested, s; without one, a week."""
    return limit if limit > 0 else WEEK


@kernel
def left_to_run(job, expected, now):
    """Return how much longer a running job is expected to run, s: one that is over its time as long
    again as half of what it ran, but to its limit at most."""
    gone = now - job.started
    left = expected - gone
    if left <= 0:
        left = min(max(gone // 2, SOON), max(requested(job.limit) - gone, SOON))
    return left


@inlined
def sort_ends(state, now):
    """Write down the nodes that running jobs leave, and when, by class of time."""
    ending = state.ending
    for expectation in range(EXPECTATIONS):
        for at in range(ENDS):
            ending[expectation, at, 0], ending[expectation, at, 1] = 0, 0
    for place in range(state.queue[0].running):
        job = state.jobs[state.running[place]]
        for expectation in range(EXPECTATIONS):
            left = left_to_run(job, job.expected[expectation], now)
            own = ending[expectation, class_of(left, ENDS)]
            own[0] += job.size
            own[1] += job.size * left


@kernel
def begin_profile(ending, time, free, idle):
    """Write the free nodes from now on if nothing that waits starts; return the number of steps."""
    time[0], free[0], steps = 0, idle, 1
    for at in range(ENDS):
        if ending[at, 0] > 0:
            time[steps] = ending[at, 1] // ending[at, 0]
            free[steps] = free[steps - 1] + ending[at, 0]
            steps += 1
    return steps


@kernel
def first_fit(time, free, steps, size, length):
    """Return the first step from which on so many nodes are free for so long; on the last step all
    are free for good."""
    at, check = 0, 0
    while check < steps and (at == check or time[check] < time[at] + length):
        if free[check] < size:
            at = check + 1
        check += 1
    return min(at, steps - 1)


@kernel
def reserve(time, free, steps, at, size, length):
    """Take nodes from a step on for so long; return the number of steps."""
    end, to = time[at] + length, at
    while to < steps and time[to] < end:
        free[to] -= size
        to += 1
    if to == steps or time[to] != end:
        for k in range(steps, to, -1):
            time[k], free[k] = time[k - 1], free[k - 1]
        time[to], free[to] = end, free[to - 1] + size
        steps += 1
    return steps


@inlined
def fit(state, slot, expectation):
    """Return how long a job would wait, s, or one that waits still will; -1 where nothing ever ran.
    `sort_ends` comes before."""
    queue, jobs, time, free = state.queue[0], state.jobs, state.time, state.free
    most = queue.most
    if most == 0:
        return np.int64(-1)
    steps = begin_profile(state.ending[expectation], time, free, max(most - queue.busy, 0))
    rest, other, placed = queue.work[expectation], queue.first, 0
    while other > 0 and other != slot and placed < PLACED:
        job = jobs[other]
        size, length = min(job.size, most), job.expected[expectation]
        at = first_fit(time, free, steps, size, length)
        steps = reserve(time, free, steps, at, size, length)
        rest -= job.size * length
        other = job.after
        placed += 1
    own = jobs[slot]
    if other == slot and own.state == WAITS:  # nobody who came later is before it
        rest = 0
    at = first_fit(time, free, steps, min(own.size, most), own.expected[expectation])
    return time[at] + rest // most
