"""The model of Slurm behaves as a cluster must."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster_contract.contract import ClusterContract
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.moves import drained, finish, resumed
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.world import SlurmWorld


class ModelSite:
    """A calm world without other users."""

    def __init__(self) -> None:
        self.world = SlurmWorld(WorldSettings(nodes=6, load=0, failure=0), seed=1)
        self.cluster = ModelCluster(self.world)

    def now(self) -> int:
        return self.world.state.now

    def until(self, what: str, true: Callable[[], bool]) -> None:
        for _ in range(600):
            if true():
                return
            self.world.advance(self.now() + 1)
        raise AssertionError(what)

    def drain(self, node: str, reason: str) -> None:
        state = self.world.state
        state.node(drained(state.nodes[node], reason, "root", state.now))

    def resume(self, node: str) -> None:
        state = self.world.state
        state.node(resumed(state.nodes[node], node in state.holder))

    def hold(self, job: int) -> None:
        one = self.world.state.jobs[job]
        self.world.state.job(one._replace(priority=0, reason="JobHeldAdmin"))

    def cancel(self, job: int) -> None:
        finish(self.world.state, self.world.state.jobs[job], "CANCELLED", 300)

    def stop(self) -> None:
        self.world.state.answers = False

    def start(self) -> None:
        self.world.state.answers = True


class TestModel(ClusterContract):
    @pytest.fixture
    def site(self) -> ModelSite:
        return ModelSite()
