"""What a queue tells of a job at its submission, and what happens to the queue, event by event.

Times never go back. A job is told of before it is entered: what it is told follows from the events
before it, in the order in which they were taken in.
"""

from __future__ import annotations

import math

import numpy as np

from forestall.core._compile import entry, inlined, kernel
from forestall.site.learning.turnaround.book_state import (
    CANCEL,
    END,
    FAIL,
    LOOK,
    REQUEUE,
    START,
    SUBMIT,
)
from forestall.site.learning.turnaround.queue_fit_kernels import class_of, fit, requested, sort_ends
from forestall.site.learning.turnaround.queue_state import (
    ABSENT,
    BY_LIKE,
    BY_LIMIT,
    BY_USER,
    EXPECTATIONS,
    RUNS,
    SIZES,
    SPELL,
    WAITS,
)

OF_USER, OF_LIKE, OF_QUEUE, OF_MACHINE, OF_WAITS, OF_PART, OF_FIT, OF_AGE = (
    4,
    19,
    26,
    33,
    38,
    42,
    47,
    51,
)
"""Where features of each kind begin, after the job's own; see `queue_features.FEATURES`."""
HOUR, DAY = 3600, 86_400
PAUSE = HOUR
"""A user who submits nothing for longer begins a new burst, s."""


# ----------------------------------------------------------------------------------------- features


@kernel
def faded(mean, count, value, share):
    """Return a fading mean with one value more, of which it takes a share."""
    return value if count == 0 else (1.0 - share) * mean + share * value


@kernel
def seconds(logarithm):
    """Return the time whose log(1 + s) this is."""
    return math.exp(logarithm) - 1.0


@inlined
def expect(state, slot):
    """Write down how long a job is expected to run."""
    job = state.jobs[slot]
    user, like = state.users[job.user], state.likes[job.like]
    limit = requested(job.limit)
    used = user.used if user.runs > 0 else 0.5
    alike = seconds(like.mean_run) if like.runs > 0 else limit * used
    by_like = min(max(np.int64(math.floor(alike + 0.5)), 1), limit)
    job.expected[BY_LIKE] = by_like
    job.expected[BY_USER] = by_like
    if user.runs > 0:
        slow = np.int64(math.floor(seconds(user.slow_run) + 0.5))
        job.expected[BY_USER] = min(max(slow, 1), limit)
    job.expected[BY_LIMIT] = limit


@inlined
def tell_user(state, job, now, out):
    """Write what is known of a job's user."""
    user, name = state.users[job.user], state.names[job.name]
    if user.runs > 0:
        out[0], out[3] = user.turnaround, user.run
        out[2], out[6] = math.exp(user.ratio), math.exp(user.mean_ratio)
        out[4] = seconds(user.mean_run)
    if user.starts > 0:
        out[1], out[5] = user.wait, seconds(user.mean_wait)
    out[7], out[8], out[9] = user.waiting, user.running, user.work
    out[12], out[13] = 1, 0
    if user.submits > 0:
        gap = now - user.submitted
        out[10] = gap
        out[12] = 1 if gap > PAUSE else user.burst + 1
        out[13] = 1 if user.like == job.like and job.like > 0 else 0
    if user.submits > 1:
        out[11] = user.gap
    if name.runs > 0:
        out[14] = name.run


@inlined
def tell_like(state, job, now, out):
    """Write what is known of the user's jobs of this size and limit."""
    like = state.likes[job.like]
    if like.runs > 0:
        out[0], out[1], out[3] = like.run, seconds(like.mean_run), now - like.ended
    out[2], out[4], out[5] = like.runs, like.running, like.waiting
    if like.running > 0:
        out[6] = now - like.started


@inlined
def tell_queue(state, job, now, out):
    """Write what waits."""
    queue = state.queue[0]
    out[0], out[1] = queue.waiting, queue.waiting_nodes
    out[2], out[3] = queue.work[BY_LIMIT], queue.work[BY_LIKE]
    out[4], out[5], out[6] = 0, 0, 0
    if queue.waiting > 0:
        out[4] = now - state.jobs[queue.first].submit
        no_larger = 0
        for at in range(class_of(job.size, SIZES) + 1):
            no_larger += state.sizes[at]
        out[6] = no_larger
        largest = SIZES - 1
        while state.sizes[largest] == 0:
            largest -= 1
        out[5] = smallest_of(largest)


