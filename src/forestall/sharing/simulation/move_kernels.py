"""Guests that move before their hosts are expected to leave: looks at even times, what a move would
take, and how it is made.

A guest that is to move is saved on its host, leaves it as that is over, and is tried again then, as
one that has lost its host. Nothing is looked at but what was seen before the forecasts' slot.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import by_type, kernel, merged_by_type
from forestall.core.model.cycle import FAR, MILLION, S2, GuestEventKind, StayEnd
from forestall.prediction.models.heap_kernels import put
from forestall.sharing.rules import falcon_kernels as falcon
from forestall.sharing.simulation import world_kernels as worlds
from forestall.sharing.simulation.world_kernels import LOOK_AT, LOOKED, NOW

_FAR = np.int64(FAR)
_SAVED = np.int64(GuestEventKind.GUEST_SAVED)
_TRY = np.int64(GuestEventKind.TRY)
_MOVED = np.int64(StayEnd.MOVED)


@merged_by_type
def works(vault, world, number):
    """Return whether a guest worked in the last second; it may have been saved or restored."""
    guest, saving = world.guests[number], world.saving
    ran = world.at[LOOK_AT] - guest.begun - (saving.restart if guest.saved > 0 else 0)
    if ran <= 0 or guest.asked >= 0:
        return False
    return saving.interval == 0 or (ran - 1) % (saving.interval + saving.overhead) < saving.interval


@by_type
def done_so_far(vault, world, number, host):
    """Return the work that a guest has done in its stay."""
    guest = world.guests[number]
    return worlds.held_by(world, host, guest, world.at[NOW])[0]


@by_type
def add_costs(vault, state, world, number, host, count):
    """Add what a move takes to the first `count` estimates of hosts but the guest's own; return
    whether it can be saved."""
    cost = world.saving.overhead + world.saving.restart
    for k in range(count):
        if state.estimates[k].host != host:
            later(state.estimates[k], cost)
    return True


@by_type
def saved_at(vault, world, number, host):
    """Save a guest that is to leave its host; return when that is over."""
    return world.at[NOW] + world.saving.overhead


@by_type
def move_out(vault, world, number, host):
    """Write down that a guest that moves has been saved and leaves its host."""
    guest, now = world.guests[number], world.at[NOW]
    work, saved, count = worlds.held_by(world, host, guest, now)
    worlds.write_stay(world, number, host, _MOVED, now, work, guest.saved + saved, count)


@kernel
def later(out, seconds):
    """Let an ESTIMATE's ends come so much later."""
    out.jct = out.jct + seconds if out.jct < _FAR else out.jct
    out.jctf = out.jctf + seconds if out.jctf < _FAR else out.jctf


@kernel
def next_look(state, world):
    """Return the next job whose guest is looked at; -1 where there is none any more, and the looks
    to come are at a later time."""
    at, found = world.at, np.int64(-1)
    for host in range(len(state.hosts)):
        number = state.hosts[host].guest
        if number > at[LOOKED] and (found < 0 or number < found):
            if works(world.vault, world, number):
                found = number
    if found < 0:
        at[LOOK_AT] += world.moving.every
    at[LOOKED] = found
    return found


@kernel
def look(state, world, forecast, number):
    """Write what is foreseen of a guest where it is and on free hosts to which no other is about to
    move, that a move takes included, into `state.estimates`; return of how many, 0 where its host
    is expected to stay or it cannot be saved."""
    guest, moving, own = world.guests[number], world.moving, state.jobs[number].host
    here = state.hosts[own].state
    told = forecast.curves
    chances = told.reliability[own, here]
    alive = falcon.alive_by(chances, told.step, told.alive[own, here], float(moving.ahead))
    stays = np.int64(round(MILLION * alive))
    if stays >= moving.limit:
        return np.int64(0)
    left = guest.work - guest.saved - done_so_far(world.vault, world, number, own)
    count = np.int64(0)
    for host in range(len(state.hosts)):
        free = state.hosts[host].state <= S2 and state.hosts[host].guest < 0
        if host == own or (free and world.claims[host] < 0):
            out = state.estimates[count]
            out.host = host
            rate = worlds.rate_now(world, host, world.at[NOW])
            worlds.foresee(out, state, world, forecast, left, rate, _FAR)
            if host == own:
                out.chance = stays
            count += 1
    return count if add_costs(world.vault, state, world, number, own, count) else np.int64(0)


@kernel
def begin_move(state, world):
    """Save a guest that the engine lets move."""
    out, now = state.out[0], world.at[NOW]
    number, guest = out.job, world.guests[out.job]
    over = saved_at(world.vault, world, number, state.jobs[number].host)
    guest.asked, guest.target = now, out.host
    world.claims[out.host] = number
    put(world.heap, number, worlds.key_of(world, over, _SAVED, number))


@kernel
def end_move(state, world, number):
    """Let a guest that has been saved leave its host, before the engine hears of it."""
    move_out(world.vault, world, number, state.jobs[number].host)
    put(world.heap, number, worlds.key_of(world, world.at[NOW], _TRY, number))
