"""What happens to a book of promises, one event at a time; and a whole record of events.

Times never go back. In one second submissions come before starts, and those before ends; a deadline
has passed once a later second comes.
"""

from __future__ import annotations

import math

from forestall._compile import entry, kernel
from forestall.predict.turnaround.book_state import (
    ALIKE,
    BACKLOGS,
    BY_BACKLOG,
    BY_DEADLINE,
    BY_LEVEL,
    CANCEL,
    DONE,
    DRAINS,
    DROPPED,
    FAIL,
    KEPT,
    LEVELS,
    LOSE,
    LOST,
    MISSED,
    OPEN,
    OWING,
    OWN,
    PENDING,
    POINTS,
    REQUEUE,
    RUN0,
    RUN2,
    RUNNING,
    START,
    STOP,
    SUBMIT,
    TURNAROUNDS,
    VOID,
    WAIT0,
    WAIT1,
    WAIT2,
    WAIT3,
)
from forestall.predict.turnaround.groups_kernels import (
    add_score,
    bend,
    bent,
    chance_of,
    curve_seen,
    decile_of,
    estimate,
    group_of,
    join_cohort,
    look_at_open,
    moved,
    owe,
    pressure,
    reassess,
    say,
    score_for,
)
from forestall.predict.turnaround.law_kernels import (
    blend,
    close_law,
    law_below,
    middle_score,
    points_of,
    score_of,
    take_in,
    time_of,
    up_to,
)

_LEAST = 60.0
"""Seconds that are added to the queue's length, so that an empty one does not divide by 0."""


# ------------------------------------------------------------------------------- plain distribution


@kernel
def level_of(book, level, own):
    """Take a class as one level of a mixture."""
    desk = book.desk[0]
    points_of(own.held, own.ordered, desk.samples[level], desk.counts[level])


@kernel
def queue_cell(book, job, now):
    """Return the classes of the queue's length and of the user's own share of it; write how long
    the machine would need for what runs and waits before the job."""
    part = book.parts[job.part]
    most, length = max(part.most, 1.0), 0
    job.drain = 0.0
    if part.pending > 0 or part.busy + job.size > most:
        job.drain = (part.pending + max(part.ends - part.busy * now, 0.0)) / most
        steps = 0.5 * math.log2(max(job.drain, 60.0) / 60.0)
        length = 1 + min(max(int(steps), 0), BACKLOGS - 2)
    mine = book.users[job.user].own
    own = 0 if mine == 0 else min(1 + int(0.5 * math.log2(float(mine))), OWN - 1)
    return length, own


@kernel
def tell_wait(book, job, grid, now):
    """Write the quantiles of a job's wait."""
    length, own = queue_cell(book, job, now)
    keys, rows, desk = job.keys, job.rows, book.desk[0]
    rows[0] = keys[WAIT0] + length * OWN + own
    rows[1] = keys[WAIT1] + length * OWN + own
    rows[2] = keys[WAIT2] + length
    rows[3] = BY_BACKLOG + length
    for level in range(2):
        level_of(book, level, book.near[rows[level]])
        level_of(book, 2 + level, book.far[rows[2 + level]])
    level_of(book, 4, book.far[DRAINS])
    for i in range(int(desk.counts[4, 0])):
        desk.samples[4, i] *= job.drain + _LEAST
    if not blend(desk.samples, desk.counts, desk.shrink, grid[0]):
        for i in range(POINTS):
            grid[0, i] = 0.0
    job.wait_level = first_level(desk.counts)
    job.wait_like = int(desk.counts[job.wait_level, 1])


@kernel
def first_level(counts):
    """Return the narrowest class with any job; the widest where there is none."""
    level = 0
    while level < LEVELS - 1 and counts[level, 1] == 0:
        level += 1
    return level


