"""The queue with its gaps and blocks, and the expected releases, against plain lists."""

from __future__ import annotations

from bisect import insort

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine.state import new_queue
from forestall.scheduling.rules.nodes import queue_kernels as queues


class Waiting(RuleBasedStateMachine):
    """Entries (key, job, size, length, start) in a sorted list, and the same in the queue."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = new_queue(10, 512)
        self.expected: list[list[int]] = []
        self.now = 0
        self.jobs = 0

    def add(self, size: int, length: int, key: int) -> None:
        if self.queue.at[queues.LAST] + 2 >= len(self.queue.entries):
            queues.compact(self.queue)
        queues.enter(self.queue, self.jobs, size, length, key)
        insort(self.expected, [key, self.jobs, size, length, int(FAR)])
        self.jobs += 1

    @precondition(lambda self: len(self.expected) < 300)
    @rule(sizes=st.lists(st.integers(1, 10), min_size=1, max_size=90), length=st.integers(1, 99))
    def many_arrive(self, sizes: list[int], length: int) -> None:
        self.now += 1
        for k, size in enumerate(sizes):
            self.add(size, length + k % 7, self.now)

    @precondition(lambda self: len(self.expected) < 300)
    @rule(size=st.integers(1, 10), length=st.integers(1, 99), back=st.integers(0, 8))
    def one_returns_to_its_old_place(self, size: int, length: int, back: int) -> None:
        self.add(size, length, max(0, self.now - back))

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), count=st.integers(1, 70))
    def some_leave(self, data: st.DataObject, count: int) -> None:
        first = data.draw(st.integers(0, len(self.expected) - 1))
        for _ in range(min(count, len(self.expected) - first)):
            queues.leave(self.queue, self.position(self.expected[first][1]))
            del self.expected[first]

    @rule(start=st.integers(0, 99))
    def all_new_ones_get_a_start(self, start: int) -> None:
        entries, at = self.queue.entries, self.queue.at
        for i in range(at[queues.FRESH], at[queues.LAST]):
            if entries[i].size < FAR:
                entries[i].start = start + i
                row = next(row for row in self.expected if row[1] == entries[i].job)
                row[4] = start + i
        if self.expected:
            for block in range(at[queues.FIRST] >> 6, ((at[queues.LAST] - 1) >> 6) + 1):
                queues.refresh(self.queue, block)
        at[queues.FRESH] = at[queues.LAST]
        assert all(row[4] < FAR for row in self.expected)

    @rule()
    def compact(self) -> None:
        queues.compact(self.queue)
        assert self.queue.at[queues.LAST] == len(self.expected)

    def position(self, job: int) -> int:
        entries, at = self.queue.entries, self.queue.at
        return next(
            i
            for i in range(at[queues.FIRST], at[queues.LAST])
            if entries[i].job == job and entries[i].size < FAR
        )

    @invariant()
    def holds_the_same(self) -> None:
        entries, at = self.queue.entries, self.queue.at
        live = [i for i in range(at[queues.FIRST], at[queues.LAST]) if entries[i].size < FAR]
        rows = [
            [int(entries[i][n]) for n in ("key", "job", "size", "length", "start")] for i in live
        ]
        assert rows == self.expected
        assert at[queues.LIVE] == len(rows)
        assert not live or at[queues.FIRST] == live[0]
        assert all(i >= at[queues.FRESH] for i in live if entries[i].start == FAR)

    @invariant()
    def blocks_hold_the_least(self) -> None:
        entries, at = self.queue.entries, self.queue.at
        if at[queues.LIVE] == 0:
            return
        for block in range(at[queues.FIRST] >> 6, ((at[queues.LAST] - 1) >> 6) + 1):
            places = range(max(64 * block, at[queues.FIRST]), min(64 * block + 64, at[queues.LAST]))
            live = [entries[i] for i in places if entries[i].size < FAR]
            for name in ("size", "length", "start"):
                least = min((int(e[name]) for e in live), default=int(FAR))
                assert self.queue.blocks[block][name] == least, (block, name)


TestWaiting = Waiting.TestCase
TestWaiting.settings = settings(max_examples=40, stateful_step_count=20)

RELEASES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=12)


@settings(max_examples=200)
@given(RELEASES, st.randoms(use_true_random=False))
def test_releases_stay_in_order(rows: list[tuple[int, int]], rng) -> None:
    queue = new_queue(30, 8)
    there: list[tuple[int, int, int]] = []
    for job, (time, size) in enumerate(rows):
        queues.expect(queue, time, size, job)
        there.append((time, job, size))
        if rng.random() < 0.3:
            gone = there.pop(rng.randrange(len(there)))
            queues.forget(queue, gone[0], gone[1])
    count = queue.at[queues.RELEASES]
    found = [(int(r.time), int(r.job), int(r.size)) for r in queue.releases[:count]]
    assert found == sorted(there)


@settings(max_examples=200)
@given(RELEASES, st.integers(0, 10), st.integers(1, 20))
def test_shadow(rows: list[tuple[int, int]], free: int, wanted: int) -> None:
    queue = new_queue(30, 8)
    for job, (time, size) in enumerate(rows):
        queues.expect(queue, time, size, job)
    if free >= wanted or free + sum(size for _, size in rows) < wanted:
        return
    times = sorted(time for time, _ in rows)
    there = {t: free + sum(size for time, size in rows if time <= t) for t in times}
    expected = next(t for t in times if there[t] >= wanted)
    assert queues.shadow(queue, free, wanted) == (expected, there[expected] - wanted)
