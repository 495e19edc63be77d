"""Nodes by decision moments: what a predictor said, what came of it, and how sure that is.

Decisions of one week share their weather: failures come in bursts, and a node that is bad on Monday
is bad on Tuesday. Intervals therefore come from drawing whole weeks anew (block bootstrap), the
same weeks for all predictors, so that differences between them have intervals as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr, stdtrit

from forestall.core.model.arrays import Bools, Floats, Ints

WEEK: Final = 7 * 86_400
NEVER: Final = np.iinfo(np.int64).max
FEWEST_BLOCKS: Final = 4
"""Of fewer weeks no interval is told: how they differ cannot be known."""
BINS: Final = 2048
"""Scores are put into so many bins of like counts for intervals of areas (not for the areas)."""


def time_to_next(time: Ints, node: Ints, nodes: int, moments: Ints) -> Ints:
    """Return int64[len(moments), nodes]: seconds from each moment to the node's next failure at or
    after it, `NEVER` where none comes.

    Parameters
    ----------
    time, node : int64[n], the failures in order of time
    moments : int64[T], s, ascending
    """
    answer = np.full((len(moments), nodes), NEVER)
    order = np.lexsort((time, node))
    first = np.searchsorted(node[order], np.arange(nodes + 1))
    for one in np.flatnonzero(np.diff(first)).tolist():
        mine = time[order[first[one] : first[one + 1]]]
        place = np.searchsorted(mine, moments)
        there = place < len(mine)
        answer[there, one] = mine[place[there]] - moments[there]
    return answer


def in_service(
    start: Ints | None, end: Ints | None, moments: Ints, ahead: Ints, horizon: int
) -> Bools:
    """Return bool[len(moments), nodes]: whether each node is in service at the moment, and until
    the horizon or until it fails; everything where the times in service are not told.

    A node that leaves service because it fails counts: else its failure would not.
    """
    counts: Bools = np.ones(ahead.shape, dtype=np.bool_)
    if start is None or end is None:
        return counts
    known = min(len(start), ahead.shape[1])
    since, until = start[None, :known], end[None, :known]
    at = moments[:, None]
    soon = np.minimum(ahead[:, :known], horizon)
    ends = np.minimum(soon + 1, horizon)  # a failing node need not last any longer
    counts[:, :known] = (at >= since) & (at + ends <= until)
    return counts


@dataclass(frozen=True)
class Decisions:
    """Decisions about nodes at moments, for one horizon; those that do not count are left out.

    Attributes
    ----------
    failed : bool[n], whether the node fails within the horizon
    block : int64[n], which of `blocks` weeks each lies in
    blocks : number of weeks
    """

    failed: Bools
    block: Ints
    blocks: int

    @classmethod
    def of(cls, ahead: Ints, counts: Bools, moments: Ints, horizon: int) -> Decisions:
        """Return the decisions of a grid; see `time_to_next` and `in_service`."""
        week = (moments - moments[0]) // WEEK
        block = np.broadcast_to(week[:, None], ahead.shape)[counts]
        return cls((ahead < horizon)[counts], block, int(week[-1]) + 1)


@dataclass(frozen=True)
class RedrawnEstimate:
    """A number with an interval, and the values of the redrawn samples of `blocks` weeks behind
    it."""

    value: float
    low: float
    high: float
    draws: Floats
    blocks: int

    def over(self, other: RedrawnEstimate, level: float = 0.9) -> RedrawnEstimate:
        """Return by how much this exceeds another, from the same redrawn weeks."""
        return estimate(self.value - other.value, self.draws - other.draws, level, self.blocks)


def estimate(value: float, draws: Floats, level: float, blocks: int) -> RedrawnEstimate:
    """Return a number with the percentiles of its redrawn values, where any could be had.

    Percentiles of few blocks lie too close together: they are taken further out, as Student's t
    lies further out than the normal law (the expanded percentile interval of Hesterberg, "What
    teachers should know about the bootstrap", 2015, Section 5.3).
    """
    good = draws[np.isfinite(draws)]
    if blocks < FEWEST_BLOCKS or len(good) < max(2, len(draws) // 2) or not np.isfinite(value):
        return RedrawnEstimate(value, np.nan, np.nan, draws, blocks)
    far = stdtrit(blocks - 1, (1 + level) / 2) * math.sqrt(blocks / (blocks - 1))
    tail = float(ndtr(-far))
    low, high = np.quantile(good, [tail, 1 - tail])
    return RedrawnEstimate(value, float(low), float(high), draws, blocks)


def week_weights(blocks: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return float64[draws, blocks]: how often each week is drawn."""
    return rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=draws).astype(np.float64)