@kernel
def tell_run(book, job, grid):
    """Write the quantiles of a job's run time."""
    keys, desk = job.keys, book.desk[0]
    for level in range(2):
        level_of(book, level, book.near[keys[RUN0 + level]])
    for level in range(3):
        level_of(book, 2 + level, book.far[keys[RUN2 + level]])
    scale = float(job.limit) if job.limit > 0 else 1.0
    if blend(desk.samples, desk.counts, desk.shrink, grid[1]):
        for i in range(POINTS):
            grid[1, i] *= scale
    else:
        for i in range(POINTS):
            grid[1, i] = float(job.limit) if job.limit > 0 else 3600.0
    job.run_level = first_level(desk.counts)
    job.run_like = int(desk.counts[job.run_level, 1])


@kernel
def tell_law(book, job, now):
    """Make the distribution of a job's turnaround from what is known now."""
    law, desk = book.laws[job.slot], book.desk[0]
    grid = law.grid
    tell_wait(book, job, grid, now)
    tell_run(book, job, grid)
    risk = desk.failures / desk.ran * job.size if desk.ran > 0 else 0.0
    again = desk.restarts / desk.failures if desk.failures > 0 else 0.0
    close_law(grid, law.top, risk, again, grid[0, POINTS // 2])
    job.risk = max(1.0 - grid[2, POINTS + 1], 0.0)


@kernel
def expected_length(book, job):
    """Return the seconds that a job is expected to run at most: its limit, or what its user's other
    jobs ran."""
    if job.limit > 0:
        return float(job.limit)
    own = book.far[job.keys[RUN2]]
    return own.ordered[own.held // 2] if own.held > 0 else 3600.0


# ----------------------------------------------------------------------------------------- promises


@kernel
def push(book, which):
    """Put a promise into the heap of deadlines."""
    heap, promises, desk = book.heap, book.promises, book.desk[0]
    at = desk.heap
    desk.heap = at + 1
    while at > 0:
        up = (at - 1) // 2
        if promises[heap[up]].deadline <= promises[which].deadline:
            break
        heap[at] = heap[up]
        at = up
    heap[at] = which


@kernel
def pop(book):
    """Take the earliest promise off the heap."""
    heap, promises, desk = book.heap, book.promises, book.desk[0]
    first = heap[0]
    desk.heap -= 1
    size = desk.heap
    last, at = heap[size], 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        if down + 1 < size and promises[heap[down + 1]].deadline < promises[heap[down]].deadline:
            down += 1
        if promises[last].deadline <= promises[heap[down]].deadline:
            break
        heap[at] = heap[down]
        at = down
    heap[at] = last
    return first


@kernel
def enter(book, which):
    """Enter an offer into the book: it is a promise."""
    promise, job, desk = book.promises[which], book.jobs[which // 2], book.desk[0]
    promise.state, promise.known = OPEN, -1
    promise.bin = decile_of(promise.stated)
    promise.counted = 1 if desk.done >= desk.warm else 0
    if promise.counted:
        owe(book, which, job, 1.0)
        if which % 2 == BY_DEADLINE:
            book.users[job.user].exposed[promise.bin] += 1
    push(book, which)


@kernel
def settle(book, which, state, now):
    """Write down what became of a promise."""
    promise, job = book.promises[which], book.jobs[which // 2]
    promise.state, promise.known = state, now
    if which % 2 == BY_DEADLINE and promise.counted:
        book.users[job.user].exposed[promise.bin] -= 1
    if state == DROPPED:
        if promise.counted:
            owe(book, which, job, -1.0)
        return
    kept = 1.0 if state == KEPT else 0.0
    reassess(book, which, job, kept)
    if which % 2 == BY_DEADLINE:
        for level in range(OWING):
            curve_seen(book, job.groups[level], promise.asked, kept)


@kernel
def reasons(promise, grid):
    """Write the quantiles of wait and run time that go with an offer."""
    at = min(max(int(promise.aim * POINTS), 0), POINTS - 1)
    promise.wait, promise.run = grid[0, at], grid[1, at + 1]


@kernel
def offer_deadline(book, k, level):
    """Offer a deadline that is kept with probability `level`."""
    job, promise = book.jobs[k], book.promises[2 * k + BY_LEVEL]
    law, group = book.laws[job.slot], group_of(book, BY_LEVEL, job)
    grid, top, others = law.grid, law.top, promise.others
    aim = moved(level, pressure(book, BY_LEVEL, job, decile_of(level)))
    offset = time_of(grid, top, score_for(book, group, aim))
    promise.asked, promise.stated, promise.aim = level, level, aim
    promise.deadline = job.submit + offset
    promise.mark = score_of(grid, top, float(offset))
    promise.raw = law_below(grid, top, float(offset))
    promise.chance = chance_of(book, group, promise.mark)
    if offset == 1:  # no deadline is nearer: what it has may be more than was asked for
        believed = min(max(promise.chance, 0.001), 0.999)
        if believed > level and promise.raw > level:
            promise.stated = max(level, say(book, BY_LEVEL, job, believed))
    others[0] = time_of(grid, top, level)
    others[1] = -1.0
    if job.limit > 0:
        others[1] = job.limit + math.ceil(quantile(book.far[job.keys[WAIT3]], level, 0.0))
    others[2] = math.ceil(quantile(book.far[TURNAROUNDS], level, 3600.0))
    reasons(promise, grid)


@kernel
def offer_chance(book, k, deadline):
    """Offer a probability for a deadline that was named."""
    job, promise = book.jobs[k], book.promises[2 * k + BY_DEADLINE]
    law, group = book.laws[job.slot], group_of(book, BY_DEADLINE, job)
    grid, top, others = law.grid, law.top, promise.others
    offset = float(deadline - job.submit)
    promise.deadline = deadline
    promise.mark = score_of(grid, top, offset)
    promise.raw = law_below(grid, top, offset)
    promise.asked = chance_of(book, group, promise.mark)
    promise.aim = min(max(bent(book, group, promise.asked), 0.001), 0.999)
    promise.chance = promise.asked
    promise.stated = say(book, BY_DEADLINE, job, promise.aim)
    others[0] = min(promise.raw, 1.0)
    others[1] = -1.0
    all_of = book.far[TURNAROUNDS]
    others[2] = up_to(all_of.ordered, all_of.held, offset) / max(all_of.held, 1)
    reasons(promise, grid)


@kernel
def quantile(own, level, otherwise):
    """Return a quantile of a class's latest values; `otherwise` where it has none."""
    if own.held == 0:
        return otherwise
    return own.ordered[min(int(level * own.held), own.held - 1)]


# ------------------------------------------------------------------------------------------- events


@kernel
def expire(book, now):
    """Settle all promises whose deadline has passed by now."""
    while book.desk[0].heap > 0 and book.promises[book.heap[0]].deadline < now:
        which = pop(book)
        if book.promises[which].state == OPEN:
            settle(book, which, MISSED, now)


@kernel
def refresh(book, now):
    """Renew the calibration of all, and of partitions, where enough has happened."""
    desk = book.desk[0]
    if book.groups[0].stale < max(desk.patience, 0.5 * desk.open):
        return
    look_at_open(book, now)
    for group in range(len(book.groups)):
        if book.groups[group].stale >= desk.patience:
            estimate(book, group)
            bend(book, group)


@kernel
def submit(book, k, now):
    """Take in a job: its law is told, and its promises can be made."""
    job, desk = book.jobs[k], book.desk[0]
    job.submit, job.status, job.settled, job.score = now, PENDING, -1, 0.0
    desk.free -= 1
    job.slot, job.place = book.free[desk.free], desk.open
    book.open_jobs[desk.open] = k
    desk.open += 1
    refresh(book, now)
    tell_law(book, job, now)
    for level in range(ALIKE):
        job.numbers[level] = join_cohort(book, job.groups[level], k)
    job.length = expected_length(book, job)
    join_queue(book, job)


@kernel
def start(book, job, now):
    """Take note that a job starts to run."""
    if job.failures == 0:
        wait, rows = float(now - job.submit), job.rows
        for level in range(2):
            take_in(book.near[rows[level]], wait)
            take_in(book.far[rows[2 + level]], wait)
        take_in(book.far[job.keys[WAIT3]], wait)
        take_in(book.far[DRAINS], wait / (job.drain + _LEAST))
    job.status, job.started = RUNNING, now
    leave_queue(book, job)
    part = book.parts[job.part]
    part.busy += job.size
    part.ends += (now + job.length) * job.size
    part.most = max(part.most, part.busy)


@kernel
def join_queue(book, job):
    """Let a job add to the queue's length."""
    book.parts[job.part].pending += job.length * job.size
    book.users[job.user].own += 1


@kernel
def leave_queue(book, job):
    """Take a job out of the queue's length."""
    part = book.parts[job.part]
    part.pending = max(part.pending - job.length * job.size, 0.0)
    book.users[job.user].own -= 1


@kernel
def leave_machine(book, job, now):
    """Take a running job off the machine."""
    part = book.parts[job.part]
    part.busy -= job.size
    part.ends -= (job.started + job.length) * job.size
    book.desk[0].ran += float(now - job.started) * job.size


@kernel
def close(book, job, now, status):
    """Let a job leave the book: its law is given back, its score is final."""
    if job.status == RUNNING:
        leave_machine(book, job, now)
    else:
        leave_queue(book, job)
    law, desk = book.laws[job.slot], book.desk[0]
    job.score = 50.0
    if status != LOST:
        job.score = middle_score(law.grid, law.top, float(now - job.submit))
    job.status, job.settled = status, now - job.submit
    desk.open -= 1
    last = book.open_jobs[desk.open]
    book.open_jobs[job.place] = last
    book.jobs[last].place = job.place
    book.free[desk.free] = job.slot
    desk.free += 1


@kernel
def finish(book, k, now, status):
    """Take note of the end of a job, for good."""
    job = book.jobs[k]
    if status == DONE:
        run, keys = float(now - job.started), job.keys
        value = run / job.limit if job.limit > 0 else run
        for level in range(2):
            take_in(book.near[keys[RUN0 + level]], value)
        for level in range(3):
            take_in(book.far[keys[RUN2 + level]], value)
        take_in(book.far[TURNAROUNDS], float(now - job.submit))
    close(book, job, now, status)
    if status != VOID:
        book.desk[0].done += 1
        for level in range(ALIKE):
            add_score(book, job.groups[level], job.numbers[level], job.score)
    state = DROPPED if status == VOID else (KEPT if status == DONE else MISSED)
    for which in (2 * k, 2 * k + 1):
        if book.promises[which].state == OPEN:
            settle(book, which, state, now)


@kernel
def wait_again(book, job, now):
    """Take note that the system stopped a run, and that the job waits again."""
    leave_machine(book, job, now)
    job.failures += 1
    job.status = PENDING
    join_queue(book, job)


@kernel
def happen(book, kind, k, now):
    """Take in one event."""
    expire(book, now)
    if kind == SUBMIT:
        submit(book, k, now)
    elif kind == START:
        start(book, book.jobs[k], now)
    elif kind in (FAIL, REQUEUE):
        if kind == FAIL:
            book.desk[0].failures += 1.0
            book.desk[0].restarts += 1.0
        wait_again(book, book.jobs[k], now)
    else:
        if kind == LOSE:
            book.desk[0].failures += 1.0
        lost = kind in (LOSE, STOP)
        finish(book, k, now, VOID if kind == CANCEL else (LOST if lost else DONE))


@entry
def replay(book, events, levels, names, first, last):
    """Take in events[:, first:last] and promise at every submission.

    events : int64[3, m], time, kind and job; levels, names : float64[n], the probability that each
    job asks for, and which quantile of the latest turnarounds it names as deadline (below 0: none)
    """
    for i in range(first, last):
        now, kind, k = events[0, i], events[1, i], events[2, i]
        happen(book, kind, k, now)
        if kind == SUBMIT:
            if levels[k] >= 0:
                offer_deadline(book, k, levels[k])
                enter(book, 2 * k + BY_LEVEL)
            if names[k] >= 0:
                named = quantile(book.far[TURNAROUNDS], names[k], 3600.0)
                offer_chance(book, k, now + max(1, int(named)))
                enter(book, 2 * k + BY_DEADLINE)


@entry
def offer(book, k, question, level, deadline, promised):
    """Offer a deadline or a probability for one job; `promised`: and enter it."""
    if question == BY_LEVEL:
        offer_deadline(book, k, level)
    else:
        offer_chance(book, k, deadline)
    if promised:
        enter(book, 2 * k + question)
