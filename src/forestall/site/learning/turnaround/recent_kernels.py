"""Quantiles of the latest waits, of a user and of all; and what is left of a wait at some age."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy.typing as npt

from forestall.core._compile import entry, kernel
from forestall.site.learning.turnaround.law_kernels import take_in
from forestall.site.learning.turnaround.shifts_kernels import FARTHEST, law_at

Array = npt.NDArray[Any]

LAST = 0.98
"""At ages beyond this level a law says little of what is left: as long again, by Pareto's law."""


class Recent(NamedTuple):
    """The latest waits, logarithms of 1 + s: users : pool[u], all : pool[1]; levels, logit :
    float64[L]."""

    users: Array
    all: Array
    levels: Array
    logit: Array


@kernel
def ladder(own, levels, otherwise, out):
    """Write the quantiles of a pool's values: straight between the middles of equal parts; those of
    another one where it holds none."""
    for i in range(len(levels)):
        if own.held == 0:
            out[i] = otherwise[i]
            continue
        place = min(max(levels[i] * own.held - 0.5, 0.0), own.held - 1.0)
        at = min(int(place), max(own.held - 2, 0))
        high = own.ordered[min(at + 1, own.held - 1)]
        out[i] = own.ordered[at] + (place - at) * (high - own.ordered[at])


@kernel
def level_at(law, levels, value):
    """Return the level at which a law reaches a value."""
    last = len(levels) - 1
    if value <= law[0]:
        return 0.0
    for i in range(1, last + 1):
        if value < law[i]:
            part = (value - law[i - 1]) / (law[i] - law[i - 1])
            return levels[i - 1] + part * (levels[i] - levels[i - 1])
    return levels[last]


@entry
def left_at(law, levels, logit, age, out):
    """Write the quantiles of what is left of a wait that has lasted for `age` s, float32[L],
    logarithms of 1 + s: the law's, given that it is longer."""
    gone = level_at(law, levels, math.log(1.0 + age))
    for i in range(len(levels)):
        if gone >= LAST:
            left = age * levels[i] / (1.0 - levels[i])
        else:
            place = gone + levels[i] * (1.0 - gone)
            far = min(law_at(law, logit, math.log(place / (1.0 - place))), FARTHEST)
            left = max(math.exp(far) - 1.0 - age, 0.0)
        out[i] = math.log(1.0 + left)
        if i > 0:
            out[i] = max(out[i], out[i - 1])


@entry
def recall(recent, user, told):
    """Write what the latest waits of a user, and of all, say at a submission into rows 2 and 3 of
    float32[E, L]; where there are none, what like jobs say (row 0)."""
    ladder(recent.all[0], recent.levels, told[0], told[3])
    ladder(recent.users[user], recent.levels, told[3], told[2])


@entry
def note(recent, user, value):
    """Take in a wait that has become known."""
    take_in(recent.users[user], value)
    take_in(recent.all[0], value)


@entry
def recall_all(recent, asked, known, turn, order, first, user, actual, told):
    """Write what the latest waits say of all answers, float32[E, n, L], each by what was known.

    turn : int64[n], answers by `asked`; order : int64[m], by `known`
    first : bool[n], answers that were asked at a submission, whose outcomes are whole waits
    """
    done = 0
    for k in turn:
        while done < len(order) and known[order[done]] < asked[k]:
            if first[order[done]] and not math.isnan(actual[order[done]]):
                note(recent, user[order[done]], actual[order[done]])
            done += 1
        if first[k]:
            recall(recent, user[k], told[:, k])