def area(
    scores: Floats, made: Decisions, exact: float, weights: Floats, level: float
) -> RedrawnEstimate:
    """Return the area under the ROC, `exact` as computed from all scores, with an interval.

    Parameters
    ----------
    scores : float64[n], one for each decision
    weights : float64[draws, blocks]; see `week_weights`
    """
    if not np.isfinite(exact):
        return estimate(exact, np.full(len(weights), np.nan), level, made.blocks)
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, BINS + 1)[1:-1]))
    code = np.searchsorted(edges, scores, side="right")
    count = len(edges) + 1
    table = np.bincount((made.block * count + code) * 2 + made.failed, minlength=0)
    full = np.zeros(made.blocks * count * 2)
    full[: len(table)] = table
    drawn = (weights @ full.reshape(made.blocks, -1)).reshape(len(weights), count, 2)
    below = np.cumsum(drawn[:, :, 0], axis=1) - drawn[:, :, 0] / 2
    pairs = drawn[:, :, 0].sum(axis=1) * drawn[:, :, 1].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        areas = (below * drawn[:, :, 1]).sum(axis=1) / pairs
    shifted = areas + (exact - _plain(full.reshape(made.blocks, count, 2).sum(axis=0)))
    return estimate(exact, shifted, level, made.blocks)


def _plain(table: Floats) -> float:
    """Return the area of binned scores, float64[bins, 2], so that bins cost no bias."""
    below = np.cumsum(table[:, 0]) - table[:, 0] / 2
    return float((below * table[:, 1]).sum() / (table[:, 0].sum() * table[:, 1].sum()))


def skill(
    scores: Floats, reference: Floats, made: Decisions, weights: Floats, level: float
) -> RedrawnEstimate:
    """Return the Brier skill 1 - B / B_reference of probabilities, with an interval."""
    own = _by_week((scores - made.failed) ** 2, made)
    other = _by_week((reference - made.failed) ** 2, made)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = 1 - (weights @ own) / (weights @ other)
        value = 1 - own.sum() / other.sum()
    return estimate(float(value), draws, level, weights.shape[1])


def _by_week(values: Floats, made: Decisions) -> Floats:
    return np.bincount(made.block, weights=values, minlength=made.blocks).astype(np.float64)


def share(hit: Floats, block: Ints, weights: Floats, level: float) -> RedrawnEstimate:
    """Return the share of events that were hit (float64[n] in [0, 1]), with an interval; each lies
    in a week."""
    blocks = weights.shape[1]
    hits = np.bincount(block, weights=hit, minlength=blocks)
    all_ = np.bincount(block, minlength=blocks).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (weights @ hits) / (weights @ all_)
        value = hits.sum() / all_.sum() if len(hit) else np.nan
    return estimate(float(value), draws, level, weights.shape[1])


def alarm_threshold(scores: Floats, part: float) -> float:
    """Return the least threshold that at most a share `part` of the scores lies above."""
    if len(scores) == 0:
        return np.inf
    place = min(len(scores) - 1, int(np.ceil((1 - part) * len(scores))))
    return float(np.partition(scores, place)[place])


def hits_at(scores: Floats, failed_scores: Floats, part: float) -> Floats:
    """Return float64[len(failed_scores)] in [0, 1]: whether each failure's decision is among the
    share `part` of all decisions with the highest scores; of ties at the edge, as large a part as
    just fills the share (as if drawn by lot), so that a constant score recalls just `part`."""
    edge = alarm_threshold(scores, part)
    above, ties = float(np.mean(scores > edge)), float(np.mean(scores == edge))
    lot = (part - above) / ties if ties > 0 else 0.0
    return np.where(failed_scores > edge, 1.0, np.where(failed_scores == edge, lot, 0.0))
