"""A strategy of one's own, in Python: the node for a task, from what is known of the nodes.

The compiled engine asks it where it would ask its own strategies; all else is theirs: the order of
jobs, what moves when, and where a task goes that no node qualifies for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core._compile import AskedFunction
from forestall.core.model.errors import ParameterError
from forestall.core.model.own import Own
from forestall.core.model.virtual import PROCESSOR
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules.fleet_kernels import FAR, NOBODY, Fleet

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NodesNow:
    """What is known of the nodes as one is to be chosen.

    Attributes
    ----------
    free : float64[nodes], processors that each has to give; 0 where it takes no task
    lasts : float64[nodes], s from the start of the task to the predicted failure; inf: none is
    doubtful : bool[nodes], whether the failure is so near that tasks leave the node
    """

    free: Floats
    lasts: Floats
    doubtful: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TaskNow:
    """A task that needs a node: work left, processor-seconds; s from its start to its deadline;
    processors that it can use, at most."""

    work: float
    left: float
    processors: float


class Strategy(Own, ABC):
    """A strategy for virtual machines: `fs.simulate_virtual(..., strategy=Mine())`."""

    @abstractmethod
    def choose(self, nodes: NodesNow, task: TaskNow) -> int | None:
        """Return the number of the node for a task that has time left; None where no node
        qualifies: the engine then takes the one with which a migration helps, or the one that is
        foreseen to last longest."""


class OwnStrategy:
    """A strategy as kernels ask it, about the nodes in `fleet`, which is set before the first
    question."""

    def __init__(self, strategy: Strategy) -> None:
        self.fleet: Fleet | None = None
        self._strategy = strategy
        self.asked = AskedFunction(self._answer, int(NOBODY))

    def _answer(self, work: int, deadline: int, now: int) -> int:
        fleet = self.fleet
        assert fleet is not None, "asked before there are nodes"
        nodes = nodes_now(fleet, now)
        rate = int(fleet.at[fleets.RATE]) / PROCESSOR
        node = self._strategy.choose(nodes, TaskNow(work / PROCESSOR, deadline - now, rate))
        if node is None:
            return int(NOBODY)
        number = int(node)
        if not 0 <= number < len(nodes.free) or nodes.free[number] == 0:
            raise ParameterError("strategy", number, "a node that has something to give, or None")
        return number


def nodes_now(fleet: Fleet, now: int) -> NodesNow:
    """Return what is known of the nodes for a task that starts at `now`, s."""
    rows = fleet.nodes
    gives = (rows["up"] != 0) & (rows["closed"] == 0) & (rows["free"] >= fleet.at[fleets.LEAST])
    gives &= rows["room"] > 0
    foreseen = rows["foreseen"]
    lasts = np.where(foreseen == FAR, np.inf, (foreseen - now).astype(np.float64))
    return NodesNow(np.where(gives, rows["free"] / PROCESSOR, 0.0), lasts, rows["doubtful"] != 0)
