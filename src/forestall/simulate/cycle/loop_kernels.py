"""The simulator's loop over guests on shared hosts."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall._compile import entry, kernel
from forestall.engine.cycle import event_kernels as engine
from forestall.engine.cycle import state as states
from forestall.engine.cycle.state import CONDOR
from forestall.model.cycle import GuestEventKind
from forestall.simulate.clock.stop_kernels import ENDED, FULL, PAUSED
from forestall.simulate.cycle import vault_kernels as vaults
from forestall.simulate.cycle import world_kernels as worlds

_ENDED = np.int64(GuestEventKind.GUEST_ENDED)
_TRY = np.int64(GuestEventKind.TRY)

FORECAST: Final = 4
"""Forecasts of the slot of the next event are needed."""


@kernel
def fits(state, world, log):
    """Return whether the next event surely finds room in all arrays."""
    at = world.at
    # At the end of the traces the stays of all hosts are cut at once.
    if at[worlds.STAYS] + len(state.hosts) + 1 >= len(world.stays):
        return False
    if not worlds.has_room(world.vault):
        return False
    if state.rules.scheduler == CONDOR and state.at[states.STARTS] >= len(state.draws):
        return False
    if len(log.events) == 0:
        return True
    return (
        at[worlds.LOGGED] < len(log.events)
        and at[worlds.DECIDED] < len(log.decisions)
        and at[worlds.LISTED] + len(state.hosts) <= len(log.estimates)
    )


@kernel
def write_log(state, world, log, count):
    """Append the event that has just happened, the candidates, and what was decided on it."""
    at = world.at
    event = log.events[at[worlds.LOGGED]]
    event.time, event.kind, event.key = at[worlds.NOW], at[worlds.KIND], at[worlds.KEY]
    event.state, event.decisions, event.candidates = -1, state.at[states.HELD], count
    if at[worlds.KIND] == _TRY:
        for k in range(count):
            log.estimates[at[worlds.LISTED] + k] = state.estimates[k]
        at[worlds.LISTED] += count
    else:
        event.state = at[worlds.TOLD]
    at[worlds.LOGGED] += 1
    if state.at[states.HELD] > 0:
        log.decisions[at[worlds.DECIDED]] = state.out[0]
        at[worlds.DECIDED] += 1


@entry
def run(state, world, forecast, log, limit):
    """Go on until all jobs have ended or the traces have (ENDED), `limit` events have happened
    (PAUSED), arrays have to grow (FULL), or forecasts are needed (FORECAST), those of the slot
    that `world.at[SLOT]` has from then on."""
    at, clock = world.at, world.clock
    last = at[worlds.EVENTS] + limit
    while state.at[states.LEFT] > 0:
        if not fits(state, world, log):
            return FULL
        if at[worlds.EVENTS] >= last:
            return PAUSED
        key, stream = worlds.peek(world)
        # Guests that end with the last second of the traces still count; nothing after it does.
        if key >= worlds.key_of(world, clock.end, _ENDED + 1, 0):
            break
        count = np.int64(0)
        # Only a try of a job asks for forecasts: one set a slot, made in Python, which comes back
        # here.
        if ((key >> worlds.ORDER_BITS) & 3) == _TRY:
            count = engine.free_hosts(state)
            if count > 0 and worlds.foretells(state.rules.scheduler):
                time = (key >> (worlds.ORDER_BITS + worlds.KIND_BITS)) + clock.origin
                slot = (time - clock.begin) // clock.slot
                if at[worlds.SLOT] != slot:
                    at[worlds.SLOT] = slot
                    return FORECAST
        worlds.step(world, key, stream)
        kind, number = at[worlds.KIND], at[worlds.KEY]
        told = at[worlds.TOLD]
        if kind == vaults.SAVING_EVENT:
            worlds.go_on(world.vault, state, world, number)
            continue
        if kind == _TRY:
            world.guests[number].tries += 1
            worlds.recall(world.vault, world, number)
            worlds.estimate_all(state, world, forecast, number, count, len(log.events) > 0)
            told = count
        elif kind == _ENDED:
            # Before the engine hears of it, which forgets the job's host.
            worlds.finish_stay(world.vault, state, world, number)
        engine.take(state, kind, number, told, at[worlds.NOW])
        if state.at[states.HELD] > 0:
            worlds.carry_out(state, world)
        if len(log.events) > 0:
            write_log(state, world, log, count)
    if state.at[states.LEFT] > 0:
        at[worlds.ENDED_AT] = clock.end
    worlds.cut(state, world)
    return ENDED
