"""Guests whose checkpoints a vault keeps: what the world does instead of `world_kernels`.

A stay is restoring, then working and saving by turns. Each save and each restore is a transfer,
whose hosts and whose length are settled as it begins, by the transfers that are under way then.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.cycle import FAR, Fate, GuestEventKind, GuestReason, StayEnd
from forestall.prediction.models.heap_kernels import put
from forestall.sharing.simulation import move_kernels as moves
from forestall.sharing.simulation import world_kernels as worlds
from forestall.sharing.simulation.store_kernels import (
    begin_transfer,
    choose_stores,
    keep,
    latest,
    next_base,
    prune,
    restore_seconds,
    save_seconds,
)
from forestall.sharing.simulation.vault_state import (
    IDLE,
    LAST,
    RESTORE,
    RESTORING,
    ROWS,
    SAVE,
    SAVING,
    SKIPPED,
    WORKING,
    GuestVault,
)

_FAR = np.int64(FAR)
_ENDED = np.int64(GuestEventKind.GUEST_ENDED)
_TRY = np.int64(GuestEventKind.TRY)
_AWAY = np.int64(GuestReason.AWAY)
_CONTENTION = np.int64(GuestReason.CONTENTION)
_BY_CONTENTION = np.int64(StayEnd.CONTENTION)
_COMPLETED_STAY = np.int64(StayEnd.COMPLETED)
_CUT = np.int64(StayEnd.UNFINISHED)
_MOVED = np.int64(StayEnd.MOVED)
_COMPLETED = np.int64(Fate.COMPLETED)

SAVING_EVENT: Final = _TRY + 1
"""Rank of what only the world knows of: a restore or a save is over, or one is due; after all that
the engine is told of the same second."""


@kernel
def plan(world, number, time):
    """Plan that a job's guest is looked at again."""
    put(world.heap, number, worlds.key_of(world, time, SAVING_EVENT, number))


@kernel
def work_on(vault, world, number, host, now):
    """Let a guest work from now on, until its work is done or a checkpoint is due."""
    mine, guest = vault.guests[number], world.guests[number]
    mine.phase, mine.since = WORKING, now
    need = guest.work - guest.saved - mine.mark
    finish = worlds.reached(world, host, worlds.done_at(world, host, now) + need, now)
    pause = now + world.saving.interval if world.saving.interval > 0 else _FAR
    if finish <= pause:
        if finish < _FAR:
            put(world.heap, number, worlds.key_of(world, finish, _ENDED, number))
    elif pause < world.clock.end:
        plan(world, number, pause)


@kernel
def stop_work(vault, world, number, host, now):
    """Count the work done since a guest last went on."""
    mine = vault.guests[number]
    if mine.phase == WORKING:
        before = worlds.done_at(world, host, mine.since)
        mine.mark += worlds.done_at(world, host, now) - before
        mine.since = now


@kernel
def completed(vault, number):
    """Count a save that is over: from now on its version is there."""
    mine = vault.guests[number]
    one = vault.transfers[mine.row]
    one.complete = 1
    mine.taken += 1
    keep(vault, number, one.version, one.base, one.work, mine.row)


@kernel
def save_now(vault, world, number, host, now, horizon):
    """Return what a save of a guest would take, s, -1 where too few hosts are reached, the first
    version that it leans on, and the bytes of a piece; its stores are chosen. `horizon` s until the
    next one, 0 where the host is taken for lost."""
    mine, guest, rules = vault.guests[number], world.guests[number], vault.rules
    prune(vault, now)
    base = next_base(vault, world, number, now)
    whole = base == mine.number + 1
    raw, piece = (rules.raw, rules.piece) if whole else (rules.raw_next, rules.piece_next)
    if not choose_stores(vault, world, host, now, piece, horizon, guest.saved + mine.mark):
        return np.int64(-1), base, piece
    return world.saving.overhead + save_seconds(vault, host, raw, piece), base, piece


