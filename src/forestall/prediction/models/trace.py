"""The trace predictor: knows the failure log, and tells of each failure only what accuracy
allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures

if TYPE_CHECKING:
    from forestall.core.model.arrays import Floats, Ints


class TracePredictor:
    """Predictions of a chosen accuracy, made from the log of future failures.

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
    >>> from forestall.core.model.failures import Failures
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

    def advance(self, time: int) -> None:
        """Take note that it is `time` now."""
        self._now = max(self._now, time)

    def update(self, time: int, node: int) -> None:
        """Move the latest known moment to `time`; the log already holds the failure itself."""
        self.advance(time)

    def _within(self, start: int, end: int) -> tuple[Ints, Ints]:
        """Return which failures lie in [start, end), in order, and when each is: a failure of a
        repeated log comes again in each copy."""
        times = self.failures.time
        copies = [0]
        if self._period > 0 and len(times):
            first = max(0, (start - int(times[0])) // self._period)
            copies = list(range(first, max(first, (end - int(times[0])) // self._period) + 1))
        shifts = [copy * self._period for copy in copies]
        parts = [np.arange(*np.searchsorted(times, [start - s, end - s])) for s in shifts]
        shifted = [times[part] + s for part, s in zip(parts, shifts, strict=True)]
        return np.concatenate(parts), np.concatenate(shifted)

    def _disrupting(self, start: int, end: int) -> tuple[Ints, Ints]:
        """Return which failures from now on disrupt a job in [start, end), in order, and when each
        is."""
        downtime = self.failures.downtime
        which, time = self._within(max(self._now, start - self._longest + 1), end)
        met = time + downtime[which] > start
        return which[met], time[met]

    @property
    def _longest(self) -> int:
        """The longest outage, s."""
        return int(self.failures.downtime.max(initial=0))

    def _first_of_each(self, nodes: Ints, which: Ints) -> Floats:
        answer = np.zeros(len(nodes))
        place = {int(n): i for i, n in enumerate(nodes)}
        hit, probability = self.failures.node[which], self.failures.detectability[which]
        for node, value in zip(hit[::-1].tolist(), probability[::-1].tolist(), strict=True):
            if node in place:
                answer[place[node]] = value
        return answer

    def _first_of_all(self, nodes: Ints, which: Ints) -> float:
        mine = which[np.isin(self.failures.node[which], nodes)]
        return float(self.failures.detectability[mine[0]]) if len(mine) else 0.0

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: detectability of each node's first predicted failure, or
        0."""
        return self._first_of_each(nodes, self._within(start, end)[0])

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the detectability of the first predicted failure on any of the nodes, or 0."""
        return self._first_of_all(nodes, self._within(start, end)[0])

    def disruption_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: detectability of each node's first predicted failure that
        disrupts a job in [start, end), or 0; see `prediction.models.base.KnowsOutages`."""
        return self._first_of_each(nodes, self._disrupting(start, end)[0])

    def partition_disruption_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the detectability of the first predicted failure on any of the nodes that disrupts
        a job in [start, end), or 0."""
        return self._first_of_all(nodes, self._disrupting(start, end)[0])

    def first_disruption(self, node: int, start: int, end: int) -> int | None:
        """Return when the first predicted failure of a node is that disrupts a job in
        [start, end)."""
        which, time = self._disrupting(start, end)
        mine = time[self.failures.node[which] == node]
        return int(mine[0]) if len(mine) else None

    def next_predicted_recovery(self, time: int) -> int | None:
        """Return the earliest end at or after `time` of an outage predicted from now on."""
        # A whole period has a failure, and nothing that begins after that one's end ends before it.
        last = max(time, self._now) + self._period + self._longest if self._period else 2**60
        which, begin = self._within(max(self._now, time - self._longest), last + 1)
        back = begin + self.failures.downtime[which]
        back = back[back >= time]
        return int(back.min()) if len(back) else None

    def time_to_failure(self, nodes: Ints) -> Floats:
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
