"""Promises of jobs with spares: the probability that a lost node is made good is part of them.

A loss is a node of the job that is down at its start, or fails while it runs. It is made good if
the job, placed again, still ends by its deadline unless it loses another. How likely that is, q, is
learned from the losses of the run so far, by a logistic regression on the job's length, since a
spare must be free for all that is left of it, and on whether it needs all nodes but the spares,
since other jobs may also get a node that is no spare. It is brought up to date with each loss
(Spiegelhalter and Lauritzen, Networks 20, 1990, Section 5.4). It begins at what a pool of S spares
says (Hacker and Meglicki, HPDC 2007, Section 7): that fewer than S of all nodes are down, their
number being Poisson.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import kernel
from forestall.prediction.models.foreseen_kernels import Foreseen
from forestall.prediction.models.hazard.hazard_kernels import Hazard
from forestall.prediction.models.table_kernels import HazardTable
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.search_state import CHOSEN

AT_START, IN_RUN, PAST_ROOM = map(np.int64, range(3))
"""Kinds of losses: a node down at the start, one that fails in the run, and one of either after as
many as there is time for."""
MOST_PAST = 12
"""Losses past the room that a promise looks at, at most."""
TERMS: Final = 4
"""What q depends on: a constant, the logarithm of the run time, whether the job needs fewer than
all nodes but the spares, and the product of these two."""
FARTHEST: Final = 2.5
"""Run times are taken as at most 4 ** this times as long, or short, as an hour."""
FIRST_PART: Final = 1.0
"""What the third term adds before any loss."""
FIRST_SPREAD: Final = (1.5, 1.0, 1.0, 1.0)
"""How sure the terms' weights are before any loss: standard deviations."""
LEAST_POOL: Final = 0.01
"""What a pool says is taken as at least this, and at most 1 less this."""
NEGLIGIBLE: Final = 1e-12


def new_losses() -> npt.NDArray[np.float64]:
    """Return the weights of the terms before it is known what the pool says, float64[3, 2 + TERMS,
    TERMS]: by kind of losses their means, below these their covariances, and a row to work in; all
    0."""
    return np.zeros((3, 2 + TERMS, TERMS))


@kernel
def begin(losses, pool, failovers):
    """Let the weights be those before any loss, if they are not known yet. A loss past the room
    also needs that those within it took less: u / 2 each on average, so that K + 1 take at most K u
    with probability 1 - 1 / (K + 1)!, if what each takes is uniform."""
    if losses[AT_START, 1, 0] > 0:
        return
    factorial = 1.0
    for k in range(2, failovers + 2):
        factorial *= k
    for kind in range(len(losses)):
        chance = pool * (1.0 - 1.0 / factorial) if kind == PAST_ROOM else pool
        chance = min(max(chance, LEAST_POOL), 1.0 - LEAST_POOL)
        losses[kind, 0, 0] = math.log(chance / (1.0 - chance))
        losses[kind, 0, 2] = FIRST_PART
        for k in range(TERMS):
            losses[kind, 1 + k, k] = FIRST_SPREAD[k] ** 2


@kernel
def terms_of(runtime, in_part):
    """Return the terms of a job of this run time, s, `in_part` saying whether it needs fewer nodes
    than all but the spares."""
    length = math.log(max(runtime, 1) / 3600.0) / math.log(4.0)
    length = min(max(length, -FARTHEST), FARTHEST)
    part = 1.0 if in_part else 0.0
    return 1.0, length, part, length * part


@kernel
def pool_has_one(spares, mean):
    """Return the probability that fewer than `spares` nodes are down, Poisson of this mean."""
    if spares > mean + 12 * math.sqrt(mean) + 20:
        return 1.0
    term, total = math.exp(-mean), 0.0
    for k in range(spares):
        total += term
        term *= mean / (k + 1)
    return min(total, 1.0)


@kernel
def chance_made_good(losses, kind, terms):
    """Return q of a kind of losses for a job of these terms."""
    score = 0.0
    for k in range(TERMS):
        score += losses[kind, 0, k] * terms[k]
    return 1.0 / (1.0 + math.exp(-score))


@kernel
def note_loss(losses, kind, terms, good):
    """Learn from a loss of a job of these terms whether it was made good: one step of Newton's
    method, after which the weights' law is normal again."""
    chance, spread = chance_made_good(losses, kind, terms), 0.0
    along = losses[kind, 1 + TERMS]  # the covariances times the terms
    for i in range(TERMS):
        along[i] = 0.0
        for k in range(TERMS):
            along[i] += losses[kind, 1 + i, k] * terms[k]
        spread += along[i] * terms[i]
    told = chance * (1.0 - chance)
    surprise = ((1.0 if good else 0.0) - chance) / (1.0 + told * spread)
    for i in range(TERMS):
        losses[kind, 0, i] += along[i] * surprise
        for k in range(TERMS):
            losses[kind, 1 + i, k] -= along[i] * along[k] * told / (1.0 + told * spread)


@risks.success_with_spares.of(Foreseen, Hazard, HazardTable)
def success_with_spares(prediction, scratch, now):
    """Return the probability that all losses are made good (docs/models/spares-in-runs.md, "What a
    promise says")."""
    at, rows = scratch.search[0], scratch.rows
    late = risks.risk_of_set(prediction, rows[CHOSEN], now, at.start, at.start)
    failed, good = 0.0, 1.0
    for k in range(at.beyond + MOST_PAST + 1):
        # A failure takes half of its room on average.
        end = at.end - at.beyond * at.room + min(k, at.beyond) * at.room // 2
        risk = risks.risk_beyond(prediction, scratch, now, at.start, end, k)
        chance = at.in_run if k < at.beyond else at.past_room
        if k == at.beyond + MOST_PAST:
            chance = 0.0
        failed += good * risk * (1.0 - chance)
        good *= chance
        if risk < NEGLIGIBLE or good < NEGLIGIBLE:
            break
    return (1.0 - (1.0 - at.at_start) * late) * (1.0 - failed)
