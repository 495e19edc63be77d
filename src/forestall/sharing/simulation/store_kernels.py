"""Storage hosts of a world of guests: what they can carry, which of them are chosen, and whether
enough of them are there."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core._compile import kernel
from forestall.core.model.cycle import MILLION, S2, S5
from forestall.core.world.transfer_kernels import micros, seconds_of
from forestall.sharing.simulation.vault_state import (
    ACTIVE,
    FAILURES,
    MOMENTS,
    OPINION,
    ROWS,
    SHORTLIST,
)
from forestall.sharing.simulation.world_kernels import run_of
from forestall.vaults.rules import placement_kernels as placement

CODE, SERVER, REMOTE, SUBMITTER, LOCAL = map(np.int64, range(5))
NEXT: Final = np.int64(1)
_PER_MICRO: Final = 1e-6


@kernel
def state_at(vault, world, host, time):
    """Return the state of a host at a time."""
    return vault.seen.states[run_of(world, host, time)]


@kernel
def readable(vault, world, store, time):
    """Return whether what a store keeps can be had: a host's unless it is away (S5); the server
    and the submitting machine are always there."""
    return store >= len(vault.seen.site) or state_at(vault, world, store, time) < S5


# ------------------------------------------------------------------------------------ transfers


@kernel
def prune(vault, now):
    """Forget transfers that are over."""
    held = np.int64(0)
    for k in range(vault.at[ACTIVE]):
        row = vault.active[k]
        if vault.transfers[row].until > now:
            vault.active[held] = row
            held += 1
    vault.at[ACTIVE] = held


@kernel
def clients(vault, store):
    """Return how many transfers use a store, one that is about to begin among them."""
    count = np.int64(1)
    for k in range(vault.at[ACTIVE]):
        for j in range(vault.rules.pieces):
            if vault.places[vault.active[k], j] == store:
                count += 1
    return count


@kernel
def rate_to(vault, host, store):
    """Return the B/s that a transfer between a host and a store gets that begins now."""
    rules, site = vault.rules, vault.seen.site
    if store == host:
        return rules.disk
    if store >= len(site):
        path = rules.near if rules.layout == SERVER else rules.far
        return max(min(path, rules.server // clients(vault, store)), 1)
    path = rules.near if site[host] == site[store] else rules.far
    return max(min(path, rules.host // clients(vault, store)), 1)


@kernel
def save_seconds(vault, host, raw, piece):
    """Return the seconds that a save to the chosen stores takes."""
    carried = np.int64(0)
    for j in range(vault.rules.pieces):
        carried += micros(piece, rate_to(vault, host, vault.desk.chosen[j]))
    return seconds_of(micros(raw, vault.rules.speed), carried)


@kernel
def restore_seconds(vault, world, host, places, now):
    """Return the seconds that a restore takes from the fastest m of these stores that can be read,
    and leave these in `chosen`, -1 after them."""
    rules, chosen = vault.rules, vault.desk.chosen
    carried = np.int64(0)
    for j in range(rules.pieces):
        chosen[j] = -1
    for j in range(rules.needed):
        best, found = np.int64(-1), np.int64(-1)
        for k in range(rules.pieces):
            store = places[k]
            taken = False
            for i in range(j):
                taken = taken or chosen[i] == store
            if taken or not readable(vault, world, store, now):
                continue
            rate = rate_to(vault, host, store)
            if rate > best:
                best, found = rate, store
        chosen[j] = found
        carried += micros(rules.piece, best)
    return seconds_of(micros(rules.raw, rules.speed), carried)


@kernel
def begin_transfer(vault, number, kind, host, start, until, version, base, work, size):
    """Write a transfer to or from the chosen stores; return its row."""
    row = vault.at[ROWS]
    vault.at[ROWS] += 1
    one = vault.transfers[row]
    one.job, one.kind, one.host, one.start, one.until = number, kind, host, start, until
    one.complete, one.version, one.base, one.work, one.bytes = 0, version, base, work, size
    for j in range(vault.rules.pieces):
        vault.places[row, j] = vault.desk.chosen[j]
    vault.active[vault.at[ACTIVE]] = row
    vault.at[ACTIVE] += 1
    return row


# ------------------------------------------------------------------------------------- versions


@kernel
def recoverable(vault, world, number, k, time):
    """Return whether version k of those held of a job can be had at a time: of it and of each that
    it leans on at least m pieces can be read."""
    versions = vault.versions[number]
    base = versions[k].base
    while k >= 0 and versions[k].number >= base:
        count = np.int64(0)
        for j in range(vault.rules.pieces):
            if readable(vault, world, vault.held[number, k, j], time):
                count += 1
        if count < vault.rules.needed:
            return False
        k -= 1
    return True


@kernel
def latest(vault, world, number, time):
    """Return which of the versions kept of a job is the newest that can be had at a time, -1 where
    none can."""
    held = vault.guests[number].held
    for back in range(min(held, vault.rules.keep)):
        if recoverable(vault, world, number, held - 1 - back, time):
            return np.int64(held - 1 - back)
    return np.int64(-1)


@kernel
def keep(vault, number, version, base, work, row):
    """Add a version that is complete, and forget those that are kept no longer and that none leans
    on."""
    guest, rules, versions = vault.guests[number], vault.rules, vault.versions[number]
    k = guest.held
    versions[k].number, versions[k].base, versions[k].work = version, base, work
    for j in range(rules.pieces):
        vault.held[number, k, j] = vault.places[row, j]
    guest.held = k + 1
    least = versions[max(guest.held - rules.keep, 0)].base
    gone = np.int64(0)
    while versions[gone].number < least:
        gone += 1
    if gone == 0:
        return
    for i in range(gone, guest.held):
        one, before = versions[i - gone], versions[i]
        one.number, one.base, one.work = before.number, before.base, before.work
        for j in range(rules.pieces):
            vault.held[number, i - gone, j] = vault.held[number, i, j]
    guest.held -= gone


@kernel
def next_base(vault, world, number, time):
    """Return the number of the first version that a job's next one leans on: its own where it holds
    everything."""
    guest, rules = vault.guests[number], vault.rules
    own = guest.number + 1
    if rules.depth < 2 or guest.held == 0:
        return own
    k = guest.held - 1
    base = vault.versions[number, k].base
    length = np.int64(1)
    while k - length >= 0 and vault.versions[number, k - length].number >= base:
        length += 1
    if length >= rules.depth or not recoverable(vault, world, number, k, time):
        return own
    return base


# --------------------------------------------------------------------------------------- choice


@kernel
def choose_stores(vault, world, host, now, piece, interval, work):
    """Choose where the pieces of a checkpoint go, and leave it in `chosen`; return whether enough
    hosts can be reached. `interval` s to the next checkpoint, 0 where the host is lost already;
    `work` of the job, millionths."""
    rules, desk, seen = vault.rules, vault.desk, vault.seen
    if rules.layout != CODE:
        desk.chosen[0] = host if rules.layout == LOCAL else len(seen.site)
        return True
    count, begin = np.int64(0), np.int64(0)
    for store in range(len(seen.site)):
        if seen.keeps[store] == 0 or store == host or state_at(vault, world, store, now) > S2:
            continue
        if store < host:
            begin = count + 1
        desk.hosts[count] = store
        count += 1
    if count < rules.pieces:
        return False
    if rules.choice == NEXT:
        for j in range(rules.pieces):
            desk.chosen[j] = desk.hosts[(begin + j) % count]
        return True
    for k in range(count):
        desk.cost[k] = micros(piece, rate_to(vault, host, desk.hosts[k])) * _PER_MICRO
    fails = remember(vault, world, host, now, interval, count)
    pick(desk, rules, count, fails * work / MILLION)
    return True


@kernel
def remember(vault, world, host, now, interval, count):
    """Write which candidates were up at moments of the past, and how much each moment counts;
    return the probability that the compute host is lost within an interval."""
    desk, seen, begin = vault.desk, vault.seen, world.clock.begin
    since = max(begin, now - vault.rules.history)
    step = max((now - since) // MOMENTS, 1)
    even = max(min((now - since) // step, MOMENTS), 1)
    last = seen.lost_first[host + 1]
    high = seen.lost_first[host]
    while high < last and seen.lost[high] < now:
        high += 1
    low = high
    while low > seen.lost_first[host] and seen.lost[low - 1] >= since:
        low -= 1
    lost = high - low
    rows = even + min(lost, FAILURES)
    some = rows - even
    for k in range(rows):
        time = max(now - (k + 1) * step, begin) if k < even else seen.lost[high - 1 - (k - even)]
        share = OPINION / (some + OPINION) / rows if some > 0 else 1.0 / rows
        desk.weight[k] = share + (1 / (some + OPINION) if k >= even else 0.0)
        for c in range(count):
            desk.up[c, k] = 1 if state_at(vault, world, desk.hosts[c], time) < S5 else 0
    for k in range(rows, MOMENTS + FAILURES):
        desk.weight[k] = 0.0
    for c in range(count):
        desk.mean[c] = 0.0
        for k in range(rows):
            desk.mean[c] += desk.weight[k] * desk.up[c, k]
    if interval == 0:
        return 1.0
    return 1 - np.exp(-lost * interval / max(now - since, 1))


@kernel
def pick(desk, rules, count, gain):
    """Leave the best choice of the first `count` candidates in `chosen`."""
    few = placement.shortlist(
        desk.cost, desk.mean, gain, rules.needed, count, SHORTLIST, desk.order
    )
    for k in range(few):
        one = desk.order[k]
        desk.short_cost[k] = desk.cost[one]
        for moment in range(MOMENTS + FAILURES):
            desk.short_up[k, moment] = desk.up[one, moment]
    placement.least_loss(
        desk.short_cost, desk.short_up, desk.weight, gain, rules.needed, rules.pieces, few,
        desk.scratch, desk.counts, desk.chosen,
    )  # fmt: skip
    for j in range(rules.pieces):
        desk.chosen[j] = desk.hosts[desk.order[desk.chosen[j]]]
