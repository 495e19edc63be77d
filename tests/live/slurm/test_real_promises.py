"""Promises on a real Slurm: kept, held by a reservation, carried over a dead node and a controller
that was away."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forestall.core.model.live.desk import JobOrder
from forestall.core.model.live.intents import Role
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.check import check
from forestall.live.ledger.rows import (
    IntentRow,
    LookRow,
    OutcomeRow,
    PredictionRow,
    PromiseRow,
    StateRow,
)
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller
from forestall.prediction.watching.foreseen import ListedForecasts, NodeForecast
from forestall.slurm.control.by_commands import CommandsUser, SlurmCommands, SlurmLimits
from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

AWAY = float(os.environ.get("FORESTALL_AWAY", "15"))
"""s for which Slurm's controller is away; 300 takes five minutes."""

KEEPER = "nobody"

GUARD = GuardSettings(
    keeper=RoleSettings(
        "on", nodes=8, percent=100.0, partition_nodes=8, partition_percent=100.0, per_hour=60,
        cool_down=5,
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=3, with_gpus=1) as running:
        running.command("sacctmgr", "-i", "add", "account", "site", check=False)
        operator = ("user", KEEPER, "account=site", "adminlevel=Operator")
        running.command("sacctmgr", "-i", "add", *operator)
        yield running


@pytest.fixture(autouse=True)
def _here(slurm: RealSlurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLURM_CONF", str(slurm.folder / "slurm.conf"))
    monkeypatch.chdir(slurm.folder / "jobs")
    yield
    slurm.command("scancel", "--user=root", check=False)
    slurm.until("all nodes are idle", lambda: slurm.idle() == set(slurm.nodes), 60)


class Desk:
    """A controller on a real cluster, whose keeper is an operator and no more, and its ledger."""

    def __init__(self, slurm: RealSlurm, path: Path) -> None:
        self.slurm = slurm
        self.cluster = SlurmCommands(SlurmLimits(read=10, write=10))
        self.keeper = SlurmCommands(SlurmLimits(read=10, write=10), user=CommandsUser(KEEPER))
        self.ledger = LiveLedger(f"sqlite:///{path}")
        self.forecasts: list[tuple[str, NodeForecast]] = []
        self.controller = self.born()

    def born(self) -> Controller:
        actor = ClusterActor(self.keeper, lambda _: "root")
        now = lambda: int(time.time())  # noqa: E731
        foreseen = ListedForecasts(self.forecasts)
        return Controller(self.cluster, self.ledger, {Role.KEEPER: actor}, GUARD, foreseen, now)

    def promise(self, nodes: int, seconds: int, script: str) -> tuple[PromiseRow, int]:
        """Ask, and take the first offer."""
        self.until("a look", lambda: self.controller.age is not None)
        offers = self.controller.quote(WantedJob(nodes, seconds, user="root")).offers
        job = JobOrder(f"#!/bin/sh\n{script}\n", partition="main", output="/dev/null")
        return self.controller.accept(offers[0].id, "root", job)

    def until(self, what: str, true: Callable[[], bool], seconds: float = 90) -> None:
        """Do a cycle a second until something is true."""
        end = time.monotonic() + seconds
        while True:
            self.controller.cycle()
            if true():
                return
            assert time.monotonic() < end, f"after {seconds} s not yet: {what}"
            time.sleep(1)

    def outcome(self, promise: PromiseRow) -> str:
        self.until("it is over", lambda: self.ledger.one(OutcomeRow, promise.id) is not None)
        found = self.ledger.one(OutcomeRow, promise.id)
        assert found is not None
        return found.outcome

    def runs_again(self, number: int) -> bool:
        """Whether a job runs that had been queued again."""
        job = self.cluster.look().jobs[number]
        return job.state == "RUNNING" and job.restarts > 0

    def states(self, action: str) -> list[list[str]]:
        """Return what became of each intent for an action."""
        return [
            [one.state for one in self.ledger.read(StateRow, intent=row.id)]
            for row in self.ledger.read(IntentRow, action=action)
        ]


@pytest.fixture
def desk(slurm: RealSlurm, tmp_path: Path) -> Iterator[Desk]:
    one = Desk(slurm, tmp_path / "ledger.db")
    yield one
    assert check(one.ledger).wrong == ()
    one.ledger.close()


def test_an_offer_is_accepted_its_job_runs_and_the_promise_is_kept(desk: Desk) -> None:
    promise, number = desk.promise(2, 120, "sleep 3")
    assert desk.controller.accept(promise.id, "root", JobOrder("#!/bin/sh\n")) == (promise, number)
    assert desk.outcome(promise) == "kept"
    offer = desk.controller.quote(WantedJob(1, 60, user="root")).offers[0]
    assert offer.record == {"low": 0.9, "high": 1.0, "made": 1, "kept": 1}


def test_a_later_start_is_held_by_a_reservation_that_goes_again(desk: Desk) -> None:
    where = {"n1": "main", "n2": "main", "n3": "main", "n4": "gpu"}
    fillers = [
        desk.slurm.submit("-w", node, "-p", partition, "-t", "5", "--exclusive")
        for node, partition in where.items()
    ]
    for one in fillers:
        desk.slurm.wait(one, "RUNNING")
    promise, number = desk.promise(2, 120, "sleep 3")
    assert desk.states("reserve")[0][:3] == ["proposed", "written", "carried out"], [
        one.why for one in desk.ledger.read(StateRow)
    ]
    name = f"forestall_{promise.id}"
    assert desk.cluster.look().jobs[number].reservation == name
    for one in fillers:
        desk.slurm.command("scancel", str(one))
    assert desk.outcome(promise) == "kept"
    desk.until("it is gone", lambda: name not in desk.cluster.look().reservations)
    assert desk.states("reserve")[0][-1] == "confirmed"


def test_a_node_dies_under_a_promised_job(desk: Desk) -> None:
    """The job runs elsewhere within a minute of the failure being seen."""
    promise, number = desk.promise(1, 600, "sleep 12")
    desk.slurm.wait(number, "RUNNING")
    desk.until("it is seen", lambda: desk.cluster.look().jobs[number].state == "RUNNING")
    [node] = desk.cluster.look().jobs[number].nodes
    desk.slurm.kill_node(node)
    try:
        desk.until("failure is seen", lambda: desk.cluster.look().nodes[node].down)
        seen = time.monotonic()
        desk.until("it runs again", lambda: desk.runs_again(number), 60)
        assert time.monotonic() - seen < 60
        assert node not in desk.cluster.look().jobs[number].nodes
        assert desk.outcome(promise) == "kept"
        assert desk.states("start")[0][:3] == ["proposed", "written", "carried out"]
    finally:
        desk.slurm.revive_node(node)


def test_the_controller_of_slurm_is_away_and_ours_begins_anew(desk: Desk) -> None:
    promise, number = desk.promise(1, 300, "sleep 20")
    desk.until("it runs", lambda: desk.slurm.state(number) == "RUNNING")
    before = list(desk.ledger.read(IntentRow))
    desk.slurm.stop_controller()
    try:
        for _ in range(3):
            assert desk.controller.cycle().said
            time.sleep(1)
        age = desk.controller.age
        assert age is not None
        assert age >= 2
        desk.controller = desk.born()
        assert desk.controller.cycle().said
    finally:
        desk.slurm.start_controller()
    assert desk.ledger.open_promises() == [promise]
    assert list(desk.ledger.read(IntentRow)) == before
    assert desk.outcome(promise) == "kept"
    assert sum(1 for row in desk.ledger.read(LookRow) if not row.whole) >= 4


def test_a_node_that_is_foreseen_to_fail_is_not_used(desk: Desk) -> None:
    """Nodes foreseen before the promise are left out; later ones make the job checkpoint and go."""
    soon = int(time.time()) + 240
    desk.forecasts = [("n1", NodeForecast(soon, soon + 600, 0.9, "listed"))]
    desk.controller = desk.born()
    promise, number = desk.promise(1, 300, "trap : USR1\nsleep 8 & wait; wait")
    desk.until("it runs", lambda: desk.slurm.state(number) == "RUNNING")
    assert desk.cluster.look().jobs[number].nodes == ("n2",)
    assert desk.outcome(promise) == "kept"


def test_a_promise_moves_house_before_a_failure_that_is_foreseen(desk: Desk) -> None:
    """A job runs; then its node is foreseen to fail. It goes on elsewhere before that moment."""
    promise, number = desk.promise(1, 600, "sleep 15")
    desk.until("it runs", lambda: desk.slurm.state(number) == "RUNNING")
    [node] = desk.cluster.look().jobs[number].nodes
    fails = int(time.time()) + 240
    desk.forecasts = [(node, NodeForecast(fails, fails + 600, 0.9, "listed"))]
    desk.controller = desk.born()
    desk.until("it runs elsewhere", lambda: desk.runs_again(number), 60)
    assert time.time() < fails
    assert node not in desk.cluster.look().jobs[number].nodes
    assert desk.outcome(promise) == "kept"
    assert desk.states("requeue")[0][:3] == ["proposed", "written", "carried out"]
    [row] = desk.ledger.read(IntentRow, action="requeue")
    assert f"{node} likely to fail (90 %)" in row.reason
    assert [(one.subject, one.predictor) for one in desk.ledger.read(PredictionRow)][:1] == [
        (node, "listed")
    ]


def test_the_controller_of_slurm_is_away_while_a_job_ends(desk: Desk) -> None:
    """Nobody invents an end that nobody saw, and the true one is found."""
    over = desk.slurm.folder / "jobs" / "over"
    promise, number = desk.promise(1, 900, f"until [ -e {over} ]; do sleep 1; done")
    desk.until("it runs", lambda: desk.slurm.state(number) == "RUNNING")
    desk.slurm.stop_controller()
    over.touch()
    try:
        end = time.monotonic() + AWAY
        while time.monotonic() < end:
            assert desk.controller.cycle().said
            time.sleep(1)
        assert desk.ledger.open_promises() == [promise]
        assert desk.ledger.count(OutcomeRow) == 0
        assert desk.ledger.count(IntentRow) == 0
    finally:
        desk.slurm.start_controller()
    assert desk.outcome(promise) == "kept"
    assert desk.ledger.count(PromiseRow) == desk.ledger.count(OutcomeRow) == 1


@pytest.mark.parametrize("settled", [0.0, 7.0], ids=["at once", "after it saved its state"])
def test_the_controller_of_slurm_is_killed(desk: Desk, settled: float) -> None:
    """Killed at once after a submission it may have forgotten the job: then it is submitted again,
    once, when its owner asks again."""
    promise, number = desk.promise(1, 300, "sleep 30")
    time.sleep(settled)
    desk.slurm.kill_controller()
    assert desk.controller.cycle().said
    assert desk.ledger.open_promises() == [promise]
    desk.slurm.start_controller()
    desk.until("a look", lambda: desk.controller.age == 0)
    job = JobOrder("#!/bin/sh\nsleep 30\n", partition="main", output="/dev/null")
    again, other = desk.controller.accept(promise.id, "root", job)
    assert again == promise
    assert other == number or not settled
    carried = [one.id for one in desk.cluster.look().jobs.values()
               if one.mark.promise == promise.id]  # fmt: skip
    assert carried == [other]
    assert desk.outcome(promise) == "kept"
    assert list(desk.ledger.read(PromiseRow)) == [promise]
