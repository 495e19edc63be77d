"""Tasks in virtual machines that share nodes: what happens to them, and what is decided.

Source: Fu and Xu, "Proactive resource management for failure resilient high performance computing
clusters", ARES 2009. A job is many tasks; each task runs in a virtual machine of its own, and has a
share of a node's processors, its rate. Rates and capacities are whole thousandths of a processor,
work is thousandths of a processor-second: sums of them are exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MOST_NODES, MOST_PROCESSORS, parse_size

PROCESSOR: Final = 1000
"""One processor, in the thousandths that rates and capacities are counted in."""

FAR: Final = 2**60
"""Stands for the time of a failure that is not foreseen: later than all others."""


class TaskEventKind(IntEnum):
    """What an engine is told; the value is the rank among events of the same second.

    Ties within a kind go by job and task, or by node. FORESEEN is a new prediction for a node;
    LEAVE_DUE comes `lead` seconds before the predicted time, or at once where a node is drained;
    OVERLOADED when a node has been above its limit of load for as long as that may be;
    MIGRATION_FAILED is a live migration that broke, the machine living on at its source.

    Only real machines bring the later ones. STARTED: a task is seen to run on a node, asked for or
    not, or to have been moved there; CANCELLED: a job is gone, whoever ended it; TASK_FAILED: a
    task failed by itself; START_REFUSED and REQUEUED: a task that was started, or ran, waits again;
    NODE_DRAINED: a node takes nothing any more, and what is on it runs on; NODE_RETURNED: a node is
    back, repaired or opened again, whatever was said before; MOVE_DUE: one task is to leave its
    node; DOUBTED: a node counts as failing until another prediction for it comes. No task has a
    reservation that it could run past: what it holds is its own until it ends.
    """

    TASK_ENDED = 0
    MIGRATION_ENDED = 1
    DEADLINE = 2
    NODE_RECOVERED = 3
    NODE_FAILED = 4
    FORESEEN = 5
    LEAVE_DUE = 6
    SUBMITTED = 7
    PASS = 8
    OVERLOADED = 9
    MIGRATION_FAILED = 10
    STARTED = 11
    CANCELLED = 12
    TASK_FAILED = 13
    START_REFUSED = 14
    REQUEUED = 15
    NODE_DRAINED = 16
    NODE_RETURNED = 17
    MOVE_DUE = 18
    DOUBTED = 19

    @property
    def rank(self) -> int:
        """The place among events of the same second that are told together: what frees nodes
        first, then what is seen, then what is to be decided, PASS last."""
        return _RANKS[self]

    @property
    def about_node(self) -> bool:
        """Whether the event's key is a node number."""
        return self in _ABOUT_NODES

    @property
    def about_job(self) -> bool:
        """Whether the event's key is a job's position; else it is a task's, or a node's number."""
        return self in (TaskEventKind.DEADLINE, TaskEventKind.SUBMITTED, TaskEventKind.CANCELLED)


_RANKS: Final = {
    TaskEventKind[name]: rank
    for rank, name in enumerate(
        [
            "TASK_ENDED",
            "TASK_FAILED",
            "CANCELLED",
            "MIGRATION_ENDED",
            "MIGRATION_FAILED",
            "DEADLINE",
            "START_REFUSED",
            "REQUEUED",
            "NODE_RECOVERED",
            "NODE_RETURNED",
            "STARTED",
            "NODE_DRAINED",
            "NODE_FAILED",
            "FORESEEN",
            "DOUBTED",
            "LEAVE_DUE",
            "MOVE_DUE",
            "OVERLOADED",
            "SUBMITTED",
            "PASS",
        ]
    )
}
_ABOUT_NODES: Final = frozenset(
    {
        TaskEventKind.NODE_RECOVERED,
        TaskEventKind.NODE_FAILED,
        TaskEventKind.FORESEEN,
        TaskEventKind.LEAVE_DUE,
        TaskEventKind.OVERLOADED,
        TaskEventKind.NODE_DRAINED,
        TaskEventKind.NODE_RETURNED,
        TaskEventKind.DOUBTED,
    }
)


class TaskDecisionKind(IntEnum):
    """What an engine asks its driver to do with a task, or a whole job (DROP)."""

    START = 0
    MIGRATE = 1
    STAY = 2
    ABORT = 3
    STOP = 4
    DROP = 5
    RESTART = 6


