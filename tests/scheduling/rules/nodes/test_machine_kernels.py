"""Nodes that fail, recover, work and rest, against a list of what each one does."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from forestall.scheduling.engine.plugin import members, row_of
from forestall.scheduling.engine.state import new_machine
from forestall.scheduling.rules.nodes import machine_kernels as machines


class Nodes(RuleBasedStateMachine):
    @initialize(nodes=st.sampled_from([1, 5, 64, 65, 130]))
    def start(self, nodes: int) -> None:
        self.count = nodes
        self.words = (nodes + 63) // 64
        self.machine = new_machine(nodes)
        self.up_at: dict[int, int] = {}  # of the nodes that are down
        self.job: dict[int, int] = {}
        self.next = 0

    @rule(node=st.integers(0, 129), until=st.integers(1, 50))
    def fails(self, node: int, until: int) -> None:
        node %= self.count
        assert bool(machines.fail(self.machine, node, until)) == (node not in self.up_at)
        self.up_at[node] = max(until, self.up_at.get(node, 0))

    @precondition(lambda self: self.up_at)
    @rule(data=st.data())
    def recovers(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted(self.up_at)))
        machines.recover(self.machine, node)
        del self.up_at[node]

    def idle(self) -> list[int]:
        return [n for n in range(self.count) if n not in self.up_at and n not in self.job]

    @precondition(lambda self: self.idle())
    @rule(data=st.data())
    def a_job_starts(self, data: st.DataObject) -> None:
        mine = data.draw(st.lists(st.sampled_from(self.idle()), min_size=1, unique=True))
        first = data.draw(st.integers(0, min(mine) // 64))
        row = row_of(np.array(mine), self.words)
        machines.assign(self.machine, row, first, len(mine))
        self.job.update(dict.fromkeys(mine, self.next))
        self.next += 1

    @precondition(lambda self: self.idle())
    @rule(data=st.data())
    def the_first_idle_nodes_are_found(self, data: st.DataObject) -> None:
        wanted = data.draw(st.integers(1, len(self.idle())))
        row = np.zeros(self.words, dtype=np.uint64)
        first = machines.take_first(self.machine, row, wanted)
        assert members(row).tolist() == self.idle()[:wanted]
        assert first == self.idle()[0] // 64

    @precondition(lambda self: self.job)
    @rule(data=st.data())
    def a_job_ends(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(sorted(set(self.job.values()))))
        mine = [n for n, j in self.job.items() if j == job]
        row = row_of(np.array(mine), self.words)
        machines.vacate(self.machine, row, data.draw(st.integers(0, min(mine) // 64)), len(mine))
        assert not row.any()
        for node in mine:
            del self.job[node]

    @invariant()
    def agrees(self) -> None:
        m, idle = self.machine, self.idle()
        assert members(m.rows[machines.DOWN]).tolist() == sorted(self.up_at)
        assert members(m.rows[machines.IDLE]).tolist() == idle
        assert m.at[machines.COUNT] == len(self.up_at)
        assert sorted(m.down[: len(self.up_at)].tolist()) == sorted(self.up_at)
        assert m.at[machines.UNASSIGNED] == len(idle)
        assert not idle or m.at[machines.LOWEST] <= idle[0] // 64
        assert members(m.rows[machines.BUSY]).tolist() == sorted(self.job)

    @rule(time=st.integers(0, 52), held=st.sets(st.integers(0, 129)))
    def knows_recoveries(self, time: int, held: set[int]) -> None:
        known = [up for up in self.up_at.values() if up >= time]
        assert machines.next_recovery_known(self.machine, time) == min(known, default=-1)
        mine = sorted(n for n in held if n < self.count)
        row = row_of(np.array(mine, dtype=np.int64), self.words)
        left = [n for n in mine if self.up_at.get(n, 0) <= time]
        assert machines.without_down(self.machine, row, time) == len(left)
        assert members(row).tolist() == left


TestNodes = Nodes.TestCase
TestNodes.settings = settings(max_examples=40, stateful_step_count=30)
