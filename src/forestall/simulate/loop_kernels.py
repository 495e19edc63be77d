"""What the simulator's two loops share: carrying out decisions, and logging."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall._compile import merged
from forestall.engine.state import has_room, most_decisions
from forestall.simulate import world_kernels as worlds

ENDED: Final = 0
PAUSED: Final = 1
FULL: Final = 2

EVENT: Final = np.dtype(
    [("time", "i8"), ("kind", "i8"), ("key", "i8"), ("until", "i8"), ("decisions", "i8")]
)
"""One event that the engine was told, and how many decisions it answered with."""


class Log(NamedTuple):
    """EVENT[capacity] and DECISION[capacity]; both empty where nothing is to be logged."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]


@merged
def carry_out_all(state, world, log):
    """Carry out what the engine has decided on the event that has just happened."""
    at, out = world.at, state.out
    now, count = at[worlds.NOW], out.count[0]
    for i in range(count):
        worlds.carry_out(world, state, out.decisions[i], now)
    if len(log.events) > 0:
        event = log.events[at[worlds.LOGGED]]
        event.time, event.kind, event.key = now, at[worlds.KIND], at[worlds.KEY]
        event.until, event.decisions = at[worlds.UNTIL], count
        at[worlds.LOGGED] += 1
        for i in range(count):
            log.decisions[at[worlds.DECIDED]] = out.decisions[i]
            at[worlds.DECIDED] += 1


@merged
def fits(state, world, log):
    """Return whether the next event surely finds room in all arrays."""
    if not has_room(state) or not worlds.has_room(world, len(state.machine.nodes)):
        return False
    if len(log.events) == 0:
        return True
    at = world.at
    most = most_decisions(state)
    return at[worlds.LOGGED] + 2 < len(log.events) and at[worlds.DECIDED] + most < len(log.decisions)