class TaskReason(IntEnum):
    """Why. The text's placeholders are fields of the decision."""

    QUALIFIED = 0
    WITH_ONE_MIGRATION = 1
    LONGEST_LEFT = 2
    DRAWN = 3
    FAILURE_PREDICTED = 4
    NOWHERE_TO_GO = 5
    ARRIVING = 6
    NO_TIME_LEFT = 7
    NODE_FAILED = 8
    DEADLINE_CAME = 9
    TARGET_FAILED = 10
    OVERLOADED = 11


_TEXT: Final = {
    TaskReason.QUALIFIED: "node {node} has the capacity, and no failure foreseen before {deadline}",
    TaskReason.WITH_ONE_MIGRATION: "node {node} and one migration can do the work by {deadline}",
    TaskReason.LONGEST_LEFT: "no node qualifies; node {node} is foreseen to live longest",
    TaskReason.DRAWN: "node {node} was drawn by chance",
    TaskReason.FAILURE_PREDICTED: "node {source} is predicted to fail at {at}",
    TaskReason.NOWHERE_TO_GO: "node {source} is to be left, and no other node has room",
    TaskReason.ARRIVING: "node {source} is to be left, but the task is just arriving",
    TaskReason.NO_TIME_LEFT: "a move would not end before the deadline at {deadline}",
    TaskReason.NODE_FAILED: "node {source} failed",
    TaskReason.DEADLINE_CAME: "the deadline came",
    TaskReason.OVERLOADED: "node {source} has been above its limit of load for too long",
    TaskReason.TARGET_FAILED: "node {node}, the target of its move, failed",
}


@dataclass(frozen=True)
class TaskEvent:
    """One event.

    Attributes
    ----------
    time : when it happened, s
    kind : what
    key : a job's position (SUBMITTED, DEADLINE, CANCELLED), a node's number, or a task's number
        among all tasks
    at : of FORESEEN, the predicted time of the node's next failure, FAR where none is foreseen; of
        NODE_FAILED, when the node is known to be back (-1: not known)
    node : of STARTED, where the task runs
    """

    time: int
    kind: TaskEventKind
    key: int
    at: int = -1
    node: int = -1


@dataclass(frozen=True)
class TaskDecision:
    """One decision with the figures it was made from.

    Attributes
    ----------
    time : when it was taken, s
    kind, reason : what and why
    job : position of the job
    task : number of the task within its job, from 0; -1 where it is about the whole job
    source : the node that the task is on, or -1
    node : the node that was chosen, or -1
    rate : thousandths of a processor that the task is given there
    deadline : of the job, s
    at : a time that goes with the reason, or -1
    """

    time: int
    kind: TaskDecisionKind
    reason: TaskReason
    job: int
    task: int = -1
    source: int = -1
    node: int = -1
    rate: int = 0
    deadline: int = -1
    at: int = -1

    @property
    def why(self) -> str:
        """The reason in words."""
        return _TEXT[self.reason].format(
            source=self.source, node=self.node, deadline=self.deadline, at=self.at
        )


SIZES: Final = "how many nodes of how many processors, and of what memory, as in 48x4+16x8:64GiB"
_SIZE: Final = re.compile(r"([1-9][0-9]{0,6})x([1-9][0-9]{0,6})(?::(.+))?")
_MEBI: Final = 2**20


class SizedNodes(NamedTuple):
    """So many nodes of one size: processors of each, and its memory, MiB (None: does not count)."""

    nodes: int
    processors: int
    memory: int | None


def parse_node_sizes(text: str) -> tuple[SizedNodes, ...]:
    """Return the nodes of a machine in their order; ParameterError for what says none.

    >>> parse_node_sizes("2x4+1x8:2GiB")[1]
    SizedNodes(nodes=1, processors=8, memory=2048)
    """
    made = []
    for part in text.split("+"):
        found = _SIZE.fullmatch(part.strip())
        if found is None:
            raise ParameterError("node_sizes", text, SIZES)
        count, processors = int(found[1]), int(found[2])
        memory = None if found[3] is None else parse_size(found[3], "node_sizes") // _MEBI
        if processors > MOST_PROCESSORS or memory == 0:
            raise ParameterError("node_sizes", text, SIZES)
        made.append(SizedNodes(count, processors, memory))
    if sum(one.nodes for one in made) > MOST_NODES:
        raise ParameterError("node_sizes", text, f"at most {MOST_NODES:,} nodes")
    return tuple(made)
