"""A calm modelled cluster with a controller whose rules may act, and one without, to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forestall.core.model.live.intents import Role
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.health import HealthLines
from forestall.live.rules.rules import ActingRules
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller
from forestall.live.slurm.testing import CheckedReturns, NodeTest
from forestall.prediction.watching.foreseen import ListedForecasts, NodeForecast, NodeForecasts
from forestall.slurm.cluster.actions import DrainNode, RebootNode, ResumeNode
from forestall.slurm.cluster.nouns import ClusterView
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.world import SlurmWorld
from live.slurm.memory_ledger import MemoryLedger

CYCLE = 60
WARDEN = RoleSettings(
    "on", nodes=6, percent=40.0, partition_nodes=6, partition_percent=40.0, per_hour=30,
    cool_down=60,
)  # fmt: skip
GUARD = GuardSettings(floor_percent=30.0, settle=300, warden=WARDEN)


@dataclass
class SaidHealth:
    """What a site's check says, as a test has it."""

    said: Mapping[str, str] | None = None

    def lines(self, now: int) -> Mapping[str, str] | None:
        assert now > 0
        return self.said


class Oracle:
    """Knows each node's next failure `ahead` seconds before; or, where it is `wrong`, says the same
    of another node."""

    def __init__(self, world: SlurmWorld, ahead: int = 3600, *, wrong: bool = False) -> None:
        self._world, self._ahead, self._wrong = world, ahead, wrong

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        names = sorted(seen.nodes)
        found: dict[str, NodeForecast] = {}
        for at, _, what, name in sorted(self._world.state.due, key=lambda one: one[:2]):
            if what == "failure" and now <= at < now + self._ahead:
                other = names[(names.index(name) + len(names) // 2) % len(names)]
                told = NodeForecast(at, at + 1800, 0.9, "oracle")
                found.setdefault(other if self._wrong else name, told)
        return found


class Ruled:
    """A world and a controller; `settings` None: without rules."""

    def __init__(
        self,
        seed: int,
        world: WorldSettings,
        settings: RuleSettings | None,
        forecasts: Callable[[SlurmWorld], NodeForecasts] | None = None,
        health: HealthLines | None = None,
        guard: GuardSettings = GUARD,
        ledger: LiveLedger | None = None,
        test: NodeTest | None = None,
    ) -> None:
        self.world = SlurmWorld(world, seed)
        self.cluster = ModelCluster(self.world)
        self.ledger = MemoryLedger() if ledger is None else ledger
        self.rules = None
        if settings is not None:
            self.rules = ActingRules(settings, self.ledger, health=health, tested=test is not None)
        clock = lambda: self.cluster.clock  # noqa: E731
        returns = None if test is None else CheckedReturns(self.cluster, test, clock)
        actor = ClusterActor(self.cluster, lambda _: "", returns=returns)
        told = ListedForecasts() if forecasts is None else forecasts(self.world)
        self.controller = Controller(
            self.cluster, self.ledger, {Role.WARDEN: actor}, guard, told,
            lambda: self.cluster.clock, rules=self.rules,
        )  # fmt: skip

    def play(self, seconds: int) -> None:
        """Let time pass, a cycle after the other."""
        end = self.world.state.now + seconds
        while self.world.state.now < end:
            self.world.advance(self.world.state.now + CYCLE)
            self.controller.cycle()
            assert not self.world.problems()

    def ended(self, *states: str) -> int:
        """How many runs ended in one of these states."""
        return sum(run.state in states for run in self.world.state.runs)

    def deeds(self, *kinds: type[DrainNode] | type[ResumeNode] | type[RebootNode]) -> list[str]:
        """Return the nodes on which such deeds were done, in order."""
        return [one.action.node for one in self.world.state.deeds if isinstance(one.action, kinds)]
