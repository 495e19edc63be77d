"""The walk along a queue's log: what was known at each submission, and the bound that it gave.

Each class of jobs has a ring of its latest waits in the order in which they became known, and the
same waits sorted. The sorted ones are brought up to date only when a bound is asked for: most
classes get waits far more often than questions. Waits have numbers 0, 1, ... in their class; those
from `first` up to `head` count, those from `sorted_first` up to `sorted_head` are sorted. A ring
has room for twice the history, so that a wait that must leave the sorted ones can still be read.

Two things happen in order of time: a job leaves the queue (its wait becomes known, or it is
withdrawn), and a job still waiting comes to wait longer than its bound. At a submission only what
happened in an earlier second is known.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel
from forestall.prediction.models.ordered_kernels import below

Array = npt.NDArray[Any]
NEVER: Final = np.iinfo(np.int64).max
NO_BOUND: Final = -1
LONGEST: Final = np.iinfo(np.int32).max - 1
LEVELS: Final = 4
STALE: Final = 4
"""The autocorrelation of a history is measured anew when a quarter of it is new."""


class WaitLog(NamedTuple):
    """Jobs in order of `ready`.

    ready : int64[n], when they could first start; left : int64[n], when they started or were
        withdrawn, `NEVER` for those still waiting; started : bool[n]
    order : int64[n], jobs in order of `left`
    fine : int32[n], the finest class of each
    """

    ready: Array
    left: Array
    started: Array
    order: Array
    fine: Array


class Past(NamedTuple):
    """What is known of each class, of all levels.

    parent : int32[LEVELS, fine], the class of each level that a finest class belongs to
    ring, ordered : int32, rings and sorted waits of all classes, one after the other
    ring_at, ordered_at : int64[classes + 1], where they begin
    head, first, sorted_head, sorted_first : int64[classes]
    broken : int64[classes], jobs that wait longer than their bound
    run : int64[classes], misses in a row; changed : int64[classes], time of the last change point;
        changes : int64[classes], how many there were
    rho : float64[classes]; rho_at : int64[classes], `head` when it was measured
    short : float64[classes], the share of misses that the level now aims at
    """

    parent: Array
    ring: Array
    ordered: Array
    ring_at: Array
    ordered_at: Array
    head: Array
    first: Array
    sorted_head: Array
    sorted_first: Array
    broken: Array
    run: Array
    changed: Array
    changes: Array
    rho: Array
    rho_at: Array
    short: Array


class WaitRules(NamedTuple):
    """How bounds are made.

    rank : int32[steps, most + 1], which of n waits is the bound, for each step of `aims`; 0: none
    aims : float64[steps], shares of misses, falling; the first is what was asked for
    lengths : int64[rhos], misses in a row that say "change", by autocorrelation in steps of `step`
    step : float64
    kept : waits that are kept after a change
    trims : whether changes are looked for
    waiting : whether jobs that wait longer than their bound are counted among the longest waits
    gain : by how much a miss moves the share aimed at; 0: never
    sharing : the level of the classes that the share aimed at belongs to
    """

    rank: Array
    aims: Array
    lengths: Array
    step: float
    kept: int
    trims: bool
    waiting: bool
    gain: float
    sharing: int


class WaitAnswers(NamedTuple):
    """For each job: bound int32[n], s, or `NO_BOUND`; level int8[n] of the class that gave it;
    used int16[n], waits that it rests on."""

    bound: Array
    level: Array
    used: Array


class OverdueHeap(NamedTuple):
    """Jobs that will come to wait longer than their bound, by when: when int64[n], job int32[n],
    size int64[1]."""

    when: Array
    job: Array
    size: Array


@kernel
def _push(heap, when, job):
    at = heap.size[0]
    heap.size[0] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if heap.when[above] < when or (heap.when[above] == when and heap.job[above] < job):
            break
        heap.when[at], heap.job[at] = heap.when[above], heap.job[above]
        at = above
    heap.when[at], heap.job[at] = when, job


@kernel
def _drop(heap):
    """Take the first job off the heap."""
    size = heap.size[0] - 1
    heap.size[0] = size
    when, job = heap.when[size], heap.job[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and (
            heap.when[child + 1] < heap.when[child]
            or (heap.when[child + 1] == heap.when[child] and heap.job[child + 1] < heap.job[child])
        ):
            child += 1
        if heap.when[child] > when or (heap.when[child] == when and heap.job[child] > job):
            break
        heap.when[at], heap.job[at] = heap.when[child], heap.job[child]
        at = child
    heap.when[at], heap.job[at] = when, job


@kernel
def _swap(ordered, begin, end, old, new):
    """Put `new` instead of one `old`, in order."""
    gone = below(ordered, begin, end, old)
    if new > old:
        come = below(ordered, gone, end, new)
        for i in range(gone, come - 1):
            ordered[i] = ordered[i + 1]
        ordered[come - 1] = new
    elif new < old:
        come = below(ordered, begin, gone, new)
        for i in range(gone, come, -1):
            ordered[i] = ordered[i - 1]
        ordered[come] = new


@kernel
def _refresh(past, c):
    """Bring the sorted waits of class c up to date; return how many they are."""
    begin, ring = past.ordered_at[c], past.ring_at[c]
    room = past.ring_at[c + 1] - ring
    first, head = past.first[c], past.head[c]
    out, into = past.sorted_first[c], past.sorted_head[c]
    # None of the sorted waits counts any more: begin anew.
    if into <= first:
        out, into = first, first
    size = into - out
    # One goes for one that comes: a single shift of what lies between them.
    while out < first and into < head:
        old, new = past.ring[ring + out % room], past.ring[ring + into % room]
        _swap(past.ordered, begin, begin + size, old, new)
        out += 1
        into += 1
    while out < first:
        gone = below(past.ordered, begin, begin + size, past.ring[ring + out % room])
        for i in range(gone, begin + size - 1):
            past.ordered[i] = past.ordered[i + 1]
        size -= 1
        out += 1
    while into < head:
        value = past.ring[ring + into % room]
        come = below(past.ordered, begin, begin + size, value)
        for i in range(begin + size, come, -1):
            past.ordered[i] = past.ordered[i - 1]
        past.ordered[come] = value
        size += 1
        into += 1
    past.sorted_first[c], past.sorted_head[c] = first, head
    return size


@kernel
def _add(past, c, wait, history):
    ring = past.ring_at[c]
    past.ring[ring + past.head[c] % (past.ring_at[c + 1] - ring)] = wait
    past.head[c] += 1
    # The window slides; the sorted waits follow when they are next asked for.
    if past.head[c] - past.first[c] > history:
        past.first[c] = past.head[c] - history


@kernel
def _correlate(past, c):
    """Return the lag-1 autocorrelation of the normal scores of class c's waits, by their ranks; 0
    where all are alike."""
    size = _refresh(past, c)
    begin, ring = past.ordered_at[c], past.ring_at[c]
    room = past.ring_at[c + 1] - ring
    spread, together, before = 0.0, 0.0, 0.0
    for i in range(past.first[c], past.head[c]):
        wait = past.ring[ring + i % room]
        low = below(past.ordered, begin, begin + size, wait)
        high = below(past.ordered, low, begin + size, wait + 1)
        # Twice the middle rank, from the middle of all: 0 on the mean, and ties share theirs.
        rank = float(low + high - 2 * begin - size)
        spread += rank * rank
        if i > past.first[c]:
            together += before * rank
        before = rank
    if spread == 0.0:
        return 0.0
    # Pearson's relation between the rank correlation and that of normal variables.
    return 2.0 * np.sin(np.pi / 6.0 * together / spread)


@kernel
def _longest_run(past, rules, c):
    """Return how many misses in a row say that class c has changed."""
    size = past.head[c] - past.first[c]
    if past.rho_at[c] < 0 or STALE * (past.head[c] - past.rho_at[c]) > size:
        past.rho[c] = _correlate(past, c)
        past.rho_at[c] = past.head[c]
    # Upwards: a longer run is the careful answer.
    step = int(np.ceil(max(past.rho[c], 0.0) / rules.step - 1e-9))
    return rules.lengths[min(step, len(rules.lengths) - 1)]


@kernel
def _trim(past, rules, c, now):
    """Forget what was before a change: keep the latest waits."""
    past.first[c] = max(past.first[c], past.head[c] - rules.kept)
    past.run[c] = 0
    past.changed[c] = now
    past.changes[c] += 1
    past.rho_at[c] = -1


@kernel
def _judge(log, past, rules, answers, job, missed, now):
    """Take in that a job's bound held or was missed."""
    level = answers.level[job]
    if level < 0:
        return
    fine = log.fine[job]
    if rules.gain > 0.0:
        c = past.parent[rules.sharing, fine]
        aim = rules.aims[0]
        # Quantile tracking: each miss lowers the share aimed at, each bound that held raises it a
        # little, in balance where misses come as often as asked.
        past.short[c] += rules.gain * (aim - (1.0 if missed else 0.0))
        past.short[c] = min(max(past.short[c], 0.0), aim)
    c = past.parent[level, fine]
    # A bound that was given before the change says nothing of what is now.
    if not rules.trims or log.ready[job] < past.changed[c]:
        return
    if not missed:
        past.run[c] = 0
        return
    past.run[c] += 1
    # The first comparison is cheap, and settles nearly all.
    if past.run[c] >= rules.lengths[0] and past.run[c] >= _longest_run(past, rules, c):
        _trim(past, rules, c, now)


