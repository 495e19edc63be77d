"""Checkpoints of jobs that a vault keeps: where their pieces are, and whether enough can be read.

What the world does instead of the bodies of `world_kernels` for runs without a vault. Places
are not kept but found anew: they follow from the nodes that the job ran on, and from the stores
that could be reached as the save began.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.events import EventKind
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.saves_state import (
    LOST,
    NEWS,
    RAN_ON,
    REACHED,
    ROWS,
    SAVE,
    SPARE,
    JobVault,
)

_START_DUE = np.int64(EventKind.START_DUE)
_CHECKPOINT_LOST = np.int64(EventKind.CHECKPOINT_LOST)
_NONE = np.int64(-1)


# ------------------------------------------------------------------------------------- places


@kernel
def site_of(first, node):
    """Return the site of a node."""
    site = 0
    while first[site + 1] <= node:
        site += 1
    return site


@kernel
def next_store(vault, reached, node, piece):
    """Return the store that the next piece of a node goes to, -1 where none is left: of one site
    after the other from its own on, the next one by number from the node's place in its site."""
    first, sites = vault.first, len(vault.first) - 1
    own = site_of(first, node)
    site = (own + piece) % sites
    length = first[site + 1] - first[site]
    for step in range(1, length + 1):
        store = first[site] + (node - first[own] + step) % length
        if store == node or not bits.has(reached, store):
            continue
        taken = False
        for k in range(piece):
            taken = taken or vault.chosen[k] == store
        if not taken:
            return store
    return _NONE


@kernel
def readable(vault, reached, down, node):
    """Return whether what a node saved can be had: at least m of its pieces are on stores that are
    up."""
    rules = vault.rules
    if rules.local:
        return not bits.has(down, node)
    count = np.int64(0)
    for piece in range(rules.pieces):
        store = next_store(vault, reached, node, piece)
        vault.chosen[piece] = store
        if store >= 0 and not bits.has(down, store):
            count += 1
    return count >= rules.needed


@kernel
def longest_gap(ran_on, down):
    """Return the most nodes in a row that are down on the ring of a job's nodes, in order of their
    numbers and around the end; all of them where none is up."""
    first, longest, row, seen = np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(ran_on)):
        word = ran_on[i]
        while word != bits.ZERO:
            low = bits.lowest(word)
            row += 1
            seen += 1
            if not bits.has(down, 64 * i + low):
                first = row - 1 if first < 0 else first
                longest, row = max(longest, row - 1), np.int64(0)
            word &= ~bits.run_of(low, 1)
    return seen if first < 0 else max(longest, row + first)


@kernel
def is_there(vault, down, slot, k):
    """Return whether checkpoint k of a slot can be had: of each node that it was made on."""
    ran_on, reached = vault.nodes[slot, k, RAN_ON], vault.nodes[slot, k, REACHED]
    if vault.rules.ring > 0:
        return longest_gap(ran_on, down) < min(vault.rules.ring, bits.count(ran_on))
    for i in range(len(ran_on)):
        word = ran_on[i]
        while word != bits.ZERO:
            low = bits.lowest(word)
            if not readable(vault, reached, down, 64 * i + low):
                return False
            word &= ~bits.run_of(low, 1)
    return True


@kernel
def fall_back(vault, state, job, j, now):
    """Give up checkpoints of a job that cannot be had, down to one that can; return whether any had
    to be."""
    mine = vault.jobs[j]
    if vault.rules.shared == 0 or mine.held == 0:
        return False
    down, held = state.machine.rows[machines.DOWN], mine.held
    while mine.held > 0 and not is_there(vault, down, mine.slot, mine.held - 1):
        mine.held -= 1
    if mine.held == held:
        return False
    before = job.saved
    job.saved = vault.works[mine.slot, mine.held - 1] if mine.held > 0 else 0
    mine.unrecovered += before - job.saved
    write(vault, j, LOST, now, now, job.saved)
    return True


@kernel
def write(vault, j, kind, start, until, work):
    """Write what becomes of a checkpoint; return its row."""
    row = vault.at[ROWS]
    vault.at[ROWS] += 1
    one = vault.rows[row]
    one.job, one.kind, one.start, one.until = j, kind, start, until
    one.complete, one.work = 0, work
    return row


# -------------------------------------------------------------------------------------- saves


@kernel
def room_of(vault):
    """Return whether the next event surely finds room."""
    # One event starts no more jobs than there are nodes, each of which may write a row.
    return vault.at[ROWS] + len(vault.news) + 1 < len(vault.rows) and vault.at[SPARE] > 0


