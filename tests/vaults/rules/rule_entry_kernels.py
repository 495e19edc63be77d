"""The compiled rule as Python can call it."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry
from forestall.vaults.rules import placement_kernels as rule
from forestall.vaults.rules.placement import Stake, StoreOutlook


def chosen_by_kernels(
    known: StoreOutlook, stake: Stake, data: int, parity: int, most: int
) -> tuple[int, ...]:
    """Return the hosts that the kernels choose, of a short list of so many."""
    pieces, moments = data + parity, len(known.weight)
    order = np.zeros(len(known.bandwidth), dtype=np.int64)
    chosen = np.zeros(pieces, dtype=np.int64)
    cost, gain = stake.piece / known.bandwidth, stake.fails * stake.work
    mean = known.weight @ known.up
    few = rule_shortlist(cost, mean, gain, data, most, order)
    _least(
        cost[order[:few]].copy(), known.up.T[order[:few]].astype(np.int8), known.weight,
        np.array([gain, data, pieces, few]), np.zeros(pieces, dtype=np.int64),
        np.zeros((pieces + 1, moments), dtype=np.int8), chosen,
    )  # fmt: skip
    return tuple(order[chosen].tolist())


@entry
def _short(cost, mean, numbers, order):  # type: ignore[no-untyped-def]
    return rule.shortlist(
        cost, mean, numbers[0], np.int64(numbers[1]), len(cost), np.int64(numbers[2]), order
    )


def rule_shortlist(
    cost: np.ndarray, mean: np.ndarray, gain: float, data: int, most: int, order: np.ndarray
) -> int:
    """Return how many hosts the short list has; it is written into `order`."""
    return int(_short(cost, mean, np.array([gain, data, most]), order))


@entry
def _least(cost, up, weight, numbers, scratch, counts, chosen):  # type: ignore[no-untyped-def]
    return rule.least_loss(
        cost, up, weight, numbers[0], np.int64(numbers[1]), np.int64(numbers[2]),
        np.int64(numbers[3]), scratch, counts, chosen,
    )  # fmt: skip
