"""What a move costs, learnt in the compiled loop, beside what live coordinators learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.machines.rules.costs import GIB, MoveCosts
from forestall.machines.rules.placement_entry_kernels import learn


@given(
    st.lists(st.integers(0, 600), min_size=1, max_size=30),
    st.sampled_from([0.0, 100.0, 700.0, 65_536.0]),
    st.integers(0, 600),
)
def test_the_same_as_a_live_coordinator_learns(took: list[int], memory: float, before: int) -> None:
    live, ours = MoveCosts(before, 0.0), np.array([0.0, 0.0, float(before)])
    for seconds in took:
        live.learn("a", "b", memory / 1024 * GIB, seconds)
        believed = learn(ours, memory, seconds)
        # A path that was never taken: what all moves took.
        expected = live.of("c", "d", memory / 1024 * GIB).seconds
        assert believed in {math.floor(expected + 0.5 + near) for near in (0.0, 1e-6)}


def test_by_hand() -> None:
    """Three moves' worth of 12 s, then moves of 32 s: (36 + 32) / 4, and on towards 32."""
    costs = np.array([0.0, 0.0, 12.0])
    assert learn(costs, 0.0, 32) == 17
    assert costs.tolist() == [1.0, 32.0, 12.0]
    for _ in range(200):
        last = learn(costs, 0.0, 32)
    assert last == pytest.approx(32, abs=2)
