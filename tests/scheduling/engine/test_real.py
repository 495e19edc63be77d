"""What only a real cluster does, event by event."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from forestall.core._compile import records
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import rules_of

K = EventKind


def engine(nodes: int = 2, **more: Any) -> Engine:
    rules = rules_of(Parameters(nodes=nodes, checkpoint="none", **more))._replace(placed=1)
    return Engine(nodes, rules, Foreseen(records(0, FORESEEN), 0, 0), validate=True)


def submitted(one: Engine, now: int, *sizes: int, estimate: int = 100) -> list[int]:
    jobs = [one.add_job(size, estimate, 1000, now) for size in sizes]
    one.handle([Event(now, K.SUBMITTED, job) for job in jobs], now)
    one.handle(one.due(now), now)
    return jobs


def told(one: Engine, now: int, *events: Event) -> list[tuple[str, str, int, int, int]]:
    found = one.handle(list(events), now)
    return [(d.kind.name, d.reason.name, d.job, d.start, d.end) for d in found]


def test_a_run_past_its_reservation_keeps_its_nodes() -> None:
    one = engine(1)
    first, second = submitted(one, 0, 1, 1)
    promised = one.field(second, "deadline")
    assert told(one, 130, *one.due(130)) == [
        ("EXTEND", "RUNS_ON", first, 0, 190),
        ("RESERVE", "NODE_TAKEN", second, 190, 290),
    ]
    assert told(one, 150, Event(150, K.OVERRUN, first, 400))[1][3:] == (400, 500)
    assert told(one, 160, Event(160, K.FINISHED, first)) == []
    assert one.handle([], 400) == []
    assert told(one, 400, *one.due(400)) == [("START", "RESERVED_START", second, 400, 500)]
    assert one.field(second, "deadline") == promised == 200


def test_a_node_whose_return_nobody_knows() -> None:
    one = engine(2)
    (job,) = submitted(one, 0, 2)
    assert told(one, 50, Event(50, K.NODE_FAILED, 1)) == [
        ("REQUEUE", "NODE_FAILED", job, 0, -1),
        ("HOLD", "TOO_FEW_NODES", job, -1, -1),
    ]
    with pytest.raises(ParameterError, match="size: 2 is not allowed; expected at most 1 nodes"):
        one.quote(2, 100, 1000, 60)
    assert one.offers(2, 100, 1000, 60) == []
    assert told(one, 90, Event(90, K.NODE_RECOVERED, 1)) == [
        ("RESERVE", "NODES_BACK", job, 90, 190)
    ]
    assert (one.field(job, "deadline"), one.node_state(1)) == (100, "UP")


def test_a_node_that_should_be_back_is_expected_no_more() -> None:
    one = engine(2)
    one.handle([Event(0, K.NODE_FAILED, 0, 50)], 0)
    assert submitted(one, 1, 2) == [0]
    assert one.field(0, "start") == 50
    assert told(one, 60, *one.due(60)) == [("HOLD", "TOO_FEW_NODES", 0, -1, -1)]


def test_a_drained_node_lets_its_job_end_and_gets_no_other() -> None:
    one = engine(2)
    (job,) = submitted(one, 0, 1)
    assert told(one, 10, Event(10, K.NODE_DRAINED, 0, ours=True)) == []
    (other,) = submitted(one, 20, 1)
    assert one.nodes_of(other).tolist() == [1]
    one.handle([Event(100, K.FINISHED, job), Event(100, K.NODE_RECOVERED, 0)], 100)
    assert one.nodes_of(submitted(one, 101, 1)[0]).tolist() == [0]


def test_a_start_nobody_asked_for_moves_who_is_in_its_way() -> None:
    one = engine(2)
    _, second, third = submitted(one, 0, 1, 2, 2)
    new = one.add_job(1, 500, 1000, 40)
    seen = Event(40, K.STARTED, new, nodes=NodeSet.of([1]))
    assert told(one, 40, seen) == [
        ("RESERVE", "NODE_TAKEN", second, 540, 640),
        ("RESERVE", "NODE_TAKEN", third, 640, 740),
    ]
    assert one.job_state(new) == "RUNNING"
    assert told(one, 41, Event(41, K.STARTED, new, nodes=NodeSet.of([1]))) == []


def test_a_start_that_is_refused_waits() -> None:
    one = engine(1)
    (job,) = submitted(one, 0, 1)
    refused = [("RESERVE", "START_REFUSED", job, 300, 400)]
    assert told(one, 1, Event(1, K.START_REFUSED, job, 300)) == refused
    assert told(one, 300, *one.due(300))[0][0] == "START"
    assert told(one, 301, Event(301, K.START_REFUSED, job))[0][3] == 361
    assert told(one, 302, Event(302, K.REQUEUED, job)) == []
    assert told(one, 303, Event(303, K.CANCELLED, job)) == []
    assert one.job_state(job) == "DONE"


def test_a_reservation_moves_off_a_node_that_is_foreseen_to_fail() -> None:
    one = engine(3)
    submitted(one, 0, 3)
    (job,) = submitted(one, 1, 1)
    assert one.nodes_of(job).tolist() == [0]
    change = Event(2, K.PREDICTION_CHANGED, 0, at=150, until=200, probability=0.9)
    assert told(one, 2, change) == [("RESERVE", "SAFER_NODES", job, 100, 200)]
    assert one.nodes_of(job).tolist() == [1]
    front = [(q.start, round(q.probability, 6)) for q in one.offers(2, 60, 1000, 3)]
    assert front == [(100, 0.1), (200, 1.0)]
    assert told(one, 4, Event(4, K.PREDICTION_CHANGED, 0)) == []


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_policies_that_queue(policy: str) -> None:
    one = engine(2, policy=policy)
    first, second = one.add_job(1, 100, 1000, 0), one.add_job(2, 100, 1000, 0)
    new = [Event(0, K.SUBMITTED, first), Event(0, K.SUBMITTED, second), Event(0, K.PASS, 0)]
    assert [d.job for d in one.handle(new, 0) if d.kind is DecisionKind.START] == [first]
    late = one.handle([Event(130, K.PASS, 0)], 130)
    assert [d.job for d in late if d.reason is Reason.RUNS_ON] == [first]
    assert not [d for d in late if d.kind is DecisionKind.START]
    one.handle([Event(140, K.NODE_DRAINED, 1), Event(140, K.PASS, 0)], 140)
    one.handle([Event(150, K.FINISHED, first), Event(150, K.PASS, 0)], 150)
    assert one.job_state(second) == "WAITING"
    back = one.handle([Event(160, K.NODE_RECOVERED, 1), Event(160, K.PASS, 0)], 160)
    assert [d.job for d in back if d.kind is DecisionKind.START] == [second]


def test_the_story_is_told() -> None:
    one = engine(2)
    (job,) = submitted(one, 0, 1)
    one.handle([Event(5, K.NODE_DRAINED, 1)], 5)
    one.handle([Event(7, K.FAILED, job)], 7)
    with pytest.raises(TransitionError) as said:
        one.handle([Event(9, K.OVERRUN, job, 50)], 9)
    assert str(said.value) == (
        "event: OVERRUN at 9 s is not allowed; expected a job that is RUNNING, not DONE; job 0 was "
        "WAITING at 0 s (SUBMITTED), then RUNNING at 0 s (START_DUE), then DONE at 7 s (FAILED)"
    )
    new = one.add_job(1, 10, 10, 9)
    with pytest.raises(TransitionError, match=r"node 1 was DRAINED at 5 s \(NODE_DRAINED by some"):
        one.handle([Event(9, K.STARTED, new, nodes=NodeSet.of([1]))], 9)
    again = Engine.restore(json.loads(json.dumps(one.snapshot())))
    with pytest.raises(TransitionError, match="then DONE at 7 s"):
        again.handle([Event(9, K.OVERRUN, job, 50)], 9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": K.FINISHED, "nodes": NodeSet.of([1])},
        {"kind": K.CANCELLED, "until": 5},
        {"kind": K.NODE_FAILED, "at": 5},
        {"kind": K.STARTED, "ours": True},
        {"kind": K.PREDICTION_CHANGED, "at": 5, "probability": 1.5},
    ],
)
def test_figures_that_a_kind_does_not_have(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="the figures of"):
        Event(1, key=0, **wrong)


def test_events_go_through_json() -> None:
    event = Event(7, K.STARTED, 3, 900, nodes=NodeSet.of([1, 2, 5]))
    plain = {"time": 7, "kind": "started", "key": 3, "until": 900, "nodes": "1-2,5"}
    assert event.as_dict() == plain
    assert Event.of(json.loads(json.dumps(plain))) == event
    for wrong in ({**plain, "kind": "left"}, {**plain, "more": 1}, {"kind": "pass", "key": 0}):
        with pytest.raises(ParameterError, match="event"):
            Event.of(wrong)


def test_snapshots_that_are_none() -> None:
    one = engine()
    kept = one.snapshot()
    for wrong in ({}, [], {**kept, "version": 99}, {**kept, "model": "cycle"}):
        with pytest.raises(ParameterError, match="snapshot"):
            Engine.restore(wrong)  # type: ignore[arg-type]
    broken = {**kept, "state": {**kept["state"], "jobs": {**kept["state"]["jobs"], "bytes": "?"}}}
    with pytest.raises(ParameterError, match="snapshot"):
        Engine.restore(broken)
    assert np.array_equal(Engine.restore(kept).state.jobs, one.state.jobs)
