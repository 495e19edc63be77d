"""The world of guests on shared hosts: hosts whose state changes, guests that end, jobs to place.

Four streams are merged by one whole-number key (time, kind, order): submissions and changes of
hosts, sorted beforehand; a heap of what the present state leads to, one item a job; and looks at
guests whose hosts may leave, at even times.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import by_type, inlined, kernel, merged_by_type, record_of
from forestall.core.model.cycle import (
    FAR,
    MILLION,
    Fate,
    GuestDecisionKind,
    GuestEventKind,
    GuestReason,
    StayEnd,
)
from forestall.prediction.models.heap_kernels import Heap, cancel, put
from forestall.prediction.models.semi_markov.curve_kernels import draw, draw_whole
from forestall.sharing.engine.state import CONDOR, FALCON, OMNISCIENT, OWN, SLIDES
from forestall.sharing.rules import falcon_kernels as falcon
from forestall.sharing.simulation.vault_state import GuestVault, NoVault

_FAR = np.int64(FAR)
_MILLION = np.int64(MILLION)
_ENDED = np.int64(GuestEventKind.GUEST_ENDED)
_HOST_STATE = np.int64(GuestEventKind.HOST_STATE)
_LOOK = np.int64(GuestEventKind.GUEST_AT_RISK)
_TRY = np.int64(GuestEventKind.TRY)

_START = np.int64(GuestDecisionKind.START)
_WAIT = np.int64(GuestDecisionKind.WAIT)
_GIVE_UP = np.int64(GuestDecisionKind.GIVE_UP)
_END = np.int64(GuestDecisionKind.END)

_AWAY = np.int64(GuestReason.AWAY)
_CONTENTION = np.int64(GuestReason.CONTENTION)
_BY_CONTENTION = np.int64(StayEnd.CONTENTION)
_COMPLETED_STAY = np.int64(StayEnd.COMPLETED)
_CUT = np.int64(StayEnd.UNFINISHED)
_COMPLETED = np.int64(Fate.COMPLETED)
_UNSCHEDULED = np.int64(Fate.UNSCHEDULED)

ORDER_BITS: Final = 26
KIND_BITS: Final = 3
MAX_ORDER: Final = 2**ORDER_BITS
"""Jobs and hosts of a run, at most, each."""
KINDS: Final = 2**KIND_BITS - 1
"""The bits of a kind."""
NEVER: Final = 2**63 - 1
"""A key later than any event's."""

CHANGE: Final = np.dtype([("time", "i8"), ("host", "i8"), ("state", "i8")])

GUEST: Final = record_of(
    "submit work saved begun chance asked target start finish outcome tries failures lost "
    "checkpoints"
)
"""A job as the world knows it: submission; work in all, and saved so far; begin of the stay under
way, the chance that was said of it (-1: none), and when it was decided that the guest moves and
where to (-1: it does not); the rest as in `core.model.cycle.FATE`."""

HEAP, CHANGES, SUBMISSIONS, LOOKS = map(np.int64, range(4))

ARRIVED, CHANGED, NOW, KIND, KEY, TOLD, EVENTS = range(7)
STAYS, LOGGED, DECIDED, LISTED, SLOT, ENDED_AT, LOOK_AT, LOOKED, COUNTERS = range(7, 16)


class TraceClock(NamedTuple):
    """Begin and end of the traces, s; seconds of a sample; origin of keys; seconds of a slot."""

    begin: int
    end: int
    period: int
    origin: int
    slot: int


class Saving(NamedTuple):
    """How guests are saved: seconds from one checkpoint to the next (0: none), seconds that one
    takes, whether a guest is saved as contention ends it, seconds that a restart takes; 0 in all
    where jobs start from scratch."""

    interval: int
    overhead: int
    at_end: int
    restart: int


class GuestMoves(NamedTuple):
    """When guests move: where the chance that the host stays for `ahead` seconds is less than
    `limit`, millionths; looked at every so many seconds (0: never)."""

    limit: int
    ahead: int
    every: int


