"""A predictor in Python beside planned outages: what `scheduling.rules.planned_risk_kernels` is for
compiled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forestall.prediction.models.base import KnowsOutages
from forestall.scheduling.engine.plugin import OneDowntime

if TYPE_CHECKING:
    from forestall.core.model.arrays import Bools, Floats, Ints
    from forestall.core.model.failures import Failures, PlannedOutages
    from forestall.prediction.models.base import Predictor


class WithPlanned:
    """A predictor that also knows of planned outages, which come with probability 1.

    Satisfies `Predictor` and `KnowsOutages`.

    Parameters
    ----------
    predictor : what answers for all else, and learns nothing from planned outages
    outages : those that are planned
    downtime : s that a failure lasts of which the predictor does not know how long
    """

    def __init__(self, predictor: Predictor, outages: PlannedOutages, downtime: int) -> None:
        self._predictor, self._outages, self._downtime = predictor, outages, downtime
        self._now = -(2**60)

    def _about(self) -> KnowsOutages | OneDowntime:
        if isinstance(self._predictor, KnowsOutages):
            return self._predictor
        return OneDowntime(self._predictor, self._downtime, self._now)

    def _met(self, start: int, end: int) -> Bools:
        """Return which outages, from now on, a job in [start, end) meets."""
        one = self._outages
        return (one.time >= self._now) & (one.time < end) & (one.until > start)

    def fit(self, history: Failures) -> None:
        """Let the predictor learn from a failure log."""
        self._predictor.fit(history)

    def advance(self, time: int) -> None:
        """Take note that it is `time` now."""
        self._now = max(self._now, time)
        advance = getattr(self._predictor, "advance", None)
        if advance is not None:
            advance(time)

    def update(self, time: int, node: int) -> None:
        """Take note that a node failed, unless that was planned."""
        one = self._outages
        if not bool(np.any((one.time == time) & (one.node == node))):
            self._predictor.update(time, node)

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails within the window."""
        one = self._outages
        sure = one.node[(one.time >= start) & (one.time < end)]
        risks = self._predictor.failure_probability(nodes, start, end)
        return np.where(np.isin(nodes, sure), 1.0, risks)

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the probability that any of the nodes fails within the window."""
        one = self._outages
        sure = one.node[(one.time >= start) & (one.time < end)]
        if bool(np.isin(sure, nodes).any()):
            return 1.0
        return self._predictor.partition_failure_probability(nodes, start, end)

    def time_to_failure(self, nodes: Ints) -> Floats:
        """Return float64[len(nodes)]: seconds until each node's next failure, planned or not."""
        waits = np.array(self._predictor.time_to_failure(nodes), dtype=np.float64)
        one = self._outages
        for place, node in enumerate(np.asarray(nodes).tolist()):
            later = one.time[(one.node == node) & (one.time >= self._now)]
            if len(later):
                waits[place] = min(waits[place], float(later[0] - self._now))
        return waits

    def disruption_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """See `KnowsOutages`."""
        risks = self._about().disruption_probability(nodes, start, end)
        return np.where(np.isin(nodes, self._outages.node[self._met(start, end)]), 1.0, risks)

    def partition_disruption_probability(self, nodes: Ints, start: int, end: int) -> float:
        """See `KnowsOutages`."""
        if bool(np.isin(self._outages.node[self._met(start, end)], nodes).any()):
            return 1.0
        return float(self._about().partition_disruption_probability(nodes, start, end))

    def first_disruption(self, node: int, start: int, end: int) -> int | None:
        """See `KnowsOutages`."""
        one = self._outages
        times = one.time[self._met(start, end) & (one.node == node)].tolist()[:1]
        if isinstance(self._predictor, KnowsOutages):
            other = self._predictor.first_disruption(node, start, end)
            times += [] if other is None else [other]
        return min(times, default=None)

    def next_predicted_recovery(self, time: int) -> int | None:
        """See `KnowsOutages`."""
        one = self._outages
        ends = one.until[(one.time >= self._now) & (one.until >= time)].tolist()
        other = self._about().next_predicted_recovery(time)
        return min([*ends, *([] if other is None else [other])], default=None)
