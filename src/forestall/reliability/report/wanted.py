"""How many nodes a job may have for a checkpoint interval that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST_NODES: Final = 1 << 24
"""More nodes than this are not looked for."""


@dataclass(frozen=True)
class WantedInterval:
    """An interval that is wanted, and the nodes for it.

    Attributes
    ----------
    interval : wanted at least, s
    nodes : the most for which the best interval is as long; 0: not even for one
    formula : nodes whose first-order interval it is, all as new (Equation 23 of Hacker and
        Meglicki, with its slip of sign mended)
    """

    interval: float
    nodes: int
    formula: float


def most_nodes(best: Callable[[int], float], wanted: float) -> int:
    """Return the most nodes whose `best` interval, which shrinks as they become more, is at least
    as long as `wanted`; 0 where not even one node's is."""
    low, high = 0, 1
    while high <= MOST_NODES and best(high) >= wanted:
        low, high = high, 2 * high
    if low == MOST_NODES:
        return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if best(middle) >= wanted else (low, middle)
    return low
