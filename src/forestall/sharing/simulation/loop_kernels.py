"""The simulator's loop over guests on shared hosts."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core._compile import entry, kernel
from forestall.core.clock.stop_kernels import ENDED, FULL, PAUSED
from forestall.core.model.cycle import GuestEventKind
from forestall.sharing.engine import event_kernels as engine
from forestall.sharing.engine import state as states
from forestall.sharing.engine.state import CONDOR
from forestall.sharing.simulation import move_kernels as moves
from forestall.sharing.simulation import vault_kernels as vaults
from forestall.sharing.simulation import world_kernels as worlds

_ENDED = np.int64(GuestEventKind.GUEST_ENDED)
_AT_RISK = np.int64(GuestEventKind.GUEST_AT_RISK)
_SAVED = np.int64(GuestEventKind.GUEST_SAVED)
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
    event.state, event.decisions, event.candidates = at[worlds.TOLD], state.at[states.HELD], count
    for k in range(count):
        log.estimates[at[worlds.LISTED] + k] = state.estimates[k]
    at[worlds.LISTED] += count
    at[worlds.LOGGED] += 1
    if state.at[states.HELD] > 0:
        log.decisions[at[worlds.DECIDED]] = state.out[0]
        at[worlds.DECIDED] += 1


@kernel
def take_look(state, world, forecast, key, number):
    """Look at a guest, and let it move where the engine says so; return how many hosts were told
    of, 0 where the engine was not asked."""
    worlds.look_at(world, key, number)
    count = moves.look(state, world, forecast, number)
    if count > 0:
        world.at[worlds.EVENTS] += 1
        engine.take(state, _AT_RISK, number, count, world.at[worlds.NOW])
        if state.at[states.HELD] > 0:
            moves.begin_move(state, world)
    return count


@kernel
def play(state, world, forecast, key, stream, count, every):
    """Take the next event, of a try with so many candidates; return whether it is one that only the
    world knows of."""
    at = world.at
    worlds.step(world, key, stream)
    kind, number, told = at[worlds.KIND], at[worlds.KEY], at[worlds.TOLD]
    if kind == vaults.SAVING_EVENT:
        worlds.go_on(world.vault, state, world, number)
        return True
    if kind == _TRY:
        world.guests[number].tries += 1
        worlds.recall(world.vault, world, number)
        worlds.estimate_all(state, world, forecast, number, count, every)
        told = count
    elif kind == _ENDED:
        # Before the engine hears of it, which forgets the job's host.
        worlds.finish_stay(world.vault, state, world, number)
    elif kind == _SAVED:
        moves.end_move(state, world, number)
    engine.take(state, kind, number, told, at[worlds.NOW])
    if state.at[states.HELD] > 0:
        worlds.carry_out(state, world)
    return False


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
        count, looked = np.int64(0), np.int64(-1)
        if stream == worlds.LOOKS:
            looked = moves.next_look(state, world)
            if looked < 0:
                continue
        elif ((key >> worlds.ORDER_BITS) & worlds.KINDS) == _TRY:
            count = engine.free_hosts(state)
        # Only a try of a job and a look at a guest ask for forecasts: one set a slot, made in
        # Python, which comes back here.
        asks = looked >= 0 or (count > 0 and worlds.foretells(state.rules.scheduler))
        if asks and worlds.turns_slot(world, key):
            if looked >= 0:
                at[worlds.LOOKED] = looked - 1
            return FORECAST
        if looked >= 0:
            count = take_look(state, world, forecast, key, looked)
            if count == 0:
                continue
        elif play(state, world, forecast, key, stream, count, len(log.events) > 0):
            continue
        if len(log.events) > 0:
            write_log(state, world, log, count)
    if state.at[states.LEFT] > 0:
        at[worlds.ENDED_AT] = clock.end
    worlds.cut(state, world)
    return ENDED
