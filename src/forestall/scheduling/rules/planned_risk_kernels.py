"""Risks of a prediction beside outages that are planned, such as maintenance: those come with
probability 1, whatever the prediction says, and it learns nothing from them."""

from __future__ import annotations

from typing import Any, NamedTuple

from forestall.core._compile import kernel
from forestall.prediction.models.foreseen_kernels import (
    Foreseen,
    first_from,
    next_recovery,
    shift_of,
)
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.foreseen_risk_kernels import first_that_matters
from forestall.scheduling.rules.least_risky_kernels import take_least_risky
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import CHOSEN, FREE, RISKY, UNPLANNED


class Planned(NamedTuple):
    """A prediction, and planned outages as foreseen failures that do not repeat."""

    base: Any
    outages: Foreseen


@kernel
def meets(outages, row, now, start, end):
    """Return whether any of a set of nodes meets a planned outage in [start, end)."""
    number = first_that_matters(outages, now, start)
    while True:
        index, _ = shift_of(outages, number)
        if index < 0 or outages.failures[index].time >= end:
            return False
        if outages.failures[index].until > start and bits.has(row, outages.failures[index].node):
            return True
        number += 1


@kernel
def begins(outages, node, now):
    """Return whether a planned outage of a node begins now."""
    number = first_from(outages, now)
    while True:
        index, _ = shift_of(outages, number)
        if index < 0 or outages.failures[index].time > now:
            return False
        if outages.failures[index].node == node:
            return True
        number += 1


@kernel
def first_of(outages, node, now, start, end):
    """Return when the first planned outage of a node is that a job in [start, end) meets, or -1."""
    number = first_that_matters(outages, now, start)
    while True:
        index, _ = shift_of(outages, number)
        if index < 0 or outages.failures[index].time >= end:
            return -1
        if outages.failures[index].until > start and outages.failures[index].node == node:
            return outages.failures[index].time
        number += 1


@risks.move_on.of(Planned)
def move_on(both, now):
    """Let the present moment of the prediction be `now`."""
    risks.move_on(both.base, now)


@risks.learn.of(Planned)
def learn(both, node, now):
    """Take note that a node failed, unless that was planned."""
    if not begins(both.outages, node, now):
        risks.learn(both.base, node, now)


@risks.note_risks.of(Planned)
def note_risks(both, scratch, now, start, end):
    """Note each free node's risk: 1 where it meets a planned outage, else what is predicted."""
    risky = risks.note_risks(both.base, scratch, now, start, end)
    outages, rows = both.outages, scratch.rows
    number = first_that_matters(outages, now, start)
    while True:
        index, _ = shift_of(outages, number)
        if index < 0 or outages.failures[index].time >= end:
            return risky
        node = outages.failures[index].node
        if outages.failures[index].until > start and bits.has(rows[FREE], node):
            if not bits.has(rows[RISKY], node):
                bits.put(rows[RISKY], node)
                risky += 1
            scratch.work[node].risk = 1.0
        number += 1


@risks.risk_of_set.of(Planned)
def risk_of_set(both, row, now, start, end):
    """Return 1 where a set of nodes meets a planned outage, else what is predicted."""
    if meets(both.outages, row, now, start, end):
        return 1.0
    return risks.risk_of_set(both.base, row, now, start, end)


@risks.risk_of_chosen.of(Planned)
def risk_of_chosen(both, scratch, now, start, end):
    """Return 1 where the chosen nodes meet a planned outage, else what is predicted."""
    risk = 1.0
    if not meets(both.outages, scratch.rows[CHOSEN], now, start, end):
        risk = risks.risk_of_chosen(both.base, scratch, now, start, end)
    return risk


@risks.take_least_together.of(Planned)
def take_least_together(both, scratch, pool, now, start, end, size):
    """Choose the set of least risk among the nodes without a planned outage; where they are too
    few, every set fails."""
    outages, row = both.outages, scratch.rows[UNPLANNED]
    bits.copy(row, scratch.rows[pool])
    number = first_that_matters(outages, now, start)
    while True:
        index, _ = shift_of(outages, number)
        if index < 0 or outages.failures[index].time >= end:
            break
        if outages.failures[index].until > start:
            bits.drop(row, outages.failures[index].node)
        number += 1
    if bits.count(row) >= size:
        take_least_risky(scratch, UNPLANNED, size)
        risks.take_least_together(both.base, scratch, UNPLANNED, now, start, end, size)


@risks.first_failure.of(Planned)
def first_failure(both, node, now, start, end):
    """Return when a node first fails, planned or foreseen, or -1."""
    planned = first_of(both.outages, node, now, start, end)
    foreseen = risks.first_failure(both.base, node, now, start, end)
    if planned < 0 or 0 <= foreseen < planned:
        planned = foreseen
    return planned


@risks.next_recovery.of(Planned)
def recovery(both, now, lower):
    """Return the earliest end >= `lower` of an outage, planned or foreseen, from `now` on."""
    return min(next_recovery(both.outages, now, lower), risks.next_recovery(both.base, now, lower))