class CycleWorld(NamedTuple):
    """GUEST[jobs]; CHANGE[changes]; planned events; int64[hosts, samples + 1] work that could be
    done up to each sample; int64[hosts + 1], int64[runs] and int64[runs]: the first run of each
    host, where runs start, and when the host is next to be left; int64[hosts] ranks by speed,
    empty where idleness counts; float64[hosts] speeds; int64[hosts] the job that is about to move
    to each, or -1; STAY[capacity]; int64[15] counters; clock; saving; moving; what a vault
    keeps."""

    guests: npt.NDArray[Any]
    changes: npt.NDArray[Any]
    heap: Heap
    done: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    gone: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int64]
    speeds: npt.NDArray[np.float64]
    claims: npt.NDArray[np.int64]
    stays: npt.NDArray[Any]
    at: npt.NDArray[np.int64]
    clock: TraceClock
    saving: Saving
    moving: GuestMoves
    vault: NoVault | GuestVault


class GuestLogs(NamedTuple):
    """EVENT[capacity], DECISION[capacity], ESTIMATE[capacity]; empty where nothing is logged."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]
    estimates: npt.NDArray[Any]


# ------------------------------------------------------------------------------------ work


@kernel
def done_at(world, host, time):
    """Return the work that a host could have done up to a time, millionths of a second."""
    clock, done = world.clock, world.done[host]
    past = time - clock.begin
    k = min(past // clock.period, len(done) - 2)
    # Within a sample work goes on evenly; sums are whole numbers, so no error piles up along a
    # trace.
    rate = (done[k + 1] - done[k]) // clock.period
    return done[k] + rate * (past - k * clock.period)


@kernel
def reached(world, host, amount, time):
    """Return the first second from `time` on in which a host has done an amount, FAR where the
    traces end before."""
    clock, done = world.clock, world.done[host]
    low, high = (time - clock.begin) // clock.period, len(done) - 1
    if done[high] < amount:
        return _FAR
    while low < high:
        middle = (low + high) >> 1
        if done[middle] < amount:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return np.int64(clock.begin)
    rate = (done[low] - done[low - 1]) // clock.period
    # Rounded up: the first second in which it is done.
    seconds = -(-(amount - done[low - 1]) // rate)
    return clock.begin + (low - 1) * clock.period + seconds


@kernel
def lived(world, host, guest, begun, until):
    """Return what becomes of a job in a stay that lasts at most until a second: when its work is
    done (FAR: not by then), the work done, what of it is saved, and checkpoints taken."""
    saving = world.saving
    need = guest.work - guest.saved
    since = begun + (saving.restart if guest.saved > 0 else 0)
    done, saved, count = np.int64(0), np.int64(0), np.int64(0)
    # Interval by interval, as each checkpoint stops the work while it is taken.
    while since < until:
        before = done_at(world, host, since)
        finish = reached(world, host, before + need - done, since)
        pause = since + saving.interval if saving.interval > 0 else _FAR
        if finish <= min(pause, until):
            return finish, need, saved, count
        running = min(pause, until)
        done += done_at(world, host, running) - before
        # The checkpoint under way is not complete: what it would have saved is lost.
        if pause + saving.overhead > until:
            break
        saved, count, since = done, count + 1, pause + saving.overhead
    return _FAR, done, saved, count


@kernel
def held_by(world, host, guest, now):
    """Return the work that a guest has done in its stay, what of it is saved, and checkpoints
    taken; one that is to move has worked until that was decided, and is being saved since."""
    if guest.asked < 0:
        _finish, done, saved, count = lived(world, host, guest, guest.begun, now)
        return done, saved, count
    _finish, done, saved, count = lived(world, host, guest, guest.begun, guest.asked)
    if guest.asked + world.saving.overhead <= now:
        return done, done, count + 1
    return done, saved, count


@kernel
def run_of(world, host, time):
    """Return the run that a host is in at a time."""
    low, high = world.first[host], world.first[host + 1] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if world.starts[middle] <= time:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def leaves_at(world, host, now):
    """Return when a host that is available is next to be left, at latest when the traces end."""
    return min(world.gone[run_of(world, host, now)], world.clock.end)


# ---------------------------------------------------------------------------------- events


@kernel
def key_of(world, time, kind, order):
    """Pack (time, kind, order) into one whole number that sorts like the triple."""
    return ((time - world.clock.origin) << (ORDER_BITS + KIND_BITS)) | (kind << ORDER_BITS) | order


@kernel
def peek(world):
    """Return the key of the next event, NEVER where there is none, and its stream."""
    at = world.at
    best, stream = NEVER, np.int64(-1)
    if world.heap.size[0] > 0:
        best, stream = world.heap.keys[0], HEAP
    # Two sorted arrays and the heap, as in the loops of the other models.
    if at[CHANGED] < len(world.changes):
        change = world.changes[at[CHANGED]]
        key = key_of(world, change.time, _HOST_STATE, change.host)
        if key < best:
            best, stream = key, CHANGES
    if at[ARRIVED] < len(world.guests):
        key = key_of(world, world.guests[at[ARRIVED]].submit, _TRY, at[ARRIVED])
        if key < best:
            best, stream = key, SUBMISSIONS
    if world.moving.every > 0:
        key = key_of(world, at[LOOK_AT], _LOOK, 0)
        if key < best:
            best, stream = key, LOOKS
    return best, stream


@kernel
def step(world, key, stream):
    """Take the next event off its stream, and put it where the loop looks for it."""
    at = world.at
    at[NOW] = (key >> (ORDER_BITS + KIND_BITS)) + world.clock.origin
    at[KIND] = (key >> ORDER_BITS) & KINDS
    at[KEY] = key & (MAX_ORDER - 1)
    at[TOLD] = -1
    if stream == HEAP:
        # An item of the heap is a job, and its key's order is the job too.
        cancel(world.heap, at[KEY])
    elif stream == CHANGES:
        at[TOLD] = world.changes[at[CHANGED]].state
        at[CHANGED] += 1
    else:
        at[ARRIVED] += 1
    at[EVENTS] += 1


@kernel
def turns_slot(world, key):
    """Return whether forecasts of another slot are needed at the time of a key, and note which."""
    clock = world.clock
    slot = ((key >> (ORDER_BITS + KIND_BITS)) + clock.origin - clock.begin) // clock.slot
    turns = world.at[SLOT] != slot
    world.at[SLOT] = slot
    return turns


@kernel
def look_at(world, key, number):
    """Put a look at a guest where the loop looks for an event."""
    at = world.at
    at[NOW] = (key >> (ORDER_BITS + KIND_BITS)) + world.clock.origin
    at[KIND], at[KEY], at[TOLD] = _LOOK, number, -1


@inlined
def foretells(scheduler):
    """Return whether a scheduler knows how long hosts are foreseen to stay."""
    return scheduler in (FALCON, OWN, SLIDES)


@kernel
def estimate_all(state, world, forecast, number, count, every):
    """Write what the scheduler knows of each candidate for a job into `state.estimates`; not
    `every`: of those that Falcon cannot take, as one before them ends the job sooner, only that."""
    guest, now, scheduler = world.guests[number], world.at[NOW], state.rules.scheduler
    soonest = _FAR
    if foretells(scheduler):
        # Of all hosts in one go: each is waited for in memory, and so together.
        for k in range(count):
            out = state.estimates[k]
            out.rank = rate_now(world, out.host, now)
    for k in range(count):
        out = state.estimates[k]
        host = out.host
        foresee(out, state, world, forecast, guest.work - guest.saved, out.rank, soonest)
        if scheduler == FALCON and not every and falcon.lives(out):
            soonest = min(soonest, out.jctf)
        if scheduler in (CONDOR, OWN):
            out.rank = rank_of(world, host, now)
        elif scheduler == OMNISCIENT:
            until = leaves_at(world, host, now)
            finish, done, _saved, _count = lived(world, host, guest, now, until)
            out.jctf = finish - now if finish < _FAR else _FAR
            out.etl = done // _MILLION


@inlined
def foresee(out, state, world, forecast, left, rate, soonest):
    """Write what is foreseen of so much work of a job on the host of an ESTIMATE, where a guest
    gets so much now, millionths of a host of speed 1; where it surely ends later than the `soonest`
    one (FAR: there is none), only that."""
    host, scheduler, told = out.host, state.rules.scheduler, forecast.curves
    out.jct, out.mttf, out.etl, out.jctf, out.rank, out.chance = 0, 0, 0, 0, 0, 0
    here = state.hosts[host].state
    if scheduler == SLIDES:
        draw_whole(forecast, host, here)
        falcon.estimate_by_means(out, told, host, here, left)
    elif foretells(scheduler):
        # As a share of this host, whatever its speed.
        present = rate / (MILLION * world.speeds[host])
        if soonest < _FAR:
            draw(forecast, host, here, falcon.looked_at(told, soonest))
            if falcon.ends_later(told, host, here, left, present, soonest):
                falcon.rule_out(out)
                return
        draw_whole(forecast, host, here)
        falcon.estimate(out, told, host, here, left, present)


@kernel
def rank_of(world, host, now):
    """Return the rank of a host for the scheduler that is blind to failures."""
    return world.ranks[host] if len(world.ranks) > 0 else rate_now(world, host, now)


@inlined
def rate_now(world, host, now):
    """Return what a guest on a host gets now, millionths of a host of speed 1."""
    clock, done = world.clock, world.done[host]
    k = (now - clock.begin) // clock.period
    return (done[k + 1] - done[k]) // clock.period


# ------------------------------------------------------------------------------ carrying out


@kernel
def write_stay(world, number, host, ended, end, work, saved, count):
    """Write a stay that has ended; `saved` is what of the job's work is kept from now on."""
    guest, at = world.guests[number], world.at
    stay = world.stays[at[STAYS]]
    at[STAYS] += 1
    stay.job, stay.host, stay.ended, stay.checkpoints = number, host, ended, count
    stay.start, stay.end, stay.work, stay.saved = guest.begun, end, work, saved
    stay.chance, stay.resumed, stay.asked = guest.chance, guest.saved, guest.asked
    if guest.asked >= 0 and world.claims[guest.target] == number:
        world.claims[guest.target] = -1
    guest.asked, guest.target = -1, -1
    # Work beyond what is kept; a stay that the traces cut off has lost nothing.
    stay.lost = guest.saved + work - saved if ended not in (_COMPLETED_STAY, _CUT) else 0
    guest.lost += stay.lost
    guest.checkpoints += count
    guest.saved = saved
    at[ENDED_AT] = end


