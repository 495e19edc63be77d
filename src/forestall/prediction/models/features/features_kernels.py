"""Features as walks along time: what happened changes a small state, and cells are read off it.

All state changes in the order of what happened, one thing at a time, and never by the moments that
are asked for. So what is read at a moment is the same to the last bit whatever comes later and
whatever else is asked. Windows are [t - width, t).

Rows to be written come as moments `times`, ascending, and `nodes[first[j]:first[j + 1]]`, the nodes
asked about at moment j; a later call goes on where the last one stopped.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel

Array = npt.NDArray[Any]
NEVER: Final = -(1 << 60)
HOUR: Final = 3600.0
DAY: Final = 86_400.0


class FailureLog(NamedTuple):
    """What happened, and over what to count it.

    time, node, kind, down, crowd : int64[n]; a kind of -1 is none of those counted, a downtime of
        -1 is not told; crowd is how many others of the machine failed in the ten minutes before
    since, until : int64[nodes], when each node is observed
    starts, stops : the same, each in order
    windows : int64[w], s; the first `near` of them are also counted among neighbours, the first
        `wide` over the machine
    radii : int64[r]; decays : float64[d], s
    begin : where all observation begins, s
    """

    time: Array
    node: Array
    kind: Array
    down: Array
    crowd: Array
    since: Array
    until: Array
    starts: Array
    stops: Array
    windows: Array
    near: int
    wide: int
    radii: Array
    decays: Array
    begin: int


class FailureState(NamedTuple):
    """What is known at a moment.

    cursor : int64[6 + w]: failures so far; nodes that began, that stopped; the sums of those
        moments; the sum of squares of the nodes' counts; where each window begins in the log
    last : int64[nodes, 4]: its last failure, the one before, its first, s; how many
    down : int64[nodes, 2]: when it is back from the last one, s, and how long it was down before
    tags : int64[nodes, 2]: kind and crowd of the last one
    decayed : float64[nodes, d], as of the last one
    kinds : int64[nodes, kinds]
    counts : int64[w, nodes]
    around : int64[near * r, nodes]: of the node and its neighbours
    """

    cursor: Array
    last: Array
    down: Array
    tags: Array
    decayed: Array
    kinds: Array
    counts: Array
    around: Array


@kernel
def arrive(log, state, i):
    """Take note of failure i."""
    n, t = log.node[i], log.time[i]
    last = state.last
    before = last[n, 0]
    # Sums of exp(-age / decay) over all failures so far, by recursion from failure to failure.
    for d in range(len(log.decays)):
        kept = 0.0
        if before != NEVER:
            kept = state.decayed[n, d] * np.exp(-(t - before) / log.decays[d])
        state.decayed[n, d] = kept + 1.0
    if before == NEVER:
        last[n, 2] = t
    # The outage before this failure is over, so its length is known.
    elif state.down[n, 0] != NEVER and state.down[n, 0] <= t:
        state.down[n, 1] = state.down[n, 0] - before
    last[n, 1] = before
    last[n, 0] = t
    # (k + 1)^2 - k^2: the sum of squares of the counts without a pass over the nodes.
    state.cursor[5] += 2 * last[n, 3] + 1
    last[n, 3] += 1
    state.down[n, 0] = t + log.down[i] if log.down[i] >= 0 else NEVER
    state.tags[n, 0] = log.kind[i]
    state.tags[n, 1] = log.crowd[i]
    if log.kind[i] >= 0:
        state.kinds[n, log.kind[i]] += 1


@kernel
def count_failure(log, state, i, w, step):
    """Let failure i enter (step 1) or leave (step -1) window w."""
    n, nodes, radii = log.node[i], state.counts.shape[1], len(log.radii)
    state.counts[w, n] += step
    if w < log.near:
        for r in range(radii):
            reach = log.radii[r]
            for m in range(max(n - reach, 0), min(n + reach + 1, nodes)):
                state.around[w * radii + r, m] += step


@kernel
def come_to(log, state, t):
    """Let time pass up to t."""
    cursor = state.cursor
    was = cursor[0]
    now = was
    while now < len(log.time) and log.time[now] < t:
        arrive(log, state, now)
        now += 1
    cursor[0] = now
    for w in range(len(log.windows)):
        left = cursor[6 + w]
        since = t - log.windows[w]
        # What left the window since the last moment; what came and left between two moments was
        # never counted.
        while left < now and log.time[left] < since:
            if left < was:
                count_failure(log, state, left, w, -1)
            left += 1
        for i in range(max(was, left), now):
            count_failure(log, state, i, w, 1)
        cursor[6 + w] = left
    while cursor[1] < len(log.starts) and log.starts[cursor[1]] < t:
        cursor[3] += log.starts[cursor[1]]
        cursor[1] += 1
    while cursor[2] < len(log.stops) and log.stops[cursor[2]] < t:
        cursor[4] += log.stops[cursor[2]]
        cursor[2] += 1


@kernel
def in_full(count, window, covered):
    """Return a count of what was observed of a window as of the full window; nan where less than
    half of it was."""
    # A node that is younger than the window: its count as a rate, if half of it was seen.
    if covered >= window:
        return float(count)
    if 2 * covered < window:
        return np.nan
    return count * (window / covered)


@kernel
def elapsed(t, then):
    """Return hours since then, nan where that never was."""
    return np.nan if then == NEVER else (t - then) / HOUR


@kernel
def spread_of(known, squares, nodes):
    """Return the shape of the gamma law of the nodes' rates, by the moments of their counts."""
    if nodes <= 0 or known <= 0:
        return 1.0
    # Counts of a gamma mixture of Poisson laws: variance = mean + mean^2 / shape.
    mean = known / nodes
    more = squares / nodes - mean * mean - mean
    if more <= 0:
        return 100.0
    return min(max(mean * mean / more, 0.2), 100.0)


