"""The arrays that a search for a start works in: what is tried, what is offered, what is asked."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of, records

ROWS: Final = 8
FREE, CHOSEN, RISKY, SEEN, WITHIN, UNIT, LATER, UNPLANNED = map(np.int64, range(ROWS))
"""Rows of nodes: those that are free; those chosen of them; those free ones whose risk is above 0;
room for a set in between; those that may be taken at all, where not all may; those free ones of
which a job is to have all its nodes; of these, those that fail no sooner than one of them, and
those without a planned outage."""

LOWEST, LEAST_RISKY, OWN, LEAST_TOGETHER = map(np.int64, range(4))
"""Rules of placement: the lowest free numbers; the least risk one by one, lower number first among
equals; a rule of the user's own, which Python is asked for; the least risk together."""

OFFER: Final = record_of("start end probability:f8 refused left_out left_out_at first")
"""start and end; probability of success; earlier offers that were refused for their risk; a node
that was free but left out (-1: none) and when it is predicted to fail; the first start that was
feasible."""

WORK: Final = np.dtype([("risk", "f8"), ("node", "i8")])
"""A node's risk, the probability that it fails a job, by node; and the places of a heap of
nodes."""

SEARCH: Final = record_of(
    "start end size lower near recovery give_up refused first best_start best:f8 wanted:f8 "
    "asks known node within hurried beyond room at_start:f8 in_run:f8 past_room:f8"
)
"""How far a search has come: the window that is tried, and for how many nodes; a time before which
no other start is worth a try; the segment of the timeline at or before both; the first foreseen
recovery not before `lower`; when to give up; offers refused; the first feasible start (-1: none
yet); the best start of the refused ones, and its probability of success; the least probability of
success that is taken. What Python is asked: one of the questions below (0: nothing); the sum of
those that are answered for this window; a node that the question is about. Whether only nodes of
the row WITHIN may be taken (0: all); whether a start is refused only for a risk that passes (0: for
any); how many of the nodes may fail, each being replaced by a
spare, how many seconds of the window are for each of these failures, and the probabilities that a
node lost before the start, one in the run, and one more than there is time for are made good."""

EACH: Final = np.int64(1)
"""The risk of each free node: into `work`, and those above 0 into the row RISKY."""
PICK: Final = np.int64(2)
"""Which of the free nodes: into the row CHOSEN."""
TOGETHER: Final = np.int64(4)
"""The risk of the nodes in the row CHOSEN: into the prediction."""
RECOVERY: Final = np.int64(8)
"""The earliest foreseen recovery not before `lower`: into the prediction."""
MOMENT: Final = np.int64(16)
"""When `node` would fail the job: into the prediction."""
LEARN: Final = np.int64(32)
"""Nothing: `node` has failed."""


class Scratch(NamedTuple):
    """uint64[ROWS, words], WORK[nodes], OFFER[1], SEARCH[1]: without meaning once a
    search has ended, but for the offer and the chosen nodes."""

    rows: npt.NDArray[np.uint64]
    work: npt.NDArray[Any]
    offer: npt.NDArray[Any]
    search: npt.NDArray[Any]


def new_scratch(nodes: int) -> Scratch:
    """Return room for searches on a machine of so many nodes."""
    return Scratch(
        np.zeros((ROWS, (nodes + 63) // 64), dtype=np.uint64),
        records(nodes, WORK),
        records(1, OFFER),
        records(1, SEARCH),
    )


ANYWHERE, IN_A_ROW, AT_A_SWITCH = map(np.int64, range(3))
"""Which nodes are near each other: no matter; those with numbers in a row; those of a unit."""


class Near(NamedTuple):
    """Which nodes a job has rather: of which sort; the probability of success that may be given up
    for it; uint64[units, words], the nodes of each unit, such as a switch; int64[units], its level,
    ascending, where each window of nodes in a row counts as a unit, by its first node; the last
    unit is all nodes. Room to work in: float64[units] and int64[units], a unit's probability of
    success (-1: too few free nodes) and the nodes left free in it."""

    sort: int
    slack: float
    units: npt.NDArray[np.uint64]
    level: npt.NDArray[np.int64]
    chance: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]


def new_near(sort: int, slack: float, units: npt.NDArray[np.uint64], level: Any) -> Near:
    """Return which nodes a job has rather, with room to find them."""
    levels = np.asarray(level, dtype=np.int64)
    return Near(sort, slack, units, levels, np.zeros(len(levels)), np.zeros_like(levels))


NO_MATTER: Final = new_near(int(ANYWHERE), 0.0, np.zeros((0, 0), dtype=np.uint64), [])
