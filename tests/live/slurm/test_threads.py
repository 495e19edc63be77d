"""Many threads ask and accept while cycles run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from forestall.core.model.errors import InputError
from forestall.core.model.live.desk import JobOrder
from forestall.live.ledger.check import check
from forestall.live.ledger.rows import CycleRow, PromiseRow, RunRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.mind import played
from forestall.scheduling.engine.engine import Engine
from forestall.slurm.cluster.actions import Action, ActionResult
from forestall.slurm.cluster.nouns import ClusterSnapshot
from forestall.slurm.cluster.standing import Standing
from forestall.slurm.simulation.cluster import ModelCluster
from live.slurm.scenarios import CYCLE, Scenario

WAIT = 60.0
"""s after which a test gives up: nothing takes so long but what never comes."""
JOB = WantedJob(1, 300, user="ann")


class Guarded(ModelCluster):
    """A model that many threads may ask; a look's answer comes when it is let."""

    def __init__(self, like: ModelCluster) -> None:
        super().__init__(like.world, like.mishaps)
        self.one = threading.RLock()
        self.looking, self.answer = threading.Event(), threading.Event()
        self.answer.set()

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        with self.one:
            seen = super().look(before)
        self.looking.set()
        assert self.answer.wait(WAIT)
        return seen

    def act(self, action: Action) -> ActionResult:
        with self.one:
            return super().act(action)

    def find(self, action: Action) -> Standing:
        with self.one:
            return super().find(action)


def scenario(ledger: LiveLedger | None = None) -> tuple[Scenario, Guarded]:
    one = Scenario(0, calm=True, ledger=ledger)
    one.cluster = guarded = Guarded(one.cluster)
    one.controller = one._born()
    one.controller.cycle()
    return one, guarded


def test_quotes_and_promises_are_made_while_a_look_is_under_way() -> None:
    one, cluster = scenario()
    cluster.looking.clear()
    cluster.answer.clear()
    with ThreadPoolExecutor(2) as pool:
        cycle = pool.submit(one.controller.cycle)
        assert cluster.looking.wait(WAIT)
        offer = pool.submit(one.controller.quote, JOB).result(WAIT).offers[0]
        script = JobOrder("#!/bin/sh\n")
        _, number = pool.submit(one.controller.accept, offer.id, "ann", script).result(WAIT)
        cluster.answer.set()
        assert cycle.result(WAIT).said == ""
    mind = one.controller._mind
    assert mind is not None
    before = mind.plan_of(number)
    assert before is not None  # the look had begun before: it says nothing of the job
    one.world.advance(one.world.state.now + CYCLE)
    one.controller.cycle()
    assert mind.plan_of(number) is not None
    assert mind.beliefs.count == max(told.position for told in mind.beliefs.jobs.values()) + 1


def test_what_many_threads_are_promised_adds_up_and_replays_the_same(tmp_path: Path) -> None:
    with LiveLedger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        one, cluster = scenario(ledger)
        stop = threading.Event()

        def ask() -> set[str]:
            made = set[str]()
            for k in range(12):
                try:
                    offer = one.controller.quote(WantedJob(1 + k % 3, 300, user="ann")).offers[0]
                    promise, _ = one.controller.accept(offer.id, "ann", JobOrder("#!/bin/sh\n"))
                    made.add(promise.id)
                except InputError:  # somebody else was quicker
                    continue
            return made

        def run() -> int:
            done = 0
            while not stop.is_set():
                with cluster.one:
                    one.world.advance(one.world.state.now + 1)
                assert one.controller.cycle().said == ""
                done += 1
            return done

        with ThreadPoolExecutor(5) as pool:
            cycles = pool.submit(run)
            made = [name for asked in [pool.submit(ask) for _ in range(4)]
                    for name in asked.result(WAIT)]  # fmt: skip
            stop.set()
            assert cycles.result(WAIT) > 0
        assert made
        assert {row.id for row in ledger.read(PromiseRow)} == set(made)
        assert len(made) == len(set(made))
        assert check(ledger).wrong == ()
        engines = {
            row.number: Engine.restore(row.snapshot["engine"]) for row in ledger.read(RunRow)
        }
        for row in ledger.read(CycleRow):
            assert played(engines[row.run], row.events) == row.decisions
