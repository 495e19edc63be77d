"""How much node time alarms cover: what recall chance would give them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forestall.core.model.arrays import Floats, Ints


class Cover(NamedTuple):
    """The share of all node time that is covered, and each node's, float64[nodes]."""

    share: float
    by_node: Floats


def cover(begin: Ints, end: Ints, node: Ints, nodes: int, window: tuple[int, int]) -> Cover:
    """Return the share of node time in [begin, end) of any alarm, within the window.

    Parameters
    ----------
    begin, end : int64[a], s, in order of (node, begin)
    node : int64[a], negative: all nodes
    nodes : number of nodes
    window : [begin, end), s
    """
    start, close = window
    low = np.clip(begin, start, close) - start
    high = np.maximum(np.clip(end, start, close) - start, low)
    span = close - start
    whole = node < 0
    machine_low, machine_high = _merged(low[whole], high[whole])
    mine_low, mine_high = low[~whole], high[~whole]
    mine = node[~whole]
    key = mine * (span + 1)
    # Pieces that no earlier alarm of the node covers; earlier nodes end below this one's begin.
    reached = np.maximum.accumulate(key + mine_high) if len(key) else key
    before = np.concatenate((key[:1], reached[:-1]))
    fresh = np.maximum(key + mine_low, before) - key
    cut = np.minimum(fresh, mine_high)
    length = mine_high - cut
    shared = _covered_up_to(mine_high, machine_low, machine_high) - _covered_up_to(
        cut, machine_low, machine_high
    )
    own = np.bincount(mine, weights=(length - shared).astype(np.float64), minlength=nodes)
    by_node = (own + float((machine_high - machine_low).sum())) / span
    return Cover(float(by_node.mean()), by_node)


def _merged(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return intervals in order of their beginnings as ones that do not touch."""
    if not len(low):
        return low, high
    reached = np.maximum.accumulate(high)
    first = np.flatnonzero(np.concatenate(([True], low[1:] > reached[:-1])))
    last = np.append(first[1:] - 1, len(low) - 1)
    return low[first], reached[last]


def _covered_up_to(time: Ints, low: Ints, high: Ints) -> Ints:
    """Return how many of the seconds before each time the intervals cover."""
    if not len(low):
        return np.zeros_like(time)
    total = np.concatenate(([0], np.cumsum(high - low)))
    at = np.searchsorted(low, time, side="right")
    inside = np.maximum(np.minimum(time, high[at - 1]) - low[at - 1], 0)
    return np.where(at > 0, total[at - 1] + inside, 0)
