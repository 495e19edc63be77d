"""What a run of virtual machines leaves behind, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.model.cleaning import Cleaning
from forestall.model.failures import Failures
from forestall.model.jobs import Jobs
from forestall.model.predictions import Predictions
from forestall.simulate.virtual.parameters import VirtualParameters

Int = npt.NDArray[np.int64]


class Begun(IntEnum):
    """How a stay of a task on a node began."""

    PLACED = 0
    MIGRATED = 1
    RESTARTED = 2


class Ended(IntEnum):
    """How a stay of a task on a node ended."""

    COMPLETED = 0
    MOVED = 1
    ABORTED = 2
    STOPPED = 3
    LATE = 4
    CANCELLED = 5


class MoveEnd(IntEnum):
    """What became of a migration."""

    ARRIVED = 0
    TARGET_FAILED = 1
    SOURCE_FAILED = 2
    ENDED_FIRST = 3
    DEADLINE_FIRST = 4


RUN: Final = np.dtype(
    [
        ("job", "i4"),
        ("task", "i4"),
        ("node", "i4"),
        ("begun", "i2"),
        ("ended", "i2"),
        ("start", "i8"),
        ("runs_from", "i8"),
        ("end", "i8"),
        ("rate", "i8"),
        ("work", "i8"),
        ("lost", "i8"),
        ("checkpoints", "i8"),
    ]
)
"""A stay of a task on a node: position of the job, number of the task in it, node; how it began and
ended; [start, end) in which its rate is held there, s, and since when it makes progress there;
rate, in thousandths of a processor; work done in this stay and work lost at its end (since the
task's last start, restart or saved checkpoint, in earlier stays too), in thousandths of a
processor-second; checkpoints completed in it. LATE is completed after the deadline; CANCELLED a
reserved target that was never run on (pre-copy)."""

MOVE: Final = np.dtype(
    [
        ("time", "i8"),
        ("end", "i8"),
        ("predicted", "i8"),
        ("job", "i4"),
        ("task", "i4"),
        ("source", "i4"),
        ("target", "i4"),
        ("outcome", "i8"),
    ]
)
"""A migration: when it began and when it ended or broke, s; the predicted time that it fled, or -1;
job, task, nodes; what became of it."""

STRUCK: Final = np.dtype([("time", "i8"), ("number", "i8"), ("tasks", "i8"), ("lost", "i8")])
"""A failure that was played: when, s; its position in the failure log; tasks on the node then; work
lost by them, in thousandths of a processor-second."""

FATE: Final = np.dtype(
    [("start", "i8"), ("finish", "i8"), ("done", "i8"), ("late", "i8"), ("dropped", "i8")]
)
"""What became of a job: first start of a task and last end of one, s (-1: dropped); tasks completed
by the deadline, and after it; whether it was dropped waiting."""


@dataclass(frozen=True)
class VirtualWorkload:
    """Jobs as they will be simulated.

    Attributes
    ----------
    jobs : in submit order; `size` is the number of tasks, `runtime` at the full rate, s
    deadline : int64[n], s
    work : int64[n], of each task of a job, thousandths of a processor-second
    cleaning : what was left out
    """

    jobs: Jobs
    deadline: Int
    work: Int
    cleaning: Cleaning


@dataclass(frozen=True)
class TaskLog:
    """What the engine was told and decided, for `events.csv` and `decisions.csv`; empty unless
    asked for. The dtypes are those of `forestall.engine.virtual_state`."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]


@dataclass(frozen=True)
class VirtualOutcome:
    """What happened.

    Attributes
    ----------
    workload, failures, predictions, parameters : what was simulated
    jobs : FATE[n]
    runs : RUN[m] in order of their ends (those of one second as they came)
    moves : MOVE[k] in order of their beginning
    struck : STRUCK[f], the failures that happened while there were jobs
    log : events and decisions, empty unless asked for
    events : number of events
    end : the last second in which something happened to a job
    """

    workload: VirtualWorkload
    failures: Failures
    predictions: Predictions
    parameters: VirtualParameters
    jobs: npt.NDArray[Any]
    runs: npt.NDArray[Any]
    moves: npt.NDArray[Any]
    struck: npt.NDArray[Any]
    log: TaskLog
    events: int
    end: int
