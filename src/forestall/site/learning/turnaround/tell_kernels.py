"""What is told of a job when it is submitted: the laws of its wait, run time and turnaround."""

from __future__ import annotations

import math

from forestall.core._compile import entry, kernel
from forestall.site.learning.turnaround.book_state import (
    BACKLOGS,
    BY_BACKLOG,
    DRAINS,
    LEVELS,
    OWN,
    POINTS,
    RUN0,
    RUN2,
    WAIT0,
    WAIT1,
    WAIT2,
)
from forestall.site.learning.turnaround.law_kernels import (
    blend,
    close_law,
    points_of,
    time_of,
    wait_of,
)

LEAST_DRAIN = 60.0
"""Seconds that are added to the queue's length, so that an empty one does not divide by 0."""


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
    # Node-seconds that wait or still run, over the most nodes ever busy at once: how large the
    # machine is nobody told.
    if part.pending > 0 or part.busy + job.size > most:
        job.drain = (part.pending + max(part.ends - part.busy * now, 0.0)) / most
        # Cells by powers of 4, from a minute on.
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
    # From narrow classes to wide ones; the last is all waits, as multiples of the time that the
    # queue would take.
    for level in range(2):
        level_of(book, level, book.near[rows[level]])
        level_of(book, 2 + level, book.far[rows[2 + level]])
    level_of(book, 4, book.far[DRAINS])
    for i in range(int(desk.counts[4, 0])):
        desk.samples[4, i] *= job.drain + LEAST_DRAIN
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
    # Runs with a limit are kept as shares of it.
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
def copy_law(law):
    """Let what similar jobs alone tell be the law."""
    for row in range(4):
        law.top[row] = law.plain_top[row]
        for i in range(POINTS + 2):
            law.grid[row, i] = law.plain[row, i]


@kernel
def tell_law(book, k, now):
    """Make the distribution of the turnaround of job k from what is known now."""
    job = book.jobs[k]
    law, desk = book.laws[job.slot], book.desk[0]
    grid = law.plain
    tell_wait(book, job, grid, now)
    tell_run(book, job, grid)
    # Failures a node-second so far, times the job's nodes.
    rate = desk.failures / desk.ran * job.size if desk.ran > 0 else 0.0
    again = desk.restarts / desk.failures if desk.failures > 0 else 0.0
    close_law(grid, law.plain_top, rate, again, grid[0, POINTS // 2])
    job.risk = max(1.0 - grid[2, POINTS + 1], 0.0)
    job.told = 1 if k < len(book.told) and book.told[k, 0] >= 0 else 0
    if job.told:
        for i in range(POINTS):
            law.grid[0, i], law.grid[1, i] = 0.0, book.told[k, i]
        # Failures, and waits for another start, are in what was told.
        close_law(law.grid, law.top, 0.0, 0.0, 0.0)
    else:
        copy_law(law)


@kernel
def expected_length(book, job):
    """Return the seconds that a job is expected to run at most: its limit, or what its user's other
    jobs ran."""
    if job.limit > 0:
        return float(job.limit)
    own = book.far[job.keys[RUN2]]
    return own.ordered[own.held // 2] if own.held > 0 else 3600.0


@entry
def tell_alike(book, k, now, levels, out):
    """Write quantiles of the turnaround and of the wait of job k were it submitted now,
    float32[2, L], s, as its submission would have them at the same moment. What is written into the
    book is written again when it is submitted."""
    job = book.jobs[k]
    job.slot = book.free[book.desk[0].free - 1]
    tell_law(book, k, now)
    law = book.laws[job.slot]
    for i in range(len(levels)):
        out[0, i] = time_of(law.plain, law.plain_top, levels[i])
        out[1, i] = wait_of(law.plain[0], levels[i])
