"""The coordinator: sees what runs, is told what is foreseen, and moves machines in time.

Source: Fu and Xu, ARES 2009, Section 2: coordinator, load manager and failure predictor. The load
manager's view is what the back end finds; the failure predictor's view is what was foreseen last.
Both are put before the engine at each decision, so a coordinator may be ended and started again
at any time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from forestall.live.backend import Backend, Moved, MoveError, Seen, State
from forestall.live.ledger import Entry, Ledger
from forestall.live.picture import Need, Picture, Plan, Situation
from forestall.model.errors import ForestallError, ParameterError
from forestall.model.virtual import TaskDecision, TaskDecisionKind

TRIES: Final = 3
"""Targets that are tried for a machine before it is left alone for a while."""


@dataclass(frozen=True)
class Outcome:
    """What became of one machine.

    Attributes
    ----------
    what : ``moved``, ``failed`` (a move that did not come off), ``stays``, ``ended``, ``stopped``,
        ``lost``
    machine, node : its name, and where it was
    target : where it moved to or should have; empty where nowhere
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

    Parameters
    ----------
    plan : nodes and how they are chosen
    backend : carries out what is decided
    ledger : where that is written down, and read again by the next coordinator
    clock : gives seconds since 1970
    """

    def __init__(
        self,
        plan: Plan,
        backend: Backend,
        ledger: Ledger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._ledger = ledger
        self._clock = clock
        self._foreseen: dict[str, int] = {}
        self._down: set[str] = set()
        self._refused: dict[str, float] = {}
        self._tried: dict[str, float] = {}
        self._known: dict[str, State] = {}
        self._started: dict[str, Entry] = {}
        self._catch_up()

    # ----------------------------------------------------------------------------- being told

    def foresee(self, node: str, at: float | None) -> None:
        """Take in when a node is predicted to fail, s since 1970; None: it is not any more."""
        self._plan.room(node)
        if at is None:
            self._foreseen.pop(node, None)
        else:
            self._foreseen[node] = math.floor(at)

    def node_failed(self, node: str) -> list[Outcome]:
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

    # ----------------------------------------------------------------------------- seeing

    def look(self) -> list[Outcome]:
        """Return which machines ended or were lost since the last look, and write that down."""
        self._catch_up()
        found = []
        for seen in self._backend.watch():
            if seen.state.alive:
                self._known[seen.machine] = State.RUNNING
            if seen.state.alive or self._known.get(seen.machine, seen.state) == seen.state:
                continue
            self._note(seen.state.value, machine=seen.machine, node=seen.node)
            self._tried.pop(seen.machine, None)
            found.append(Outcome(seen.state.value, seen.machine, seen.node, why=_FATES[seen.state]))
        return found

    def taken(self) -> dict[str, int]:
        """Return how many machines each node has; the load manager's view."""
        counts = dict.fromkeys(self._plan.nodes, 0)
        for seen in self._backend.watch():
            if seen.state.alive:
                counts[seen.node] = counts.get(seen.node, 0) + 1
        return counts

    def failing(self, now: float) -> list[str]:
        """Return the nodes that are to be left by now; the failure predictor's view."""
        lead = self._plan.lead
        return [
            node
            for node in self._plan.nodes
            if node not in self._down and now >= self._foreseen.get(node, math.inf) - lead
        ]

    # ----------------------------------------------------------------------------- acting

    def choose(self, machine: str, need: Need) -> tuple[str, str]:
        """Return the node on which a new machine should start, and why. Raises ParameterError where
        none has room."""
        now = int(self._clock())
        picture = Picture(self._plan, self._situation(now))
        decision = picture.place(machine, need)
        if decision is None:
            raise ParameterError("machine", machine, "room for one more; every node is full")
        return picture.name(decision.node), picture.why(decision)

    def started(self, machine: str, node: str, need: Need, why: str) -> None:
        """Write down that a machine was started, and what it has to do."""
        facts = {"runtime": need.seconds, "deadline": need.deadline}
        self._note("started", machine=machine, node=node, **facts, why=why)

    def check_room(self, node: str) -> None:
        """Raise ParameterError where a node has no room for one more machine, or has failed."""
        room = self._plan.room(node)
        if node in self._down:
            raise ParameterError("node", node, "a node that has not failed")
        if self.taken()[node] >= room:
            raise ParameterError("node", node, f"a node with room; it has its {room} machines")

    def stop(self, machine: str) -> None:
        """End a machine."""
        self._backend.stop(machine)
        self.look()

    def move(self, machine: str, node: str, why: str = "asked for") -> Outcome:
        """Move one machine to a node that has room; a failure is an outcome, too."""
        self.check_room(node)
        source = next((one.node for one in self._backend.watch() if one.machine == machine), "")
        return self._carry_out(machine, source, node, why)

    def step(self, only: str = "") -> list[Outcome]:
        """Look at what is there, and move machines off nodes that are to be left by now.

        A move that does not come off is decided anew, without the target that refused; after
        `TRIES` of them, or where there is nowhere to go, the machine is left alone for `retry` s.
        `only` leaves other nodes for later.
        """
        outcomes = self.look()
        for _ in range(TRIES):
            failed = False
            for node in self.failing(self._clock()):
                if only in ("", node):
                    done = self._leave(node)
                    failed = failed or any(one.what == "failed" for one in done)
                    outcomes += done
            if not failed:
                break
        later = self._clock() + self._plan.retry
        self._tried.update({one.machine: later for one in outcomes if one.what == "failed"})
        return outcomes

    def _leave(self, node: str) -> list[Outcome]:
        """Have it decided where the machines of a node go, and move them there one by one."""
        now = self._clock()
        situation = self._situation(int(now))
        there = situation.machines.get(node, {})
        if all(self._tried.get(machine, 0.0) > now for machine in there):
            return []
        picture = Picture(self._plan, situation)
        outcomes = []
        for machine, decision in picture.leave(node):
            outcome = self._answer(machine, node, decision, picture, situation.doubtful)
            if decision.kind == TaskDecisionKind.MIGRATE:
                came = outcome.what == "moved"
                picture.moved(machine, arrived=came, now=int(self._clock()))
            outcomes.append(outcome)
        return outcomes

    def _answer(
        self,
        machine: str,
        node: str,
        decision: TaskDecision,
        picture: Picture,
        doubtful: frozenset[str],
    ) -> Outcome:
        """Carry out one decision, unless the target is to be left as well."""
        if decision.kind == TaskDecisionKind.MIGRATE:
            target = picture.name(decision.node)
            if target not in doubtful:
                return self._carry_out(machine, node, target, self._failure_of(node))
            why = f"{target} is the best that is left, and no safer"
        else:
            why = picture.why(decision)
        self._tried[machine] = self._clock() + self._plan.retry
        self._note("stays", machine=machine, node=node, why=why)
        return Outcome("stays", machine, node, why=why)

    def _carry_out(self, machine: str, source: str, target: str, why: str) -> Outcome:
        self._note("move", machine=machine, node=source, target=target, why=why)
        try:
            moved = self._backend.migrate(machine, target)
        except MoveError as error:
            self._refused[target] = self._clock() + self._plan.retry
            facts = {"kind": error.why.value, "why": error.message, "alive": error.alive}
            self._note("failed", machine=machine, node=source, target=target, **facts)
            return Outcome("failed", machine, source, target, str(error))
        except ForestallError as error:  # another command is at work on it, or it ended meanwhile
            self._note("failed", machine=machine, node=source, target=target, why=str(error))
            return Outcome("failed", machine, source, target, str(error))
        figures = {
            "seconds": round(moved.seconds, 3),
            "gap": None if math.isnan(moved.gap) else round(moved.gap, 6),
            "reported": moved.reported,
            "bytes": moved.transferred,
            "rounds": moved.rounds,
        }
        self._note("moved", machine=machine, node=source, target=target, **figures)
        return Outcome("moved", machine, source, target, why, moved)

    # ----------------------------------------------------------------------------- what is known

    def _situation(self, now: int) -> Situation:
        machines: dict[str, dict[str, Need]] = {}
        for seen in self._backend.watch():
            if seen.state.alive:
                machines.setdefault(seen.node, {})[seen.machine] = self._need(seen, now)
        refusing = {node for node, until in self._refused.items() if until > now}
        return Situation(
            now,
            machines,
            dict(self._foreseen),
            frozenset(refusing.union(self.failing(now))),
            frozenset(self._down),
        )

    def _need(self, seen: Seen, now: int) -> Need:
        entry = self._started.get(seen.machine)
        if entry is None:
            return Need()
        seconds, since = entry["runtime"], int(entry["time"])
        left = None if seconds is None else max(seconds - (now - since), 1)
        return Need(left, entry["deadline"])

    def _failure_of(self, node: str) -> str:
        at = datetime.fromtimestamp(self._foreseen[node], UTC)
        return f"{node} is predicted to fail at {at:%Y-%m-%d %H:%M:%S}"

    def _note(self, what: str, **facts: Any) -> None:
        self._ledger.add(what, self._clock(), **facts)
        self._catch_up()

    def _catch_up(self) -> None:
        """Know what the ledger says, whoever wrote it."""
        for entry in self._ledger.news():
            what = entry["what"]
            if what == "started":
                self._started[entry["machine"]] = entry
                self._known[entry["machine"]] = State.RUNNING
            elif what in _ENDS:
                self._known[entry["machine"]] = State(what)
            elif what == "node failed":
                self._down.add(entry["node"])
            elif what == "node recovered":
                self._down.discard(entry["node"])


_FATES: Final = {
    State.ENDED: "its guest switched off",
    State.STOPPED: "on request",
    State.LOST: "its process is gone",
}
_ENDS: Final = tuple(state.value for state in _FATES)
