"""A cluster in memory and an actor at it that loses, delays and doubles what it is handed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from forestall.core.model.errors import InputError
from forestall.core.model.live.intents import Action, Intent
from forestall.core.model.marks import mark_of_reason
from forestall.live.act.actor import Effect, NotCarriedOutError
from forestall.live.guard.guard import Doings
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.guard.sight import ClusterSight, NodeSight

PERSON = "kept for a benchmark. Ann"


class KilledError(BaseException):
    """The process is killed: nothing that it would have done happens."""


@dataclass
class SmallCluster:
    """Nodes with Slurm's flags, a clock, and what was done to them."""

    now: int = 1000
    nodes: dict[str, NodeSight] = field(default_factory=dict)
    done: list[tuple[str, int]] = field(default_factory=list)
    """Ids of intents that had their effect, and when."""

    @classmethod
    def of(cls, count: int) -> SmallCluster:
        partition = ("a", "b")
        return cls(nodes={f"n{k}": NodeSight((partition[k % 2],)) for k in range(count)})

    def clock(self) -> int:
        return self.now

    def look(self) -> ClusterSight:
        return ClusterSight(self.now, nodes=dict(self.nodes))

    def intend(self, action: Action, target: str, life: int = 600) -> Intent:
        state = self.look().standing(action, target)
        return Intent(action, target, self.now, self.now + life, state, "likely to fail")

    def apply(self, intent: Intent) -> None:
        """Have the effect of an intent, as Slurm would: it does not ask whose a node is."""
        self.done.append((intent.id, self.now))
        node = self.nodes[intent.target]
        if intent.action == Action.DRAIN:
            node = node._replace(drained=True, reason=intent.words)
        elif intent.action == Action.RESUME:
            node = node._replace(drained=False, reason="")
        else:
            node = node._replace(rebooting=True, reason=intent.words)
        self.nodes[intent.target] = node

    def person_drains(self, name: str) -> None:
        self.nodes[name] = self.nodes[name]._replace(drained=True, reason=PERSON)

    def ours(self) -> list[str]:
        return [
            name for name, one in self.nodes.items()
            if not one.in_service and mark_of_reason(one.reason)
        ]  # fmt: skip


class FlakyActor:
    """Hands intents to a cluster, and loses, delays or refuses as its chance says."""

    LATEST = 120

    def __init__(self, cluster: SmallCluster, chance: random.Random, *, dies: bool = True) -> None:
        self.cluster, self.chance, self.dies = cluster, chance, dies
        self.on_its_way: list[tuple[int, Intent]] = []
        self.handed: list[str] = []

    def carry_out(self, intent: Intent) -> None:
        self.handed.append(intent.id)
        if self.cluster.look().standing(intent.action, intent.target) != intent.state:
            raise NotCarriedOutError("somebody was quicker")
        fate = self.chance.choice(
            [
                "good",
                "good",
                "good",
                "reply lost",
                "late",
                "request lost",
                "refused",
                "dies",
                "died",
            ]
        )
        if fate == "dies" and self.dies:
            raise KilledError
        if fate == "refused":
            raise NotCarriedOutError("slurmctld said no\n\0")
        if fate == "late":
            self.on_its_way.append((self.cluster.now + self.chance.randint(1, self.LATEST), intent))
            raise TimeoutError
        if fate == "request lost":
            raise OSError("connection reset")
        self.cluster.apply(intent)
        if fate == "died" and self.dies:
            raise KilledError
        if fate == "reply lost":
            raise InputError("no answer")

    def effect_of(self, intent: Intent) -> Effect:
        if self.chance.random() < 0.2:
            if self.chance.random() < 0.5:
                raise OSError("no connection")
            return Effect.UNKNOWN
        node = self.cluster.nodes[intent.target]
        done = mark_of_reason(node.reason) == intent.id
        if intent.action == Action.RESUME:
            done = node.in_service and any(name == intent.id for name, _ in self.cluster.done)
        return Effect.DONE if done else Effect.NOT_DONE

    def arrive(self) -> None:
        """What was delayed has its effect now."""
        for item in list(self.on_its_way):
            if item[0] <= self.cluster.now:
                self.on_its_way.remove(item)
                self.cluster.apply(item[1])


def settings(**changed: object) -> GuardSettings:
    warden = RoleSettings(
        switch="on", nodes=3, percent=30.0, partition_nodes=2, partition_percent=40.0, per_hour=6,
        cool_down=300,
    )  # fmt: skip
    usual = GuardSettings(warden=warden, floor_nodes=1, floor_percent=50.0, settle=150)
    return replace(usual, **changed)  # type: ignore[arg-type]


NOTHING = Doings()
