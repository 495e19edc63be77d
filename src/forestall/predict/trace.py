"""The trace predictor: knows the failure log, and tells of each failure only what accuracy
allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forestall.model.errors import ParameterError
from forestall.model.failures import Failures

if TYPE_CHECKING:
    from forestall.predict.base import Floats, Nodes


class TracePredictor:
    """Prediction of a chosen accuracy, made from the log of what will happen.

    Each failure carries a detectability in (0, 1). Asked for a window, the predictor takes the
    failures of those nodes within it whose detectability is at most `accuracy`, in order of (time,
    node); the first one's detectability is the answer, 0 where there is none. So no answer exceeds
    the accuracy, there are no false positives, and the false-negative rate is 1 - accuracy.

    Source: Oliner et al., "Probabilistic QoS guarantees for supercomputing systems", DSN 2005, 4.3.

    Parameters
    ----------
    accuracy : a in [0, 1]

    Examples
    --------
    >>> from forestall.model.failures import Failures
    >>> predictor = TracePredictor(accuracy=0.7)
    >>> predictor.fit(Failures.build([100, 200], [0, 1], detectability=[0.3, 0.9]))
    >>> predictor.partition_failure_probability(np.array([0, 1]), 0, 1000)
    0.3
    >>> predictor.failure_probability(np.array([0, 1]), 0, 1000)
    array([0.3, 0. ])
    """

    def __init__(self, accuracy: float = 0.7) -> None:
        if not (math.isfinite(accuracy) and 0 <= accuracy <= 1):
            raise ParameterError("accuracy", accuracy, "a number from 0 to 1")
        self.accuracy = float(accuracy)
        self.failures = Failures.none()
        self._now = -(2**60)
        self._period = 0

    def fit(self, history: Failures) -> None:
        """Take the log that will be replayed; failures that accuracy hides are forgotten at
        once."""
        self.failures = history.take(history.detectability <= self.accuracy)

    def repeat(self, period: int) -> None:
        """Repeat the log for ever, shifted by `period` seconds each time (0: do not)."""
        self._period = period

    def update(self, time: int, node: int) -> None:
        """Move the latest known moment to `time`; the log already holds the failure itself."""
        self._now = max(self._now, time)

    def _within(self, start: int, end: int) -> tuple[Nodes, Floats]:
        """Return nodes and detectabilities of the failures in [start, end), in order."""
        times = self.failures.time
        if self._period == 0 or len(times) == 0:
            part = slice(*np.searchsorted(times, [start, end]))
            return self.failures.node[part], self.failures.detectability[part]
        first = max(0, (start - int(times[0])) // self._period)
        last = max(first, (end - int(times[0])) // self._period)
        parts = [
            slice(*np.searchsorted(times, [start - k * self._period, end - k * self._period]))
            for k in range(first, last + 1)
        ]
        return (
            np.concatenate([self.failures.node[p] for p in parts]),
            np.concatenate([self.failures.detectability[p] for p in parts]),
        )

    def failure_probability(self, nodes: Nodes, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: detectability of each node's first predicted failure, or
        0."""
        hit, probability = self._within(start, end)
        answer = np.zeros(len(nodes))
        place = {int(n): i for i, n in enumerate(nodes)}
        for node, value in zip(hit[::-1].tolist(), probability[::-1].tolist(), strict=True):
            if node in place:
                answer[place[node]] = value
        return answer

    def partition_failure_probability(self, nodes: Nodes, start: int, end: int) -> float:
        """Return the detectability of the first predicted failure on any of the nodes, or 0."""
        hit, probability = self._within(start, end)
        mine = np.flatnonzero(np.isin(hit, nodes))
        return float(probability[mine[0]]) if len(mine) else 0.0

    def time_to_failure(self, nodes: Nodes) -> Floats:
        """Return float64[len(nodes)]: seconds from now to each node's next predicted failure, or
        inf."""
        answer = np.full(len(nodes), np.inf)
        for place, node in enumerate(np.asarray(nodes).tolist()):
            times = self.failures.time[self.failures.node == node]
            if len(times) == 0:
                continue
            base, wait = int(times[0]), self._now
            copies = max(0, (wait - base) // self._period) if self._period else 0
            for copy in (copies, copies + 1) if self._period else (0,):
                later = times[times + copy * self._period >= wait]
                if len(later):
                    answer[place] = float(later[0] + copy * self._period - wait)
                    break
        return answer

    def next_predicted_failure(self, time: int) -> int | None:
        """Return the time of the earliest predicted failure at or after `time`, or None."""
        times = self.failures.time
        if len(times) == 0:
            return None
        copy = max(0, (time - int(times[0])) // self._period) if self._period else 0
        place = int(np.searchsorted(times, time - copy * self._period))
        if place == len(times):
            return int(times[0]) + (copy + 1) * self._period if self._period else None
        return int(times[place]) + copy * self._period
