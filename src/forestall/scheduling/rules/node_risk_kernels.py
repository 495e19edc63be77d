"""Risks from hazards of nodes, which fail independently of each other: from the past of each node
(`Hazard`), or from a table of a learner's answers (`HazardTable`).

A hazard has no moment at which it is over: it adds no candidate starts, and where nothing is ever
safe the search ends with the last reservation. One downtime stands for all failures.
"""

from __future__ import annotations

from forestall.core._compile import merged, merged_by_type
from forestall.prediction.models import table_kernels as tables
from forestall.prediction.models.hazard.hazard_kernels import (
    Hazard,
    node_risk,
    renew,
    renewed_halfway,
)
from forestall.prediction.models.table_kernels import HazardTable
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import CHOSEN, FREE, RISKY


@merged
def window_from(prediction, now, start):
    """Return the earliest failure that could still leave a node down at `start`."""
    return max(now, start - prediction.downtime + 1)


@merged_by_type
def shared(prediction, now, start, end):
    """Return what is the same for all nodes of a window, as a tuple."""
    return (0, 0)


@merged_by_type
def risk_of_node(prediction, node, now, start, end, common):
    """Return the probability that a node fails in [start, end); `common` is what `shared` returns
    of it."""
    return 0.0


@shared.of(Hazard)
def shared_of_hazard(hazard, now, start, end):
    """Return the exposure of a node renewed halfway to `start`, and its growth until `end`."""
    return renewed_halfway(hazard, now, start, end)


@risk_of_node.of(Hazard)
def risk_by_hazard(hazard, node, now, start, end, common):
    """Return the probability that a node fails in [start, end)."""
    return node_risk(hazard, node, now, start, end, common[0], common[1])


@shared.of(HazardTable)
def shared_of_table(table, now, start, end):
    """Return where `start` and `end` lie between the horizons."""
    return tables.places(table, start, end)


@risk_of_node.of(HazardTable)
def risk_by_table(table, node, now, start, end, common):
    """Return the probability that a node fails in [start, end)."""
    return tables.risk(tables.hazard_within(table, node, common))


@risks.note_risks.of(Hazard, HazardTable)
def note_risks(prediction, scratch, now, start, end):
    """Note the risk of each free node; return how many are above 0 (a risk can be too small to be
    told from 0)."""
    rows = scratch.rows
    since = window_from(prediction, now, start)
    common = shared(prediction, now, since, end)
    risky = 0
    for i in range(rows.shape[1]):
        rows[RISKY, i] = bits.ZERO
        word = rows[FREE, i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            risk = risk_of_node(prediction, node, now, since, end, common)
            scratch.work[node].risk = risk
            if risk > 0.0:
                bits.put(rows[RISKY], node)
                risky += 1
            word &= word - bits.ONE
    return risky


@risks.learn.of(Hazard)
def learn(hazard, node, now):
    """Renew the node: its age is 0 again, and its gap counts in its exposure."""
    renew(hazard, node, now)


@risks.risk_of_set.of(Hazard)
def risk_of_set(hazard, row, now, start, end):
    """Return the probability that any of a set of nodes fails."""
    since = window_from(hazard, now, start)
    common = shared(hazard, now, since, end)
    lasting = 1.0
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            lasting *= 1.0 - risk_of_node(hazard, node, now, since, end, common)
            word &= word - bits.ONE
    return 1.0 - lasting


@risks.risk_of_chosen.of(Hazard)
def risk_of_chosen(hazard, scratch, now, start, end):
    """Return the probability that any of the chosen nodes fails: the same product as above, of
    risks that are noted already."""
    lasting = 1.0
    for i in range(scratch.rows.shape[1]):
        word = scratch.rows[CHOSEN, i]
        while word != bits.ZERO:
            lasting *= 1.0 - scratch.work[64 * i + bits.lowest(word)].risk
            word &= word - bits.ONE
    return 1.0 - lasting


@risks.risk_beyond.of(Hazard, HazardTable)
def risk_beyond(prediction, scratch, now, start, end, most):
    """Return the probability that more than `most` of the chosen nodes fail (Hacker and Meglicki,
    HPDC 2007, Equation 24, for unlike nodes): 1 less the chances of 0, 1, ... `most` of them."""
    if most >= bits.count(scratch.rows[CHOSEN]):
        return 0.0
    common = shared(prediction, now, start, end)
    chances = scratch.work  # what it held of the free nodes has been used
    for k in range(most + 1):
        chances[k].risk = 1.0 if k == 0 else 0.0
    for i in range(scratch.rows.shape[1]):
        word = scratch.rows[CHOSEN, i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            risk = risk_of_node(prediction, node, now, start, end, common)
            for k in range(most, 0, -1):
                chances[k].risk = chances[k].risk * (1.0 - risk) + chances[k - 1].risk * risk
            chances[0].risk *= 1.0 - risk
            word &= word - bits.ONE
    within = 0.0
    for k in range(most, -1, -1):
        within += chances[k].risk
    return max(0.0, 1.0 - within)


@risks.mean_down.of(Hazard, HazardTable)
def mean_down(prediction, row, now):
    """Return the sum of a set of nodes' risks over one downtime from now."""
    end = now + prediction.downtime
    common = shared(prediction, now, now, end)
    mean = 0.0
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            mean += risk_of_node(prediction, node, now, now, end, common)
            word &= word - bits.ONE
    return mean


@risks.move_on.of(HazardTable)
def move_on(table, now):
    """Go on to the row of the table that holds at `now`."""
    tables.move_on(table, now)


@risks.risk_of_set.of(HazardTable)
def risk_of_table_set(table, row, now, start, end):
    """Return the probability that any of a set of nodes fails: their hazards add up."""
    since = window_from(table, now, start)
    common = tables.places(table, since, end)
    count = 0
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            table.room[count] = tables.hazard_within(table, node, common)
            count += 1
            word &= word - bits.ONE
    return tables.risk(tables.total(table.room[:count]))