@kernel
def begin_save(vault, world, number, host, now, kind, horizon):
    """Begin to save a guest whose work has been counted up to now; return whether it could be:
    enough hosts are reached, and a last checkpoint is over within the owner's grace."""
    mine, rules = vault.guests[number], vault.rules
    work = world.guests[number].saved + mine.mark
    length, base, piece = save_now(vault, world, number, host, now, horizon)
    if length < 0:
        vault.at[SKIPPED] += 1
        return False
    if kind == LAST and length > rules.grace:
        return False
    mine.number += 1
    size = piece * rules.pieces
    mine.row = begin_transfer(
        vault, number, kind, host, now, now + length, mine.number, base, work, size
    )
    return True


@kernel
def advance(vault, state, world, number):
    """Do what is next for a guest: work on after a restore or a save, or save."""
    mine, now = vault.guests[number], world.at[worlds.NOW]
    host = state.jobs[number].host
    # The engine is not told: this is no event of its own.
    world.at[worlds.EVENTS] -= 1
    if mine.phase == RESTORING:
        vault.transfers[mine.row].complete = 1
    elif mine.phase == SAVING:
        completed(vault, number)
    else:
        stop_work(vault, world, number, host, now)
        if begin_save(vault, world, number, host, now, SAVE, world.saving.interval):
            mine.phase = SAVING
            plan(world, number, vault.transfers[mine.row].until)
            return
    work_on(vault, world, number, host, now)


@kernel
def recall_guest(vault, world, number):
    """Write what of a job's work can be recovered now into `saved`, for who chooses its host."""
    k = latest(vault, world, number, world.at[worlds.NOW])
    world.guests[number].saved = vault.versions[number, k].work if k >= 0 else 0


@kernel
def begin_stay(vault, state, world, number, host):
    """Let a guest that is started go on from the newest version that can be recovered now; newer
    ones are given up."""
    mine, guest, now = vault.guests[number], world.guests[number], world.at[worlds.NOW]
    kept = vault.versions[number, mine.held - 1].work if mine.held > 0 else 0
    k = latest(vault, world, number, now)
    mine.held, mine.mark, mine.taken = k + 1, 0, 0
    guest.saved = vault.versions[number, k].work if k >= 0 else 0
    mine.unrecovered = kept - guest.saved
    if k < 0:
        work_on(vault, world, number, host, now)
        return
    prune(vault, now)
    version = vault.versions[number, k]
    length = restore_seconds(vault, world, host, vault.held[number, k], now)
    until = now + world.saving.restart + length
    size = vault.rules.piece * vault.rules.needed
    mine.row = begin_transfer(
        vault, number, RESTORE, host, now, until, version.number, version.base, version.work, size
    )
    mine.phase = RESTORING
    plan(world, number, until)


@kernel
def stop_transfer(vault, number, now):
    """Break off the transfer of a guest whose stay ends, or complete it where it is over."""
    mine = vault.guests[number]
    if mine.phase in (SAVING, RESTORING):
        one = vault.transfers[mine.row]
        if one.until > now:
            one.until = now
        elif mine.phase == SAVING:
            completed(vault, number)
        else:
            one.complete = 1


@kernel
def close_stay(vault, world, number, host, ended, saved):
    """Write a stay that ends now; `saved` is what of the job's work is kept from now on."""
    mine, guest, now = vault.guests[number], world.guests[number], world.at[worlds.NOW]
    mine.phase = IDLE
    end = np.int64(world.clock.end) if ended == _CUT else now
    worlds.write_stay(world, number, host, ended, end, mine.mark, saved, mine.taken)
    # What could not be recovered was lost as the stay began.
    world.stays[world.at[worlds.STAYS] - 1].lost += mine.unrecovered
    guest.lost += mine.unrecovered


@kernel
def kept_work(vault, number):
    """Return the work in the newest version of a job."""
    held = vault.guests[number].held
    return vault.versions[number, held - 1].work if held > 0 else np.int64(0)


@kernel
def finish_guest(vault, state, world, number):
    """Write down that a job has done its work."""
    guest, now = world.guests[number], world.at[worlds.NOW]
    vault.guests[number].mark = guest.work - guest.saved
    close_stay(vault, world, number, state.jobs[number].host, _COMPLETED_STAY, guest.work)
    guest.finish, guest.outcome = now, _COMPLETED