@merged_by_type
def has_room(vault):
    """Return whether the next event surely finds room in what the vault keeps."""
    return True


@merged_by_type
def recall(vault, world, number):
    """Find out what of a job's work can be recovered now, before its host is chosen."""


@by_type
def go_on(vault, state, world, number):
    """Do what is next for a guest whose restore or save is over, or due."""


@by_type
def plan_stay(vault, state, world, number, host):
    """Plan the end of a guest that is started on a host."""
    guest, now = world.guests[number], world.at[NOW]
    # The world knows when the host is left: an end is planned only where it comes before that.
    until = leaves_at(world, host, now)
    ends, _done, _saved, _count = lived(world, host, guest, now, until)
    if ends < _FAR:
        put(world.heap, number, key_of(world, ends, _ENDED, number))


@by_type
def finish_stay(vault, state, world, number):
    """Write down that a job has done its work, before the engine hears of it."""
    guest, now = world.guests[number], world.at[NOW]
    host = state.jobs[number].host
    _finish, work, _saved, count = lived(world, host, guest, guest.begun, now)
    write_stay(world, number, host, _COMPLETED_STAY, now, work, guest.work, count)
    guest.finish, guest.outcome = now, _COMPLETED


@by_type
def lose_stay(vault, world, number, host, reason):
    """Write down that a job has lost its host, and plan that it is tried again."""
    guest, now, saving = world.guests[number], world.at[NOW], world.saving
    work, saved, count = held_by(world, host, guest, now)
    kept = guest.saved + saved
    # The owner's load leaves time to save; a host that is gone does not.
    if saving.at_end != 0 and reason != _AWAY:
        kept, count = guest.saved + work, count + 1
    guest.failures += 1
    write_stay(world, number, host, reason - _CONTENTION + _BY_CONTENTION, now, work, kept, count)
    put(world.heap, number, key_of(world, now, _TRY, number))


@by_type
def cut_stay(vault, world, number, host):
    """End a stay that is under way where the traces end."""
    guest, end = world.guests[number], np.int64(world.clock.end)
    work, saved, count = held_by(world, host, guest, end)
    write_stay(world, number, host, _CUT, end, work, guest.saved + saved, count)


@kernel
def carry_out(state, world):
    """Do what the engine has decided."""
    out, now = state.out[0], world.at[NOW]
    number, kind = out.job, out.kind
    guest = world.guests[number]
    if kind == _START:
        guest.begun = now
        guest.chance = out.chance if foretells(state.rules.scheduler) else -1
        if guest.start < 0:
            guest.start = now
        plan_stay(world.vault, state, world, number, out.host)
    elif kind == _WAIT:
        put(world.heap, number, key_of(world, out.at, _TRY, number))
    elif kind == _GIVE_UP:
        guest.outcome = _UNSCHEDULED
        world.at[ENDED_AT] = now
    elif kind == _END:
        lose_stay(world.vault, world, number, out.host, out.reason)


@kernel
def cut(state, world):
    """End the stays under way where the traces end."""
    for host in range(len(state.hosts)):
        number = state.hosts[host].guest
        if number >= 0:
            cut_stay(world.vault, world, number, host)
