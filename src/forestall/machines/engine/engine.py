"""The engine for tasks in virtual machines as Python drives it: events in, decisions out.

A live coordinator and the replay of a log call it; the simulator's compiled loop calls the same
functions directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.engine import kept
from forestall.core.engine.contract import (
    Stories,
    Transitions,
    Watch,
    check_key,
    check_state,
    in_order,
    whole,
)
from forestall.core.engine.growth import longer
from forestall.core.files.held import Held
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.model.virtual import (
    FAR,
    PROCESSOR,
    TaskDecision,
    TaskDecisionKind,
    TaskEvent,
    TaskEventKind,
    TaskReason,
)
from forestall.core.model.virtual_books import MOVE, RUN, STRUCK
from forestall.machines.engine import entry_kernels as entries
from forestall.machines.engine import seen_entry_kernels as seen
from forestall.machines.engine import state as states
from forestall.machines.engine.kept_state import beside, taken_up
from forestall.machines.engine.state import (
    NEW,
    RUNNING,
    Books,
    TaskRules,
    TaskState,
    grown,
    new_task_state,
)
from forestall.machines.rules.fleet_kernels import LEAST, Fleet
from forestall.machines.rules.own import OwnStrategy
from forestall.machines.rules.placement_kernels import RANDOM, Choosing

_FIELDS = ("job", "task", "source", "node", "rate", "deadline", "at")
_K: Final = TaskEventKind
_RUNS: Final = {("RUNNING", "RUNNING"), ("RUNNING", "DONE")}
"""A job goes on, or ends with its last task."""

JOBS: Final = Transitions(
    "job",
    ("NEW", "WAITING", "RUNNING", "DONE"),
    {
        _K.SUBMITTED: {("NEW", "WAITING")},
        _K.PASS: {("WAITING", "RUNNING")},
        _K.TASK_ENDED: _RUNS,
        _K.MIGRATION_ENDED: {("RUNNING", "RUNNING")},
        _K.MIGRATION_FAILED: {("RUNNING", "RUNNING")},
        _K.NODE_FAILED: {("RUNNING", "DONE")},
        _K.DEADLINE: {("WAITING", "DONE"), ("DONE", "DONE"), *_RUNS},
        _K.STARTED: {("NEW", "RUNNING"), ("WAITING", "RUNNING"), ("RUNNING", "RUNNING")},
        _K.CANCELLED: {("WAITING", "DONE"), ("RUNNING", "DONE")},
        _K.TASK_FAILED: _RUNS,
        _K.START_REFUSED: {("RUNNING", "RUNNING")},
        _K.REQUEUED: {("RUNNING", "RUNNING")},
        _K.MOVE_DUE: {("RUNNING", "RUNNING")},
    },
)
NODES: Final = Transitions(
    "node",
    ("DOWN", "UP", "DRAINED"),
    {
        _K.NODE_FAILED: {("UP", "DOWN"), ("DRAINED", "DOWN"), ("DOWN", "DOWN")},
        # Outages may overlap: the end of the first is not that of the last.
        _K.NODE_RECOVERED: {("DOWN", "UP"), ("DOWN", "DOWN"), ("UP", "UP"), ("DRAINED", "DRAINED")},
        _K.NODE_RETURNED: {("DOWN", "UP"), ("DRAINED", "UP"), ("UP", "UP")},
        _K.NODE_DRAINED: {("UP", "DRAINED"), ("DOWN", "DRAINED"), ("DRAINED", "DRAINED")},
        _K.FORESEEN: {("UP", "UP"), ("DOWN", "DOWN"), ("DRAINED", "DRAINED")},
        _K.DOUBTED: {("UP", "UP"), ("DOWN", "DOWN"), ("DRAINED", "DRAINED")},
        _K.LEAVE_DUE: {("UP", "UP"), ("DOWN", "DOWN"), ("DRAINED", "DRAINED")},
        _K.OVERLOADED: {("UP", "UP"), ("DOWN", "DOWN"), ("DRAINED", "DRAINED")},
    },
)
_CLASSES: Final = (TaskState, Fleet, Choosing, TaskRules, Books)


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
    >>> from forestall.machines.rules.placement_kernels import BEST_FIT
    >>> choosing = Choosing(strategy=int(BEST_FIT), alpha=0.5, migrates=1, transfer=12)
    >>> rules = TaskRules(0, 12, 0, 1, 0, 0, 3600, 720)
    >>> engine = VirtualEngine([1000, 1000], choosing, rules)
    >>> job = engine.add_job(tasks=1, work=600_000, submit=0, deadline=1200)
    >>> new = [TaskEvent(0, TaskEventKind.SUBMITTED, job), TaskEvent(0, TaskEventKind.PASS, 0)]
    >>> [one.node for one in engine.handle(new, 0)]
    [0]
    >>> _ = engine.handle([TaskEvent(1, TaskEventKind.FORESEEN, 0, 100)], 1)
    >>> [(one.kind.name, one.node, one.why)
    ...     for one in engine.handle([TaskEvent(88, TaskEventKind.LEAVE_DUE, 0)], 88)]
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
        self._begin(validate)

    def _begin(self, validate: bool) -> None:
        self.now = -FAR
        self._stories = Stories()
        self._watch = Watch((JOBS, NODES), self._states) if validate else None

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
        made._state, made._generator = state, generator
        made._own = own
        made._jobs, made._tasks = len(state.jobs), len(state.places)
        made._begin(validate)
        return made

    def _states(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        nodes = self._state.fleet.nodes
        states_now = np.where(nodes["up"] != 0, 1 + (nodes["closed"] != 0), 0)
        return np.asarray(self._state.jobs["status"][: self._jobs]), states_now.astype(np.int64)

    def job_state(self, job: int) -> str:
        """Return the state of a job, one of `JOBS.states`."""
        return JOBS.states[int(self._state.jobs["status"][job])]

    def node_state(self, node: int) -> str:
        """Return the state of a node, one of `NODES.states`."""
        one = self._state.fleet.nodes[node]
        return NODES.states[1 + int(one["closed"] != 0) if one["up"] else 0]

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

    def target_of(self, job: int, task: int) -> int:
        """Return the node that a task is moving to, -1 where it is not."""
        place = int(self._state.places[self.task_number(job, task)])
        return -1 if place < 0 else int(self._state.vms["target"][place])

    def ends_at(self, job: int, task: int) -> int:
        """Return when a task that runs will end where it is, s."""
        place = int(self._state.places[self.task_number(job, task)])
        assert place >= 0, "the task does not run"
        return int(entries.ends_at(self._state, place))

    def handle(self, events: Iterable[TaskEvent], now: int) -> list[TaskDecision]:
        """Take what happened at `now`, in the order of `TaskEventKind.rank`, and return what should
        be done. After the events of a second comes one PASS, by which what waits is placed.

        Raises ParameterError for an event that cannot happen: of another second, of an unknown job,
        task or node, a start where there is no room; TransitionError, with the story of the job or
        node, for one that its state rules out. The events before it are taken in.
        """
        ordered = in_order(events, now, self.now, _rank)
        decisions: list[TaskDecision] = []
        for event in ordered:
            self._check(event)
            self.now = now
            decisions += self._one(event)
        return decisions

    def _one(self, event: TaskEvent) -> list[TaskDecision]:
        while not entries.has_room(self._state):
            self._state = grown(self._state, self._generator)
        state = self._state
        state.at[states.HELD] = 0
        step = _STEPS.get(event.kind)
        if event.kind is TaskEventKind.STARTED:
            self._started(event)
        elif step is not None:
            step(state, event)
        else:
            at = event.at
            if event.kind is TaskEventKind.NODE_FAILED and at < 0:
                at = FAR  # it returns by an event of its own
            entries.take(state, int(event.kind), event.key, at, event.time)
        self._note(event)
        if self._own is not None:
            self._own.asked.check()
        count = int(state.at[states.HELD])
        return [self._decision(state.out[i], event.time) for i in range(count)]

    def _started(self, event: TaskEvent) -> None:
        """A task is seen to run: as it was asked for, elsewhere, or where nobody asked for it."""
        state, place = self._state, int(self._state.places[event.key])
        if place < 0:
            seen.start_seen(state, self._job_of(event), event.node, event.time)
        elif int(state.vms["node"][place]) != event.node:
            seen.move_seen(state, event.key, event.node, event.time)

    def _note(self, event: TaskEvent) -> None:
        """Write an event into the stories, and hold it to the tables of legal changes."""
        kind, name, now = event.kind, event.kind.name, event.time
        if kind.about_node:
            self._stories.tell("node", event.key, self.node_state(event.key), now, name)
        elif kind is not TaskEventKind.PASS:
            job = self._job_of(event)
            self._stories.tell("job", job, self.job_state(job), now, name)
        if self._watch is not None:
            self._watch.after(kind, now)

    def _job_of(self, event: TaskEvent) -> int:
        """Return the job that an event is about, or a task of which."""
        if event.kind.about_job:
            return event.key
        first = self._state.jobs["first"][: self._jobs]
        return int(np.searchsorted(first, event.key, side="right")) - 1

    def _decision(self, row: np.void, time: int) -> TaskDecision:
        return TaskDecision(
            time,
            TaskDecisionKind(int(row["kind"])),
            TaskReason(int(row["reason"])),
            **whole(row, _FIELDS),
        )

    def _check(self, event: TaskEvent) -> None:
        state, kind = self._state, event.kind
        if kind is TaskEventKind.PASS:
            return
        if kind.about_node:
            check_key(event.key, len(state.fleet.nodes), "node")
            check_state(NODES, event, self.node_state(event.key), self._stories)
            return
        check_key(event.key, *((self._jobs, "job") if kind.about_job else (self._tasks, "task")))
        job = self._job_of(event)
        check_state(JOBS, event, self.job_state(job), self._stories, number=job)
        if kind is TaskEventKind.STARTED:
            self._check_seen(event, job)
        elif not kind.about_job and state.places[event.key] < 0:
            self._refuse(event, "a task that runs", job)

    def _check_seen(self, event: TaskEvent, job: int) -> None:
        """Raise an error where a task was seen to start on a node without room, or with others of
        its job."""
        state = self._state
        check_key(event.node, len(state.fleet.nodes), "node")
        if state.jobs["tasks"][job] != 1:
            raise ParameterError("event", event, "the task of a job that has no other")
        place = int(state.places[event.key])
        if place >= 0 and int(state.vms["node"][place]) == event.node:
            return
        if place < 0 and state.jobs["status"][job] == RUNNING:
            self._refuse(event, "a task that runs, or whose job waits", job)
        # A drained node may be where somebody else started it.
        one = state.fleet.nodes[event.node]
        if not one["up"] or one["free"] < state.fleet.at[LEAST] or one["room"] <= 0:
            story = self._stories.of("node", event.node)
            raise TransitionError(
                event, "a node that is up and has room", f"node {event.node}", story
            )

    def _refuse(self, event: TaskEvent, allowed: str, job: int) -> None:
        raise TransitionError(event, allowed, f"job {job}", self._stories.of("job", job))

    # ----------------------------------------------------------------------------- snapshots

    def snapshot(self) -> dict[str, Any]:
        """Return all that later decisions depend on, as plain data that goes through JSON. Not a
        strategy in Python."""
        draws = None if self._generator is None else self._generator.bit_generator.state
        facts = {
            "now": self.now,
            "jobs": self._jobs,
            "tasks": self._tasks,
            "draws": draws,
            "stories": self._stories.as_list(),
            "state": kept.packed(self._state),
        }
        return kept.headed("virtual", facts)

    @classmethod
    def restore(
        cls,
        snapshot: Mapping[str, Any],
        *,
        generator: np.random.Generator | None = None,
        own: OwnStrategy | None = None,
        validate: bool = False,
    ) -> Self:
        """Return the engine of a snapshot: told the same events, it takes the same decisions as one
        that never stopped. A strategy in Python is given again, and a
        generator, which goes on where it was. Raises ParameterError for what is
        no snapshot of this engine."""
        kept.check_head(snapshot, "virtual")
        made, held = cls.__new__(cls), Held(snapshot)
        with kept.whole():
            unpacked: TaskState = kept.unpacked(snapshot["state"], _CLASSES)
            state = taken_up(unpacked, asked=own is not None)
            if own is not None:
                state = state._replace(choosing=state.choosing._replace(own=own.asked.address))
            made._state, made._own = state, own
            made._generator = kept.gone_on(generator, snapshot["draws"])
            made._begin(validate)
            made.now, made._jobs, made._tasks = beside(held, state)
            made._stories = Stories.of_list(snapshot["stories"])
        return made


def _rank(kind: TaskEventKind) -> int:
    return kind.rank


_STEPS: Final[dict[TaskEventKind, Callable[[TaskState, TaskEvent], None]]] = {
    TaskEventKind.CANCELLED: lambda state, event: seen.take_back(state, event.key, event.time),
    TaskEventKind.TASK_FAILED: lambda state, event: seen.fail_task(state, event.key, event.time),
    TaskEventKind.START_REFUSED: lambda state, event: seen.send_back(state, event.key, event.time),
    TaskEventKind.REQUEUED: lambda state, event: seen.send_back(state, event.key, event.time),
    TaskEventKind.NODE_DRAINED: lambda state, event: seen.drain(state, event.key),
    TaskEventKind.DOUBTED: lambda state, event: seen.doubt(state, event.key),
    TaskEventKind.NODE_RETURNED: lambda state, event: seen.give_back(state, event.key),
    TaskEventKind.MOVE_DUE: lambda state, event: seen.consider_move(state, event.key, event.time),
}
"""What only real machines bring."""
