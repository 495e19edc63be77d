"""What several experts say of an answer, joined by what each was worth on those known by now.

An expert is a set of quantiles, in logarithms. An answer is a weighted mean of theirs; candidates
are a few such sets of weights, and what is used is the mean of the candidates, whose weights fall
exponentially with their pinball losses: those of all answers and those of the answer's own group,
older ones fading. The loss of a mean is at most the mean of the losses, so the answer is never
worse than the best candidate by more than the regret of the weights. Nothing is used before it is
known.

Source: Vovk, "A game of prediction with expert advice", J. Comput. Syst. Sci. 56 (1998): weights
that fall exponentially with the loss; that losses fade is Herbster and Warmuth's idea of shifting
experts (Machine Learning 32, 1998) in its simplest form.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy.typing as npt

from forestall.core._compile import entry, kernel
from forestall.site.learning.turnaround.book_state import FOREST

Array = npt.NDArray[Any]


@kernel
def usable(told, parts):
    """Return whether all experts say something that have a weight."""
    return parts[FOREST] == 0 or not math.isnan(told[FOREST, 0])


@kernel
def pinball(told, parts, whole, actual, levels):
    """Return the mean pinball loss over the levels of a weighted mean of experts' quantiles."""
    first, total = 1.0, 0.0
    for e in range(1, len(parts)):
        first -= parts[e] / whole
    for i in range(len(levels)):
        mean = first * told[0, i]
        for e in range(1, len(parts)):
            mean += parts[e] / whole * told[e, i]
        over = actual - mean
        total += levels[i] * over if over > 0 else (levels[i] - 1.0) * over
    return total / len(levels)


@entry
def learn(losses, candidates, group, told, actual, levels):
    """Take in an outcome: what each candidate lost, for all answers (row 0) and for its group."""
    for m in range(len(candidates.parts)):
        lost = pinball(told, candidates.parts[m], candidates.whole, actual, levels)
        for row in (0, group):
            losses[row, m] = candidates.fading * losses[row, m] + lost


@entry
def mixture(losses, candidates, group, told, mixed):
    """Write the mixture of experts' quantiles, float32[E, L], by what candidates have lost so far,
    into float32[L]; return the weight of the forest in it, 0 where it says nothing."""
    parts, least, total, share = candidates.parts, math.inf, 0.0, 0.0
    for m in range(len(parts)):
        if usable(told, parts[m]):
            least = min(least, losses[0, m] + losses[group, m])
    for m in range(len(parts)):
        if usable(told, parts[m]):
            total += math.exp(candidates.rate * (least - losses[0, m] - losses[group, m]))
    for i in range(len(mixed)):
        mixed[i] = told[0, i]
    for e in range(1, len(told)):
        weight = 0.0
        for m in range(len(parts)):
            if parts[m, e] > 0 and usable(told, parts[m]):
                own = least - losses[0, m] - losses[group, m]
                weight += math.exp(candidates.rate * own) * parts[m, e] / candidates.whole
        if weight > 0:
            for i in range(len(mixed)):
                mixed[i] += weight / total * (told[e, i] - told[0, i])
        if e == FOREST:
            share = weight / total
    return share


class Mixing(NamedTuple):
    """Answers, what experts say of them, and what candidates lost.

    told : float32[E, n, L], logarithms of quantiles; the forest's are nan where there is none yet
    levels : float64[L]; actual : float64[n], logarithms of what came true
    group : int64[n], 1 or more; asked, known : int64[n]; turn : int64[n], answers by `asked`
    order : int64[m], answers of which that is known in the end, by `known`
    losses : float64[groups, candidates], of all answers in row 0
    """

    told: Array
    levels: Array
    actual: Array
    group: Array
    asked: Array
    known: Array
    turn: Array
    order: Array
    losses: Array


@entry
def mix(mixing, candidates, mixed, shares):
    """Write mixed quantiles, float32[n, L], and the forest's weights in them, float32[n], each by
    what was known when it was asked."""
    told, done = mixing.told, 0
    for k in mixing.turn:
        while done < len(mixing.order):
            j = mixing.order[done]
            # In one second submissions come before starts and ends, as in the book.
            if mixing.known[j] >= mixing.asked[k]:
                break
            if not math.isnan(told[FOREST, j, 0]):
                learn(
                    mixing.losses, candidates, mixing.group[j], told[:, j], mixing.actual[j],
                    mixing.levels,
                )  # fmt: skip
            done += 1
        shares[k] = mixture(mixing.losses, candidates, mixing.group[k], told[:, k], mixed[k])
