"""What is there now, as the engine sees it: nodes, the machines on them, and what is foreseen.

Before each decision the engine is told what differs from what it believed, so that nothing can
drift away from what runs; what it decides is the same code as in simulations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.core.model.virtual import (
    FAR,
    PROCESSOR,
    TaskDecision,
    TaskDecisionKind,
    TaskEvent,
    TaskEventKind,
    TaskReason,
)
from forestall.machines.rules.entries import LIVE_STRATEGIES

with lazily():
    from forestall.machines.engine import engine, state
    from forestall.machines.rules import placement_kernels


@dataclass(frozen=True)
class PlacementPlan:
    """The nodes there are, and how machines are placed on them.

    Attributes
    ----------
    nodes : processors of each node by name; their order settles ties
    strategy : how nodes are chosen, a name of `LIVE_STRATEGIES`
    alpha : weight of capacity in best-fit; below 0: dynamic
    machine_processors : processors that each machine gets, whole or not at all
    lead : s before a predicted failure at which machines leave the node
    transfer : s that a migration is reckoned to take
    horizon : s that a machine without a deadline is reckoned to run on
    retry : s after which a machine that could not be moved is tried again
    seed : of the strategy random
    """

    nodes: Mapping[str, float]
    strategy: str = "best-fit"
    alpha: float = 0.5
    machine_processors: float = 1.0
    lead: int = 60
    transfer: int = 2
    horizon: int = 86_400
    retry: int = 30
    seed: int = 1

    @property
    def rate(self) -> int:
        """What a machine gets, thousandths of a processor."""
        return round(self.machine_processors * PROCESSOR)

    def room(self, node: str) -> int:
        """Return how many machines a node has room for. Raises ParameterError for an unknown
        one."""
        if node not in self.nodes:
            raise ParameterError("node", node, f"one of the fleet: {', '.join(self.nodes)}")
        return round(self.nodes[node] * PROCESSOR) // self.rate


@dataclass(frozen=True)
class Need:
    """What a machine still has to do.

    Attributes
    ----------
    seconds : of running with all its processors; None: as long as there is time
    deadline : by when, s since 1970; None: none is known
    """

    seconds: int | None = None
    deadline: int | None = None

    def on(self, plan: PlacementPlan, now: int) -> tuple[int, int]:
        """Return work, thousandths of a processor-second, and deadline.

        A machine whose deadline has passed while it runs is worth saving as any other.
        """
        known = self.deadline is not None and self.deadline > now
        deadline = self.deadline if known and self.deadline is not None else now + plan.horizon
        span = deadline - now if self.seconds is None else self.seconds
        return max(span, 1) * plan.rate, deadline


@dataclass(frozen=True)
class Situation:
    """All that a decision rests on.

    Attributes
    ----------
    now : s since 1970
    machines : on each node, in order of their names, with what they need
    foreseen : predicted times of failures by node, s since 1970
    doubtful : nodes that are to be left
    closed : nodes that take nothing, whatever room they have; not the one that is being left
    down : nodes that have failed
    decisions : how many were taken before; strategy random draws anew for each
    """

    now: int
    machines: Mapping[str, Mapping[str, Need]] = field(default_factory=dict)
    foreseen: Mapping[str, int] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    down: frozenset[str] = frozenset()
    decisions: int = 0


class EnginePicture:
    """The engine of a fleet; gives its decisions with names instead of numbers.

    There is one engine for as long as the coordinator lives. At each look it is told what differs
    between what it believed and what is there (`see`): machines that started, moved or ended by
    whose hand ever, nodes that failed, were closed or came back, and other predictions. A machine
    on a node that has no room for it is not among those that the engine knows; it is known again
    when it is where there is room.
    """

    def __init__(self, plan: PlacementPlan, situation: Situation) -> None:
        self._names = list(plan.nodes)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._plan = plan
        self._now = situation.now
        self._jobs: dict[str, int] = {}
        self._deadlines: dict[str, int] = {}
        self._needs: dict[str, tuple[str, Need]] = {}
        self._told: dict[str, tuple[int, bool]] = {}
        rules = state.TaskRules(
            copy=max(plan.transfer, 1),
            standstill=0,
            backfill=1,
            stop=0,
            random_migrates=1,
            checkpointing=0,
            interval=3600,
            overhead=0,
        )
        self._engine = engine.VirtualEngine(
            [plan.room(name) * plan.rate for name in self._names],
            placement_kernels.Choosing(
                LIVE_STRATEGIES[plan.strategy].number, plan.alpha, 1, plan.transfer
            ),
            rules,
            rate=plan.rate,
            least=plan.rate,
            generator=np.random.default_rng((plan.seed, situation.decisions)),
        )
        self.see(situation)

    # ----------------------------------------------------------------------------- being told

    def see(self, situation: Situation) -> None:
        """Tell the engine what differs from what it believes."""
        self._now = max(situation.now, self._now)  # a clock may be set back
        there = {
            machine: (node, need)
            for node, machines in situation.machines.items()
            for machine, need in machines.items()
            if node not in situation.down
        }
        for machine in [one for one in self._jobs if one not in there]:
            self._forget(machine)
        for name in self._names:
            self._see_node(name, situation)
        self._needs = there
        for machine, (node, need) in there.items():
            self._see_machine(machine, node, need)

    def _see_node(self, name: str, situation: Situation) -> None:
        number = self._numbers[name]
        closed = "DRAINED" if name in situation.closed else "UP"
        now = "DOWN" if name in situation.down else closed
        if self._engine.node_state(number) != now:
            self._tell(_BECOMES[now], number)
            if now == "DOWN":
                self._told.pop(name, None)
        foreseen = situation.foreseen.get(name, FAR), name in situation.doubtful
        if self._told.get(name, (FAR, False)) != foreseen:
            self._tell(TaskEventKind.FORESEEN, number, at=foreseen[0])
            if foreseen[1]:
                self._tell(TaskEventKind.DOUBTED, number)
            self._told[name] = foreseen

    def _see_machine(self, machine: str, node: str, need: Need) -> None:
        number, job = self._numbers[node], self._jobs.get(machine)
        if job is not None and self._engine.job_state(job) != "RUNNING":  # its node had failed
            self._forget(machine)
            job = None
        if job is not None:
            self._see_move(job, number)
            if self._engine.node_of(job, 0) == number:
                return
        if int(self._engine.state.fleet.nodes["free"][number]) < self._plan.rate:
            if job is not None:
                self._forget(machine)
            return
        job = self._add(machine, need) if job is None else job
        self._tell(TaskEventKind.STARTED, self._engine.task_number(job, 0), node=number)

    def _see_move(self, job: int, number: int) -> None:
        """Tell what became of a move that was decided: the machine is there, or it is not."""
        target = self._engine.target_of(job, 0)
        if target >= 0:
            came = target == number
            kind = TaskEventKind.MIGRATION_ENDED if came else TaskEventKind.MIGRATION_FAILED
            self._tell(kind, self._engine.task_number(job, 0))

    def _forget(self, machine: str) -> None:
        job = self._jobs.pop(machine)
        if self._engine.job_state(job) in {"WAITING", "RUNNING"}:
            self._tell(TaskEventKind.CANCELLED, job)

    # ----------------------------------------------------------------------------- deciding

    def leave(self, node: str) -> list[tuple[str, TaskDecision]]:
        """Return what to do with the machines of a node that is to be left."""
        owners = {job: machine for machine, job in self._jobs.items()}
        decisions = self._tell(TaskEventKind.LEAVE_DUE, self._numbers[node])
        return [(owners[one.job], one) for one in decisions]

    def move(self, machine: str) -> TaskDecision:
        """Return what to do with one machine, which is to leave its node; whether it came there, or
        not, is seen at the next look."""
        node, need = self._needs[machine]
        if machine not in self._jobs:
            return self._move_unknown(machine, node, need)
        if self._deadlines[machine] != need.on(self._plan, self._now)[1]:
            self._forget(machine)
            self._see_machine(machine, node, need)
        task = self._engine.task_number(self._jobs[machine], 0)
        (decision,) = self._tell(TaskEventKind.MOVE_DUE, task)
        return decision

    def _move_unknown(self, machine: str, node: str, need: Need) -> TaskDecision:
        """Decide for a machine that its node has no room for: as for a new one."""
        placed, source = self.place(machine, need), self._numbers[node]
        if placed is None:
            reason = TaskReason.NOWHERE_TO_GO
            return TaskDecision(self._now, TaskDecisionKind.STAY, reason, -1, 0, source)
        self._forget(machine)
        return replace(placed, kind=TaskDecisionKind.MIGRATE, source=source)

    def place(self, machine: str, need: Need) -> TaskDecision | None:
        """Return where a new machine goes; None where no node has room."""
        if machine in self._jobs:
            self._forget(machine)
        job = self._add(machine, need)
        self._tell(TaskEventKind.SUBMITTED, job)
        placed = self._tell(TaskEventKind.PASS, 0)
        found = next((one for one in placed if one.job == job), None)
        if found is None:
            self._forget(machine)
        return found

    def name(self, number: int) -> str:
        """Return the name of a node."""
        return self._names[number]

    def why(self, decision: TaskDecision) -> str:
        """Return the reason in words, without the numbers that stand for names and times."""
        return _WORDS.get(decision.reason.name, decision.why)

    def _add(self, machine: str, need: Need) -> int:
        work, deadline = need.on(self._plan, self._now)
        job = self._engine.add_job(tasks=1, work=work, submit=self._now, deadline=deadline)
        self._jobs[machine], self._deadlines[machine] = job, deadline
        return job

    def _tell(
        self, kind: TaskEventKind, key: int, *, at: int = -1, node: int = -1
    ) -> Sequence[TaskDecision]:
        return self._engine.handle([TaskEvent(self._now, kind, key, at, node)], self._now)


_BECOMES: Final = {
    "UP": TaskEventKind.NODE_RETURNED,
    "DOWN": TaskEventKind.NODE_FAILED,
    "DRAINED": TaskEventKind.NODE_DRAINED,
}
"""What happened to a node that is in another state than was believed."""
_WORDS: Final = {
    "QUALIFIED": "it has the capacity, and no failure is foreseen before the deadline",
    "WITH_ONE_MIGRATION": "with one more migration it can do the work by the deadline",
    "LONGEST_LEFT": "no node qualifies; this one is predicted to fail last",
    "DRAWN": "drawn by chance",
    "FAILURE_PREDICTED": "its node must be vacated",
    "NOWHERE_TO_GO": "no other node has room",
    "NO_TIME_LEFT": "a move would not end before its deadline",
    "ARRIVING": "it is just arriving",
}
