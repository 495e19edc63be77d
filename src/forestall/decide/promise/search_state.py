"""The arrays that a search for a start works in: what is tried, what is offered, what is asked."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall._compile import record_of, records

FREE, CHOSEN, RISKY, SEEN, WITHIN = range(5)
"""Rows of nodes: those that are free; those chosen of them; those free ones whose risk is above 0;
room for a set in between; and those that may be taken at all, where not all may."""

LOWEST, LEAST_RISKY, OWN = map(np.int64, range(3))
"""Rules of placement: the lowest free numbers; the least risk, lower number first among equals; a
rule of the user's own, which Python is asked for."""

OFFER: Final = record_of("start end probability:f8 refused left_out left_out_at first")
"""start and end; probability of success; earlier offers that were refused for their risk; a node
that was free but left out (-1: none) and when it is predicted to fail; the first start that was
feasible."""

WORK: Final = np.dtype([("risk", "f8"), ("node", "i8")])
"""A node's risk, the probability that it fails a job, by node; and the places of a heap of
nodes."""

SEARCH: Final = record_of(
    "start end size lower near recovery give_up refused first best_start best:f8 wanted:f8 "
    "asks known node within beyond"
)
"""How far a search has come: the window that is tried, and for how many nodes; a time before which
no other start is worth a try; the segment of the timeline at or before both; the first foreseen
recovery not before `lower`; when to give up; offers refused; the first feasible start (-1: none
yet); the best start of the refused ones, and its probability of success; the least probability of
success that is taken. What Python is asked: one of the questions below (0: nothing); the sum of
those that are answered for this window; a node that the question is about. Whether only nodes of
the row WITHIN may be taken (0: all); how many of the nodes may fail, each being replaced by a
spare."""

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
    """uint64[5, words], WORK[nodes], OFFER[1], SEARCH[1]: without meaning once a
    search has ended, but for the offer and the chosen nodes."""

    rows: npt.NDArray[np.uint64]
    work: npt.NDArray[Any]
    offer: npt.NDArray[Any]
    search: npt.NDArray[Any]


def new_scratch(nodes: int) -> Scratch:
    """Return room for searches on a machine of so many nodes."""
    return Scratch(
        np.zeros((5, (nodes + 63) // 64), dtype=np.uint64),
        records(nodes, WORK),
        records(1, OFFER),
        records(1, SEARCH),
    )
