"""What is foretold of nodes that are up and down by turns, from a law and what was seen."""

from __future__ import annotations

import math

import numpy as np

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import FOREVER, NodeHistories, histories
from forestall.prediction.models.semi_markov.updown import (
    EDGES,
    Known,
    UpDownLaw,
    gaps,
    known_of_nodes,
    level,
    recoveries,
)


def _last(past: NodeHistories, values: Ints | Floats, none: float) -> Floats:
    """Return float64[T, nodes]: a value of each node's last failure, `none` where it had none."""
    return np.asarray(past.of_last(values, none), dtype=np.float64)


def foretold(
    law: UpDownLaw, seen: Observations, times: Ints, horizons: tuple[int, ...], *, downtimes: bool
) -> Floats:
    """Return float64[T, nodes, H]: the probability of a failure within each horizon of each of the
    ascending `times`, from what was seen strictly before it."""
    log, origin = seen.failures, seen.failures.origin
    past = histories(seen, times)
    failed = past.failed()
    found = gaps(seen, law.clock, downtimes=downtimes)
    expected = law.expected(found)
    back = recoveries(log, downtimes=downtimes)
    now = law.clock.warped(times, origin)[:, None]
    since = np.where(
        failed,
        _last(past, law.clock.warped(back, origin), 0.0),
        law.clock.warped(past.begin, origin),
    )
    age = np.maximum(now - since, 0.0)
    spent = np.where(failed, law.up(age), law.fresh * age)
    gone = times[:, None] - _last(past, log.time, 0)
    kept = np.where(failed, np.exp2(-np.maximum(gone, 0) / law.half_life), 0.0)
    all_of, late = (known_of_nodes(found, expected, log, h) for h in (FOREVER, law.half_life))
    known = Known(
        _last(past, all_of[0], 0.0),
        _last(past, all_of[1], 0.0) + spent,
        kept * _last(past, late[0], 0.0),
        kept * _last(past, late[1], 0.0) + spent,
    )
    height = level(seen, times, law.rate, law.level_half_life)[:, None]
    usual = known.usual(law.shape) * height
    count, whole = known.frailty(usual, law.alpha)
    answer = np.empty((*age.shape, len(horizons)))
    for k, ahead in enumerate(horizons):
        later = age + (law.clock.warped(times + ahead, origin)[:, None] - now)
        more = np.where(failed, law.up(later), law.fresh * later) - spent
        back_to = _share_left(ahead / law.half_life)
        settled = back_to * count + (1 - back_to) * usual * whole
        answer[..., k] = -np.expm1(-settled * np.log1p(np.maximum(more, 0.0) / whole))
    if downtimes:
        _while_down(law, past, back, count / whole, answer, horizons)
    return np.maximum.accumulate(answer, axis=-1)


def _share_left(lives: float) -> float:
    """Return how much of what was seen of late is left in the mean over so many half-lives: a
    node's frailty returns to its usual one as fast as it is forgotten."""
    return -math.expm1(-lives * math.log(2)) / (lives * math.log(2))


def _while_down(
    law: UpDownLaw,
    past: NodeHistories,
    back: Ints,
    rate: Floats,
    answer: Floats,
    horizons: tuple[int, ...],
) -> None:
    """Replace the answers for nodes that are down: they must be back before they can fail."""
    down = past.failed() & (_last(past, back, 0) >= past.times[:, None])
    time, node = np.nonzero(down)
    if len(time) == 0:
        return
    since = past.times[time] - _last(past, past.log.time, 0)[time, node]
    for k, ahead in enumerate(horizons):
        one = np.minimum(np.interp(since, EDGES, _down_table(law, float(ahead))), 1 - 1e-12)
        answer[time, node, k] = -np.expm1(rate[time, node] * np.log1p(-one))


def _down_table(law: UpDownLaw, ahead: float, pieces: int = 64) -> Floats:
    """Return float64[edges]: for a mean node that is down for so long, the probability that it is
    back and fails again within `ahead` seconds."""
    steps = np.concatenate(([0.0], np.geomspace(min(30.0, ahead / 2), ahead, pieces)))
    left = np.exp(-(law.down(EDGES[:, None] + steps) - law.down(EDGES)[:, None]))
    middle = (steps[1:] + steps[:-1]) / 2
    fails = -np.expm1(-law.up(ahead - middle))
    made: Floats = ((left[:, :-1] - left[:, 1:]) * fails).sum(axis=1)
    return made


def usual_frailty(law: UpDownLaw, seen: Observations, times: Ints, *, downtimes: bool) -> Floats:
    """Return float64[T, nodes]: how much more often than a mean node each one fails, by all that
    was seen of it strictly before each of the ascending `times`."""
    past = histories(seen, times)
    found = gaps(seen, law.clock, downtimes=downtimes)
    count, whole = known_of_nodes(found, law.expected(found), seen.failures, FOREVER)
    failed = past.failed()
    since = _last(past, recoveries(seen.failures, downtimes=downtimes), 0)
    until = law.clock.warped(times, seen.origin)[:, None]
    age = np.maximum(until - law.clock.warped(np.where(failed, since, past.begin), seen.origin), 0)
    spent = np.where(failed, law.up(age), law.fresh * age)
    return (law.shape + _last(past, count, 0.0)) / (law.shape + _last(past, whole, 0.0) + spent)