@kernel
def own_row(log, state, t, n, rate, spread, row):
    """Write what is known of one node's own failures; return the next column."""
    at = len(log.windows)
    last, known = state.last[n], state.last[n, 3]
    covered = max(min(t, log.until[n]) - log.since[n], 0)
    for w in range(at):
        row[w] = in_full(state.counts[w, n], log.windows[w], covered)
    expected = rate * covered
    row[at] = known
    # The node's rate over the machine's, shrunk to 1: the posterior mean under the gamma law.
    row[at + 1] = (known + spread) / (expected + spread)
    row[at + 2] = row[at + 1] * rate * DAY
    row[at + 3] = covered / DAY
    row[at + 4] = elapsed(t, last[0])
    row[at + 5] = elapsed(t, last[1])
    row[at + 6] = elapsed(t, last[0] if known > 0 else log.since[n])
    row[at + 7] = np.nan if known < 2 else (last[0] - last[1]) / HOUR
    mean = np.nan if known < 2 else (last[0] - last[2]) / HOUR / (known - 1)
    row[at + 8] = mean
    row[at + 9] = row[at + 4] / mean if mean > 0 else np.nan
    row[at + 10] = np.nan if known == 0 else state.tags[n, 1]
    at += 11
    for d in range(len(log.decays)):
        row[at] = 0.0
        if known > 0:
            row[at] = state.decayed[n, d] * np.exp(-(t - last[0]) / log.decays[d])
        at += 1
    return at


@kernel
def machine_row(log, state, t, n, rate, row, at):
    """Write what is known of failures around a node and of the machine's, from column `at`; return
    the next one."""
    covered, known = t - log.begin, state.cursor[0]
    radii = len(log.radii)
    for w in range(log.near):
        for r in range(radii):
            # `around` counts the node itself too.
            others = state.around[w * radii + r, n] - state.counts[w, n]
            row[at] = in_full(others, log.windows[w], covered)
            at += 1
    begun, stopped = state.cursor[1], state.cursor[2]
    for w in range(log.wide):
        window = log.windows[w]
        count = in_full(known - state.cursor[6 + w], window, covered)
        row[at] = (count + 1.0) / (rate * (begun - stopped) * window + 1.0)
        at += 1
    row[at] = elapsed(t, log.time[known - 1] if known > 0 else NEVER)
    return at + 1