@kernel
def begin_save_of(vault, state, job, j, now):
    """Begin to save a job, and note where it runs and which stores can be reached."""
    mine, known = vault.jobs[j], state.jobs[j]
    mine.row = write(vault, j, SAVE, now, now + known.pause, job.request) + 1
    if vault.rules.shared == 0:
        return
    if mine.slot == 0:
        vault.at[SPARE] -= 1
        mine.slot = vault.spare[vault.at[SPARE]]
    vault.works[mine.slot, mine.held] = job.request
    ran_on, reached = (
        vault.nodes[mine.slot, mine.held, RAN_ON],
        vault.nodes[mine.slot, mine.held, REACHED],
    )
    row, down = state.timeline.rows[known.row], state.machine.rows[machines.DOWN]
    for i in range(len(ran_on)):
        ran_on[i] = row[i]
        reached[i] = vault.keeps[i] & ~down[i]


@kernel
def complete_save_of(vault, job, j):
    """Count a save that is over, and forget the oldest beyond those kept."""
    mine = vault.jobs[j]
    vault.rows[mine.row - 1].complete = 1
    mine.row = 0
    if vault.rules.shared == 0:
        return
    mine.held += 1
    if mine.held <= vault.rules.keep:
        return
    mine.held -= 1
    works, nodes = vault.works[mine.slot], vault.nodes[mine.slot]
    for k in range(mine.held):
        works[k] = works[k + 1]
        for what in range(2):
            bits.copy(nodes[k, what], nodes[k + 1, what])


@kernel
def break_save_of(vault, j, now):
    """Break off the save under way."""
    mine = vault.jobs[j]
    if mine.row > 0:
        vault.rows[mine.row - 1].until = now
        mine.row = 0


@kernel
def forget_saves_of(vault, j):
    """Give back the place of a job that is done."""
    mine = vault.jobs[j]
    if mine.slot > 0:
        vault.spare[vault.at[SPARE]] = mine.slot
        vault.at[SPARE] += 1
        mine.slot, mine.held = 0, 0


@kernel
def resume_from_of(vault, state, job, j, now):
    """Fall back where that must be; return what could not be had, s."""
    mine = vault.jobs[j]
    if fall_back(vault, state, job, j, now):
        vault.news[vault.at[NEWS]] = j
        vault.at[NEWS] += 1
    unrecovered = mine.unrecovered
    mine.unrecovered = 0
    return unrecovered


@kernel
def is_lost_of(vault, state, world):
    """Let a job whose start is due fall back where that must be."""
    at = world.at
    j, now = at[worlds.KEY], at[worlds.NOW]
    if at[worlds.KIND] != _START_DUE or runs.taken_at_start(state, j) >= 0:
        return
    job = world.jobs[j]
    if fall_back(vault, state, job, j, now):
        at[worlds.KIND], at[worlds.UNTIL] = _CHECKPOINT_LOST, job.saved


@kernel
def tells_loss_of(vault, world):
    """Take the next of the jobs that the engine has to be told of; return whether there is one."""
    if vault.at[NEWS] == 0:
        return False
    at = world.at
    vault.at[NEWS] -= 1
    j = vault.news[vault.at[NEWS]]
    at[worlds.KIND], at[worlds.KEY] = _CHECKPOINT_LOST, j
    at[worlds.UNTIL] = world.jobs[j].saved
    at[worlds.EVENTS] += 1
    return True


# ------------------------------------------------------------- in the place of `world_kernels`


@worlds.vault_has_room.of(JobVault)
def _room(vault):
    return room_of(vault)


@worlds.begin_save.of(JobVault)
def _begin_save(vault, state, job, j, now):
    begin_save_of(vault, state, job, j, now)


@worlds.complete_save.of(JobVault)
def _complete_save(vault, job, j):
    complete_save_of(vault, job, j)


@worlds.break_save.of(JobVault)
def _break_save(vault, j, now):
    break_save_of(vault, j, now)


@worlds.forget_saves.of(JobVault)
def _forget_saves(vault, j):
    forget_saves_of(vault, j)


@worlds.resume_from.of(JobVault)
def _resume_from(vault, state, job, j, now):
    return resume_from_of(vault, state, job, j, now)


@worlds.is_lost.of(JobVault)
def _is_lost(vault, state, world):
    is_lost_of(vault, state, world)


@worlds.tells_loss.of(JobVault)
def _tells_loss(vault, world):
    return tells_loss_of(vault, world)
