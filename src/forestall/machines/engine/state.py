"""The state of the engine for tasks in virtual machines: one tuple of structured arrays."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of, records
from forestall.core.engine.growth import longer
from forestall.machines.rules.fleet_kernels import TAU, Fleet, new_fleet
from forestall.machines.rules.placement_kernels import BEST_FIT, RANDOM, Choosing

NEW, WAITING, RUNNING, DONE = map(np.int64, range(4))

JOB: Final = record_of(
    "submit deadline tasks work first status left done late dropped start finish next before vm"
)
"""A job: submit time and deadline, s; tasks; work of each, thousandths of a processor-second;
number of its first task among all tasks; status; tasks that have not ended; tasks completed by the
deadline, and after it; whether it was dropped; first start and last end, s (-1: none); the jobs
that wait next to it (-1: none); the first of its tasks that run (-1: none)."""

VM: Final = record_of(
    "job task node rate remaining kept start runs_from begun phase target target_rate "
    "moving_since move next_on_node before_on_node next_of_job before_of_job"
)
"""A task that runs: job, number in it, node, rate there; work left when it began to make progress
there, and what would be left after an abort (both thousandths of a processor-second); the stay's
start, and since when it makes progress, s; how the stay began; s of progress since the last
checkpoint at `runs_from`; where it is moving to while it runs on (-1: nowhere), the rate held there
and since when; the row of its last move (-1: none); its neighbours in the lists of its node and of
its job (-1: none)."""

WAIT: Final = np.dtype([("job", "i8"), ("task", "i8"), ("remaining", "i8")])
"""An aborted task that waits for its restart, with the work left."""

DECISION: Final = record_of("kind reason job task source node rate deadline at vm")
"""A decision as kernels write it; the fields are those of `virtual.TaskDecision`, and the
place of the task among those that run."""

EVENT: Final = record_of("time kind key at decisions")
"""One event that the engine was told, and how many decisions it answered with."""

HEAD, TAIL, LEFT, WAITS, HELD, RUNS, MOVES = range(7)
STRIKES, LEAVING, MORE, FREE, ENDED_AT, JOBS = range(7, 13)


class TaskRules(NamedTuple):
    """The parameters that decisions depend on besides `Choosing`, as whole numbers.

    copy, standstill: of a migration, s (copy 0: stop and copy); backfill, stop (at the deadline),
    random_migrates, checkpointing: 0 or 1; interval and overhead of checkpoints, s; limit of a
    node's load, thousandths of what it has (0: none), and s for which it may be above it; s that a
    move is believed to take before one was made, where that is learnt (-1: it is told), and the
    memory of a machine, MiB.
    """

    copy: int
    standstill: int
    backfill: int
    stop: int
    random_migrates: int
    checkpointing: int
    interval: int
    overhead: int
    limit: int = 0
    hold: int = 0
    believed: int = -1
    memory: float = 0.0


class Books(NamedTuple):
    """What happened, as the engine writes it down: RUN[capacity], MOVE[capacity],
    STRUCK[capacity] (see `core.model.virtual_books`)."""

    runs: npt.NDArray[Any]
    moves: npt.NDArray[Any]
    struck: npt.NDArray[Any]


class TaskState(NamedTuple):
    """JOB[jobs]; the fleet; how nodes are chosen; the rules; VM[slots]; int64[slots] free places in
    it; int64[tasks] the place of each task in it (-1: it does not run); WAIT[capacity];
    float64[tasks] draws for the tasks' first places (empty unless nodes are drawn), and
    float64[capacity] more of them; DECISION[capacity]; the books; int64[13] numbers, see the
    constants above; float64[3] what was learnt of moves (see `costs_kernels`)."""

    jobs: npt.NDArray[Any]
    fleet: Fleet
    choosing: Choosing
    rules: TaskRules
    vms: npt.NDArray[Any]
    spare: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    waits: npt.NDArray[Any]
    draws: npt.NDArray[np.float64]
    more: npt.NDArray[np.float64]
    out: npt.NDArray[Any]
    books: Books
    at: npt.NDArray[np.int64]
    costs: npt.NDArray[np.float64]


def new_task_state(
    capacity: npt.NDArray[np.int64],
    rate: int,
    least: int,
    choosing: Choosing,
    rules: TaskRules,
    books: Books,
    *,
    jobs: int = 16,
    tasks: int = 64,
    at_once: int | None = None,
    rooms: npt.NDArray[np.int64] | None = None,
) -> TaskState:
    """Return a state with empty nodes.

    Parameters
    ----------
    capacity : int64[nodes], thousandths of a processor; `rate`, `least`: what a task can use at
        most, and must be given at least
    choosing, rules, books : see there
    jobs, tasks : room for so many
    at_once : tasks that can run at a time, where that is known to be fewer than the nodes hold
    rooms : int64[nodes], how many tasks each node's memory holds; None where it does not count
    """
    fleet = new_fleet(
        capacity,
        rate,
        least,
        by_level=choosing.strategy == BEST_FIT,
        counted=choosing.strategy == RANDOM,
        rooms=rooms,
    )
    fleet.at[TAU] = rules.believed
    slots = int((capacity // rate + (capacity % rate >= least)).sum())
    slots = slots if at_once is None else min(slots, at_once)
    at = np.zeros(13, dtype=np.int64)
    at[HEAD] = at[TAIL] = at[ENDED_AT] = -1
    at[FREE] = slots
    vms = records(slots, VM)
    vms["job"] = -1
    return TaskState(
        records(jobs, JOB),
        fleet,
        choosing,
        rules,
        vms,
        np.arange(slots - 1, -1, -1),
        np.full(tasks, -1, dtype=np.int64),
        records(slots + 16, WAIT),
        np.zeros(0),
        np.zeros(0),
        records(2 * slots + 64, DECISION),
        books,
        at,
        np.array([0.0, 0.0, float(rules.believed)]),
    )


def grown(state: TaskState, generator: np.random.Generator | None) -> TaskState:
    """Return the state with more room where room is short; further draws come from `generator`,
    which random-select needs."""
    at, books, slots = state.at, state.books, len(state.vms)
    waits = longer(state.waits, int(at[WAITS]) + slots)
    more = state.more
    short = int(at[MORE]) + slots + 1 > len(more)
    if state.choosing.strategy == RANDOM and short:
        assert generator is not None, "nodes are drawn by chance"
        more = np.concatenate((more, generator.random(len(more) + 4 * slots + 64)))
    return state._replace(
        books=Books(
            longer(books.runs, int(at[RUNS]) + 2 * slots + 2),
            longer(books.moves, int(at[MOVES]) + slots + 1),
            longer(books.struck, int(at[STRIKES]) + 1),
        ),
        waits=waits,
        more=more,
        out=longer(state.out, 2 * slots + len(waits) + 64),
    )
