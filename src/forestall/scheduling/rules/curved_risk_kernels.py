"""Risks from nodes' hazards beside foreseen failures: what a live cluster's engine is told.

A hazard has no moment: it is asked for over the window in question. Nodes' hazards are independent
of each other and of foreseen failures:

    P(a set fails in [s, e)) = 1 - (1 - p) * prod exp(H(s) - H(e)),

p being the probability of the first foreseen failure that the set meets, H a node's cumulative
hazard: linear within equal parts of its window, and behind it as it was on average. A node that
fails before s is taken to be replaced by then.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel
from forestall.prediction.models.foreseen_kernels import FAR, Foreseen, next_recovery
from forestall.prediction.models.table_kernels import PARTS
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import CHOSEN, FREE, RISKY

PEAK: Final = 0.8
"""Where so much of a window's risk lies in one part the danger passes with it: a start after it is
worth a try."""
_CERTAIN: Final = 1.0 - 1e-12


class Curved(NamedTuple):
    """Foreseen failures that do not repeat; the hazards, float64[nodes, PARTS]: cumulative, up to
    the end of each part; int64[nodes] when each window begins and how long it is, s (0: no hazard
    is known); int64[nodes] when the danger has passed, FAR where it is spread over the window."""

    moments: Foreseen
    hazard: npt.NDArray[np.float64]
    begin: npt.NDArray[np.int64]
    span: npt.NDArray[np.int64]
    passes: npt.NDArray[np.int64]


def without_hazards(moments: Foreseen, nodes: int) -> Curved:
    """Return these foreseen failures, with room for hazards of so many nodes."""
    blank = np.zeros(nodes, dtype=np.int64)
    return Curved(
        moments, np.zeros((nodes, PARTS)), blank.copy(), blank.copy(), np.full(nodes, FAR)
    )


def set_hazard(
    curved: Curved, node: int, begin: int, end: int, chances: npt.NDArray[np.float64]
) -> None:
    """Let a node's hazard be the one that fails it with these probabilities within the first part
    of [begin, end), the first two, ..., all of it; parts are equal, and as many as one likes."""
    hazard = np.concatenate(([0.0], -np.log1p(-np.minimum(chances, _CERTAIN))))
    ends = np.arange(1, PARTS + 1) / PARTS
    curved.hazard[node] = np.interp(ends, np.linspace(0.0, 1.0, len(hazard)), hazard)
    curved.begin[node], curved.span[node] = begin, end - begin
    risks_within = np.diff(chances, prepend=0.0)
    part, most = int(risks_within.argmax()), float(chances[-1])
    if most <= 0:
        curved.span[node] = 0
    peaks = len(chances) > 1 and 0 < PEAK * most <= float(risks_within[part])
    over = begin + -(-(part + 1) * (end - begin) // len(chances))
    curved.passes[node] = over if peaks else FAR


@kernel
def hazard_until(curved, node, time):
    """Return a node's cumulative hazard from the begin of its window to a time."""
    known = curved.hazard[node]
    gone = (time - curved.begin[node]) / curved.span[node] * PARTS
    whole = int(gone)
    if whole >= PARTS:
        return known[PARTS - 1] * gone / PARTS
    before = known[whole - 1] if whole > 0 else 0.0
    return before + (gone - whole) * (known[whole] - before)


@kernel
def hazard_risk(curved, node, now, start, end):
    """Return the probability that a node fails by its hazard in [start, end)."""
    if curved.span[node] == 0:
        return 0.0
    first = max(start, now, curved.begin[node])
    if end <= first:
        return 0.0
    return -math.expm1(hazard_until(curved, node, first) - hazard_until(curved, node, end))


@entry
def hazard_risks(curved, nodes, now, start, end, answer):
    """Write `hazard_risk` of each of the nodes into `answer`."""
    for i in range(len(nodes)):
        answer[i] = hazard_risk(curved, nodes[i], now, start, end)


@risks.note_risks.of(Curved)
def note_risks(curved, scratch, now, start, end):
    """Note each free node's risk: of its first foreseen failure or its hazard."""
    risky = risks.note_risks(curved.moments, scratch, now, start, end)
    rows = scratch.rows
    for i in range(rows.shape[1]):
        word = rows[FREE, i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            risk = hazard_risk(curved, node, now, start, end)
            if bits.has(rows[RISKY], node):
                known = scratch.work[node].risk
                scratch.work[node].risk = 1.0 - (1.0 - known) * (1.0 - risk)
            elif risk > 0.0:
                scratch.work[node].risk = risk
                bits.put(rows[RISKY], node)
                risky += 1
            word &= word - bits.ONE
    return risky


@risks.risk_of_set.of(Curved)
def risk_of_set(curved, row, now, start, end):
    """Return the probability that any of a set of nodes fails."""
    lasting = 1.0 - risks.risk_of_set(curved.moments, row, now, start, end)
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            lasting *= 1.0 - hazard_risk(curved, node, now, start, end)
            word &= word - bits.ONE
    return 1.0 - lasting


@risks.first_failure.of(Curved)
def first_failure(curved, node, now, start, end):
    """Return when the failure of a node is foreseen that a job in [start, end) meets, or -1."""
    return risks.first_failure(curved.moments, node, now, start, end)


@risks.next_recovery.of(Curved)
def recovery(curved, now, lower):
    """Return the earliest moment >= `lower` at which an outage that is foreseen is over, or the
    danger of a node has passed."""
    best = next_recovery(curved.moments, now, lower)
    for node in range(len(curved.passes)):
        if lower <= curved.passes[node] < best:
            best = curved.passes[node]
    return best


@risks.is_spread.of(Curved)
def is_spread(curved, scratch, now, start, end):
    """Return whether the chosen nodes meet no foreseen failure and no danger that passes."""
    row = scratch.rows[CHOSEN]
    if risks.risk_of_set(curved.moments, row, now, start, end) > 0.0:
        return False
    for i in range(len(row)):
        word = row[i]
        while word != bits.ZERO:
            node = 64 * i + bits.lowest(word)
            over = curved.passes[node]
            if start < over < FAR and over - curved.span[node] // PARTS < end:
                return False
            word &= word - bits.ONE
    return True
