"""The yardstick for forecasts of shared hosts: host by host, step by step.

The straightforward way, and what was done until forecasts of all hosts were made in one call: each
host's past is cut in Python, its windows are read once for each state, every step's failures are
spread over those to come one by one, and work is summed by whole arrays. It gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.prediction.models.semi_markov.forecast import HostCurves, HostPast, Outlook, pool

RUNNING, OTHER, FAILED = 2, 0, 1


class ForecastRoom(NamedTuple):
    """Scratch arrays for n steps: int64[2, 2, n + 1] moves after so many steps, from each state to
    the other and to a failing one; int64[2, n + 1] stays seen for so many; int64[2, n + 1] and
    float64[2, n + 1] the steps after which moves to the other state were seen, and their masses;
    float64[2, n + 1] chances of a first failure at each step."""

    moves: npt.NDArray[np.int64]
    present: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    onward: npt.NDArray[np.float64]
    fails: npt.NDArray[np.float64]


def new_room(steps: int) -> ForecastRoom:
    """Return room for windows of so many steps."""
    shape: Any = (RUNNING, steps + 1)
    return ForecastRoom(
        np.zeros((RUNNING, *shape), dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape),
        np.zeros(shape),
    )


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def count_stays(starts, states, known, samples, begin, stop, room):
    """Count the stays of one window until its first failure; return which states were seen, one
    bit each."""
    run, begun, seen = run_at(starts, known, begin), begin, 0
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


@numba.njit(cache=True)
def weigh(room, state):
    """Write the masses of the moves out of a state: to the other one, and, as what is known so far
    of first failures, to failing ones. Return after how many different steps the former came."""
    moves, present = room.moves[state], room.present[state]
    # Kaplan and Meier with two ways to leave (competing risks): a move's mass is the share still
    # there before the step times the share of those at risk that makes it.
    at_risk, alive, count = 0, 1.0, 0
    for m in range(len(present)):
        at_risk += present[m]
    for m in range(len(present)):
        moved, failed = moves[OTHER, m], moves[FAILED, m]
        each = alive / at_risk if moved + failed > 0 else 0.0
        room.fails[state, m] = each * failed
        if moved > 0:
            room.steps[state, count], room.onward[state, count] = m, each * moved
            count += 1
        if moved + failed > 0:
            alive *= 1 - (moved + failed) / at_risk
        at_risk -= present[m]
    return count


@numba.njit(cache=True)
def spread(room, state, count, chance, step):
    """Add what a first failure `step` steps from the other state makes of those from this one."""
    fails, steps, masses = room.fails[state], room.steps[state], room.onward[state]
    for k in range(count):
        place = step + steps[k]
        if place >= len(fails):
            break
        fails[place] += masses[k] * chance


@numba.njit(cache=True)
def chances(room, out):
    """Write the chance to be there still by each step, float64[2, n + 1], by the recursion."""
    fails = room.fails
    count0, count1 = weigh(room, 0), weigh(room, 1)
    low0, low1, failed0, failed1 = 1.0, 1.0, 0.0, 0.0
    # F_i(m) = direct failures + sum over k of mass_i(k) F_j(m - k), spread forward: at step m all
    # that contributes to F(m) has been added, as every move takes at least a step.
    for m in range(fails.shape[1]):
        from0, from1 = fails[0, m], fails[1, m]
        if from1 > 0:
            spread(room, 0, count0, from1, m)
        if from0 > 0:
            spread(room, 1, count1, from0, m)
        failed0 += from0
        failed1 += from1
        # Rounding must not let the chance rise again, or fall below 0.
        low0 = min(low0, max(0.0, 1 - failed0))
        low1 = min(low1, max(0.0, 1 - failed1))
        out[0, m], out[1, m] = low0, low1


@numba.njit(cache=True)
def mean_share(past, begins, alike, before, out):
    """Write the mean share in each step of the windows that begin alike (`alike[w]` true)."""
    given, seen = past
    total, many = 0.0, 0.0
    for j in range(len(out)):
        sum_given, sum_seen = 0.0, 0.0
        for w in range(len(begins)):
            if alike[w]:
                sum_given += given[begins[w] + j]
                sum_seen += seen[begins[w] + j]
        # -1 marks steps in which nothing was seen; they get the mean of the rest.
        out[j] = sum_given / sum_seen if sum_seen > 0 else -1.0
        total += sum_given
        many += sum_seen
    # No window says anything: all of the past does.
    if many == 0:
        for j in range(before):
            total += given[j]
            many += seen[j]
    rest = total / many if many > 0 else 1.0
    for j in range(len(out)):
        if out[j] < 0:
            out[j] = rest


@numba.njit(cache=True)
def foresee(runs, known, samples, begins, past, room, alike, share, alive):
    """Write what is foretold of a host for n steps; return whether both states were seen in the
    windows (else `alive` is not written).

    Parameters
    ----------
    runs : int64[r] starts and int8[r] states of its runs
    known, samples : runs and samples that began before the window to come
    begins : int64[w], the samples with which windows begin
    past : float64[samples] shares given, and samples that they are of, in each step
    room : see `new_room`; alike : bool[w], scratch
    share : float64[2, n], alive : float64[2, n + 1], written
    """
    starts, states = runs
    steps = share.shape[1]
    room.moves[:] = 0
    room.present[:] = 0
    seen = 0
    for w in range(len(begins)):
        # A move at the last step shows in the sample after it.
        stop = min(begins[w] + steps + 1, samples)
        seen |= count_stays(starts, states, known, samples, begins[w], stop, room)
    for state in range(RUNNING):
        some = False
        for w in range(len(begins)):
            alike[w] = states[run_at(starts, known, begins[w])] == state
            some = some or alike[w]
        # No window begins in this state: all of them stand for it.
        if not some:
            alike[:] = True
        mean_share(past, begins, alike, samples, share[state])
    # Both bits, S1 and S2.
    if seen != 3:
        return False
    chances(room, alive)
    return True


def foretold(
    hosts: Sequence[HostPast], start: int, steps: int, *, days: int, pooled: bool = True
) -> Outlook:
    """Return the outlook of hosts, as `semi_markov.forecast.foretold` does."""
    history = hosts[0].history
    step = history.runs.period
    share = np.empty((len(hosts), RUNNING, steps))
    reliability = np.ones((len(hosts), RUNNING, steps + 1))
    begins = history.windows(start, steps * step, days) // step
    room, alike = new_room(steps), np.empty(len(begins), dtype=np.bool_)
    for k, host in enumerate(hosts):
        runs, cut = host.history.runs, host.until(start)
        assert (host.history.origin, runs.samples) == (history.origin, history.runs.samples)
        both = foresee(
            (runs.start, runs.state), len(cut.runs.start), cut.runs.samples, begins,
            (host.given, host.seen.astype(np.float64)), room, alike, share[k], reliability[k],
        )  # fmt: skip
        if not both and cut.runs.samples:
            process = cut.process(start, steps * step, days=days)
            reliability[k] = process.reliability_of_each(steps)
    return Outlook(share, pool(reliability, len(begins)) if pooled else reliability)


def curves(
    share: Floats, reliability: Floats, speed: Floats, step: int, *, memory: int = 0
) -> HostCurves:
    """Return the curves of hosts, as `semi_markov.forecast.curves` does."""
    steps = share.shape[-1]
    between = (reliability[..., :-1] + reliability[..., 1:]) / 2
    fresh = np.zeros(steps)
    if memory > 0:
        fading = np.exp(-step * np.arange(steps + 1) / memory)
        fresh = memory / step * (fading[:-1] - fading[1:])
    full = speed[:, None, None] * step
    usual, present = full * (1 - fresh) * share, full * fresh
    return HostCurves(
        step,
        _risen(usual),
        _risen(usual * between),
        _risen(present[:, 0]),
        _risen(present * between),
        reliability,
        reliability[..., -1].copy(),
        step * between.sum(axis=-1),
    )


def _risen(values: Floats) -> Floats:
    """Return float64[..., n + 1]: the sums of the first 0, 1, ... values."""
    return np.concatenate((np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)), axis=-1)
