"""What is half done is put in order: a machine is compared with what hosts say of it.

A machine is lost only where every node that it may be on is known not to have it: such a node
answers, or is fenced. One that does not answer may have it, and nothing is started anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from forestall.machines.acting.backend import MachineState
from forestall.machines.acting.coordinator import MachineOutcome
from forestall.machines.acting.hosts.pool import HostCallError, HostedMachine, MachineHosts
from forestall.machines.acting.hosts.records import MachineRecord, Phase, RecordStore
from forestall.machines.acting.hosts.views import View, runs
from forestall.machines.acting.hosts.work import MachineWork


class Note(Protocol):
    """Writes an entry into the ledger."""

    def __call__(self, what: str, **facts: Any) -> None: ...


class Settler:
    """Brings a machine's record and its hosts together; its lock is held meanwhile."""

    def __init__(
        self, position: str, pool: MachineHosts, store: RecordStore, work: MachineWork, note: Note
    ) -> None:
        self._position, self._pool, self._store = position, pool, store
        self._work, self._note = work, note

    def settle(self, record: MachineRecord, view: View, lost: list[str]) -> list[MachineOutcome]:
        """Put one machine in order; names of those that have to be started again go to `lost`."""
        now = self._store.machine(record.machine)
        if now is None or now.revision != record.revision:
            return []  # another has acted since the look
        alive = view.alive(record.machine)
        if any(one.busy for one in alive.values()):
            return []
        if record.phase is Phase.STOPPING or (record.phase is Phase.STOPPED and alive):
            return self._stop(record, view)
        if len(alive) > 1:
            alive = self._one_of(record, alive)
        if len(alive) == 1:
            ((node, one),) = alive.items()
            return self._is_at(record, node, one, view)
        if alive or record.phase.over:
            return []
        if not all(view.surely_not(record.machine, node) for node in record.places):
            return []
        if record.phase is Phase.STARTING and view.up(record.target):
            return self._work.begin(record)
        return self._gone(record, view, lost)

    def _one_of(
        self, record: MachineRecord, alive: Mapping[str, HostedMachine]
    ) -> dict[str, HostedMachine]:
        """Leave one of several: the one whose guest runs, of the last generation."""

        def rank(node: str) -> tuple[bool, int, bool]:
            one = alive[node]
            generation = 0 if one.definition is None else one.definition.generation
            return runs(one), generation, node == record.node

        kept = max(alive, key=rank)
        for node, one in alive.items():
            if node == kept:
                continue
            if runs(one) and runs(alive[kept]):
                self._note("twice", machine=record.machine, node=node, target=kept)
            self._pool.remove(record.machine, node)
        return {kept: alive[kept]}

    def _is_at(
        self, record: MachineRecord, node: str, one: HostedMachine, view: View
    ) -> list[MachineOutcome]:
        """A machine is on one node."""
        if record.phase is Phase.MOVING and not runs(one):
            if one.state is MachineState.MOVING and node == record.target:
                # It waits for memory that nobody sends any more.
                if view.surely_not(record.machine, record.node):
                    self._pool.remove(record.machine, node)
                return []
            self._pool.resume(record.machine, node)
        if record.phase is Phase.RUNNING and record.node == node:
            return []
        why = ""
        if record.phase is Phase.LOST or node not in record.places:
            why = "it was found there"
        came = record.phase is Phase.MOVING and node == record.target
        self._store.write(
            replace(
                record, phase=Phase.RUNNING, node=node, target="", by=self._position, why="",
                asked="" if node != record.node else record.asked,
            )
        )  # fmt: skip
        self._note("found", machine=record.machine, node=node, phase=record.phase.value)
        if not why and not came:
            return []
        return [MachineOutcome("elsewhere", record.machine, record.node, node,
                               why or "has moved already")]  # fmt: skip

    def _stop(self, record: MachineRecord, view: View) -> list[MachineOutcome]:
        places = {*record.places, *view.alive(record.machine)}
        if not all(view.up(node) or view.surely_not(record.machine, node) for node in places):
            return []
        for node in places:
            if view.up(node):
                self._pool.remove(record.machine, node)
        if record.phase is Phase.STOPPING:
            self._store.write(replace(record, phase=Phase.STOPPED, target="", by=self._position))
            self._note("stopped", machine=record.machine, node=record.node)
        return []

    def _gone(self, record: MachineRecord, view: View, lost: list[str]) -> list[MachineOutcome]:
        """A machine is nowhere: it ended, was stopped by someone, or is lost."""
        host = view.hosts.get(record.node)
        seen = host.machine(record.machine) if host is not None and host.answers else None
        fates = {MachineState.ENDED: Phase.ENDED, MachineState.STOPPED: Phase.STOPPED}
        phase = fates.get(seen.state) if seen is not None else None
        if phase is None:
            lost.append(record.machine)
            return []
        self._store.write(replace(record, phase=phase, target="", asked="", by=self._position))
        self._note(phase.value, machine=record.machine, node=record.node)
        with suppress(HostCallError):  # its definition stays there, and does no harm
            self._pool.remove(record.machine, record.node)
        why = "its guest switched off" if phase is Phase.ENDED else "by someone else"
        return [MachineOutcome(phase.value, record.machine, record.node, why=why)]
