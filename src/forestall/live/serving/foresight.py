"""A predictor of a simulated cluster: it knows of some failures in advance, and cries wolf."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from forestall.core.streams import stream
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.nouns import ClusterView
from forestall.slurm.simulation.world import SlurmWorld

NAME: Final = "simulated foresight"
HORIZON: Final = 6 * 3600
"""s before a failure from which on it is foreseen."""


class SimulatedForesight:
    """Foresees a share of the failures that a world has planned, and as many false ones as make its
    probability true.

    Parameters
    ----------
    share : of failures that are foreseen
    probability : that is told, and of which as many come
    """

    def __init__(self, world: SlurmWorld, share: float = 0.6, probability: float = 0.8) -> None:
        self._world, self._share, self._probability = world, share, probability
        self._false: dict[str, int] = {}

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return the next failure that is foreseen of each node."""
        found = {
            name: self._forecast(at) for name, at in self._planned(now) if self._is_seen(name, at)
        }
        if self._world.settings.failure:
            for name in seen.nodes:
                at = self._next_false(name, now)
                if at < now + HORIZON and name not in found:
                    found[name] = self._forecast(at)
        return found

    def _planned(self, now: int) -> list[tuple[str, int]]:
        """Return what fails when, of each node its next failure last."""
        state = self._world.state
        found = [
            (at, str(key))
            for at, _, what, key in state.due
            if what == "failure" and now <= at < now + HORIZON and key not in state.dead
        ]
        return [(name, at) for at, name in sorted(found, reverse=True)]

    def _is_seen(self, name: str, at: int) -> bool:
        return float(stream(self._world.seed, "foresight", name, str(at)).random()) < self._share

    def _forecast(self, at: int) -> NodeForecast:
        until = at + int(self._world.settings.repair)
        return NodeForecast(at, until, self._probability, NAME)

    def _next_false(self, name: str, now: int) -> int:
        """Return when the next failure that does not come is expected."""
        rate = self._share * (1 - self._probability) / self._probability
        mean = self._world.settings.failure / rate
        at = self._false.get(name, self._world.settings.origin)
        while at < now:
            draw = float(stream(self._world.seed, "false alarm", name, str(at)).random())
            at += max(60, int(-mean * math.log1p(-draw)))
        self._false[name] = at
        return at
