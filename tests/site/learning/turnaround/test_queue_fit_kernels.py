"""Kernels of the fit into free nodes, against seconds counted one by one. They are no entries: run
uncompiled, see `test_interpreted`."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forestall.site.learning.turnaround import queue_features_kernels as features
from forestall.site.learning.turnaround import queue_fit_kernels as kernels
from forestall.site.learning.turnaround.queue_state import ENDS, SIZES
from reference.plain_queue import EDGES, class_of

NODES = 8
jobs = st.lists(st.tuples(st.integers(1, NODES), st.integers(1, 12)), max_size=12)


@given(st.one_of(st.integers(0, 300), st.integers(0, 2**41)))
def test_classes_of_whole_numbers(number: int) -> None:
    at = class_of(number)
    assert kernels.class_of(number, ENDS) == min(at, ENDS - 1)
    assert kernels.class_of(number, SIZES) == min(at, SIZES - 1)
    assert features.smallest_of(at) == EDGES[at] <= number < EDGES[at + 1]


@given(jobs, jobs)
def test_jobs_are_placed_where_they_first_fit(
    running: list[tuple[int, int]], waiting: list[tuple[int, int]]
) -> None:
    seconds = np.zeros(400, np.int64) + NODES  # free nodes of each
    ending, busy = np.zeros((ENDS, 2), np.int64), 0
    for size, left in running:
        at = kernels.class_of(left, ENDS)
        alone = ending[at, 0] == 0 or ending[at, 1] == ending[at, 0] * left
        if busy + size <= NODES and alone:  # those of one class end together
            seconds[:left] -= size
            ending[at] += (size, size * left)
            busy += size
    time, free = np.zeros(200, np.int64), np.zeros(200, np.int64)
    steps = kernels.begin_profile(ending, time, free, NODES - busy)
    for size, length in waiting:
        at = kernels.first_fit(time, free, steps, size, length)
        first = next(s for s in range(400) if (seconds[s : s + length] >= size).all())
        assert time[at] == first
        seconds[first : first + length] -= size
        steps = kernels.reserve(time, free, steps, at, size, length)
        assert (np.diff(time[:steps]) > 0).all()
        there = np.searchsorted(time[:steps], np.arange(400), side="right") - 1
        assert free[:steps][there].tolist() == seconds.tolist()
