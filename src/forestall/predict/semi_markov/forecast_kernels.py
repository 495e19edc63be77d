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
from forestall.predict.semi_markov.first_failure_kernels import FAILED, OTHER, RUNNING, chances

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
        run = run_at(starts, pasts.places[host], known, begins[w])
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
