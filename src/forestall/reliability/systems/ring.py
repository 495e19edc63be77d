"""Checkpoints on a ring of nodes: which sets of lost nodes can be recovered, and how likely.

The nodes form one cycle. Each keeps its own checkpoint, and copies of it lie on its c - 1 nearest
neighbours, by turns on the right and on the left: c = 3 is a node and both its neighbours.

A checkpoint is gone where all c holders are. The holders of each node are c nodes in a row, and
every c nodes in a row are the holders of one node. So a set of lost nodes can be recovered where it
has no c nodes in a row, around the end of the cycle too. With c >= N copies lie everywhere, and one
node that is left will do.

Source: Hacker and Meglicki, HPDC 2007, Section 7.1, which has c = 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.systems.systems import binomial_counts


def holders(node: int, nodes: int, copies: int) -> tuple[int, ...]:
    """Return the nodes that keep this node's checkpoint, itself first.

    >>> holders(0, 8, 3), holders(0, 8, 4)
    ((0, 1, 7), (0, 1, 7, 2))
    """
    _check(nodes, copies)
    steps = [(k + 1) // 2 if k % 2 else -(k // 2) for k in range(min(copies, nodes))]
    return tuple((node + step) % nodes for step in steps)


def recoverable(lost: Iterable[int], nodes: int, copies: int) -> bool:
    """Return whether every lost node's checkpoint is still somewhere.

    >>> recoverable([3, 4], 8, 3), recoverable([7, 0, 1], 8, 3)
    (True, False)
    """
    _check(nodes, copies)
    gone = np.zeros(nodes, dtype=np.bool_)
    for node in lost:
        if not 0 <= node < nodes:
            raise ParameterError("lost", node, f"nodes from 0 to {nodes - 1}")
        gone[node] = True
    if bool(gone.all()):
        return False
    return longest_run(gone) < copies


def longest_run(gone: Bools) -> int:
    """Return the most lost nodes in a row around the cycle; at least one node is left."""
    left = np.flatnonzero(~gone)
    runs = np.diff(np.append(left, left[0] + len(gone))) - 1
    return int(np.max(runs))


def recoverable_sets(nodes: int, copies: int, lost: int) -> int:
    """Return how many of the sets of `lost` nodes out of `nodes` can be recovered, exactly.

    The k = N - m nodes that are left divide the cycle into k runs of lost nodes, each shorter than
    c. From a given node that is left on, there are
    A = sum over j of (-1)^j C(k, j) C(m - c j + k - 1, k - 1) such divisions; each set is counted
    from each of its k nodes and each division starts at any of N nodes: A N / k sets.

    >>> recoverable_sets(8, 3, 3), math.comb(8, 3)
    (48, 56)
    """
    _check(nodes, copies)
    if not 0 <= lost <= nodes:
        raise ParameterError("lost", lost, f"from 0 to {nodes}")
    left = nodes - lost
    if left == 0:
        return 0
    divisions: int = sum(
        (-1) ** j * math.comb(left, j) * math.comb(lost - copies * j + left - 1, left - 1)
        for j in range(min(left, lost // copies) + 1)
    )
    return divisions * nodes // left


def recovery_shares(nodes: int, copies: int, most: int) -> Floats:
    """Return the share of the sets of 0, 1, ..., `most` lost nodes that can be recovered."""
    return np.array(
        [
            recoverable_sets(nodes, copies, m) / math.comb(nodes, m)
            for m in range(min(most, nodes) + 1)
        ]
    )


def survival(lost: float, nodes: int, copies: int, spares: int) -> float:
    """Return the probability that at most `spares` of like nodes are lost, and recoverably so.

    `lost` is each node's probability. `nodes` are those of the ring; each lost one takes a spare.
    """
    most = min(spares, nodes)
    shares = recovery_shares(nodes, copies, most)
    return min(1.0, float(binomial_counts(nodes, lost, most) @ shares))


def loss_over_time(nodes: int, copies: int, rate: float, rebuild: float, time: float) -> float:
    """Return about how likely a checkpoint is gone before `time`, where copies are made again.

    Parameters
    ----------
    rate : failures of a node per unit of time, constant
    rebuild : how long after a failure the node's copies are whole again

    A checkpoint goes when the last of its c holders fails while the c - 1 others are being rebuilt:
    at c rate (1 - exp(-rate rebuild))^(c-1) for each of the N nodes, taken as a Poisson process. It
    errs towards danger by about the chance that more than c in a row are lost.
    """
    _check(nodes, copies)
    for name, value in (("rate", rate), ("rebuild", rebuild), ("time", time)):
        if not (value >= 0 and math.isfinite(value)):
            raise ParameterError(name, value, "a finite number of at least 0")
    c = min(copies, nodes)
    windows = nodes if nodes > c else 1
    down = -math.expm1(-rate * rebuild)
    return -math.expm1(-windows * c * rate * down ** (c - 1) * time)


def _check(nodes: int, copies: int) -> None:
    if nodes < 1:
        raise ParameterError("nodes", nodes, "at least 1")
    if copies < 1:
        raise ParameterError("copies", copies, "at least 1")
