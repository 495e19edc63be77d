"""What people do by hand: start, move, stop and save a machine, and say that a host is dead.

Nobody holds a position for that; the machines' locks keep it apart from what coordinators do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.machines.acting.coordinator import MachineOutcome
from forestall.machines.acting.hosts.choosing import Chooser, Target
from forestall.machines.acting.hosts.coordinator import learn
from forestall.machines.acting.hosts.forecasts import HostForecasts
from forestall.machines.acting.hosts.images import Images
from forestall.machines.acting.hosts.levels import HostsPlan
from forestall.machines.acting.hosts.loads import LoadBook
from forestall.machines.acting.hosts.pool import Definition, MachineHosts
from forestall.machines.acting.hosts.records import (
    HostRecord,
    HostState,
    MachineRecord,
    Phase,
    RecordStore,
)
from forestall.machines.acting.hosts.settle import Settler
from forestall.machines.acting.hosts.views import View, free_room
from forestall.machines.acting.hosts.work import MachineWork
from forestall.machines.acting.ledger import MachineLedger
from forestall.machines.rules.costs import MoveCosts
from forestall.machines.rules.leaving import Foretold

PERSON: Final = "command"
_PATIENCE: Final = 60.0
"""s that a command waits for a machine that a coordinator is at work on."""


class HostsDesk:
    """Carries out what commands ask for. Parameters as of `LevelCoordinator`."""

    def __init__(
        self,
        plan: HostsPlan,
        pool: MachineHosts,
        store: RecordStore,
        ledger: MachineLedger,
        *,
        images: Images,
        forecasts: HostForecasts,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._plan, self._pool, self._store = plan, pool, store
        self._ledger, self._forecasts, self._clock = ledger, forecasts, clock
        self._costs, self._loads = MoveCosts(), LoadBook()
        chooser = Chooser(plan, store, self._costs)
        self._work = MachineWork(plan, PERSON, pool, store, chooser, images, self._note, clock,
                                 _PATIENCE)  # fmt: skip
        self._settler = Settler(PERSON, pool, store, self._work, self._note)
        for entry in ledger.news():
            learn(self._costs, entry)

    def view(self) -> View:
        """Look at all hosts."""
        hosts = self._pool.look(list(self._plan.clusters))
        known = {node: self._store.host(node) for node in hosts}
        return View(self._clock(), hosts, known, self._store.machines())

    def foretold(self, view: View) -> Mapping[str, Foretold]:
        """Return which failures are foreseen."""
        down = [node for node in view.hosts if not view.up(node)]
        return self._forecasts.foretold(int(view.now), down)

    def start(self, definition: Definition, node: str | None = None) -> MachineOutcome:
        """Start a new machine, on this node or on the one that the strategy chooses."""
        view = self.view()
        if node is not None:
            self._check(node, view, definition)
        return self._done(self._work.start(definition, self._target(view), node or ""))

    def move(self, machine: str, node: str) -> MachineOutcome:
        """Move a machine to a node that has room for it; a failure is an outcome, too."""
        view = self.view()
        record = self.record(machine)
        if record.phase is not Phase.RUNNING:
            raise ForestallError(f"{machine}: is not running ({record.phase}); nothing to move")
        if record.node == self._plan.checked(node):
            raise ParameterError("node", node, f"another node; {machine} runs there")
        self._check(node, view, record.definition)
        found = self._work.move(machine, "asked for", self._target(view), to=node)
        if not found:
            raise ForestallError(f"{machine}: is being worked on; try again")
        return found[-1]

    def leave(self, node: str, why: str) -> list[MachineOutcome]:
        """Move all machines off a node, which takes none any more."""
        view = self.view()
        order = sorted(
            (one.machine for one in view.records.values()
             if one.node == node and one.phase is Phase.RUNNING),
        )  # fmt: skip
        outcomes: list[MachineOutcome] = []
        for _, found in self._work.move_all(
            dict.fromkeys(order, why), lambda: self._target(self.view()), ""
        ):
            outcomes += found
        return outcomes

    def stop(self, machine: str) -> MachineRecord:
        """End a machine; where its host does not answer, as soon as it does."""
        self.record(machine)
        with self._store.locked(machine, patience=_PATIENCE):
            record = self.record(machine)
            if record.phase.over:
                return record
            record = self._store.write(replace(record, phase=Phase.STOPPING, by=PERSON))
            view = self.view()
            self._settler.settle(record, view, [])
            return self.record(machine)

    def checkpoint(self, machine: str) -> str:
        """Save a machine's memory; returns the name of the image. Raises ForestallError."""
        self.record(machine)
        return self._work.checkpoint(machine)

    def declare_dead(self, node: str) -> HostRecord:
        """Take in that a host runs nothing: a person has made sure of it.

        Raises ForestallError for a host that answers.
        """
        self._plan.checked(node)
        seen = self._pool.look([node])[node]
        if seen.answers:
            raise ForestallError(f"{node}: answers, so it is not dead; drain it instead")
        self._note("node fenced", node=node, why="a person said so")
        self._note("node failed", node=node)
        return self._store.write_host(HostRecord(node, HostState.FENCED, self._clock(), PERSON))

    def record(self, machine: str) -> MachineRecord:
        """Return a machine as it is written down. Raises ParameterError for an unknown one."""
        record = self._store.machine(machine)
        if record is None:
            known = ", ".join(self._store.machines()) or "there is none yet"
            raise ParameterError("machine", machine, f"one of the fleet: {known}")
        return record

    def _check(self, node: str, view: View, definition: Definition) -> None:
        self._plan.checked(node)
        if not view.hosts[node].answers:
            raise ForestallError(f"{node}: does not answer: {view.hosts[node].says}")
        if not view.up(node):
            raise ForestallError(
                f"{node}: is {view.known[node].state}; its coordinator takes it in"
            )
        if not free_room(view, view.records, node).holds(definition.size):
            raise ForestallError(f"{node}: no room for {definition.machine}")

    def _target(self, view: View) -> Target:
        foretold, drained = self.foretold(view), set(self._forecasts.drained())
        soon = {node for node, one in foretold.items() if view.now >= one.early - self._plan.lead}
        self._loads.see(view.hosts.values(), view.now)
        up = [node for node in self._plan.clusters if view.up(node)]
        # A node that is to be left is taken only where no other answers.
        closed = drained | (soon if set(up) - soon - drained else set())
        return Target(view, up, closed, foretold, self._loads, int(view.now))

    def _done(self, outcome: MachineOutcome) -> MachineOutcome:
        if outcome.what == "failed":
            raise ForestallError(outcome.why)
        return outcome

    def _note(self, what: str, **facts: Any) -> None:
        try:
            self._ledger.add(what, self._clock(), by=PERSON, **facts)
        except TraceError:
            return  # what is done is done, and stands in the record
