"""Risks from foreseen failures: a job fails with the probability of the first one that it meets.

Oliner et al., DSN 2005, Section 4.3. Failures are in order of (time, node), so that the first one
of a set is found by one walk through the window, whatever its size.
"""

from __future__ import annotations

from forestall.core._compile import kernel
from forestall.prediction.models.foreseen_kernels import (
    Foreseen,
    first_from,
    next_recovery,
    shift_of,
)
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.least_risky_kernels import take_least_risky
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import CHOSEN, FREE, LATER, RISKY, SEEN


@kernel
def first_that_matters(foreseen, now, start):
    """Return the running number of the first failure that could still leave a node down at
    `start`: none lasts longer than the longest one."""
    return first_from(foreseen, max(now, start - foreseen.longest + 1))


@risks.note_risks.of(Foreseen)
def note_risks(foreseen, scratch, now, start, end):
    """Note each free node's first failure that a job in [start, end) would meet: one within the
    window, or one from `now` on that leaves the node down at `start`. Returns how many nodes have
    one of a probability above 0.

    (With one downtime D for all failures that is the window [max(now, start - D + 1), end).)
    """
    rows = scratch.rows
    for i in range(rows.shape[1]):
        rows[RISKY, i] = bits.ZERO
        rows[SEEN, i] = bits.ZERO
    risky = 0
    number = first_that_matters(foreseen, now, start)
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return risky
        node = foreseen.failures[index].node
        met = foreseen.failures[index].until + shift > start
        # A node that was seen has had its first failure: later ones do not count.
        if met and bits.has(rows[FREE], node) and not bits.has(rows[SEEN], node):
            bits.put(rows[SEEN], node)
            scratch.work[node].risk = foreseen.failures[index].probability
            if foreseen.failures[index].probability > 0:
                bits.put(rows[RISKY], node)
                risky += 1
        number += 1


@risks.risk_of_set.of(Foreseen)
def risk_of_set(foreseen, row, now, start, end):
    """Return the probability of the first failure that a set of nodes meets."""
    if len(foreseen.failures) == 0:
        return 0.0
    number = first_that_matters(foreseen, now, start)
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return 0.0
        met = foreseen.failures[index].until + shift > start
        if met and bits.has(row, foreseen.failures[index].node):
            return foreseen.failures[index].probability
        number += 1


@risks.take_least_together.of(Foreseen)
def take_least_together(foreseen, scratch, pool, now, start, end, size):
    """Choose the set of `size` nodes of a row that has the least risk, if the chosen one has more.

    A set's risk is that of its first failure, so a node that fails first hides what comes later. In
    order of their first failures each node can be the first of a set as long as enough nodes are
    left that fail after it or not at all; the least risky of these makes the set, the sooner of
    equals, with the others of least risk.
    """
    rows = scratch.rows
    least, first = risks.risk_of_set(foreseen, rows[CHOSEN], now, start, end), -1
    bits.copy(rows[SEEN], rows[pool])
    left = bits.count(rows[pool])
    number = first_that_matters(foreseen, now, start)
    while left >= size:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            break
        node = foreseen.failures[index].node
        if foreseen.failures[index].until + shift > start and bits.has(rows[SEEN], node):
            if foreseen.failures[index].probability < least:
                least, first = foreseen.failures[index].probability, node
                bits.copy(rows[LATER], rows[SEEN])
            bits.drop(rows[SEEN], node)
            left -= 1
        number += 1
    if first >= 0:
        bits.drop(rows[LATER], first)
        take_least_risky(scratch, LATER, size - 1)
        bits.put(rows[CHOSEN], first)


@risks.risk_beyond.of(Foreseen)
def risk_beyond(foreseen, scratch, now, start, end, most):
    """Return the probability of the failure after the first `most` of the chosen nodes in
    [start, end), each node's first one: a node that failed was left for a spare."""
    rows, left = scratch.rows, most
    for i in range(rows.shape[1]):
        rows[SEEN, i] = bits.ZERO
    number = first_from(foreseen, start)
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return 0.0
        node = foreseen.failures[index].node
        if bits.has(rows[CHOSEN], node) and not bits.has(rows[SEEN], node):
            if left == 0:
                return foreseen.failures[index].probability
            bits.put(rows[SEEN], node)
            left -= 1
        number += 1


@risks.mean_down.of(Foreseen)
def mean_down(foreseen, row, now):
    """Return the sum of the probabilities of the failures of a set of nodes within the longest
    outage from now."""
    mean = 0.0
    number = first_from(foreseen, now)
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= now + foreseen.longest:
            return mean
        if bits.has(row, foreseen.failures[index].node):
            mean += foreseen.failures[index].probability
        number += 1


@risks.first_failure.of(Foreseen)
def first_failure(foreseen, node, now, start, end):
    """Return the time of the first failure that `node` meets, or -1."""
    number = first_that_matters(foreseen, now, start)
    while True:
        index, shift = shift_of(foreseen, number)
        if index < 0 or foreseen.failures[index].time + shift >= end:
            return -1
        met = foreseen.failures[index].until + shift > start
        if met and foreseen.failures[index].node == node:
            return foreseen.failures[index].time + shift
        number += 1


@risks.next_recovery.of(Foreseen)
def recovery(foreseen, now, lower):
    """Return the earliest end >= `lower` of an outage from `now` on, or FAR."""
    return next_recovery(foreseen, now, lower)


@risks.period.of(Foreseen)
def period(foreseen):
    """Return the seconds after which the log repeats, or 0."""
    return foreseen.period
