"""An engine that is told of a modelled cluster by its looks, checked after each of them."""

from __future__ import annotations

from forestall.core.model.failures import Failures
from forestall.core.model.faults import LookError
from forestall.live.slurm.reconcile import CHECKED, Beliefs, Difference, reconcile
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, rules_of
from forestall.slurm.cluster.nouns import ClusterSnapshot, ClusterView
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import CALM, ROUGH, WorldSettings, rough
from forestall.slurm.simulation.world import SlurmWorld

CYCLE = 30


class Driven:
    """Beliefs and an engine, from no beliefs on."""

    def __init__(self, seen: ClusterView, now: int) -> None:
        nodes = len(seen.nodes)
        rules = rules_of(Parameters(nodes=nodes, policy="promise", risk=0.5, checkpoint="none"))
        nothing = foreseen_by(None, Failures.none(), 0)
        self.beliefs = Beliefs.none(seen)
        self.engine = Engine(nodes, rules._replace(placed=1), nothing, now - 1, validate=True)

    def tell(self, seen: ClusterView, now: int) -> Difference:
        """Tell the engine what is new, and check that it has got it."""
        found = reconcile(self.beliefs, seen, now)
        for one in found.arrivals:
            self.engine.add_job(one.size, one.estimate, CHECKED, one.submit)
        self.engine.handle(found.events, now)
        self.beliefs = found.beliefs
        self._check()
        return found

    def _check(self) -> None:
        """What is believed is what the engine holds: who waits, who runs where, who is away."""
        number = {name: k for k, name in enumerate(self.beliefs.names)}
        for key, told in self.beliefs.jobs.items():
            state = self.engine.job_state(told.position)
            assert state == ("RUNNING" if told.nodes else "WAITING"), (key, told, state)
            if told.nodes:
                where = sorted(number[name] for name in told.nodes)
                assert self.engine.nodes_of(told.position).tolist() == where, (key, told)
        for name, k in number.items():
            away = self.beliefs.away.get(name)
            state = "UP" if away is None else ("DOWN" if away.failed else "DRAINED")
            assert self.engine.node_state(k) == state, (name, away)


def driven(seed: int, *, calm: bool = False, nodes: int = 12, steps: int = 150) -> int:
    """Drive an engine through a scenario; return how many events it was told."""
    settings = WorldSettings(nodes=nodes, load=0.9, run=1200.0)
    world = SlurmWorld(settings if calm else rough(settings), seed)
    cluster = ModelCluster(world, CALM if calm else ROUGH)
    seen: ClusterSnapshot | None = None
    first: Driven | None = None
    count = now = 0
    for _ in range(steps):
        world.advance(world.state.now + CYCLE)
        try:
            seen = cluster.look(seen)
        except LookError:
            continue
        now = world.state.now
        first = first or Driven(seen, now)
        count += len(first.tell(seen, now).events)
    assert seen is not None
    assert first is not None
    _same_from_one_look(first, seen, now)
    return count


def _same_from_one_look(first: Driven, seen: ClusterSnapshot, now: int) -> None:
    """One look alone builds the same runs and nodes as all looks did."""
    fresh = Driven(seen, now)
    fresh.tell(seen, now)
    for one in (first, fresh):
        assert one.beliefs.jobs.keys() == first.beliefs.jobs.keys()
    runs = [
        {key: (told.nodes, told.until) for key, told in one.beliefs.jobs.items()}
        for one in (first, fresh)
    ]
    assert runs[0] == runs[1]
    assert fresh.beliefs.away == first.beliefs.away
    assert fresh.beliefs.planned == first.beliefs.planned
