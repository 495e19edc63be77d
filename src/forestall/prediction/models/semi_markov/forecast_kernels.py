"""What one host did in windows of its past, and what that says of the coming one.

The same as `learning.masses` and `SemiMarkov.reliability_of_each` for the two states in which a
guest can run, without tables of every stay. Stays are short against the horizon, so that the
recursion has few terms: for one host it is quicker than the inversion of a power series.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel
from forestall.prediction.models.semi_markov.first_failure_kernels import (
    FAILED,
    OTHER,
    RUNNING,
    chances,
)

APART: Final = 16
"""Samples from one whose run is kept to the next one."""


class PastArrays(NamedTuple):
    """What was seen of hosts: int64[hosts + 1] the first run of each; int64[r] starts and int8[r]
    states of the runs; float64[hosts, steps] shares given, and int16[hosts, steps] (int32 where
    that is too little) samples that they are of; int32[hosts, ...] the run of a host in which every
    16th sample lies."""

    first: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    state: npt.NDArray[np.int8]
    given: npt.NDArray[np.float64]
    seen: npt.NDArray[Any]
    places: npt.NDArray[np.int32]


@kernel
def run_at(starts, places, known, sample):
    """Return the run, of the first `known`, that a sample lies in."""
    # Starts ascend: the last run that begins no later than the sample, from one near it on.
    run = np.int64(places[sample // APART])
    while run + 1 < known and starts[run + 1] <= sample:
        run += 1
    return run


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
def one_host(pasts, host, samples, begins, room, began, alive):
    """Write what is foretold of a host; return whether both states were seen in the windows (else
    `alive` is not written)."""
    first, last = pasts.first[host], pasts.first[host + 1]
    starts, states = pasts.start[first:last], pasts.state[first:last]
    steps = alive.shape[1] - 1
    known = np.searchsorted(starts, samples)
    room.moves[:], room.present[:] = 0, 0
    both = 0
    for w in range(len(begins)):
        # A move at the last step shows in the sample after it.
        stop = min(begins[w] + steps + 1, samples)
        run = run_at(starts, pasts.places[host], known, begins[w])
        began[w] = states[run]
        both |= count_stays(starts, states, known, samples, begins[w], stop, room, run)
    # Both bits, S1 and S2.
    if both != 3:
        return False
    chances(room, alive)
    return True


@entry
def foresee(pasts, samples, begins, room, began, alive, sure):
    """Write what is foretold of hosts for n steps.

    Parameters
    ----------
    pasts : `PastArrays`
    samples : that began before the window to come
    begins : int64[w], the samples with which windows begin
    room : see `new_room`
    began : int8[hosts, w], written: the states that windows begin in
    alive : float64[hosts, 2, n + 1], written
    sure : bool[hosts], written: whether both states were seen in the windows of a host; where not,
        its `alive` is not written
    """
    for host in range(len(sure)):
        sure[host] = one_host(pasts, host, samples, begins, room, began[host], alive[host])


@kernel
def count_state(starts, states, places, known, begin, stop, room, state):
    """Count the stays of one window in a state, those after a failure too; return how many."""
    run, count = run_at(starts, places, known, begin), 0
    while run < known and starts[run] < stop:
        if states[run] == state:
            begun, count = max(starts[run], begin), count + 1
            # The last run has no end that was seen.
            end = starts[run + 1] if run + 1 < known else stop
            lasted, most = min(end, stop - 1) - begun, room.present.shape[1] - 1
            room.present[state, min(lasted, most)] += 1
            if end < stop and lasted <= most:
                room.moves[state, FAILED if states[run + 1] >= RUNNING else OTHER, lasted] += 1
        run += 1
    return count


@entry
def complete(pasts, hosts, samples, begins, days, room, alive):
    """Write the chances of hosts to be there still whose windows do not show both states: of one
    that they do not show all days of the same kind tell or, where they do not either, all that was
    seen.

    Parameters
    ----------
    pasts, samples, room : as in `foresee`
    hosts : int64[k], which of them
    begins, days : int64[w] and int64[d], the samples with which windows begin, and whole days
        that end with the last that was seen at latest: first those, then the samples of a day
    alive : float64[hosts, 2, n + 1], those of these hosts are written
    """
    for host in hosts:
        first, last = pasts.first[host], pasts.first[host + 1]
        starts, states = pasts.start[first:last], pasts.state[first:last]
        known, both = np.searchsorted(starts, samples), 0
        places = pasts.places[host]
        room.moves[:], room.present[:] = 0, 0
        for begin in begins:
            stop = min(begin + alive.shape[2], samples)
            run = run_at(starts, places, known, begin)
            both |= count_stays(starts, states, known, samples, begin, stop, room, run)
        for state in range(RUNNING):
            if both & (1 << state):
                continue
            count = 0
            for begin in days[:-1]:
                stop = min(begin + days[-1] + 1, samples)
                count += count_state(starts, states, places, known, begin, stop, room, state)
            if count == 0:
                count_state(starts, states, places, known, 0, samples, room, state)
        chances(room, alive[host])


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
def draw_together(reliability, mean, weight, out):
    """Write chances drawn to their mean: each keeps the weight float64[2] of its state."""
    for host in range(len(reliability)):
        for state in range(RUNNING):
            mine, centre, w = reliability[host, state], mean[state], weight[state]
            target = out[host, state]
            for m in range(len(mine)):
                target[m] = w * mine[m] + (1 - w) * centre[m]
