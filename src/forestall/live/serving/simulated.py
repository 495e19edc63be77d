"""A simulated cluster that lives while a controller serves it: other users' jobs, failures, some of
them foreseen, and a clock that is as fast as one likes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from forestall.live.ledger.queries import LedgerQueries
from forestall.live.ledger.store import LiveLedger
from forestall.live.serving.clock import SimulatedClock
from forestall.live.serving.foresight import SimulatedForesight
from forestall.live.slurm.books import LedgerBooks
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.actions import Action as ClusterAction
from forestall.slurm.cluster.actions import ActionResult, Submit
from forestall.slurm.cluster.nouns import ClusterSnapshot, ClusterView
from forestall.slurm.cluster.standing import Standing
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.world import SlurmWorld

BEFORE: Final = 12 * 3600
"""s that the world has lived when it is first seen: jobs run then, and others wait."""
KEPT: Final = 1000
"""Actions that the world remembers: nobody asks it for older ones."""


class SimulatedCluster:
    """A modelled cluster whose time passes by a clock; any thread may look and act.

    Parameters
    ----------
    settings, seed : of the world; its origin is where the clock begins
    speed : seconds of its time in one of ours
    ahead : s that its clock may be after the last look
    """

    def __init__(self, settings: WorldSettings, seed: int, speed: float, ahead: int) -> None:
        self.clock = SimulatedClock(settings.origin, speed, ahead)
        began = replace(settings, origin=settings.origin - BEFORE)
        self._world = SlurmWorld(began, seed)
        self._world.advance(settings.origin)
        self._model = ModelCluster(self._world)
        self._foresight = SimulatedForesight(self._world)
        self._lock = threading.Lock()

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Return one snapshot, as `forestall.slurm.cluster.cluster.LiveCluster.look`."""
        with self._lock:
            self._pass()
            self.clock.looked()
            return self._model.look(before)

    def act(self, action: ClusterAction) -> ActionResult:
        """Carry out an action, as `LiveCluster.act`."""
        with self._lock:
            self._pass()
            return self._model.act(action)

    def find(self, action: ClusterAction) -> Standing:
        """Return whether an action has taken effect, as `LiveCluster.find`."""
        with self._lock:
            self._pass()
            return self._model.find(action)

    def job_state(self, action: Submit) -> str:
        """Return the state of a job that was submitted, as `LiveCluster.job_state`."""
        with self._lock:
            self._pass()
            return self._model.job_state(action)

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return failures that are foreseen, as `forestall.live.slurm.outlook.NodeForecasts`."""
        with self._lock:
            return self._foresight.foreseen(seen, now)

    def take_over(self, ledger: LiveLedger) -> int:
        """Submit the jobs of the promises that a ledger has open, under their numbers, since a
        world ends with its process; return how many."""
        open_ones = LedgerQueries(ledger.database).promises(None, ended=False, most=1_000_000)
        numbers = LedgerBooks(ledger).numbers
        state = self._world.state
        state.next_id = max([state.next_id, *(one + 1 for one in numbers.values())])
        for promise, offer, _ in reversed(open_ones):
            following = state.next_id
            state.next_id = numbers.get(promise.id, following)
            self._world.apply(
                Submit(
                    promise.id, "#!/bin/sh\n", offer.size, offer.length, since=promise.at,
                    user=promise.owner,
                )
            )  # fmt: skip
            state.next_id = max(following, state.next_id)
        return len(open_ones)

    def _pass(self) -> None:
        """Let the world's time pass up to now."""
        now = self.clock.now()
        if now > self._world.state.now:
            self._world.advance(now)
            del self._world.state.deeds[:-KEPT]
            del self._world.state.acts[:-KEPT]
