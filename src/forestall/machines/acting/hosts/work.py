"""Moves, starts, restarts and checkpoints: written down, done, and written down again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Protocol

from forestall.core.model.errors import ForestallError
from forestall.machines.acting.backend import Moved, MoveError, Why
from forestall.machines.acting.coordinator import MachineOutcome
from forestall.machines.acting.hosts.choosing import Chooser, Target
from forestall.machines.acting.hosts.images import Images
from forestall.machines.acting.hosts.levels import HostsPlan
from forestall.machines.acting.hosts.pool import Definition, HostCallError, MachineHosts
from forestall.machines.acting.hosts.records import (
    MachineBusyError,
    MachineRecord,
    Phase,
    RecordStore,
    StaleError,
)

TRIES: Final = 3
"""Targets that are tried for a machine before it is left alone for a while."""
_LONG: Final = 600.0
"""s to wait for a machine that is being moved, with a checkpoint of it."""


class _Note(Protocol):
    def __call__(self, what: str, **facts: Any) -> None: ...


class MachineWork:
    """Carries out what a coordinator decides.

    Parameters
    ----------
    plan, position : of the coordinator
    pool, store, chooser, images : what it acts on
    note : writes into the ledger
    patience : s to wait for a machine that another is at work on
    clock : gives seconds since 1970
    """

    def __init__(
        self,
        plan: HostsPlan,
        position: str,
        pool: MachineHosts,
        store: RecordStore,
        chooser: Chooser,
        images: Images,
        note: _Note,
        clock: Callable[[], float] = time.time,
        patience: float = 0.0,
    ) -> None:
        self._patience = patience
        self._plan, self._position, self._pool = plan, position, pool
        self._store, self._chooser, self._images = store, chooser, images
        self._note, self._clock = note, clock
        self._refused: dict[tuple[str, str], float] = {}
        self._saved: dict[str, float] = {}
        self._saving: dict[str, Future[None]] = {}
        self._saver: ThreadPoolExecutor | None = None

    # ----------------------------------------------------------------------------- moves

    def move_all(
        self, turn: Mapping[str, str], target: Callable[[], Target], overload: str
    ) -> Iterator[tuple[str, list[MachineOutcome]]]:
        """Move machines, so many at a time; yields what came of each, in their order."""

        def one(machine: str) -> list[MachineOutcome]:
            return self.move(machine, turn[machine], target(), relief=turn[machine] == overload)

        if self._plan.at_once == 1 or len(turn) < 2:
            yield from ((machine, one(machine)) for machine in turn)
            return
        with ThreadPoolExecutor(self._plan.at_once, "move") as movers:
            yield from zip(turn, movers.map(one, turn), strict=True)

    def move(
        self, machine: str, why: str, among: Target, *, relief: bool = False, to: str = ""
    ) -> list[MachineOutcome]:
        """Move a machine to a node that is chosen (or `to`), and to another where that fails."""
        try:
            with self._store.locked(machine, patience=self._patience):
                return self._tried(machine, why, among, relief=relief, to=to)
        except (MachineBusyError, StaleError) as error:
            return [MachineOutcome("busy", machine, "", why=str(error))]

    def _tried(
        self, machine: str, why: str, among: Target, *, relief: bool, to: str
    ) -> list[MachineOutcome]:
        outcomes: list[MachineOutcome] = []
        for _ in range(1 if to else TRIES):
            record = self._store.machine(machine)
            if record is None or record.phase is not Phase.RUNNING:
                break
            found = among.view.alive(machine).get(record.node)
            if found is not None and found.busy:
                break
            with self._store.choosing():
                target, reason = (to, why) if to else self._choose(record, among, relief=relief)
                if target is None:
                    self._stays(record, reason)
                    return [*outcomes, MachineOutcome("stays", machine, record.node, why=reason)]
                moving = replace(record, phase=Phase.MOVING, target=target, by=self._position)
                record = self._store.write(moving)
            outcome = self._carried_out(record, why)
            outcomes.append(outcome)
            if outcome.what != "failed" or (machine, target) not in self._refused:
                break
        return outcomes

    def _choose(
        self, record: MachineRecord, among: Target, *, relief: bool
    ) -> tuple[str | None, str]:
        now = self._clock()
        refused = [node for (machine, node), until in self._refused.items()
                   if machine == record.machine and until > now]  # fmt: skip
        busy = among.loads.used(record.node).get(record.machine) if relief else None
        return self._chooser.choose(
            record.definition, among, source=record.node, without=refused, busy=busy
        )

    def _stays(self, record: MachineRecord, why: str) -> None:
        self._note("stays", machine=record.machine, node=record.node, why=why)

    def _carried_out(self, record: MachineRecord, why: str) -> MachineOutcome:
        machine, source, target = record.machine, record.node, record.target
        places = {"machine": machine, "node": source, "target": target}
        self._note("move", **places, why=why)
        try:
            moved = self._pool.migrate(machine, target, expected=source)
        except MoveError as error:
            return self._failed(record, error)
        except HostCallError as error:
            wrong = MoveError(machine, _why(error), str(error), alive=True,
                              blames_target=error.node == target)  # fmt: skip
            return self._failed(record, wrong)
        record = self._store.write(
            replace(record, phase=Phase.RUNNING, node=target, target="", asked="", why="")
        )
        self._note("moved", **places, **_figures(record, moved))
        return MachineOutcome("moved", machine, source, target, why, moved)

    def _failed(self, record: MachineRecord, error: MoveError) -> MachineOutcome:
        """Write down where a machine is after a move that failed; where that is not known, it stays
        open, and is found out at the next look."""
        machine, source, target = record.machine, record.node, record.target
        places = {"machine": machine, "node": source, "target": target}
        self._note("failed", **places, kind=error.why.value, why=error.message, alive=error.alive)
        if error.blames_target:
            self._refused[machine, target] = self._clock() + self._plan.retry
        seen = self._pool.look([source, target])
        there = seen[source].machine(machine) if seen[source].answers else None
        beyond = seen[target].machine(machine) if seen[target].answers else None
        target_has = beyond is not None and beyond.state.alive
        if there is not None and there.state.alive and not there.busy and not target_has:
            self._store.write(replace(record, phase=Phase.RUNNING, target=""))
            if not seen[target].answers:
                self._refused[machine, target] = self._clock() + self._plan.retry
        return MachineOutcome("failed", machine, source, target, str(error))

    # ----------------------------------------------------------------------------- starts

    def start(self, definition: Definition, among: Target, to: str = "") -> MachineOutcome:
        """Start a new machine, on a node that is chosen or on `to`.

        Raises ForestallError where one of that name is there already, or no node has room.
        """
        machine = definition.machine
        with self._store.locked(machine):
            before = self._store.readable(machine)
            there = list(among.view.alive(machine))
            if before is not None and not before.phase.over:
                there = there or list(before.places)
            if there:
                raise ForestallError(f"{machine}: already runs on {there[0]}")
            with self._store.choosing():
                target, why = (to, "asked for") if to else self._chooser.choose(definition, among)
                if target is None:
                    size = definition.size
                    wanted = f"{size.processors:g} processors and {size.memory / 2**20:.0f} MiB"
                    raise ForestallError(f"{machine}: no node has room for {wanted}")
                revision = 0 if before is None else before.revision
                record = self._store.write(
                    MachineRecord(definition, Phase.STARTING, "", target, revision,
                                  self._position, why=why)
                )  # fmt: skip
            return self.begin(record)[-1]

    def begin(self, record: MachineRecord) -> list[MachineOutcome]:
        """Start a machine where its record says that it is being started, and nowhere else.

        Where that node refuses it, it is barred there before another is chosen.
        """
        machine, target = record.machine, record.target
        again = record.definition.generation > 1
        image = ""
        try:
            if record.image and again and record.definition.after_loss == "checkpoint":
                image = str(self._images.bring(machine, record.image))
            self._pool.begin(record.definition, target, image)
        except HostCallError as error:
            return [self._not_begun(record, error)]
        except ForestallError as error:  # its image cannot be had
            self._note("failed", machine=machine, node="", target=target, why=str(error))
            return [MachineOutcome("failed", machine, "", target, f"{machine}: {error}")]
        self._store.write(
            replace(record, phase=Phase.RUNNING, node=target, target="", asked="", why="")
        )
        self._saved[machine] = self._clock()
        if image:
            self._images.forget(machine, record.image)
        what = "restarted" if again else "started"
        facts = {"runtime": record.definition.runtime, "deadline": record.definition.deadline}
        self._note(what, machine=machine, node=target, **facts, image=record.image if image else "",
                   generation=record.definition.generation, why=record.why)  # fmt: skip
        how = f"from its checkpoint {record.image}" if image else "booted"
        return [MachineOutcome(what, machine, record.node, target, f"{how}; {record.why}")]

    def _not_begun(self, record: MachineRecord, error: HostCallError) -> MachineOutcome:
        machine, target = record.machine, record.target
        self._note("failed", machine=machine, node=record.node, target=target, why=str(error))
        outcome = MachineOutcome("failed", machine, record.node, target, str(error))
        if error.silent:
            return outcome
        self._refused[machine, target] = self._clock() + self._plan.retry
        with suppress(HostCallError):  # it may run there after all: the next look tells
            self._pool.bar(record.definition, target)
            back = replace(record, phase=Phase.RUNNING, node=record.node or target, target="")
            self._store.write(back)
        return outcome

    def restart(self, record: MachineRecord, among: Target) -> MachineOutcome:
        """Start a machine again that is known to run nowhere; as its definition says."""
        machine, way = record.machine, record.definition.after_loss
        lost = f"{record.node} lost it" if record.node else "it was not started"
        if way == "nothing" or (way == "checkpoint" and not record.image):
            reason = "it is not to be restarted" if way == "nothing" else "it has no checkpoint"
            self._store.write(replace(record, phase=Phase.LOST, target="", by=self._position))
            self._note("lost", machine=machine, node=record.node, why=reason)
            return MachineOutcome("lost", machine, record.node, why=f"{lost}; {reason}")
        with self._store.choosing():
            now = self._clock()
            refused = [node for (name, node), until in self._refused.items()
                       if name == machine and until > now]  # fmt: skip
            target, reason = self._chooser.choose(record.definition, among, without=refused)
            if target is None:
                return MachineOutcome("stays", machine, record.node, why=f"{lost}; {reason}")
            definition = replace(record.definition, generation=record.definition.generation + 1)
            record = self._store.write(
                replace(record, definition=definition, phase=Phase.STARTING, target=target,
                        by=self._position, why=lost, asked="")
            )  # fmt: skip
        return self.begin(record)[-1]

    # ----------------------------------------------------------------------------- checkpoints

    def checkpoint_if_due(self, record: MachineRecord, now: float) -> None:
        """Save a machine in the background where its last checkpoint is old enough."""
        machine = record.machine
        under_way = self._saving.get(machine)
        if under_way is not None and not under_way.done():
            return
        due = self._saved.setdefault(machine, now if record.image else -math.inf)
        if record.definition.after_loss != "checkpoint" or now - due < self._plan.checkpoint:
            return
        self._saved[machine] = now
        if self._saver is None:
            self._saver = ThreadPoolExecutor(1, "checkpoint")
        self._saving[machine] = self._saver.submit(self._saved_quietly, machine)

    def _saved_quietly(self, machine: str) -> None:
        try:
            self.checkpoint(machine)
        except (MachineBusyError, StaleError):
            self._saved.pop(machine, None)
        except ForestallError as error:
            self._note("failed", machine=machine, node="", why=str(error), kind="checkpoint")

    def checkpoint(self, machine: str) -> str:
        """Save a machine's memory while it runs on; returns the image's name. Raises
        ForestallError."""
        begun = self._clock()
        with self._store.locked(machine, patience=self._patience):
            record = self._store.machine(machine)
            if record is None or record.phase is not Phase.RUNNING:
                raise MachineBusyError(f"{machine}: is not running")
            image = self._images.room(machine, int(1000 * begun))
            self._pool.checkpoint(machine, record.node, str(image))
        name = self._images.keep(machine, image)  # this may take long; it may move meanwhile
        with self._store.locked(machine, patience=_LONG):
            now = self._store.machine(machine)
            if now is None or now.definition.generation != record.definition.generation:
                raise MachineBusyError(f"{machine}: was restarted meanwhile")
            self._store.write(replace(now, image=name, by=self._position))
        seconds = round(self._clock() - begun, 3)
        self._note("saved", machine=machine, node=record.node, image=name, seconds=seconds)
        self._images.forget(machine, name)
        return name

    def close(self) -> None:
        """Wait for what is under way."""
        if self._saver is not None:
            self._saver.shutdown()


def _figures(record: MachineRecord, moved: Moved) -> dict[str, Any]:
    return {
        "memory": record.definition.size.memory,
        "seconds": round(moved.seconds, 3),
        "gap": None if math.isnan(moved.gap) else round(moved.gap, 6),
        "reported": None if math.isnan(moved.reported) else moved.reported,
        "bytes": moved.transferred,
        "rounds": moved.rounds,
    }


def _why(error: HostCallError) -> Why:
    return Why.TIMEOUT if error.silent else Why.REFUSED
