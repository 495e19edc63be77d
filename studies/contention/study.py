"""What is played: owners at work in a program each, alone and beside guests at several priorities,
all on one core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import forestall as fs
from studies.contention.programs import PROGRAMS

NONE, AGAIN, NORMAL, LOWEST = "none", "again", "normal", "lowest"
NICES: Final = (5, 10, 15)
GUESTS: Final = (NORMAL, *(f"nice {one}" for one in NICES), LOWEST)
"""From highest to lowest priority. `NONE` is the owner alone, and `AGAIN` once more: how far the
two differ is what the measurement cannot tell from nothing."""
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Owner's shares of the core when it is alone."""
MEMORY: Final = "memory"


@dataclass(frozen=True)
class Case:
    """One owner at one load beside all guests in turn; `MEMORY` for the part on memory."""

    program: str
    load: float
    repeat: int


@dataclass(frozen=True)
class Plan:
    """How much is played.

    Attributes
    ----------
    seed : of think times, orders and files
    repeats : of each point
    seconds : that a turn beside one guest takes at least, about
    programs, loads : of the owner
    memory : repeats of the part on memory
    """

    seed: int = 1
    repeats: int = 3
    seconds: float = 0.5
    programs: tuple[str, ...] = tuple(PROGRAMS)
    loads: tuple[float, ...] = LOADS
    memory: int = 3


QUICK: Final = Plan(
    repeats=1, seconds=0.3, programs=("spin", "gzip"), loads=(0.2, 0.5, 1.0), memory=0
)


def batches(plan: Plan, there: tuple[str, ...]) -> list[tuple[Case, ...]]:
    """Return all cases of the programs that are there, once each repeat, in random order."""
    points = [(name, load) for name in plan.programs for load in plan.loads if name in there]
    chance = fs.stream(plan.seed, "contention", "cases")
    found: list[tuple[Case, ...]] = []
    for repeat in range(plan.repeats):
        found += [(Case(*points[int(k)], repeat),) for k in chance.permutation(len(points))]
        found += [(Case(MEMORY, 0.0, repeat),)] if repeat < plan.memory else []
    return found
