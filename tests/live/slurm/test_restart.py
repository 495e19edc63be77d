"""What a new engine takes over, and what an old one forgets."""

from __future__ import annotations

import json

from forestall.core.model.live.desk import JobOrder
from forestall.live.ledger.rows import CycleRow, RunRow
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.controller import ControllerSettings
from forestall.live.slurm.mind import Mind, PromisedJob, PromisedStart, plain, played
from forestall.scheduling.engine.engine import Engine
from forestall.slurm.cluster.nouns import ClusterView
from live.slurm.scenarios import CYCLE, ME, Scenario
from live.slurm.test_pools import NODES, NOW, waiting

SCRIPT = JobOrder("#!/bin/sh\n")


def test_a_new_engine_places_promises_before_those_who_came_first() -> None:
    """Jobs 1 (runs for an hour more) and 2 (waits) came before 3, which is promised to start when 1
    ends; by the order of submission alone 2 would start then."""
    running = waiting(1, "", 4)._replace(
        state="RUNNING", start=NOW - 100, limit=3700, nodes=("a", "b", "c", "d")
    )
    second, third = waiting(2, "", 4)._replace(submit=NOW - 50), waiting(3, "", 3)
    seen = ClusterView({1: running, 2: second, 3: third}, NODES, {})
    promised = PromisedJob(third, PromisedStart(NOW + 3600, NOW + 5000, 0.9))
    for known, start in (((), NOW + 4200), ((promised,), NOW + 3600)):
        mind = Mind(seen, NOW, 0.5, known)
        mind.tell(seen, NOW, (), {})
        plan = mind.plan_of(3)
        assert plan is not None
        assert plan.start == start
        told = mind.beliefs.jobs[3]
        if known:
            assert mind.engine.field(told.position, "deadline") == NOW + 5000
        assert sorted(mind.beliefs.jobs) == [1, 2, 3]
        assert mind.engine.job_state(mind.beliefs.jobs[1].position) == "RUNNING"


def test_what_is_promised_is_what_is_planned() -> None:
    """A job whose owner took a later offer was planned at the first start that was probable enough,
    and so was one that a look showed before the controller was told of it."""
    later = PromisedStart(NOW + 7200, NOW + 9000, 0.97)
    for told in (True, False):
        job = waiting(3, "", 3)
        mind = Mind(ClusterView({}, NODES, {}), NOW, 0.5)
        other = Engine.restore(mind.as_dict()["engine"])
        seen, taken = ClusterView({3: job, 4: waiting(4, "", 4)}, NODES, {}), []
        if told:
            what = WantedJob(3, job.limit or 0, user=job.user, name=job.name)
            taken.append(mind.submitted(3, what, NOW, later))
        taken.append(mind.tell(seen, NOW, (), {}, promised={3: later}))
        plan, position = mind.plan_of(3), mind.beliefs.jobs[3].position
        assert plan is not None
        assert (plan.start, len(plan.nodes)) == (NOW + 7200, 3)
        assert mind.engine.field(position, "deadline") == NOW + 9000
        assert mind.engine.state.jobs["promise"][position] == 0.97
        before = mind.plan_of(4)
        assert before is not None
        assert before.start == NOW
        assert next(one.kind.name for one in taken[0].decisions) == "RESERVE"
        for one in taken:
            row, made = json.loads(json.dumps(plain(one)))
            assert played(other, row) == made


def test_a_new_controller_goes_on_with_the_promises_of_the_ledger() -> None:
    one = Scenario(15, calm=True)
    one.controller.cycle()
    offer = one.controller.quote(WantedJob(3, 900, user=ME)).offers[0]
    promise, number = one.controller.accept(offer.id, ME, SCRIPT)
    one.accepted[promise.id] = promise
    one.world.advance(one.world.state.now + CYCLE)
    one.controller.cycle()
    one.controller = one._born()
    one.world.advance(one.world.state.now + CYCLE)
    one.controller.cycle()
    mind = one.controller._mind
    assert mind is not None
    assert one.controller._opened().numbers[promise.id] == number
    told = mind.beliefs.jobs[number]
    assert mind.engine.field(told.position, "deadline") == promise.deadline
    one.settle()
    assert any(row.events.get("promised") for row in one.ledger.read(CycleRow))
    runs = {row.number: Engine.restore(row.snapshot["engine"]) for row in one.ledger.read(RunRow)}
    assert len(runs) == 2
    for row in one.ledger.read(CycleRow):
        assert played(runs[row.run], row.events) == row.decisions


def test_what_is_forgotten_is_a_run_of_its_own_that_replays_the_same() -> None:
    one = Scenario(15, calm=True)
    one.controller.settings = ControllerSettings(learned=0, forget=3)
    for _ in range(400):
        one.world.advance(one.world.state.now + 120)
        one.controller.cycle()
        mind = one.controller._mind
        assert mind is not None
        assert mind.engine.jobs <= 3 * max(3, len(mind.beliefs.jobs)) + 20
    runs = {row.number: Engine.restore(row.snapshot["engine"]) for row in one.ledger.read(RunRow)}
    assert len(runs) > 2
    for row in one.ledger.read(CycleRow):
        assert played(runs[row.run], row.events) == row.decisions
