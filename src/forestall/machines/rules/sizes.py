"""Nodes and machines of different sizes: who has room for whom, processors and memory alike.

Source: Fu and Xu, ARES 2009, Sections 3 and 4, whose nodes differ in processors only. Here memory
counts beside them as a condition: a node without enough of it is no candidate. Among candidates
the paper's strategies choose as they do without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.virtual import TaskReason

with lazily():
    from forestall.machines.rules import placement

_ROUNDING = 1e-9
"""Processors that sums of fractions may be off by."""


@dataclass(frozen=True)
class Size:
    """What a machine takes, or a node has: processors, and bytes of memory."""

    processors: float
    memory: float

    def __sub__(self, other: Size) -> Size:
        return Size(self.processors - other.processors, self.memory - other.memory)

    def holds(self, other: Size) -> bool:
        """Whether there is room for another size within this one.

        >>> Size(4, 8e9).holds(Size(1, 16e9))
        False
        """
        return self.processors >= other.processors - _ROUNDING and self.memory >= other.memory


@dataclass(frozen=True)
class Candidate:
    """A node that may take a machine.

    Attributes
    ----------
    node : its name
    free : what it has to give
    foreseen : predicted time of its next failure, s; inf where none is
    """

    node: str
    free: Size
    foreseen: float = math.inf


@dataclass(frozen=True)
class NodeChoice:
    """How nodes are chosen: strategy and alpha as `choose_node` has them, and a draw in [0, 1) for
    the strategy random."""

    strategy: str = "best-fit"
    alpha: float | str = 0.5
    draw: float = 0.0


def with_room(processors: Floats, memory: Floats, size: Size) -> Bools:
    """Return which nodes, of so many free processors and bytes, have room for a machine."""
    return np.asarray((processors >= size.processors - _ROUNDING) & (memory >= size.memory))


def choose_sized(
    candidates: Sequence[Candidate],
    size: Size,
    *,
    seconds: float,
    deadline: int,
    now: int,
    choice: NodeChoice,
    transfer: int = 2,
) -> tuple[str | None, TaskReason]:
    """Return the node for a machine and the reason; None where none has room for it as a whole.

    Parameters
    ----------
    candidates : nodes, whose order settles ties
    size : of the machine
    seconds : that it still has to run with all its processors
    deadline, now : s
    choice : strategy
    transfer : s that a migration takes

    >>> small = Candidate("small", Size(4, 1e9))
    >>> choose_sized([small, Candidate("big", Size(2, 8e9))], Size(1, 2e9),
    ...     seconds=60, deadline=600, now=0, choice=NodeChoice())[0]
    'big'
    """
    processors = np.array([max(one.free.processors, 0.0) for one in candidates])
    memory = np.array([one.free.memory for one in candidates])
    room = with_room(processors, memory, size)
    if not room.any():
        return None, TaskReason.NOWHERE_TO_GO
    number, reason = placement.choose_node(
        np.where(room, processors, 0.0),
        [one.foreseen for one in candidates],
        work=max(seconds, 1.0) * size.processors,
        deadline=deadline,
        now=now,
        strategy=choice.strategy,
        alpha=choice.alpha,
        task_processors=size.processors,
        transfer=transfer,
        draw=choice.draw,
    )
    return (None if number is None else candidates[number].node), reason