@kernel
def told_row(state, t, n, downtimes, row, at):
    """Write what is known of the kinds of a node's failures, and of its downtimes where the log
    tells them. A downtime is known once it is over; before, only that the node is down."""
    known, kinds = state.last[n, 3], state.kinds.shape[1]
    if kinds > 0:
        row[at] = np.nan if known == 0 else state.tags[n, 0]
        at += 1
        for k in range(kinds):
            row[at] = state.kinds[n, k]
            at += 1
    if downtimes:
        back, before = state.down[n, 0], state.down[n, 1]
        over = back != NEVER and back < t
        row[at] = 1.0 if known > 0 and not over else 0.0
        if known > 0 and back == NEVER:
            row[at] = np.nan
        if over:
            row[at + 1] = (back - state.last[n, 0]) / HOUR
        else:
            row[at + 1] = np.nan if before == NEVER else before / HOUR


@entry
def failure_rows(log, state, downtimes, times, first, nodes, out):
    """Write the features of failures into `out`, float32[cells, columns]."""
    for j in range(len(times)):
        t = times[j]
        come_to(log, state, t)
        cursor = state.cursor
        # Sum over nodes of min(t, until) - since, from counts and sums of what began and stopped.
        running = (cursor[1] - cursor[2]) * t - cursor[3] + cursor[4]
        # Half a failure more, so that a machine without any has a rate too.
        rate = (cursor[0] + 0.5) / max(float(running), DAY)
        spread = spread_of(cursor[0], cursor[5], cursor[1])
        for c in range(first[j], first[j + 1]):
            n = nodes[c]
            at = own_row(log, state, t, n, rate, spread, out[c])
            at = machine_row(log, state, t, n, rate, out[c], at)
            told_row(state, t, n, downtimes, out[c], at)


class EventLog(NamedTuple):
    """Records: int64[n] time, node (-1: none), class (-1: none) by severity and by kind, of
    `classes` in all; windows int64[w], s; where observation begins, s."""

    time: Array
    node: Array
    grave: Array
    kind: Array
    classes: int
    windows: Array
    begin: int


@kernel
def count_event(log, i, w, step, own, whole):
    """Let record i enter or leave window w."""
    n = log.node[i]
    for c in (log.grave[i], log.kind[i]):
        if c >= 0:
            whole[w, c] += step
            if n >= 0:
                own[w, n, c] += step


@entry
def event_rows(log, cursor, own, whole, times, first, nodes, out):
    """Write counts of records into `out`, float32[cells, windows * classes * 2]: per window and
    class the node's and the machine's.

    cursor : int64[1 + windows]: records so far, where each window begins; own : int64[windows,
    nodes, classes]; whole : int64[windows, classes]
    """
    for j in range(len(times)):
        t = times[j]
        was = cursor[0]
        now = was
        while now < len(log.time) and log.time[now] < t:
            now += 1
        cursor[0] = now
        for w in range(len(log.windows)):
            left = cursor[1 + w]
            while left < now and log.time[left] < t - log.windows[w]:
                if left < was:
                    count_event(log, left, w, -1, own, whole)
                left += 1
            for i in range(max(was, left), now):
                count_event(log, i, w, 1, own, whole)
            cursor[1 + w] = left
        for c in range(first[j], first[j + 1]):
            at = 0
            for w in range(len(log.windows)):
                for k in range(log.classes):
                    window, covered = log.windows[w], t - log.begin
                    out[c, at] = in_full(own[w, nodes[c], k], window, covered)
                    out[c, at + 1] = in_full(whole[w, k], window, covered)
                    at += 2
