"""The hazard predictor as one that learns: gamma-frailty Weibull gaps, for many moments at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import (
    NodeHistories,
    histories,
    node_seconds,
    previous,
    probability,
    ranks,
)
from forestall.prediction.models.hazard.fit import GapLaw, most_likely, seen_in
from forestall.prediction.models.hazard.hazard_kernels import DAY
from forestall.prediction.models.learner import ExactLearner, State

LONGEST = 1e7
"""The longest mean gap that is told apart from one without end, days."""


class Renewal(ExactLearner):
    """Weibull gaps between a node's failures, its rate pooled over all nodes.

    The law of `forestall.prediction.models.hazard.hazard.HazardPredictor`, with the same answers
    for the same past: node i fails at the cumulative hazard r_i x ** k, x in days since its last
    failure, the rates r_i from a gamma law with shape a and rate b; all three are those of greatest
    marginal likelihood. A node with a + n failures in the exposure b + E fails within h of age x
    with probability 1 - (1 + ((x + h) ** k - x ** k) / (b + E + x ** k)) ** -(a + n).
    `docs/models/prediction.md` has the rest.

    Parameters
    ----------
    horizons : seconds ahead that it answers for, ascending

    With fewer than two failures there is nothing to tell the shape from: gaps are exponential then.
    """

    name: ClassVar[str] = "renewal"
    law = GapLaw(1.0, 1.0, LONGEST)

    def learn(self, past: Observations) -> None:
        """Learn shape and law of the rates."""
        if len(past.failures) >= 2:
            self.law = most_likely(seen_in(past.failures, past.nodes, (past.begin, past.end)))
        else:
            failures = len(past.failures) + 0.5
            days = node_seconds(past) / DAY
            self.law = GapLaw(1.0, failures, days if days > 0 else LONGEST)

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        past, law = histories(seen, times), self.law
        failures, exposure, age = _known(law, past, seen)
        until_now = age**law.shape
        before = exposure + until_now
        hazard = np.empty((*age.shape, len(horizons)))
        for k, ahead in enumerate(horizons):
            growth = (age + ahead / DAY) ** law.shape - until_now
            hazard[..., k] = failures * np.log1p(np.maximum(growth, 0.0) / before)
        return probability(np.maximum.accumulate(hazard, axis=-1, out=hazard))

    def learnt(self) -> State:
        """Return the law."""
        law = self.law
        return {
            "shape": law.shape,
            "prior_failures": law.prior_failures,
            "prior_exposure": law.prior_exposure,
        }, {}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.law = GapLaw.held(Held(values))


def _known(law: GapLaw, past: NodeHistories, seen: Observations) -> tuple[Floats, Floats, Floats]:
    """Return float64[T, N] three times: the failures and the exposure (days ** shape, without the
    gap under way) that each node's rate is known by, and its age, days."""
    log, k = past.log, law.shape
    begin, new = _observed(seen)
    counted, exposed = _after_each(law, log, seen.begin, begin, new)
    failures = past.of_last(law.prior_failures + counted, law.prior_failures)
    exposure = past.of_last(law.prior_exposure + exposed, law.prior_exposure)
    since = past.of_last(log.time, 0)
    last = np.where(past.last >= 0, since, begin)
    age = np.maximum(past.times[:, None] - last, 0) / DAY
    quiet = (past.last < 0) & ~(new & (begin < past.times[:, None]))
    if quiet.any():
        starts, which = np.unique(begin, return_inverse=True)
        watched = np.maximum(past.times[:, None] - starts, 0) / DAY
        gap = max(1, round(min(law.mean_gap, LONGEST) * DAY)) / DAY
        lasting = watched + gap
        hazard = quiet_hazards(law, watched)
        then = law.prior_failures * k * lasting ** (k - 1) / hazard - lasting**k
        moments, nodes = np.nonzero(quiet)
        exposure[moments, nodes] = then[moments, which[nodes]]
        age[moments, nodes] = lasting[moments, which[nodes]]
    return np.asarray(failures), np.asarray(exposure), age


def _observed(seen: Observations) -> tuple[Ints, Bools]:
    """Return from when each node is observed, s, and whether it was new then."""
    log = seen.failures
    begin = np.full(seen.nodes, seen.begin, dtype=np.int64)
    new = np.zeros(seen.nodes, dtype=np.bool_)
    if log.service_start is not None and log.service_end is not None:
        known = len(log.service_start)
        begin[:known] = np.maximum(log.service_start, seen.begin)
        if log.service_new is not None:
            new[:known] = log.service_new & (log.service_start >= seen.begin)
    return begin, new


def _after_each(
    law: GapLaw, log: Failures, start: int, begin: Ints, new: Bools
) -> tuple[Floats, Floats]:
    """Return float64[n] twice: the failures and the exposure that a node's rate is known by after
    each failure, without the law's own.

    The first failure of a node that was under way counts 1 / shape. A node that fails before it is
    in service was observed all along.
    """
    k, before, rank = law.shape, previous(log), ranks(log)
    first = before < 0
    early = first & (log.time < begin[log.node])
    since = np.where(first, np.where(early, start, begin[log.node]), log.time[before])
    whole = new[log.node] & ~_of_first(early, log)
    counts = rank + np.where(whole, 1.0, 1 / k)
    counted = np.asarray(counts, dtype=np.float64)
    return counted, summed(((log.time - since) / DAY) ** k, log)


def _of_first(flags: Bools, log: Failures) -> Bools:
    """Return bool[n]: the flag of the first failure of each failure's node."""
    nodes = np.zeros(int(log.node.max(initial=-1)) + 1, dtype=np.bool_)
    nodes[log.node[flags]] = True
    return nodes[log.node]


def summed(values: Floats, log: Failures) -> Floats:
    """Return float64[n]: the sum of the values of each failure's node up to that failure.

    Each node's are added one by one in order, so that what comes later, or happens to other nodes,
    does not change a bit of it.
    """
    order = np.argsort(log.node, kind="stable")
    total = np.empty(len(values))
    ends = np.flatnonzero(np.diff(log.node[order], append=-1)) + 1
    first = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    if len(ends) <= int((ends - first).max(initial=0)):
        for low, high in zip(first.tolist(), ends.tolist(), strict=True):
            total[order[low:high]] = np.cumsum(values[order[low:high]])
        return total
    sofar, place = np.zeros(len(ends)), first.copy()
    left = np.arange(len(ends))
    while len(left):
        now = order[place[left]]
        sofar[left] += values[now]
        total[now] = sofar[left]
        place[left] += 1
        left = left[place[left] < ends[left]]
    return total


def quiet_hazards(law: GapLaw, days: Floats) -> Floats:
    """Return the hazard, per day, of nodes in equilibrium that have not failed in so many days.

    `forestall.prediction.models.hazard.fit.quiet_hazard` of many.
    """
    k, a, b = law.shape, law.prior_failures, law.prior_exposure
    exposure = days**k
    density = gammaln(a + 1 / k) - gammaln(a) - gammaln(1 + 1 / k) + a * np.log(b)
    lasting = np.maximum(betainc(a, 1 / k, b / (b + exposure)), 1e-300)
    answer: Floats = np.exp(density - (a + 1 / k) * np.log(b + exposure) - np.log(lasting))
    return answer
