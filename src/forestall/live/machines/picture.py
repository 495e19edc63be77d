"""What is there now, as the engine sees it: nodes, the machines on them, and what is foreseen.

Before each decision the engine is told anew what is really there, so that nothing it believes can
drift away from what runs; what it decides is the same code as in simulations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from forestall._lazy import lazily
from forestall.model.errors import ParameterError
from forestall.model.virtual import PROCESSOR, TaskDecision, TaskEvent, TaskEventKind

with lazily():
    from forestall.decide.virtual import placement_kernels
    from forestall.engine.virtual import engine, state

Strategy = Literal["best-fit", "first-fit", "random"]


@dataclass(frozen=True)
class PlacementPlan:
    """The nodes there are, and how machines are placed on them.

    Attributes
    ----------
    nodes : processors of each node by name; their order settles ties
    strategy : how nodes are chosen
    alpha : weight of capacity in best-fit; below 0: dynamic
    machine_processors : processors that each machine gets, whole or not at all
    lead : s before a predicted failure at which machines leave the node
    transfer : s that a migration is reckoned to take
    horizon : s that a machine without a deadline is reckoned to run on
    retry : s after which a machine that could not be moved is tried again
    seed : of the strategy random
    """

    nodes: Mapping[str, float]
    strategy: Strategy = "best-fit"
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
    """The engine, told of a situation; gives its decisions with names in the place of numbers.

    The engine places tasks itself, so it is led to where they are: all nodes are down at first and
    come back one by one, each filled up before the next. A node that is closed stays full, and so
    does one that holds more machines than it has processors for.
    """

    def __init__(self, plan: PlacementPlan, situation: Situation) -> None:
        self._names = list(plan.nodes)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._plan = plan
        self._situation = situation
        self._jobs: dict[str, int] = {}
        self._owners: dict[int, str] = {}
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
                int(placement_kernels.STRATEGIES[plan.strategy]), plan.alpha, 1, plan.transfer
            ),
            rules,
            rate=plan.rate,
            least=plan.rate,
            generator=np.random.default_rng((plan.seed, situation.decisions)),
        )
        self._lead_in()

    def leave(self, node: str) -> list[tuple[str, TaskDecision]]:
        """Return what to do with the machines of a node that is to be left."""
        decisions = self._tell(TaskEventKind.LEAVE_DUE, self._numbers[node])
        return [(self._owners[one.job], one) for one in decisions]

    def place(self, machine: str, need: Need) -> TaskDecision | None:
        """Return where a new machine goes; None where no node has room."""
        self._add(machine, need)
        self._tell(TaskEventKind.SUBMITTED, self._jobs[machine])
        placed = self._tell(TaskEventKind.PASS, 0)
        return next((one for one in placed if one.job == self._jobs[machine]), None)

    def name(self, number: int) -> str:
        """Return the name of a node."""
        return self._names[number]

    def why(self, decision: TaskDecision) -> str:
        """Return the reason in words, without the numbers that stand for names and times."""
        return _WORDS.get(decision.reason.name, decision.why)

    def _lead_in(self) -> None:
        situation = self._situation
        for number in range(len(self._names)):
            self._tell(TaskEventKind.NODE_FAILED, number, at=situation.now)
        fillers: list[tuple[int, int]] = []
        for number, name in enumerate(self._names):
            if name in situation.foreseen:
                self._tell(TaskEventKind.FORESEEN, number, at=situation.foreseen[name])
            if name in situation.doubtful:
                self._tell(TaskEventKind.LEAVE_DUE, number)
            if name in situation.down:
                continue
            self._tell(TaskEventKind.NODE_RECOVERED, number)
            filled = self._fill(name, situation.machines.get(name, {}))
            if name not in situation.closed:
                fillers += filled
        for job, count in fillers:
            for task in range(count):
                self._tell(TaskEventKind.TASK_ENDED, self._engine.task_number(job, task))

    def _fill(self, node: str, machines: Mapping[str, Need]) -> list[tuple[int, int]]:
        """Place the machines of a node, and then others until it is full; returns those."""
        room = self._plan.room(node)
        free = max(room - len(machines), 0)
        for machine, need in list(machines.items())[:room]:
            self._add(machine, need)
            self._place(self._jobs[machine])
        if not free:
            return []
        now = self._situation.now
        filler = self._engine.add_job(tasks=free, work=1, submit=now, deadline=now + 1)
        self._place(filler)
        return [(filler, free)]

    def _place(self, job: int) -> None:
        self._tell(TaskEventKind.SUBMITTED, job)
        placed = self._tell(TaskEventKind.PASS, 0)
        assert placed, "there is room"

    def _add(self, machine: str, need: Need) -> None:
        now = self._situation.now
        work, deadline = need.on(self._plan, now)
        job = self._engine.add_job(tasks=1, work=work, submit=now, deadline=deadline)
        self._jobs[machine] = job
        self._owners[job] = machine

    def _tell(self, kind: TaskEventKind, key: int, *, at: int = -1) -> Sequence[TaskDecision]:
        now = self._situation.now
        return self._engine.handle([TaskEvent(now, kind, key, at)], now)


_WORDS: Final = {
    "QUALIFIED": "it has the capacity, and no failure is foreseen before the deadline",
    "WITH_ONE_MIGRATION": "with one migration more it can do the work by the deadline",
    "LONGEST_LEFT": "no node qualifies; it is foreseen to live longest",
    "DRAWN": "drawn by chance",
    "FAILURE_PREDICTED": "its node is to be left",
    "NOWHERE_TO_GO": "no other node has room",
    "NO_TIME_LEFT": "a move would not end before its deadline",
    "ARRIVING": "it is just arriving",
}
