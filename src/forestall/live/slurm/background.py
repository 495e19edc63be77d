"""How often a site's nodes fail, whatever a predictor foresees: no promise is certain.

Failures come at a rate that is alike for all nodes and not known. What is known of it is a gamma
distribution: first a weak opinion, then what looks have shown, node-seconds in service and failures
in them. The probability that a job's nodes all survive is the mean over it (Lomax):

    ((seconds + opinion) / (seconds + opinion + nodes * time)) ^ (failures + 1/2)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from forestall.slurm.cluster.nouns import ClusterView

OPINION: Final = 100 * 86_400.0
"""Node-seconds that half a failure is reckoned to take before anything was seen: a failure in 200
node-days."""
GAP: Final = 3600
"""s; of a longer time between two looks nobody knows what happened in it, and it is left out."""


class BackgroundRate:
    """What is known of a site's rate of failures.

    Parameters
    ----------
    told : node-seconds and failures that were seen before, as `told` returned them
    """

    def __init__(self, told: Iterable[float] = ()) -> None:
        seconds, failures = [*told] or [0.0, 0.0]
        self._seconds, self._failures = float(seconds), int(failures)
        self._up: frozenset[str] = frozenset()
        self._at = 0

    @property
    def told(self) -> list[float]:
        """It as plain data."""
        return [self._seconds, float(self._failures)]

    @property
    def rate(self) -> float:
        """The mean rate, failures in a second of a node."""
        return (self._failures + 0.5) / (self._seconds + OPINION)

    def learn(self, seen: ClusterView, now: int) -> None:
        """Take in a look: nodes that were in service at the one before and are down now failed."""
        up = frozenset(name for name, node in seen.nodes.items() if node.in_service)
        down = {name for name, node in seen.nodes.items() if node.down}
        if self._up and 0 < now - self._at <= GAP:
            self._seconds += len(self._up) * float(now - self._at)
            self._failures += len(self._up & down)
        self._up, self._at = up, now

    def survival(self, nodes: int, time: float) -> float:
        """Return the probability that none of so many nodes fails in `time` s."""
        known = self._seconds + OPINION
        ratio = known / (known + nodes * time)
        return float(ratio ** (self._failures + 0.5))
