"""A cluster that a seed makes up: it starts what nobody asked for, refuses, flaps, runs late, and
is looked at now and then. What the engine decides is checked by books that share nothing with it.
A seed that breaks a rule tells its story. `make seeds` plays as many as are asked for.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from forestall.core._compile import records
from forestall.core.model.decisions import Decision, DecisionKind
from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.prediction.models.hazard.hazard_kernels import HAZARD, Hazard
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.transitions import JOBS
from forestall.scheduling.rules.nodes.machine_kernels import BUSY, DOWN, IDLE
from forestall.scheduling.rules.nodes.timeline_kernels import HEAD, TAIL
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import rules_of

POLICIES = ("promise", "promise", "promise", "fcfs", "easy", "conservative")
K = EventKind


STATES = JOBS.states


def number(row: Any) -> int:
    """Return a row of nodes as one number."""
    return int.from_bytes(row.tobytes(), "little")


def bits(nodes: Iterable[int]) -> int:
    """Return a set of nodes as one number; AssertionError where one stands in it twice."""
    found = 0
    for node in nodes:
        assert not found >> node & 1, f"node {node} twice"
        found |= 1 << node
    return found


@dataclass
class Seen:
    """A job as the books have it: what was asked for, where it is, what was promised."""

    size: int
    estimate: int
    state: str = "NEW"
    nodes: frozenset[int] = frozenset()
    start: int = -1
    end: int = -1
    promise: tuple[int, float] | None = None
    truly: int = 0
    requests: int = 0


@dataclass
class World:
    """The cluster, the engine that is told of it, and the books that check the engine."""

    seed: int
    rng: random.Random = field(init=False)
    jobs: list[Seen] = field(default_factory=list)
    down: dict[int, int] = field(default_factory=dict)
    drained: set[int] = field(default_factory=set)
    told: list[tuple[list[Event], list[Decision]]] = field(default_factory=list)
    back: set[int] = field(default_factory=set)
    now: int = 0

    def __post_init__(self) -> None:
        self.rng = rng = random.Random(self.seed)
        self.policy = rng.choice(POLICIES)
        self.nodes = rng.choice([1, 2, 3, 4, 5, 8, 63, 64, 65, 70])
        self.least = rng.choice([0.0, 0.0, 0.5, 0.9, 1.0])
        self.odd = {  # each seed has its own mix of what goes wrong
            name: rng.choice([0.0, 0.1, 0.4])
            for name in ("fail", "drain", "refuse", "unasked", "cancel", "late", "requeue", "shift")
        }
        self.engine = self.made()

    def made(self) -> Engine:
        rng = self.rng
        parameters = Parameters(
            nodes=self.nodes,
            policy=self.policy,
            risk=self.least,
            checkpoint_overhead=rng.choice([0, 2]),
            checkpoint=rng.choice(["none", "risk", "periodic"]),
            placement=rng.choice(["fault-aware", "first"]),
            compression=rng.random() < 0.5,
            requeue=rng.choice(["now", "original"]),
        )
        rules = rules_of(parameters)._replace(placed=1)
        self.foreseen = self.policy != "promise" or rng.random() < 0.8
        prediction = foreseen(rng, self.nodes) if self.foreseen else hazard(rng, self.nodes)
        return Engine(self.nodes, rules, prediction, validate=self.seed % 8 == 0)

    # ------------------------------------------------------------------------------ telling

    def tell(self, events: list[Event]) -> list[Decision]:
        if self.policy != "promise":
            events = [*events, Event(self.now, K.PASS, 0)]
        decisions = self.engine.handle(events, self.now)
        self.told.append((events, decisions))
        for one in decisions:
            self.book(one)
        self.check()
        return decisions

    def book(self, one: Decision) -> None:
        job = self.jobs[one.job]
        nodes = frozenset(one.nodes)
        if one.kind is DecisionKind.RESERVE and self.policy == "promise":
            assert job.state in ("WAITING", "RUNNING"), one
            job.state, job.nodes, job.start, job.end = "WAITING", nodes, one.start, one.end
            assert len(nodes) == job.size, one
            assert self.now <= one.start < one.end, one
            job.promise = job.promise or (one.deadline, one.probability)
            assert job.promise == (one.deadline, one.probability), "a promise changed"
        elif one.kind is DecisionKind.START:
            assert job.state == "WAITING", one
            self.begin(one.job, nodes, one.end)
        elif one.kind is DecisionKind.EXTEND:
            assert (job.state, job.nodes) == ("RUNNING", nodes), one
            assert one.end > self.now, one
            job.end = one.end
        elif one.kind is DecisionKind.REQUEUE:
            assert job.state == "RUNNING", one
            assert one.node in job.nodes, one
            job.state, job.nodes = "WAITING", frozenset()
        elif one.kind is DecisionKind.HOLD:
            job.state, job.nodes = "WAITING", frozenset()

    def begin(self, number: int, nodes: frozenset[int], end: int) -> None:
        job = self.jobs[number]
        away = set(self.down) | self.drained
        assert not nodes & away, f"job {number} on {sorted(nodes & away)}, which are away"
        others = {n: k for k, one in self.running() if k != number for n in one.nodes}
        assert not nodes & set(others), f"job {number} on nodes of {others}"
        assert len(nodes) == job.size
        job.state, job.nodes, job.start, job.end = "RUNNING", nodes, self.now, end
        job.requests = 0

    def running(self) -> Iterator[tuple[int, Seen]]:
        return ((k, one) for k, one in enumerate(self.jobs) if one.state == "RUNNING")

    def check(self) -> None:
        """Compare the engine's whole state with the books; sets of nodes are bits of a number."""
        state, engine = self.engine.state, self.engine
        rows = [number(row) for row in state.machine.rows]
        every, away = (1 << self.nodes) - 1, bits([*self.down, *self.drained])
        busy = bits(n for _, one in self.running() for n in one.nodes)
        assert (rows[DOWN], rows[BUSY], rows[IDLE]) == (away, busy, every & ~away & ~busy)
        assert state.machine.at[1] == rows[IDLE].bit_count()
        for k, status in enumerate(state.jobs["status"][: len(self.jobs)].tolist()):
            one = self.jobs[k]
            assert STATES[status] == one.state, (k, one, STATES[status])
            held = self.policy == "promise" and one.state == "WAITING" and not one.nodes
            assert held == (k in engine.held), (k, one)
        if self.policy == "promise":
            self.check_timeline()

    def check_timeline(self) -> None:
        """Hold each stretch of the timeline to the reservations and runs that the books have."""
        line, jobs = self.engine.state.timeline, self.engine.state.jobs
        spans = [
            (start, end, bits(one.nodes), len(one.nodes))
            for one, start, end in zip(
                self.jobs, jobs["start"].tolist(), jobs["end"].tolist(), strict=False
            )
            if one.state in ("WAITING", "RUNNING") and one.nodes
        ]
        edges = line.edges[line.at[HEAD] : line.at[TAIL]]
        times, free = edges["time"].tolist(), edges["free"].tolist()
        for k, row in enumerate(edges["row"].tolist()):
            if k + 1 < len(times) and times[k + 1] <= self.now:
                continue  # past
            at = max(times[k], self.now)
            taken = count = 0
            for start, end, nodes, size in spans:
                if start <= at < end:
                    assert not taken & nodes, f"a node reserved twice at {at}: {spans}"
                    taken, count = taken | nodes, count + size
            assert number(line.rows[row]) == (1 << self.nodes) - 1 & ~taken, (at, spans)
            assert free[k] == self.nodes - count

    # ------------------------------------------------------------------------------- living

    def chance(self, name: str) -> bool:
        return self.rng.random() < self.odd[name]

    def idle(self) -> list[int]:
        busy = {n for _, one in self.running() for n in one.nodes}
        return [
            n
            for n in range(self.nodes)
            if n not in busy and n not in self.down and n not in self.drained
        ]

    def live(self, steps: int) -> None:
        """Let time pass, and tell the engine what is seen at each look."""
        for _ in range(steps):
            self.now += self.rng.choice([0, 1, 3, 10, 30, 100])
            self.look()
            if self.rng.random() < 0.1:
                self.ask()

    def look(self) -> None:
        events = [*self.ends(), *self.nodes_seen(), *self.oddities()]
        events += [self.submitted() for _ in range(self.rng.choice([0, 0, 1, 2]))]
        events = [
            one
            for one in events  # a job whose node has just failed asks for no checkpoint
            if one.kind is not K.CHECKPOINT_REQUESTED
            or not self.jobs[one.key].nodes & set(self.down)
        ]
        self.rng.shuffle(events)
        decisions = self.tell(events)
        due = self.engine.due(self.now)
        if due:
            decisions = self.tell(due)
        self.confirm(decisions)

    def confirm(self, decisions: list[Decision]) -> None:
        """See some of the starts that were asked for, and refuse others."""
        answers = []
        for one in decisions:
            if one.kind is DecisionKind.START:
                if self.chance("refuse"):
                    self.let_go(one.job)
                    later = self.rng.choice([-1, self.now + 50])
                    answers.append(Event(self.now, K.START_REFUSED, one.job, later))
                elif self.rng.random() < 0.3:
                    where = NodeSet.of(self.jobs[one.job].nodes)
                    answers.append(Event(self.now, K.STARTED, one.job, nodes=where))
        if answers:
            self.tell(answers)

    def let_go(self, number: int, state: str = "WAITING") -> None:
        self.jobs[number].state, self.jobs[number].nodes = state, frozenset()

    def submitted(self) -> Event:
        size = self.rng.choice([1, 1, self.rng.randint(1, self.nodes), self.nodes])
        estimate = self.rng.choice([1, 20, 100, 1000])
        job = self.engine.add_job(size, estimate, 30, self.now)
        self.jobs.append(Seen(size, estimate, "WAITING"))
        factor = self.rng.choice([0.3, 1.0, 1.0, 3.0 if self.chance("late") else 1.0])
        self.jobs[job].truly = max(1, int(factor * estimate))
        return Event(self.now, K.SUBMITTED, job)

    def ends(self) -> Iterator[Event]:
        """Jobs that are done by now, failed, or were sent back."""
        for k, one in list(self.running()):
            if self.now >= one.start + one.truly:
                kind = self.rng.choice([K.FINISHED, K.FINISHED, K.FAILED])
                self.let_go(k, "DONE")
                yield Event(self.now, kind, k)
            elif self.chance("requeue") and self.rng.random() < 0.2:
                self.let_go(k)
                self.back.add(k)
                yield Event(self.now, K.REQUEUED, k)
            elif self.chance("late") and self.rng.random() < 0.3:
                yield Event(self.now, K.OVERRUN, k, self.now + self.rng.randint(1, 200))
            elif self.asks_checkpoint(one):
                one.requests += 1
                yield Event(self.now, K.CHECKPOINT_REQUESTED, k)

    def asks_checkpoint(self, one: Seen) -> bool:
        late_enough = self.now - one.start > 30 * (one.requests + 1) + 2
        return late_enough and max(60, 30 * (one.requests + 2)) < one.estimate

    def nodes_seen(self) -> Iterator[Event]:
        rng = self.rng
        for node in [*self.down, *self.drained]:
            if rng.random() < 0.2:
                self.down.pop(node, None)
                self.drained.discard(node)
                yield Event(self.now, K.NODE_RECOVERED, node)
        for _ in range(2):
            node = rng.randrange(self.nodes)
            until = rng.choice([-1, self.now + rng.randint(1, 100)])
            if self.chance("fail") and rng.random() < 0.4 and node not in self.changed:
                self.drained.discard(node)
                self.down[node] = until
                self.changed.add(node)
                yield Event(self.now, K.NODE_FAILED, node, until)
            elif self.chance("drain") and rng.random() < 0.4 and node not in self.changed:
                self.down.pop(node, None)
                self.drained.add(node)
                self.changed.add(node)
                yield Event(self.now, K.NODE_DRAINED, node, until, ours=rng.random() < 0.5)

    @property
    def changed(self) -> set[int]:
        """Nodes that something has happened to in this second."""
        if getattr(self, "_second", None) != self.now:
            self._second, self._changed = self.now, set[int]()
        return self._changed

    def oddities(self) -> Iterator[Event]:
        rng = self.rng
        for k, one in enumerate(self.jobs):
            fresh = one.state == "WAITING" and k not in self.back
            if fresh and self.chance("cancel") and rng.random() < 0.1:
                self.let_go(k, "DONE")
                yield Event(self.now, rng.choice([K.CANCELLED, K.FAILED]), k)
        waiting = [k for k, one in enumerate(self.jobs) if one.state == "WAITING"]
        self.back.clear()
        idle = [n for n in self.idle() if n not in self.changed]
        if waiting and self.chance("unasked"):
            k = rng.choice(waiting)
            if self.jobs[k].size <= len(idle):
                yield self.unasked(k, rng.sample(idle, self.jobs[k].size))
        if self.foreseen and self.chance("shift"):
            at = rng.choice([-1, self.now + rng.randint(0, 300)])
            told = {"at": at, "until": at + 20, "probability": rng.random()} if at >= 0 else {}
            yield Event(self.now, K.PREDICTION_CHANGED, rng.randrange(self.nodes), **told)

    def unasked(self, k: int, nodes: list[int]) -> Event:
        until = self.rng.choice([-1, self.now + self.rng.randint(1, 300)])
        self.changed.update(nodes)
        end = until if until > 0 else self.now + 1
        self.begin(k, frozenset(nodes), end)
        return Event(self.now, K.STARTED, k, until, nodes=NodeSet.of(nodes))

    def ask(self) -> None:
        """Ask for offers: a front, and nothing changes."""
        if self.policy != "promise":
            return
        size = self.rng.randint(1, self.nodes)
        offers = self.engine.offers(size, self.rng.choice([10, 200]), 30, self.now)
        for one, later in pairwise(offers):
            assert one.start < later.start
            assert one.probability < later.probability
            assert one.deadline < later.deadline
        assert all(len(one.nodes) == size for one in offers)
        assert len(offers) <= 7

    def again(self) -> None:
        """Take the engine up from a snapshot, as after a restart."""
        kept = json.loads(json.dumps(self.engine.snapshot()))
        self.engine = Engine.restore(kept, validate=self.seed % 8 == 0)

    def settle(self) -> None:
        """Stop all that goes wrong: then every job must come to its end."""
        self.odd = dict.fromkeys(self.odd, 0.0)
        back = [*self.down, *self.drained]
        self.down.clear()
        self.drained.clear()
        self.now += 1
        self.tell([Event(self.now, K.NODE_RECOVERED, node) for node in back])
        for _ in range(12 * len(self.jobs) + 40):
            if all(one.state == "DONE" for one in self.jobs):
                return
            self.now = max(self.now + 1, self.next_moment())
            self.tell(list(self.ends()))
            due = self.engine.due(self.now)
            if due:
                self.tell(due)
        raise AssertionError("jobs that never end")

    def next_moment(self) -> int:
        ends = [one.start + one.truly for _, one in self.running()]
        starts = (
            [one.start for one in self.jobs if one.state == "WAITING" and one.nodes]
            if self.policy == "promise"
            else [self.engine.wake_at() or 2**60]
        )
        return min([*ends, *starts, self.now + 1000])

    def story(self) -> str:
        lines = [f"seed {self.seed}: {self.policy}, {self.nodes} nodes"]
        for events, decisions in self.told:
            lines += [f"  {event.as_dict()}" for event in events if event.kind is not K.PASS]
            lines += [
                f"    -> {d.kind.name} job {d.job} [{d.start}, {d.end}) on {d.nodes}: {d.why}"
                for d in decisions
            ]
        return "\n".join(lines)


def foreseen(rng: random.Random, nodes: int) -> Foreseen:
    made = records(rng.choice([0, 3, 12]), FORESEEN)
    for one in made:
        at = rng.randrange(2000)
        one["time"], one["until"], one["node"] = at, at + 20, rng.randrange(nodes)
        one["probability"] = rng.choice([0.2, 0.5, 1.0, rng.random()])
    made[:] = made[np.lexsort((made["node"], made["time"]))]
    return Foreseen(made, 0, 20 if len(made) else 0)


def hazard(rng: random.Random, nodes: int) -> Hazard:
    made = records(nodes, HAZARD)
    made["failures"] = [rng.choice([1, 5]) for _ in range(nodes)]
    made["exposure"] = 1.0
    return Hazard(made, 0.7, 1.0, 2.0, 0.5, 20)


def run(seed: int, steps: int | None = None) -> World:
    """Play one seed to its end; AssertionError where a rule is broken."""
    world = World(seed)
    try:
        count = world.rng.choice([4, 6, 12]) if steps is None else steps
        world.live(count // 2)
        if world.rng.random() < 0.3:
            world.again()
        world.live(count - count // 2)
        world.settle()
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{world.story()}") from error
    return world
