"""The simulator's loop over tasks in virtual machines."""

from __future__ import annotations

from forestall.core._compile import entry, kernel
from forestall.core.clock.stop_kernels import ENDED, FULL, PAUSED, STALLED
from forestall.machines.engine import event_kernels as engine
from forestall.machines.engine import state as states
from forestall.machines.simulation import world_kernels as worlds


@kernel
def fits(state, world, log):
    """Return whether the next event surely finds room in all arrays."""
    # Asked before the event, so that one is never half taken in: Python grows the arrays, and the
    # loop goes on.
    if world.at[worlds.TOO_LATE] != 0 or not engine.has_room(state):
        return False
    if len(log.events) == 0:
        return True
    return world.at[worlds.LOGGED] < len(log.events) and world.at[worlds.DECIDED] + len(
        state.out
    ) <= len(log.decisions)


@kernel
def write_log(state, world, log):
    """Append the event that has just happened, and what was decided on it."""
    at, count = world.at, state.at[states.HELD]
    event = log.events[at[worlds.LOGGED]]
    event.time, event.kind, event.key = at[worlds.NOW], at[worlds.KIND], at[worlds.KEY]
    event.at, event.decisions = at[worlds.AT], count
    at[worlds.LOGGED] += 1
    for i in range(count):
        log.decisions[at[worlds.DECIDED]] = state.out[i]
        at[worlds.DECIDED] += 1


@kernel
def watches(state, world):
    """Return whether nodes are still to be looked at for overload before the second ends."""
    return state.rules.limit > 0 and world.at[worlds.UNWATCHED] != 0


@entry
def run(state, world, log, limit):
    """Go on until all jobs have ended (ENDED), `limit` events have happened (PAUSED), arrays have
    to grow (FULL), or nothing will happen any more though jobs are left, a defect (STALLED)."""
    at = world.at
    end = at[worlds.EVENTS] + limit
    while state.at[states.LEFT] > 0:
        if not fits(state, world, log):
            return FULL
        if at[worlds.EVENTS] >= end:
            return PAUSED
        key, stream = worlds.peek(state, world)
        # All events of a second have happened: now whatever waits is placed, once.
        if at[worlds.UNPLACED] != 0 and (stream < 0 or worlds.time_of(world, key) > at[worlds.NOW]):
            if not worlds.place_now(state, world):
                continue
        elif watches(state, world) and (stream < 0 or worlds.time_of(world, key) > at[worlds.NOW]):
            worlds.watch(state, world)
            continue
        elif stream < 0:
            return STALLED
        else:
            worlds.step(state, world, key, stream)
        engine.take(state, at[worlds.KIND], at[worlds.KEY], at[worlds.AT], at[worlds.NOW])
        worlds.carry_out(state, world)
        if len(log.events) > 0:
            write_log(state, world, log)
    return ENDED
