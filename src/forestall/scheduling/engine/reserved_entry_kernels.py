"""Steps of a real cluster that a simulated one never takes, where jobs have reservations of nodes.

A real cluster starts what nobody asked for, refuses starts, takes jobs back, runs past
reservations, and takes nodes away without saying until when. Python puts these steps together
(`reserved`). Each leaves the state whole: a node stands in one run or reservation at a time. Sets
of nodes come in the scratch row SEEN.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry
from forestall.core.model.decisions import Reason
from forestall.scheduling.engine import promise_kernels as promise
from forestall.scheduling.engine import run_kernels as runs
from forestall.scheduling.engine.state import NEW, WAITING
from forestall.scheduling.rules import offer_kernels as offers
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.search_state import CHOSEN, SEEN, TOGETHER

_RESERVED_START = np.int64(Reason.RESERVED_START)


@entry
def admit(state, j):
    """Take note of a job that has not been seen before."""
    if state.jobs[j].status == NEW:
        runs.admit(state, j)


@entry
def length_of(state, j):
    """Return the seconds that a reservation for the work left takes."""
    return runs.length_of(state.jobs[j], state.rules)


@entry
def take(state, kind, key, until, now):
    """Take one event, and leave what it leaves to decide."""
    promise.take(state, kind, key, until, now)


@entry
def move_on(state, now):
    """Let the present moment be `now`; there are no decisions."""
    state.out.held[0] = 0
    timelines.advance(state.timeline, now)
    risks.move_on(state.prediction, now)


@entry
def look(state, now, since, wanted, size, length, pool, again):
    """Find the first start from `since` on, on nodes of a pool (0: on any), whose probability of
    success is at least `wanted` (0: any); return its reason. The offer is left in the scratch room
    and nothing else changes. -1 where Python has to be asked first: then call with the answer and
    `again`."""
    if not again:
        promise.open_search(state, since, wanted, pool)
    return promise.reason_of(state, now) if promise.search(state, now, size, length) else -1


@entry
def look_on(state, now, wanted, give_up, size, length, again):
    """Go on from an offer that is refused to the next one that is as good as `wanted`; see `look`.
    From `give_up` on none is looked at: then the offer left is not as good."""
    at = state.scratch.search[0]
    if not again:
        at.wanted, at.hurried = wanted, 0
        offers.refuse(state.timeline, state.scratch, state.prediction, length)
        at.give_up = min(at.give_up, give_up)
        at.lower, at.known = at.start + 1, 0
    return promise.reason_of(state, now) if promise.search(state, now, size, length) else -1


@entry
def commit(state, j, fresh, reason, node):
    """Reserve what the last offer says; see `promise_kernels.commit`."""
    state.out.held[0] = 0
    promise.commit(state, j, fresh, reason, node)


@entry
def risk_of(state, j, now, again):
    """Return the risk of the reservation of a job that waits; -1 where Python has to be asked
    first: then call with the answer and `again`."""
    job, scratch = state.jobs[j], state.scratch
    search = scratch.search
    if not again:
        search[0].start, search[0].end, search[0].known = job.start, job.end, 0
        bits.copy(scratch.rows[CHOSEN], state.timeline.rows[job.row])
    if not risks.told(state.prediction, search, TOGETHER):
        return -1.0
    chosen = scratch.rows[CHOSEN]
    return risks.risk_of_set(state.prediction, chosen, now, job.start, job.end)


@entry
def conflicts(state, count, start, end, found):
    """Write the waiting jobs, of the first `count`, whose reservations have a node of the row SEEN
    within [start, end) into `found`, in order; return how many there are."""
    held = 0
    for j in range(count):
        job = state.jobs[j]
        if job.status != WAITING or job.row < 0 or job.start >= end or job.end <= start:
            continue
        row = state.timeline.rows[job.row]
        for i in range(len(row)):
            if row[i] & state.scratch.rows[SEEN, i] != bits.ZERO:
                found[held] = j
                held += 1
                break
    return held


@entry
def withdraw(state, j, now):
    """Take the reservation of a job that waits."""
    job = state.jobs[j]
    timelines.release(state.timeline, job.row, job.size, job.start, job.end, now)
    timelines.give_row(state.timeline, job.row)
    job.row, job.start, job.end = -1, -1, -1


@entry
def reserve_seen(state, j, start, end):
    """Reserve the nodes of the row SEEN, which are free in [start, end), for a job."""
    job, row = state.jobs[j], timelines.new_row(state.timeline)
    bits.copy(state.timeline.rows[row], state.scratch.rows[SEEN])
    job.row, job.low, job.start, job.end = row, 0, start, end
    timelines.reserve(state.timeline, row, job.size, start, end)


@entry
def run_seen(state, j, now, end):
    """Note that a job runs on the nodes of the row SEEN, which are idle and not reserved before
    `end`, though no start was asked for."""
    state.jobs[j].size = bits.count(state.scratch.rows[SEEN])
    reserve_seen(state, j, now, end)
    runs.begin(state, j, now, _RESERVED_START)
    state.out.held[0] = 0


@entry
def evict(state, j, now):
    """End the run of a job that will be placed again."""
    promise.give_up(state, j, now)
    runs.end_run(state, j, WAITING)


@entry
def extend(state, j, end, now):
    """Reserve the nodes of a run until `end`; the caller has made room."""
    job = state.jobs[j]
    timelines.release(state.timeline, job.row, job.size, job.start, job.end, now)
    timelines.reserve(state.timeline, job.row, job.size, now, end)
    job.estimate += max(end - job.end, 0)
    job.end = end


@entry
def leave(state, node, until):
    """Let a node take no new job until `until`; one that runs on it goes on."""
    machines.fail(state.machine, node, until)