@kernel
def lose_guest(vault, world, number, host, reason):
    """Write down that a job has lost its host, and plan that it is tried again: at once, or after
    the last checkpoint that its owner leaves it time for."""
    mine, guest, now = vault.guests[number], world.guests[number], world.at[worlds.NOW]
    stop_work(vault, world, number, host, now)
    stop_transfer(vault, number, now)
    again = now
    # A guest that has done nothing since its last version has nothing to save.
    if world.saving.at_end != 0 and reason != _AWAY and mine.phase != RESTORING:
        fresh = guest.saved + mine.mark > kept_work(vault, number)
        if fresh and begin_save(vault, world, number, host, now, LAST, np.int64(0)):
            completed(vault, number)
            again = vault.transfers[mine.row].until
    guest.failures += 1
    ended = reason - _CONTENTION + _BY_CONTENTION
    close_stay(vault, world, number, host, ended, kept_work(vault, number))
    put(world.heap, number, worlds.key_of(world, again, _TRY, number))


@kernel
def cut_guest(vault, world, number, host):
    """End a stay that is under way where the traces end."""
    end = np.int64(world.clock.end)
    stop_work(vault, world, number, host, end)
    stop_transfer(vault, number, end)
    guest = world.guests[number]
    close_stay(vault, world, number, host, _CUT, max(kept_work(vault, number), guest.saved))


@kernel
def add_transfers(vault, state, world, number, host, count):
    """Add what a move takes to the first `count` estimates of hosts but the guest's own; return
    whether it can be saved."""
    now = world.at[worlds.NOW]
    length = save_now(vault, world, number, host, now, np.int64(0))[0]
    if length < 0:
        return False
    # A restore chooses among them in the same place: they are kept in the row of the next transfer.
    places = vault.places[vault.at[ROWS]]
    for j in range(vault.rules.pieces):
        places[j] = vault.desk.chosen[j]
    for k in range(count):
        to = state.estimates[k].host
        if to != host:
            back = world.saving.restart + restore_seconds(vault, world, to, places, now)
            moves.later(state.estimates[k], length + back)
    return True


@kernel
def save_to_move(vault, world, number, host):
    """Save a guest that is to leave its host."""
    now = world.at[worlds.NOW]
    begin_save(vault, world, number, host, now, SAVE, np.int64(0))
    vault.guests[number].phase = SAVING
    return vault.transfers[vault.guests[number].row].until


# ----------------------------------------------- in the place of `world_kernels`, `move_kernels`


@worlds.has_room.of(GuestVault)
def _room(vault):
    return vault.at[ROWS] + 2 < len(vault.transfers)


@worlds.recall.of(GuestVault)
def _recall(vault, world, number):
    recall_guest(vault, world, number)


@worlds.plan_stay.of(GuestVault)
def _plan_stay(vault, state, world, number, host):
    begin_stay(vault, state, world, number, host)


@worlds.go_on.of(GuestVault)
def _go_on(vault, state, world, number):
    advance(vault, state, world, number)


@worlds.finish_stay.of(GuestVault)
def _finish_stay(vault, state, world, number):
    finish_guest(vault, state, world, number)


@worlds.lose_stay.of(GuestVault)
def _lose_stay(vault, world, number, host, reason):
    lose_guest(vault, world, number, host, reason)


@worlds.cut_stay.of(GuestVault)
def _cut_stay(vault, world, number, host):
    cut_guest(vault, world, number, host)


@moves.works.of(GuestVault)
def _works(vault, world, number):
    return vault.guests[number].phase == WORKING


@moves.done_so_far.of(GuestVault)
def _done_so_far(vault, world, number, host):
    stop_work(vault, world, number, host, world.at[worlds.NOW])
    return vault.guests[number].mark


@moves.add_costs.of(GuestVault)
def _add_costs(vault, state, world, number, host, count):
    return add_transfers(vault, state, world, number, host, count)


@moves.saved_at.of(GuestVault)
def _saved_at(vault, world, number, host):
    return save_to_move(vault, world, number, host)


@moves.move_out.of(GuestVault)
def _move_out(vault, world, number, host):
    completed(vault, number)
    close_stay(vault, world, number, host, _MOVED, kept_work(vault, number))
