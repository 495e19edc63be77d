"""What only real virtual machines do, and engines taken up from snapshots."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forestall.core.engine import kept
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.model.virtual import TaskDecision, TaskDecisionKind, TaskEvent, TaskEventKind
from forestall.machines.engine.engine import VirtualEngine
from forestall.machines.engine.state import TaskRules
from forestall.machines.rules.placement_kernels import BEST_FIT, RANDOM, Choosing

K = TaskEventKind
RULES = TaskRules(20, 1, 1, 0, 1, 0, 3600, 720)


def engine(nodes: int = 3, strategy: int = BEST_FIT, room: int = 1000) -> VirtualEngine:
    choosing = Choosing(int(strategy), 0.5, 1, 21)
    draws = np.random.default_rng(7)
    return VirtualEngine([room] * nodes, choosing, RULES, generator=draws, validate=True)


def new(one: VirtualEngine, now: int = 0) -> int:
    return one.add_job(tasks=1, work=600_000, submit=now, deadline=now + 5000)


def tell(one: VirtualEngine, now: int, kind: K, key: int = 0, **more: int) -> list[TaskDecision]:
    return one.handle([TaskEvent(now, kind, key, **more)], now)


def test_a_machine_is_seen_where_nobody_put_it() -> None:
    one = engine()
    job = new(one)
    assert tell(one, 5, K.STARTED, job, node=2) == []
    assert one.node_of(job, 0) == 2
    assert tell(one, 9, K.STARTED, job, node=1) == []
    assert (one.node_of(job, 0), one.job_state(job)) == (1, "RUNNING")
    other = new(one, 9)
    with pytest.raises(TransitionError, match="a node that is up and has room; node 1 was"):
        tell(one, 9, K.STARTED, other, node=1)
    assert tell(one, 12, K.CANCELLED, job) == []
    assert tell(one, 12, K.STARTED, other, node=1) == []
    with pytest.raises(TransitionError, match=r"job 0 was RUNNING at 5 s .*, then DONE at 12 s"):
        tell(one, 13, K.TASK_ENDED, job)


def test_a_drained_node_takes_nothing_also_after_it_was_left() -> None:
    one = engine(2, room=2000)
    job = new(one)
    tell(one, 0, K.STARTED, job, node=0)
    tell(one, 1, K.NODE_DRAINED, 0)
    (move,) = tell(one, 2, K.MOVE_DUE, job)
    assert (move.kind, move.source, move.node) == (TaskDecisionKind.MIGRATE, 0, 1)
    tell(one, 3, K.MIGRATION_FAILED, job)
    assert len(tell(one, 4, K.LEAVE_DUE, 0)) == 1
    tell(one, 5, K.MIGRATION_ENDED, job)
    assert one.node_state(0) == "DRAINED"
    other = new(one, 6)
    tell(one, 6, K.SUBMITTED, other)
    assert [d.node for d in tell(one, 6, K.PASS)] == [1]
    tell(one, 7, K.NODE_RETURNED, 0)
    assert one.node_state(0) == "UP"


def test_a_failure_of_unknown_length_ends_by_a_return() -> None:
    one = engine(1)
    job = new(one)
    tell(one, 0, K.STARTED, job, node=0)
    assert [d.kind.name for d in tell(one, 5, K.NODE_FAILED, 0)] == ["ABORT"]
    tell(one, 9, K.NODE_RECOVERED, 0)
    assert one.node_state(0) == "DOWN"
    tell(one, 10, K.NODE_RETURNED, 0)
    assert one.node_state(0) == "UP"


def test_a_start_that_is_refused_is_tried_again() -> None:
    one = engine(1)
    job = new(one)
    asked = [TaskEvent(0, K.PASS, 0), TaskEvent(0, K.SUBMITTED, job)]  # taken in their order
    assert [d.kind.name for d in one.handle(asked, 0)] == ["START"]
    assert tell(one, 1, K.START_REFUSED, job) == []
    assert [d.kind.name for d in tell(one, 2, K.PASS)] == ["RESTART"]
    assert tell(one, 3, K.TASK_FAILED, job) == []
    assert one.job_state(job) == "DONE"


@pytest.mark.parametrize("strategy", [BEST_FIT, RANDOM])
@pytest.mark.parametrize("seed", range(6))
def test_a_restart_changes_no_decision(seed: int, strategy: int) -> None:
    told = []
    for restarted in (False, True):
        rng, one, answers = random.Random(seed), engine(4, strategy, 2000), []
        jobs: list[int] = []
        for now in range(0, 400, 10):
            if restarted and now == 200:
                one = VirtualEngine.restore(
                    json.loads(json.dumps(one.snapshot())), generator=np.random.default_rng()
                )
            jobs.append(new(one, now))
            node, kind = rng.randrange(4), rng.choice([K.NODE_DRAINED, K.NODE_RETURNED, K.FORESEEN])
            events = [
                TaskEvent(now, K.SUBMITTED, jobs[-1]),
                TaskEvent(now, kind, node, now + 50 if kind is K.FORESEEN else -1),
                TaskEvent(now, K.LEAVE_DUE, rng.randrange(4)),
                TaskEvent(now, K.PASS, 0),
            ]
            ended = rng.choice(jobs)
            if one.node_of(ended, 0) >= 0:
                events.append(TaskEvent(now, K.TASK_ENDED, ended))
            answers.append(one.handle(events, now))
        told.append(answers)
    assert told[0] == told[1]


def test_a_snapshot_of_another_engine() -> None:
    with pytest.raises(ParameterError, match="snapshot"):
        VirtualEngine.restore({"format": "forestall engine", "version": 1, "model": "cycle"})


def _kept() -> dict[str, Any]:
    one = engine(4, BEST_FIT, 2000)
    for now in range(0, 60, 10):
        job = new(one, now)
        one.handle([TaskEvent(now, K.SUBMITTED, job), TaskEvent(now, K.PASS, 0)], now)
    return json.loads(json.dumps(one.snapshot()))  # type: ignore[no-any-return]


SPOILT: list[tuple[str, Any, int]] = [
    ("jobs", "first", 10**6), ("jobs", "next", 10**6), ("jobs", "vm", -7), ("jobs", "status", 9),
    ("jobs", "tasks", 2**40), ("vms", "node", 4), ("vms", "job", 10**6), ("vms", "task", 10**6),
    ("vms", "target", 10**6), ("vms", "next_on_node", 10**6), ("vms", "move", 10**6),
    ("spare", None, 10**6), ("places", None, 10**6), ("at", None, 10**6), ("at", None, -3),
    ("fleet.nodes", "first", 10**6), ("fleet.nodes", "free", 10**9), ("fleet.order", None, 9),
    ("fleet.place", None, 3), ("fleet.at", None, 0), ("fleet.roomiest", None, 900),
]  # fmt: skip


@pytest.mark.parametrize(("path", "name", "value"), SPOILT)
def test_what_points_outside_is_refused(path: str, name: str | None, value: int) -> None:
    plain = _kept()
    holder = plain["state"]
    *above, last = path.split(".")
    for one in above:
        holder = holder[one]
    array = kept._unpacked(holder[last], {})
    (array if name is None else array[name])[0] = value
    holder[last] = kept.packed(array)
    with pytest.raises(ParameterError, match=path):
        VirtualEngine.restore(plain)


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain.update(now="soon"), lambda plain: plain.update(jobs=10**6),
        lambda plain: plain.update(tasks=-1), lambda plain: plain["state"].pop("fleet"),
        lambda plain: plain["state"]["choosing"].update(strategy=3, own=4096),
        lambda plain: plain["state"].update(books=plain["state"]["rules"]),
        lambda plain: plain.update(stories=3), lambda plain: plain.update(draws={"bit": 1}),
    ],
)  # fmt: skip
def test_what_is_no_snapshot_is_refused(change: Callable[[Any], Any]) -> None:
    plain = _kept()
    VirtualEngine.restore(plain, generator=np.random.default_rng())
    change(plain)
    with pytest.raises(ParameterError):
        VirtualEngine.restore(plain, generator=np.random.default_rng())
