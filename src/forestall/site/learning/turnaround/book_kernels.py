"""What happens to a book of promises, one event at a time; and a whole record of events.

Times never go back. In one second submissions come before starts, and those before ends; a deadline
has passed once a later second comes.
"""

from __future__ import annotations

import math

from forestall.core._compile import entry, kernel
from forestall.prediction.models.ordered_kernels import up_to
from forestall.site.learning.turnaround.book_state import (
    ALIKE,
    BY_DEADLINE,
    BY_LEVEL,
    CANCEL,
    DONE,
    DRAINS,
    DROPPED,
    FAIL,
    KEPT,
    LOSE,
    LOST,
    MISSED,
    OPEN,
    OWING,
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
    WAIT3,
)
from forestall.site.learning.turnaround.groups_kernels import (
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
    owing,
    pressure,
    reassess,
    say,
    score_for,
)
from forestall.site.learning.turnaround.law_kernels import (
    law_below,
    middle_score,
    score_of,
    take_in,
    time_of,
    wait_of,
)
from forestall.site.learning.turnaround.tell_kernels import LEAST_DRAIN, expected_length, tell_law

REMEMBERED = 0.9999
"""What is left of a Brier score when another named deadline is known."""


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
    promise.bin = decile_of(owing(promise, which % 2))
    # Before the book is warm nothing is steered, and nothing owed.
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
        # As if it had never been made.
        if promise.counted:
            owe(book, which, job, -1.0)
        return
    kept = 1.0 if state == KEPT else 0.0
    reassess(book, which, job, kept)
    if which % 2 == BY_DEADLINE:
        weigh(book.desk[0], promise, kept)
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
    # What is owed moves the aim; what is said stays what was asked for.
    aim = moved(level, pressure(book, BY_LEVEL, job, decile_of(level)))
    offset = within_reason(book, law, time_of(grid, top, score_for(book, group, aim)))
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
    others[3] = time_of(law.plain, law.plain_top, level)
    others[1] = -1.0
    if job.limit > 0:
        others[1] = job.limit + math.ceil(quantile(book.far[job.keys[WAIT3]], level, 0.0))
    others[2] = math.ceil(quantile(book.far[TURNAROUNDS], level, 3600.0))
    reasons(promise, law.plain)


@kernel
def within_reason(book, law, offset):
    """Return a deadline after the submission, s, no farther than twice the longest of the latest
    turnarounds of all jobs, unless the law itself goes farther: beyond its end a score is a
    multiple of the job's own longest turnaround, which for long jobs would be years."""
    all_of = book.far[TURNAROUNDS]
    longest = all_of.ordered[all_of.held - 1] if all_of.held > 0 else math.inf
    return int(min(float(offset), max(law.top[0], 2.0 * longest)))


@kernel
def tell_quantiles(book, k):
    """Write the quantiles of a job's turnaround where somebody wants them."""
    job = book.jobs[k]
    law = book.laws[job.slot]
    if k < len(book.alike):
        for i in range(len(book.levels)):
            book.alike[k, i] = time_of(law.plain, law.plain_top, book.levels[i])
            book.waits[k, i] = wait_of(law.plain[0], book.levels[i])
    if k < len(book.offered):
        group = group_of(book, BY_LEVEL, job)
        for i in range(len(book.levels)):
            level = book.levels[i]
            aim = moved(level, pressure(book, BY_LEVEL, job, decile_of(level)))
            offset = time_of(law.grid, law.top, score_for(book, group, aim))
            book.offered[k, i] = within_reason(book, law, offset)


@kernel
def worth_it(desk):
    """Return whether moved probabilities have scored no worse than those that were not."""
    if desk.lost[0] == 0.0:  # any noise times nothing would be no number
        return desk.lost[1] == 0.0 and desk.noise < math.inf
    return desk.lost[1] <= (1.0 + desk.noise) * desk.lost[0]


@kernel
def weigh(desk, promise, kept):
    """Learn what moving the probability of a named deadline was worth, by its Brier scores."""
    for at, said in ((0, min(promise.raw, 1.0)), (1, promise.aim)):
        desk.lost[at] = REMEMBERED * desk.lost[at] + (said - kept) ** 2


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
    # Three steps: the plain law, the scores of the latest jobs, the curve of what became of such
    # promises. Then what is owed moves it. Said is the last where that has been worth it.
    promise.asked = chance_of(book, group, promise.mark)
    believed = min(max(bent(book, group, promise.asked), 0.001), 0.999)
    promise.chance = promise.asked
    promise.aim = say(book, BY_DEADLINE, job, believed)
    promise.stated = promise.aim if worth_it(book.desk[0]) else min(max(promise.raw, 0.001), 0.999)
    others[0] = min(promise.raw, 1.0)
    others[3] = min(law_below(law.plain, law.plain_top, offset), 1.0)
    others[1] = -1.0
    all_of = book.far[TURNAROUNDS]
    others[2] = up_to(all_of.ordered, all_of.held, offset) / max(all_of.held, 1)
    reasons(promise, law.plain)


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
    # Each renewal looks at all open jobs: the more there are, the rarer.
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
    # Laws are large: open jobs share a pool of them, and a job keeps its slot while it is open.
    desk.free -= 1
    job.slot, job.place = book.free[desk.free], desk.open
    book.open_jobs[desk.open] = k
    desk.open += 1
    refresh(book, now)
    tell_law(book, k, now)
    for level in range(ALIKE):
        job.numbers[level] = join_cohort(book, job.groups[level], k)
    job.length = expected_length(book, job)
    join_queue(book, job)


@kernel
def start(book, job, now):
    """Take note that a job starts to run."""
    # Only the first start tells a wait; a restart's would count the run before it.
    if job.failures == 0:
        wait, rows = float(now - job.submit), job.rows
        for level in range(2):
            take_in(book.near[rows[level]], wait)
            take_in(book.far[rows[2 + level]], wait)
        take_in(book.far[job.keys[WAIT3]], wait)
        take_in(book.far[DRAINS], wait / (job.drain + LEAST_DRAIN))
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
    # A lost job never ends: a score beyond all.
    job.score = 50.0
    if status != LOST:
        job.score = middle_score(law.grid, law.top, float(now - job.submit))
    job.status, job.settled = status, now - job.submit
    desk.open -= 1
    # The last of the open jobs takes the place of the one that leaves.
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
    # A job that was withdrawn says nothing of how long jobs take, and its promises nothing of the
    # book.
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
    # A deadline has passed once a later second comes: before anything else of this second.
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
def happened(book, kind, k, now):
    """Take in one event, and promise nothing."""
    happen(book, kind, k, now)
    if kind == SUBMIT:
        tell_quantiles(book, k)


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
            tell_quantiles(book, k)
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
