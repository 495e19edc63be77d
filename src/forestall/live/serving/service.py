"""A controller with its ledger, its desk and its cycles: what `forestall serve` runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.live.intents import Role
from forestall.core.show.words import counted
from forestall.live.act.actor import Actor
from forestall.live.desk.desk import ControllerDesk, DeskSettings
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.counts import LedgerCounter
from forestall.live.ledger.queries import LedgerQueries
from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.messages.messenger import Messenger
from forestall.live.messages.settings import MessageSettings
from forestall.live.messages.watch import DeskWatch
from forestall.live.messages.ways import ways_of
from forestall.live.serving.clock import THINKING
from forestall.live.serving.kept_book import KeptBook
from forestall.live.serving.loop import CycleLoop
from forestall.live.serving.places import book_of, seals_of
from forestall.live.serving.real import cluster_of, is_known, keeper_of, submits_for, warden_of
from forestall.live.serving.returns import returns_of
from forestall.live.serving.settings import LiveSettings
from forestall.live.serving.simulated import SimulatedCluster
from forestall.live.serving.watching import Watching
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller, ControllerSettings
from forestall.live.slurm.quoting import wanted_job
from forestall.prediction.watching.foreseen import JoinedForecasts
from forestall.slurm.simulation.settings import WorldSettings

Tell = Callable[[str], None]
LEAST: Final = 0.25
"""s between two cycles at least, however fast a simulated clock goes."""


@dataclass(frozen=True)
class SimulatedOptions:
    """A simulated cluster.

    Attributes
    ----------
    nodes : how many
    speed : seconds of its clock in one of ours
    seed : of jobs and failures
    """

    nodes: int = 16
    speed: float = 60.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= 100_000:
            raise ParameterError("nodes", self.nodes, "from 1 to 100,000 nodes")
        if not 0.1 <= self.speed <= 10_000:
            raise ParameterError("speed", self.speed, "from 0.1 to 10,000 times our clock")
        if self.seed < 0:
            raise ParameterError("seed", self.seed, "a whole number of at least 0")


@dataclass
class LiveService:
    """What runs, and what is kept of the site's jobs."""

    desk: ControllerDesk
    loop: CycleLoop
    ledger: LiveLedger
    what: str
    messenger: Messenger
    kept: KeptBook | None = None

    def start(self) -> None:
        """Begin the cycles, and to tell people."""
        self.loop.start()
        self.messenger.start()

    def stop(self) -> None:
        """End both and let go of the ledger."""
        self.messenger.close()
        self.loop.stop()
        if self.kept is not None:
            self.kept.keep(now=True)
        self.ledger.close()

    def counter(self) -> LedgerCounter:
        """Return what counts the rows of the ledger."""
        return LedgerCounter(self.ledger.database)


def messenger_of(settings: MessageSettings, desk: ControllerDesk, tell: Tell) -> Messenger:
    """Return who tells people what they should know of a desk. Raises TraceError, InputError where
    a secret cannot be read."""
    return Messenger(DeskWatch(desk, settings).look, ways_of(settings), settings, tell)


