"""Curves of hosts, drawn as far as somebody asks.

A host is asked for in the state that it is in, and most only until another one would have ended the
job: the mean shares of past windows, for which kernels wait for memory, are told step after step as
curves get there. What is drawn is the same to the last bit, however it was asked for.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, inlined, kernel
from forestall.prediction.models.semi_markov.first_failure_kernels import RUNNING
from forestall.prediction.models.semi_markov.forecast_kernels import PastArrays

AT_ONCE: Final = 64
"""Steps that are drawn together."""
UNHALVED: Final = 128
"""Of so many numbers at most NumPy does not sum halves by themselves."""


class ShareRows(NamedTuple):
    """Mean shares of a host's windows, and what they are told from: the pasts of hosts, the samples
    that began before the window to come, int64[w] the samples with which windows begin, int8[hosts,
    w] the states that they begin in, and whether the means are those of the windows that began in
    the same state; float64[hosts, 2, n] shares, and int64[hosts, 2] in how many steps they are
    told; float64[n] and int32[n], scratch."""

    pasts: PastArrays
    before: int
    begins: npt.NDArray[np.int64]
    began: npt.NDArray[np.int8]
    by_state: bool
    share: npt.NDArray[np.float64]
    told: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    many: npt.NDArray[np.int32]


class Sketch(NamedTuple):
    """Curves as far as they are drawn: `forecast.HostCurves`; int64[hosts, 2] the steps drawn, one
    more than there are where `lasting` is written too; what shares are told from; float64[hosts]
    work of a step on a host that nobody else uses; float64[n] how much of a step the present load
    tells."""

    curves: Any
    drawn: npt.NDArray[np.int64]
    shares: ShareRows
    full: npt.NDArray[np.float64]
    fresh: npt.NDArray[np.float64]


@kernel
def sum_windows(shares, host, state, begin, until):
    """Sum shares and samples in some steps of the windows that begin in a state (-1: of all).
    Return whether nothing was seen in one of the steps."""
    given, seen, began = shares.pasts.given[host], shares.pasts.seen[host], shares.began[host]
    sums, many, steps = shares.sums, shares.many, until - begin
    sums[:steps], many[:steps] = 0.0, 0
    for w in range(len(began)):
        if state < 0 or began[w] == state:
            first = shares.begins[w] + begin
            mine, samples = given[first:], seen[first:]
            for j in range(steps):
                sums[j] += mine[j]
                many[j] += samples[j]
    some = False
    for j in range(steps):
        some = some or many[j] == 0
    return some


@kernel
def mean_of_rest(shares, host):
    """Return the mean of the steps in which something was seen, those of windows being summed; of
    all of the past, where no window says anything."""
    given, seen = shares.pasts.given[host], shares.pasts.seen[host]
    total, many = 0.0, np.int64(0)
    for j in range(len(shares.sums)):
        total += shares.sums[j]
        many += shares.many[j]
    if many == 0:
        for j in range(shares.before):
            total += given[j]
            many += seen[j]
    return total / many if many > 0 else 1.0


@kernel
def tell(shares, host, state, until):
    """Write the mean shares of a host that is in a state now, up to a step."""
    begin, out = shares.told[host, state], shares.share[host, state]
    if until <= begin:
        return
    alike = 0
    for state_then in shares.began[host]:
        alike += state_then == state
    # Where no window begins in a state, all of them stand for it.
    which = state if shares.by_state and alike > 0 else -1
    rest = 0.0
    if sum_windows(shares, host, which, begin, until):
        # What fills a gap is the mean of all steps.
        begin, until = 0, len(out)
        sum_windows(shares, host, which, begin, until)
        rest = mean_of_rest(shares, host)
    sums, many = shares.sums, shares.many
    for j in range(until - begin):
        out[begin + j] = sums[j] / many[j] if many[j] > 0 else rest
    shares.told[host, state] = until


@inlined
def draw(sketch, host, state, until):
    """Draw the curves of a host that is in a state now, at least up to a step."""
    if sketch.drawn[host, state] < until:
        go_on(sketch, host, state, until)


@kernel
def go_on(sketch, host, state, until):
    """Go on drawing the curves of a host, at least up to a step."""
    curves, begin, steps = sketch.curves, sketch.drawn[host, state], len(sketch.fresh)
    until = min(steps, (until + AT_ONCE - 1) // AT_ONCE * AT_ONCE)
    tell(sketch.shares, host, state, until)
    share, chances = sketch.shares.share[host, state], curves.reliability[host, state]
    work, sure = curves.work[host, state], curves.sure[host, state]
    present_work, present_sure = curves.present_work[host], curves.present_sure[host, state]
    usual, weighed, present = work[begin], sure[begin], present_work[begin]
    present_weighed, full, fresh = present_sure[begin], sketch.full[host], sketch.fresh
    for j in range(begin, until):
        chance = (chances[j] + chances[j + 1]) / 2
        step, new = full * (1 - fresh[j]) * share[j], full * fresh[j]
        usual += step
        weighed += step * chance
        present += new
        present_weighed += new * chance
        work[j + 1], sure[j + 1] = usual, weighed
        present_work[j + 1], present_sure[j + 1] = present, present_weighed
    sketch.drawn[host, state] = until


@inlined
def draw_whole(sketch, host, state):
    """Draw all curves of a host that is in a state now, and write how long it lasts."""
    if sketch.drawn[host, state] <= len(sketch.fresh):
        end(sketch, host, state)


@kernel
def end(sketch, host, state):
    """Draw what is left of the curves of a host, and write how long it lasts."""
    curves, steps = sketch.curves, len(sketch.fresh)
    draw(sketch, host, state, steps)
    chances, shares = curves.reliability[host, state], sketch.shares
    lasting = sum_between(chances, shares.sums, shares.many)
    curves.lasting[host, state] = curves.step * lasting
    sketch.drawn[host, state] = steps + 1


@kernel
def sum_between(chances, sums, counts):
    """Return the sum of the means of all two neighbours, in NumPy's order: of halves of halves, so
    that rounding does not pile up. `sums` and `counts` are scratch."""
    depth, first, count = 0, 0, len(chances) - 1
    while True:
        # Down to the first part that is not halved; `counts` has what is to come beside it, 0 where
        # nothing is.
        while count > UNHALVED:
            half = count // 2
            half -= half % 8
            counts[depth] = count - half
            count, depth = half, depth + 1
        total, first = sum_some(chances, first, count), first + count
        while depth > 0 and counts[depth - 1] == 0:
            depth -= 1
            total = sums[depth] + total
        if depth == 0:
            return total
        sums[depth - 1], count, counts[depth - 1] = total, counts[depth - 1], 0


@kernel
def sum_some(chances, first, count):
    """Return the sum of so many means of two neighbours, by eight sums side by side."""
    end, total = first + count, 0.0
    whole = end - count % 8
    if count >= 8:
        s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(first, whole, 8):
            s0 += (chances[j] + chances[j + 1]) / 2
            s1 += (chances[j + 1] + chances[j + 2]) / 2
            s2 += (chances[j + 2] + chances[j + 3]) / 2
            s3 += (chances[j + 3] + chances[j + 4]) / 2
            s4 += (chances[j + 4] + chances[j + 5]) / 2
            s5 += (chances[j + 5] + chances[j + 6]) / 2
            s6 += (chances[j + 6] + chances[j + 7]) / 2
            s7 += (chances[j + 7] + chances[j + 8]) / 2
        total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for j in range(whole, end):
        total += (chances[j] + chances[j + 1]) / 2
    return total


@entry
def tell_all(shares):
    """Write the mean shares of all hosts in all steps, from both states."""
    for host in range(len(shares.told)):
        for state in range(RUNNING):
            tell(shares, host, state, shares.share.shape[2])


@entry
def draw_all(sketch):
    """Draw all curves of all hosts, from both states."""
    for host in range(len(sketch.drawn)):
        for state in range(RUNNING):
            draw_whole(sketch, host, state)
