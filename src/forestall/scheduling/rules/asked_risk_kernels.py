"""Risks that Python is asked: a search stops at the question, and goes on when it is answered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.search_state import MOMENT, RECOVERY, RISKY


class AskedPredictor(NamedTuple):
    """A predictor in Python: float64[1] its answer about a set; int64[1] its answer about a moment,
    s; the seconds after which what it foresees repeats (0: never); whether it knows of each outage,
    and whether it foresees recoveries (0 or 1)."""

    risk: npt.NDArray[np.float64]
    time: npt.NDArray[np.int64]
    period: int
    knows: int
    foresees: int


def new_asked(period: int, *, knows: bool, foresees: bool) -> AskedPredictor:
    """Return a prediction without any answer yet."""
    return AskedPredictor(
        np.zeros(1), np.zeros(1, dtype=np.int64), period, int(knows), int(foresees)
    )


@risks.told.of(AskedPredictor)
def told(asked, search, what):
    """Return whether Python has answered; it is not asked for what it cannot know."""
    if (what == RECOVERY and not asked.foresees) or (what == MOMENT and not asked.knows):
        return True
    return risks.known(search, what)


@risks.note_risks.of(AskedPredictor)
def note_risks(asked, scratch, now, start, end):
    """Return how many nodes Python has marked as risky."""
    return bits.count(scratch.rows[RISKY])


@risks.risk_of_set.of(AskedPredictor)
def risk_of_set(asked, row, now, start, end):
    """Return Python's answer."""
    return asked.risk[0]


@risks.next_recovery.of(AskedPredictor)
def next_recovery(asked, now, lower):
    """Return Python's answer."""
    return asked.time[0] if asked.foresees else FAR


@risks.first_failure.of(AskedPredictor)
def first_failure(asked, node, now, start, end):
    """Return Python's answer."""
    return asked.time[0] if asked.knows else -1


@risks.period.of(AskedPredictor)
def period(asked):
    """Return the seconds after which what it foresees repeats, or 0."""
    return asked.period
