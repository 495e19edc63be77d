"""The one interface between prediction and decision."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.failures import Failures


@runtime_checkable
class Predictor(Protocol):
    """Whatever answers these can be assessed, simulated with and run live.

    Windows are half-open, [start, end), in whole seconds. Temporal reliability is one minus the
    failure probability. A predictor may also offer `next_predicted_failure(time) -> int | None`,
    see `TracePredictor`, which gives negotiation its later candidate starts; `advance(time)`, see
    `HazardPredictor`, which is called with the present moment before it is asked; and what
    `KnowsOutages` names.
    """

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails within the window."""
        ...

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the probability that any of the nodes fails within the window."""
        ...

    def time_to_failure(self, nodes: Ints) -> Floats:
        """Return float64[len(nodes)]: seconds until each node's next foreseen failure, inf if
        none."""
        ...

    def fit(self, history: Failures) -> None:
        """Learn from a failure log."""
        ...

    def update(self, time: int, node: int) -> None:
        """Take note that `node` failed at `time`, which is now the latest known moment."""
        ...


@runtime_checkable
class KnowsOutages(Protocol):
    """What a predictor may offer besides, if it knows how long each outage lasts.

    A failure at x that takes its node down until u *disrupts* a job in [start, end) if now <= x <
    end and u > start: it comes while the job runs, or leaves the node down when it should start.
    `now` is the moment that `advance` was told last. Predictors without these are asked about
    windows, with one downtime for all failures.
    """

    def advance(self, time: int) -> None:
        """Take note that it is `time` now."""
        ...

    def disruption_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node disrupts the job."""
        ...

    def partition_disruption_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the probability that any of the nodes disrupts the job."""
        ...

    def first_disruption(self, node: int, start: int, end: int) -> int | None:
        """Return when the foreseen failure is by which the node disrupts the job, or None."""
        ...

    def next_predicted_recovery(self, time: int) -> int | None:
        """Return the earliest end >= `time` of an outage that is foreseen from now on, or None."""
        ...
