"""Each node's own rate, pooled with those of the others as far as they are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import (
    ahead_of,
    histories,
    node_seconds,
    probability,
    service,
)
from forestall.prediction.models.learner import ExactLearner, State
from forestall.reliability.nodes.nodes import negative_binomial

SHAPES = (0.05, 1e4)
"""Least and greatest shape of the law of rates that is believed."""
UNSEEN = 1e18
"""Seconds for a failure where nothing was ever observed: next to never."""


class Rate(ExactLearner):
    """Each node's rate by empirical Bayes: how often it failed, against the law of all rates.

    A node's rate is drawn from a gamma law, worth a failures in b seconds, which is the likeliest
    one for the counts of the past (negative binomial). At time t a node with n failures in E
    seconds in service fails within h with probability 1 - ((b + E) / (b + E + h)) ** (a + n): the
    rate is integrated out. What has been seen since training counts as well.

    Parameters
    ----------
    horizons : seconds ahead that it answers for, ascending

    Source: Robbins, "An empirical Bayes approach to statistics", Third Berkeley Symposium, 1956; in
    the gamma-Poisson form as in `forestall.reliability.nodes.nodes`.
    """

    name: ClassVar[str] = "rate"
    prior_failures: float = 1.0
    prior_seconds: float = UNSEEN

    def learn(self, past: Observations) -> None:
        """Learn the law of the rates."""
        self.prior_failures, self.prior_seconds = law_of_rates(past)

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        past = histories(seen, times)
        failures = np.asarray(self.prior_failures + past.count(), dtype=np.float64)
        known = np.asarray(self.prior_seconds + past.exposure(), dtype=np.float64)
        growth = ahead_of(horizons) / known[..., None]
        return probability(failures[..., None] * np.log1p(growth))

    def learnt(self) -> State:
        """Return the law of the rates."""
        return {"prior_failures": self.prior_failures, "prior_seconds": self.prior_seconds}, {}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held = Held(values)
        self.prior_failures = held.number("prior_failures", 0, above=True)
        self.prior_seconds = held.number("prior_seconds", 0, above=True)


def law_of_rates(past: Observations) -> tuple[float, float]:
    """Return the gamma law of the nodes' rates as failures in so many seconds.

    Where nothing has failed it is worth half a failure in all that was observed; where nothing was
    observed, no failure is expected.
    """
    begin, stop = service(past)
    seconds = np.maximum(np.minimum(stop, past.end) - begin, 0).astype(np.float64)
    count = np.bincount(past.failures.node, minlength=past.nodes)
    watched = seconds > 0
    if not watched.any():
        return 1.0, UNSEEN
    if not count[watched].any():
        return 0.5, node_seconds(past)
    fleet = negative_binomial(count[watched], seconds[watched])
    shape = float(np.clip(fleet.shape, *SHAPES))
    return shape, shape / fleet.rate
