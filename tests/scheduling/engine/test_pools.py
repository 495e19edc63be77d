"""Jobs that may have some nodes only; jobs taken over from another engine; jobs forgotten."""

from __future__ import annotations

import random

import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.events import Event, EventKind
from forestall.core.model.failures import Failures
from forestall.core.model.nodes import NodeSet
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, rules_of

SUBMITTED = EventKind.SUBMITTED


def engine(nodes: int = 6) -> Engine:
    rules = rules_of(Parameters(nodes=nodes, policy="promise", risk=0.5, checkpoint="none"))
    return Engine(nodes, rules._replace(placed=1), foreseen_by(None, Failures.none(), 0), 0,
                  validate=True)  # fmt: skip


def submitted(one: Engine, size: int, length: int, pool: int, now: int = 1) -> int:
    job = one.add_job(size, length, 1000, now, pool)
    one.handle([Event(now, SUBMITTED, job)], now)
    return job


def test_a_job_gets_nodes_of_its_pool() -> None:
    one = engine()
    one.set_pool(1, NodeSet.of([1, 3, 5]))
    one.set_pool(2, NodeSet.of([3, 4]))
    first, second = submitted(one, 2, 100, 1), submitted(one, 2, 50, 2)
    assert one.nodes_of(first).tolist() == [1, 3]
    assert one.nodes_of(second).tolist() == [3, 4]
    assert one.field(second, "start") == 101
    free = submitted(one, 3, 10, 0)
    assert one.nodes_of(free).tolist() == [0, 2, 4]
    assert [one.size_of(pool) for pool in range(3)] == [6, 3, 2]
    assert one.offers(3, 10, 1000, 1, pool=1)[0].start == 151
    assert one.offers(3, 10, 1000, 1, pool=2) == []
    assert one.quote(1, 10, 1000, 1, pool=1).nodes == NodeSet.of([5])


def test_a_job_waits_where_too_few_nodes_of_its_pool_are_left() -> None:
    one = engine()
    one.set_pool(1, NodeSet.of([0, 1]))
    one.handle([Event(1, EventKind.NODE_DRAINED, 0)], 1)
    job = one.add_job(2, 100, 1000, 1, 1)
    told = one.handle([Event(1, SUBMITTED, job)], 1)
    assert [decision.kind.name for decision in told] == ["HOLD"]
    assert one.usable(1) == 1
    one.handle([Event(9, EventKind.NODE_RECOVERED, 0)], 9)
    assert one.nodes_of(job).tolist() == [0, 1]


def test_pools_that_cannot_be() -> None:
    one = engine()
    for pool, nodes in ((0, [1]), (2, [1]), (1, [6])):
        with pytest.raises(ParameterError):
            one.set_pool(pool, NodeSet.of(nodes))
    with pytest.raises(ParameterError, match="pool"):
        one.add_job(1, 1, 1, 0, 3)


@pytest.mark.parametrize("seed", range(20))
def test_the_earliest_start_within_a_pool_is_that_of_a_machine_of_its_own(seed: int) -> None:
    """Jobs of a pool alone are placed as on a machine that has its nodes only."""
    chance = random.Random(seed)
    pool = sorted(chance.sample(range(70), 40))
    large, small = engine(70), engine(40)
    large.set_pool(1, NodeSet.of(pool))
    for now in range(1, 40):
        size, length = chance.randint(1, 25), chance.randint(1, 60)
        jobs = [submitted(large, size, length, 1, now), submitted(small, size, length, 0, now)]
        starts = [one.field(job, "start") for one, job in zip((large, small), jobs, strict=True)]
        assert starts[0] == starts[1]
        where = [pool[k] for k in small.nodes_of(jobs[1]).tolist()]
        assert large.nodes_of(jobs[0]).tolist() == where


def test_a_promise_is_taken_over_with_what_was_said() -> None:
    one = engine()
    job = one.add_job(4, 100, 1000, 0)
    one.take_over(job, 500, 700, 0.8)
    assert (one.field(job, "start"), one.field(job, "deadline")) == (500, 700)
    other = submitted(one, 4, 450, 0)
    assert one.field(other, "start") == 1
    submitted(one, 4, 100, 0)
    assert one.field(job, "start") == 500
    # A run that nobody asked for takes its nodes: it moves, and its promise stays.
    seen = one.add_job(5, 900, 1000, 1)
    one.handle([Event(2, EventKind.CANCELLED, other)], 2)
    one.handle([Event(3, EventKind.STARTED, seen, until=903, nodes=NodeSet.of(range(5)))], 3)
    assert one.field(job, "start") >= 903
    assert one.field(job, "deadline") == 700
    with pytest.raises(ParameterError, match="just made known"):
        one.take_over(job, 500, 700, 0.8)


def test_a_job_taken_over_starts_no_earlier_where_it_moves() -> None:
    """What holds its start does not move with it."""
    one = engine()
    job = one.add_job(4, 100, 1000, 0)
    [told] = one.take_over(job, 500, 700, 0.8)
    assert (told.kind.name, told.start, told.deadline) == ("RESERVE", 500, 700)
    assert told.nodes == NodeSet.of(one.nodes_of(job).tolist())
    node = int(one.nodes_of(job)[0])
    foreseen = Event(5, EventKind.PREDICTION_CHANGED, node, at=550, until=560, probability=0.9)
    one.handle([foreseen], 5)
    assert node not in one.nodes_of(job).tolist()
    assert one.field(job, "start") == 500
    again = Engine.restore(one.snapshot(), validate=True)
    for each in (one, again):
        each.handle([Event(6, EventKind.NODE_DRAINED, k) for k in range(2)], 6)
        assert each.field(job, "start") == 500


@pytest.mark.parametrize("seed", range(8))
def test_what_is_forgotten_changes_nothing(seed: int) -> None:
    """Two engines are told the same; one forgets ended jobs now and then."""
    chance = random.Random(seed)
    kept, short = engine(8), engine(8)
    place: dict[int, int] = {}
    for now in range(1, 300):
        events = []
        for job in list(place):
            state = kept.job_state(job)
            if state == "RUNNING" and chance.random() < 0.2:
                events.append((EventKind.FINISHED, job))
            elif state == "WAITING" and chance.random() < 0.05:
                events.append((EventKind.CANCELLED, job))
        due = {event.key for event in kept.due(now)} - {job for _, job in events}
        events += [(EventKind.START_DUE, job) for job in due]
        if chance.random() < 0.4:
            size, length = chance.randint(1, 8), chance.randint(1, 30)
            job = kept.add_job(size, length, 1000, now)
            place[job] = short.add_job(size, length, 1000, now)
            events.append((SUBMITTED, job))
        told = kept.handle([Event(now, kind, job) for kind, job in events], now)
        same = short.handle([Event(now, kind, place[job]) for kind, job in events], now)
        back = {new: old for old, new in place.items()}
        assert [(one.kind, one.job, one.start, one.end, str(one.nodes)) for one in told] == [
            (one.kind, back[one.job], one.start, one.end, str(one.nodes)) for one in same
        ]
        place = {job: at for job, at in place.items() if kept.job_state(job) != "DONE"}
        if now % 40 == 0:
            left = short.forget_ended().tolist()
            place = {job: left.index(at) for job, at in place.items()}
            assert short.jobs == len(place)
            short = Engine.restore(short.snapshot(), validate=True)
    assert kept.jobs > 4 * short.jobs
