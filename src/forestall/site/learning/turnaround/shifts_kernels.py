"""Quantiles of turnarounds, moved by what became of the earlier ones.

A quantile for level p should lie above the turnaround with probability p. For each level there is a
shift in logarithms of seconds, common to all jobs, and shifts along the job's own law, in logits of
the level, for its user and for its size. Each time it is known whether a job lay below its quantile
*as shifted now*, all of its shifts go by a small step up or down: p of the step up where it lay
above, 1 - p down where it lay below. So a shift follows the running quantile of what the law was
off by, and a burst of jobs whose ends are long awaited cannot drive it beyond that; nor does it
cost sharpness, since the step is the gradient of the pinball loss.

Source: Angelopoulos, Candes and Tibshirani, "Conformal PID control for time series prediction",
NeurIPS 2023, Section 2.1 (quantile tracking), for outcomes that come late.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy.typing as npt

from forestall.core._compile import entry, kernel
from forestall.prediction.models.heap_kernels import Heap, cancel, put
from forestall.prediction.models.ordered_kernels import below

Array = npt.NDArray[Any]

STEP = 0.001
"""Of the shift of all jobs, in logarithms."""
STEP_USER, FIRST_USER, SOON_USER = 0.01, 10.0, 100.0
"""Of the shift of a user, in logits; for the first n outcomes `FIRST_USER` / (n + `SOON_USER`)."""
STEP_SIZE = 0.002
"""Of the shift of a size class, in logits."""
MOST_LOGITS = 2.0
MOST_LOG = 3.0
FARTHEST = 22.0
"""Logarithm of the farthest quantile, s: a century."""
TAIL = 4
"""Levels whose slope the law goes on with beyond its last."""
AFTER = math.inf


class Shifts(NamedTuple):
    """Jobs with quantiles, and how these are shifted.

    quantiles : float32[n, L], ascending, logarithms of 1 + s, before the shift
    submit, user, size : int64[n]; the latter two are rows of `logits`, each of its own
    open : int64[n], levels below this one are known for the job
    due : jobs by when their next quantile passes
    levels, logit : float64[L], ascending
    all : float64[L]; logits, seen : float64[groups, L], and how often each was moved
    least : no quantile is moved below it; pace : by which steps are multiplied
    """

    quantiles: Array
    submit: Array
    user: Array
    size: Array
    open: Array
    due: Heap
    levels: Array
    logit: Array
    all: Array
    logits: Array
    seen: Array
    least: float
    pace: float


@kernel
def law_at(law, logit, place):
    """Return the quantile of a law at a logit: straight between its levels, and beyond the last."""
    last = len(logit) - 1
    if place <= logit[0]:
        return float(law[0])
    if place >= logit[last]:
        slope = (law[last] - law[last - TAIL]) / (logit[last] - logit[last - TAIL])
        return law[last] + min(max(slope, 0.02) * (place - logit[last]), 2.0)
    at = below(logit, 0, len(logit), place)
    part = (place - logit[at - 1]) / (logit[at] - logit[at - 1])
    return law[at - 1] + part * (law[at] - law[at - 1])


@kernel
def shifted(shifts, k, i):
    """Return quantile i of job k as shifted now, logarithm of 1 + s."""
    own = shifts.logits[shifts.user[k], i] + shifts.logits[shifts.size[k], i]
    found = law_at(shifts.quantiles[k], shifts.logit, shifts.logit[i] + own) + shifts.all[i]
    return min(max(found, shifts.least), FARTHEST)


@kernel
def move(shifts, k, i, under):
    """Let it be known whether job k lay below its quantile i."""
    error = shifts.pace * (shifts.levels[i] - (1.0 if under else 0.0))
    shifts.all[i] = min(max(shifts.all[i] + STEP * error, -MOST_LOG), MOST_LOG)
    user, size = shifts.user[k], shifts.size[k]
    step = max(STEP_USER, FIRST_USER / (shifts.seen[user, i] + SOON_USER))
    for group, far in ((user, step), (size, STEP_SIZE)):
        moved = shifts.logits[group, i] + far * error
        shifts.logits[group, i] = min(max(moved, -MOST_LOGITS), MOST_LOGITS)
        shifts.seen[group, i] += 1.0


@kernel
def passes(shifts, k, i):
    """Return the second in which quantile i of job k, as shifted now, passes; one that was a whole
    second before the logarithm is that one again."""
    return shifts.submit[k] + math.ceil(math.expm1(shifted(shifts, k, i)) * (1 - 1e-12))


@kernel
def let_pass(shifts, now):
    """Take note of all quantiles that have passed before now: their jobs lay above them."""
    due = shifts.due
    while due.size[0] > 0 and due.keys[0] < now:
        k = due.ids[0]
        i = shifts.open[k]
        time = passes(shifts, k, i)
        if time < now:
            move(shifts, k, i, False)
            shifts.open[k] = i + 1
            if i + 1 == len(shifts.levels):
                cancel(due, k)
                continue
            time = passes(shifts, k, i + 1)
        # Shifts move while a job is awaited, and its quantiles with them.
        put(due, k, time)


@entry
def take_submission(shifts, k, out):
    """Write the quantiles of job k as shifted at its submission, float32[L], and await what becomes
    of it."""
    let_pass(shifts, shifts.submit[k])
    shifts.open[k] = 0
    for i in range(len(shifts.levels)):
        value = shifted(shifts, k, i)
        # Each level has its own shift: they may cross.
        at = i
        while at > 0 and out[at - 1] > value:
            out[at] = out[at - 1]
            at -= 1
        out[at] = value
    put(shifts.due, k, passes(shifts, k, 0))


@entry
def take_end(shifts, k, now, actual):
    """Take note that job k ended, with this logarithm of 1 + turnaround; `AFTER`: it never will;
    nan: it was withdrawn and says nothing."""
    let_pass(shifts, now)
    if not math.isnan(actual):
        for i in range(shifts.open[k], len(shifts.levels)):
            move(shifts, k, i, actual <= shifted(shifts, k, i) + 1e-9)
    shifts.open[k] = len(shifts.levels)
    cancel(shifts.due, k)


@entry
def shift_all(shifts, turn, finish, order, actual, out):
    """Write the shifted quantiles of all jobs, each by what was known when it was submitted.

    turn : int64[n], jobs by submission; finish : int64[n]; order : int64[m], jobs that come to an
        end, by `finish`
    actual : float64[n], as `take_end` has it; out : float32[n, L]
    """
    done = 0
    for k in turn:
        now = shifts.submit[k]
        # In one second submissions come before ends, as in the book.
        while done < len(order) and finish[order[done]] < now:
            j = order[done]
            take_end(shifts, j, finish[j], actual[j])
            done += 1
        take_submission(shifts, k, out[k])
