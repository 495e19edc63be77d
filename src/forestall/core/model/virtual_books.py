"""What became of tasks in virtual machines, written down: stays on nodes, migrations, failures."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np


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
"""A migration: when it began and when it ended or broke, s; the predicted time that it fled, FAR
where it fled none; job, task, nodes; what became of it."""

STRUCK: Final = np.dtype([("time", "i8"), ("number", "i8"), ("tasks", "i8"), ("lost", "i8")])
"""A failure that was played: when, s; its position in the failure log; tasks on the node then; work
lost by them, in thousandths of a processor-second."""
