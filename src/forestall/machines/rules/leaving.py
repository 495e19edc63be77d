"""When a node is to be left, given when it may fail and how long its machines take to go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Foretold:
    """A failure that is foreseen, with its spread.

    Attributes
    ----------
    at : the time that is told, s; later than `early`, before `late`
    early, late : between which it comes with 80 %, s
    probability : that it comes at all
    by : who foresees it
    """

    at: int
    early: int
    late: int
    probability: float = 1.0
    by: str = ""

    @classmethod
    def sharp(cls, at: int, by: str = "") -> Foretold:
        """Return a failure at one moment."""
        return cls(at, at, at, 1.0, by)


def evacuation(costs: Sequence[float], at_once: int) -> int:
    """Return the seconds that all moves of a node take, so many at a time.

    Longest first on whichever way is free: at most 4/3 of the shortest possible (Graham 1969).

    >>> evacuation([10, 10, 10], at_once=2)
    20
    """
    ways = [0.0] * max(at_once, 1)
    for cost in sorted(costs, reverse=True):
        ways[ways.index(min(ways))] += cost
    return math.ceil(max(ways))


def leave_at(foretold: Foretold, lead: int, moves: int) -> int:
    """Return when machines must begin to leave: `lead` s before the early end of the spread, and
    `moves` s, which is how long all of them take to go.

    >>> leave_at(Foretold(at=1000, early=800, late=1500), lead=60, moves=40)
    700
    """
    return foretold.early - lead - moves


def foretold_of(
    now: int, ends: Sequence[float], chances: Sequence[float], by: str = ""
) -> Foretold | None:
    """Return the failure that probabilities tell of, with its spread; None where they tell of none.

    Given that it comes within the last of the windows, it comes by `early` with 10 %, by `at` with
    50 % and by `late` with 90 %; between two ends the probability grows linearly.

    Parameters
    ----------
    ends : s from now, ascending, at which windows that begin now end
    chances : that it fails within each
    by : who says so

    >>> foretold_of(1000, [100, 200], [0.0, 0.8])
    Foretold(at=1150, early=1110, late=1190, probability=0.8, by='')
    """
    times = np.concatenate(([0.0], np.asarray(ends, dtype=np.float64)))
    grown = np.maximum.accumulate(np.concatenate(([0.0], np.asarray(chances, dtype=np.float64))))
    whole = float(grown[-1])
    if not whole > 0:
        return None
    # Where it does not grow there is nothing to find: the last of equal points is the one.
    keep = np.append(np.diff(grown) > 0, True)
    early, at, late = (
        now + math.floor(float(np.interp(share * whole, grown[keep], times[keep])))
        for share in (0.1, 0.5, 0.9)
    )
    return Foretold(at, early, late, whole, by)
