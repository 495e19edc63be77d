"""The engine for tasks in virtual machines, driven one event at a time."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import (
    FAR,
    TaskDecision,
    TaskDecisionKind,
    TaskEvent,
    TaskEventKind,
    TaskReason,
)
from forestall.core.streams import stream
from forestall.machines.engine.engine import VirtualEngine
from forestall.machines.engine.state import TaskRules
from forestall.machines.rules.placement_kernels import BEST_FIT, FIRST_FIT, RANDOM, Choosing
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.prepare import prepare_virtual
from forestall.machines.simulation.run import new_state, play_virtual

LIVE = TaskRules(
    copy=20,
    standstill=1,
    backfill=0,
    stop=1,
    random_migrates=0,
    checkpointing=0,
    interval=3600,
    overhead=720,
)


def engine(nodes: int = 2, strategy: int = BEST_FIT, rules: TaskRules = LIVE) -> VirtualEngine:
    choosing = Choosing(int(strategy), 0.5, 1, rules.copy + rules.standstill)
    return VirtualEngine([2000] * nodes, choosing, rules, validate=True)


def tell(
    one: VirtualEngine, time: int, kind: str, key: int = 0, at: int = -1
) -> list[TaskDecision]:
    return one.handle([TaskEvent(time, TaskEventKind[kind], key, at)], time)


def running(one: VirtualEngine, tasks: int = 1) -> int:
    job = one.add_job(tasks=tasks, work=600_000, submit=0, deadline=2000)
    tell(one, 0, "SUBMITTED", job)
    assert [d.kind for d in tell(one, 0, "PASS")] == [TaskDecisionKind.START] * tasks
    return job


def test_a_live_migration_holds_both_ends_until_it_has_ended() -> None:
    one = engine()
    job = running(one)
    assert one.node_of(job, 0) == 0
    tell(one, 10, "FORESEEN", 0, 100)
    (move,) = tell(one, 79, "LEAVE_DUE", 0)
    assert (move.kind, move.source, move.node, move.at) == (TaskDecisionKind.MIGRATE, 0, 1, 100)
    free = one.state.fleet.nodes["free"].tolist()
    assert free == [1000, 1000]
    tell(one, 99, "MIGRATION_ENDED", one.task_number(job, 0))
    assert one.node_of(job, 0) == 1
    assert one.state.fleet.nodes["free"].tolist() == [2000, 1000]
    assert one.ends_at(job, 0) == 100 + (600 - 99)


def test_a_broken_migration_leaves_the_task_at_its_source() -> None:
    one = engine()
    job = running(one)
    tell(one, 10, "FORESEEN", 0, 100)
    tell(one, 79, "LEAVE_DUE", 0)
    tell(one, 85, "MIGRATION_FAILED", one.task_number(job, 0))
    assert one.node_of(job, 0) == 0
    assert one.state.fleet.nodes["free"].tolist() == [1000, 2000]
    (abort,) = tell(one, 100, "NODE_FAILED", 0, 400)
    assert (abort.kind, abort.reason) == (TaskDecisionKind.ABORT, TaskReason.NODE_FAILED)
    assert one.node_of(job, 0) == -1


def test_a_drain_is_a_prediction_for_now() -> None:
    one = engine(3)
    running(one, 2)
    node = 0
    tell(one, 50, "FORESEEN", node, 50)
    moved = tell(one, 50, "LEAVE_DUE", node)
    assert {d.source for d in moved} == {node}
    assert all(d.node != node for d in moved)


def test_a_target_that_fails_sends_nothing_away() -> None:
    one = engine()
    job = running(one)
    tell(one, 10, "FORESEEN", 0, 100)
    tell(one, 79, "LEAVE_DUE", 0)
    (stay,) = tell(one, 90, "NODE_FAILED", 1, 500)
    assert (stay.kind, stay.reason) == (TaskDecisionKind.STAY, TaskReason.TARGET_FAILED)
    assert stay.why == "node 1, the target of its move, failed"
    assert one.node_of(job, 0) == 0


def test_grows_with_its_jobs() -> None:
    one = engine(2, FIRST_FIT)
    for number in range(100):
        assert one.add_job(tasks=3, work=1000, submit=number, deadline=number + 50) == number
    for number in range(100):
        tell(one, number, "SUBMITTED", number)
    tell(one, 100, "PASS")
    assert one.node_of(0, 2) >= 0


def test_draws_come_from_its_generator() -> None:
    def places(seed: int) -> list[int]:
        choosing = Choosing(int(RANDOM), 0.5, 1, 12)
        one = VirtualEngine([4000] * 8, choosing, LIVE, generator=np.random.default_rng(seed))
        job = one.add_job(tasks=20, work=1000, submit=0, deadline=50)
        tell(one, 0, "SUBMITTED", job)
        tell(one, 0, "PASS")
        return [one.node_of(job, k) for k in range(20)]

    assert places(1) == places(1) != places(2)


@pytest.mark.parametrize(
    ("time", "kind", "key", "named"),
    [
        (5, "NODE_FAILED", 2, "node from 0 to 1"),
        (5, "TASK_ENDED", 7, "task from 0 to 0"),
        (5, "DEADLINE", 3, "job from 0 to 0"),
        (5, "SUBMITTED", 0, "a job that is NEW, not RUNNING; job 0 was WAITING at 0 s"),
        (-1, "PASS", 0, "no earlier than 0"),
    ],
)
def test_events_that_cannot_be(time: int, kind: str, key: int, named: str) -> None:
    one = engine()
    running(one)
    with pytest.raises(ParameterError, match=named):
        tell(one, time, kind, key)


@pytest.mark.parametrize(
    "wrong",
    [{"tasks": 0}, {"tasks": 5}, {"work": 0}, {"deadline": 3}],
)
def test_jobs_that_cannot_be(wrong: dict[str, int]) -> None:
    row = {"tasks": 1, "work": 10, "submit": 3, "deadline": 9, **wrong}
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        engine().add_job(**row)


def test_draws_need_a_generator() -> None:
    with pytest.raises(ParameterError, match="generator"):
        engine(2, RANDOM)


@pytest.mark.parametrize("strategy", ["random", "first-fit", "best-fit"])
@pytest.mark.parametrize("migration", ["stop-and-copy", "pre-copy"])
def test_what_the_compiled_loop_decided_is_decided_again(strategy: str, migration: str) -> None:
    """The same events, one at a time from Python, give the same decisions and the same books."""
    rng = np.random.default_rng(5)
    count, nodes = 60, 6
    runtime = rng.integers(20, 400, count)
    jobs = Jobs.build(rng.integers(0, 2000, count), rng.integers(1, 9, count), runtime, 3 * runtime)
    times = np.sort(rng.integers(0, 3000, 40))
    failures = Failures.build(times, rng.integers(0, nodes, 40), np.full(40, 60))
    told = Predictions(
        np.zeros(nodes, dtype=np.int64), np.arange(nodes), rng.integers(100, 2000, nodes)
    )
    parameters = VirtualParameters(
        nodes=nodes,
        processors_per_node=3,
        strategy=strategy,
        migration=migration,
        checkpoint="periodic",
        checkpoint_interval=50,
        checkpoint_overhead=5,
        overload_limit=0.6,
        overload_hold=20,
        tau="learned",
    )
    workload = prepare_virtual(jobs, parameters)
    outcome = play_virtual(workload, failures, told, parameters, log_events=True)
    assert len(outcome.moves) > 0
    more = stream(parameters.seed, "virtual", "random-moves")
    one = VirtualEngine.of(new_state(workload, parameters), more, validate=True)
    rows = iter(outcome.log.decisions)
    for event in outcome.log.events:
        kind = TaskEventKind(int(event["kind"]))
        time = int(event["time"])
        answer = one.handle([TaskEvent(time, kind, int(event["key"]), int(event["at"]))], time)
        assert len(answer) == event["decisions"]
        for decision in answer:
            row = next(rows)
            assert (decision.kind, decision.reason, decision.job, decision.task) == (
                row["kind"],
                row["reason"],
                row["job"],
                row["task"],
            )
            assert (decision.source, decision.node, decision.rate, decision.at) == (
                row["source"],
                row["node"],
                row["rate"],
                row["at"],
            )
    again = one.state.books.runs[: len(outcome.runs)]
    assert again.tolist() == outcome.runs.tolist()


def test_no_failure_is_foreseen_far_away() -> None:
    one = engine()
    job = running(one)
    assert tell(one, 1, "FORESEEN", 0, FAR) == []
    assert one.node_of(job, 0) == 0
