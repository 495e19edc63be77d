"""The one interface between prediction and decision."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from forestall.model.failures import Failures

Nodes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@runtime_checkable
class Predictor(Protocol):
    """Whatever answers these can be assessed, simulated with and run live.

    Windows are half-open, [start, end), in whole seconds. Temporal reliability is one minus the
    failure probability. A predictor may also offer `next_predicted_failure(time) -> int | None`,
    see `TracePredictor`, which gives negotiation its later candidate starts; and `advance(time)`,
    see `HazardPredictor`, which is called with the present moment before it is asked.
    """

    def failure_probability(self, nodes: Nodes, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails within the window."""
        ...

    def partition_failure_probability(self, nodes: Nodes, start: int, end: int) -> float:
        """Return the probability that any of the nodes fails within the window."""
        ...

    def time_to_failure(self, nodes: Nodes) -> Floats:
        """Return float64[len(nodes)]: seconds until each node's next foreseen failure, inf if
        none."""
        ...

    def fit(self, history: Failures) -> None:
        """Learn from a failure log."""
        ...

    def update(self, time: int, node: int) -> None:
        """Take note that `node` failed at `time`, which is now the latest known moment."""
        ...
