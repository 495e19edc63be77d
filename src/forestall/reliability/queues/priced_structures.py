"""Structures with spares and checkpoints: what they cost, beside how often their jobs fail.

Each queue of a structure can run its jobs in several ways (`prices`): with so many spares, with
checkpoints or without. Both failures and cost are means over the jobs, so they add up over the
queues, as do the nodes that jobs hold: the ways that no other beats are merged queue by queue, and
what others beat is dropped at each step. Nothing is lost by that, since sums keep the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.queues.prices import PricedJob
from forestall.reliability.queues.structures import Structure

MOST = 400
"""Points that a merge keeps: beyond it every so many of them, its ends among them."""


@dataclass(frozen=True)
class PricedStructure:
    """A structure, and how each of its queues runs its jobs.

    Attributes
    ----------
    structure : queues, and the capacity without spares
    ways : of its queues
    failure : F_job: mean probability that more nodes are lost than there are spares
    cost : mean of a job, in the currency of the prices
    capacity : work carried with the nodes that spares hold, node-hours per hour
    """

    structure: Structure
    ways: tuple[PricedJob, ...]
    failure: float
    cost: float
    capacity: float


def priced_ways(structure: Structure, ways: Sequence[Sequence[PricedJob]]) -> list[PricedStructure]:
    """Return the ways to run a structure that no other beats in failures, cost and capacity.

    `ways` are those of each queue, on its own nodes; none where a queue has none.
    """
    if not all(ways):
        return []
    points, chosen = np.zeros((1, 3)), np.zeros((1, 0), dtype=np.int64)
    held = sum(_held(structure, k, 0) for k in range(len(ways)))
    for k, (share, jobs) in enumerate(zip(structure.shares, ways, strict=True)):
        mine = np.array(
            [
                [share * (1 - job.success), share * job.cost, _held(structure, k, job.spares)]
                for job in jobs
            ]
        )
        good = np.flatnonzero(unbeaten_points(mine))
        sums = (points[:, None] + mine[good]).reshape(-1, 3)
        picked = np.repeat(chosen, len(good), axis=0)
        picked = np.column_stack((picked, np.tile(good, len(chosen))))
        kept = np.flatnonzero(unbeaten_points(sums))
        kept = kept[np.lexsort((sums[kept, 1], sums[kept, 0]))]
        if len(kept) > MOST:
            kept = kept[np.unique(np.linspace(0, len(kept) - 1, MOST).round().astype(np.int64))]
        points, chosen = sums[kept], picked[kept]
    return [
        PricedStructure(
            structure,
            tuple(jobs[k] for jobs, k in zip(ways, row, strict=True)),
            float(failure),
            float(cost),
            structure.capacity * held / float(nodes),
        )
        for (failure, cost, nodes), row in zip(points, chosen.tolist(), strict=True)
    ]


def _held(structure: Structure, k: int, spares: int) -> float:
    """Return the node-seconds that a queue's jobs hold in the time of a mix, times a constant."""
    queue = structure.queues[k]
    return (queue.nodes + spares) * structure.busy[k]


def unbeaten_points(points: Floats) -> Bools:
    """Return which rows of float64[n, m] no other row is at most equal to in all columns and less
    in some; of equal rows the first."""
    order = np.lexsort(points.T[::-1])
    kept: list[int] = []
    for row in order.tolist():
        if not kept or not bool(np.any(np.all(points[kept] <= points[row], axis=1))):
            kept.append(row)
    good = np.zeros(len(points), dtype=np.bool_)
    good[kept] = True
    return good


def front(structures: Sequence[PricedStructure]) -> tuple[PricedStructure, ...]:
    """Return the priced structures that no other beats, the fewest failures first."""
    if not structures:
        return ()
    points = np.array([[one.failure, one.cost, -one.capacity] for one in structures])
    good = [structures[k] for k in np.flatnonzero(unbeaten_points(points)).tolist()]
    return tuple(sorted(good, key=lambda one: (one.failure, one.cost, -one.capacity)))
