"""The engine for tasks in virtual machines as Python drives it: one event in, decisions out.

A live coordinator and the replay of a log call it one event at a time; the simulator's compiled
loop calls the same functions directly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from forestall._compile import records
from forestall.decide.virtual.own import OwnStrategy
from forestall.decide.virtual.placement_kernels import RANDOM, Choosing
from forestall.engine.contract import Transitions, Watch, check_key, check_time, whole
from forestall.engine.growth import longer
from forestall.engine.virtual import entry_kernels as entries
from forestall.engine.virtual import state as states
from forestall.engine.virtual.state import (
    DONE,
    NEW,
    RUNNING,
    WAITING,
    Books,
    TaskRules,
    TaskState,
    grown,
    new_task_state,
)
from forestall.model.errors import ParameterError
from forestall.model.virtual import (
    FAR,
    PROCESSOR,
    TaskDecision,
    TaskDecisionKind,
    TaskEvent,
    TaskEventKind,
    TaskReason,
)
from forestall.model.virtual_books import MOVE, RUN, STRUCK

_FIELDS = ("job", "task", "source", "node", "rate", "deadline", "at")
_BEFORE = {
    TaskEventKind.SUBMITTED: ((NEW,), "a job that is new"),
    TaskEventKind.DEADLINE: ((WAITING, RUNNING, DONE), "a job that was submitted"),
}

JOBS = Transitions(
    "job",
    ("NEW", "WAITING", "RUNNING", "DONE"),
    {
        TaskEventKind.SUBMITTED: {("NEW", "WAITING")},
        TaskEventKind.PASS: {("WAITING", "RUNNING")},
        TaskEventKind.TASK_ENDED: {("RUNNING", "DONE")},
        TaskEventKind.NODE_FAILED: {("RUNNING", "DONE")},
        TaskEventKind.DEADLINE: {("WAITING", "DONE"), ("RUNNING", "DONE")},
    },
)
NODES = Transitions(
    "node",
    ("DOWN", "UP"),
    {
        TaskEventKind.NODE_FAILED: {("UP", "DOWN")},
        TaskEventKind.NODE_RECOVERED: {("DOWN", "UP")},
    },
)


class VirtualEngine:
    """Chooses nodes for tasks, and moves them before nodes fail. It never acts and never looks at
    a clock.

    Parameters
    ----------
    capacity : thousandths of a processor of each node
    choosing, rules : see `placement_kernels.Choosing` and `virtual_state.TaskRules`
    rate, least : thousandths of a processor that a task can use at most, and must be given at least
    generator : draws for random-select; others need none
    validate : hold every event to the tables of legal changes

    Examples
    --------
    >>> from forestall.decide.virtual.placement_kernels import BEST_FIT
    >>> choosing = Choosing(strategy=int(BEST_FIT), alpha=0.5, migrates=1, transfer=12)
    >>> rules = TaskRules(0, 12, 0, 1, 0, 0, 3600, 720)
    >>> engine = VirtualEngine([1000, 1000], choosing, rules)
    >>> job = engine.add_job(tasks=1, work=600_000, submit=0, deadline=1200)
    >>> engine.handle(TaskEvent(0, TaskEventKind.SUBMITTED, job))
    []
    >>> [one.node for one in engine.handle(TaskEvent(0, TaskEventKind.PASS, 0))]
    [0]
    >>> _ = engine.handle(TaskEvent(1, TaskEventKind.FORESEEN, 0, 100))
    >>> [(one.kind.name, one.node, one.why)
    ...     for one in engine.handle(TaskEvent(88, TaskEventKind.LEAVE_DUE, 0))]
    [('MIGRATE', 1, 'node 0 is predicted to fail at 100')]
    """

    def __init__(
        self,
        capacity: Sequence[int] | npt.NDArray[np.int64],
        choosing: Choosing,
        rules: TaskRules,
        *,
        rate: int = PROCESSOR,
        least: int = PROCESSOR // 10,
        generator: np.random.Generator | None = None,
        validate: bool = False,
    ) -> None:
        if choosing.strategy == RANDOM and generator is None:
            raise ParameterError("generator", generator, "one, where nodes are drawn by chance")
        room = np.asarray(capacity, dtype=np.int64)
        if len(room) == 0 or int(room.min()) < least:
            raise ParameterError(
                "capacity", room.tolist(), f"nodes of at least {least} thousandths"
            )
        books = Books(records(256, RUN), records(64, MOVE), records(64, STRUCK))
        self._state: TaskState = new_task_state(room, rate, least, choosing, rules, books)
        self._generator: np.random.Generator | None = generator
        self._own: OwnStrategy | None = None
        self._jobs = self._tasks = 0
        self._watch = Watch((JOBS, NODES), self._states) if validate else None
        self.now = -FAR

    @property
    def state(self) -> TaskState:
        """The arrays behind everything, with room for more."""
        return self._state

    @classmethod
    def of(
        cls,
        state: TaskState,
        generator: np.random.Generator,
        own: OwnStrategy | None = None,
        *,
        validate: bool = False,
    ) -> VirtualEngine:
        """Return the engine of a state with all its jobs, as the simulator makes it; further draws
        come from `generator`, and `own` is the strategy that the state asks, where it is one in
        Python."""
        made = cls.__new__(cls)
        made._state, made._generator, made.now = state, generator, -FAR
        made._own = own
        made._jobs, made._tasks = len(state.jobs), len(state.places)
        made._watch = Watch((JOBS, NODES), made._states) if validate else None
        return made

    def _states(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        up = np.asarray(self._state.fleet.nodes["up"] != 0, dtype=np.int64)
        return np.asarray(self._state.jobs["status"][: self._jobs]), up

    def add_job(self, *, tasks: int, work: int, submit: int, deadline: int) -> int:
        """Make a job known, and return its position; it waits when its event SUBMITTED comes.

        Parameters: tasks; work of each, thousandths of a processor-second; times, s.
        """
        slots = len(self._state.vms)
        for name, value, most in (("tasks", tasks, slots), ("work", work, 2**62)):
            if not 1 <= value <= most:
                raise ParameterError(name, value, f"a whole number from 1 to {most}")
        if deadline <= submit:
            raise ParameterError("deadline", deadline, f"a time after the submission at {submit}")
        self._make_room(tasks)
        number = self._jobs
        job = self._state.jobs[number]
        job["submit"], job["deadline"], job["tasks"], job["left"] = submit, deadline, tasks, tasks
        job["work"], job["first"], job["status"] = work, self._tasks, NEW
        for name in ("start", "finish", "next", "before", "vm"):
            job[name] = -1
        self._state.at[states.LEFT] += 1
        self._jobs += 1
        self._tasks += tasks
        return number

    def _make_room(self, tasks: int) -> None:
        state = self._state
        jobs, draws = longer(state.jobs, self._jobs + 1), state.draws
        if self._generator is not None and self._tasks + tasks > len(draws):
            draws = np.concatenate((draws, self._generator.random(len(draws) + tasks)))
        self._state = state._replace(
            jobs=jobs, places=longer(state.places, self._tasks + tasks, -1), draws=draws
        )

    def task_number(self, job: int, task: int) -> int:
        """Return a task's number among all tasks, the key of events about it."""
        return int(self._state.jobs["first"][job]) + task

    def node_of(self, job: int, task: int) -> int:
        """Return the node that a task is on, -1 where it does not run."""
        place = int(self._state.places[self.task_number(job, task)])
        return -1 if place < 0 else int(self._state.vms["node"][place])

    def ends_at(self, job: int, task: int) -> int:
        """Return when a task that runs will end where it is, s."""
        place = int(self._state.places[self.task_number(job, task)])
        assert place >= 0, "the task does not run"
        return int(entries.ends_at(self._state, place))

    def handle(self, event: TaskEvent) -> list[TaskDecision]:
        """Return what should be done after this event; events come in order of time.

        After the events of a second comes one PASS, by which what waits is placed. Raises
        ParameterError for an event that cannot be.
        """
        self._check(event)
        self.now = event.time
        while not entries.has_room(self._state):
            self._state = grown(self._state, self._generator)
        entries.take(self._state, int(event.kind), event.key, event.at, event.time)
        if self._watch is not None:
            self._watch.after(event.kind, event.time)
        if self._own is not None:
            self._own.asked.check()
        count = int(self._state.at[states.HELD])
        return [self._decision(self._state.out[i], event.time) for i in range(count)]

    def _decision(self, row: np.void, time: int) -> TaskDecision:
        return TaskDecision(
            time,
            TaskDecisionKind(int(row["kind"])),
            TaskReason(int(row["reason"])),
            **whole(row, _FIELDS),
        )

    def _check(self, event: TaskEvent) -> None:
        state, kind = self._state, event.kind
        check_time(event.time, self.now)
        if kind == TaskEventKind.PASS:
            return
        if kind.about_node:
            check_key(event.key, len(state.fleet.nodes), "node")
            return
        if kind.about_job:
            allowed, text = _BEFORE[kind]
            known = 0 <= event.key < self._jobs
            if not known or int(state.jobs["status"][event.key]) not in allowed:
                raise ParameterError("key", event.key, text)
            return
        if not 0 <= event.key < self._tasks or state.places[event.key] < 0:
            raise ParameterError("key", event.key, "a task that runs")
