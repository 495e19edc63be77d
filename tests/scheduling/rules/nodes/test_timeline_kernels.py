"""The timeline against a table of which nodes are free in each second."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from forestall.scheduling.engine.plugin import members, row_of
from forestall.scheduling.engine.state import new_timeline
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import timeline_kernels as timelines

LATEST = 260


class Held(NamedTuple):
    start: int
    end: int
    nodes: tuple[int, ...]
    row: int


class Seconds(RuleBasedStateMachine):
    """Keeps both: the timeline, and for each second the reservations that hold it."""

    @initialize(nodes=st.sampled_from([1, 3, 6, 64, 67, 130]), sets=st.booleans())
    def start(self, nodes: int, sets: bool) -> None:
        self.nodes, self.sets = nodes, sets
        self.words = (nodes + 63) // 64
        self.timeline = new_timeline(nodes, 200, 200, 0, sets)
        self.now = 0
        self.held: list[Held] = []
        self.free_row = np.zeros(self.words, dtype=np.uint64)

    def free(self, second: int) -> set[int]:
        taken = {n for r in self.held if r.start <= second < r.end for n in r.nodes}
        return set(range(self.nodes)) - taken

    def free_during(self, start: int, end: int) -> set[int]:
        taken = {n for r in self.held if r.start < end and start < r.end for n in r.nodes}
        return set(range(self.nodes)) - taken

    @precondition(lambda self: self.now < 120)
    @rule(seconds=st.integers(0, 15))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        for gone in [r for r in self.held if r.end <= self.now]:
            self.held.remove(gone)
            if gone.row >= 0:
                timelines.give_row(self.timeline, gone.row)
        timelines.advance(self.timeline, self.now)

    @precondition(lambda self: len(self.held) < 40)
    @rule(after=st.integers(0, 30), length=st.integers(1, 30), data=st.data())
    def reserve(self, after: int, length: int, data: st.DataObject) -> None:
        start = self.now + after
        free = sorted(self.free_during(start, start + length))
        if not free:
            return
        size = data.draw(st.integers(1, len(free)))
        first = data.draw(st.integers(0, len(free) - size))
        mine, row = tuple(free[first : first + size]), -1
        if self.sets:
            row = int(timelines.new_row(self.timeline))
            self.timeline.rows[row] = row_of(np.array(mine), self.words)
        timelines.reserve(self.timeline, row, size, start, start + length)
        self.held.append(Held(start, start + length, mine, row))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        gone = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        size = len(gone.nodes)
        timelines.release(self.timeline, gone.row, size, gone.start, gone.end, self.now)
        if gone.row >= 0:
            timelines.give_row(self.timeline, gone.row)

    @invariant()
    def agrees_in_every_second(self) -> None:
        edges, at = self.timeline.edges, self.timeline.at
        mine = range(at[timelines.HEAD], at[timelines.TAIL])
        times = [int(edges[i].time) for i in mine]
        assert times == sorted(set(times))
        assert times[0] <= self.now
        assert len(times) <= 2 * len(self.held) + 2
        for i, time, end in zip(mine, times, [*times[1:], LATEST], strict=True):
            if end <= self.now:
                continue  # the past
            free = self.free(max(time, self.now))
            assert edges[i].free == len(free), time
            if self.sets:
                assert set(members(self.timeline.rows[edges[i].row]).tolist()) == free
        changes = {r.start for r in self.held if r.start >= self.now} | {r.end for r in self.held}
        assert changes <= set(times) | {self.now}
        if self.sets:  # no row of bits is lost
            used = len(times) + len(self.held)
            assert at[timelines.SPARE] + used == len(self.timeline.rows)

    @rule(after=st.integers(0, 60), data=st.data())
    def next_end(self, after: int, data: st.DataObject) -> None:
        lower = self.now + 1 + after
        ends = [r.end for r in self.held if r.end >= lower]
        at = self.timeline.at
        near = data.draw(st.integers(int(at[timelines.HEAD]), int(self.segment_of(lower))))
        assert timelines.next_end(self.timeline, near, lower) == min(ends, default=-1)
        assert timelines.forward(self.timeline, near, lower) == self.segment_of(lower)

    def segment_of(self, time: int) -> int:
        """Return the last segment that begins at or before `time`, which is not before now."""
        edges, at = self.timeline.edges, self.timeline.at
        mine = [i for i in range(at[timelines.HEAD], at[timelines.TAIL]) if edges[i].time <= time]
        assert timelines.segment_of(self.timeline, time) == mine[-1]
        return mine[-1]

    @precondition(lambda self: self.sets)
    @rule(after=st.integers(0, 60), length=st.integers(1, 40), data=st.data())
    def free_throughout(self, after: int, length: int, data: st.DataObject) -> None:
        start, size = self.now + after, data.draw(st.integers(1, self.nodes))
        skip = timelines.free_throughout(
            self.timeline, self.segment_of(start), start + length, size, self.free_row
        )
        free = self.free_during(start, start + length)
        if len(free) >= size:
            assert skip == 0
            assert set(members(self.free_row).tolist()) == free
            return
        assert skip > start
        for later in range(start, int(skip)):
            assert len(self.free_during(later, later + length)) < size

    @rule(length=st.integers(1, 40), before=st.integers(1, 200), data=st.data())
    def earliest_count(self, length: int, before: int, data: st.DataObject) -> None:
        size, limit = data.draw(st.integers(1, self.nodes)), self.now + before
        waiting = [r for r in self.held if r.start >= self.now]
        own = Held(0, 0, (), -1)
        if waiting and data.draw(st.booleans()):
            own = data.draw(st.sampled_from(waiting))
            size = len(own.nodes)
        counts = [
            len(self.free(t)) + size * (own.start <= t < own.end)
            for t in range(self.now, LATEST + 60)
        ]
        expected = next(
            (
                self.now + s
                for s in range(min(before, LATEST - self.now))
                if min(counts[s : s + length]) >= size
            ),
            limit,
        )
        found = timelines.earliest_count(
            self.timeline, self.now, size, length, limit, own.start, own.end
        )
        assert found == expected

    @rule()
    def clear(self) -> None:
        for r in self.held:
            if r.row >= 0:
                timelines.give_row(self.timeline, r.row)
        self.held.clear()
        timelines.clear(self.timeline, self.now, self.nodes, int(self.sets))
        if self.sets:
            assert bits.count(self.timeline.rows[self.timeline.edges[0].row]) == self.nodes


TestSeconds = Seconds.TestCase
TestSeconds.settings = settings(max_examples=120, stateful_step_count=40)
