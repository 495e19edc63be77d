"""What the simulator's loops share: carrying out decisions, and logging."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import kernel, merged, record_of
from forestall.core.model.decisions import DecisionKind
from forestall.scheduling.engine.state import has_room, most_decisions
from forestall.scheduling.simulation import world_kernels as worlds

_START = np.int64(DecisionKind.START)


EVENT: Final = record_of("time kind key until decisions")
"""One event that the engine was told, and how many decisions it answered with."""


class Log(NamedTuple):
    """EVENT[capacity], DECISION[capacity] and int64[capacity, 2] ranges of nodes that belong to
    them; all empty where nothing is to be logged."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]
    ranges: npt.NDArray[np.int64]


@merged
def carry_out_all(state, world, log):
    """Carry out what the engine has decided on the event that has just happened."""
    at, out = world.at, state.out
    now, count = at[worlds.NOW], out.held[0]
    for i in range(count):
        worlds.carry_out(world, state, out.decisions[i], now)
    if len(log.events) > 0:
        event = log.events[at[worlds.LOGGED]]
        event.time, event.kind, event.key = now, at[worlds.KIND], at[worlds.KEY]
        event.until, event.decisions = at[worlds.UNTIL], count
        at[worlds.LOGGED] += 1
        for i in range(count):
            note_decision(state, world, log, out.decisions[i])


@kernel
def note_decision(state, world, log, decision):
    """Append a decision to the log, with the nodes of its reservation or run."""
    at = world.at
    log.decisions[at[worlds.DECIDED]] = decision
    if decision.kind <= _START:
        before = at[worlds.LOG_RANGES]
        at[worlds.LOG_RANGES] = worlds.note_nodes(state, log.ranges, before, decision.job)
        log.decisions[at[worlds.DECIDED]].ranges = at[worlds.LOG_RANGES] - before
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
    return (
        at[worlds.LOGGED] + 2 < len(log.events)
        and at[worlds.DECIDED] + most < len(log.decisions)
        and at[worlds.LOG_RANGES] + 2 * len(state.machine.nodes) + 2 < len(log.ranges)
    )
