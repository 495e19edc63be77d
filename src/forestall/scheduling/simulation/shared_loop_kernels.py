"""The simulator's loops where jobs share nodes: of classic policies, and of promises."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry, merged
from forestall.core.clock.stop_kernels import ENDED, FULL, PAUSED, STALLED
from forestall.core.model.events import EventKind
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.prediction.models.heap_kernels import cancel
from forestall.scheduling.engine.shared import event_kernels as engine
from forestall.scheduling.engine.shared import pass_kernels as passes
from forestall.scheduling.engine.shared import promise_kernels as promising
from forestall.scheduling.engine.shared.state import (
    SLOTS,
    SharedState,
    has_shared_room,
    most_shared_decisions,
)
from forestall.scheduling.engine.state import CONSERVATIVE
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.loop_kernels import carry_out_all

_PASS = np.int64(EventKind.PASS)
_ALARM = np.int64(0)


@worlds.note_nodes.of(SharedState)
def _note_nodes(state, ranges, count, j):
    slots = state.slots
    for s in range(slots.first[j], slots.first[j] + slots.used[j]):
        ranges[count, 0], ranges[count, 1] = slots.node[s], slots.units[s]
        count += 1
    return count


@merged
def fits(state, world, log):
    """Return whether the next event surely finds room in all arrays."""
    if not has_shared_room(state) or not worlds.has_room(world, state.at[SLOTS] + 1):
        return False
    if len(log.events) == 0:
        return True
    at = world.at
    return (
        at[worlds.LOGGED] + 2 < len(log.events)
        and at[worlds.DECIDED] + most_shared_decisions(state) < len(log.decisions)
        and at[worlds.LOG_RANGES] + 2 * state.at[SLOTS] + 2 < len(log.ranges)
    )


@entry
def run(state, world, log, limit):
    """Go on until all jobs are done (ENDED), `limit` events have happened (PAUSED), arrays have to
    grow (FULL), or nothing will happen any more though jobs are left (STALLED): a defect."""
    at, alarm = world.at, len(world.heap.places) - 1
    stop = at[worlds.EVENTS] + limit
    while at[worlds.LEFT] > 0:
        if not fits(state, world, log):
            return FULL
        if at[worlds.EVENTS] >= stop:
            return PAUSED
        key, stream = worlds.peek(world)
        closing = at[worlds.TOUCHED] > 0 and (
            stream < 0 or worlds.time_of(world, key) > at[worlds.NOW]
        )
        if closing:
            worlds.close_second(world)
        elif stream < 0:
            return STALLED
        else:
            worlds.step(world, key, stream)
            at[worlds.TOUCHED] = 1
            if at[worlds.KIND] == _PASS:
                continue
        engine.take(state, at[worlds.KIND], at[worlds.KEY], at[worlds.UNTIL], at[worlds.NOW])
        carry_out_all(state, world, log)
        if closing and state.rules.policy == CONSERVATIVE:
            wake = passes.wake_at(state)
            if wake < FAR:
                worlds.plan(world, alarm, wake, _PASS, _ALARM)
            else:
                cancel(world.heap, alarm)
    return ENDED


@entry
def run_promises(state, world, log, limit):
    """As `run`, under the promise policy: every event is answered by itself."""
    at = world.at
    stop = at[worlds.EVENTS] + limit
    while at[worlds.LEFT] > 0:
        if not fits(state, world, log):
            return FULL
        if at[worlds.EVENTS] >= stop:
            return PAUSED
        key, stream = worlds.peek(world)
        if stream < 0:
            return STALLED
        worlds.step(world, key, stream)
        promising.take(state, at[worlds.KIND], at[worlds.KEY], at[worlds.UNTIL], at[worlds.NOW])
        carry_out_all(state, world, log)
    return ENDED