@kernel
def smallest_of(at):
    """Return the smallest number of a class."""
    if at < 8:
        return at
    return (4 + at % 4) << (at // 4 - 1)


@inlined
def tell_machine(state, now, out):
    """Write what runs."""
    queue = state.queue[0]
    out[0], out[1] = queue.running, queue.busy
    out[2] = max(queue.ends[BY_LIMIT] - now * queue.busy, 0)
    out[3] = max(queue.ends[BY_LIKE] - now * queue.busy, 0)
    out[4] = max(queue.most - queue.busy, 0)


@inlined
def tell_waits(state, job, now, out):
    """Write how long jobs waited lately."""
    queue, cell = state.queue[0], state.cells[job.cell]
    if queue.starts > 0:
        out[0], out[1] = queue.wait, seconds(queue.mean_wait)
    if cell.starts > 0:
        out[2], out[3] = seconds(cell.mean_wait), now - cell.started


@inlined
def tell_part(state, job, out):
    """Write what waits and runs in a job's partition."""
    part = state.parts[job.part]
    out[0], out[1], out[2] = part.waiting, part.waiting_nodes, part.running_nodes
    out[3] = part.work
    if part.starts > 0:
        out[4] = seconds(part.mean_wait)


@inlined
def tell_fit(state, slot, now, out):
    """Write how long a job would wait if jobs were started in order."""
    sort_ends(state, now)
    for expectation in range(EXPECTATIONS):
        wait = fit(state, slot, expectation)
        if wait >= 0:
            out[expectation] = wait
    out[EXPECTATIONS] = state.jobs[slot].expected[BY_LIKE]


@inlined
def tell_age(state, slot, now, out):
    """Write how long a job has waited, and what was submitted before it and still waits."""
    jobs, other, ahead, work = state.jobs, state.queue[0].first, 0, 0
    while other > 0 and other != slot:
        ahead += 1
        work += jobs[other].size * jobs[other].expected[BY_LIKE]
        other = jobs[other].after
    out[0], out[1], out[2] = now - jobs[slot].submit, ahead, work


@kernel
def write_down(state, told, slot, now):
    """Write into a slot what a job says of itself."""
    job = state.jobs[slot]
    job.limit, job.size, job.submit = told.limit, told.size, now
    job.user, job.like, job.part = told.user, told.like, told.part
    job.cell, job.name = told.cell, told.name
    job.starts, job.started = 0, 0
    move_on(state.queue[0], now)
    expect(state, slot)


@kernel
def tell(state, slot, now, out):
    """Write the features of a job that is in a slot, as it is submitted or while it waits, into
    float32[F]: nan where there is none; those of its age where there is room for them."""
    job = state.jobs[slot]
    for k in range(len(out)):
        out[k] = math.nan
    if job.limit > 0:
        out[0] = job.limit
    out[1], out[2], out[3] = job.size, (now % DAY) / HOUR, now // DAY % 7
    tell_user(state, job, now, out[OF_USER:])
    tell_like(state, job, now, out[OF_LIKE:])
    tell_queue(state, job, now, out[OF_QUEUE:])
    tell_machine(state, now, out[OF_MACHINE:])
    tell_waits(state, job, now, out[OF_WAITS:])
    tell_part(state, job, out[OF_PART:])
    tell_fit(state, slot, now, out[OF_FIT:])
    if len(out) > OF_AGE:
        tell_age(state, slot, now, out[OF_AGE:])


# ------------------------------------------------------------------------------------------- events


@kernel
def move_on(queue, now):
    """Let time go on: what is busy at the end of a second was busy until now."""
    if now == queue.time:
        return
    queue.low = min(queue.low, queue.busy)
    if now // SPELL != queue.time // SPELL:
        queue.most = max(queue.most, queue.low)
        queue.low = queue.busy
        if now // SPELL > queue.time // SPELL + 1:
            queue.most = max(queue.most, queue.busy)
    queue.time = now


@inlined
def link(state, slot):
    """Put a job among those that wait, in order of submission."""
    jobs, queue = state.jobs, state.queue[0]
    job = jobs[slot]
    before, after = queue.last, 0
    if before > 0 and jobs[before].number > job.number:  # it waits again: it was among the first
        before, after = 0, queue.first
        while jobs[after].number < job.number:
            before, after = after, jobs[after].after
    job.before, job.after = before, after
    if before > 0:
        jobs[before].after = slot
    else:
        queue.first = slot
    if after > 0:
        jobs[after].before = slot
    else:
        queue.last = slot


@inlined
def unlink(state, slot):
    """Take a job out of those that wait."""
    jobs, queue = state.jobs, state.queue[0]
    before, after = jobs[slot].before, jobs[slot].after
    if before > 0:
        jobs[before].after = after
    else:
        queue.first = after
    if after > 0:
        jobs[after].before = before
    else:
        queue.last = before


@inlined
def count_waiting(state, slot, sign):
    """Let a job that waits count, or (-1) no longer."""
    job, queue = state.jobs[slot], state.queue[0]
    job.state = WAITS if sign > 0 else ABSENT
    queue.waiting += sign
    queue.waiting_nodes += sign * job.size
    for expectation in range(EXPECTATIONS):
        queue.work[expectation] += sign * job.size * job.expected[expectation]
    state.sizes[class_of(job.size, SIZES)] += sign
    state.users[job.user].waiting += sign
    state.likes[job.like].waiting += sign
    part = state.parts[job.part]
    part.waiting += sign
    part.waiting_nodes += sign * job.size
    if sign > 0:
        link(state, slot)
    else:
        unlink(state, slot)


@inlined
def count_running(state, slot, sign):
    """Let a job that runs count, or (-1) no longer."""
    job, queue = state.jobs[slot], state.queue[0]
    job.state = RUNS if sign > 0 else ABSENT
    for expectation in range(EXPECTATIONS):
        end = job.started + job.expected[expectation]
        queue.ends[expectation] += sign * job.size * end
    queue.busy += sign * job.size
    state.users[job.user].running += sign
    state.likes[job.like].running += sign
    state.parts[job.part].running_nodes += sign * job.size
    if sign > 0:
        job.place = queue.running
        state.running[queue.running] = slot
        queue.running += 1
    else:
        queue.running -= 1
        # The last takes the place of the one that leaves.
        last = state.running[queue.running]
        state.running[job.place] = last
        state.jobs[last].place = job.place


@inlined
def count_open(state, job, sign):
    """Let a job that is not done count, or (-1) no longer."""
    state.users[job.user].work += sign * job.size * requested(job.limit)
    state.parts[job.part].work += sign * job.size * job.expected[BY_LIKE]


@inlined
def enter(state, now):
    """Enter the job of the next free slot, which was told of; return the slot."""
    queue = state.queue[0]
    queue.free -= 1
    slot = state.slots[queue.free]
    job, user = state.jobs[slot], state.users[state.jobs[slot].user]
    queue.submits += 1
    job.number = queue.submits
    gap = now - user.submitted
    pause = user.submits == 0 or gap > PAUSE
    user.burst = 1 if pause else user.burst + 1
    if user.submits > 0:
        user.gap = gap
    user.submits += 1
    user.submitted, user.like = now, job.like
    count_open(state, job, 1)
    count_waiting(state, slot, 1)
    return slot


@inlined
def see_wait(state, job, now):
    """Take note of how long a job waited: its first start tells it."""
    queue, user = state.queue[0], state.users[job.user]
    part, cell = state.parts[job.part], state.cells[job.cell]
    wait = now - job.submit
    value = math.log(1.0 + wait)
    queue.wait, user.wait, cell.started = wait, wait, now
    queue.mean_wait = faded(queue.mean_wait, queue.starts, value, 0.1)
    user.mean_wait = faded(user.mean_wait, user.starts, value, 0.3)
    part.mean_wait = faded(part.mean_wait, part.starts, value, 0.2)
    cell.mean_wait = faded(cell.mean_wait, cell.starts, value, 0.5)
    queue.starts += 1
    user.starts += 1
    part.starts += 1
    cell.starts += 1


@inlined
def see_run(state, job, now):
    """Take note of how long a job ran."""
    user, like, name = state.users[job.user], state.likes[job.like], state.names[job.name]
    run, limit = now - job.started, requested(job.limit)
    value, ratio = math.log(1.0 + run), math.log((1.0 + run) / limit)
    user.turnaround, user.run, user.ratio = now - job.submit, run, ratio
    user.mean_run = faded(user.mean_run, user.runs, value, 0.3)
    user.slow_run = faded(user.slow_run, user.runs, value, 0.2)
    user.mean_ratio = faded(user.mean_ratio, user.runs, ratio, 0.2)
    before = user.used if user.runs > 0 else 0.5
    user.used = 0.8 * before + 0.2 * min(run / limit, 1.0)
    like.mean_run = faded(like.mean_run, like.runs, value, 0.4)
    like.run, like.ended, name.run = run, now, run
    user.runs += 1
    like.runs += 1
    name.runs += 1


@kernel
def start(state, slot, now):
    """Take note that a job starts."""
    job = state.jobs[slot]
    move_on(state.queue[0], now)
    if job.state != WAITS:
        return
    count_waiting(state, slot, -1)
    if job.starts == 0:
        see_wait(state, job, now)
    job.starts += 1
    job.started = now
    state.likes[job.like].started = now
    count_running(state, slot, 1)


@kernel
def stop(state, slot, kind, now):
    """Take note that a job's run, or its wait, is over. Runs tell how long jobs run where the job
    or its user ended them."""
    job = state.jobs[slot]
    again = kind in (FAIL, REQUEUE)
    move_on(state.queue[0], now)
    if job.state == RUNS:
        count_running(state, slot, -1)
        if kind in (END, CANCEL):
            see_run(state, job, now)
        if again:
            count_waiting(state, slot, 1)
    elif again:
        return
    else:
        count_waiting(state, slot, -1)
    if not again:
        count_open(state, job, -1)
        queue = state.queue[0]
        state.slots[queue.free] = slot
        queue.free += 1


@entry
def ask(state, told, now, out):
    """Write the features, float32[F], of a job that says this of itself, TOLD[1], were it submitted
    now."""
    write_down(state, told[0], 0, now)
    tell(state, 0, now, out)


@entry
def submit(state, told, now, out):
    """Write the features, float32[F], of a job, TOLD[1], and enter it; return its slot. One must be
    free."""
    slot = state.slots[state.queue[0].free - 1]
    write_down(state, told[0], slot, now)
    tell(state, slot, now, out)
    return enter(state, now)


@entry
def look(state, slot, now, out):
    """Write the features, float32[F], of a job that waits in a slot as they are now."""
    move_on(state.queue[0], now)
    tell(state, slot, now, out)


@entry
def happen(state, kind, slot, now):
    """Take in what happened to a job: any event but its submission."""
    if kind == START:
        start(state, slot, now)
    else:
        stop(state, slot, kind, now)


@entry
def replay(state, told, events, slots, first, last, out):
    """Take in events[:, first:last], and write the features of each job that is submitted.

    told : TOLD[n]; events : int64[3, m], time, kind and job, looks at waiting jobs among them;
    slots : int64[n], of open jobs, else 0; out : float32[n + looks, F], looks after all jobs
    """
    looks = len(told)
    for i in range(first, last):
        now, kind, k = events[0, i], events[1, i], events[2, i]
        if kind == SUBMIT:
            slots[k] = submit(state, told[k : k + 1], now, out[k])
        elif kind == LOOK:
            look(state, slots[k], now, out[looks])
            looks += 1
        elif slots[k] > 0:
            if kind == START:
                start(state, slots[k], now)
            else:
                stop(state, slots[k], kind, now)
                if state.jobs[slots[k]].state == ABSENT:
                    slots[k] = 0