@kernel
def _leave(log, past, rules, answers, job, history):
    """A job starts or is withdrawn."""
    left, fine = log.left[job], log.fine[job]
    wait = left - log.ready[job]
    bound = answers.bound[job]
    was_broken = bound >= 0 and wait > bound
    for level in range(LEVELS):
        c = past.parent[level, fine]
        if was_broken and rules.waiting:
            past.broken[c] -= 1
        if log.started[job]:
            _add(past, c, min(wait, LONGEST), history)
    # A miss was judged when the bound broke.
    if log.started[job] and not was_broken:
        _judge(log, past, rules, answers, job, False, left)


@kernel
def _break(log, past, rules, answers, job, now):
    """A job comes to wait longer than its bound."""
    if rules.waiting:
        for level in range(LEVELS):
            past.broken[past.parent[level, log.fine[job]]] += 1
    _judge(log, past, rules, answers, job, True, now)


@kernel
def _step(past, rules, fine):
    """Return the step of `aims` that now holds for a class."""
    share = past.short[past.parent[rules.sharing, fine]]
    # Aims fall: the first that is no larger than the share.
    low, high = 0, len(rules.aims) - 1
    while low < high:
        middle = (low + high) // 2
        if rules.aims[middle] <= share:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _quote(log, past, rules, answers, job):
    """Bound the wait of a job by the finest class that has enough waits."""
    fine = log.fine[job]
    step = _step(past, rules, fine) if rules.gain > 0.0 else 0
    most = rules.rank.shape[1] - 1
    for level in range(LEVELS):
        c = past.parent[level, fine]
        size = past.head[c] - past.first[c]
        # Those that wait longer than their bound are taken to be the longest of all.
        together = size + past.broken[c]
        if together > most:
            continue
        rank = rules.rank[step, together]
        if 0 < rank <= size:
            _refresh(past, c)
            answers.bound[job] = past.ordered[past.ordered_at[c] + rank - 1]
            answers.level[job], answers.used[job] = level, size
            return
    if step == 0:
        return
    # No class has waits enough for the level aimed at: the longest wait of the finest that would do
    # for the level asked for.
    for level in range(LEVELS):
        c = past.parent[level, fine]
        size = past.head[c] - past.first[c]
        together = size + past.broken[c]
        if together <= most and 0 < rules.rank[0, together] <= size:
            _refresh(past, c)
            answers.bound[job] = past.ordered[past.ordered_at[c] + size - 1]
            answers.level[job], answers.used[job] = level, size
            return


@entry
def walk(log, past, rules, answers, heap, history, until):
    """Bound the wait of every job; then take in what became known before `until`. All answers
    must hold `NO_BOUND` and level -1 at first."""
    count = len(log.ready)
    gone = 0
    for job in range(count + 1):
        now = log.ready[job] if job < count else until
        while True:
            leaving = log.left[log.order[gone]] if gone < count else NEVER
            breaking = heap.when[0] if heap.size[0] > 0 else NEVER
            if min(leaving, breaking) >= now:
                break
            # Of one second: jobs leave before bounds break.
            if leaving <= breaking:
                _leave(log, past, rules, answers, log.order[gone], history)
                gone += 1
            else:
                _break(log, past, rules, answers, heap.job[0], breaking)
                _drop(heap)
        if job == count:
            break
        _quote(log, past, rules, answers, job)
        # The log knows the wait already; the heap hands the miss out only when its time comes.
        bound = answers.bound[job]
        if bound >= 0 and log.left[job] - now > bound:
            _push(heap, now + bound, job)
