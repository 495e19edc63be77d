"""A predictor that has learned, told of a live cluster as time goes on: nodes that go down, events,
metrics. What it says at a moment it says of what was heard before it.

The same object is asked in an assessment and in a run
(`forestall.prediction.models.learner.Learner`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.logs.observed import numbers_of
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.outliers.outliers import Outlier
from forestall.prediction.models.table_kernels import PARTS
from forestall.prediction.watching.foreseen import Maintenance, NodeForecast
from forestall.prediction.watching.metrics import MetricFiles
from forestall.slurm.cluster.nouns import ClusterView

PLANNED: Final = "maintenance"
"""Who foresees planned outages."""
_SOON: Final = 600


class EventSource(Protocol):
    """Whoever hears of events."""

    def new(self, now: int) -> RasLog | None:
        """Return the events since the last question; `now` is s since 1970."""


class MaintenanceForecasts:
    """Planned outages: failures with probability 1, from their begin to their end.

    windows : of times and nodes (none named: all)
    """

    def __init__(self, windows: Iterable[Maintenance]) -> None:
        self._windows = sorted(windows, key=lambda one: (one.start, one.end))

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return each node's window that is under way, or its next one."""
        found: dict[str, NodeForecast] = {}
        for one in self._windows:
            if one.end <= now:
                continue
            # What is under way is told anew every ten minutes: the engine looks ahead only.
            at = one.start if one.start >= now else min((now // _SOON + 1) * _SOON, one.end - 1)
            for name in one.nodes or seen.nodes:
                if name in seen.nodes:
                    found.setdefault(name, NodeForecast(max(at, now), one.end, 1.0, PLANNED))
        return found


class WatchingForecasts:
    """A learner asked at each look about the time to come.

    Parameters
    ----------
    learner : trained; it is copied. Its clock is moved to that of now: by the dates of its log,
        else its training is taken to end at the first look
    names : of the nodes, by the learner's numbers; None: those that it learnt of
    events, metrics : what it hears besides
    every : s between two looks at metrics, and after which it is asked anew where nothing came
    horizon : it is asked about so many seconds

    Raises ParameterError where nobody knows the nodes' names, or the learner needs what it cannot
    be told.
    """

    def __init__(
        self,
        learner: Learner,
        names: Sequence[str] | None = None,
        *,
        events: EventSource | None = None,
        metrics: MetricFiles | None = None,
        every: int = 300,
        horizon: int = 86_400,
    ) -> None:
        known = learner.seen.failures.names
        if names is None and known is None:
            raise ParameterError("names", None, f"names of the nodes: {learner.name} knows numbers")
        self.names: tuple[str, ...] = tuple(names if names is not None else known or ())
        for part, source in (("events", events), ("metrics", metrics)):
            if part in learner.needs and source is None:
                raise ParameterError(part, None, f"a source of {part}, with {learner.name}")
        self._learner = learner.copy()
        self._number = {name: k for k, name in enumerate(self.names)}
        self._events, self._metrics = events, metrics
        self._every, self._horizon = every, horizon
        self._started = False
        self._down: frozenset[str] = frozenset()
        self._asked = self._sampled_at = -(2**60)
        self._said: dict[str, NodeForecast] = {}

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Tell the learner what is new, and return what it foresees."""
        if self._listen(seen, now) or now - self._asked >= self._every:
            self._asked, self._said = now, self._answer(now)
        return {name: one for name, one in self._said.items() if one.curve or one.at >= now}

    def odd(self, seen: ClusterView, now: int) -> Mapping[str, float]:
        """Return the nodes whose latest metrics are improbably high, with the probability that
        they fail within the horizon; none of a learner that looks at no metrics alone."""
        learner = self._learner
        if not isinstance(learner, Outlier) or not self._started or learner.seen.metrics is None:
            return {}
        moment = np.array([learner.moment()])
        flagged = np.flatnonzero(learner.alarms(learner.seen, moment)[0])
        nodes = flagged[flagged < len(self.names)]
        risks = learner.failure_probability(nodes, now, now + self._horizon)
        told = zip(nodes.tolist(), risks.tolist(), strict=True)
        return {self.names[k]: risk for k, risk in told if self.names[k] in seen.nodes}

    def chances(
        self, names: Sequence[str], now: int, ends: Sequence[int]
    ) -> Mapping[str, Sequence[float]]:
        """Return for each node the probability that it fails within each of windows that begin now
        and end so many seconds later; `foreseen` was asked before."""
        numbers = np.array([self._number[name] for name in names], dtype=np.int64)
        if not self._started or len(numbers) == 0:
            return {}
        table = [self._learner.failure_probability(numbers, now, now + end) for end in ends]
        return {name: [float(row[k]) for row in table] for k, name in enumerate(names)}

    # ------------------------------------------------------------------------- what is new

    def _listen(self, seen: ClusterView, now: int) -> bool:
        """Tell the learner of what came since the last look, at the moment at which it is heard;
        return whether anything did."""
        down = frozenset(name for name in self._number if name in seen.nodes
                         and seen.nodes[name].down)  # fmt: skip
        first, fell = not self._started, sorted(down - self._down)
        self._down = down
        events = None if self._events is None else self._events.new(now)
        metrics = self._sampled(now)
        if first:
            self._start(now)
            fell = []
        known = self._learner.seen
        if now < known.end:
            return False
        numbers = [self._number[name] for name in fell]
        heard = None if events is None else _at(events, now, self.names)
        later = Observations(
            Failures.build([now] * len(numbers), numbers), known.end, now + 1,
            max(known.nodes, len(self.names)), heard, metrics,
        )  # fmt: skip
        self._learner.observe(later)
        return first or bool(numbers) or heard is not None or metrics is not None

    def _start(self, now: int) -> None:
        """Bring the learner's clock to that of now."""
        seen = self._learner.seen
        shift = now - seen.end if seen.origin is None else seen.origin
        if seen.end + shift > now:
            allowed = "one whose training ended before now"
            raise ParameterError("predictor", self._learner.name, allowed)
        self._learner = self._learner.moved(shift)
        self._started = True

    def _sampled(self, now: int) -> Metrics | None:
        """Return the metrics at the moment that the learner learnt of; None where there are
        none."""
        known = self._learner.seen.metrics
        if self._metrics is None or known is None or now - self._sampled_at < self._every:
            return None
        self._sampled_at = now
        values = self._metrics.values(now)
        rows = [
            (number, [values.get(metric, {}).get(name, math.nan) for metric in known.names])
            for name, number in self._number.items()
        ]
        rows = [row for row in rows if not all(map(math.isnan, row[1]))]
        if not rows:
            return None
        nodes = np.array([number for number, _ in rows], dtype=np.int64)
        table = np.array([value for _, value in rows], dtype=np.float64)
        return Metrics(
            np.full(len(rows), now), nodes, table, known.names, max(known.nodes, len(self.names)),
            known.node_names, known.period, known.origin,
        )  # fmt: skip

    # ------------------------------------------------------------------------------ answers

    def _answer(self, now: int) -> dict[str, NodeForecast]:
        self._learner.advance(now)
        return hazards_of(self._learner, self.names, now, self._horizon)


def hazards_of(
    learner: Learner, names: Sequence[str], now: int, horizon: int, origin: int = 0
) -> dict[str, NodeForecast]:
    """Return what a learner says now of each node over the time to come: hazards of `PARTS` parts.

    names : of its nodes, by their numbers
    horizon : it is asked about so many seconds
    origin : the moment of its time 0, s since 1970

    Nodes that do not fail have none.
    """
    nodes, time = np.arange(min(learner.nodes, len(names)), dtype=np.int64), now - origin
    ends = [max(horizon * (part + 1) // PARTS, 1) for part in range(PARTS)]
    table = np.stack([learner.failure_probability(nodes, time, time + end) for end in ends])
    curves = np.maximum.accumulate(table, axis=0).T.tolist()  # (nodes, parts)
    return {
        name: NodeForecast(now, now + horizon, curve[-1], learner.name, tuple(curve))
        for name, curve in zip(names, curves, strict=False)
        if curve[-1] > 0
    }


def _at(events: RasLog, now: int, names: Sequence[str]) -> RasLog:
    """Return events as heard now, with the numbers of nodes for places; those elsewhere stay, as
    events of no node."""
    number = numbers_of(events.places, names).astype(np.int32)
    return replace(
        events, time=np.full(len(events), now), place=number[events.place], places=tuple(names),
        origin=0,
    )  # fmt: skip