def simulated_service(settings: LiveSettings, asked: SimulatedOptions, tell: Tell) -> LiveService:
    """Return a service on a simulated cluster; it goes on from its ledger, in which the jobs of
    open promises are found. Raises LedgerError and ParameterError."""
    ledger = LiveLedger(settings.serve.ledger)
    try:
        every = max(settings.serve.cycle / asked.speed, LEAST)
        ahead = math.ceil(2.5 * every * asked.speed)
        last = LedgerQueries(ledger.database).last_moment()
        origin = last + 1 if last else int(time.time())
        world = WorldSettings(
            nodes=asked.nodes, origin=origin, load=0.85, widest=max(asked.nodes // 2, 1)
        )
        cluster = SimulatedCluster(world, asked.seed, asked.speed, ahead)
        taken = cluster.take_over(ledger)
        if taken:
            tell(f"the simulated cluster starts over with the jobs of {taken} open promises")
        guard = _lively(settings, 2 * ahead)
        clock = cluster.clock
        actor = ClusterActor(
            cluster, _owner_in(ledger), features_of=_features_in(ledger),
            returns=returns_of(settings.warden, cluster, clock.now),
        )  # fmt: skip
        watching = Watching.of(settings.watch, guard, time.time)
        foresight = () if watching.predictors else (cluster,)
        thought = math.ceil(THINKING * asked.speed)
        rules = replace(settings.rules, life=max(settings.rules.life, thought))
        controller = Controller(
            cluster, ledger, {Role.KEEPER: actor, Role.WARDEN: actor}, guard,
            JoinedForecasts(watching.forecasts, *foresight), clock.now,
            ControllerSettings(
                offer_life=settings.serve.offer_life, life=max(ControllerSettings.life, thought)
            ),
            rules=watching.rules(
                rules, settings.watch, ledger, tested=bool(settings.warden.test)
            ),
            seals=seals_of(settings),
        )  # fmt: skip
        desk = ControllerDesk(
            controller, ledger, guard, clock.now,
            DeskSettings(True, clock.speed, quoting=clock.slow, taken=clock.go),
        )  # fmt: skip
        loop = CycleLoop(controller, desk, every, tell)
        messenger = messenger_of(settings.messages, desk, tell)
    except BaseException:
        ledger.close()
        raise
    what = f"a simulated cluster of {counted(asked.nodes, 'node')}, {asked.speed:g} times as fast"
    return LiveService(desk, loop, ledger, what, messenger)


def _lively(settings: LiveSettings, fresh: int) -> GuardSettings:
    """Return the settings of a simulated cluster: its keeper acts and its warden asks, where the
    settings do not say otherwise."""
    guard = settings.guard
    if "keeper" not in settings.given:
        guard = replace(
            guard, keeper=replace(guard.keeper, switch="on", nodes=100_000, partition_nodes=100_000)
        )
    if "warden" not in settings.given:
        asking = RoleSettings(
            "approve", nodes=100_000, percent=20.0, partition_nodes=100_000, partition_percent=20.0,
            per_hour=60, cool_down=600,
        )  # fmt: skip
        guard = replace(guard, warden=asking)
    if "guard" not in settings.given:
        guard = replace(guard, floor_percent=50.0, reboots=2)
    return replace(guard, fresh=max(guard.fresh, fresh), settle=max(guard.settle, 2 * fresh))


def real_service(settings: LiveSettings, tell: Tell) -> LiveService:
    """Return a service on the Slurm cluster of the settings. Raises LedgerError, ParameterError."""
    ledger = LiveLedger(settings.serve.ledger)
    try:
        guard = settings.guard
        owner = _owner_in(ledger)
        actors: Mapping[Role, Actor] = {
            Role.KEEPER: ClusterActor(
                keeper_of(settings.slurm), owner, features_of=_features_in(ledger)
            ),
            **warden_of(settings),
        }
        clock = _wall
        watching = Watching.of(settings.watch, guard)
        kept = KeptBook(book_of(settings), tell)
        controller = Controller(
            cluster_of(settings.slurm), ledger, actors, guard, watching.forecasts, clock,
            ControllerSettings(offer_life=settings.serve.offer_life),
            site=kept.site,
            rules=watching.rules(
                settings.rules, settings.watch, ledger, tested=bool(settings.warden.test)
            ),
            seals=seals_of(settings),
        )  # fmt: skip
        desk = ControllerDesk(
            controller, ledger, guard, clock,
            DeskSettings(submits_for=submits_for(settings.slurm), is_user=is_known),
        )  # fmt: skip
        loop = CycleLoop(controller, desk, float(settings.serve.cycle), tell, kept.keep)
        messenger = messenger_of(settings.messages, desk, tell)
    except BaseException:
        ledger.close()
        raise
    how = "its commands" if settings.slurm.via == "commands" else settings.slurm.url
    what = f"Slurm through {how}"
    return LiveService(desk, loop, ledger, what, messenger, kept)


def _wall() -> int:
    return int(time.time())


def _owner_in(ledger: LiveLedger) -> Callable[[str], str]:
    """Return what tells whose a promise is."""

    def owner_of(promise: str) -> str:
        found = ledger.one(PromiseRow, promise)
        return "" if found is None else found.owner

    return owner_of


def _features_in(ledger: LiveLedger) -> Callable[[str], str]:
    """Return what tells which features the nodes of a promise must have."""

    def features_of(promise: str) -> str:
        found = ledger.one(PromiseRow, promise)
        offer = None if found is None else ledger.one(OfferRow, found.offer)
        return "" if offer is None else wanted_job(offer).features

    return features_of
