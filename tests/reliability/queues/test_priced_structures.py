"""Structures with spares against brute force: every way of every queue."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.reliability.queues.priced_structures import front, priced_ways, unbeaten_points
from forestall.reliability.queues.prices import PricedJob
from forestall.reliability.queues.queues import Queue
from forestall.reliability.queues.structures import Structure

WAYS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=5
)


def way_of(queue: Queue, spares: int, success: float, cost: float) -> PricedJob:
    return PricedJob(queue.name, "", spares, None, success, *[0.0] * 9, cost)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 9), WAYS), min_size=1, max_size=3))
def test_all_ways_by_brute_force(rows: list[tuple[int, int, list[tuple[int, int, int]]]]) -> None:
    queues = [Queue(f"q{k}", nodes, 3600.0) for k, (nodes, _, _) in enumerate(rows)]
    shares = np.array([weight for _, weight, _ in rows], dtype=float)
    shares /= shares.sum()
    structure = Structure(
        tuple(queues), (0.0,) * len(rows), tuple(shares.tolist()), 0.0, 100.0, 0.0, 0.0,
        tuple((3600 * shares).tolist()),
    )  # fmt: skip
    ways = [
        [way_of(queue, spares, success / 20, cost) for spares, success, cost in told]
        for queue, (_, _, told) in zip(queues, rows, strict=True)
    ]
    bare = sum(queue.nodes * share for queue, share in zip(queues, shares, strict=True))
    every = []
    for chosen in itertools.product(*ways):
        held = sum(
            (queue.nodes + way.spares) * share
            for queue, way, share in zip(queues, chosen, shares, strict=True)
        )
        every.append(
            (
                sum(share * (1 - way.success) for share, way in zip(shares, chosen, strict=True)),
                sum(share * way.cost for share, way in zip(shares, chosen, strict=True)),
                -100.0 * bare / held,
            )
        )
    found = [(one.failure, one.cost, -one.capacity) for one in priced_ways(structure, ways)]
    for point in every:  # nothing beats what was found
        assert any(np.all(np.array(mine) <= np.array(point) + 1e-9) for mine in found)
    for mine in found:  # and all of it can be had
        assert any(np.allclose(mine, point) for point in every)


def test_what_others_beat_is_dropped() -> None:
    points = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0], [0.5, 3.0]])
    assert unbeaten_points(points).tolist() == [True, False, True, False, True]
    queue = Queue("q", 2, 60.0)
    structure = Structure((queue,), (0.5,), (1.0,), 0.5, 10.0, 120.0, 60.0, (60.0,))
    ways = [[way_of(queue, 0, 0.5, 3.0), way_of(queue, 2, 0.75, 4.0), way_of(queue, 2, 0.5, 4.0)]]
    found = front(priced_ways(structure, ways))
    assert [(one.failure, one.cost, one.capacity) for one in found] == [
        (0.25, 4.0, pytest.approx(5.0)), (0.5, 3.0, 10.0)
    ]  # fmt: skip
    assert priced_ways(structure, [[]]) == []
    assert front([]) == ()
