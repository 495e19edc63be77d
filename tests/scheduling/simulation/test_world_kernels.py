"""The heap of next events against a dictionary, and node ranges against sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from forestall.scheduling.engine.plugin import row_of
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.run import new_world
from scheduling.simulation.cases import Case, prepared

ITEMS = 12


class Planned(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        workload, failures, parameters, _ = prepared(Case([(7, 1, 1, 1)] * 8, [], 3))
        self.world = new_world(workload, failures, parameters)
        self.next: dict[int, tuple[int, int, int]] = {}

    @rule(item=st.integers(0, ITEMS - 1), time=st.integers(7, 30), kind=st.integers(0, 7))
    def plan(self, item: int, time: int, kind: int) -> None:
        worlds.plan(self.world, item, time, kind, item)
        self.next[item] = (time, kind, item)

    @rule(item=st.integers(0, ITEMS - 1))
    def cancel(self, item: int) -> None:
        worlds.cancel(self.world.heap, item)
        self.next.pop(item, None)

    @invariant()
    def the_root_is_next(self) -> None:
        heap = self.world.heap
        size = int(heap.size[0])
        assert size == len(self.next)
        if self.next:
            item, (time, kind, order) = min(self.next.items(), key=lambda pair: pair[1])
            assert heap.ids[0] == item
            assert heap.keys[0] == worlds.key_of(self.world, time, kind, order)
            assert worlds.time_of(self.world, heap.keys[0]) == time
        for place in range(size):
            assert heap.places[heap.ids[place]] == place
            assert place == 0 or heap.keys[(place - 1) // 2] <= heap.keys[place]


TestPlanned = Planned.TestCase
TestPlanned.settings = settings(max_examples=50, stateful_step_count=40)

TIMES = st.tuples(st.integers(0, 2**36 - 1), st.integers(0, 7), st.integers(0, 2**24 - 1))


@given(TIMES, TIMES)
def test_keys_sort_like_time_kind_and_order(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    workload, failures, parameters, _ = prepared(Case([(0, 1, 1, 1)], [(-5, 0, 1, 0.5)], 1))
    world = new_world(workload, failures, parameters)
    keys = [int(worlds.key_of(world, t - 5, kind, order)) for t, kind, order in (one, other)]
    assert (keys[0] < keys[1]) == (one < other)
    assert worlds.time_of(world, keys[0]) == one[0] - 5
    assert 0 <= keys[0] < 2**63 - 1


NODES = st.sets(st.integers(0, 191), max_size=60)


@given(
    st.one_of(NODES, st.just(set(range(64, 192))), st.just(set(range(130)))),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_ranges_of_a_node_set(nodes: set[int], before: int, early: int) -> None:
    ranges = np.full((300, 2), -9, dtype=np.int64)
    row = row_of(np.array(sorted(nodes), dtype=np.int64), 3)
    first = max(min(nodes, default=0) // 64 - early, 0)
    count = worlds.note_ranges(ranges, before, row, first, len(nodes))
    mine = ranges[before:count].tolist()
    assert {n for low, high in mine for n in range(low, high)} == nodes
    assert all(low < high for low, high in mine)
    assert all(a[1] < b[0] for a, b in pairwise(mine))
    assert bool((ranges[:before] == -9).all() and (ranges[count:] == -9).all())
