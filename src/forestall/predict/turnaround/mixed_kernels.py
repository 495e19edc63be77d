"""Two sets of quantiles for each job, joined by what they were worth on the jobs that have ended.

A job's quantiles are (1 - w) of the one set and w of the other, in logarithms, for the w that has
lost least so far: weights over a few w fall exponentially with their pinball losses, those of all
jobs and those of the job's own user, older ones fading. Nothing is used before it is known.

Source: Vovk, "A game of prediction with expert advice", J. Comput. Syst. Sci. 56 (1998): weights
that fall exponentially with the loss; that losses fade is Herbster and Warmuth's idea of shifting
experts (Machine Learning 32, 1998) in its simplest form.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy.typing as npt

from forestall._compile import entry, kernel

Array = npt.NDArray[Any]

SHARES = 6
"""Values of w, evenly from 0 to 1."""
FADING = 0.995
"""What is left of a loss when another job ends."""


@kernel
def pinball(first, second, share, actual, levels):
    """Return the mean pinball loss over the levels of a mixture of two rows of quantiles."""
    total = 0.0
    for i in range(len(levels)):
        over = actual - ((1.0 - share) * first[i] + share * second[i])
        total += levels[i] * over if over > 0 else (levels[i] - 1.0) * over
    return total / len(levels)


@entry
def learn(losses, group, first, second, actual, levels):
    """Take in the end of a job: what each mixture lost, for all jobs (row 0) and for its group."""
    for row in (0, group):
        for m in range(SHARES):
            lost = pinball(first, second, m / (SHARES - 1.0), actual, levels)
            losses[row, m] = FADING * losses[row, m] + lost


@kernel
def share_of(losses, group):
    """Return the weight of the second set of quantiles, by what mixtures have lost."""
    least = math.inf
    for m in range(SHARES):
        least = min(least, losses[0, m] + losses[group, m])
    total, share = 0.0, 0.0
    for m in range(SHARES):
        weight = math.exp(least - losses[0, m] - losses[group, m])
        total += weight
        share += weight * m / (SHARES - 1.0)
    return share / total


@entry
def mixture(losses, group, first, second, mixed):
    """Write the mixture of two rows of quantiles, float32[L], by what mixtures have lost so far;
    return the weight of the second, 0 where it is nan."""
    learned = not math.isnan(second[0])
    share = share_of(losses, group) if learned else 0.0
    for i in range(len(first)):
        mixed[i] = first[i]
        if learned:
            mixed[i] += share * (second[i] - first[i])
    return share


class Mixing(NamedTuple):
    """Jobs in order of submission, what two say of them, and what mixtures of both lost.

    first, second : float32[n, L], logarithms of quantiles; `second` is nan where there is none yet
    levels : float64[L]; actual : float64[n], logarithms of turnarounds
    group : int64[n], 1 or more; submit : int64[n], ascending; finish : int64[n]
    order : int64[m], jobs whose turnaround is known in the end, by `finish`
    losses : float64[groups, SHARES], of all jobs in row 0
    """

    first: Array
    second: Array
    levels: Array
    actual: Array
    group: Array
    submit: Array
    finish: Array
    order: Array
    losses: Array


@entry
def mix(mixing, mixed, shares):
    """Write mixed quantiles, float32[n, L], and the weights of `second` in them, float32[n], each
    by what was known when the job was submitted."""
    first, second, levels = mixing.first, mixing.second, mixing.levels
    group, losses = mixing.group, mixing.losses
    done = 0
    for k in range(len(mixing.submit)):
        while done < len(mixing.order):
            j = mixing.order[done]
            # In one second submissions come before ends, as in the book.
            if mixing.finish[j] >= mixing.submit[k]:
                break
            if not math.isnan(second[j, 0]):
                learn(losses, group[j], first[j], second[j], mixing.actual[j], levels)
            done += 1
        shares[k] = mixture(losses, group[k], first[k], second[k], mixed[k])
