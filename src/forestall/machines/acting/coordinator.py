"""The coordinator: sees what runs, is told what is foreseen, and moves machines in time.

Source: Fu and Xu, ARES 2009, Section 2: coordinator, load manager and failure predictor. The load
manager's view is what the back end finds; the failure predictor's view is what was foreseen last.
Before each decision the engine is told what of both has changed; a coordinator may be ended and
started again at any time, since a first look tells it all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.core.model.virtual import TaskDecision, TaskDecisionKind, TaskReason
from forestall.machines.acting.backend import Backend, MachineState, Moved, MoveError, SeenMachine
from forestall.machines.acting.ledger import Entry, MachineLedger
from forestall.machines.acting.picture import EnginePicture, Need, PlacementPlan, Situation

TRIES: Final = 3
"""Targets that are tried for a machine before it is left alone for a while."""


@dataclass(frozen=True)
class MachineOutcome:
    """What became of one machine.

    Attributes
    ----------
    what : ``moved``, ``failed`` (a move that did not come off), ``stays``, ``elsewhere`` (another
        command has moved it already), ``ended``, ``stopped``, ``lost``
    machine, node : its name, and where it was
    target : where it moved to, should have, or is; empty where nowhere
    why : in words
    moved : figures of a move that came off
    """

    what: str
    machine: str
    node: str
    target: str = ""
    why: str = ""
    moved: Moved | None = None


class Coordinator:
    """Places machines on nodes, and moves them before these fail.

    What cannot be read of the ledger, or not be written there, is kept for `troubles` and stops
    nothing. Whoever calls `choose`, `asked`, `move`, `stop` or `step` holds the fleet meanwhile, so
    that no other command acts between look and deed.

    Parameters
    ----------
    plan : nodes and how they are chosen
    backend : carries out what is decided
    ledger : where that is written down, and read again by the next coordinator
    clock : gives seconds since 1970
    """

    def __init__(
        self,
        plan: PlacementPlan,
        backend: Backend,
        ledger: MachineLedger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._ledger = ledger
        self._clock = clock
        self._foreseen: dict[str, int] = {}
        self._drained: set[str] = set()
        self._down: set[str] = set()
        self._refused: dict[tuple[str, str], float] = {}
        self._resting: dict[str, float] = {}
        self._known: dict[str, MachineState] = {}
        self._started: dict[str, Entry] = {}
        self._decisions = 0
        self._picture: EnginePicture | None = None
        self._troubles: list[str] = []
        self._catch_up()

    # ----------------------------------------------------------------------------- being told

    def foresee(self, node: str, at: float | None) -> None:
        """Take in when a node is predicted to fail, s since 1970; None: it is not any more."""
        self._plan.room(node)
        if at is None:
            self._foreseen.pop(node, None)
        else:
            self._foreseen[node] = math.floor(at)

    def drain(self, node: str, *, drained: bool = True) -> None:
        """Take in that a node is to be emptied and kept empty, or not any more."""
        self._plan.room(node)
        if drained:
            self._drained.add(node)
        else:
            self._drained.discard(node)

    def node_failed(self, node: str) -> list[MachineOutcome]:
        """Take in that a node has failed; nothing is placed there until it is back."""
        self._plan.room(node)
        self._down.add(node)
        self._foreseen.pop(node, None)
        self._note("node failed", node=node)
        return self.look()

    def node_recovered(self, node: str) -> None:
        """Take in that a node is back."""
        self._plan.room(node)
        self._down.discard(node)
        self._note("node recovered", node=node)

    def troubles(self) -> list[str]:
        """Return what was wrong with the ledger since the last call, a line each."""
        troubles, self._troubles = self._troubles, []
        skipped = self._ledger.skipped()
        return [*([skipped] if skipped else []), *dict.fromkeys(troubles)]

    # ----------------------------------------------------------------------------- seeing

    def look(self) -> list[MachineOutcome]:
        """Return which machines ended or were lost since the last look, and write that down."""
        return self._ends(self._backend.watch())

    def _ends(self, seen: Sequence[SeenMachine]) -> list[MachineOutcome]:
        self._catch_up()
        found = []
        for one in seen:
            if one.state.alive:
                self._known[one.machine] = MachineState.RUNNING
            if one.state.alive or self._known.get(one.machine, one.state) == one.state:
                continue
            self._note(one.state.value, machine=one.machine, node=one.node)
            self._resting.pop(one.machine, None)
            found.append(
                MachineOutcome(one.state.value, one.machine, one.node, why=_FATES[one.state])
            )
        return found

    def taken(self, seen: Sequence[SeenMachine] | None = None) -> dict[str, int]:
        """Return how many machines each node has; the load manager's view."""
        counts = dict.fromkeys(self._plan.nodes, 0)
        for one in self._backend.watch() if seen is None else seen:
            if one.state.alive:
                counts[one.node] = counts.get(one.node, 0) + 1
        return counts

    def failing(self, now: float) -> list[str]:
        """Return the nodes that are to be left by now: the failure predictor's view, and nodes that
        are drained."""
        return [
            node
            for node in self._plan.nodes
            if node not in self._down and (node in self._drained or self._doubtful(node, now))
        ]

    def _doubtful(self, node: str, now: float) -> bool:
        return now >= self._foreseen.get(node, math.inf) - self._plan.lead

    # ----------------------------------------------------------------------------- acting

    def choose(self, machine: str, need: Need) -> tuple[str, str]:
        """Return the node on which a new machine should start, and why.

        A node that is to be left is taken only where no other has room, one that is drained never.
        Raises ForestallError where none has room.
        """
        now = int(self._clock())
        seen = self._backend.watch()
        for closed in ({*self._drained, *self.failing(now)}, self._drained):
            picture = self._seen_by_engine(self._situation(now, seen, closed))
            decision = picture.place(machine, need)
            if decision is not None:
                return picture.name(decision.node), picture.why(decision)
        drained = "".join(f"; {node} is drained" for node in self._plan.nodes if node in closed)
        raise ForestallError(f"{machine}: no node has room{drained}")

    def asked(self, node: str, seen: Sequence[SeenMachine] | None = None) -> str:
        """Return the reason for a node that was asked for by name.

        Raises ParameterError for an unknown node and one that has failed, ForestallError where it
        has no room for one more machine.
        """
        room = self._plan.room(node)
        if node in self._down:
            raise ParameterError("node", node, "a node that has not failed")
        if self.taken(seen)[node] >= room:
            raise ForestallError(f"{node}: no room for another machine; it has its {room} already")
        if node in self.failing(self._clock()):
            return f"asked for, though {self._reason(node)}"
        return "asked for"

    def started(self, machine: str, node: str, need: Need, why: str) -> None:
        """Write down that a machine was started, and what it has to do."""
        facts = {"runtime": need.seconds, "deadline": need.deadline}
        self._note("started", machine=machine, node=node, **facts, why=why)

    def stop(self, machine: str) -> None:
        """End a machine; what became of one that does not run any more stays."""
        seen = self._backend.watch()
        self._ends(seen)
        if any(one.machine == machine and not one.state.alive for one in seen):
            return
        self._backend.stop(machine)
        self.look()

    def move(self, machine: str, node: str) -> MachineOutcome:
        """Move one machine to a node that has room; a failure is an outcome, too."""
        self._plan.room(node)
        seen = self._backend.watch()
        found = next((one for one in seen if one.machine == machine), None)
        if found is None:
            raise ParameterError("machine", machine, "one of the fleet")
        if not found.state.alive:
            self._ends(seen)
            why = f"{machine}: is not running ({found.state}); nothing to move"
            return MachineOutcome("failed", machine, found.node, node, why)
        if found.node == node:
            raise ParameterError("node", node, f"another node; {machine} runs there")
        return self._carry_out(machine, found.node, node, self.asked(node, seen))

    def step(self, only: str = "") -> list[MachineOutcome]:
        """Look at what is there, and move machines off nodes that are to be left by now.

        A move that does not come off is decided anew, without the target that refused, when all
        others had their turn; after `TRIES` of them, or where there is nowhere to go, the machine
        rests for `retry` s, or for a third of the time that is left. `only` leaves other nodes for
        later.
        """
        seen = {one.machine: one for one in self._backend.watch()}
        outcomes = self._ends(list(seen.values()))
        now = self._clock()
        leaving = [node for node in self.failing(now) if only in ("", node)]
        turn = [
            one
            for node in leaving
            for one in self._in_order(seen.values(), node, int(now))
            if only or self._resting.get(one.machine, 0.0) <= now
        ]
        for _ in range(TRIES):
            again = []
            for one in turn:
                outcome = self._leave(one, list(seen.values()))
                outcomes.append(outcome)
                if outcome.what in {"moved", "elsewhere"}:
                    seen[one.machine] = replace(one, node=outcome.target)
                elif outcome.what == "failed" and (one.machine, outcome.target) in self._refused:
                    again.append(one)
                else:
                    self._rest(one)
            turn = again
        for one in turn:
            self._rest(one)
        return outcomes

    def _in_order(self, seen: Iterable[SeenMachine], node: str, now: int) -> list[SeenMachine]:
        """Return the machines that are on a node, first those with the earliest deadlines."""
        there = [one for one in seen if one.node == node and one.state.alive]
        there.sort(key=lambda one: (self._need(one, now).on(self._plan, now)[1], one.machine))
        return there

    def _leave(self, one: SeenMachine, seen: Sequence[SeenMachine]) -> MachineOutcome:
        """Have it decided where a machine goes whose node is to be left, and move it there; the
        others of its node have their own turn."""
        machine, node = one.machine, one.node
        if one.state != MachineState.RUNNING:
            word = one.says or one.state.value
            return self._stays(machine, node, f"its guest is not running ({word})")
        now = self._clock()
        closed = {other for other in self._plan.nodes if self._is_closed(machine, other, now)}
        picture = self._seen_by_engine(self._situation(int(now), seen, closed - {node}))
        decision = picture.move(machine)
        if decision.kind == TaskDecisionKind.MIGRATE:
            target = picture.name(decision.node)
            return self._carry_out(machine, node, target, self._reason(node))
        return self._stays(machine, node, self._why_not(machine, node, decision, picture, seen))

    def _seen_by_engine(self, situation: Situation) -> EnginePicture:
        """Tell the engine what is there; it is made at the first look."""
        if self._picture is None:
            self._picture = EnginePicture(self._plan, situation)
        else:
            self._picture.see(situation)
        return self._picture

    def _stays(self, machine: str, node: str, why: str) -> MachineOutcome:
        self._note("stays", machine=machine, node=node, why=why)
        return MachineOutcome("stays", machine, node, why=why)

    def _is_closed(self, machine: str, node: str, now: float) -> bool:
        refused = self._refused.get((machine, node), 0.0) > now
        return refused or node in self._down or node in self.failing(now)

    def _why_not(
        self,
        machine: str,
        node: str,
        decision: TaskDecision,
        picture: EnginePicture,
        seen: Sequence[SeenMachine],
    ) -> str:
        """Return why a machine stays; nodes that would have had room are named."""
        if decision.reason != TaskReason.NOWHERE_TO_GO:
            return picture.why(decision)
        taken, now = self.taken(seen), self._clock()
        passed_over = ", ".join(
            f"{other} has just refused it"
            if other not in self.failing(now)
            else self._reason(other)
            for other in self._plan.nodes
            if other not in {node, *self._down} and taken[other] < self._plan.room(other)
        )
        return picture.why(decision) if not passed_over else f"nowhere to go: {passed_over}"

    def _carry_out(self, machine: str, source: str, target: str, why: str) -> MachineOutcome:
        places = {"machine": machine, "node": source, "target": target}
        self._note("move", **places, why=why)
        try:
            moved = self._backend.migrate(machine, target, expected=source)
        except KeyboardInterrupt:
            self._note("failed", **places, kind="interrupted", why="the command was ended")
            raise
        except ForestallError as error:
            return self._failed(machine, source, target, error)
        self._resting.pop(machine, None)
        figures = {
            "seconds": round(moved.seconds, 3),
            "gap": None if math.isnan(moved.gap) else round(moved.gap, 6),
            "reported": moved.reported,
            "bytes": moved.transferred,
            "rounds": moved.rounds,
        }
        self._note("moved", **places, **figures)
        return MachineOutcome("moved", machine, source, target, why, moved)

    def _failed(
        self, machine: str, source: str, target: str, error: ForestallError
    ) -> MachineOutcome:
        """Write down why a move did not come off; the target is passed over if it is to blame."""
        places = {"machine": machine, "node": source, "target": target}
        to_blame = getattr(error, "blames_target", False)
        there = "" if to_blame else self._whereabouts(machine)
        if there not in {"", source}:
            self._note("failed", **places, kind="elsewhere", why=f"it is on {there} already")
            return MachineOutcome("elsewhere", machine, source, there, "has moved already")
        if isinstance(error, MoveError):
            facts = {"kind": error.why.value, "why": error.message, "alive": error.alive}
            self._note("failed", **places, **facts)
            if to_blame:
                self._refused[machine, target] = self._clock() + self._pause(source)
            return MachineOutcome("failed", machine, source, target, str(error))
        # Another command is at work on it, or it ended meanwhile.
        told = str(error) if str(error).startswith(f"{machine}: ") else f"{machine}: {error}"
        self._note("failed", **places, why=told)
        return MachineOutcome("failed", machine, source, target, told)

    def _whereabouts(self, machine: str) -> str:
        """Return on which node a machine runs now; empty where it does not, or none can say."""
        try:
            seen = self._backend.watch()
        except ForestallError:
            return ""
        return next((one.node for one in seen if one.machine == machine and one.state.alive), "")

    def _rest(self, one: SeenMachine) -> None:
        self._resting[one.machine] = self._clock() + self._pause(one.node)

    def _pause(self, node: str) -> float:
        """Return how long to wait with the next try for a machine of this node, s: there should be
        several before the node fails."""
        left = self._foreseen.get(node, math.inf) - self._clock()
        return min(self._plan.retry, max(left / 3, 1.0)) if left > 0 else self._plan.retry

    # ----------------------------------------------------------------------------- what is known

    def _situation(self, now: int, seen: Sequence[SeenMachine], closed: set[str]) -> Situation:
        machines: dict[str, dict[str, Need]] = {}
        for one in seen:
            if one.state.alive:
                machines.setdefault(one.node, {})[one.machine] = self._need(one, now)
        return Situation(
            now,
            machines,
            dict(self._foreseen),
            frozenset(self.failing(now)),
            frozenset(closed),
            frozenset(self._down),
            self._decisions,
        )

    def _need(self, seen: SeenMachine, now: int) -> Need:
        entry = self._started.get(seen.machine)
        if entry is None:
            return Need()
        seconds, since = entry["runtime"], int(entry["time"])
        left = None if seconds is None else max(seconds - (now - since), 1)
        return Need(left, entry["deadline"])

    def _reason(self, node: str) -> str:
        """Return why a node is to be left."""
        if node in self._drained and not self._doubtful(node, self._clock()):
            return f"{node} is drained"
        at = datetime.fromtimestamp(self._foreseen[node], UTC)
        return f"{node} is predicted to fail at {at:%Y-%m-%d %H:%M:%S}"

    def _note(self, what: str, **facts: Any) -> None:
        """Write an entry; where that cannot be, go on as if it had been."""
        try:
            self._ledger.add(what, self._clock(), **facts)
        except TraceError as error:
            self._troubles.append(str(error))
            self._take({"what": what, "time": self._clock(), **facts})
        self._catch_up()

    def _catch_up(self) -> None:
        """Know what the ledger says, whoever wrote it."""
        try:
            news = self._ledger.news()
        except TraceError as error:
            self._troubles.append(str(error))
            return
        for entry in news:
            self._take(entry)

    def _take(self, entry: Entry) -> None:
        what = entry["what"]
        self._decisions += what in _DECIDED
        if what == "started":
            self._started[entry["machine"]] = entry
            self._known[entry["machine"]] = MachineState.RUNNING
        elif what in _ENDS:
            self._known[entry["machine"]] = MachineState(what)
        elif what == "node failed":
            self._down.add(entry["node"])
        elif what == "node recovered":
            self._down.discard(entry["node"])


_FATES: Final = {
    MachineState.ENDED: "its guest switched off",
    MachineState.STOPPED: "on request",
    MachineState.LOST: "its process is gone",
}
_ENDS: Final = tuple(state.value for state in _FATES)
_DECIDED: Final = ("started", "move", "stays")
